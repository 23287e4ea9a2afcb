//! What is noted as being assessed is done sooner or later, as long as the process is there; and when the service is asked.

use std::time::Duration;

use clearway_advice::rounds::RoundSettings;
use clearway_core::Timestamp;
use clearway_update::reconciler::{Effect, Input, RE_EVALUATE, Reconciler, Settings};
use serde_json::{Value, json};

use crate::world::{Service, World, graph, risk, settings};

fn conditional(query: &str) -> Value {
    graph(&[("1.1.0", vec![risk("Alpha", query)])])
}

fn world() -> World {
    let mut world = World::new(conditional("a"));
    world.metrics.extend([("a", Some(0.0)), ("bb", Some(0.0))]);
    world
}

fn follow(world: &mut World, channel: &str) {
    world.edit(|object| object["spec"]["channel"] = json!(channel));
    world.pass(Duration::from_secs(5));
}

#[test]
fn channels_with_the_same_answer_leave_no_note() {
    let mut world = world();
    world.start();
    for channel in ["d", "e", "d", "e"] {
        follow(&mut world, channel);
        assert!(world.assessing.is_empty(), "{channel}: {:?}", world.log);
    }
    assert_eq!(world.available(), ["1.1.0", "1.0.1"]);
    world.service = Service::Forgets;
    world.pass(Duration::from_mins(5));
    world.service = Service::Answers;
    world.pass(Duration::from_mins(5));
    assert_eq!((world.available(), world.assessing.len()), (vec!["1.1.0".to_owned(), "1.0.1".to_owned()], 0));
}

#[test]
fn an_answer_that_comes_back_leaves_no_note() {
    let mut world = world();
    world.start();
    for query in ["bb", "a", "bb", "a"] {
        world.graph = conditional(query);
        world.pass(Duration::from_mins(15));
        assert!(world.assessing.is_empty(), "{query}: {:?}", world.log);
    }
}

/// A new query waits until the rest after the last round is over, and may be what ends the process.
#[test]
fn an_answer_is_not_assessed_before_its_queries_were_asked() {
    let mut world = world();
    world.start();
    let first = world.kept.as_ref().unwrap().digest();
    world.graph = conditional("bb");
    world.pass(Duration::from_mins(9));
    assert_eq!((world.count("evaluate"), world.assessing.len()), (1, 1), "{:?}", world.log);
    assert_eq!(world.kept.as_ref().unwrap().digest(), first, "it is not what the next process starts with");
    world.pass(Duration::from_mins(2));
    assert_eq!((world.count("evaluate"), world.assessing.len()), (2, 0), "{:?}", world.log);
    assert_ne!(world.kept.as_ref().unwrap().digest(), first);
}

/// A graph with a rule about objects of a kind.
fn about_objects(kind: &str) -> Value {
    let expression = "object.metadata.name == 'bad'";
    let rule = json!({"type": "Resource", "resource": {"apiVersion": "v1", "kind": kind, "expression": expression}});
    let mut risk = risk("Alpha", "a");
    risk["matchingRules"] = json!([rule]);
    graph(&[("1.1.0", vec![risk])])
}

fn world_with_objects() -> World {
    let mut world = World::new(about_objects("Node"));
    let object = |kind| json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": "good"}});
    world.objects = ["Node", "Namespace"].map(object).to_vec();
    world
}

/// A service need not know its answers by a tag.
#[test]
fn the_same_answer_again_changes_no_advice() {
    let mut world = world_with_objects();
    world.start();
    assert_eq!(world.recommended("1.1.0").0, "True");
    let stored = world.count("store");
    let again = world.fetch(world.requests[0].clone(), None).unwrap();
    world.input(again);
    assert_eq!((world.count("look"), world.count("store")), (1, stored), "{:?}", world.log);
}

/// Questions about objects of an earlier answer say nothing about those of the present one.
#[test]
fn an_answer_is_not_assessed_before_its_objects_were_looked_at() {
    let mut world = world_with_objects();
    world.looking = false;
    world.start();
    let (earlier, old_questions) = world.looks.pop().unwrap();
    world.graph = about_objects("Namespace");
    world.pass(Duration::from_mins(4));
    let (present, questions) = world.looks.pop().expect("it does not wait for the earlier look");
    let answer = world.assessing.clone();
    let objects = world.look(old_questions);
    world.input(Input::Looked { number: earlier, objects });
    assert_eq!((&world.assessing, world.looks.len()), (&answer, 0), "{:?}", world.log);
    let objects = world.look(questions);
    world.input(Input::Looked { number: present, objects });
    assert!(world.assessing.is_empty() && world.looks.is_empty(), "{:?}", world.log);
    assert_eq!(world.recommended("1.1.0").0, "True");
}

