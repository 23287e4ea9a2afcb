//! What holds for every stored list and every pass: K4 over all combinations, and the laws of a pass over random ones.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::super::{
    ConditionKey, ConditionSet, ConditionSeverity, MAX_MESSAGE_BYTES, Message, Progress, Reason, Summary,
};
use super::*;

/// How a dependent can come out of a pass.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Way {
    True,
    False,
    Unknown,
    /// Stored as True of the present generation, and not mentioned.
    NotReported,
    /// Stored as True of an earlier generation, and retained.
    StaleTrue,
    /// Stored as False of an earlier generation, and retained.
    StaleFalse,
}

const WAYS: [Way; 6] = [Way::True, Way::False, Way::Unknown, Way::NotReported, Way::StaleTrue, Way::StaleFalse];

/// Foreign conditions, and what K4 has each force on the summary.
fn foreigners() -> Vec<(Vec<Value>, Status)> {
    let foreign = |status: &str, severity: &str| json!({ "type": "Foreign", "status": status, "severity": severity });
    vec![
        (vec![], Status::True),
        (vec![foreign("True", "")], Status::True),
        (vec![foreign("False", "")], Status::False),
        (vec![foreign("Unknown", "")], Status::Unknown),
        (vec![foreign("", "")], Status::Unknown),
        (vec![foreign("yes", "")], Status::Unknown),
        (vec![foreign("False", "Warning"), foreign("False", "Info")], Status::True),
        (vec![json!({ "type": "Foreign", "status": "False" })], Status::False),
        (vec![json!({ "type": "Foreign" })], Status::Unknown),
        (vec![stored("Foreign", "True", 3)], Status::Unknown),
        (vec![stored("Foreign", "False", 3)], Status::False),
        (vec![stored("Foreign", "True", 4)], Status::True),
        (vec![foreign("Unknown", ""), stored("Other", "False", 4)], Status::False),
    ]
}

fn worst(statuses: impl IntoIterator<Item = Status>) -> Status {
    let statuses: Vec<Status> = statuses.into_iter().collect();
    let has = |status| statuses.contains(&status);
    match () {
        () if has(Status::False) => Status::False,
        () if has(Status::Unknown) => Status::Unknown,
        () => Status::True,
    }
}

fn exhaust<S: ConditionSet>(choice: &[Way]) {
    let keys = S::Always::KEYS;
    let names: Vec<&str> = S::Always::DECLARED.iter().map(|declared| declared.condition_type().as_str()).collect();
    for index in 0..choice.len().pow(u32::try_from(keys.len()).unwrap()) {
        let ways: Vec<Way> = (0..u32::try_from(keys.len()).unwrap())
            .map(|digit| choice[index / choice.len().pow(digit) % choice.len()])
            .collect();
        for (foreign, forced) in foreigners() {
            let before = |(name, way): (&&str, &Way)| match way {
                Way::StaleTrue => stored(name, "True", 3),
                Way::StaleFalse => stored(name, "False", 3),
                _ => stored(name, "True", 4),
            };
            let summary = S::SUMMARY.condition_type().unwrap();
            let mut entries: Vec<Value> = names.iter().zip(&ways).map(before).collect();
            entries.push(stored(summary.as_str(), "True", 4));
            entries.extend(foreign.clone());
            let prior = Conditions::from_entries(entries);
            let mut pass = Pass::<S>::begin(&prior, generation(4), at(1));
            for (key, way) in keys.iter().zip(&ways) {
                match way {
                    Way::True => pass.report(*key, Verdict::ok()),
                    Way::False => pass.report(*key, down()),
                    Way::Unknown => pass.report(*key, waiting()),
                    Way::NotReported => {}
                    Way::StaleTrue | Way::StaleFalse => pass.retain(*key),
                }
            }
            let outcome = pass.finish();
            let want = |way: &Way| match way {
                Way::True => Status::True,
                Way::False => Status::False,
                _ => Status::Unknown,
            };
            for (name, way) in names.iter().zip(&ways) {
                assert_eq!(status_of(&outcome, name), Some(want(way)), "{name} of {ways:?}");
            }
            let expected = worst(ways.iter().map(want).chain([forced]));
            let got = outcome.conditions.get(summary.as_str()).unwrap();
            assert_eq!(got.status, expected, "{ways:?} with {foreign:?}");
            assert_eq!((got.severity, got.observed_generation), (ConditionSeverity::Error, Some(4)));
            assert_eq!(
                got.last_transition_time,
                Some(if expected == Status::True { at(0) } else { at(1) }),
                "the time moves with the status only"
            );
        }
    }
}

