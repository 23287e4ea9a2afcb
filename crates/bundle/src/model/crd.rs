//! A CRD and its API versions, as far as two bundles can differ in them.

use std::collections::{BTreeMap, BTreeSet};

use clearway_core::Place;
use serde_json::Value;

use super::FieldSchema;

/// A CRD of a bundle.
#[derive(Debug, Clone, Default)]
pub struct Crd {
    /// `metadata.name`: the plural and the group.
    pub name: String,
    /// `spec.group`.
    pub group: String,
    /// `spec.scope`: `Namespaced` or `Cluster`.
    pub scope: String,
    /// `spec.names.kind`.
    pub kind: String,
    /// `spec.names.plural`.
    pub plural: String,
    /// `spec.names.singular`.
    pub singular: String,
    /// `spec.names.listKind`.
    pub list_kind: String,
    /// `spec.names.shortNames`.
    pub short_names: BTreeSet<String>,
    /// `spec.names.categories`.
    pub categories: BTreeSet<String>,
    /// `spec.conversion.strategy`; `None` where nothing is said.
    pub conversion: String,
    /// `metadata.annotations`, without those that `kubectl` and the API server add.
    pub annotations: BTreeMap<String, String>,
    /// `metadata.labels`.
    pub labels: BTreeMap<String, String>,
    /// The annotation `<domain>/bundle-version`.
    pub bundle_version: Option<String>,
    /// The annotation `<domain>/channel`.
    pub channel: Option<String>,
    /// The API versions by name.
    pub versions: BTreeMap<String, ApiVersion>,
    /// `status.storedVersions`; none unless the CRD was read from a cluster.
    pub stored_versions: Option<BTreeSet<String>>,
    /// Where it was read.
    pub place: Place,
}

/// One API version of a CRD.
#[derive(Debug, Clone, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a field of the CRD")]
pub struct ApiVersion {
    /// The name, such as `v1beta1`.
    pub name: String,
    /// Whether clients can use it.
    pub served: bool,
    /// Whether objects are stored in it.
    pub storage: bool,
    /// Whether clients are warned.
    pub deprecated: bool,
    /// The text of that warning.
    pub deprecation_warning: Option<String>,
    /// The schema; none if it is missing or could not be read, which is among the problems of the bundle.
    pub schema: Option<FieldSchema>,
    /// Whether `status` is written separately.
    pub status_subresource: bool,
    /// `subresources.scale` as it is written.
    pub scale: Option<Value>,
    /// `additionalPrinterColumns` as they are written.
    pub printer_columns: Option<Value>,
    /// The paths of `selectableFields`.
    pub selectable_fields: BTreeSet<String>,
    /// Where it was read.
    pub place: Place,
}

impl Crd {
    /// The version objects are stored in.
    pub fn storage_version(&self) -> Option<&ApiVersion> {
        self.versions.values().find(|version| version.storage)
    }

    /// Whether the API server changes nothing but `apiVersion` between versions.
    pub fn converts_without_webhook(&self) -> bool {
        self.conversion == "None"
    }
}

impl ApiVersion {
    /// How the API server ranks versions: `v2` before `v1`, before `v1beta1`, before `v1alpha1`, before other names.
    pub(crate) fn rank(name: &str) -> (u8, u64, u64) {
        let numbers = |text: &str, word: &str| {
            let (major, minor) = text.split_once(word)?;
            Some((major.parse::<u64>().ok()?, minor.parse::<u64>().ok()?))
        };
        let Some(rest) = name.strip_prefix('v') else { return (0, 0, 0) };
        if let Ok(major) = rest.parse::<u64>() {
            return (3, major, 0);
        }
        let ranked = |rank, word| numbers(rest, word).map(|(major, minor)| (rank, major, minor));
        ranked(2, "beta").or_else(|| ranked(1, "alpha")).unwrap_or((0, 0, 0))
    }

    /// Whether the name is that of an alpha version.
    pub(crate) fn is_alpha(name: &str) -> bool {
        Self::rank(name).0 <= 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_rank_as_in_the_api_server() {
        let mut names = ["v1alpha2", "foo", "v1", "v2beta1", "v1beta1", "v2", "v1beta2"];
        names.sort_by_key(|name| std::cmp::Reverse(ApiVersion::rank(name)));
        assert_eq!(names, ["v2", "v1", "v2beta1", "v1beta2", "v1beta1", "v1alpha2", "foo"]);
    }
}
