//! What `--gateway-class` adds: a Deployment and an account of its own that write the status of Gateway API objects.
//!
//! | service account | what it may do | who uses it |
//! |---|---|---|
//! | `clearway-gateway-status` | read objects of Gateway API and what they refer to, and write their status | its own pods |
//!
//! It is not the account of the operator, which needs no Secret to advise about updates. Secrets and ConfigMaps are read by
//! name when a listener or a policy refers to them. The watch on them asks for metadata only; RBAC cannot limit it to that.

use serde_json::{Value, json};

use super::pod::{self, TaskOptions};
use super::rights::{RBAC, Right, rules};
use super::workload::{METRICS_PORT, PROBES_PORT};
use super::{MANAGED_BY, MANAGER, Settings};
pub use crate::gateway_status::NAME;

/// The option that asks for it.
pub const OPTION: &str = "gateway-class";
/// The options of `clearway operator` that this Deployment is given besides; all need [`OPTION`].
pub const OPTIONS: [&str; 4] = ["address", "assume-programmed", "supported-features", "unusable-address"];

const GATEWAY: &str = "gateway.networking.k8s.io";

/// What it may do in the whole cluster.
pub const GATEWAY_STATUS: &[Right] = &[
    Right::new(
        &[GATEWAY],
        &[
            "backendtlspolicies",
            "gatewayclasses",
            "gateways",
            "grpcroutes",
            "httproutes",
            "listenersets",
            "tcproutes",
            "tlsroutes",
            "udproutes",
        ],
        &["get", "list", "watch"],
        "the objects whose status is written; one that another writer changed meanwhile is read again",
    ),
    Right::new(
        &[GATEWAY],
        &[
            "backendtlspolicies/status",
            "gatewayclasses/status",
            "gateways/status",
            "grpcroutes/status",
            "httproutes/status",
            "listenersets/status",
            "tcproutes/status",
            "tlsroutes/status",
            "udproutes/status",
        ],
        &["patch"],
        "their status, and nothing else of them",
    ),
    Right::new(&[GATEWAY], &["referencegrants"], &["list", "watch"], "references to other namespaces"),
    Right::new(&[""], &["services"], &["list", "watch"], "whether backends exist, and which protocols they have"),
    Right::new(&[""], &["namespaces"], &["list", "watch"], "labels, which listeners select namespaces by"),
    Right::new(
        &["apiextensions.k8s.io"],
        &["customresourcedefinitions"],
        &["list", "watch"],
        "the bundle version of Gateway API, from metadata",
    ),
    Right::new(
        &[""],
        &["secrets"],
        &["get", "watch"],
        "whether certificates of listeners are PEM: read by name, and watched as metadata; they cannot be listed",
    ),
    Right::new(
        &[""],
        &["configmaps"],
        &["get", "watch"],
        "whether certificates of authorities are PEM: read by name, and watched as metadata",
    ),
];

/// What it may do in its own namespace.
pub const OWN_NAMESPACE: &[Right] = &[
    Right::new(&["coordination.k8s.io"], &["leases"], &["create"], "leader election"),
    Right::new(&["coordination.k8s.io"], &["leases"], &["get", "patch"], "leader election").named(&[NAME]),
];

/// All objects; none unless they are asked for.
pub(super) fn objects(settings: &Settings) -> Vec<Value> {
    if settings.gateway_status.is_empty() {
        return Vec::new();
    }
    let metadata = json!({"name": NAME, "namespace": settings.namespace, "labels": labels()});
    let cluster_wide = json!({"name": NAME, "labels": labels()});
    let subjects = json!([{"kind": "ServiceAccount", "name": NAME, "namespace": settings.namespace}]);
    let role = |kind: &str| json!({"apiGroup": RBAC, "kind": kind, "name": NAME});
    let rbac = format!("{RBAC}/v1");
    vec![
        json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}),
        json!({
            "apiVersion": rbac, "kind": "ClusterRole", "metadata": cluster_wide, "rules": rules(GATEWAY_STATUS),
        }),
        json!({
            "apiVersion": rbac, "kind": "ClusterRoleBinding", "metadata": cluster_wide,
            "roleRef": role("ClusterRole"), "subjects": subjects,
        }),
        json!({"apiVersion": rbac, "kind": "Role", "metadata": metadata, "rules": rules(OWN_NAMESPACE)}),
        json!({
            "apiVersion": rbac, "kind": "RoleBinding", "metadata": metadata,
            "roleRef": role("Role"), "subjects": subjects,
        }),
        deployment(settings, &metadata),
        json!({
            "apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": metadata,
            "spec": {"minAvailable": 1, "selector": {"matchLabels": selector()}},
        }),
        json!({
            "apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": metadata,
            "spec": {
                "podSelector": {"matchLabels": selector()},
                "policyTypes": ["Ingress", "Egress"],
                // Nobody asks it for anything but the kubelet, which needs no rule.
                "ingress": [],
                "egress": [{}],
            },
        }),
    ]
}

