//! Rounds over random schedules (U9): never too soon, never forgotten.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::fixtures::{self, now, promql, risk, version};
use clearway_advice::evidence::{Failure, FailureClass, Observation, Record};
use clearway_advice::rounds::{Pace, RoundSettings, Rounds};
use clearway_advice::{Plan, Settings, Verdict, render};
use clearway_core::Timestamp;
use clearway_promql::Labels;
use clearway_promql::eval::{Sample, Value};
use proptest::prelude::*;
use serde_json::json;

const ROUND: u64 = 600;
const HOUR: u64 = 3_600;

fn at(seconds: u64) -> Timestamp {
    now().plus(Duration::from_secs(seconds))
}

#[expect(clippy::unnecessary_wraps, reason = "it is what a query came to, as a failure is")]
fn answer(value: f64, time: Timestamp) -> Result<Observation<Value>, Failure> {
    let value = Value::Vector(vec![Sample { labels: Labels::default(), value }]);
    Ok(Observation { value, observed_at: time, source: "p".to_owned(), reproduce: None, warnings: Vec::new() })
}

fn failure() -> Result<Observation<Value>, Failure> {
    Err(Failure::new(FailureClass::Unreachable, "The connection was refused."))
}

fn single() -> RoundSettings {
    RoundSettings { pace: Pace::Single, ..RoundSettings::default() }
}

#[test]
fn a_round_asks_every_distinct_query_once_and_then_rests() {
    let mut rounds = Rounds::new(RoundSettings::default());
    assert_eq!((rounds.due(at(0)), rounds.next()), (None, None));
    rounds.set_queries(["b", "a", "b"], at(0));
    let round = rounds.due(at(0)).unwrap();
    assert_eq!((round.queries, round.parallel), (vec!["b".to_owned(), "a".to_owned()], 4));
    // Single flight: nothing is due while a round is open, however long that takes.
    assert_eq!((rounds.due(at(5_000)), rounds.next()), (None, None));
    assert!(rounds.answered("b", answer(1.0, at(3)), at(3)));
    assert!(rounds.answered("a", failure(), at(7)));
    assert!(!rounds.answered("a", answer(1.0, at(8)), at(8)), "it was answered already");
    // What failed is asked in the next round, what was answered after an hour.
    assert_eq!(rounds.next(), Some(at(7 + ROUND)));
    assert_eq!(rounds.due(at(6 + ROUND)), None);
    assert_eq!(rounds.due_at("a"), Some(at(7 + ROUND)));
    assert_eq!(rounds.due_at("b"), Some(at(3 + HOUR)));
    assert_eq!(rounds.due(at(7 + ROUND)).unwrap().queries, ["a"]);
    assert!(rounds.answered("a", answer(0.0, at(8 + ROUND)), at(8 + ROUND)));
    assert_eq!(rounds.next(), Some(at(3 + HOUR)));
}

/// The texts of two hundred queries.
fn queries_of(graph: u64) -> Vec<String> {
    (0..200).map(|number| format!("m{graph}_{number:0>500}")).collect()
}

fn set(rounds: &mut Rounds, queries: &[String], time: Timestamp) {
    rounds.set_queries(queries.iter().map(String::as_str), time);
}

/// A publisher can send another graph each time, and all of its queries rest for an hour.
#[test]
fn queries_that_nobody_wants_take_no_more_memory_than_those_that_are_wanted() {
    let mut rounds = Rounds::new(RoundSettings::default());
    let mut wanted = None;
    for graph in 0..5 {
        let now = at(graph * 700);
        let queries = queries_of(graph);
        set(&mut rounds, &queries, now);
        for query in rounds.due(now).unwrap().queries {
            rounds.answered(&query, answer(1.0, now), now);
        }
        let before = rounds.unwanted_memory();
        rounds.suspend(now);
        // Of the first graph nothing else is there.
        let memory = *wanted.get_or_insert(rounds.unwanted_memory());
        assert!(before <= memory && rounds.unwanted_memory() == before + memory, "{before} of {memory}");
        set(&mut rounds, &queries, now);
        assert_eq!(rounds.recorded().queries.len(), 200, "what is wanted again is known");
        let answered = |record: &Record| matches!(record, Record::Answered(_));
        assert!(rounds.recorded().queries.values().all(answered));
        assert_eq!(rounds.unwanted_memory(), before);
    }
    let most = wanted.unwrap();
    assert!((200 * 500 * 8..200 * (501 * 8 + 8_192)).contains(&most), "{most}");
    // Neither a few queries nor none leave room for so many.
    let mut none = rounds.clone();
    set(&mut rounds, &["a".to_owned()], at(3_600));
    set(&mut none, &[], at(3_600));
    for rounds in [rounds, none] {
        assert!(rounds.unwanted_memory() <= 64 << 10, "{} of {most}", rounds.unwanted_memory());
    }
}

