//! Waiting until objects are well, as a machine without a clock or a connection.
//!
//! The shell tells it what it saw ([`Wait::observe`]) and asks what to do ([`Wait::step`]); both get the time handed in.
//! A decision is computed from what is known of each target and from nothing else, so the order in which observations
//! of the same moment come in does not matter. What a target was seen as is believed with delay: being current has to
//! last for the settle window, and a failure that may heal by itself for as long as its verdict says.
//!
//! ```text
//! unseen ── verdict, not found ──▶ seen ── unreachable ──▶ lost ── verdict, not found ──▶ seen
//! ```
//!
//! Start at [`Wait`].

mod outcome;
mod progress;
mod target;

use std::collections::BTreeMap;
use std::time::Duration;

use clearway_core::{ObjectId, Timestamp};
use serde::Serialize;

use super::verdict::Verdict;
pub use outcome::{ObjectReport, Outcome};
pub use progress::{Concern, Group, Progress};
use target::{Target, TargetState};

/// How long to wait, and how to end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clocks {
    /// For everything together, from the start.
    pub total: Duration,
    /// For each object, from when it was first seen to exist: waiting for its definition or its namespace is not held
    /// against it.
    pub per_object: Option<Duration>,
    /// Since anything moved at all: any change of any progress token starts it anew.
    pub no_progress: Option<Duration>,
    /// How long an object must be current without a break, unless its verdict says otherwise (`minReadySeconds`).
    pub settle: Duration,
    /// How long a failure that may heal by itself (a crash loop, a pod without a node) must last, in place of what its
    /// verdict says. One that is final counts at once all the same.
    pub patience: Option<Duration>,
    /// How long to go on after the first failure, so that the report tells of the others too.
    pub drain: Duration,
    /// Whether to end with the first failure instead.
    pub fail_fast: bool,
    /// Whether suspended objects are waited for, until somebody resumes them.
    pub wait_for_suspended: bool,
}

/// Which clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Clock {
    /// [`Clocks::total`].
    Total,
    /// [`Clocks::per_object`].
    PerObject,
    /// [`Clocks::no_progress`].
    NoProgress,
}

/// What the shell saw of one target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Observation {
    /// The object, judged.
    Verdict {
        /// Its health.
        verdict: Verdict,
        /// [`progress_token`](super::progress_token) of what was seen.
        progress_token: u64,
    },
    /// There is no such object; nor such a kind, while its definition belongs to what is being installed.
    NotFound,
    /// It could not be seen: forbidden, a broken connection, an overloaded server. The shell tries again.
    Unreachable {
        /// Why.
        why: String,
    },
}

/// What to do next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// Go on. Nothing changes before `until` unless something is observed; then judge again the objects at hand (some
    /// verdicts change with time alone), observe them, and step.
    Wait {
        /// When to step again at the latest.
        until: Timestamp,
    },
    /// It is over.
    Done(Outcome),
}

/// A wait for a set of objects.
#[derive(Debug, Clone)]
pub struct Wait {
    targets: BTreeMap<ObjectId, Target>,
    clocks: Clocks,
    started: Timestamp,
    progressed: Timestamp,
}

/// What all targets together come to at one moment.
#[derive(Default)]
struct Survey {
    /// Targets one may stop waiting for.
    done: usize,
    settling: usize,
    failed: usize,
    late: usize,
    unseen: usize,
    /// When the first target failed for good or was late.
    broken: Option<Timestamp>,
    /// When the first thing changes by itself.
    next: Option<Timestamp>,
}

impl Default for Clocks {
    /// Ten minutes, a settle window of five seconds, a drain of thirty.
    fn default() -> Self {
        Clocks {
            total: Duration::from_mins(10),
            per_object: None,
            no_progress: None,
            settle: Duration::from_secs(5),
            patience: None,
            drain: Duration::from_secs(30),
            fail_fast: false,
            wait_for_suspended: false,
        }
    }
}

impl std::fmt::Display for Clock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Clock::Total => "total",
            Clock::PerObject => "per-object",
            Clock::NoProgress => "no-progress",
        })
    }
}