#[test]
fn k4_holds_for_all_combinations_of_up_to_four_dependents_and_foreign_ones() {
    condition_set! { set One { summary: Ready } always In1 { A: dependent, } }
    condition_set! { set Two { summary: Succeeded } always In2 { A: dependent, B: dependent, } }
    condition_set! { set Three { summary: Ready } always In3 { A: dependent, B: dependent, C: dependent, } }
    condition_set! { set Four { summary: Succeeded } always In4 { A: dependent, B: dependent, C: dependent, D: dependent, } }
    assert_eq!((One::SUMMARY, Two::SUMMARY), (Summary::Ready, Summary::Succeeded));
    exhaust::<One>(&WAYS);
    exhaust::<Two>(&WAYS);
    exhaust::<Three>(&WAYS);
    exhaust::<Four>(&WAYS[..5]);
}

/// One thing said in a pass.
#[derive(Debug, Clone)]
enum Said {
    Report(Aspect, Verdict),
    Retain(Aspect),
    Raise(Problem, Reason, Message),
    Clear(Problem),
    Progress(Progress),
}

impl Said {
    /// Whether this is a statement about the problem of this type.
    fn is_about(&self, type_: &str) -> bool {
        match self {
            Said::Raise(problem, ..) | Said::Clear(problem) => {
                let at = Problem::KEYS.iter().position(|key| key == problem).unwrap();
                Problem::DECLARED[at].condition_type().as_str() == type_
            }
            Said::Progress(_) => ["Reconciling", "Stalled"].contains(&type_),
            Said::Report(..) | Said::Retain(_) => false,
        }
    }
}

fn say(pass: &mut Pass<'_, Machine>, said: &[Said]) {
    for one in said.iter().cloned() {
        match one {
            Said::Report(aspect, verdict) => pass.report(aspect, verdict),
            Said::Retain(aspect) => pass.retain(aspect),
            Said::Raise(problem, reason, message) => pass.raise(problem, reason, message),
            Said::Clear(problem) => pass.clear(problem),
            Said::Progress(progress) => pass.progress(progress),
        }
    }
}

fn run(prior: &Conditions, second: i64, said: &[Said]) -> Outcome {
    let mut pass = Pass::begin(prior, generation(4), at(second));
    say(&mut pass, said);
    pass.finish()
}

fn any_said() -> impl Strategy<Value = Said> {
    let aspect = prop::sample::select(Aspect::KEYS);
    let problem = prop::sample::select(Problem::KEYS);
    let why = || {
        let reasons = vec![reason!("One"), reason!("Two"), reason!("Three")];
        (
            prop::sample::select(reasons),
            prop_oneof![4 => "[a-c]{0,3}", 1 => Just("é".repeat(20_000))].prop_map(Message::new),
        )
    };
    let verdict = prop_oneof![
        Just(Verdict::ok()),
        why().prop_map(|(reason, message)| Verdict::ok_because(reason, message)),
        why().prop_map(|(reason, message)| Verdict::bad(reason, message)),
        why().prop_map(|(reason, message)| Verdict::pending(reason, message)),
    ];
    let progress = prop_oneof![
        Just(Progress::settled()),
        why().prop_map(|(reason, message)| Progress::reconciling(reason, message)),
        why().prop_map(|(reason, message)| Progress::stalled(reason, message)),
    ];
    prop_oneof![
        4 => (aspect.clone(), verdict).prop_map(|(aspect, verdict)| Said::Report(aspect, verdict)),
        1 => aspect.prop_map(Said::Retain),
        2 => (problem.clone(), why()).prop_map(|(problem, (reason, message))| Said::Raise(problem, reason, message)),
        1 => problem.prop_map(Said::Clear),
        1 => progress.prop_map(Said::Progress),
    ]
}

fn own_types() -> BTreeSet<&'static str> {
    let declared = Aspect::DECLARED.iter().chain(Problem::DECLARED).map(|declared| declared.condition_type().as_str());
    declared.chain(["Ready", "Reconciling", "Stalled", "Healthy"]).collect()
}

/// Entries as a careless world stores them: of our types and others, whole, partial and absurd.
fn any_stored() -> impl Strategy<Value = Conditions> {
    let mut types: Vec<&str> = own_types().into_iter().collect();
    types.extend(["Foreign", "Stray", ""]);
    let field = prop_oneof![
        prop::sample::select(vec!["True", "False", "Unknown", "", "no"]).prop_map(|word| ("status", json!(word))),
        prop::sample::select(vec!["One", "", "free text"]).prop_map(|word| ("reason", json!(word))),
        prop::sample::select(vec!["", "said"]).prop_map(|word| ("message", json!(word))),
        prop::sample::select(vec!["", "Info", "Warning", "Error"]).prop_map(|word| ("severity", json!(word))),
        (0_i64..3).prop_map(|second| ("lastTransitionTime", json!(at(-second).to_string()))),
        Just(("lastTransitionTime", json!("soon"))),
        (3_i64..6).prop_map(|number| ("observedGeneration", json!(number))),
        Just(("extra", json!({ "kept": [1, null] }))),
    ];
    let entry = (prop::sample::select(types), prop::collection::vec(field, 0..8)).prop_map(|(type_, fields)| {
        let mut entry = json!({ "type": type_ });
        for (name, value) in fields {
            entry[name] = value;
        }
        entry
    });
    let any = prop_oneof![9 => entry, 1 => Just(json!("odd"))];
    prop::collection::vec(any, 0..8).prop_map(Conditions::from_entries)
}