/// What is being asked cannot be taken back, but there is no place for its answer.
#[test]
fn queries_that_are_being_asked_and_nobody_wants_are_only_texts() {
    let mut rounds = Rounds::new(RoundSettings::default());
    set(&mut rounds, &queries_of(0), at(0));
    let asked = rounds.due(at(0)).unwrap().queries;
    set(&mut rounds, &["a".to_owned()], at(1));
    let texts = asked.iter().map(String::len).sum::<usize>();
    let memory = rounds.unwanted_memory();
    assert!((texts..(64 << 10) + 3 * texts).contains(&memory), "{memory}");
    assert!(rounds.is_open(), "no other round begins before they are answered");
    for query in &asked {
        assert!(rounds.answered(query, answer(1.0, at(2)), at(2)));
    }
    assert!(rounds.unwanted_memory() <= 64 << 10, "{}", rounds.unwanted_memory());
    assert_eq!(rounds.next(), Some(at(2 + ROUND)));
}

/// U9: no series, several series and other values are failed evaluations.
#[test]
fn what_says_neither_match_nor_no_match_is_asked_in_the_next_round() {
    let sample = |value| Sample { labels: Labels::default(), value };
    for (samples, told) in [
        (vec![sample(0.0)], true),
        (vec![sample(1.0)], true),
        (vec![], false),
        (vec![sample(1.0), sample(0.0)], false),
        (vec![sample(0.5)], false),
        (vec![sample(f64::NAN)], false),
    ] {
        let mut rounds = Rounds::new(RoundSettings::default());
        rounds.set_queries(["a"], at(0));
        rounds.due(at(0)).unwrap();
        let observation = Observation { value: Value::Vector(samples.clone()), ..answer(0.0, at(1)).unwrap() };
        rounds.answered("a", Ok(observation), at(1));
        assert_eq!(rounds.next(), Some(at(1 + if told { HOUR } else { ROUND })), "{samples:?}");
    }
}

#[test]
fn a_failure_replaces_the_answer_at_once_and_an_outage_ends_with_the_next_round() {
    let graph = fixtures::graph(&fixtures::answer(&[], &[("1.0.1", vec![risk("Broken", json!([promql("max(a)")]))])]));
    let plan = Plan::new(&graph, &version("1.0.0"), &Settings::default()).unwrap();
    let verdict = |rounds: &Rounds, time| plan.assess(&rounds.recorded(), time).updates[0].risks[0].verdict;
    let mut rounds = Rounds::new(RoundSettings::default());
    rounds.set_queries(plan.questions().iter().map(|question| question.text()), at(0));
    assert_eq!(verdict(&rounds, at(0)), Verdict::Pending);
    assert_eq!(rounds.recorded().queries["max(a)"], Record::Pending { due: Some(at(0)) });
    rounds.due(at(0)).unwrap();
    rounds.answered("max(a)", answer(0.0, at(1)), at(1));
    assert_eq!(verdict(&rounds, at(1)), Verdict::NoMatch);
    rounds.due(at(1 + HOUR)).unwrap();
    assert_eq!(verdict(&rounds, at(1 + HOUR)), Verdict::NoMatch, "while it is asked again the answer counts");
    assert!(rounds.answered("max(a)", failure(), at(2 + HOUR)));
    assert_eq!(verdict(&rounds, at(2 + HOUR)), Verdict::Unknown);
    let assessment = plan.assess(&rounds.recorded(), at(2 + HOUR));
    let proof = &assessment.updates[0].risks[0];
    assert_eq!(proof.rules[0].due, Some(at(2 + HOUR + ROUND)), "a failure says when it is tried again");
    let again = format!("again    {}", at(2 + HOUR + ROUND));
    assert!(render::risk(proof).contains(&again), "{}", render::risk(proof));
    rounds.due(at(2 + HOUR + ROUND)).unwrap();
    rounds.answered("max(a)", answer(1.0, at(3 + HOUR + ROUND)), at(3 + HOUR + ROUND));
    assert_eq!(verdict(&rounds, at(3 + HOUR + ROUND)), Verdict::Match);
    // An answer that nobody renews is not believed for ever (U16).
    assert_eq!(verdict(&rounds, at(4 + HOUR + ROUND + 2 * HOUR)), Verdict::Unknown);
}

