//! Recognises a Gatekeeper that is installed in the cluster. Two programs that enforce the same constraints and write the
//! same statuses would work against each other, so where Gatekeeper is, Clearway writes nothing of its (P7).
//!
//! It is recognised by its webhook configuration, which has the same name in every namespace that Gatekeeper may be
//! installed in, and by its Deployments. One of them is enough: it may be scaled down for a moment, or be an audit alone.

use std::fmt;

use clearway_core::{GroupVersionKind, ObjectReference};
use clearway_sources::store::{Store, StoreError};

/// The namespace that Gatekeeper is installed in, unless someone chose another.
pub const NAMESPACE: &str = "gatekeeper-system";
/// Its webhook configuration.
pub const WEBHOOK: &str = "gatekeeper-validating-webhook-configuration";
/// Its Deployments.
pub const DEPLOYMENTS: [&str; 2] = ["gatekeeper-audit", "gatekeeper-controller-manager"];

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
    Ok(None)
}

#[cfg(test)]
mod tests {
    use clearway_sources::store::StateDirectory;
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn gatekeeper_is_recognised_by_its_webhook_and_its_deployments() {
        let object = |api_version: &str, kind: &str, namespace: Option<&str>, name: &str| json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "namespace": namespace}});
        let deployment = |namespace: &str, name: &str| object("apps/v1", "Deployment", Some(namespace), name);
        let webhook =
            |name: &str| object("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", None, name);
        let cases = [
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
