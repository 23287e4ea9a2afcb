//! The health of any object: a verdict for one, the roll-up over many, the tree of owners, and waiting for health.
//!
//! The rules are those of kstatus, the library behind `kubectl`, Flux and Helm, with its known holes closed. An object is
//! asked in a fixed order: is it the one meant, is it being deleted, is it suspended, has its controller seen the current
//! generation, does it state `Stalled` or `Reconciling`; then the rule of its kind decides, and for kinds without one the
//! condition that sums it up. Everything is a function of the object and a [`Context`]; there is no clock here.
//!
//! Start at [`health`]; many objects go through [`aggregate`] and [`forest`], and time comes in at [`wait::Wait`].

mod aggregate;
mod facts;
mod generic;
mod kinds;
mod token;
mod tree;
mod verdict;
pub mod wait;

use std::time::Duration;

pub use aggregate::{Tally, aggregate};
pub use kinds::pods::with_pods;
pub use token::progress_token;
pub use tree::{OwnedObject, Tree, forest};
pub use verdict::{Basis, Context, ExpectedObject, State, Verdict};

use crate::object::Object;
use facts::Facts;
use kinds::{autoscaling, extensions, gateways, jobs, pods, services, workloads};

/// How long a state that says "degraded" must last before it counts as a failure: what `OpenShift`'s operators give it.
const DEGRADED_HOLD: Duration = Duration::from_mins(2);

/// The rule of one kind.
struct Rule {
    group: &'static str,
    kind: &'static str,
    /// The boolean fields of the spec that suspend it.
    suspended_by: &'static [&'static str],
    judge: fn(&Facts<'_>) -> Verdict,
}

const fn rule(group: &'static str, kind: &'static str, judge: fn(&Facts<'_>) -> Verdict) -> Rule {
    Rule { group, kind, suspended_by: &[], judge }
}

const fn pausable(mut rule: Rule, by: &'static [&'static str]) -> Rule {
    rule.suspended_by = by;
    rule
}

/// The kinds with a rule of their own; `extensions` is where the first releases had them.
const RULES: &[Rule] = &[
    rule("", "Pod", pods::pod),
    rule("apps", "ReplicaSet", workloads::replica_set),
    rule("extensions", "ReplicaSet", workloads::replica_set),
    pausable(rule("apps", "Deployment", workloads::deployment), &["paused"]),
    pausable(rule("extensions", "Deployment", workloads::deployment), &["paused"]),
    rule("apps", "StatefulSet", workloads::stateful_set),
    rule("apps", "DaemonSet", workloads::daemon_set),
    rule("extensions", "DaemonSet", workloads::daemon_set),
    // A Job that ended is not suspended, whatever its spec says: its rule asks in that order.
    rule("batch", "Job", jobs::job),
    pausable(rule("batch", "CronJob", jobs::cron_job), &["suspend"]),
    rule("", "Service", services::service),
    rule("", "PersistentVolumeClaim", services::claim),
    rule("", "Namespace", services::namespace),
    rule("networking.k8s.io", "Ingress", services::ingress),
    rule("extensions", "Ingress", services::ingress),
    rule("policy", "PodDisruptionBudget", autoscaling::disruption_budget),
    rule("autoscaling", "HorizontalPodAutoscaler", autoscaling::pod_autoscaler),
    rule("apiextensions.k8s.io", "CustomResourceDefinition", extensions::definition),
    rule("apiregistration.k8s.io", "APIService", extensions::api_service),
    rule("gateway.networking.k8s.io", "GatewayClass", gateways::class),
    rule("gateway.networking.k8s.io", "Gateway", gateways::gateway),
    rule("gateway.networking.k8s.io", "HTTPRoute", gateways::route),
    rule("gateway.networking.k8s.io", "GRPCRoute", gateways::route),
    rule("gateway.networking.k8s.io", "TLSRoute", gateways::route),
    rule("gateway.networking.k8s.io", "TCPRoute", gateways::route),
    rule("gateway.networking.k8s.io", "UDPRoute", gateways::route),
    // No controller reports on these: they are what was written.
    rule("", "ConfigMap", services::data),
    rule("", "Secret", services::data),
    rule("", "ServiceAccount", services::data),
    rule("", "Endpoints", services::data),
    rule("", "LimitRange", services::data),
    rule("discovery.k8s.io", "EndpointSlice", services::data),
    rule("rbac.authorization.k8s.io", "Role", services::data),
    rule("rbac.authorization.k8s.io", "RoleBinding", services::data),
    rule("rbac.authorization.k8s.io", "ClusterRole", services::data),
    rule("rbac.authorization.k8s.io", "ClusterRoleBinding", services::data),
    rule("networking.k8s.io", "NetworkPolicy", services::data),
    rule("networking.k8s.io", "IngressClass", services::data),
    rule("storage.k8s.io", "StorageClass", services::data),
    rule("scheduling.k8s.io", "PriorityClass", services::data),
    rule("admissionregistration.k8s.io", "ValidatingWebhookConfiguration", services::data),
    rule("admissionregistration.k8s.io", "MutatingWebhookConfiguration", services::data),
];

/// How an object is doing.
pub fn health(object: &Object<'_>, context: &Context) -> Verdict {
    let facts = Facts::new(object, context);
    let (group, kind) = (object.group(), object.kind());
    let rule = RULES.iter().find(|rule| rule.kind == kind && rule.group == group);
    generic::identity(&facts)
        .or_else(|| generic::terminating(&facts))
        .or_else(|| generic::suspended(&facts, rule))
        .or_else(|| generic::generation(&facts))
        .or_else(|| generic::stalled_or_reconciling(&facts))
        .unwrap_or_else(|| match rule {
            Some(rule) => (rule.judge)(&facts),
            None => generic::summary(&facts),
        })
}
