//! `Ready` and what it follows from while a release is applied, `Failing` over a restart, and the events about it.

use std::time::Duration;

use clearway_update::reconciler::Input;
use clearway_update::rollout::{Failure, Rollout};
use serde_json::{Value, json};

use crate::world::{World, graph};

const KINDS: [(&str, &str); 2] =
    [("config.openshift.io/v1", "ClusterVersion"), ("clearway.dev/v1alpha1", "ComponentVersion")];
const APPLIED: &str = "clearway.dev/ReleaseApplied";

/// A world in which an update does not end by itself, for an object of a kind.
fn world((api_version, kind): (&str, &str)) -> World {
    let mut world = World::new(graph(&[]));
    (world.object["apiVersion"], world.object["kind"]) = (json!(api_version), json!(kind));
    world.applies = false;
    world.start();
    world
}

fn failure(reason: &str, message: &str) -> Failure {
    Failure { reason: reason.to_owned(), message: message.to_owned() }
}

fn crash() -> Failure {
    failure("PodsFailed", "Deployment.apps shop/web: 1 pod has failed")
}

/// The status and reason of `Ready` and of `clearway.dev/ReleaseApplied`.
fn readiness(world: &World) -> [(String, String); 2] {
    ["Ready", APPLIED].map(|type_| {
        let (status, reason, _) = world.condition(type_);
        (status, reason)
    })
}

fn both(status: &str, reason: &str) -> [(String, String); 2] {
    [(); 2].map(|()| (status.to_owned(), reason.to_owned()))
}

/// The worker reports the same update with these failures.
fn report(world: &mut World, failures: Vec<Failure>) {
    let Rollout::Applying { request, prepared, progress } = world.reconciler.rollout().clone() else { panic!() };
    world.input(Input::Rollout(Rollout::Applying { request, prepared, progress: progress.with_failures(failures) }));
    world.pass(Duration::from_secs(2));
}

#[test]
fn an_object_is_ready_only_when_its_release_is_applied_and_healthy() {
    for kind in KINDS {
        let mut world = world(kind);
        assert_eq!(readiness(&world)[0].0, "True");
        world.ask_for(json!({"version": "1.0.1"}));
        world.pass(Duration::from_secs(2));
        assert_eq!(readiness(&world), both("Unknown", "Updating"), "being applied");
        for reason in ["PodsFailed", "TakesTooLong"] {
            report(&mut world, vec![failure(reason, "Deployment.apps shop/web: it says")]);
            assert_eq!(readiness(&world), both("False", reason));
            assert_eq!(world.condition("Failing").0, "True");
            assert_eq!(world.condition("Available").0, "True", "what was there is there");
        }
        report(&mut world, Vec::new());
        assert_eq!(readiness(&world), both("Unknown", "Updating"), "it goes on");
        let Rollout::Applying { request, prepared, .. } = world.reconciler.rollout().clone() else { panic!() };
        world.input(Input::Rollout(Rollout::Done { request, prepared, at: world.now }));
        world.pass(Duration::from_secs(2));
        assert_eq!(readiness(&world).map(|(status, _)| status), ["True", "True"]);
        assert_eq!(world.condition(APPLIED).2, "Applied 1.0.1");
    }
}

/// Nothing has failed while the first release is applied (K3).
#[test]
fn the_first_release_makes_an_object_not_ready_only_if_it_fails() {
    for kind in KINDS {
        let mut world = world(kind);
        world.edit(|object| {
            object["status"] = Value::Null;
            object["spec"]["desiredUpdate"] = json!({"version": "1.0.1", "image": "example.com/r@1.0.1"});
        });
        world.pass(Duration::from_secs(2));
        assert_eq!(world.condition("Progressing").0, "True");
        assert_eq!(readiness(&world).map(|(status, _)| status), ["Unknown", "Unknown"]);
        assert_eq!(world.condition("Available").0, "Unknown");
        report(&mut world, vec![crash()]);
        assert_eq!(readiness(&world)[1], ("False".to_owned(), "PodsFailed".to_owned()));
        assert_eq!(readiness(&world)[0].0, "False");
    }
}

