//! What the operator may do, and what for. It may read no Secret, and change nothing but its own objects, unless it is to
//! carry out updates.
//!
//! Rules of a graph may look at objects of any kind (`Resource`, `Condition`). Reading the kinds in [`EVIDENCE`] is granted here;
//! for others bind a `ClusterRole` of your own to the service account. Until then such a rule cannot be evaluated, and what
//! it guards is not recommended.

use serde_json::{Value, json};

use super::{NAME, Settings, labels, metadata};

/// A right, and what it is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Right {
    /// The API groups.
    pub groups: &'static [&'static str],
    /// The resources.
    pub resources: &'static [&'static str],
    /// What may be done.
    pub verbs: &'static [&'static str],
    /// What for.
    pub why: &'static str,
}

/// What advising takes, in the whole cluster.
pub const ADVICE: &[Right] = &[
    Right {
        groups: &["config.openshift.io"],
        resources: &["clusterversions"],
        verbs: &["get", "list", "watch"],
        why: "what an administrator wants, and the id and channel to ask for updates with",
    },
    Right {
        groups: &["config.openshift.io"],
        resources: &["clusterversions/status"],
        verbs: &["get", "patch", "update"],
        why: "the advice itself, and what came of updates",
    },
    Right {
        groups: &["clearway.dev"],
        resources: &["componentversions"],
        verbs: &["get", "list", "watch"],
        why: "the same for add-ons",
    },
    Right {
        groups: &["clearway.dev"],
        resources: &["componentversions/status"],
        verbs: &["get", "patch", "update"],
        why: "the same for add-ons",
    },
    Right {
        groups: &["apiextensions.k8s.io"],
        resources: &["customresourcedefinitions"],
        verbs: &["get", "list", "watch"],
        why: "which channel is installed, and what its schema accepts, before a status is written",
    },
    Right {
        groups: &["", "events.k8s.io"],
        resources: &["events"],
        verbs: &["create", "patch"],
        why: "what an administrator would look for with kubectl describe",
    },
];

/// What rules of a graph usually look at. Nothing of it is changed.
pub const EVIDENCE: &[Right] = &[
    Right {
        groups: &[""],
        resources: &["namespaces", "nodes"],
        verbs: &["get", "list", "watch"],
        why: "rules about nodes: their architecture, kernel and kubelet",
    },
    Right {
        groups: &["apps"],
        resources: &["daemonsets", "deployments", "statefulsets"],
        verbs: &["get", "list", "watch"],
        why: "rules about conditions of workloads, and whether what is there now is well before an update",
    },
    Right {
        groups: &["config.openshift.io"],
        resources: &["clusteroperators", "infrastructures", "networks", "proxies"],
        verbs: &["get", "list", "watch"],
        why: "rules about the platform, where it is OpenShift's",
    },
];

/// What the operator needs in its own namespace.
pub const OWN_NAMESPACE: &[Right] = &[
    Right {
        groups: &["coordination.k8s.io"],
        resources: &["leases"],
        verbs: &["create", "get", "patch"],
        why: "one of the replicas leads",
    },
    Right {
        groups: &[""],
        resources: &["configmaps"],
        verbs: &["create", "get", "patch"],
        why: "the last good graph and what was evaluated, over a restart while the update service is away",
    },
];

/// What carrying out updates takes: a release may hold any object, roles among them, and giving a role takes having it.
pub const CARRY_OUT: &[Right] = &[Right {
    groups: &["*"],
    resources: &["*"],
    verbs: &["*"],
    why: "a release may hold objects of any kind, and they are applied, looked after and pruned",
}];

/// The name of the role for what rules look at.
const EVIDENCE_NAME: &str = "clearway-evidence";
/// The name of the role that an administrator may leave out.
const CARRY_OUT_NAME: &str = "clearway-carry-out-updates";
const RBAC: &str = "rbac.authorization.k8s.io";

pub(super) fn advice(settings: &Settings) -> Vec<Value> {
    let mut rights = vec![json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata(settings, NAME)})];
    rights.extend(for_cluster(settings, NAME, ADVICE));
    rights.extend(for_cluster(settings, EVIDENCE_NAME, EVIDENCE));
    rights.push(json!({
        "apiVersion": format!("{RBAC}/v1"), "kind": "Role", "metadata": metadata(settings, NAME), "rules": rules(OWN_NAMESPACE),
    }));
    rights.push(json!({
        "apiVersion": format!("{RBAC}/v1"), "kind": "RoleBinding", "metadata": metadata(settings, NAME),
        "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": NAME}, "subjects": subjects(settings),
    }));
    rights
}

pub(super) fn carry_out(settings: &Settings) -> Vec<Value> {
    for_cluster(settings, CARRY_OUT_NAME, CARRY_OUT).into()
}

/// A role for the whole cluster, and its binding.
fn for_cluster(settings: &Settings, name: &str, rights: &[Right]) -> [Value; 2] {
    let metadata = json!({"name": name, "labels": labels()});
    [
        json!({"apiVersion": format!("{RBAC}/v1"), "kind": "ClusterRole", "metadata": metadata, "rules": rules(rights)}),
        json!({
            "apiVersion": format!("{RBAC}/v1"), "kind": "ClusterRoleBinding", "metadata": metadata,
            "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": name}, "subjects": subjects(settings),
        }),
    ]
}

fn rules(rights: &[Right]) -> Vec<Value> {
    let rule = |right: &Right| json!({"apiGroups": right.groups, "resources": right.resources, "verbs": right.verbs});
    rights.iter().map(rule).collect()
}

fn subjects(settings: &Settings) -> Value {
    json!([{"kind": "ServiceAccount", "name": NAME, "namespace": settings.namespace}])
}
