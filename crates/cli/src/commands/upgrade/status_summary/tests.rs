//! States and texts by object, one row each.

use serde_json::{Value, json};

use super::*;
use crate::arguments::{ClusterConnection, DataFormat, UpgradeAccess};

fn subject() -> Subject {
    Subject::of(&UpgradeAccess {
        component: None,
        state: None,
        connection: ClusterConnection::default(),
        format: DataFormat::Table,
    })
}

fn entry(version: &str, state: &str) -> Value {
    let completed = if state == "Completed" { json!("2026-05-04T10:00:00Z") } else { Value::Null };
    json!({
        "state": state, "version": version, "image": format!("example.com/r@{version}"), "verified": true,
        "startedTime": "2026-05-04T09:00:00Z", "completionTime": completed,
    })
}

fn condition(type_: &str, status: &str) -> Value {
    json!({"type": type_, "status": status, "reason": format!("{type_}Reason"), "message": format!("{type_} message")})
}

fn object(wanted: &Value, history: &[Value], conditions: &[Value]) -> Value {
    json!({
        "apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion", "metadata": {"name": "version", "generation": 2},
        "spec": {"clusterID": "x", "desiredUpdate": wanted},
        "status": {"observedGeneration": 2, "history": history, "conditions": conditions},
    })
}

fn judged(object: Value) -> (State, String, bool) {
    let standing = summarize(&FetchedObject::read(object).unwrap().0, &subject());
    assert!(!standing.advice.is_empty(), "{standing:?}");
    (standing.state, standing.headline, standing.is_final)
}

#[test]
fn every_state_has_its_words() {
    let (none, wanted) = (Value::Null, json!({"version": "1.5.0", "image": "mirror.example.com/x@1.5.0"}));
    let (done, old, begun) = (entry("1.5.0", "Completed"), entry("1.4.2", "Completed"), entry("1.5.0", "Partial"));
    let progressing = condition("Progressing", "True");
    for (object, state, headline, is_final) in [
        (object(&none, std::slice::from_ref(&old), &[]), State::Current, "Cluster is at 1.4.2", false),
        (object(&wanted, &[done.clone(), old.clone()], &[]), State::Current, "Cluster is at 1.5.0", false),
        (
            object(&wanted, std::slice::from_ref(&old), &[]),
            State::Updating,
            "Cluster: 1.5.0 is requested, and being checked",
            false,
        ),
        (
            object(&wanted, std::slice::from_ref(&old), &[condition("ReleaseAccepted", "False")]),
            State::Stopped,
            "Cluster: 1.5.0 is requested, but not accepted (ReleaseAcceptedReason)",
            false,
        ),
        (
            object(&wanted, &[begun.clone(), old.clone()], std::slice::from_ref(&progressing)),
            State::Updating,
            "Cluster is updating to 1.5.0 from 1.4.2",
            false,
        ),
        (
            object(&wanted, &[begun, old.clone()], &[progressing, condition("Failing", "True")]),
            State::Failing,
            "Cluster is updating to 1.5.0, with an error (FailingReason)",
            false,
        ),
        (
            object(&none, std::slice::from_ref(&done), &[condition("Failing", "True")]),
            State::Failing,
            "Cluster is at 1.5.0, with an error (FailingReason)",
            false,
        ),
        (
            object(&wanted, std::slice::from_ref(&old), &[condition("Invalid", "True")]),
            State::Stopped,
            "Cluster: the spec is invalid (InvalidReason)",
            true,
        ),
        (object(&none, &[], &[]), State::Unknown, "Cluster: no release has been applied yet", false),
    ] {
        assert_eq!(judged(object), (state, headline.to_owned(), is_final));
    }
}

#[test]
fn a_status_of_an_older_spec_is_not_believed() {
    let done = [entry("1.5.0", "Completed")];
    let mut stale = object(&json!({"version": "1.6.0"}), &done, &[condition("Invalid", "True")]);
    stale["metadata"]["generation"] = 3.into();
    let headline = "Cluster: the operator has not observed the latest spec yet; 1.6.0 is requested";
    assert_eq!(judged(stale.clone()), (State::Updating, headline.to_owned(), false));
    stale["status"] = Value::Null;
    assert_eq!(judged(stale), (State::Unknown, "Cluster: no status".to_owned(), false));
}

/// OpenShift's operator leaves `observedGeneration` where it is while it refuses what the spec asks for.
#[test]
fn a_refusal_of_exactly_this_request_is_shown_at_once() {
    let done = [entry("1.5.0", "Completed")];
    let message = "Preconditions failed for payload loaded version=\"1.6.0\" image=\"example.com/r@1.6.0\": Precondition \"ClusterVersionUpgradeable\" failed";
    let refused =
        json!({"type": "ReleaseAccepted", "status": "False", "reason": "PreconditionChecks", "message": message});
    let not_observed = "Cluster: the operator has not observed the latest spec yet; ";
    for (wanted, state, headline) in [
        (
            json!({"version": "1.6.0"}),
            State::Stopped,
            "Cluster: 1.6.0 is requested, but not accepted (PreconditionChecks)".to_owned(),
        ),
        (
            json!({"version": "1.6.0", "image": "example.com/r@1.6.0"}),
            State::Stopped,
            "Cluster: 1.6.0 is requested, but not accepted (PreconditionChecks)".to_owned(),
        ),
        // What was asked for before was refused; of this nothing is known yet.
        (json!({"version": "1.6.1"}), State::Updating, format!("{not_observed}1.6.1 is requested")),
    ] {
        let mut stale = object(&wanted, &done, std::slice::from_ref(&refused));
        stale["metadata"]["generation"] = 3.into();
        assert_eq!(judged(stale), (state, headline, false), "{wanted}");
    }
}

#[test]
fn the_same_version_for_several_architectures_is_not_there_by_its_version() {
    let (done, wanted) = ([entry("1.5.0", "Completed")], json!({"version": "1.5.0", "architecture": "Multi"}));
    let mut single = object(&wanted, &done, &[]);
    single["status"]["desired"] = json!({"version": "1.5.0", "image": "example.com/r@1.5.0"});
    let headline = "Cluster: 1.5.0 (multi-architecture) is requested, and being checked";
    assert_eq!(judged(single.clone()), (State::Updating, headline.to_owned(), false));
    single["status"]["desired"]["architecture"] = "Multi".into();
    assert_eq!(judged(single).0, State::Current);
}
