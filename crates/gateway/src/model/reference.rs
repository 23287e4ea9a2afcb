//! References from one object to another, with the defaults of their field.

use clearway_yaml::Node;

use super::key::{Name, ObjectKey, ObjectKind};
use super::{name, text};

/// A reference as its object has it, defaults applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference {
    /// The object that is meant.
    pub target: ObjectKey,
}

impl Reference {
    /// Reads a reference of an object in `namespace`; `group` and `kind` are the defaults of the field.
    pub(crate) fn read(node: Node<'_>, namespace: &Name, group: &str, kind: &str) -> Self {
        // An empty group is the core group, so only an absent one takes the default.
        let group = node.get("group").filter(|value| !value.is_null()).map_or(group, Node::raw);
        let kind = ObjectKind::new(group, text(node, "kind").unwrap_or(kind));
        let namespace = if kind.is_cluster_scoped() {
            "".into()
        } else {
            text(node, "namespace").map_or_else(|| namespace.clone(), Name::from)
        };
        Reference { target: ObjectKey { kind, namespace, name: name(node, "name") } }
    }

    /// Whether it leads out of a namespace.
    pub fn leaves(&self, namespace: &Name) -> bool {
        self.target.namespace != *namespace
    }
}