impl Wait {
    /// A wait that begins now.
    pub fn new(targets: impl IntoIterator<Item = ObjectId>, clocks: Clocks, now: Timestamp) -> Self {
        let targets = targets.into_iter().map(|id| (id, Target::default())).collect();
        Wait { targets, clocks, started: now, progressed: now }
    }

    /// Takes in what was seen of a target; what is said of any other object is ignored.
    pub fn observe(&mut self, id: &ObjectId, observation: Observation, now: Timestamp) {
        let Some(target) = self.targets.get_mut(id) else { return };
        if target.observe(observation, &self.clocks, now) {
            self.progressed = self.progressed.max(now);
        }
    }

    /// What to do next.
    pub fn step(&mut self, now: Timestamp) -> Decision {
        let survey = self.survey(now);
        if survey.done == self.targets.len() {
            return Decision::Done(Outcome::Current { report: self.report(now) });
        }
        let mut next = survey.next;
        let mut sooner = |time: Timestamp| next = Some(next.map_or(time, |next| next.min(time)));
        let open = self.targets.len() - survey.done - survey.settling - survey.failed - survey.late;
        if let Some(broken) = survey.broken {
            let end = broken.plus(self.clocks.drain);
            // With nothing left to wait for there is nothing the drain could add.
            if open == 0 || self.clocks.fail_fast || now >= end {
                return self.finish(Clock::PerObject, &survey, now);
            }
            sooner(end);
        }
        let end = self.started.plus(self.clocks.total);
        if now >= end {
            return self.finish(Clock::Total, &survey, now);
        }
        sooner(end);
        // What was never seen cannot be said not to move, and what merely settles is not supposed to.
        if let Some(most) = self.clocks.no_progress.filter(|_| survey.unseen == 0 && open > 0) {
            let end = self.progressed.plus(most);
            if now >= end {
                return self.finish(Clock::NoProgress, &survey, now);
            }
            sooner(end);
        }
        Decision::Wait { until: next.unwrap_or(end) }
    }

    /// How far it is, for people to watch.
    pub fn progress(&self, now: Timestamp) -> Progress {
        Progress::of(self, now)
    }

    fn survey(&self, now: Timestamp) -> Survey {
        let mut survey = Survey::default();
        for target in self.targets.values() {
            let sooner = |next: &mut Option<Timestamp>, time: Timestamp| {
                if time > now {
                    *next = Some(next.map_or(time, |next| next.min(time)));
                }
            };
            survey.unseen += usize::from(target.is_unseen());
            if let Some(time) = target.recheck() {
                sooner(&mut survey.next, time);
            }
            let mut broke = |at: Timestamp| survey.broken = Some(survey.broken.map_or(at, |other| other.min(at)));
            match target.state(&self.clocks, now) {
                TargetState::Current | TargetState::Suspended => survey.done += 1,
                TargetState::Failed { believed } => {
                    survey.failed += 1;
                    broke(believed);
                }
                TargetState::Late { deadline } => {
                    survey.late += 1;
                    broke(deadline);
                }
                TargetState::Settling { until } => {
                    survey.settling += 1;
                    sooner(&mut survey.next, until);
                }
                TargetState::Failing { until } => {
                    sooner(&mut survey.next, until);
                    target.deadline(&self.clocks).into_iter().for_each(|end| sooner(&mut survey.next, end));
                }
                TargetState::Waiting | TargetState::Unknown => {
                    target.deadline(&self.clocks).into_iter().for_each(|end| sooner(&mut survey.next, end));
                }
            }
        }
        survey
    }

    /// The end other than success: a failure is one whichever clock ends the wait; what could never be seen is next.
    fn finish(&self, clock: Clock, survey: &Survey, now: Timestamp) -> Decision {
        let report = self.report(now);
        Decision::Done(if survey.failed > 0 {
            Outcome::Failed { report }
        } else if clock == Clock::Total && survey.unseen > 0 {
            Outcome::CouldNotObserve { report }
        } else {
            Outcome::TimedOut { clock, report }
        })
    }

    fn report(&self, now: Timestamp) -> Vec<ObjectReport> {
        self.targets.iter().map(|(id, target)| target.report(id, &self.clocks, now)).collect()
    }
}
