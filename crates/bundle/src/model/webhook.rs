//! Admission policies, and webhooks with the workloads that answer them.

use std::collections::BTreeSet;

use clearway_core::Place;

use super::CelRule;

/// A `ValidatingAdmissionPolicy`, a `MutatingAdmissionPolicy`, or a binding of one.
#[derive(Debug, Clone, Default)]
pub struct AdmissionPolicy {
    /// The kind.
    pub kind: String,
    /// The name.
    pub name: String,
    /// The annotation `<domain>/bundle-version`.
    pub bundle_version: Option<String>,
    /// The annotation `<domain>/channel`.
    pub channel: Option<String>,
    /// `spec.validations`, in order.
    pub validations: Vec<CelRule>,
    /// Where it was read.
    pub place: Place,
}

/// A `ValidatingWebhookConfiguration` or `MutatingWebhookConfiguration`.
#[derive(Debug, Clone, Default)]
pub struct WebhookConfiguration {
    /// The kind.
    pub kind: String,
    /// The name.
    pub name: String,
    /// The annotation `<domain>/bundle-version`.
    pub bundle_version: Option<String>,
    /// The annotation `<domain>/channel`.
    pub channel: Option<String>,
    /// The services that answer it, as `namespace/name`.
    pub services: BTreeSet<String>,
    /// The workloads of the bundle that are behind these services.
    pub workloads: Vec<Workload>,
    /// Where it was read.
    pub place: Place,
}

/// A `Deployment`, `StatefulSet` or `DaemonSet` behind a webhook.
#[derive(Debug, Clone, Default)]
pub struct Workload {
    /// The kind.
    pub kind: String,
    /// The namespace and the name, as `namespace/name`.
    pub name: String,
    /// The annotation `<domain>/bundle-version`.
    pub bundle_version: Option<String>,
    /// The images of its containers.
    pub images: Vec<String>,
}
