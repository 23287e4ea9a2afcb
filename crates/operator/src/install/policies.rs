//! What `--policies` adds: Gatekeeper's CRDs, and a Deployment and an account of its own that enforce policies.
//!
//! | service account | what it may do | who uses it |
//! |---|---|---|
//! | `clearway-policies` | read objects of every kind, make the CRDs of constraints, write statuses of templates and constraints | its own pods |
//!
//! It is not the account of the operator, which advises about updates and cannot read every kind. Templates, which strangers
//! write, are evaluated in processes that have no connection to the API server.

mod crds;

use serde_json::{Value, json};

use super::pod::{self, TaskOptions};
use super::rights::{RBAC, Right, rules};
use super::workload::{METRICS_PORT, PROBES_PORT};
use super::{MANAGED_BY, MANAGER, Settings};
pub use crate::policies::NAME;
use crate::policies::certificates::SECRET;
use crate::policies::webhook_configuration::CONFIGURATION;

/// The option that asks for it.
pub const OPTION: &str = "policies";
/// The options of `clearway operator` that this Deployment is given besides; all need [`OPTION`].
pub const OPTIONS: [&str; 17] = [
    "audit-chunk-size",
    "audit-interval",
    "constraint-violations-limit",
    "emit-admission-events",
    "emit-audit-events",
    "evaluation-timeout",
    "evaluator-memory",
    "evaluators",
    "exempt-namespace",
    "exempt-namespace-prefix",
    "exempt-namespace-suffix",
    "inventory-limit",
    "log-denies",
    "max-steps",
    "reject-unknown-actions",
    "shutdown-delay",
    "webhook-operations",
];
/// Where the webhook listens.
const WEBHOOK_PORT: u16 = 8443;

/// What it may do in the whole cluster.
pub const POLICIES: &[Right] = &[
    Right::new(
        &["*"],
        &["*"],
        &["get", "list", "watch"],
        "constraints may be about objects of any kind: audits list them, and those that Config and SyncSets name are watched; \
         also templates, constraints and namespaces, and whether Gatekeeper is installed",
    ),
    Right::new(
        &["apiextensions.k8s.io"],
        &["customresourcedefinitions"],
        &["create", "patch"],
        "the CRDs of constraints, whose names are those of templates",
    ),
    Right::new(
        &["templates.gatekeeper.sh"],
        &["constrainttemplates/status"],
        &["patch"],
        "the status of templates by pod",
    ),
    Right::new(&["config.gatekeeper.sh"], &["configs/status"], &["patch"], "the status of the Config by pod"),
    Right::new(&["syncset.gatekeeper.sh"], &["syncsets/status"], &["patch"], "the status of SyncSets by pod"),
    Right::new(
        &["expansion.gatekeeper.sh"],
        &["expansiontemplate/status"],
        &["patch"],
        "the status of ExpansionTemplates by pod",
    ),
    Right::new(
        &["constraints.gatekeeper.sh"],
        &["*/status"],
        &["patch", "update"],
        "the status of constraints by pod, and what audits found; their kinds are those of templates",
    ),
    Right::new(
        &["admissionregistration.k8s.io"],
        &["validatingwebhookconfigurations"],
        &["create"],
        "the configuration of the webhook, once a pod can answer; RBAC cannot limit the names of created objects",
    ),
    Right::new(
        &["admissionregistration.k8s.io"],
        &["validatingwebhookconfigurations"],
        &["delete", "update"],
        "new certificates of the webhook; it is deleted where Gatekeeper is installed later",
    )
    .named(&[CONFIGURATION]),
];

/// What it may do in its own namespace.
pub const OWN_NAMESPACE: &[Right] = &[
    Right::new(&["coordination.k8s.io"], &["leases"], &["create"], "leader election"),
    Right::new(&["coordination.k8s.io"], &["leases"], &["patch"], "leader election").named(&[NAME]),
    Right::new(
        &[""],
        &["events"],
        &["create", "patch"],
        "Events about violations, with --emit-audit-events and --emit-admission-events",
    ),
    Right::new(&[""], &["secrets"], &["create"], "the certificates of the webhook"),
    Right::new(&[""], &["secrets"], &["update"], "the certificates of the webhook, which replicas share")
        .named(&[SECRET]),
];

