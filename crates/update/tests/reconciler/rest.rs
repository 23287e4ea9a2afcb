//! At rest nothing is written.

use std::time::Duration;

use clearway_core::Timestamp;
use clearway_update::reconciler::{Input, RE_EVALUATE, Settings, UpdateMode};
use clearway_update::rollout::Rollout;
use serde_json::json;

use crate::world::{Service, World, graph, risk, settings};

#[test]
fn an_hour_without_news_is_an_hour_without_writes() {
    let mut world = World::new(graph(&[("1.1.0", vec![risk("Alpha", "a")]), ("1.2.0", vec![risk("Beta", "b")])]));
    world.metrics.extend([("a", Some(1.0)), ("b", None)]);
    world.start();
    world.pass(Duration::from_secs(10));
    let before = world.log.len();
    world.pass(Duration::from_hours(1));
    let writes: Vec<_> = world.log[before..]
        .iter()
        .filter(|entry| !entry.starts_with("fetch") && !entry.starts_with("evaluate"))
        .collect();
    assert_eq!(writes, Vec::<&String>::new());
    assert!(world.log.len() - before < 60, "and without much else: {:?}", &world.log[before..]);
}

#[test]
fn a_day_without_news_keeps_what_is_known_young_with_few_writes() {
    let mut world = World::new(graph(&[("1.1.0", vec![risk("Alpha", "a")])]));
    world.metrics.insert("a", Some(0.0));
    world.start();
    world.log.clear();
    world.pass(Duration::from_hours(24));
    assert_eq!(world.count("store"), 0);
    let kept = world.count("keep");
    assert!((6..=24).contains(&kept), "{kept}");
}

#[test]
fn conflicts_and_failures_are_tried_again_and_nothing_is_lost() {
    let mut world = World::new(graph(&[("1.1.0", vec![risk("Alpha", "a")])]));
    world.metrics.insert("a", Some(0.0));
    (world.conflicts, world.failures) = (5, 3);
    world.start();
    world.pass(Duration::from_mins(1));
    assert_eq!(world.available(), ["1.1.0", "1.0.1"]);
    assert_eq!(world.count("tell StatusNotStored"), 1, "said once, not three times: {:?}", world.log);
}

/// What was said about one update is not about another one, although both lead to the same payload.
#[test]
fn updates_with_the_same_payload_are_written_once() {
    let mut world = World::new(graph(&[("1.1.0", vec![risk("Alpha", "a")]), ("1.2.0", vec![risk("Beta", "b")])]));
    world.graph["nodes"][3]["payload"] = world.graph["nodes"][2]["payload"].clone();
    world.metrics.extend([("a", Some(1.0)), ("b", Some(0.0))]);
    world.store_time = Duration::from_secs(1);
    world.start();
    world.pass(Duration::from_secs(10));
    assert_eq!((world.recommended("1.1.0").0, world.recommended("1.2.0").0), ("False".into(), "True".into()));
    let stored = world.count("store");
    world.pass(Duration::from_hours(1));
    assert_eq!(world.count("store"), stored, "{:?}", world.log);
}

/// What a store makes of a status is its own affair: one that was stored is not stored again, as long as it stays so.
#[test]
fn a_store_that_changes_what_it_stores_is_written_to_once() {
    let mut world = World::new(graph(&[("1.1.0", vec![risk("Alpha", "a")])]));
    world.metrics.insert("a", Some(0.0));
    world.stored_as = |status| status["colour"] = json!("red");
    world.start();
    world.pass(Duration::from_secs(10));
    let stored = world.count("store");
    world.pass(Duration::from_hours(1));
    assert_eq!((world.count("store"), world.available()), (stored, vec!["1.1.0".into(), "1.0.1".into()]));
    world.edit(|object| object["status"]["availableUpdates"] = json!(null));
    world.pass(Duration::from_secs(10));
    assert_eq!(world.available(), ["1.1.0", "1.0.1"], "what somebody else changes is written again");
}

/// A graph with a risk whose query is answered, and one with a rule about objects that are good.
fn evaluated() -> World {
    let rule = json!({"type": "Resource", "resource": {"apiVersion": "v1", "kind": "Node", "expression": "object.metadata.name == 'bad'"}});
    let mut about_objects = risk("Beta", "b");
    about_objects["matchingRules"] = json!([rule]);
    let mut world = World::new(graph(&[("1.1.0", vec![risk("Alpha", "a")]), ("1.2.0", vec![about_objects])]));
    world.objects = vec![json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "good"}})];
    world.metrics.insert("a", Some(0.0));
    world
}

