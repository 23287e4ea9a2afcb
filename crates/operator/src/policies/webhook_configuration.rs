//! The `ValidatingWebhookConfiguration`: which requests the API server sends here. It is made if it is missing; afterwards
//! only the authorities in it are kept current, so that what an administrator changes stays.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use clearway_core::GroupVersionKind;
use clearway_sources::kubernetes::{Cluster, ClusterError, Part, Resource};
use serde_json::{Value, json};

use super::NAME;
use super::admission::{ADMIT, ADMIT_LABEL, IGNORE_LABEL};

/// The name of the configuration.
pub const CONFIGURATION: &str = "clearway-policies";
/// The name of the webhook that reviews requests; `kubectl` shows it with every denial.
pub const VALIDATION: &str = "validation.gatekeeper.sh";
/// The name of the webhook that guards the label which switches reviews off.
pub const CHECK_IGNORE_LABEL: &str = "check-ignore-label.gatekeeper.sh";

/// How often another writer may be faster before it is left for later.
const ATTEMPTS: u32 = 8;

/// Resources and the subresources that are known, without `status`, which would put load on the webhook; the status of
/// Services is there for CVE-2020-8554.
const RESOURCES: [&str; 17] = [
    "*",
    "pods/ephemeralcontainers",
    "pods/exec",
    "pods/log",
    "pods/eviction",
    "pods/portforward",
    "pods/proxy",
    "pods/attach",
    "pods/binding",
    "pods/resize",
    "deployments/scale",
    "replicasets/scale",
    "statefulsets/scale",
    "replicationcontrollers/scale",
    "services/proxy",
    "nodes/proxy",
    "services/status",
];

/// Where the API server finds the webhook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WebhookAddress {
    /// A Service of the cluster.
    Service {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
    },
    /// An address outside of the cluster, such as `https://127.0.0.1:8443`.
    Url(String),
}

/// What the configuration says.
#[derive(Debug, Clone)]
pub struct WebhookConfiguration {
    /// Where the webhook is.
    pub address: WebhookAddress,
    /// Namespaces whose requests are never sent: those of Gatekeeper and of the operator.
    pub own_namespaces: Vec<String>,
    /// The operations that are reviewed; Gatekeeper's default is CREATE and UPDATE.
    pub operations: Vec<String>,
}

impl WebhookConfiguration {
    /// The names that the certificate of the webhook needs.
    pub fn server_names(&self) -> Vec<String> {
        match &self.address {
            WebhookAddress::Service { namespace, name } => {
                vec![format!("{name}.{namespace}.svc"), format!("{name}.{namespace}.svc.cluster.local")]
            }
            WebhookAddress::Url(url) => {
                let host = url.split_once("://").map_or(url.as_str(), |(_, rest)| rest);
                let host = host.split('/').next().unwrap_or_default();
                let host = host.rsplit_once(':').map_or(host, |(host, _)| host);
                vec![host.trim_matches(['[', ']']).to_owned()]
            }
        }
    }

