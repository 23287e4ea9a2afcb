//! Recognises a Gatekeeper that is installed in the cluster. Two programs that enforce the same constraints and write the
//! same statuses would work against each other, so where Gatekeeper is, Clearway writes nothing of its (P7).
//!
//! It is recognised by its webhook configuration, which has the same name in every namespace that Gatekeeper may be
//! installed in, by its Deployments, and by a Lease in its namespace that somebody renews. One of them is enough: it may be
//! scaled down for a moment, or be an audit alone. Gatekeeper itself elects no leader, but programs that install it do.

use std::fmt;
use std::time::Duration;

use clearway_core::{GroupVersionKind, ObjectReference, Timestamp};
use clearway_sources::clock;
use clearway_sources::store::{Store, StoreError};
use serde_json::Value;

/// The namespace that Gatekeeper is installed in, unless someone chose another.
pub const NAMESPACE: &str = "gatekeeper-system";
/// Its webhook configuration.
pub const WEBHOOK: &str = "gatekeeper-validating-webhook-configuration";
/// Its Deployments.
pub const DEPLOYMENTS: [&str; 2] = ["gatekeeper-audit", "gatekeeper-controller-manager"];

/// How much clocks may differ.
const CLOCKS: Duration = Duration::from_mins(1);

/// What a Gatekeeper is recognised by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GatekeeperInstallation {
    /// The object.
    pub object: ObjectReference,
}

impl fmt::Display for GatekeeperInstallation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ObjectReference { kind, namespace, name } = &self.object;
        let place = if namespace.is_empty() { String::new() } else { format!("{namespace}/") };
        write!(f, "Gatekeeper is installed in this cluster: {} {place}{name} exists", kind.kind)
    }
}

/// A Gatekeeper in the cluster; none if nothing of it exists. Who may not look does not know: that is an error, and no
/// reason to write.
pub async fn find<S: Store>(store: &S) -> Result<Option<GatekeeperInstallation>, StoreError> {
    let webhook = GroupVersionKind::new("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration");
    let mut candidates = vec![ObjectReference::cluster_scoped(webhook, WEBHOOK)];
    candidates.extend(DEPLOYMENTS.map(|name| ObjectReference {
        kind: GroupVersionKind::new("apps/v1", "Deployment"),
        namespace: NAMESPACE.to_owned(),
        name: name.to_owned(),
    }));
    for object in candidates {
        match store.get(&object).await {
            Ok(Some(_)) => return Ok(Some(GatekeeperInstallation { object })),
            // A store without Deployments has none of Gatekeeper either.
            Ok(None) | Err(StoreError::NoSuchKind { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    find_lease(store).await
}

/// A Lease in Gatekeeper's namespace that is renewed by something of Gatekeeper. One that nobody renews was left behind.
async fn find_lease<S: Store>(store: &S) -> Result<Option<GatekeeperInstallation>, StoreError> {
    let kind = GroupVersionKind::new("coordination.k8s.io/v1", "Lease");
    let leases = match store.list_in(&kind, NAMESPACE).await {
        Ok(leases) => leases,
        // Who may not list Leases goes by the objects above, which every Gatekeeper has.
        Err(StoreError::NoSuchKind { .. } | StoreError::Forbidden { .. }) => return Ok(None),
        Err(error) => return Err(error),
    };
    let now = clock::now();
    let held = leases.iter().filter(|lease| is_of_gatekeeper(lease) && is_held(lease, now));
    Ok(held.map(|lease| lease["metadata"]["name"].as_str().unwrap_or_default()).min().map(|name| {
        GatekeeperInstallation {
            object: ObjectReference { kind, namespace: NAMESPACE.to_owned(), name: name.to_owned() },
        }
    }))
}

fn is_of_gatekeeper(lease: &Value) -> bool {
    let name = lease["metadata"]["name"].as_str().unwrap_or_default();
    name.starts_with("gatekeeper") || name.ends_with(".gatekeeper.sh")
}

/// Whether somebody holds a Lease and has renewed it within its duration, and a while more for clocks that differ.
fn is_held(lease: &Value, now: Timestamp) -> bool {
    let spec = &lease["spec"];
    let is_owned = spec["holderIdentity"].as_str().is_some_and(|holder| !holder.is_empty());
    let renewed = spec["renewTime"].as_str().and_then(|time| time.parse::<Timestamp>().ok());
    let seconds = spec["leaseDurationSeconds"].as_u64().unwrap_or_default();
    is_owned && renewed.is_some_and(|renewed| now.since(renewed) <= Duration::from_secs(seconds) + CLOCKS)
}

#[cfg(test)]
mod tests {
    use clearway_sources::store::StateDirectory;
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn gatekeeper_is_recognised_by_its_webhook_its_deployments_and_a_lease_that_is_renewed() {
        let object = |api_version: &str, kind: &str, namespace: Option<&str>, name: &str| json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "namespace": namespace}});
        let deployment = |namespace: &str, name: &str| object("apps/v1", "Deployment", Some(namespace), name);
        let webhook =
            |name: &str| object("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", None, name);
        let lease = |name: &str, holder: &str, renewed: Timestamp| {
            let mut lease = object("coordination.k8s.io/v1", "Lease", Some(NAMESPACE), name);
            let renewed = format!("{}.000000Z", renewed.to_string().trim_end_matches('Z'));
            lease["spec"] = json!({"holderIdentity": holder, "leaseDurationSeconds": 15, "renewTime": renewed});
            lease
        };
        let long_ago = clock::now().minus(Duration::from_hours(1));
        let cases = [
            (
                lease("5ff985cc.gatekeeper.sh", "a", clock::now()),
                Some("Lease gatekeeper-system/5ff985cc.gatekeeper.sh"),
            ),
            (lease("5ff985cc.gatekeeper.sh", "", clock::now()), None),
            (lease("gatekeeper-operator", "a", long_ago), None),
            (lease("clearway-policies", "a", clock::now()), None),
            (webhook(WEBHOOK), Some("ValidatingWebhookConfiguration gatekeeper-validating-webhook-configuration")),
            (deployment(NAMESPACE, "gatekeeper-audit"), Some("Deployment gatekeeper-system/gatekeeper-audit")),
            (
                deployment(NAMESPACE, "gatekeeper-controller-manager"),
                Some("Deployment gatekeeper-system/gatekeeper-controller-manager"),
            ),
            (deployment("shop", "gatekeeper-audit"), None),
            (deployment(NAMESPACE, "clearway-policies"), None),
            (webhook("clearway-policies"), None),
        ];
        for (existing, expected) in cases {
            let directory = tempfile::tempdir().unwrap();
            let store = StateDirectory::open(directory.path()).unwrap();
            store.create(&existing).await.unwrap();
            let found = find(&store).await.unwrap();
            let expected = expected.map(|object| format!("Gatekeeper is installed in this cluster: {object} exists"));
            assert_eq!(found.map(|found| found.to_string()), expected, "{existing}");
        }
    }
}
