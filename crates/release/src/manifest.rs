//! One object of a release: where it stands, which it is, and what its annotations ask for.

use std::fmt;

use clearway_core::Position;
use serde::Serialize;
use serde_json::Value;

/// The annotation that asks for an object to be deleted instead of applied.
const DELETE: &str = "release.openshift.io/delete";
/// The annotation that asks for an object to be created, and then left to others.
const CREATE_ONLY: &str = "release.openshift.io/create-only";

/// One object of a release.
#[derive(Debug, Clone, PartialEq)]
pub struct Manifest {
    /// The name of its file in `release-manifests`.
    pub file: String,
    /// The run level that the name of the file gives it.
    pub run_level: u16,
    /// The component that the name of the file gives it.
    pub component: String,
    /// Which object of its file it is, counted from 0.
    pub index: usize,
    /// Where in its file it begins.
    pub position: Position,
    /// Which object it is.
    pub id: ObjectId,
    /// The object itself.
    pub object: Value,
}

/// Which object of a cluster is meant.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ObjectId {
    /// Group and version, such as `apps/v1`.
    pub api_version: String,
    /// The kind.
    pub kind: String,
    /// The namespace, where one is named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// The name.
    pub name: String,
}

/// A kind in its group, whatever the version.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct GroupKind {
    /// The group; empty for the core.
    pub group: String,
    /// The kind.
    pub kind: String,
}

/// A kind that a release defines by a `CustomResourceDefinition`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Definition {
    /// The name of the definition: `plural.group`.
    pub name: String,
    /// What it defines.
    #[serde(flatten)]
    pub kind: GroupKind,
    /// The resource under which its objects are.
    pub plural: String,
    /// Its versions.
    pub versions: Vec<String>,
}

impl ObjectId {
    /// The group of the API; empty for the core.
    pub fn group(&self) -> &str {
        self.api_version.split_once('/').map_or("", |(group, _)| group)
    }

    /// The kind in its group.
    pub fn group_kind(&self) -> GroupKind {
        GroupKind { group: self.group().to_owned(), kind: self.kind.clone() }
    }

    /// What is the same for two manifests of one object: versions are only two ways to write it.
    pub(super) fn identity(&self) -> (&str, &str, &str, &str) {
        (self.group(), &self.kind, self.namespace.as_deref().unwrap_or_default(), &self.name)
    }
}

impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.kind)?;
        if !self.group().is_empty() {
            write!(f, ".{}", self.group())?;
        }
        match &self.namespace {
            Some(namespace) => write!(f, " {namespace}/{}", self.name),
            None => write!(f, " {}", self.name),
        }
    }
}

impl fmt::Display for GroupKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.group.is_empty() { f.write_str(&self.kind) } else { write!(f, "{}.{}", self.kind, self.group) }
    }
}

impl Manifest {
    /// The text of an annotation.
    pub fn annotation(&self, name: &str) -> Option<&str> {
        annotation(&self.object, name)
    }

    /// Whether the object is to be deleted instead of applied (`release.openshift.io/delete: "true"`).
    pub fn deletes(&self) -> bool {
        self.annotation(DELETE) == Some("true")
    }

    /// Whether the object is to be created if it is not there, and otherwise left alone
    /// (`release.openshift.io/create-only: "true"`).
    pub fn create_only(&self) -> bool {
        self.annotation(CREATE_ONLY) == Some("true")
    }

    /// Whether it is a `CustomResourceDefinition`.
    pub fn is_definition(&self) -> bool {
        self.id.kind == "CustomResourceDefinition" && self.id.group() == "apiextensions.k8s.io"
    }

    /// Whether it is a Namespace.
    pub fn is_namespace(&self) -> bool {
        self.id.kind == "Namespace" && self.id.group().is_empty()
    }

    /// What a `CustomResourceDefinition` defines.
    pub fn definition(&self) -> Option<Definition> {
        if !self.is_definition() {
            return None;
        }
        let text = |pointer: &str| self.object.pointer(pointer)?.as_str().map(str::to_owned);
        let versions = self.object.pointer("/spec/versions").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        Some(Definition {
            name: self.id.name.clone(),
            kind: GroupKind { group: text("/spec/group")?, kind: text("/spec/names/kind")? },
            plural: text("/spec/names/plural")?,
            versions: versions.iter().filter_map(|version| Some(version.get("name")?.as_str()?.to_owned())).collect(),
        })
    }

    /// The images of its containers, each with where it is named, in order.
    pub fn images(&self) -> Vec<(String, &str)> {
        let mut found = Vec::new();
        images(&self.object, "", &mut found);
        found
    }
}

pub(super) fn annotation<'o>(object: &'o Value, name: &str) -> Option<&'o str> {
    object.get("metadata")?.get("annotations")?.get(name)?.as_str()
}

/// Looks for lists of containers, wherever an object has them: in pods, in templates of pods, in those of custom kinds.
fn images<'o>(value: &'o Value, path: &str, found: &mut Vec<(String, &'o str)>) {
    const LISTS: [&str; 3] = ["containers", "initContainers", "ephemeralContainers"];
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                if let (true, Value::Array(items)) = (LISTS.contains(&key.as_str()), value) {
                    for (number, item) in items.iter().enumerate() {
                        if let Some(image) = item.get("image").and_then(Value::as_str) {
                            found.push((format!("{path}[{number}].image"), image));
                        }
                    }
                } else {
                    images(value, &path, found);
                }
            }
        }
        Value::Array(items) => {
            for (number, item) in items.iter().enumerate() {
                images(item, &format!("{path}[{number}]"), found);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn images_are_found_wherever_containers_are() {
        let object = json!({"spec": {"template": {"spec": {"containers": [{"image": "a"}, {"name": "x"}],
            "initContainers": [{"image": "b"}]}}, "image": "no container"}});
        let mut found = Vec::new();
        images(&object, "", &mut found);
        assert_eq!(
            found,
            [
                ("spec.template.spec.containers[0].image".to_owned(), "a"),
                ("spec.template.spec.initContainers[0].image".to_owned(), "b")
            ]
        );
    }

    #[test]
    fn the_version_of_the_api_is_no_part_of_what_an_object_is() {
        let id = |api_version: &str| ObjectId {
            api_version: api_version.to_owned(),
            kind: "Deployment".to_owned(),
            namespace: Some("a".to_owned()),
            name: "b".to_owned(),
        };
        assert_eq!(id("apps/v1").identity(), id("apps/v1beta1").identity());
        assert_ne!(id("apps/v1").identity(), id("extensions/v1beta1").identity());
        assert_eq!(id("apps/v1").to_string(), "Deployment.apps a/b");
        assert_eq!((id("v1").group(), id("v1").to_string().as_str()), ("", "Deployment a/b"));
    }
}
