//! Whose an object is: the label that says so, and what an object of a release looks like with it.

use std::fmt;

use clearway_core::Digest;
use clearway_release::Manifest;
use serde_json::Value;

use crate::api::VersionObject;

/// The label of everything that a release brought about: whose release.
pub const OWNER: &str = "clearway.dev/owner";
/// In whose name objects are applied.
pub const MANAGER: &str = "clearway-operator";
/// The longest value of a label.
const LONGEST: usize = 63;

/// Whose release it is: a ClusterVersion or ComponentVersion, as it stands in the label.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Owner(String);

impl Owner {
    /// `Kind.name`. One that is too long for a label ends in a part of its hash instead.
    pub fn new(kind: &str, name: &str) -> Self {
        let whole = format!("{kind}.{name}");
        if whole.len() <= LONGEST {
            return Owner(whole);
        }
        let hash = Digest::sha256(whole.as_bytes());
        let part = hash.hex().get(..16).unwrap_or_default();
        let fits = (0..=LONGEST - 17).rev().find(|end| whole.is_char_boundary(*end)).unwrap_or(0);
        Owner(format!("{}-{part}", whole.get(..fits).unwrap_or_default()))
    }

    /// The owner that an object is.
    pub fn of(object: &VersionObject) -> Self {
        Owner::new(object.kind.as_str(), object.name())
    }

    /// The value of the label.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The selector of what it owns.
    pub fn selector(&self) -> String {
        format!("{OWNER}={}", self.0)
    }

    /// Who else claims an object.
    pub fn other<'o>(&self, object: &'o Value) -> Option<&'o str> {
        claimed(object).filter(|owner| *owner != self.0)
    }

    /// Whether it claims an object.
    pub fn owns(&self, object: &Value) -> bool {
        claimed(object) == Some(&self.0)
    }

    /// Whether it brought an object about. A label alone does not say so: controllers copy the labels of an object to what
    /// they make for it, as to the `EndpointSlice`s of a Service.
    pub fn applied(&self, object: &Value) -> bool {
        let managers = object["metadata"]["managedFields"].as_array().map_or(&[][..], Vec::as_slice);
        // A state directory keeps no managers; nothing copies labels there either.
        self.owns(object) && (managers.is_empty() || managers.iter().any(|one| one["manager"] == MANAGER))
    }

    /// A manifest as it is applied: with the label.
    pub fn stamped(&self, manifest: &Manifest) -> Value {
        let mut object = manifest.object.clone();
        let metadata = &mut object["metadata"];
        if !metadata["labels"].is_object() {
            metadata["labels"] = Value::Object(serde_json::Map::new());
        }
        metadata["labels"][OWNER] = self.0.as_str().into();
        object
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn claimed(object: &Value) -> Option<&str> {
    object["metadata"]["labels"][OWNER].as_str()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_long_name_is_still_a_label_and_no_other_owner() {
        assert_eq!(Owner::new("ClusterVersion", "version").as_str(), "ClusterVersion.version");
        let long = |end: &str| Owner::new("ComponentVersion", &format!("{}{end}", "x".repeat(100)));
        assert_eq!(long("a").as_str().len(), LONGEST);
        assert_ne!(long("a"), long("b"));
        assert_eq!(Owner::new("ComponentVersion", &"é".repeat(40)).as_str().len(), LONGEST - 1);
    }

    #[test]
    fn a_copied_label_makes_nothing_ours() {
        let owner = Owner::new("ClusterVersion", "version");
        let object =
            |owner: &str, managers: Value| json!({"metadata": {"labels": {OWNER: owner}, "managedFields": managers}});
        for (object, made, other) in [
            (object("ClusterVersion.version", json!([{"manager": "clearway-operator"}])), true, None),
            (object("ClusterVersion.version", Value::Null), true, None),
            (object("ClusterVersion.version", json!([{"manager": "kube-controller-manager"}])), false, None),
            (
                object("ComponentVersion.x", json!([{"manager": "clearway-operator"}])),
                false,
                Some("ComponentVersion.x"),
            ),
            (json!({"metadata": {}}), false, None),
        ] {
            assert_eq!((owner.applied(&object), owner.other(&object)), (made, other), "{object}");
        }
    }
}
