//! Which object is meant, whatever the version it is written in.

use std::fmt;

use serde::Serialize;
use serde_json::Value;

use super::kind::{GroupKind, write_kind};

/// Namespace and name of an object whose kind is known.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ObjectName {
    /// The namespace, empty for cluster-scoped objects.
    pub namespace: String,
    /// The name.
    pub name: String,
}

/// Which object it is. The version of its API is no part of that: one object is served in several versions.
///
/// As JSON it has all four fields, empty ones too.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize)]
pub struct ObjectId {
    /// The API group, empty for the core group.
    pub group: String,
    /// The kind, such as `Deployment`.
    pub kind: String,
    /// The namespace, empty for cluster-scoped objects.
    pub namespace: String,
    /// The name.
    pub name: String,
}

impl ObjectName {
    /// The namespace and name in the metadata of an object, each empty if it is missing or not a string.
    pub fn of(object: &Value) -> Self {
        let text = |key: &str| {
            let value = object.get("metadata").and_then(|metadata| metadata.get(key));
            value.and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        ObjectName { namespace: text("namespace"), name: text("name") }
    }
}

impl fmt::Display for ObjectName {
    /// `shop/web`, and only the name for cluster-scoped objects.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_name(f, &self.namespace, &self.name)
    }
}

impl ObjectId {
    /// The kind of the object.
    pub fn group_kind(&self) -> GroupKind {
        GroupKind { group: self.group.clone(), kind: self.kind.clone() }
    }
}

impl fmt::Display for ObjectId {
    /// `Deployment.apps shop/web`, and `Namespace shop` for a cluster-scoped object of the core group.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_kind(f, &self.kind, &self.group)?;
        f.write_str(" ")?;
        write_name(f, &self.namespace, if self.name.is_empty() { "(no name)" } else { &self.name })
    }
}

/// Writes `shop/web`, and only the name for cluster-scoped objects.
pub(super) fn write_name(f: &mut fmt::Formatter<'_>, namespace: &str, name: &str) -> fmt::Result {
    if !namespace.is_empty() {
        write!(f, "{namespace}/")?;
    }
    f.write_str(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_object_is_shown_with_kind_namespace_and_name() {
        let id = |group: &str, kind: &str, namespace: &str, name: &str| ObjectId {
            group: group.to_owned(),
            kind: kind.to_owned(),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        };
        assert_eq!(id("apps", "Deployment", "shop", "web").to_string(), "Deployment.apps shop/web");
        assert_eq!(id("", "Namespace", "", "shop").to_string(), "Namespace shop");
        assert_eq!(id("", "Pod", "shop", "").to_string(), "Pod shop/(no name)");
    }

    #[test]
    fn metadata_of_any_shape_gives_a_name() {
        let web = ObjectName { namespace: "shop".to_owned(), name: "web".to_owned() };
        assert_eq!(ObjectName::of(&json!({"metadata": {"namespace": "shop", "name": "web"}})), web);
        assert_eq!(web.to_string(), "shop/web");
        for object in [json!(null), json!({"metadata": []}), json!({"metadata": {"name": 3}})] {
            assert_eq!(ObjectName::of(&object), ObjectName::default());
        }
    }

    #[test]
    fn an_id_is_serialized_with_all_its_fields() {
        let id = ObjectId { kind: "Namespace".to_owned(), name: "shop".to_owned(), ..ObjectId::default() };
        let want = r#"{"group":"","kind":"Namespace","namespace":"","name":"shop"}"#;
        assert_eq!(serde_json::to_string(&id).unwrap(), want);
    }
}
