//! What is kept of an answer is counted, and an answer that takes more than there is room for replaces nothing.

use std::time::Duration;

use clearway_advice::evidence::{BundleAnswer, CrdVersions, ObjectAnswer, ObjectQuestion, Observation, Record};
use clearway_core::GroupKind;
use clearway_update::reconciler::{Input, ObjectRecords, Reconciler};
use serde_json::{Value, json};

use crate::world::{Service, World, graph, risk};

fn small() -> Value {
    graph(&[("1.1.0", vec![risk("Alpha", "a")])])
}

/// The same with many risks.
fn large() -> Value {
    let risks = (0..200).map(|number| risk(&format!("Risk{number}"), &format!("max(m{number})"))).collect();
    graph(&[("1.1.0", risks)])
}

fn started(graph: Value) -> World {
    let mut world = World::new(graph);
    world.metrics.insert("a", Some(0.0));
    world.start();
    world
}

#[test]
fn an_answer_without_room_is_named_and_what_was_good_stays() {
    let mut world = started(small());
    let kept = world.reconciler.kept_memory();
    assert!(kept > 0);
    world.room = kept;
    world.graph = large();
    world.pass(Duration::from_mins(10));
    let (status, reason, message) = world.condition("RetrievedUpdates");
    assert_eq!((status.as_str(), reason.as_str()), ("False", "ResponseInvalid"));
    let words = format!("and the limit for it is {kept} at present (the cap \"answer_memory\")");
    assert!(message.contains("the answer for ClusterVersion version takes ") && message.contains(&words), "{message}");
    assert_eq!(world.available(), ["1.1.0", "1.0.1"]);
    assert_eq!(world.reconciler.kept_memory(), kept);
    world.room = usize::MAX;
    world.pass(Duration::from_mins(10));
    assert_eq!(world.condition("RetrievedUpdates").0, "True", "it is taken when there is room");
    assert!(world.reconciler.kept_memory() > 10 * kept / 2);
}

#[test]
fn what_another_process_kept_needs_room_as_well() {
    let mut world = started(large());
    world.pass(Duration::from_mins(1));
    world.room = world.reconciler.kept_memory() - 1;
    assert!(world.kept.is_some());
    world.restart();
    world.pass(Duration::from_mins(1));
    assert_eq!((world.reconciler.kept_memory(), world.available().len()), (0, 0));
    assert!(world.assessing.is_empty(), "it is not used, so it does no harm");
    world.room += 1;
    world.restart();
    assert!(world.reconciler.kept_memory() > 0);
}

/// The queries of an answer that is gone rest for a while, and count as long.
#[test]
fn what_is_forgotten_gives_its_memory_back() {
    let mut world = started(large());
    world.pass(Duration::from_mins(1));
    let kept = world.reconciler.kept_memory();
    world.edit(|object| object["spec"]["channel"] = Value::Null);
    assert!(world.reconciler.kept_memory() < kept);
    world.graph = small();
    world.edit(|object| object["spec"]["channel"] = json!("stable-1"));
    world.pass(Duration::from_hours(2));
    assert!(world.reconciler.kept_memory() < kept / 5, "{} of {kept}", world.reconciler.kept_memory());
}

fn without_queries() -> Value {
    let mut risk = risk("Always", "a");
    risk["matchingRules"] = json!([{"type": "Always"}]);
    graph(&[("1.1.0", vec![risk])])
}

/// They cannot be taken back, so they count beside the present answer until they are answered.
#[test]
fn queries_of_an_earlier_answer_that_are_being_asked_are_counted() {
    let risks = (0..200).map(|number| risk(&format!("Risk{number}"), &format!("max(m{number:0>300})")));
    let mut world = World::new(graph(&[("1.1.0", risks.collect())]));
    world.answering = false;
    world.start();
    world.graph = without_queries();
    world.pass(Duration::from_mins(11));
    let known = world.reconciler.knowledge().unwrap().memory();
    let kept = world.reconciler.kept_memory();
    assert!(kept > known + 200 * 300 && kept < known + 200 * 1_000, "{kept} and {known}");
}

