//! Who may do what in the cluster, and what for.
//!
//! Clearway evaluates rules written by strangers next to rights that can change everything. So there are three identities,
//! and none of them has the rights of another:
//!
//! | service account | what it may do | who uses it |
//! |---|---|---|
//! | `clearway-operator` | keep its own objects: ClusterVersions, events, its lease and its state | the pods |
//! | `clearway-evidence-reader` | read what rules may look at ([`EVIDENCE`]); no Secret, no write | the operator, for rules of a graph |
//! | `clearway-updater` | everything, because a release may hold anything | the operator, to apply a release; only with `--apply-updates` |
//!
//! There is one Deployment and not one for each identity: one reconciler writes one status, from what evidence says and
//! from how far an update is; two processes would have to agree on that status through the API server. The process
//! is given the rights it needs request by request instead: it impersonates the other two accounts, and the right to do so
//! names exactly these accounts (`resourceNames`), in its own namespace. Its own account can neither read evidence nor
//! apply anything, and the audit log of the API server names for each request both who asked and as whom.
//!
//! What that buys: a rule of a stranger, however it is evaluated, sees only what `clearway-evidence-reader` can read,
//! and no request made for it can write. In an installation that only advises there is no identity that could. What it
//! does not buy: code that takes over the process of an installation with `--apply-updates` can impersonate the updater.
//! Whoever does not accept that runs advice only, and has releases applied by something else.
//!
//! `--gateway-class` adds a fourth account with a Deployment of its own: [`super::gateway_status`].
//!
//! Rules may look at objects of any kind. For kinds that are not in [`EVIDENCE`] give a ClusterRole the label
//! [`AGGREGATE_TO_EVIDENCE`]; until then such a rule cannot be evaluated, and what it guards is not recommended.

mod evidence;

use std::fmt;

use clearway_bundle::Channel;
use serde_json::{Value, json};

use super::{MetricsExposure, NAME, Settings, labels, metadata};
use crate::other_operator;

pub use evidence::{AGGREGATE_TO_EVIDENCE, EVIDENCE};

/// The account that reads what rules look at.
pub const EVIDENCE_READER: &str = "clearway-evidence-reader";
/// The account that applies releases.
pub const UPDATER: &str = "clearway-updater";
/// The role that allows reading the metrics; administrators bind it to who scrapes them.
pub const METRICS_READER: &str = "clearway-metrics-reader";

/// The role whose rules administrators extend by labelled roles.
const EVIDENCE_ADDITIONS: &str = "clearway-evidence-additions";
/// The role with which the operator impersonates the updater.
const APPLY_UPDATES: &str = "clearway-apply-updates";
/// The role with which the operator finds out who reads its metrics.
const METRICS_AUTHENTICATION: &str = "clearway-metrics-authentication";
/// The ConfigMap of the ClusterVersion's state.
const CLUSTER_VERSION_STATE: &str = "clearway-kept-clusterversion-version";
pub(super) const RBAC: &str = "rbac.authorization.k8s.io";

/// A right, and what it is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Right {
    /// The API groups.
    pub groups: &'static [&'static str],
    /// The resources.
    pub resources: &'static [&'static str],
    /// The objects it is limited to; empty for all of them.
    pub names: &'static [&'static str],
    /// What may be done.
    pub verbs: &'static [&'static str],
    /// What for.
    pub why: &'static str,
}

impl Right {
    /// A right that is not limited to named objects.
    pub(super) const fn new(
        groups: &'static [&'static str],
        resources: &'static [&'static str],
        verbs: &'static [&'static str],
        why: &'static str,
    ) -> Self {
        Right { groups, resources, names: &[], verbs, why }
    }

    /// The same for these objects only.
    pub(super) const fn named(self, names: &'static [&'static str]) -> Self {
        Right { names, ..self }
    }
}

/// In one line, such as `get, list: nodes (core)`.
impl fmt::Display for Right {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = |words: &[&'static str], all: &'static str| -> String {
            let word = |word: &&'static str| match *word {
                "*" => all,
                "" => "core",
                other => other,
            };
            words.iter().map(word).collect::<Vec<_>>().join(", ")
        };
        let (verbs, resources) = (words(self.verbs, "every verb"), words(self.resources, "every resource"));
        write!(f, "{verbs}: {resources} ({})", words(self.groups, "every API group"))?;
        if self.names.is_empty() { Ok(()) } else { write!(f, ", only {}", self.names.join(", ")) }
    }
}

