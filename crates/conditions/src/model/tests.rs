//! Tests of the reporting pass as a whole: one set of conditions, and short ways to say what is stored and reported.

mod properties;
mod quirks;
mod reporting;

use clearway_core::{Generation, Timestamp};
use serde_json::{Value, json};

use super::{Conditions, Outcome, Pass, Status, Verdict};
use crate::{condition_set, reason};

condition_set! {
    pub(super) set Machine {
        summary: Ready,
        progress: true,
        retired: ["Healthy"],
    }
    pub(super) always Aspect {
        Reachable: dependent,
        Configured: dependent,
        Licensed: warning,
        Idle: info,
        Failing: negative,
    }
    pub(super) problems Problem {
        DiskFull = "example.com/DiskFull": problem,
        Overdue: problem_warning,
        Upgradeable: problem_while_false,
    }
}

/// The n-th second of the tests' day.
fn at(second: i64) -> Timestamp {
    Timestamp::from_seconds(1_714_564_800 + second).unwrap()
}

fn generation(number: i64) -> Generation {
    Generation::new(number).unwrap()
}

fn list(entries: &Value) -> Conditions {
    Conditions::read(entries).0
}

/// A pass at generation 4, at the first second, in which everything is well unless `change` says otherwise.
fn pass_over(stored: &Conditions, change: impl FnOnce(&mut Pass<'_, Machine>)) -> Outcome {
    pass_at(stored, 4, 1, change)
}

fn pass_at(stored: &Conditions, number: i64, second: i64, change: impl FnOnce(&mut Pass<'_, Machine>)) -> Outcome {
    let mut pass = Pass::begin(stored, generation(number), at(second));
    for aspect in [Aspect::Licensed, Aspect::Idle, Aspect::Failing] {
        pass.report(aspect, Verdict::ok());
    }
    change(&mut pass);
    pass.finish()
}

/// Both dependents are well.
fn healthy(pass: &mut Pass<'_, Machine>) {
    pass.report(Aspect::Reachable, Verdict::ok());
    pass.report(Aspect::Configured, Verdict::ok());
}

fn down() -> Verdict {
    Verdict::bad(reason!("DbDown"), "connection refused")
}

fn waiting() -> Verdict {
    Verdict::pending(reason!("Waiting"), "not tried yet")
}

/// A stored condition as this controller writes them.
fn stored(type_: &str, status: &str, number: i64) -> Value {
    json!({
        "type": type_, "status": status, "reason": "Before", "message": "It was so.",
        "lastTransitionTime": at(0).to_string(), "observedGeneration": number,
    })
}

fn status_of(outcome: &Outcome, type_: &str) -> Option<Status> {
    outcome.conditions.get(type_).map(|condition| condition.status)
}

/// Status, reason and message of the summary.
fn ready(outcome: &Outcome) -> (Status, &str, &str) {
    let ready = outcome.conditions.get("Ready").unwrap();
    (ready.status, ready.reason, ready.message)
}
