//! Recognises a ClusterVersion that OpenShift's own operator keeps current. Two operators would write against each other for
//! ever, so such an object is left alone.
//!
//! It is recognised by its lease, by the fields of the status that it manages, and by its Deployment. One of them is
//! enough: it may run outside of the cluster, be between two writes, or be scaled down for a moment.

use std::time::Duration;

use clearway_bundle::Installed;
use clearway_core::{GroupVersionKind, ObjectReference, Timestamp};
use clearway_sources::store::Store;
use serde_json::Value;

use crate::driver::definitions;
use clearway_update::api::Kind;

/// The name by which it manages fields, and that of its Deployment.
pub(crate) const NAME: &str = "cluster-version-operator";
/// The namespace of its Deployment and of its lease.
const NAMESPACE: &str = "openshift-cluster-version";
/// The name of its lease.
pub(crate) const LEASE: &str = "version";
/// How long a lease lasts that does not say so.
const LEASE_SECONDS: u64 = 137;

/// What another operator is recognised by; nothing if there is none.
pub(crate) async fn find<S: Store>(store: &S, kind: Kind, object: &Value, now: Timestamp) -> Option<&'static str> {
    if kind != Kind::ClusterVersion {
        return None;
    }
    let there = |kind: GroupVersionKind, name: &str| ObjectReference {
        kind,
        namespace: NAMESPACE.to_owned(),
        name: name.to_owned(),
    };
    // Who may not look at the lease decides by the rest.
    let lease = store.get(&there(GroupVersionKind::new("coordination.k8s.io/v1", "Lease"), LEASE)).await.ok().flatten();
    match lease.map(|lease| is_held(&lease, now)) {
        Some(true) => return Some("it holds the lease openshift-cluster-version/version"),
        // It was here, and has gone.
        Some(false) => return None,
        None if manages_status(object) => return Some("it manages fields of the status"),
        None => {}
    }
    let crd = store.get(&ObjectReference::cluster_scoped(definitions(), kind.crd())).await;
    if !matches!(crd, Ok(Some(crd)) if Installed::of(&crd) == Installed::Foreign) {
        return None;
    }
    let deployment = store.get(&there(GroupVersionKind::new("apps/v1", "Deployment"), NAME)).await;
    (!matches!(deployment, Ok(None))).then_some("the CRD is not Clearway's, and its Deployment exists")
}

/// Whether it manages fields of an object's status.
pub(crate) fn manages_status(object: &Value) -> bool {
    let entries = object["metadata"]["managedFields"].as_array().into_iter().flatten();
    entries
        .filter(|entry| entry["manager"] == NAME)
        .any(|entry| entry["subresource"] == "status" || entry["fieldsV1"].get("f:status").is_some())
}

/// Whether a lease is held: clocks differ, so twice its time has to pass.
fn is_held(lease: &Value, now: Timestamp) -> bool {
    let spec = &lease["spec"];
    let held = spec["holderIdentity"].as_str().is_some_and(|holder| !holder.is_empty());
    let lasts = Duration::from_secs(spec["leaseDurationSeconds"].as_u64().unwrap_or(LEASE_SECONDS));
    let renewed = spec["renewTime"].as_str().and_then(|time| time.parse::<Timestamp>().ok());
    held && renewed.is_some_and(|renewed| now.since(renewed) <= lasts.saturating_mul(2))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clearway_sources::store::StateDirectory;
    use serde_json::json;

    #[tokio::test]
    async fn it_is_recognised_by_its_lease_and_by_what_it_manages() {
        let now: Timestamp = "2026-11-16T12:00:00Z".parse().unwrap();
        let managed = |manager: &str, more: Value| {
            let mut entry = json!({"manager": manager, "operation": "Update"});
            entry.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            json!({"metadata": {"name": "version", "managedFields": [entry]}})
        };
        let lease = |holder: &str, renewed: &str| {
            json!({
                "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
                "metadata": {"name": "version", "namespace": "openshift-cluster-version"},
                "spec": {"holderIdentity": holder, "leaseDurationSeconds": 137, "renewTime": renewed},
            })
        };
        let status = json!({"subresource": "status", "fieldsV1": {"f:status": {}}});
        let theirs = managed("cluster-version-operator", status.clone());
        let spec_only = managed("cluster-version-operator", json!({"fieldsV1": {"f:spec": {}}}));
        let ours = managed("clearway-operator", status);
        let (held, old) = (lease("x", "2026-11-16T11:58:00.000000Z"), lease("x", "2026-11-16T11:50:00.000000Z"));
        let given_back = lease("", "2026-11-16T11:59:59.000000Z");
        for (object, lease, want) in [
            (&ours, None, false),
            (&spec_only, None, false),
            (&theirs, None, true),
            (&ours, Some(&held), true),
            (&theirs, Some(&held), true),
            (&theirs, Some(&old), false),
            (&theirs, Some(&given_back), false),
        ] {
            let directory = tempfile::tempdir().unwrap();
            let store = StateDirectory::open(directory.path()).unwrap();
            if let Some(lease) = lease {
                store.create(lease).await.unwrap();
            }
            let found = find(&store, Kind::ClusterVersion, object, now).await;
            assert_eq!(found.is_some(), want, "{object} {lease:?}");
            assert_eq!(find(&store, Kind::ComponentVersion, object, now).await, None);
        }
    }
}