/// A publisher that sends other queries each time, or none, keeps no more than its present answer takes.
#[test]
fn the_queries_of_earlier_answers_are_within_the_memory_of_the_present_one() {
    let answers = |round: usize| {
        let risks = (0..100).map(|number| risk(&format!("Risk{number}"), &format!("max(m{round}_{number:0>300})")));
        graph(&[("1.1.0", risks.collect())])
    };
    let mut world = World::new(answers(0));
    for (round, number) in (0..4).flat_map(|round| (0..100).map(move |number| (round, number))) {
        world.metrics.insert(Box::leak(format!("max(m{round}_{number:0>300})").into_boxed_str()), Some(0.0));
    }
    world.start();
    for next in [answers(1), answers(2), without_queries(), answers(3), small()] {
        world.graph = next;
        world.pass(Duration::from_mins(11));
        assert_eq!(world.condition("RetrievedUpdates").0, "True");
        let known = world.reconciler.knowledge().unwrap().memory();
        assert_eq!(world.reconciler.kept_memory(), known);
    }
}

/// Its room may be another one's later, and unpacked it may be large.
#[test]
fn what_another_process_kept_is_used_with_the_first_object_or_not_at_all() {
    let mut world = started(large());
    world.pass(Duration::from_mins(1));
    world.service = Service::Hangs;
    for unreadable in [true, false] {
        let state = world.kept.clone().unwrap();
        world.reconciler = Reconciler::new(world.settings.clone());
        world.assessing.insert(state.digest());
        world.input(Input::Cached { state: Box::new(state), room: usize::MAX });
        if unreadable {
            world.input(Input::Object(Box::new(json!({"kind": "Other"}))));
            assert!(world.assessing.is_empty(), "it is not used, so it does no harm");
        }
        world.start();
        assert_eq!(world.reconciler.knowledge().is_none(), unreadable);
    }
}

/// A risk with a rule about the bundle of a group.
fn about_bundle(group: &str) -> Value {
    let rule = json!({"type": "Bundle", "bundle": {"group": group, "version": "1.x", "whenAbsent": "NoMatch"}});
    let mut risk = risk("Crds", "a");
    risk["matchingRules"] = json!([rule]);
    risk
}

/// An answer with so many CRDs.
fn with_crds(count: usize) -> ObjectAnswer {
    let crd = |number: usize| {
        let name = format!("{number:0>60}s.a.io");
        let kind = GroupKind { group: "a.io".to_owned(), kind: format!("Kind{number}") };
        (kind, CrdVersions { name, served: ["v1".to_owned()].into(), stored: None })
    };
    let bundle = BundleAnswer { version: None, channel: None, crds: (0..count).map(crd).collect(), fault: None };
    ObjectAnswer { bundle: Some(bundle), ..ObjectAnswer::default() }
}

/// Answers the questions about objects, in the order of their texts.
fn look(world: &mut World, answers: &[ObjectAnswer]) {
    let questions = world.reconciler.knowledge().unwrap().plan.object_questions();
    let record = |((question, _), value): (&(&ObjectQuestion, u64), &ObjectAnswer)| {
        let (value, source) = (value.clone(), "c".to_owned());
        let observation = Observation { value, observed_at: world.now, source, reproduce: None, warnings: Vec::new() };
        (question.text().to_owned(), Record::Answered(observation))
    };
    assert_eq!(questions.len(), answers.len());
    let records = questions.iter().zip(answers).map(record).collect();
    let objects = ObjectRecords { at: world.now, records };
    world.input(Input::Looked { number: u64::MAX, objects });
    world.pass(Duration::from_secs(5));
}

/// Whether there was no memory for the answer to the rule of an update.
fn is_without_memory(world: &World, version: &str) -> bool {
    let (status, _, message) = world.recommended(version);
    let is_without = message.contains("bytes of memory");
    assert!(!is_without || status == "Unknown", "{status} {message}");
    is_without
}

#[test]
fn answers_of_objects_that_take_too_much_memory_fail() {
    let mut world = started(graph(&[("1.1.0", vec![about_bundle("a.io")])]));
    for (crds, is_too_much) in [(100, false), (20_000, true)] {
        look(&mut world, &[with_crds(crds)]);
        assert_eq!(is_without_memory(&world, "1.1.0"), is_too_much);
    }
}

/// What comes first by its text takes only what is there for all of them.
#[test]
fn large_answers_of_objects_take_nothing_from_others() {
    let mut world = started(graph(&[("1.1.0", vec![about_bundle("a.io")]), ("1.2.0", vec![about_bundle("z.io")])]));
    let all = world.reconciler.knowledge().unwrap().plan.object_answers_memory();
    let most = (1..20_000).find(|crds| with_crds(*crds).memory() > all - 1_024).unwrap() - 1;
    for (crds, is_too_much) in [(most / 2, false), (most, true)] {
        look(&mut world, &[with_crds(crds), with_crds(12)]);
        assert_eq!(is_without_memory(&world, "1.1.0"), is_too_much);
        assert!(!is_without_memory(&world, "1.2.0"));
    }
}
