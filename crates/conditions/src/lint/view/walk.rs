//! Finds the lists of conditions of an object, at any depth below `status` (GW24).

use clearway_yaml::Node;

use super::path::Path;

/// What a list of conditions is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Site {
    /// The object: `status.conditions`.
    Top,
    /// One parent of a route.
    Parent,
    /// One ancestor of a policy.
    Ancestor,
    /// One listener.
    Listener,
    /// Any other part of the object.
    Part,
}

/// A value under the key `conditions`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Spot<'a, 'p> {
    pub(crate) site: Site,
    /// What stands under the key.
    pub(crate) value: Node<'a>,
    /// The object that has the key.
    pub(crate) owner: Node<'a>,
    pub(crate) path: &'p Path<'p>,
}

/// Nothing that an API server stores nests as deep.
const DEEPEST: usize = 100;

/// Hands every value under a key `conditions` below `status` to `visit`, in reading order.
pub(crate) fn spots<'a>(status: Node<'a>, visit: &mut dyn FnMut(Spot<'a, '_>)) {
    descend(status, &Path::root("status"), Site::Top, 0, visit);
}

fn descend<'a>(node: Node<'a>, path: &Path<'_>, site: Site, depth: usize, visit: &mut dyn FnMut(Spot<'a, '_>)) {
    if depth > DEEPEST {
        return;
    }
    if node.is_mapping() {
        for (key, value) in node.fields() {
            if key.raw() == "conditions" {
                visit(Spot { site, value, owner: node, path: &path.key("conditions") });
            } else if value.is_mapping() || value.is_sequence() {
                let below = match (depth, key.raw()) {
                    (0, "parents") => Site::Parent,
                    (0, "ancestors") => Site::Ancestor,
                    (0, "listeners") => Site::Listener,
                    _ => Site::Part,
                };
                descend(value, &path.key(key.raw()), below, depth + 1, visit);
            }
        }
    } else {
        for (index, item) in node.items().enumerate() {
            if item.is_mapping() {
                descend(item, &path.item(index, item), site, depth + 1, visit);
            }
        }
    }
}