#[test]
fn an_answer_to_an_earlier_request_leaves_no_note() {
    let mut world = world();
    world.service = Service::Hangs;
    let steps = world.reconciler.step(Input::Object(Box::new(world.object.clone())), world.now);
    let ask = steps.into_iter().find_map(|effect| match effect {
        Effect::Fetch { ask, .. } => Some(ask),
        _ => None,
    });
    world.service = Service::Answers;
    let late = world.fetch(ask.unwrap(), None).unwrap();
    world.service = Service::Hangs;
    follow(&mut world, "other");
    assert_eq!(world.count("assessed"), 0);
    world.input(late);
    assert_eq!(world.count("assessed"), 1, "{:?}", world.log);
    assert_eq!(world.available(), Vec::<String>::new(), "it is not used");
}

/// The same answer may come to two requests, and the earlier request be answered last.
#[test]
fn an_answer_that_was_assessed_meanwhile_leaves_no_note() {
    let mut world = world();
    world.service = Service::Hangs;
    world.start();
    let earlier = world.requests[0].clone();
    world.service = Service::Answers;
    follow(&mut world, "other");
    assert!(world.assessing.is_empty(), "{:?}", world.log);
    let assessed = world.count("assessed");
    let late = world.fetch(earlier, None).unwrap();
    world.input(late);
    assert_eq!(world.count("assessed"), assessed + 1, "{:?}", world.log);
}

/// A status may be on its way when the last evidence comes: what it was computed from is not all that there is.
#[test]
fn an_answer_is_not_assessed_before_all_evidence_was_used() {
    let mut world = world();
    world.answering = false;
    world.start();
    // The status that waits for no answers is stored later than they come.
    world.now = world.now.plus(Duration::from_secs(3));
    let stored = world.reconciler.step(Input::Tick, world.now);
    assert!(matches!(stored.as_slice(), [Effect::Store(_)]), "{stored:?}");
    let evidence = Input::Evidence { query: "a".into(), result: world.value("a") };
    let effects = world.reconciler.step(evidence, world.now);
    assert!(!effects.iter().any(|effect| matches!(effect, Effect::Assessed(_) | Effect::Cache(_))), "{effects:?}");
    let Some(Effect::Store(object)) = stored.into_iter().next() else { return };
    world.input(Input::Stored(Ok(object)));
    world.pass(Duration::from_secs(5));
    assert!(world.assessing.is_empty() && world.kept.is_some(), "{:?}", world.log);
}

#[test]
fn an_answer_that_is_replaced_before_it_was_assessed_leaves_no_note() {
    let mut world = world();
    world.answering = false;
    world.start();
    let first = world.assessing.clone();
    assert_eq!(first.len(), 1);
    world.graph = graph(&[("1.1.0", vec![risk("Alpha", "b"), risk("Beta", "a")])]);
    world.pass(Duration::from_mins(5));
    assert_eq!(world.assessing.len(), 1, "only the present one: {:?}", world.log);
    assert!(world.assessing.is_disjoint(&first));
    follow(&mut world, "other");
    world.service = Service::Forgets;
    world.pass(Duration::from_mins(5));
    assert!(world.assessing.is_empty(), "nor does one that is forgotten: {:?}", world.log);
}

#[test]
fn an_answer_is_assessed_again_when_there_is_one() {
    let mut world = world();
    world.start();
    world.service = Service::Away;
    world.edit(|object| object["metadata"]["annotations"] = json!({RE_EVALUATE: "now"}));
    world.pass(Duration::from_mins(2));
    let asked = world.count("fetch again");
    assert!(asked > 1, "an outage does not use it up: {:?}", world.log);
    world.service = Service::Answers;
    world.graph = conditional("bb");
    world.pass(Duration::from_mins(5));
    let answered = world.count("fetch again");
    world.pass(Duration::from_mins(30));
    assert_eq!(world.count("fetch again"), answered, "once: {:?}", world.log);
}

/// When the present request of a reconciler was made, if one is made at this time.
fn is_asked(reconciler: &mut Reconciler, now: Timestamp) -> Option<Effect> {
    let effects = reconciler.step(Input::Tick, now);
    effects.into_iter().find(|effect| matches!(effect, Effect::Fetch { .. }))
}

