//! What a bundle is: a name, a version, a channel, and its CRDs, admission policies and webhooks (V1).

mod bundle_version;
mod crd;
mod field_path;
mod field_schema;
mod level;
mod webhook;

use std::collections::BTreeMap;

use clearway_core::Diagnostic;

use crate::channel::Channel;

pub use bundle_version::BundleVersion;
pub use crd::{ApiVersion, Crd};
pub use field_path::{FieldPath, FieldPathError, FieldUse};
pub(crate) use field_path::{Segment, render_path};
pub use field_schema::{AdditionalFields, CelRule, FieldSchema, Keywords};
pub use level::Level;
pub use webhook::{AdmissionPolicy, WebhookConfiguration, Workload};

/// A set of CRDs that is released and installed as one, with the admission policies and webhooks that belong to it.
#[derive(Debug, Clone, Default)]
pub struct Bundle {
    /// What the caller calls it: a directory, a release, a cluster. For messages only.
    pub name: String,
    /// The domain of the annotations `<domain>/bundle-version` and `<domain>/channel`.
    pub domain: String,
    /// The version that most CRDs are annotated with; none if no CRD says it. See rule R45 for bundles that mix versions.
    pub version: Option<BundleVersion>,
    /// The channel that most CRDs are annotated with; none if no CRD says it.
    pub channel: Option<Channel>,
    /// The CRDs by name.
    pub crds: BTreeMap<String, Crd>,
    /// Validating and mutating admission policies with their bindings, in order of kind and name.
    pub policies: Vec<AdmissionPolicy>,
    /// Webhook configurations with the workloads behind them, in order of kind and name.
    pub webhooks: Vec<WebhookConfiguration>,
    /// What could not be read. It was not judged, so a bundle with errors here is never compatible without review.
    pub problems: Vec<Diagnostic>,
}

impl Bundle {
    /// The version for messages: `no version` if there is none.
    pub fn version_text(&self) -> String {
        self.version.as_ref().map_or_else(|| "no version".to_owned(), ToString::to_string)
    }

    /// The schema of a version of a CRD, if both exist and the schema could be read.
    pub fn schema(&self, crd: &str, version: &str) -> Option<&FieldSchema> {
        self.crds.get(crd)?.versions.get(version)?.schema.as_ref()
    }
}
