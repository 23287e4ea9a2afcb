//! Bringing the operator into a cluster: what it consists of, as values; and carrying that out.
//!
//! [`manifests`] is a function of [`Settings`]: the same objects are applied by `clearway install` and written down as plain
//! manifests for kustomize ([`kustomize::files`]). [`carry_out`] applies them on the server's side, and takes them away again.
//! Every right the operator has stands in [`rights`], with what it is for.

pub mod alerts;
pub mod carry_out;
pub mod kustomize;
mod monitoring;
pub mod rights;
mod workload;

use clearway_bundle::{BuildError, Channel};
use serde_json::{Value, json};

use crate::api;

/// The name of everything that there is one of.
pub const NAME: &str = "clearway-operator";
/// Where the operator lives unless said otherwise.
pub const NAMESPACE: &str = "clearway";
/// In whose name objects are applied; also the value of the label that says who made them.
pub const MANAGER: &str = "clearway-install";
/// The label that says who made an object. Only what carries it is taken away again.
pub const MANAGED_BY: &str = "app.kubernetes.io/managed-by";

/// What is to be installed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The channel of the CRDs.
    pub channel: Channel,
    /// Where the operator lives.
    pub namespace: String,
    /// Its image.
    pub image: String,
    /// Whether the operator may only advise: without the rights to carry out an update.
    pub advice_only: bool,
    /// The update service that is asked where an object names none.
    pub upstream: Option<String>,
    /// The cluster's Prometheus.
    pub prometheus: Option<String>,
}

impl Settings {
    /// What is installed if nothing else is said.
    pub fn new(channel: Channel) -> Self {
        Settings {
            channel,
            namespace: NAMESPACE.to_owned(),
            image: default_image(),
            advice_only: false,
            upstream: None,
            prometheus: None,
        }
    }
}

/// The image of this version.
pub fn default_image() -> String {
    format!("ghcr.io/clearway-dev/clearway:{}", env!("CARGO_PKG_VERSION"))
}

/// What the operator consists of, in the order in which it is applied.
#[derive(Debug, Clone, PartialEq)]
pub struct Manifests {
    /// The CRDs of the channel.
    pub crds: Vec<Value>,
    /// The namespace.
    pub namespace: Value,
    /// The account, and what it may do to advise.
    pub rights: Vec<Value>,
    /// What it may do to carry out updates; empty for advice only.
    pub carry_out: Vec<Value>,
    /// What runs.
    pub workload: Vec<Value>,
    /// What watches it, of kinds that not every cluster has.
    pub monitoring: Vec<Value>,
}

impl Manifests {
    /// All of it, but the CRDs and what not every cluster has.
    pub fn always(&self) -> impl DoubleEndedIterator<Item = &Value> {
        [&self.namespace].into_iter().chain(&self.rights).chain(&self.carry_out).chain(&self.workload)
    }
}

/// Everything for these settings.
pub fn manifests(settings: &Settings) -> Result<Manifests, BuildError> {
    Ok(Manifests {
        crds: api::crds(settings.channel)?,
        namespace: namespace(settings),
        rights: rights::advice(settings),
        carry_out: if settings.advice_only { Vec::new() } else { rights::carry_out(settings) },
        workload: workload::workload(settings),
        monitoring: monitoring::monitoring(settings),
    })
}

fn namespace(settings: &Settings) -> Value {
    let mut labels = labels();
    // The API server itself holds the pods to what the Deployment promises.
    for what in ["enforce", "audit", "warn"] {
        labels[format!("pod-security.kubernetes.io/{what}")] = json!("restricted");
    }
    json!({
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": settings.namespace, "labels": labels},
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
