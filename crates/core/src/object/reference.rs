//! An object as an API addresses it, with the version in which it is read and written.

use std::fmt;

use serde::ser::{Serialize, SerializeStruct, Serializer};
use serde_json::Value;

use super::id::{ObjectId, write_name};
use super::kind::GroupVersionKind;

/// The address of one object in an API: what a request for it needs.
///
/// Two references to one object differ if their versions do; compare [`ObjectReference::id`] to tell objects apart.
/// As JSON it is an `ObjectReference` of Kubernetes: `apiVersion`, `kind`, `namespace` unless it is empty, and `name`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectReference {
    /// The kind, in the version to use.
    pub kind: GroupVersionKind,
    /// The namespace, empty for cluster-scoped objects.
    pub namespace: String,
    /// The name.
    pub name: String,
}

/// A field is missing, empty or not a string, so that an object cannot be addressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an object without `{field}`")]
pub struct ObjectReferenceError {
    /// The path of the field, such as `metadata.name`.
    pub field: &'static str,
}

impl ObjectReference {
    /// The address of an object that is in no namespace.
    pub fn cluster_scoped(kind: GroupVersionKind, name: impl Into<String>) -> Self {
        ObjectReference { kind, namespace: String::new(), name: name.into() }
    }

    /// The address that an object has by its `apiVersion`, `kind` and metadata; only the namespace may be missing.
    pub fn of(object: &Value) -> Result<Self, ObjectReferenceError> {
        let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
        let metadata = |key: &str| text(object.get("metadata").and_then(|metadata| metadata.get(key)));
        let (api_version, kind) = (text(object.get("apiVersion")), text(object.get("kind")));
        let (namespace, name) = (metadata("namespace"), metadata("name"));
        for (field, value) in [("apiVersion", &api_version), ("kind", &kind), ("metadata.name", &name)] {
            if value.is_empty() {
                return Err(ObjectReferenceError { field });
            }
        }
        Ok(ObjectReference { kind: GroupVersionKind::new(&api_version, &kind), namespace, name })
    }

    /// Which object it is, whatever the version.
    pub fn id(&self) -> ObjectId {
        ObjectId {
            group: self.kind.group.clone(),
            kind: self.kind.kind.clone(),
            namespace: self.namespace.clone(),
            name: self.name.clone(),
        }
    }
}

impl fmt::Display for ObjectReference {
    /// `Deployment shop/web`, without the group and version; [`ObjectReference::id`] is shown with the group.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ", self.kind.kind)?;
        write_name(f, &self.namespace, &self.name)
    }
}

impl Serialize for ObjectReference {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let fields = if self.namespace.is_empty() { 3 } else { 4 };
        let mut object = serializer.serialize_struct("ObjectReference", fields)?;
        object.serialize_field("apiVersion", &self.kind.api_version())?;
        object.serialize_field("kind", &self.kind.kind)?;
        if self.namespace.is_empty() {
            object.skip_field("namespace")?;
        } else {
            object.serialize_field("namespace", &self.namespace)?;
        }
        object.serialize_field("name", &self.name)?;
        object.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn web(api_version: &str) -> Value {
        json!({"apiVersion": api_version, "kind": "Deployment", "metadata": {"namespace": "shop", "name": "web"}})
    }

    #[test]
    fn the_version_is_no_part_of_which_object_it_is() {
        let [v1, beta] = ["apps/v1", "apps/v1beta1"].map(|version| ObjectReference::of(&web(version)).unwrap());
        assert_ne!(v1, beta);
        assert_eq!(v1.id(), beta.id());
        assert_eq!(
            (v1.to_string(), v1.id().to_string()),
            ("Deployment shop/web".into(), "Deployment.apps shop/web".into())
        );
    }

    #[test]
    fn a_missing_field_is_named() {
        for (object, field) in [
            (json!({"kind": "Pod", "metadata": {"name": "a"}}), "apiVersion"),
            (json!({"apiVersion": "v1", "kind": 3, "metadata": {"name": "a"}}), "kind"),
            (json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": ""}}), "metadata.name"),
            (json!(["a"]), "apiVersion"),
        ] {
            assert_eq!(ObjectReference::of(&object), Err(ObjectReferenceError { field }));
        }
    }

    #[test]
    fn it_is_serialized_as_kubernetes_does() {
        let json = |reference: &ObjectReference| serde_json::to_string(reference).unwrap();
        let want = r#"{"apiVersion":"apps/v1","kind":"Deployment","namespace":"shop","name":"web"}"#;
        assert_eq!(json(&ObjectReference::of(&web("apps/v1")).unwrap()), want);
        let shop = ObjectReference::cluster_scoped(GroupVersionKind::new("v1", "Namespace"), "shop");
        assert_eq!(json(&shop), r#"{"apiVersion":"v1","kind":"Namespace","name":"shop"}"#);
    }
}