#[test]
fn a_failure_stands_over_a_restart_until_something_newer_is_observed() {
    let mut world = world(KINDS[0]);
    world.failing = vec![crash(), failure("Refused", "ConfigMap shop/a (a.yaml): no")];
    world.ask_for(json!({"version": "1.0.1"}));
    world.pass(Duration::from_secs(5));
    let before = world.object["status"]["conditions"].clone();
    assert_eq!(world.condition("Failing").1, "MultipleErrors");
    for failing in [world.failing.clone(), vec![crash()]] {
        world.failing = failing;
        world.stored_failing.clear();
        world.restart();
        world.pass(Duration::from_mins(5));
        assert!(world.stored_failing.iter().all(|status| status == "True"), "{:?}", world.stored_failing);
        assert!(world.stored_failing.len() <= 2, "{:?}", world.stored_failing);
        assert_eq!(world.condition("Ready").0, "False");
    }
    let since = |conditions: &Value| {
        let list = conditions.as_array().unwrap();
        list.iter().find(|condition| condition["type"] == "Failing").unwrap()["lastTransitionTime"].clone()
    };
    assert_eq!(since(&before), since(&world.object["status"]["conditions"]));
    // A release that cannot be fetched again is no news about the failure either.
    world.prepared = Err("the registry answers 404".into());
    world.restart();
    world.pass(Duration::from_mins(5));
    assert_eq!(world.condition("Failing").1, "PodsFailed");
}

#[test]
fn a_failure_of_one_release_is_not_one_of_the_next() {
    let mut world = world(KINDS[0]);
    world.failing = vec![crash()];
    world.ask_for(json!({"version": "1.0.1"}));
    world.pass(Duration::from_mins(5));
    assert_eq!(world.condition("Failing").0, "True");
    world.failing.clear();
    world.prepared.as_mut().unwrap().version = "1.0.0".into();
    world.ask_for(json!({"version": "1.0.0"}));
    world.pass(Duration::from_secs(5));
    assert_eq!((world.condition("Failing").0.as_str(), readiness(&world)), ("False", both("Unknown", "Updating")));
}

/// The log and the Events have the beginning, each reason of a failure once, and the end; all with the version.
#[test]
fn an_update_is_told_of_from_its_beginning_to_its_end() {
    let mut world = world(KINDS[0]);
    world.ask_for(json!({"image": "example.com/r@unlisted"}));
    world.pass(Duration::from_secs(2));
    for _ in 0..5 {
        report(&mut world, vec![crash()]);
        report(&mut world, vec![crash(), failure("Refused", "ConfigMap shop/a (a.yaml): no")]);
    }
    let Rollout::Applying { request, prepared, .. } = world.reconciler.rollout().clone() else { panic!() };
    world.input(Input::Rollout(Rollout::Done { request, prepared, at: world.now }));
    let told = |reason: &str| -> Vec<String> {
        let events = world.events.iter().filter(|event| event.reason == reason);
        events.map(|event| event.message.clone()).collect()
    };
    let name = "version=\"1.0.1\" image=\"example.com/r@unlisted\"";
    assert_eq!(told("UpdateBegun"), [format!("Update begun {name}")]);
    assert_eq!(
        told("UpdateFailing"),
        [
            format!("Update failing {name}: Deployment.apps shop/web: 1 pod has failed"),
            format!("Update failing {name}: Deployment.apps shop/web: 1 pod has failed; ConfigMap shop/a (a.yaml): no"),
        ]
    );
    assert_eq!(told("UpdateCompleted"), [format!("Update completed {name}")]);
    let about = world.events.iter().filter(|event| event.reason.starts_with("Update"));
    assert!(about.clone().all(|event| event.release.as_deref() == Some("1.0.1")), "{:?}", world.events);
    world.applies = false;
    world.ask_for(json!({"image": "example.com/r@another"}));
    world.restart();
    let resumed = world.events.iter().rfind(|event| event.reason == "UpdateBegun").unwrap();
    assert!(resumed.message.starts_with("Update continued "), "{resumed:?}");
}