/// How long answers take to be worked on depends on what objects contain, and the service sees when it is asked.
#[test]
fn requests_do_not_depend_on_how_long_answers_are_worked_on() {
    let mut times = Vec::new();
    for slow in [0, 1, 30, 100] {
        for service in [Service::Answers, Service::Away] {
            let mut world = World::with(conditional("a"), settings());
            let begin = world.now;
            let object = Input::Object(Box::new(world.object.clone()));
            let effects = world.reconciler.step(object, world.now);
            let ask = effects.into_iter().find_map(|effect| match effect {
                Effect::Fetch { ask, .. } => Some(ask),
                _ => None,
            });
            world.service = service;
            let outcome = world.fetch(ask.unwrap(), None).unwrap();
            world.now = begin.plus(Duration::from_secs(slow));
            world.reconciler.step(outcome, world.now);
            let again = (slow..1_000)
                .find(|second| is_asked(&mut world.reconciler, begin.plus(Duration::from_secs(*second))).is_some());
            times.push((service == Service::Answers, slow, again.unwrap()));
        }
    }
    let answered: Vec<u64> = times.iter().filter(|(answered, ..)| *answered).map(|(_, _, again)| *again).collect();
    assert_eq!(answered, [180; 4], "{times:?}");
    // After a failure, it is the next of the times that are apart by the rest after a failure.
    let failed: Vec<u64> = times.iter().filter(|(answered, ..)| !*answered).map(|(_, _, again)| *again).collect();
    assert_eq!(failed, [5, 5, 35, 105], "{times:?}");
}

/// A graph with a rule about the objects of the release that an update leads to, and a query.
fn about_release(query: &str) -> Value {
    let rule = json!({"type": "Policy", "policy": {"kind": "Labels", "name": "owner", "objects": "Release"}});
    let mut about = risk("Alpha", "a");
    about["matchingRules"] = json!([rule]);
    graph(&[("1.1.0", vec![about]), ("1.2.0", vec![risk("Beta", query)])])
}

/// When releases are fetched in two hours, if a query has a value and each look takes so many seconds.
fn fetches_of_releases(value: Option<f64>, slow: &[u64]) -> Vec<Duration> {
    // Nothing else wakes the operator before it is time, and rounds are at other times.
    let rounds = RoundSettings {
        between_rounds: Duration::from_mins(7),
        between_answers: Duration::from_mins(25),
        ..RoundSettings::default()
    };
    let settings = Settings { fetch_every: Duration::from_hours(4), rounds, ..settings() };
    let mut world = World::with(about_release("a"), settings);
    world.metrics.insert("a", value);
    world.looking = slow.is_empty();
    world.start();
    let (begin, mut slow) = (world.now, slow.iter().cycle());
    while world.now.since(begin) < Duration::from_hours(2) {
        let Some((number, questions)) = world.looks.pop() else {
            world.pass(Duration::from_secs(1));
            continue;
        };
        world.pass(Duration::from_secs(*slow.next().unwrap()));
        let objects = world.look(questions);
        world.input(Input::Looked { number, objects });
    }
    world.looked_at.iter().map(|at| at.since(begin)).filter(|after| *after < Duration::from_hours(2)).collect()
}

/// A registry sees when releases are fetched, and must learn nothing from that: not what a query says, which decides when rounds
/// begin, and not how long objects were looked at.
#[test]
fn releases_are_fetched_by_a_schedule_alone() {
    let want: Vec<Duration> = (0..12).map(|number| Duration::from_mins(10) * number).collect();
    for value in [Some(1.0), Some(0.0), None] {
        for slow in [&[][..], &[1], &[30, 599, 0, 200]] {
            assert_eq!(fetches_of_releases(value, slow), want, "{value:?} {slow:?}");
        }
    }
    // One that takes longer than the interval leaves times out, and moves none.
    let late = fetches_of_releases(Some(1.0), &[700, 10]);
    let left: Vec<Duration> = want.into_iter().filter(|at| at.as_secs() % 1_800 != 600).collect();
    assert_eq!(late, left);
}

/// Other questions are asked at once.
#[test]
fn releases_of_a_new_answer_are_fetched_at_once() {
    let mut world = World::new(about_release("a"));
    world.metrics.extend([("a", Some(1.0)), ("bb", Some(1.0))]);
    world.start();
    world.graph = about_release("bb");
    world.pass(Duration::from_mins(4));
    assert_eq!(world.looked_at.iter().map(|at| at.since(world.looked_at[0]).as_secs()).collect::<Vec<_>>(), [0, 180]);
}
