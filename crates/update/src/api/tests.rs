//! What is read of objects that clients of any age wrote, and the exact bytes of what is written.

use clearway_conditions::Conditions;
use clearway_graph::{Risk, Rule};
use serde_json::{Value, json};

use super::*;

fn read(value: &Value) -> (VersionObject, Vec<String>) {
    let (object, remarks) = VersionObject::read(value).unwrap();
    (object, remarks.iter().map(ToString::to_string).collect())
}

/// As OpenShift's cluster-version operator writes it.
fn openshift() -> Value {
    json!({
        "apiVersion": "config.openshift.io/v1",
        "kind": "ClusterVersion",
        "metadata": {"name": "version", "generation": 4},
        "spec": {
            "clusterID": "9e8e9d2c-5a37-4b2b-8a3e-0c5a1ad2e2bb",
            "upstream": "https://example.com/graph",
            "channel": "stable-4.6",
            "desiredUpdate": {"architecture": "", "version": "4.7.4", "image": "", "force": false},
            "signatureStores": [{"url": "https://example.com/signatures", "ca": {"name": "roots"}}],
            "overrides": [{"kind": "Deployment", "group": "apps", "namespace": "a", "name": "b", "unmanaged": true}],
            "aFieldOfNextYear": {"x": 1},
        },
        "status": {
            "desired": {"version": "4.6.23", "image": "quay.example/release@sha256:00"},
            "history": [{
                "state": "Completed", "startedTime": "2021-08-28T02:00:00Z", "completionTime": null,
                "version": "4.6.23", "image": "quay.example/release@sha256:00", "verified": false,
            }],
            "observedGeneration": 4,
            "versionHash": "DL-FFQ2Uem8=",
            "conditions": [{"type": "Available", "status": "True", "lastTransitionTime": "2021-08-28T02:00:00Z"}],
            "availableUpdates": null,
        },
    })
}

#[test]
fn u22_what_openshift_writes_is_read_whole() {
    let (object, remarks) = read(&openshift());
    assert_eq!(remarks, [] as [String; 0]);
    assert_eq!((object.kind, object.name()), (Kind::ClusterVersion, SINGLETON));
    let update = object.spec.desired_update.unwrap();
    assert_eq!(update, Update { version: Some("4.7.4".to_owned()), ..Update::default() }, "empty texts are not set");
    assert_eq!(object.spec.signature_stores[0].ca.as_ref().unwrap().name, "roots");
    assert!(object.spec.overrides[0].unmanaged);
    let status = object.status.unwrap();
    assert_eq!(status.history[0].state, UpdateState::Completed);
    assert_eq!(status.available_updates, []);
    assert_eq!(serde_json::to_value(&status).unwrap(), openshift()["status"], "and written again the same");
}

#[test]
fn u6_what_has_to_be_there_is_written_and_what_is_empty_is_not() {
    assert_eq!(
        serde_json::to_value(Status::default()).unwrap(),
        json!({
            "desired": {"version": "", "image": ""},
            "observedGeneration": 0,
            "versionHash": "",
            "availableUpdates": null,
        })
    );
    let entry = UpdateHistory {
        state: UpdateState::Partial,
        started_time: "2021-08-28T02:00:00Z".parse().unwrap(),
        completion_time: None,
        version: String::new(),
        image: "i".to_owned(),
        verified: false,
        accepted_risks: String::new(),
    };
    assert_eq!(
        serde_json::to_value(&entry).unwrap(),
        json!({
            "state": "Partial", "startedTime": "2021-08-28T02:00:00Z", "completionTime": null, "image": "i",
            "verified": false,
        })
    );
    assert_eq!(serde_json::to_value(Spec::default()).unwrap(), json!({"clusterID": ""}));
    assert_eq!(serde_json::to_value(Update::default()).unwrap(), json!({}));
}

