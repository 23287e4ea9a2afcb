//! Bringing the operator into a cluster: what it consists of, as values; and carrying that out.
//!
//! [`manifests`] is a function of [`Settings`]: the same objects are applied by `clearway install` and written down as
//! plain manifests for kustomize ([`kustomize::files`]) and as a Helm chart ([`helm::files`]). [`apply`] applies them on the
//! server's side, and takes them away again. Every identity and right is in [`rights`], with what it is for. What is
//! installed by default only advises. The update service is installed on its own ([`update_service`]).

pub mod alerts;
pub mod apply;
pub mod gateway_status;
pub mod helm;
mod installed_settings;
pub mod kustomize;
mod monitoring;
mod pod;
pub mod policies;
mod release_keys;
pub mod rights;
mod settings;
pub mod update_service;
mod workload;

use std::collections::BTreeSet;

use clearway_bundle::BuildError;
use clearway_core::ObjectReference;
use serde_json::{Value, json};

pub use release_keys::{RELEASE_KEYS, ReleaseKeys};
pub use settings::{Change, MetricsExposure, SETTINGS, Settings, default_image};
pub use workload::arguments as operator_arguments;

use clearway_update::api;

/// The name of everything that there is one of.
pub const NAME: &str = "clearway-operator";
/// Where the operator lives unless said otherwise.
pub const NAMESPACE: &str = "clearway";
/// In whose name objects are applied; also the value of the label that says who made them.
pub const MANAGER: &str = "clearway-install";
/// The label that says who made an object. Only what carries it is taken away again.
pub const MANAGED_BY: &str = "app.kubernetes.io/managed-by";

/// What the operator consists of, in the order in which it is applied.
#[derive(Debug, Clone, PartialEq)]
pub struct Manifests {
    /// The CRDs of the channel.
    pub crds: Vec<Value>,
    /// The namespace.
    pub namespace: Value,
    /// The accounts, and what they may do to advise.
    pub rights: Vec<Value>,
    /// What applying updates adds: an account that may do everything, and the keys that releases are checked with.
    pub apply_updates: Vec<Value>,
    /// What metrics add that can be reached: the right to find out who reads them, and a Service.
    pub metrics: Vec<Value>,
    /// What runs.
    pub workload: Vec<Value>,
    /// What writes the status of Gateway API objects: its account, its rights and its own Deployment.
    pub gateway_status: Vec<Value>,
    /// Gatekeeper's CRDs. Those that exist and are not ours are left alone.
    pub policy_crds: Vec<Value>,
    /// What enforces policies: its account, its rights and its own Deployment.
    pub policies: Vec<Value>,
    /// What watches it, of kinds that not every cluster has.
    pub monitoring: Vec<Value>,
    /// What other settings add and these do not. It is removed, so that no right of an earlier installation stays.
    pub superfluous: Vec<Value>,
}

impl Manifests {
    /// All of it, but the CRDs and what not every cluster has.
    pub fn always(&self) -> impl DoubleEndedIterator<Item = &Value> {
        let rights = [&self.namespace].into_iter().chain(&self.rights).chain(&self.apply_updates);
        rights.chain(&self.metrics).chain(&self.workload).chain(&self.gateway_status).chain(&self.policies)
    }

    /// Everything that is applied, in that order.
    pub fn all(&self) -> impl Iterator<Item = &Value> {
        self.crds.iter().chain(&self.policy_crds).chain(self.always()).chain(&self.monitoring)
    }
}

/// Everything for these settings.
pub fn manifests(settings: &Settings) -> Result<Manifests, BuildError> {
    let mut manifests = required(settings)?;
    let wanted: BTreeSet<_> =
        manifests.always().chain(&manifests.monitoring).filter_map(|object| ObjectReference::of(object).ok()).collect();
    let everything = required(&settings.with_everything())?;
    let all = everything.always().chain(&everything.monitoring);
    manifests.superfluous = all
        .filter(|object| ObjectReference::of(object).is_ok_and(|reference| !wanted.contains(&reference)))
        .cloned()
        .collect();
    Ok(manifests)
}

/// What these settings ask for.
fn required(settings: &Settings) -> Result<Manifests, BuildError> {
    let mut apply_updates = Vec::new();
    if settings.apply_updates {
        apply_updates = rights::apply_updates(settings);
        apply_updates.extend(release_keys::config_map(settings));
    }
    let mut metrics = rights::metrics(settings);
    metrics.extend(monitoring::service(settings));
    Ok(Manifests {
        crds: api::crds(settings.channel)?,
        namespace: namespace(settings),
        rights: rights::advice(settings),
        apply_updates,
        metrics,
        workload: workload::workload(settings),
        gateway_status: gateway_status::objects(settings),
        policy_crds: policies::crds(settings),
        policies: policies::objects(settings),
        monitoring: monitoring::monitoring(settings),
        superfluous: Vec::new(),
    })
}

fn namespace(settings: &Settings) -> Value {
    namespace_object(&settings.namespace, labels())
}

/// A namespace for pods that need nothing of their nodes.
fn namespace_object(name: &str, mut labels: Value) -> Value {
    // The API server itself holds the pods to what the Deployment promises.
    for what in ["enforce", "audit", "warn"] {
        labels[format!("pod-security.kubernetes.io/{what}")] = json!("restricted");
    }
    json!({
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": name, "labels": labels},
    })
}

/// The labels of every object.
fn labels() -> Value {
    json!({"app.kubernetes.io/name": NAME, "app.kubernetes.io/part-of": "clearway", MANAGED_BY: MANAGER})
}

/// The labels by which pods are found; they never change.
fn selector() -> Value {
    json!({"app.kubernetes.io/name": NAME})
}

/// The metadata of an object in the operator's namespace.
fn metadata(settings: &Settings, name: &str) -> Value {
    json!({"name": name, "namespace": settings.namespace, "labels": labels()})
}

#[cfg(test)]
mod tests;