fn foreign_entries(conditions: &Conditions) -> Vec<&Value> {
    let own = own_types();
    let is_own = |entry: &&Value| entry.get("type").and_then(Value::as_str).is_some_and(|type_| own.contains(type_));
    conditions.entries().iter().filter(|entry| !is_own(entry)).collect()
}

proptest! {
    #[test]
    fn a_second_identical_pass_changes_nothing(
        prior in any_stored(),
        said in prop::collection::vec(any_said(), 0..12),
    ) {
        let first = run(&prior, 1, &said);
        let second = run(&first.conditions, 100, &said);
        prop_assert_eq!(serde_json::to_string(&second.conditions).unwrap(), serde_json::to_string(&first.conditions).unwrap());
        prop_assert!(!second.changed);
        prop_assert_eq!(second.transitions, []);
        prop_assert_eq!(first.changed, first.conditions != prior);
    }

    #[test]
    fn the_order_of_reports_does_not_matter(
        prior in any_stored(),
        (said, shuffled) in prop::collection::vec(any_said(), 0..12)
            .prop_flat_map(|said| (Just(said.clone()), Just(said).prop_shuffle())),
    ) {
        let (one, other) = (run(&prior, 1, &said), run(&prior, 1, &shuffled));
        prop_assert_eq!(serde_json::to_string(&one.conditions).unwrap(), serde_json::to_string(&other.conditions).unwrap());
        prop_assert_eq!(one, other);
    }

    #[test]
    fn whatever_is_stored_and_said_the_result_is_right(
        prior in any_stored(),
        said in prop::collection::vec(any_said(), 0..12),
    ) {
        let outcome = run(&prior, 1, &said);
        // Foreign entries: the same, in the same order.
        prop_assert_eq!(foreign_entries(&outcome.conditions), foreign_entries(&prior));
        // Own ones: one of each type, the always-present ones there, never both of the pair.
        let own: Vec<&str> = outcome.owned.iter().map(|condition| condition.type_).collect();
        prop_assert_eq!(own.iter().collect::<BTreeSet<_>>().len(), own.len());
        for declared in Aspect::DECLARED {
            prop_assert!(own.contains(&declared.condition_type().as_str()));
        }
        prop_assert!(own.contains(&"Ready") && !own.contains(&"Healthy"));
        prop_assert!(!(own.contains(&"Reconciling") && own.contains(&"Stalled")));
        for (entry, condition) in outcome.owned.entries().iter().zip(outcome.owned.iter()) {
            prop_assert!(entry["status"].as_str().unwrap().parse::<Status>().is_ok());
            prop_assert!(Reason::parse(condition.reason).is_ok());
            prop_assert!(condition.message.len() <= MAX_MESSAGE_BYTES);
            prop_assert!(condition.status == Status::True || !condition.message.is_empty());
            // A problem that was not mentioned keeps the generation it was seen at.
            let always = condition.type_ == "Ready"
                || Aspect::DECLARED.iter().any(|declared| declared.condition_type().as_str() == condition.type_);
            let mentioned = always || said.iter().any(|one| one.is_about(condition.type_));
            let seen = prior.get(condition.type_).and_then(|old| old.observed_generation);
            prop_assert_eq!(condition.observed_generation, if mentioned { Some(4) } else { seen });
            // The time moves with the status, and only with it.
            let since = prior.get(condition.type_).filter(|old| old.status == condition.status);
            let want = since.and_then(|old| old.last_transition_time).unwrap_or(at(1));
            prop_assert_eq!(condition.last_transition_time, Some(want));
        }
        // K4 on the list as it will be stored.
        let ready = outcome.conditions.get("Ready").unwrap();
        for other in outcome.conditions.iter().filter(|other| other.type_ != "Ready") {
            if other.severity == ConditionSeverity::Error {
                prop_assert!(other.status != Status::False || ready.status == Status::False);
                prop_assert!(other.status != Status::Unknown || ready.status != Status::True);
            }
        }
    }
}