/// A clock that was wrong and is set right must not stop anything for as long as it was wrong.
#[test]
fn a_clock_that_is_set_back_stops_nothing() {
    for service in [Service::Answers, Service::Away] {
        let mut world = evaluated();
        world.start();
        world.pass(Duration::from_mins(30));
        world.now = "2026-01-01T00:00:00Z".parse().unwrap();
        world.service = service;
        world.log.clear();
        world.start();
        world.pass(Duration::from_secs(4));
        // Evidence of the future is none, and is found out again at once.
        assert_eq!((world.count("fetch"), world.count("evaluate"), world.count("look")), (1, 1, 1), "{:?}", world.log);
        assert_eq!(world.available(), ["1.2.0", "1.1.0", "1.0.1"]);
        assert_eq!((world.recommended("1.1.0").0, world.recommended("1.2.0").0), ("True".into(), "True".into()));
        world.pass(Duration::from_mins(70));
        assert!(world.count("fetch") > 20 && world.count("evaluate") > 1 && world.count("look") > 5, "{:?}", world.log);
        assert_eq!(world.condition("RetrievedUpdates").0, if service == Service::Away { "False" } else { "True" });
    }
}

/// Where no query is asked with them, objects are looked at again as soon.
#[test]
fn objects_are_looked_at_again_after_the_clock_was_set_back() {
    let mut world = evaluated();
    world.graph["conditionalEdges"].as_array_mut().unwrap().remove(0);
    world.start();
    world.pass(Duration::from_secs(5));
    for (back, looks) in [(200, 0), (301, 1), (0, 0), (86_400, 1)] {
        world.now = world.now.minus(Duration::from_secs(back));
        world.log.clear();
        world.input(Input::Tick);
        world.pass(Duration::from_secs(1));
        assert_eq!((world.count("look"), world.recommended("1.2.0").0), (looks, "True".into()), "{back}");
    }
}

/// Clocks are corrected all the time, and neither the service nor the cluster is asked for it.
#[test]
fn a_clock_that_is_set_back_a_little_asks_for_nothing() {
    let mut world = evaluated();
    world.start();
    world.pass(Duration::from_secs(5));
    world.log.clear();
    for _ in 0..100 {
        world.now = world.now.minus(Duration::from_secs(2));
        world.input(Input::Tick);
    }
    assert_eq!(world.log, Vec::<String>::new());
    world.pass(Duration::from_mins(4));
    assert_eq!(world.count("fetch"), 1, "after its rest: {:?}", world.log);
    // Together they are more than clocks may differ by, which asks once.
    world.log.clear();
    for _ in 0..200 {
        world.now = world.now.minus(Duration::from_secs(2));
        world.input(Input::Tick);
    }
    assert_eq!(world.count("fetch"), 1, "{:?}", world.log);
}

/// What the service said is as old as its last answer, whatever the clock was before.
#[test]
fn what_is_known_expires_also_after_the_clock_was_set_back() {
    const YEAR: Duration = Duration::from_hours(24 * 365);
    for restarts in [false, true] {
        let mut world = World::new(graph(&[]));
        world.start();
        world.pass(Duration::from_mins(5));
        world.now = world.now.minus(YEAR);
        world.service = Service::Away;
        if restarts {
            world.restart();
        } else {
            world.start();
        }
        world.pass(Duration::from_hours(23));
        assert_eq!(world.available(), ["1.0.1"], "{restarts}");
        world.pass(Duration::from_hours(2));
        assert_eq!(world.available(), Vec::<String>::new(), "{restarts}");
    }
}

/// An answer that nothing has changed is as good as a new one, also for the next process.
#[test]
fn an_answer_that_has_not_changed_makes_what_is_known_young() {
    let mut world = World::new(graph(&[]));
    world.start();
    world.pass(Duration::from_hours(30));
    world.service = Service::Away;
    let at = world.now;
    world.pass(Duration::from_hours(1));
    assert_eq!((world.available(), world.condition("RetrievedUpdates").0), (vec!["1.0.1".to_owned()], "False".into()));
    let message = world.condition("RetrievedUpdates").2;
    let (_, from) = message.rsplit_once(' ').unwrap();
    let from: Timestamp = from.trim_end_matches('.').parse().unwrap();
    assert!(at.since(from) < Duration::from_mins(4), "{message}");
    world.restart();
    world.pass(Duration::from_hours(20));
    assert_eq!(world.available(), ["1.0.1"], "and so is what is cached");
}