#[test]
fn answers_survive_a_restart_and_delays_do_not() {
    let mut before = Rounds::new(RoundSettings::default());
    before.set_queries(["a", "b"], at(0));
    before.due(at(0)).unwrap();
    before.answered("a", answer(1.0, at(1)), at(1));
    before.answered("b", failure(), at(1));
    let kept = before.export();
    assert_eq!(kept.keys().collect::<Vec<_>>(), ["a"]);
    let mut after = Rounds::new(RoundSettings::default());
    after.import(kept);
    after.set_queries(["a", "b"], at(5));
    assert!(matches!(after.recorded().queries["a"], Record::Answered(_)));
    assert!(matches!(after.recorded().queries["b"], Record::Pending { .. }));
    assert_eq!(after.due(at(5)).unwrap().queries, ["a", "b"]);
}

#[test]
fn the_literal_reading_waits_after_every_single_query_and_starves_none() {
    for fails in [false, true] {
        let mut rounds = Rounds::new(single());
        let names: Vec<String> = (0..9).map(|number| format!("q{number}")).collect();
        rounds.set_queries(names.iter().map(String::as_str), at(0));
        let mut asked: BTreeMap<String, Vec<u64>> = BTreeMap::new();
        let mut last: Option<u64> = None;
        for minute in 0..600 {
            let time = minute * 60;
            let Some(round) = rounds.due(at(time)) else { continue };
            let [query] = round.queries.as_slice() else { panic!("one at a time") };
            assert!(last.is_none_or(|last| time - last >= ROUND));
            last = Some(time);
            asked.entry(query.clone()).or_default().push(time);
            rounds.answered(query, if fails { failure() } else { answer(0.0, at(time)) }, at(time));
        }
        for name in &names {
            let times = &asked[name];
            // Nine queries take turns of ten minutes each.
            assert!(times.windows(2).all(|pair| pair[1] - pair[0] <= 9 * ROUND + 60), "{name}: {times:?}");
            assert!(times.len() >= 6, "{name}: {times:?}");
        }
    }
}

/// What was answered later than now is no evidence, so it is asked for at once, and not in an hour.
#[test]
fn a_clock_that_is_set_back_stalls_nothing() {
    let mut rounds = Rounds::new(RoundSettings::default());
    rounds.set_queries(["a", "b"], at(10_000_000));
    rounds.due(at(10_000_000)).unwrap();
    rounds.answered("a", answer(1.0, at(10_000_000)), at(10_000_000));
    rounds.answered("b", failure(), at(10_000_000));
    assert_eq!(rounds.due(at(0)).unwrap().queries, ["a"]);
    assert!(rounds.answered("a", answer(1.0, at(0)), at(0)));
    assert_eq!(rounds.due(at(ROUND)).unwrap().queries, ["b"], "a failure rests as long as any failure");
    assert!(rounds.answered("b", answer(1.0, at(ROUND)), at(ROUND)));
    assert_eq!((rounds.due(at(HOUR - 1)), rounds.due(at(HOUR)).unwrap().queries), (None, vec!["a".to_owned()]));
}

/// The clock is set back while a round is open: what it says is of the wrong time, and there is another round.
#[test]
fn answers_of_the_time_before_the_clock_was_set_back_do_not_rest() {
    let mut rounds = Rounds::new(RoundSettings::default());
    rounds.set_queries(["a"], at(10_000_000));
    rounds.due(at(10_000_000)).unwrap();
    rounds.answered("a", answer(1.0, at(10_000_000)), at(0));
    assert_eq!(rounds.due(at(ROUND)).unwrap().queries, ["a"]);
}