/// What the operator's own account may do in the whole cluster.
pub const OPERATOR: &[Right] = &[
    Right::new(
        &["config.openshift.io"],
        &["clusterversions"],
        &["get", "list", "watch"],
        "the desired update, and the cluster id and channel for requests to the update service",
    ),
    Right::new(
        &["config.openshift.io"],
        &["clusterversions/status"],
        &["get", "patch", "update"],
        "recommendations, and the progress of updates",
    ),
    Right::new(&["clearway.dev"], &["componentversions"], &["get", "list", "watch"], "the same for add-ons"),
    Right::new(&["clearway.dev"], &["componentversions/status"], &["get", "patch", "update"], "the same for add-ons"),
    Right::new(
        &["apiextensions.k8s.io"],
        &["customresourcedefinitions"],
        &["get", "list", "watch"],
        "which channel is installed, and what its schema accepts, before a status is written",
    ),
    Right::new(&["", "events.k8s.io"], &["events"], &["create", "patch"], "events, which kubectl describe shows"),
    Right::new(
        &["coordination.k8s.io"],
        &["leases"],
        &["get"],
        "whether OpenShift's own operator is active: then the ClusterVersion is not changed",
    )
    .named(&[other_operator::LEASE]),
    Right::new(&["apps"], &["deployments"], &["get"], "whether OpenShift's own operator is installed")
        .named(&[other_operator::NAME]),
];

/// What the operator's own account may do in its own namespace, in the standard channel.
pub const OWN_NAMESPACE: &[Right] = &[
    Right::new(&["coordination.k8s.io"], &["leases"], &["create"], "leader election"),
    Right::new(&["coordination.k8s.io"], &["leases"], &["get", "patch"], "leader election").named(&[NAME]),
    Right::new(&[""], &["configmaps"], &["create"], "its state; RBAC cannot limit the names of created objects"),
    Right::new(
        &[""],
        &["configmaps"],
        &["get", "patch"],
        "the last good graph and evaluations, for a restart while the update service is not reachable",
    )
    .named(&[CLUSTER_VERSION_STATE]),
    Right::new(
        &[""],
        &["serviceaccounts"],
        &["impersonate"],
        "objects for rules are read with the permissions of this account",
    )
    .named(&[EVIDENCE_READER]),
];

/// What the experimental channel adds in the operator's own namespace.
pub const OWN_NAMESPACE_EXPERIMENTAL: &[Right] = &[Right::new(
    &[""],
    &["configmaps"],
    &["get", "patch"],
    "the same state for each ComponentVersion, whose names administrators choose; release keys are immutable",
)];

/// What `--apply-updates` adds in the operator's own namespace.
pub const IMPERSONATE_UPDATER: &[Right] = &[Right::new(
    &[""],
    &["serviceaccounts"],
    &["impersonate"],
    "releases are applied with the permissions of this account",
)
.named(&[UPDATER])];

/// What the updater may do: a release may hold any object, roles among them, and giving a role takes having it.
pub const APPLY: &[Right] = &[Right::new(
    &["*"],
    &["*"],
    &["*"],
    "a release may contain objects of any kind: stored objects of its CRDs are checked first, then it is applied, watched and pruned",
)];

/// What authenticated metrics add.
pub const AUTHENTICATE_METRICS: &[Right] = &[
    Right::new(
        &["authentication.k8s.io"],
        &["tokenreviews"],
        &["create"],
        "which user the token of a metrics request belongs to",
    ),
    Right::new(
        &["authorization.k8s.io"],
        &["subjectaccessreviews"],
        &["create"],
        "whether that user is allowed to get /metrics",
    ),
];

/// Account and rights of the operator, and of the identity that reads evidence.
pub(super) fn advice(settings: &Settings) -> Vec<Value> {
    let mut rights = vec![account(settings, NAME)];
    rights.extend(for_cluster(settings, NAME, OPERATOR, NAME));
    rights.extend(for_namespace(settings, NAME, &own_namespace(settings.channel)));
    rights.push(account(settings, EVIDENCE_READER));
    rights.extend(for_cluster(settings, EVIDENCE_READER, EVIDENCE, EVIDENCE_READER));
    rights.push(json!({
        "apiVersion": format!("{RBAC}/v1"), "kind": "ClusterRole",
        "metadata": {"name": EVIDENCE_ADDITIONS, "labels": labels()},
        "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {AGGREGATE_TO_EVIDENCE: "true"}}]},
    }));
    rights.push(cluster_binding(settings, EVIDENCE_ADDITIONS, EVIDENCE_READER));
    rights
}