/// Gatekeeper's CRDs; none unless they are asked for.
pub(super) fn crds(settings: &Settings) -> Vec<Value> {
    if settings.policies.is_empty() { Vec::new() } else { all_crds() }
}

/// Gatekeeper's CRDs that an installation may have brought.
pub(super) fn all_crds() -> Vec<Value> {
    crds::crds()
}

/// What the operator makes while it runs; uninstalling removes it first, so that the API server does not ask for what is
/// not answered any more.
pub(super) fn made_by_operator(namespace: &str) -> Vec<Value> {
    vec![
        json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": CONFIGURATION},
        }),
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": SECRET, "namespace": namespace}}),
    ]
}

/// All other objects; none unless they are asked for.
pub(super) fn objects(settings: &Settings) -> Vec<Value> {
    if settings.policies.is_empty() {
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
            "apiVersion": rbac, "kind": "ClusterRole", "metadata": cluster_wide, "rules": rules(POLICIES),
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
        json!({
            "apiVersion": "v1", "kind": "Service", "metadata": metadata,
            "spec": {
                "selector": selector(), "ports": [{"name": "webhook", "port": 443, "targetPort": "webhook"}],
            },
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
                // The API server may be anywhere, so a rule cannot name it. The kubelet needs none.
                "ingress": [{"ports": [{"protocol": "TCP", "port": "webhook"}]}],
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
            // A new pod is ready before an old one goes.
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1}},
            "template": {
                "metadata": {
                    "labels": labels(), "annotations": {"kubectl.kubernetes.io/default-container": "operator"},
                },
                "spec": {
                    "serviceAccountName": NAME,
                    "priorityClassName": "system-cluster-critical",
                    "terminationGracePeriodSeconds": 60,
                    "securityContext": pod::pod_security(),
                    "topologySpreadConstraints": pod::spread(&selector()),
                    "containers": [{
                        "name": "operator",
                        "image": settings.image,
                        "args": arguments(settings),
                        "env": [{"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
                        "ports": [
                            {"name": "probes", "containerPort": PROBES_PORT},
                            {"name": "webhook", "containerPort": WEBHOOK_PORT},
                        ],
                        "livenessProbe": pod::probe("/livez"),
                        "readinessProbe": pod::probe("/readyz"),
                        // Four evaluators of 512 MiB each, so that a template ends its evaluator and not the pod, and the
                        // process that loads, audits and answers.
                        "resources": {"requests": {"cpu": "100m", "memory": "256Mi"}, "limits": {"memory": "2560Mi"}},
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
        format!("--webhook-listen=0.0.0.0:{WEBHOOK_PORT}"),
        "--log-format=json".to_owned(),
    ];
    arguments.extend(pod::option_arguments(&settings.policies));
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
    fn everything_is_read_and_little_is_written() {
        for right in POLICIES.iter().chain(OWN_NAMESPACE) {
            assert!(!right.why.is_empty(), "{right:?}");
            let reads = right.verbs.iter().all(|verb| ["get", "list", "watch"].contains(verb));
            let known = ["events", "leases", "secrets", "customresourcedefinitions", "validatingwebhookconfigurations"];
            let named = |one: &&str| one.ends_with("/status") || known.contains(one);
            assert!(reads || right.resources.iter().all(named), "{right:?}");
            let deletes = right.verbs.iter().any(|verb| ["delete", "*"].contains(verb));
            assert!(!deletes || right.names == [CONFIGURATION], "{right:?}");
        }
    }

    #[test]
    fn options_survive_the_way_into_a_deployment_and_back() {
        let given = TaskOptions::from([
            (OPTION.to_owned(), vec![]),
            ("audit-interval".to_owned(), vec!["5m".to_owned()]),
            ("exempt-namespace".to_owned(), vec!["kube-system".to_owned(), "infra".to_owned()]),
            ("reject-unknown-actions".to_owned(), vec![]),
        ]);
        let settings = Settings { policies: given.clone(), ..Settings::new(Channel::Standard) };
        let deployment = objects(&settings).into_iter().find(|object| object["kind"] == "Deployment").unwrap();
        assert_eq!(super::super::installed_settings::policies(&deployment), given);
        let nothing = Settings::new(Channel::Standard);
        assert_eq!((objects(&nothing), super::crds(&nothing)), (vec![], vec![]));
    }
}
