//! The change from a release for one architecture to the one for several.

use std::time::Duration;

use clearway_update::reconciler::Input;
use clearway_update::rollout::Rollout;
use serde_json::{Value, json};

use crate::world::{Service, World, graph, risk};

const MULTI: &str = "example.com/r@multi";

fn world() -> World {
    let mut world = World::new(graph(&[("1.1.0", vec![risk("Alpha", "a")])]));
    world.metrics.insert("a", Some(0.0));
    let node = |version: &str, image: &str| json!({"version": version, "payload": image, "metadata": {"release.openshift.io/architecture": "multi"}});
    world.multi =
        json!({"nodes": [node("1.0.0", MULTI), node("1.2.0", "example.com/r@multi-1.2.0")], "edges": [[0, 1]]});
    world.prepared.as_mut().unwrap().version = "1.0.0".into();
    world.start();
    world
}

fn multi() -> Value {
    json!({"version": "1.0.0", "architecture": "Multi", "image": "", "force": false})
}

fn is_invalid(world: &World) -> bool {
    world.object["status"]["conditions"].to_string().contains("\"Invalid\"")
}

#[test]
fn the_architecture_is_changed_at_the_same_version_and_updates_come_afterwards() {
    let mut world = world();
    assert_eq!(world.available(), ["1.1.0", "1.0.1"]);
    world.applies = false;
    world.ask_for(multi());
    assert_eq!(world.count(&format!("prepare {MULTI}")), 1, "{:?}", world.log);
    assert!(!is_invalid(&world));
    world.applies = true;
    world.restart();
    world.pass(Duration::from_mins(5));
    let status = &world.object["status"];
    assert_eq!(status["desired"]["architecture"], "Multi");
    let newest = &status["history"][0];
    assert_eq!(
        (&newest["version"], &newest["image"], &newest["state"]),
        (&json!("1.0.0"), &json!(MULTI), &json!("Completed"))
    );
    assert_eq!(newest.get("acceptedRisks"), None, "the update service names it");
    assert_eq!(world.available(), ["1.2.0"], "of the graph of multi-architecture releases");
    world.log.clear();
    world.pass(Duration::from_mins(30));
    assert_eq!(world.count("prepare"), 0, "it is there");
}

#[test]
fn a_change_that_cannot_be_made_is_said_and_made_when_it_can() {
    let mut world = world();
    world.service = Service::Away;
    world.ask_for(multi());
    world.pass(Duration::from_secs(5));
    let (status, reason, message) = world.condition("ReleaseAccepted");
    assert_eq!((status.as_str(), reason.as_str()), ("False", "RetrievePayload"));
    assert!(message.contains("Unable to retrieve available updates"), "{message}");
    assert_eq!(world.object["status"]["desired"].get("architecture"), None);
    // It answers, but knows no such release of this version.
    world.service = Service::Answers;
    let known = world.multi.clone();
    world.multi = graph(&[]);
    world.pass(Duration::from_mins(5));
    let (status, _, message) = world.condition("ReleaseAccepted");
    assert!(status == "False" && message.contains("no multi-architecture release of this version"), "{message}");
    assert_eq!(world.available(), Vec::<String>::new());
    assert_eq!(world.object["status"]["desired"].get("architecture"), None);
    // Taken back, everything is as before.
    let asked = world.object["spec"]["desiredUpdate"].clone();
    world.ask_for(Value::Null);
    world.pass(Duration::from_secs(5));
    assert_eq!((world.condition("ReleaseAccepted").0.as_str(), world.condition("Ready").0.as_str()), ("True", "True"));
    assert_eq!(world.available(), ["1.1.0", "1.0.1"]);
    world.multi = known;
    world.ask_for(asked);
    world.pass(Duration::from_mins(5));
    assert_eq!(world.object["status"]["desired"]["image"], MULTI);
}

#[test]
fn while_the_service_does_not_answer_the_change_is_pending() {
    let mut world = world();
    world.service = Service::Hangs;
    world.ask_for(multi());
    world.pass(Duration::from_secs(5));
    assert_eq!(world.condition("ReleaseAccepted").0, "Unknown");
    assert!(!is_invalid(&world));
}

/// What is under way goes on; then the change that cannot be made is said.
#[test]
fn a_change_asked_for_during_an_update_is_not_forgotten() {
    let mut world = world();
    world.prepared.as_mut().unwrap().version = "1.0.1".into();
    world.applies = false;
    world.ask_for(json!({"version": "1.0.1"}));
    world.pass(Duration::from_secs(2));
    world.service = Service::Away;
    world.ask_for(json!({"version": "1.0.1", "architecture": "Multi"}));
    world.pass(Duration::from_secs(5));
    let Rollout::Applying { request, prepared, .. } = world.reconciler.rollout().clone() else { panic!("it goes on") };
    world.input(Input::Rollout(Rollout::Done { request, prepared, at: world.now }));
    world.pass(Duration::from_mins(5));
    assert_eq!(world.object["status"]["history"][0]["state"], "Completed");
    assert_eq!(world.condition("ReleaseAccepted").0, "False");
}