/// An interval of a second means one question a second, whatever fraction of it the jitter makes.
#[test]
fn a_short_interval_does_not_spin() {
    for jitter in [0.0, 0.2, 0.5, 1.0] {
        for service in [Service::Answers, Service::Away] {
            let settings = Settings { fetch_every: Duration::from_secs(1), jitter, ..settings() };
            let mut world = World::with(graph(&[]), settings);
            world.service = service;
            world.start();
            assert!(world.reconciler.next() > Some(world.now), "{jitter}: it is asked again at once");
            // Passing time fails if a step is due at its own time.
            world.pass(Duration::from_mins(1));
            assert!((20..=62).contains(&world.count("fetch")), "{jitter}: {}", world.count("fetch"));
        }
    }
}

/// Every answer changes the advice about one update; while an update is asked for that nobody applies, they are not as many
/// statuses.
#[test]
fn answers_of_a_second_are_not_as_many_statuses_while_an_update_is_requested() {
    let queries = ["a", "b", "c", "d", "e", "f", "g", "h"];
    let versions: Vec<String> = (1..=queries.len()).map(|minor| format!("1.{minor}.0")).collect();
    let updates: Vec<_> =
        versions.iter().zip(queries).map(|(to, query)| (to.as_str(), vec![risk(query, query)])).collect();
    let settings = Settings { update_mode: UpdateMode::Never, ..settings() };
    let mut world = World::with(graph(&updates), settings);
    world.metrics.extend(queries.map(|query| (query, Some(1.0))));
    world.start();
    world.ask_for(json!({"version": "1.0.1"}));
    world.pass(Duration::from_secs(10));
    assert!(matches!(world.reconciler.rollout(), Rollout::Waiting { .. }), "{:?}", world.reconciler.rollout());
    world.metrics.extend(queries.map(|query| (query, Some(0.0))));
    world.log.clear();
    world.edit(|object| object["metadata"]["annotations"] = json!({RE_EVALUATE: "now"}));
    world.pass(Duration::from_secs(10));
    assert_eq!(world.available().len(), queries.len() + 1);
    assert!(world.count("store") <= 3, "{:?}", world.log);
}

/// `CannotRetrieveUpdates` fires after a restart in an outage, too: there is a time from the start, and it is that of the
/// last answer if one was kept.
#[test]
fn the_time_of_the_last_answer_is_known_from_the_start() {
    let mut world = World::new(graph(&[]));
    world.service = Service::Away;
    world.start();
    let begun = world.reconciler.retrieved_at();
    assert!(begun.is_some());
    world.pass(Duration::from_mins(90));
    assert_eq!(world.reconciler.retrieved_at(), begun);
    world.service = Service::Answers;
    world.pass(Duration::from_mins(90));
    let answered = world.reconciler.retrieved_at();
    assert!(answered > begun);
    world.service = Service::Away;
    world.restart();
    world.pass(Duration::from_mins(10));
    assert!(world.reconciler.retrieved_at() <= answered, "a restart does not make an old answer young");
}

#[test]
fn changes_of_conditions_are_counted() {
    let mut world = World::new(graph(&[]));
    world.start();
    let changes = |world: &World| world.reconciler.transitions().get("RetrievedUpdates").copied().unwrap_or(0);
    let before = changes(&world);
    world.service = Service::Away;
    world.pass(Duration::from_mins(30));
    assert_eq!(changes(&world), before + 1);
}

/// A status with a history entry that says so many bytes about accepted risks.
fn with_history(world: &mut World, bytes: usize) {
    world.edit(|object| object["status"]["history"][0]["acceptedRisks"] = json!("x".repeat(bytes)));
    world.pass(Duration::from_secs(10));
}

/// What etcd does not take is not sent to it: neither the updates, nor a status that is too large without them.
#[test]
fn a_status_that_is_too_large_is_never_written() {
    let mut world = evaluated();
    world.start();
    with_history(&mut world, 1_100_000);
    let left_out = world.condition("clearway.dev/UpdatesLeftOut");
    assert_eq!(left_out.0, "True");
    for version in ["1.0.1", "1.1.0", "1.2.0"] {
        assert!(left_out.2.contains(&format!("the update to {version}: ")), "{}", left_out.2);
    }
    let lists = |world: &World| {
        (world.object["status"]["availableUpdates"].clone(), world.object["status"].get("conditionalUpdates").cloned())
    };
    assert_eq!(lists(&world), (json!(null), None));
    let stored = world.count("store");
    world.pass(Duration::from_mins(7));
    assert_eq!(world.count("store"), stored, "{:?}", world.log);

    with_history(&mut world, 1_400_000);
    world.service = Service::Away;
    world.pass(Duration::from_mins(7));
    assert_eq!((world.count("store"), world.count("tell StatusNotStored")), (stored, 1), "{:?}", world.log);
    with_history(&mut world, 1_000);
    world.service = Service::Answers;
    world.pass(Duration::from_mins(7));
    assert_eq!(world.available(), ["1.2.0", "1.1.0", "1.0.1"], "it is written when there is room again");
}
