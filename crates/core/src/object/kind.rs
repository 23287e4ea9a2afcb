//! Kinds of objects, with and without a version.

use std::fmt;

use serde::Serialize;
use serde_json::Value;

/// A kind in its API group. All versions of a kind hold the same objects, so this is what kinds are compared by.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize)]
pub struct GroupKind {
    /// The API group, empty for the core group.
    pub group: String,
    /// The kind, such as `Deployment`.
    pub kind: String,
}

/// A kind in one version of its API group: the form in which its objects are read and written.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct GroupVersionKind {
    /// The API group, empty for the core group.
    pub group: String,
    /// The version, such as `v1`; empty where no version is known.
    pub version: String,
    /// The kind, such as `Deployment`.
    pub kind: String,
}

impl GroupKind {
    /// The kind that the fields `apiVersion` (`apps/v1`, or `v1` in the core group) and `kind` of an object name.
    pub fn from_api_version(api_version: &str, kind: &str) -> Self {
        GroupKind { group: split_api_version(api_version).0.to_owned(), kind: kind.to_owned() }
    }

    /// The kind of an object; `None` if `apiVersion` or `kind` is missing or not a string.
    pub fn of(object: &Value) -> Option<Self> {
        Some(GroupKind::from_api_version(object.get("apiVersion")?.as_str()?, object.get("kind")?.as_str()?))
    }

    /// Whether an object is of this kind, in any version.
    pub fn is_kind_of(&self, object: &Value) -> bool {
        let text = |key: &str| object.get(key).and_then(Value::as_str);
        text("apiVersion").is_some_and(|version| split_api_version(version).0 == self.group)
            && text("kind") == Some(&self.kind)
    }
}

impl fmt::Display for GroupKind {
    /// As `kubectl get` accepts it: `Deployment.apps`, and `Pod` in the core group.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_kind(f, &self.kind, &self.group)
    }
}

impl GroupVersionKind {
    /// The kind that the fields `apiVersion` (`apps/v1`, or `v1` in the core group) and `kind` of an object name.
    pub fn new(api_version: &str, kind: &str) -> Self {
        let (group, version) = split_api_version(api_version);
        GroupVersionKind { group: group.to_owned(), version: version.to_owned(), kind: kind.to_owned() }
    }

    /// The group and version as objects have them in `apiVersion`: `apps/v1`, and `v1` in the core group.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.clone() } else { format!("{}/{}", self.group, self.version) }
    }

    /// The same kind without its version.
    pub fn group_kind(&self) -> GroupKind {
        GroupKind { group: self.group.clone(), kind: self.kind.clone() }
    }
}

impl fmt::Display for GroupVersionKind {
    /// `Deployment.apps (v1)`. In the core group, and where no version is known, as [`GroupKind`].
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_kind(f, &self.kind, &self.group)?;
        if self.group.is_empty() || self.version.is_empty() { Ok(()) } else { write!(f, " ({})", self.version) }
    }
}

/// The group and the version of an `apiVersion`; the group is empty in `v1`, which is of the core group.
pub fn split_api_version(api_version: &str) -> (&str, &str) {
    api_version.split_once('/').unwrap_or(("", api_version))
}

/// Writes `Deployment.apps`, and `Pod` in the core group.
pub(super) fn write_kind(f: &mut fmt::Formatter<'_>, kind: &str, group: &str) -> fmt::Result {
    f.write_str(kind)?;
    if group.is_empty() { Ok(()) } else { write!(f, ".{group}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn versions_are_of_one_kind() {
        let kind = |api_version: &str| GroupVersionKind::new(api_version, "Deployment");
        assert_eq!(kind("apps/v1").group_kind(), kind("apps/v1beta1").group_kind());
        assert_eq!(kind("apps/v1").group_kind(), GroupKind::from_api_version("apps/v1beta2", "Deployment"));
        assert_ne!(kind("apps/v1").group_kind(), kind("extensions/v1beta1").group_kind());
    }

    #[test]
    fn an_api_version_is_written_as_it_was_read() {
        for api_version in ["v1", "apps/v1", "gateway.networking.k8s.io/v1beta1"] {
            assert_eq!(GroupVersionKind::new(api_version, "Thing").api_version(), api_version);
        }
    }

    #[test]
    fn kinds_are_shown_with_their_group() {
        let shown = |api_version| {
            let kind = GroupVersionKind::new(api_version, "Thing");
            (kind.group_kind().to_string(), kind.to_string())
        };
        assert_eq!(shown("v1"), ("Thing".to_owned(), "Thing".to_owned()));
        assert_eq!(shown("example.com/v1"), ("Thing.example.com".to_owned(), "Thing.example.com (v1)".to_owned()));
        assert_eq!(shown("example.com/"), ("Thing.example.com".to_owned(), "Thing.example.com".to_owned()));
    }

    #[test]
    fn an_object_without_a_kind_has_none() {
        let pod = json!({"apiVersion": "v1", "kind": "Pod"});
        let pods = GroupKind::from_api_version("v1", "Pod");
        assert_eq!(GroupKind::of(&pod), Some(pods.clone()));
        assert!(pods.is_kind_of(&pod));
        for object in [json!({"kind": "Pod"}), json!({"apiVersion": "v1", "kind": 3}), json!("Pod")] {
            assert_eq!(GroupKind::of(&object), None);
            assert!(!pods.is_kind_of(&object));
        }
    }
}
