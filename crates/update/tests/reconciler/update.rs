//! Updates: from a wish to a history, with whatever comes between.

use std::time::Duration;

use clearway_update::reconciler::CarryOut;
use serde_json::{Value, json};

use crate::world::{World, graph, risk};

fn world() -> World {
    let mut world = World::new(graph(&[("1.1.0", vec![risk("Alpha", "a")])]));
    world.metrics.insert("a", Some(1.0));
    world.start();
    world
}

fn history(world: &World) -> Vec<(String, String, bool)> {
    let list = world.object["status"]["history"].as_array().unwrap();
    list.iter()
        .map(|entry| {
            let text = |field: &str| entry[field].as_str().unwrap().to_owned();
            (text("version"), text("state"), entry["completionTime"].is_string())
        })
        .collect()
}

fn entry(version: &str, state: &str, ended: bool) -> (String, String, bool) {
    (version.to_owned(), state.to_owned(), ended)
}

#[test]
fn the_history_says_what_begins_before_anything_is_applied() {
    let mut world = world();
    world.applies = false;
    world.log.clear();
    world.ask_for(json!({"version": "1.0.1"}));
    let at = |what: &str| {
        world.log.iter().position(|entry| entry.starts_with(what)).unwrap_or_else(|| panic!("{what}: {:?}", world.log))
    };
    assert!(at("prepare example.com/r@1.0.1") < at("store") && at("store") < at("apply example.com/r@1.0.1"));
    assert_eq!(history(&world), [entry("1.0.1", "Partial", false), entry("1.0.0", "Completed", true)]);
    assert_eq!(world.object["status"]["desired"]["version"], "1.0.1");
    world.pass(Duration::from_secs(2));
    let (status, _, message) = world.condition("Progressing");
    assert_eq!(
        (status.as_str(), message.as_str()),
        ("True", "Working towards 1.0.1: 1 of 3 done (33% complete), waiting on Deployment shop/web")
    );
    assert_eq!(world.condition("ReleaseAccepted").1, "PayloadLoaded");
    assert_eq!(world.condition("Available").0, "True", "what was there is there");
}

#[test]
fn a_completed_update_is_recorded_once_and_nothing_is_left_to_do() {
    let mut world = world();
    world.ask_for(json!({"version": "1.0.1"}));
    world.pass(Duration::from_secs(5));
    assert_eq!(history(&world), [entry("1.0.1", "Completed", true), entry("1.0.0", "Completed", true)]);
    assert_eq!(world.object["status"]["history"][0].get("acceptedRisks"), None, "it was recommended");
    assert_eq!(world.condition("Progressing").2, "Cluster version is 1.0.1");
    world.log.clear();
    world.pass(Duration::from_mins(30));
    assert_eq!(world.count("store") + world.count("prepare") + world.count("apply"), 0, "{:?}", world.log);
}

#[test]
fn what_is_not_recommended_is_carried_out_and_recorded() {
    let mut world = world();
    world.prepared.as_mut().unwrap().version = "1.1.0".into();
    world.prepared.as_mut().unwrap().overridden = vec!["The release is not signed.".into()];
    world.applies = false;
    world.ask_for(json!({"version": "1.1.0"}));
    let (status, _, message) = world.condition("clearway.dev/UpdateConcerns");
    assert_eq!(
        (status.as_str(), message.as_str()),
        ("True", "Overridden by the update request:\n* The release is not signed.")
    );
    world.applies = true;
    world.restart();
    world.pass(Duration::from_secs(5));
    let conditions = world.object["status"]["conditions"].to_string();
    assert!(!conditions.contains("UpdateConcerns"), "only while it is being carried out: {conditions}");
    let risks = world.object["status"]["history"][0]["acceptedRisks"].as_str().unwrap();
    assert_eq!(
        risks,
        "Updating from 1.0.0 to 1.1.0 is supported, but not recommended for this cluster.\n\nReason: Alpha\n\nAlpha is bad. https://example.com/Alpha\n\nThe release is not signed.\n",
        "U12"
    );
}

#[test]
fn a_release_that_cannot_be_had_changes_nothing_and_says_why() {
    let mut world = world();
    world.prepared = Err("the registry answers 404".into());
    world.ask_for(json!({"version": "1.0.1"}));
    let (status, reason, message) = world.condition("ReleaseAccepted");
    assert_eq!((status.as_str(), reason.as_str()), ("False", "RetrievePayload"));
    assert!(message.ends_with("failure=the registry answers 404"), "{message}");
    assert_eq!(history(&world), [entry("1.0.0", "Completed", true)]);
    assert_eq!(world.condition("Ready").0, "False", "what is wanted is not there");
    world.log.clear();
    world.ask_for(Value::Null);
    assert_eq!(world.condition("ReleaseAccepted").0, "True", "taken back: {:?}", world.log);
    assert_eq!(world.count("stop"), 1);
}

#[test]
fn a_change_of_mind_ends_one_entry_and_begins_another() {
    let mut world = world();
    world.applies = false;
    world.ask_for(json!({"version": "1.0.1"}));
    world.pass(Duration::from_mins(1));
    world.applies = true;
    world.prepared.as_mut().unwrap().version = "1.0.0".into();
    world.ask_for(json!({"version": "1.0.0"}));
    world.pass(Duration::from_secs(5));
    let want = [entry("1.0.0", "Completed", true), entry("1.0.1", "Partial", true), entry("1.0.0", "Completed", true)];
    assert_eq!(history(&world), want);
}

#[test]
fn another_process_goes_on_where_one_was_killed() {
    let mut world = world();
    world.applies = false;
    world.ask_for(json!({"version": "1.0.1"}));
    for _ in 0..20 {
        world.restart();
        world.pass(Duration::from_secs(3));
    }
    world.applies = true;
    world.restart();
    world.pass(Duration::from_secs(5));
    assert_eq!(history(&world), [entry("1.0.1", "Completed", true), entry("1.0.0", "Completed", true)]);
}

#[test]
fn a_conflict_between_beginning_and_applying_applies_nothing_early() {
    let mut world = world();
    world.applies = false;
    world.conflicts = 1;
    world.log.clear();
    world.ask_for(json!({"version": "1.0.1"}));
    assert_eq!(world.count("apply"), 0, "{:?}", world.log);
    world.pass(Duration::from_secs(5));
    assert_eq!(world.count("apply"), 1);
    assert_eq!(history(&world).len(), 2);
}

#[test]
fn an_operator_that_only_advises_says_so_to_who_asks_for_an_update() {
    let mut world = world();
    world.settings.carry_out = CarryOut::Never;
    world.restart();
    world.ask_for(json!({"version": "1.0.1"}));
    let (status, _, message) = world.condition("ReleaseAccepted");
    assert_eq!(status, "False");
    assert!(message.contains("this operator only advises") && message.contains("--apply-updates"), "{message}");
    assert_eq!((world.count("prepare"), world.count("apply")), (0, 0));
    assert_eq!(history(&world), [entry("1.0.0", "Completed", true)]);
    world.ask_for(Value::Null);
    assert_eq!(world.condition("ReleaseAccepted").0, "True", "taken back, it is as before");
}