/// What the operator may do in its own namespace.
pub(super) fn own_namespace(channel: Channel) -> Vec<Right> {
    let more: &[Right] = if channel == Channel::Experimental { OWN_NAMESPACE_EXPERIMENTAL } else { &[] };
    [OWN_NAMESPACE, more].concat()
}

/// Account and rights of the identity that applies releases, and the operator's right to impersonate it.
pub(super) fn apply_updates(settings: &Settings) -> Vec<Value> {
    let mut rights = vec![account(settings, UPDATER)];
    rights.extend(for_cluster(settings, UPDATER, APPLY, UPDATER));
    rights.extend(for_namespace(settings, APPLY_UPDATES, IMPERSONATE_UPDATER));
    rights
}

/// What it takes to find out who reads the metrics, and a role for who may; nothing while they are on loopback.
pub(super) fn metrics(settings: &Settings) -> Vec<Value> {
    if settings.metrics == MetricsExposure::Loopback {
        return Vec::new();
    }
    let mut rights = Vec::from(for_cluster(settings, METRICS_AUTHENTICATION, AUTHENTICATE_METRICS, NAME));
    rights.push(json!({
        "apiVersion": format!("{RBAC}/v1"), "kind": "ClusterRole",
        "metadata": {"name": METRICS_READER, "labels": labels()},
        "rules": [{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}],
    }));
    rights
}

fn account(settings: &Settings, name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata(settings, name)})
}

/// A role for the whole cluster, bound to an account.
fn for_cluster(settings: &Settings, name: &str, rights: &[Right], account: &str) -> [Value; 2] {
    let metadata = json!({"name": name, "labels": labels()});
    [
        json!({"apiVersion": format!("{RBAC}/v1"), "kind": "ClusterRole", "metadata": metadata, "rules": rules(rights)}),
        cluster_binding(settings, name, account),
    ]
}

fn cluster_binding(settings: &Settings, name: &str, account: &str) -> Value {
    json!({
        "apiVersion": format!("{RBAC}/v1"), "kind": "ClusterRoleBinding", "metadata": {"name": name, "labels": labels()},
        "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": name}, "subjects": subjects(settings, account),
    })
}

/// A role for the operator's own namespace, bound to its account.
fn for_namespace(settings: &Settings, name: &str, rights: &[Right]) -> [Value; 2] {
    [
        json!({
            "apiVersion": format!("{RBAC}/v1"), "kind": "Role", "metadata": metadata(settings, name), "rules": rules(rights),
        }),
        json!({
            "apiVersion": format!("{RBAC}/v1"), "kind": "RoleBinding", "metadata": metadata(settings, name),
            "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": name}, "subjects": subjects(settings, NAME),
        }),
    ]
}

pub(super) fn rules(rights: &[Right]) -> Vec<Value> {
    let rule = |right: &Right| {
        let mut rule = json!({"apiGroups": right.groups, "resources": right.resources, "verbs": right.verbs});
        if !right.names.is_empty() {
            rule["resourceNames"] = json!(right.names);
        }
        rule
    };
    rights.iter().map(rule).collect()
}

fn subjects(settings: &Settings, account: &str) -> Value {
    json!([{"kind": "ServiceAccount", "name": account, "namespace": settings.namespace}])
}

#[cfg(test)]
mod tests {
    use super::*;
    use clearway_update::api::{Kind, SINGLETON};

    #[test]
    fn the_state_that_the_operator_writes_is_what_its_role_names() {
        assert_eq!(
            CLUSTER_VERSION_STATE,
            clearway_update::upstream::cached_state::object_name(Kind::ClusterVersion, SINGLETON)
        );
    }

    #[test]
    fn only_the_updater_has_a_wildcard_and_evidence_is_only_read() {
        let parts = [OPERATOR, OWN_NAMESPACE, OWN_NAMESPACE_EXPERIMENTAL, EVIDENCE, IMPERSONATE_UPDATER];
        for right in parts.into_iter().chain([AUTHENTICATE_METRICS]).flatten() {
            let words = [right.groups, right.resources, right.verbs].concat();
            assert!(!words.contains(&"*") && !words.contains(&"secrets"), "{right:?}");
            assert!(!right.why.is_empty(), "{right:?}");
        }
        for right in EVIDENCE {
            assert!(right.verbs.iter().all(|verb| ["get", "list"].contains(verb)), "{right:?}");
            assert!(right.resources.iter().all(|resource| !resource.contains('/')), "no subresources: {right:?}");
            let lists = right.verbs.contains(&"list");
            assert!(!(lists && right.resources.contains(&"configmaps")), "ConfigMaps are taken by name: {right:?}");
        }
    }
}
