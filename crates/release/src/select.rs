//! Which manifests of a release are meant for this cluster, by their annotations.
//!
//! These are `OpenShift`'s annotations. A release that has none of them is meant as a whole, so that a platform team need
//! not know them; there, unlike in `OpenShift`, a manifest without any `include.release.openshift.io/` is included.
//!
//! | annotation | what it does here |
//! |---|---|
//! | `exclude.release.openshift.io/ID: "true"` | leaves it out where `ID` is [`Selection::exclude`] |
//! | `include.release.openshift.io/PROFILE: "true"` | if there is any of these, there must be one for [`Selection::profile`] |
//! | `release.openshift.io/feature-set: A,B` | [`Selection::feature_set`] must be listed |
//! | `release.openshift.io/feature-gate: A,-B` | those listed must be on, those with a dash off |
//! | `release.openshift.io/major-version: 4,5` or `-4` | the major version of the release must be listed, or not be |
//! | `release.openshift.io/delete`, `release.openshift.io/create-only` | carried: see [`Manifest`](super::Manifest) |
//! | `capability.openshift.io/name` | carried; every capability counts as enabled |

use std::collections::BTreeSet;

use clearway_core::Version;
use serde_json::Value;

use super::manifest::annotation;

const INCLUDE: &str = "include.release.openshift.io/";
const EXCLUDE: &str = "exclude.release.openshift.io/";
const FEATURE_SET: &str = "release.openshift.io/feature-set";
const FEATURE_GATE: &str = "release.openshift.io/feature-gate";
const MAJOR_VERSION: &str = "release.openshift.io/major-version";

/// What a cluster is, as far as manifests ask.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selection {
    /// How the cluster is run.
    pub profile: String,
    /// Its set of features.
    pub feature_set: String,
    /// The features that are on besides.
    pub feature_gates: BTreeSet<String>,
    /// Who carries the release out.
    pub exclude: String,
}

impl Default for Selection {
    /// A cluster that runs by itself, with the features everybody has.
    fn default() -> Self {
        Selection {
            profile: "self-managed-high-availability".to_owned(),
            feature_set: "Default".to_owned(),
            feature_gates: BTreeSet::new(),
            exclude: "clearway".to_owned(),
        }
    }
}

impl Selection {
    /// Why a manifest is left out; nothing if it is not.
    pub(super) fn skip_reason(&self, object: &Value, version: Option<&Version>) -> Option<String> {
        let said = |name: &str| annotation(object, name);
        if said(&format!("{EXCLUDE}{}", self.exclude)) == Some("true") {
            return Some(format!("{EXCLUDE}{} is true", self.exclude));
        }
        let annotations = object.pointer("/metadata/annotations").and_then(Value::as_object);
        let profiles = annotations.is_some_and(|all| all.keys().any(|name| name.starts_with(INCLUDE)));
        if profiles && said(&format!("{INCLUDE}{}", self.profile)) != Some("true") {
            return Some(format!("it is not for the profile {}", self.profile));
        }
        if let Some(sets) = said(FEATURE_SET)
            && !words(sets).any(|set| set == self.feature_set)
        {
            return Some(format!("it is for the feature sets {sets}"));
        }
        if let Some(gates) = said(FEATURE_GATE)
            && !words(gates).all(|gate| match gate.strip_prefix('-') {
                Some(off) => !self.feature_gates.contains(off),
                None => self.feature_gates.contains(gate),
            })
        {
            return Some(format!("it is for the feature gates {gates}"));
        }
        if let (Some(majors), Some(version)) = (said(MAJOR_VERSION), version) {
            let major = version.major().to_string();
            let (no, yes): (Vec<&str>, Vec<&str>) = words(majors).partition(|word| word.starts_with('-'));
            if no.iter().any(|word| word.strip_prefix('-') == Some(&major))
                || !(yes.is_empty() || yes.contains(&major.as_str()))
            {
                return Some(format!("it is for the major versions {majors}"));
            }
        }
        None
    }
}

fn words(list: &str) -> impl Iterator<Item = &str> {
    list.split(',').map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn annotations_say_for_whom_a_manifest_is() {
        let profile = "include.release.openshift.io/self-managed-high-availability";
        let version: Version = "4.20.1".parse().unwrap();
        for (annotations, included) in [
            (json!({}), true),
            (json!({"x": "y"}), true),
            (json!({profile: "true"}), true),
            (json!({profile: "false"}), false),
            (json!({"include.release.openshift.io/ibm-cloud-managed": "true"}), false),
            (json!({"include.release.openshift.io/ibm-cloud-managed": "true", profile: "true"}), true),
            (json!({"exclude.release.openshift.io/internal-openshift-hosted": "true"}), true),
            (json!({"exclude.release.openshift.io/clearway": "true"}), false),
            (json!({"release.openshift.io/feature-set": "Default"}), true),
            (json!({"release.openshift.io/feature-set": "OKD,Default"}), true),
            (json!({"release.openshift.io/feature-set": "CustomNoUpgrade,TechPreviewNoUpgrade"}), false),
            (json!({"release.openshift.io/feature-gate": "New"}), false),
            (json!({"release.openshift.io/feature-gate": "-New"}), true),
            (json!({"release.openshift.io/feature-gate": "On,-New"}), true),
            (json!({"release.openshift.io/major-version": "4"}), true),
            (json!({"release.openshift.io/major-version": "5,6"}), false),
            (json!({"release.openshift.io/major-version": "-4"}), false),
            (json!({"release.openshift.io/major-version": "-5"}), true),
            (json!({"capability.openshift.io/name": "Console"}), true),
        ] {
            let object = json!({"metadata": {"name": "a", "annotations": annotations}});
            let selection = Selection { feature_gates: ["On".to_owned()].into(), ..Selection::default() };
            let why = selection.skip_reason(&object, Some(&version));
            assert_eq!(why.is_none(), included, "{annotations}: {why:?}");
        }
    }
}
