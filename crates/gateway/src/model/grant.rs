//! ReferenceGrants: which references into their namespace they allow (rule 2.8).

use clearway_yaml::Node;

use super::key::{Name, ObjectKey, ObjectKind};
use super::{items, name, text};

/// A ReferenceGrant. Its entries are alternatives.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReferenceGrant {
    /// Who may refer: kind and namespace.
    pub from: Vec<(ObjectKind, Name)>,
    /// What may be referred to: kind, and a name unless all are meant.
    pub to: Vec<(ObjectKind, Option<Name>)>,
}

impl ReferenceGrant {
    pub(crate) fn read(spec: Option<Node<'_>>) -> Self {
        let kind =
            |node: Node<'_>| ObjectKind::new(text(node, "group").unwrap_or(""), text(node, "kind").unwrap_or(""));
        ReferenceGrant {
            from: items(spec, "from").map(|node| (kind(node), name(node, "namespace"))).collect(),
            to: items(spec, "to").map(|node| (kind(node), text(node, "name").map(Name::from))).collect(),
        }
    }

    /// Whether an object of `kind` in `namespace` may refer to `target`, which is in the namespace of the grant.
    pub fn allows(&self, kind: &ObjectKind, namespace: &Name, target: &ObjectKey) -> bool {
        self.from.iter().any(|(from, from_namespace)| from == kind && from_namespace == namespace)
            && self
                .to
                .iter()
                .any(|(to, name)| *to == target.kind && name.as_ref().is_none_or(|name| *name == target.name))
    }
}
