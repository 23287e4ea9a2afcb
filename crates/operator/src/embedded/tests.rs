//! A roll-out that is played is one to the health rules, ends, and is at rest then.

use clearway_conditions::health::{ExpectedObject, State};
use clearway_core::Version;
use serde_json::Value;

use super::*;
use clearway_update::api::{Status, UpdateState};
use clearway_update::health::judge;

fn now() -> Timestamp {
    "2026-05-04T09:00:00Z".parse().unwrap()
}

fn state_of(object: &Value) -> State {
    let expected = ExpectedObject { uid: String::new(), generation: object["metadata"]["generation"].as_i64() };
    judge(object, Some(expected), None, now()).state
}

/// Plays an object to its rest, and says how its health was on the way.
fn rolled_out(object: &mut Value) -> Vec<State> {
    let mut states = vec![state_of(object)];
    while let Some(step) = controllers::next(object, now()) {
        assert!(!step.said.is_empty());
        object["status"] = step.status;
        states.push(state_of(object));
        assert!(states.len() < ROUNDS, "it does not end: {object}");
    }
    states
}

#[test]
fn a_roll_out_is_one_to_the_health_rules() {
    let workloads = [
        ("apps/v1", "Deployment", json!({"replicas": 2})),
        ("apps/v1", "Deployment", json!({"replicas": 50})),
        ("apps/v1", "Deployment", json!({})),
        ("apps/v1", "StatefulSet", json!({"replicas": 3})),
        ("apps/v1", "DaemonSet", json!({})),
        ("batch/v1", "Job", json!({"completions": 4})),
    ];
    for (api_version, kind, spec) in workloads {
        let mut object = json!({
            "apiVersion": api_version, "kind": kind, "metadata": {"name": "a", "namespace": "n", "generation": 1},
            "spec": spec,
        });
        let check = |object: &mut Value| {
            let states = rolled_out(object);
            let (last, before) = states.split_last().unwrap();
            assert_eq!(*last, State::Current, "{object}");
            assert!(before.len() > 1 && before.iter().all(|state| *state == State::InProgress), "{kind}: {states:?}");
            assert_eq!(rolled_out(object), [State::Current], "it is at rest");
        };
        check(&mut object);
        if kind != "Job" {
            object["metadata"]["generation"] = json!(2);
            check(&mut object);
        }
    }
    for spec in [json!({"replicas": 0}), json!({"replicas": u64::MAX}), json!({"replicas": "many"})] {
        let mut object = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a", "generation": 1}, "spec": spec});
        rolled_out(&mut object);
    }
}

#[test]
fn pods_serve_while_they_are_replaced() {
    let mut object = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "api", "generation": 1},
        "spec": {"replicas": 2},
    });
    rolled_out(&mut object);
    object["metadata"]["generation"] = json!(2);
    let mut said = Vec::new();
    while let Some(step) = controllers::next(&object, now()) {
        assert_eq!(step.status["conditions"][0]["status"], "True", "{}", step.status);
        said.push(step.said);
        object["status"] = step.status;
    }
    assert_eq!(
        said,
        [
            "rolling out, 0 of 2 pods new, 2 ready",
            "rolling out, 1 of 2 pods new, 2 ready",
            "rolling out, 2 of 2 pods new, 2 ready",
            "rolled out, 2 pods ready",
        ]
    );
}

#[test]
fn kinds_and_namespaces_come_up_and_nothing_else_is_touched() {
    let mut namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}});
    rolled_out(&mut namespace);
    assert_eq!(namespace["status"]["phase"], "Active");
    let mut crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "as.x"},
        "spec": {"names": {"kind": "A"}, "versions": [{"name": "v1", "storage": true}]},
    });
    assert_eq!(rolled_out(&mut crd).last(), Some(&State::Current));
    crd["spec"]["versions"] = json!([{"name": "v1"}, {"name": "v2", "storage": true}]);
    rolled_out(&mut crd);
    assert_eq!(crd["status"]["storedVersions"], json!(["v1", "v2"]), "what may be stored is not forgotten");
    for object in [
        json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {"type": "LoadBalancer"}}),
        json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}, "spec": {"suspend": true}}),
        json!("no object"),
    ] {
        assert_eq!(controllers::next(&object, now()), None, "{object}");
    }
}

#[tokio::test]
async fn a_cluster_is_founded_once() {
    let place = tempfile::tempdir().unwrap();
    let state = StateDirectory::open(place.path()).unwrap();
    let id = "6d1f0c52-3b7e-4a0d-9a57-1f2c8f0e4b21".to_owned();
    let founding = InitialState {
        adoption: Adoption { version: Version::new(1, 4, 2), id, now: now() },
        image: "/releases/1.4.2".to_owned(),
        channel: Some("stable-1.5".to_owned()),
        upstream: None,
    };
    create_initial_state(&state, &founding, None).await.unwrap();
    let key =
        ObjectReference::cluster_scoped(GroupVersionKind::new("config.openshift.io/v1", "ClusterVersion"), SINGLETON);
    let object = state.get(&key).await.unwrap().unwrap();
    let status = Status::read(&object["status"]).0.unwrap();
    assert_eq!(status.history[0].state, UpdateState::Completed);
    assert_eq!((status.desired.version.as_str(), status.desired.image.as_str()), ("1.4.2", "/releases/1.4.2"));
    assert!(matches!(create_initial_state(&state, &founding, None).await, Err(StoreError::Conflict { .. })));
}