fn deployment(settings: &Settings, metadata: &Value) -> Value {
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata,
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": selector()},
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1, "maxSurge": 1}},
            "template": {
                "metadata": {
                    "labels": labels(), "annotations": {"kubectl.kubernetes.io/default-container": "operator"},
                },
                "spec": {
                    "serviceAccountName": NAME,
                    "securityContext": pod::pod_security(),
                    "topologySpreadConstraints": pod::spread(&selector()),
                    "containers": [{
                        "name": "operator",
                        "image": settings.image,
                        "args": arguments(settings),
                        "ports": [{"name": "probes", "containerPort": PROBES_PORT}],
                        "livenessProbe": pod::probe("/livez"),
                        "readinessProbe": pod::probe("/readyz"),
                        "resources": {"requests": {"cpu": "10m", "memory": "64Mi"}, "limits": {"memory": "512Mi"}},
                        "securityContext": pod::container_security(),
                    }],
                },
            },
        },
    })
}

/// The command line of `clearway operator` in this Deployment.
pub fn arguments(settings: &Settings) -> Vec<String> {
    let mut arguments = vec![
        "operator".to_owned(),
        format!("--namespace={}", settings.namespace),
        format!("--status-listen=0.0.0.0:{PROBES_PORT}"),
        format!("--metrics-listen=127.0.0.1:{METRICS_PORT}"),
        "--log-format=json".to_owned(),
    ];
    arguments.extend(pod::option_arguments(&settings.gateway_status));
    arguments
}

/// The options that a Deployment was made with, from its command line.
pub(super) fn read(options: TaskOptions) -> TaskOptions {
    pod::task_options(options, OPTION, &OPTIONS)
}

fn labels() -> Value {
    json!({"app.kubernetes.io/name": NAME, "app.kubernetes.io/part-of": "clearway", MANAGED_BY: MANAGER})
}

fn selector() -> Value {
    json!({"app.kubernetes.io/name": NAME})
}

#[cfg(test)]
mod tests {
    use super::*;
    use clearway_bundle::Channel;

    #[test]
    fn secrets_cannot_be_listed_and_only_status_is_written() {
        for right in GATEWAY_STATUS.iter().chain(OWN_NAMESPACE) {
            let words = [right.groups, right.resources, right.verbs].concat();
            assert!(!words.contains(&"*") && !right.why.is_empty(), "{right:?}");
            let writes = right.verbs.iter().any(|verb| ["create", "update", "patch", "delete"].contains(verb));
            let is_lease = right.resources == ["leases"];
            assert!(!writes || is_lease || right.resources.iter().all(|one| one.ends_with("/status")), "{right:?}");
            assert!(!(right.resources.contains(&"secrets") && right.verbs.contains(&"list")), "{right:?}");
        }
    }

    #[test]
    fn options_survive_the_way_into_a_deployment_and_back() {
        let given = TaskOptions::from([
            (OPTION.to_owned(), vec!["clearway".to_owned()]),
            ("address".to_owned(), vec!["192.0.2.1".to_owned(), "gw.example.com".to_owned()]),
            ("assume-programmed".to_owned(), vec![]),
        ]);
        let settings = Settings { gateway_status: given.clone(), ..Settings::new(Channel::Standard) };
        let deployment = objects(&settings).into_iter().find(|object| object["kind"] == "Deployment").unwrap();
        assert_eq!(super::super::installed_settings::gateway_status(&deployment), given);
        assert_eq!(objects(&Settings::new(Channel::Standard)), [] as [Value; 0]);
    }
}
