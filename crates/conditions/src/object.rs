//! A Kubernetes object as the linter and the health rules see it: any kind, from a file or from an API server.

use clearway_core::{Diagnostic, GroupKind, ObjectId, Place, Severity, Timestamp, split_api_version};
use clearway_yaml::{Node, Source};

/// The code of the finding that something is not a Kubernetes object.
pub const NOT_AN_OBJECT: &str = "IN007";

/// A view of one object. Reading it never fails for what the API does not require.
#[derive(Debug, Clone, Copy)]
pub struct Object<'a> {
    /// The whole object.
    pub root: Node<'a>,
    /// The text it came from.
    pub source: Source<'a>,
    api_version: &'a str,
    kind: &'a str,
}

impl<'a> Object<'a> {
    /// The object a document (or the item of a `list`) holds, or what keeps it from being one.
    pub fn new(root: Node<'a>, source: Source<'a>, list: Option<Node<'a>>) -> Result<Self, Box<Diagnostic>> {
        let refuse_at = |node: Node<'_>, message: String| {
            Err(Box::new(
                Diagnostic::new(NOT_AN_OBJECT, Severity::Error, message)
                    .at(source.place(node))
                    .with_excerpt(source.excerpt(node))
                    .with_help("a Kubernetes object has apiVersion, kind and metadata.name; it is skipped"),
            ))
        };
        let refuse = |message: String| refuse_at(root, message);
        if !root.is_mapping() {
            return refuse(format!("not a Kubernetes object but {}", root.describe()));
        }
        // The items of a typed list carry neither kind nor apiVersion: the list does, with `List` behind the kind.
        let from_list = |key: &str| list.and_then(|list| list.get(key)).and_then(Node::as_text);
        let own = |key: &str| root.get(key).and_then(Node::as_text).filter(|text| !text.is_empty());
        for key in ["apiVersion", "kind"] {
            if let Some(value) = root.get(key).filter(|value| !value.is_null() && value.as_text().is_none()) {
                return refuse_at(value, format!("{key} is {}, not a string", value.describe()));
            }
        }
        let kind = own("kind").or_else(|| from_list("kind")?.strip_suffix("List")).filter(|kind| !kind.is_empty());
        let Some(kind) = kind else { return refuse("an object without a kind".to_owned()) };
        let Some(api_version) = own("apiVersion").or_else(|| from_list("apiVersion")) else {
            return refuse(format!("a {kind} without an apiVersion"));
        };
        match root.get("metadata").filter(|metadata| !metadata.is_null()) {
            Some(metadata) if metadata.is_mapping() => {}
            Some(metadata) => {
                return refuse_at(metadata, format!("metadata is {}, not an object", metadata.describe()));
            }
            None => return refuse(format!("a {kind} without metadata")),
        }
        Ok(Object { root, source, api_version, kind })
    }

    /// The API group and version, such as `apps/v1`.
    pub fn api_version(&self) -> &'a str {
        self.api_version
    }

    /// The API group, empty for the core group.
    pub fn group(&self) -> &'a str {
        split_api_version(self.api_version).0
    }

    /// The kind.
    pub fn kind(&self) -> &'a str {
        self.kind
    }

    /// The kind in its API group.
    pub fn group_kind(&self) -> GroupKind {
        GroupKind::from_api_version(self.api_version, self.kind)
    }

    /// A field of `metadata` that is text.
    pub fn meta(&self, key: &str) -> Option<&'a str> {
        self.root.at(&["metadata", key]).and_then(Node::as_text)
    }

    /// The name, or what stands there: an unquoted `123` is a name too, if a wrong one.
    pub fn name(&self) -> &'a str {
        self.root.at(&["metadata", "name"]).map_or("", Node::raw)
    }

    /// The namespace, empty for cluster-scoped objects.
    pub fn namespace(&self) -> &'a str {
        self.root.at(&["metadata", "namespace"]).map_or("", Node::raw)
    }

    /// `metadata.generation`, which the API server raises with every change of the spec.
    pub fn generation(&self) -> Option<i64> {
        self.root.at(&["metadata", "generation"]).and_then(Node::as_int)
    }

    /// `metadata.creationTimestamp`.
    pub fn created(&self) -> Option<Timestamp> {
        self.meta("creationTimestamp")?.parse().ok()
    }

    /// `metadata.deletionTimestamp`, set once deletion has begun.
    pub fn deleted(&self) -> Option<Timestamp> {
        self.meta("deletionTimestamp")?.parse().ok()
    }

    /// Which object it is.
    pub fn id(&self) -> ObjectId {
        ObjectId {
            group: self.group().to_owned(),
            kind: self.kind.to_owned(),
            namespace: self.namespace().to_owned(),
            name: self.name().to_owned(),
        }
    }

    /// A place in this object: the file and line of `node`, the object, and the path of the field.
    pub fn place(&self, node: Node<'_>, path: impl Into<String>) -> Place {
        Place { object: Some(self.id().to_string()), path: Some(path.into()), ..self.source.place(node) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clearway_yaml::Tape;
    use serde_json::json;

    fn id(value: &serde_json::Value) -> Result<String, String> {
        let tape = Tape::from_json(value);
        Object::new(tape.root().unwrap(), Source::default(), None)
            .map(|object| object.id().to_string())
            .map_err(|problem| problem.message)
    }

    #[test]
    fn an_object_is_named_as_people_name_it() {
        let web =
            json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "shop"}});
        assert_eq!(id(&web), Ok("Deployment.apps shop/web".to_owned()));
        let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}});
        assert_eq!(id(&node), Ok("Node n1".to_owned()));
        let template = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {}});
        assert_eq!(id(&template), Ok("Pod (no name)".to_owned()));
    }

    #[test]
    fn what_is_no_object_is_refused_by_what_is_missing() {
        for (value, want) in [
            (json!(["a"]), "not a Kubernetes object but a list"),
            (json!({"apiVersion": "v1"}), "an object without a kind"),
            (json!({"kind": "Pod"}), "a Pod without an apiVersion"),
            (json!({"apiVersion": "v1", "kind": "Pod"}), "a Pod without metadata"),
            (json!({"apiVersion": "v1", "kind": "Pod", "metadata": 3}), "metadata is a number, not an object"),
            (json!({"apiVersion": "v1", "kind": "Pod", "metadata": []}), "metadata is a list, not an object"),
            (json!({"apiVersion": "v1", "kind": 3, "metadata": {}}), "kind is a number, not a string"),
            (json!({"apiVersion": 1, "kind": "Pod", "metadata": {}}), "apiVersion is a number, not a string"),
        ] {
            assert_eq!(id(&value), Err(want.to_owned()));
        }
    }

    #[test]
    fn an_item_of_a_typed_list_takes_its_kind_from_the_list() {
        let (list, item) = (json!({"apiVersion": "v1", "kind": "PodList"}), json!({"metadata": {"name": "a"}}));
        let (list, item) = (Tape::from_json(&list), Tape::from_json(&item));
        let object = Object::new(item.root().unwrap(), Source::default(), list.root()).unwrap();
        assert_eq!((object.kind(), object.api_version()), ("Pod", "v1"));
    }
}
