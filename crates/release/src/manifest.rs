//! One object of a release: where it stands, which it is, and what its annotations ask for.

use clearway_core::{GroupKind, GroupVersionKind, ObjectId, ObjectReference, Position, ValuePath};
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
    /// The version of its API group in which it is written.
    pub version: String,
    /// The object itself.
    pub object: Value,
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

impl Manifest {
    /// The address of the object, in the version in which it is written.
    pub fn reference(&self) -> ObjectReference {
        let ObjectId { group, kind, namespace, name } = self.id.clone();
        ObjectReference { kind: GroupVersionKind { group, version: self.version.clone(), kind }, namespace, name }
    }

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
        self.id.kind == "CustomResourceDefinition" && self.id.group == "apiextensions.k8s.io"
    }

    /// Whether it is a Namespace.
    pub fn is_namespace(&self) -> bool {
        self.id.kind == "Namespace" && self.id.group.is_empty()
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

    /// Goes through the images of its containers, each with where it is named, in order.
    pub fn each_image<'o>(&'o self, visit: &mut dyn FnMut(&ValuePath<'_>, &'o str)) {
        images(&self.object, &ValuePath::Root, visit);
    }
}

pub(super) fn annotation<'o>(object: &'o Value, name: &str) -> Option<&'o str> {
    object.get("metadata")?.get("annotations")?.get(name)?.as_str()
}

/// Looks for lists of containers, wherever an object has them: in pods, in templates of pods, in those of custom kinds.
fn images<'o>(value: &'o Value, path: &ValuePath<'_>, visit: &mut dyn FnMut(&ValuePath<'_>, &'o str)) {
    const LISTS: [&str; 3] = ["containers", "initContainers", "ephemeralContainers"];
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                let path = ValuePath::Field(path, key);
                if let (true, Value::Array(items)) = (LISTS.contains(&key.as_str()), value) {
                    for (number, item) in items.iter().enumerate() {
                        if let Some(image) = item.get("image").and_then(Value::as_str) {
                            visit(&ValuePath::Field(&ValuePath::Item(&path, number), "image"), image);
                        }
                    }
                } else {
                    images(value, &path, visit);
                }
            }
        }
        Value::Array(items) => {
            for (number, item) in items.iter().enumerate() {
                images(item, &ValuePath::Item(path, number), visit);
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
        images(&object, &ValuePath::Root, &mut |path, image| found.push((path.to_string(), image)));
        assert_eq!(
            found,
            [
                ("spec.template.spec.containers[0].image".to_owned(), "a"),
                ("spec.template.spec.initContainers[0].image".to_owned(), "b")
            ]
        );
    }
}