#[test]
fn v6_one_bad_element_is_named_and_takes_nothing_with_it() {
    let (object, remarks) = read(&json!({
        "apiVersion": "clearway.dev/v1alpha1",
        "kind": "ComponentVersion",
        "metadata": {"name": "mesh"},
        "spec": {
            "clusterID": 7,
            "channel": "stable",
            "desiredUpdate": [],
            "overrides": "none",
            "acceptedRisks": [
                {"name": "A", "reason": "r", "until": "2030-01-01T00:00:00Z"},
                {"name": "B", "reason": "r", "until": "tomorrow"},
                {"reason": "r"},
                null,
                {"name": "C"},
            ],
        },
        "status": {
            "history": [{"state": "Completed", "image": "i"}, {"state": "Odd", "startedTime": "2021-08-28T02:00:00Z"}],
            "observedGeneration": "4",
            "conditions": {},
            "availableUpdates": [{"version": "1.0.0", "image": "i", "channels": ["a", 1]}, "1.0.1"],
            "conditionalUpdates": [
                {"risks": []},
                {"release": {"version": "1.1.0", "image": "i"}, "risks": [{"name": "R", "matchingRules": [{"type": 1}, {"type": "Moon"}]}]},
            ],
        },
    }));
    assert_eq!(
        remarks,
        [
            "spec.clusterID is not a string",
            "spec.desiredUpdate is not an object",
            "spec.overrides is not a list",
            "spec.acceptedRisks[1].until is not an RFC 3339 time",
            "spec.acceptedRisks[1] has an unreadable end time, so it accepts no risk",
            "spec.acceptedRisks[2] has no name, so it accepts no risk",
            "spec.acceptedRisks[3] is not an object",
            "status.history[0] has no valid startedTime",
            "status.observedGeneration is not a whole number",
            "status.conditions is not a list",
            "status.availableUpdates[0].channels[1] is not a string",
            "status.availableUpdates[1] is not an object",
            "status.conditionalUpdates[0] has no release",
            "status.conditionalUpdates[1].risks[0].matchingRules[0] has a type that is not a string",
        ]
    );
    let names: Vec<_> = object.spec.accepted_risks.iter().map(|risk| risk.name.as_str()).collect();
    assert_eq!(names, ["A", "C"]);
    let status = object.status.unwrap();
    assert_eq!(status.history[0].state, UpdateState::Partial, "another word does not say that it was completed");
    assert_eq!(status.conditional_updates[0].risks[0].matching_rules[0].kind(), "Moon");
}

#[test]
fn only_the_two_kinds_are_read() {
    for (value, want) in [
        (json!(null), "this is `` ``, neither"),
        (json!({"apiVersion": "config.openshift.io/v2", "kind": "ClusterVersion"}), "this is `config.openshift.io/v2`"),
        (
            json!({"apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion", "metadata": 1}),
            "the metadata of this ClusterVersion cannot be read",
        ),
    ] {
        let error = VersionObject::read(&value).unwrap_err().to_string();
        assert!(error.starts_with(want), "{error}");
    }
    let bare = json!({"apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion"});
    assert_eq!(read(&bare).0.status, None);
}

#[test]
fn u6_rules_are_stored_in_one_spelling() {
    for (rule, want) in [
        (
            json!({"type": "PromQL", "PromQL": {"PromQL": "up", "x": 1}}),
            json!({"type": "PromQL", "promql": {"promql": "up", "x": 1}}),
        ),
        (json!({"type": "Rollout", "Rollout": {"Start": 1}}), json!({"type": "Rollout", "rollout": {"Start": 1}})),
        (json!({"type": "Moon", "Phase": 1}), json!({"type": "Moon", "Phase": 1})),
        (json!({"type": "PromQL", "promQL": "up"}), json!({"type": "PromQL", "promql": "up"})),
    ] {
        let rule = Rule::from_json(&rule).unwrap();
        let risk = Risk::new("N", "https://example.com", "M", vec![rule]);
        let stored = serde_json::to_value(ConditionalUpdateRisk::from(&risk)).unwrap();
        assert_eq!(stored["matchingRules"], json!([want]));
    }
}

#[test]
fn conditions_of_others_survive() {
    let foreign = json!([{"type": "example.com/Odd", "status": "Maybe", "extra": true}]);
    let status = Status { conditions: Conditions::read(&foreign).0, ..Status::default() };
    assert_eq!(serde_json::to_value(&status).unwrap()["conditions"], foreign);
    assert_eq!(Status::read(&serde_json::to_value(&status).unwrap()).0, Some(status));
}