/// Clocks are corrected by seconds all the time, which asks for nothing.
#[test]
fn small_steps_back_do_not_make_queries_due() {
    let mut rounds = Rounds::new(RoundSettings::default());
    rounds.set_queries(["a"], at(1_000));
    rounds.due(at(1_000)).unwrap();
    rounds.answered("a", answer(1.0, at(1_000)), at(1_000));
    let asked = (0..600).filter(|step| rounds.due(at(1_000 - step / 2)).is_some()).count();
    assert_eq!(asked, 0);
    assert!(rounds.due_at("a") > Some(at(HOUR)));
    // Together they may be more than is tolerated: it is asked in the next round.
    assert_eq!((rounds.due(at(699)), rounds.due_at("a")), (None, Some(at(699 + ROUND))));
}

/// One step of a schedule.
#[derive(Debug, Clone)]
enum Step {
    /// The clock goes on.
    Wait(u64),
    /// The graph changed: these of the queries are wanted.
    Want(BTreeSet<u8>),
    /// Look whether something is due.
    Look,
    /// One of the open queries is answered, or fails.
    Answer(usize, bool),
    /// The connection is gone.
    FailAll,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => prop_oneof![0..30_u64, 500..700_u64, 3_000..4_000_u64].prop_map(Step::Wait),
        1 => prop::collection::btree_set(0..8_u8, 0..8).prop_map(Step::Want),
        4 => Just(Step::Look),
        6 => (any::<usize>(), any::<bool>()).prop_map(|(which, fine)| Step::Answer(which, fine)),
        1 => Just(Step::FailAll),
    ];
    prop::collection::vec(step, 1..200)
}

proptest! {
    #[test]
    fn no_schedule_asks_too_soon_or_forgets(steps in steps(), literal in any::<bool>()) {
        let settings = if literal { single() } else { RoundSettings::default() };
        let mut rounds = Rounds::new(settings);
        let mut time = 0;
        let mut wanted: BTreeSet<String> = BTreeSet::new();
        let mut open: Vec<String> = Vec::new();
        let mut round_ended: Option<u64> = None;
        let mut last_answer: BTreeMap<String, u64> = BTreeMap::new();
        for step in steps {
            match step {
                Step::Wait(seconds) => time += seconds,
                Step::Want(which) => {
                    wanted = which.iter().map(|number| format!("q{number}")).collect();
                    rounds.set_queries(wanted.iter().map(String::as_str), at(time));
                }
                Step::Look => {
                    let promised = rounds.next();
                    let found = rounds.due(at(time));
                    // What was promised is kept: no earlier, and no later.
                    prop_assert_eq!(found.is_some(), promised.is_some_and(|next| next <= at(time)));
                    let Some(round) = found else {
                        continue;
                    };
                    prop_assert!(open.is_empty(), "single flight");
                    prop_assert!(round_ended.is_none_or(|ended| time >= ended + ROUND), "ten minutes between rounds");
                    let distinct: BTreeSet<String> = round.queries.iter().cloned().collect();
                    prop_assert_eq!(distinct.len(), round.queries.len(), "each once");
                    for query in &round.queries {
                        prop_assert!(last_answer.get(query).is_none_or(|answered| time >= answered + HOUR), "an hour");
                        prop_assert!(wanted.contains(query));
                    }
                    let ready = |query: &&String| last_answer.get(*query).is_none_or(|answered| time >= answered + HOUR);
                    if literal {
                        prop_assert_eq!(round.queries.len(), 1);
                    } else {
                        // Whoever may be asked is: nobody waits for another round.
                        prop_assert_eq!(distinct.len(), wanted.iter().filter(ready).count());
                    }
                    open = round.queries;
                }
                Step::Answer(which, fine) => {
                    if open.is_empty() {
                        prop_assert!(!rounds.answered("q0", failure(), at(time)));
                        continue;
                    }
                    let query = open.remove(which % open.len());
                    let result = if fine { answer(0.0, at(time)) } else { failure() };
                    prop_assert!(rounds.answered(&query, result, at(time)));
                    round_ended = Some(time);
                    if fine { last_answer.insert(query, time); } else { last_answer.remove(&query);  }
                }
                Step::FailAll => {
                    for query in open.drain(..) {
                        prop_assert!(rounds.answered(&query, failure(), at(time)));
                        last_answer.remove(&query);
                        round_ended = Some(time);
                    }
                }
            }
            for query in &wanted {
                let due = rounds.due_at(query);
                prop_assert!(due.is_some() || open.contains(query), "what is pending says when it is due");
            }
        }
    }
}
