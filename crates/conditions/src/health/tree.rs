//! Owners and what they own, as trees by `metadata.ownerReferences`.
//!
//! Whatever the references say, each object is in exactly one tree once: an owner that is not among the objects makes a
//! root, a circle is cut at its first object, and a chain deeper than any real one is cut where it gets too deep.

use std::collections::HashMap;

use clearway_core::ObjectId;
use clearway_yaml::Node;
use serde::Serialize;

use crate::object::Object;

/// Real chains have five links (`CronJob`, Job, Pod and what operators put above); deeper ones would be walked at the
/// cost of the stack.
const DEEPEST: usize = 32;

/// An object with what its place in a tree depends on, and something to carry there (its verdict, mostly).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnedObject<T> {
    /// Which object it is.
    pub id: ObjectId,
    /// Its uid; empty if it has none.
    pub uid: String,
    /// The uids of its owners, the one that controls it first.
    pub owners: Vec<String>,
    /// What is carried.
    pub value: T,
}

/// An object and what it owns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Tree<T> {
    /// Which object it is.
    pub id: ObjectId,
    /// What was carried.
    pub value: T,
    /// What it owns, by id.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub owned: Vec<Tree<T>>,
}

impl<T> OwnedObject<T> {
    /// The place of an object among others.
    pub fn new(object: &Object<'_>, value: T) -> Self {
        let references = object.root.at(&["metadata", "ownerReferences"]);
        let mut owners: Vec<_> = references
            .into_iter()
            .flat_map(Node::items)
            .filter_map(|owner| {
                let controls = owner.get("controller").and_then(Node::as_bool) == Some(true);
                Some((!controls, owner.get("uid")?.as_text()?.to_owned()))
            })
            .collect();
        owners.sort_by_key(|(later, _)| *later);
        OwnedObject {
            id: object.id(),
            uid: object.meta("uid").unwrap_or("").to_owned(),
            owners: owners.into_iter().map(|(_, uid)| uid).collect(),
            value,
        }
    }
}

impl<T> Tree<T> {
    /// Visits this object and all below it, owners first, with how deep each stands (this one at 0).
    pub fn walk<'t>(&'t self, visit: &mut impl FnMut(usize, &'t Tree<T>)) {
        self.walk_from(0, visit);
    }

    fn walk_from<'t>(&'t self, depth: usize, visit: &mut impl FnMut(usize, &'t Tree<T>)) {
        visit(depth, self);
        for owned in &self.owned {
            owned.walk_from(depth + 1, visit);
        }
    }
}

/// The trees the objects form, by id. An object with several owners stands below the first of them that is there.
pub fn forest<T>(items: impl IntoIterator<Item = OwnedObject<T>>) -> Vec<Tree<T>> {
    let mut items: Vec<_> = items.into_iter().collect();
    items.sort_by(|one, other| one.id.cmp(&other.id).then_with(|| one.uid.cmp(&other.uid)));
    let levels = levels(&mut parents(&items));
    let mut trees: Vec<_> =
        items.into_iter().map(|item| Some(Tree { id: item.id, value: item.value, owned: Vec::new() })).collect();
    // From the deepest level up, so that each tree is complete when it is hung below its owner.
    let mut order: Vec<_> = levels.iter().enumerate().map(|(index, (depth, _))| (usize::MAX - depth, index)).collect();
    order.sort_unstable();
    for (_, index) in order {
        let Some(Some(owner)) = levels.get(index).map(|(_, owner)| *owner) else { continue };
        let Some(tree) = trees.get_mut(index).and_then(Option::take) else { continue };
        if let Some(Some(owner)) = trees.get_mut(owner) {
            owner.owned.push(tree);
        }
    }
    trees.into_iter().flatten().collect()
}

/// The index of each object's owner.
fn parents<T>(items: &[OwnedObject<T>]) -> Vec<Option<usize>> {
    let mut by_uid = HashMap::with_capacity(items.len());
    for (index, item) in items.iter().enumerate().filter(|(_, item)| !item.uid.is_empty()) {
        by_uid.entry(item.uid.as_str()).or_insert(index);
    }
    items
        .iter()
        .enumerate()
        .map(|(index, item)| {
            item.owners.iter().find_map(|uid| by_uid.get(uid.as_str()).copied().filter(|owner| *owner != index))
        })
        .collect()
}

/// How deep each object stands, and below which: the given owners with circles and overlong chains cut.
fn levels(parents: &mut [Option<usize>]) -> Vec<(usize, Option<usize>)> {
    let mut depths: Vec<Option<usize>> = vec![None; parents.len()];
    let mut on_path = vec![false; parents.len()];
    for start in 0..parents.len() {
        // Up to a root or to where the depth is known already …
        let mut path = Vec::new();
        let mut at = Some(start);
        while let Some(index) = at.filter(|index| depths.get(*index).is_some_and(Option::is_none)) {
            if on_path.get(index).copied().unwrap_or(true) {
                // … or around a circle, which is cut above its first object: from there the way is walked again.
                let circle = path.iter().skip_while(|other| **other != index);
                if let Some(cut) = circle.min().and_then(|first| parents.get_mut(*first)) {
                    *cut = None;
                }
                for index in path.drain(..) {
                    set(&mut on_path, index, false);
                }
                at = Some(start);
                continue;
            }
            set(&mut on_path, index, true);
            path.push(index);
            at = parents.get(index).copied().flatten();
        }
        // … and down again, counting.
        while let Some(index) = path.pop() {
            set(&mut on_path, index, false);
            let above = parents.get(index).copied().flatten().and_then(|owner| depths.get(owner).copied().flatten());
            let depth = above.map_or(0, |depth| depth + 1);
            let cut = depth > DEEPEST;
            if cut {
                set(parents, index, None);
            }
            set(&mut depths, index, Some(if cut { 0 } else { depth }));
        }
    }
    depths.into_iter().map(Option::unwrap_or_default).zip(parents.iter().copied()).collect()
}

fn set<V>(values: &mut [V], index: usize, value: V) {
    if let Some(slot) = values.get_mut(index) {
        *slot = value;
    }
}