    /// The object, with authorities as PEM.
    pub fn object(&self, bundle: &str) -> Value {
        let client = |path: &str| {
            let bundle = STANDARD.encode(bundle);
            match &self.address {
                WebhookAddress::Service { namespace, name } => json!({
                    "caBundle": bundle,
                    "service": {"namespace": namespace, "name": name, "path": path, "port": 443},
                }),
                WebhookAddress::Url(url) => {
                    json!({"caBundle": bundle, "url": format!("{}{path}", url.trim_end_matches('/'))})
                }
            }
        };
        let not_own = json!({"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": self.own_namespaces});
        let ignored = json!({"key": IGNORE_LABEL, "operator": "DoesNotExist"});
        let rule = |groups: &str, resources: &[&str], operations: &[String]| {
            json!([{
                "apiGroups": [groups], "apiVersions": ["*"], "operations": operations, "resources": resources, "scope": "*",
            }])
        };
        let changes = ["CREATE".to_owned(), "UPDATE".to_owned()];
        json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
            "metadata": {
                "name": CONFIGURATION,
                "labels": {"app.kubernetes.io/name": NAME, "app.kubernetes.io/managed-by": NAME},
            },
            "webhooks": [
                {
                    "name": VALIDATION, "clientConfig": client(ADMIT),
                    "rules": rule("*", &RESOURCES, &self.operations),
                    "failurePolicy": "Ignore", "matchPolicy": "Exact", "sideEffects": "None", "timeoutSeconds": 3,
                    "admissionReviewVersions": ["v1", "v1beta1"],
                    "namespaceSelector": {"matchExpressions": [ignored, not_own]}, "objectSelector": {},
                },
                {
                    "name": CHECK_IGNORE_LABEL, "clientConfig": client(ADMIT_LABEL),
                    "rules": rule("", &["namespaces"], &changes),
                    "failurePolicy": "Fail", "matchPolicy": "Exact", "sideEffects": "None", "timeoutSeconds": 3,
                    "admissionReviewVersions": ["v1", "v1beta1"],
                    "namespaceSelector": {"matchExpressions": [not_own]}, "objectSelector": {},
                },
            ],
        })
    }

    /// Makes the configuration, or puts the authorities into the one there is.
    pub async fn publish(&self, cluster: &Cluster, bundle: &str) -> Result<(), ClusterError> {
        for attempt in 1.. {
            let written = match cluster.get(&resource(), "", CONFIGURATION).await {
                Ok(known) => match with_bundle(known, bundle) {
                    Some(changed) => cluster.replace(&resource(), Part::Main, &changed).await,
                    None => return Ok(()),
                },
                Err(ClusterError::NotFound { .. }) => cluster.create(&resource(), &self.object(bundle)).await,
                Err(error) => return Err(error),
            };
            match written {
                Ok(_) => {
                    tracing::info!("wrote ValidatingWebhookConfiguration {CONFIGURATION}");
                    return Ok(());
                }
                // Another replica was faster.
                Err(ClusterError::Conflict { .. } | ClusterError::NotFound { .. }) if attempt < ATTEMPTS => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// Deletes the configuration, whoever made it.
pub async fn remove(cluster: &Cluster) -> Result<(), ClusterError> {
    cluster.delete(&resource(), ("", CONFIGURATION), "").await
}

fn resource() -> Resource {
    let kind = GroupVersionKind::new("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration");
    Resource::new(kind, "validatingwebhookconfigurations", false)
}

/// The configuration with these authorities; nothing if it has them.
fn with_bundle(mut configuration: Value, bundle: &str) -> Option<Value> {
    let bundle = STANDARD.encode(bundle);
    let mut is_changed = false;
    for webhook in configuration["webhooks"].as_array_mut().into_iter().flatten() {
        let client = &mut webhook["clientConfig"];
        if client["caBundle"] != bundle.as_str() {
            client["caBundle"] = json!(bundle);
            is_changed = true;
        }
    }
    is_changed.then_some(configuration)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn configuration(address: WebhookAddress) -> WebhookConfiguration {
        WebhookConfiguration {
            address,
            own_namespaces: vec!["gatekeeper-system".to_owned(), "clearway".to_owned()],
            operations: vec!["CREATE".to_owned(), "UPDATE".to_owned()],
        }
    }

    #[test]
    fn only_the_authorities_of_a_configuration_that_exists_change() {
        let address = WebhookAddress::Service { namespace: "clearway".to_owned(), name: "webhook".to_owned() };
        let mut object = configuration(address).object("old");
        object["webhooks"][0]["failurePolicy"] = json!("Fail");
        let changed = with_bundle(object.clone(), "new").unwrap();
        assert_eq!(changed["webhooks"][0]["failurePolicy"], "Fail");
        for webhook in changed["webhooks"].as_array().unwrap() {
            assert_eq!(webhook["clientConfig"]["caBundle"], STANDARD.encode("new"));
        }
        assert_eq!(with_bundle(changed, "new"), None);
    }

    #[test]
    fn the_certificate_has_the_names_that_the_api_server_uses() {
        let service = WebhookAddress::Service { namespace: "clearway".to_owned(), name: "webhook".to_owned() };
        let names = ["webhook.clearway.svc", "webhook.clearway.svc.cluster.local"];
        assert_eq!(configuration(service).server_names(), names);
        for (url, name) in [
            ("https://127.0.0.1:8443", "127.0.0.1"),
            ("https://webhook.example.com/base", "webhook.example.com"),
            ("https://[::1]:8443", "::1"),
        ] {
            assert_eq!(configuration(WebhookAddress::Url(url.to_owned())).server_names(), [name]);
        }
    }
}
