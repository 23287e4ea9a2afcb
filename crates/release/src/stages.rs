//! In which order the objects of a release are carried out.
//!
//! Run levels go one after the other. Within a level, namespaces and definitions of custom kinds come first; then the
//! components go side by side, and the files of one component one after the other. A namespace or definition that stands
//! at a higher level than something that needs it is carried out at the lower one. The order depends on nothing but the
//! manifests.

use std::collections::{BTreeMap, BTreeSet};

use clearway_core::GroupKind;
use serde::Serialize;

use super::manifest::{Definition, Manifest};

/// What is carried out before the next stage begins.
#[derive(Debug, Clone, PartialEq)]
pub struct Stage<'p> {
    /// The run level.
    pub run_level: u16,
    /// Namespaces and definitions, or what comes after them.
    pub part: Part,
    /// What goes side by side, by component.
    pub lanes: Vec<Lane<'p>>,
    /// The kinds that are served once this stage is done.
    pub defines: Vec<Definition>,
    /// The kinds of this stage's objects that an earlier stage defines: they must be served before it begins.
    pub needs: BTreeSet<GroupKind>,
}

/// Which part of a run level a stage is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Part {
    /// Namespaces and definitions of custom kinds.
    Foundations,
    /// Everything else.
    Components,
}

/// The objects of one component in one stage.
#[derive(Debug, Clone, PartialEq)]
pub struct Lane<'p> {
    /// The component.
    pub component: &'p str,
    /// Its objects, one after the other.
    pub manifests: Vec<&'p Manifest>,
}

/// Something that is carried out at a lower level than its file names.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Hoisted<'p> {
    pub(super) manifest: &'p Manifest,
    pub(super) needed_by: &'p Manifest,
}

/// Puts manifests into stages.
pub(super) fn stages(manifests: &[Manifest]) -> Vec<Stage<'_>> {
    let lower: BTreeMap<(&str, usize), u16> = hoisted(manifests)
        .into_iter()
        .map(|Hoisted { manifest, needed_by }| ((manifest.file.as_str(), manifest.index), needed_by.run_level))
        .collect();
    let mut by_stage: BTreeMap<(u16, Part), BTreeMap<&str, Vec<&Manifest>>> = BTreeMap::new();
    for manifest in manifests {
        let level = lower.get(&(manifest.file.as_str(), manifest.index)).copied().unwrap_or(manifest.run_level);
        let part = if is_foundation(manifest) { Part::Foundations } else { Part::Components };
        by_stage.entry((level, part)).or_default().entry(&manifest.component).or_default().push(manifest);
    }
    let mut served: BTreeSet<GroupKind> = BTreeSet::new();
    let mut order = Vec::new();
    for ((run_level, part), components) in by_stage {
        let mut lanes = Vec::new();
        let mut defines = Vec::new();
        let mut needs = BTreeSet::new();
        for (component, mut manifests) in components {
            manifests.sort_by(|one, other| (&one.file, one.index).cmp(&(&other.file, other.index)));
            for manifest in &manifests {
                needs.extend(Some(manifest.id.group_kind()).filter(|kind| served.contains(kind)));
                defines.extend(manifest.definition().filter(|_| !manifest.deletes()));
            }
            lanes.push(Lane { component, manifests });
        }
        defines.sort();
        served.extend(defines.iter().map(|definition| definition.kind.clone()));
        order.push(Stage { run_level, part, lanes, defines, needs });
    }
    order
}

/// Whether others need it to be there before them.
fn is_foundation(manifest: &Manifest) -> bool {
    (manifest.is_definition() || manifest.is_namespace()) && !manifest.deletes()
}

/// Notes a manifest, if it is the lowest that has the key.
fn note<'p, K: Ord>(lowest: &mut BTreeMap<K, &'p Manifest>, key: K, manifest: &'p Manifest) {
    let known = lowest.entry(key).or_insert(manifest);
    if (manifest.run_level, &manifest.file) < (known.run_level, &known.file) {
        *known = manifest;
    }
}

/// The namespaces and definitions that something at a lower level needs, and what needs them first.
pub(super) fn hoisted(manifests: &[Manifest]) -> Vec<Hoisted<'_>> {
    let applied = || manifests.iter().filter(|manifest| !manifest.deletes());
    let mut by_kind: BTreeMap<GroupKind, &Manifest> = BTreeMap::new();
    let mut by_namespace: BTreeMap<&str, &Manifest> = BTreeMap::new();
    for manifest in applied() {
        note(&mut by_kind, manifest.id.group_kind(), manifest);
        if !manifest.id.namespace.is_empty() {
            note(&mut by_namespace, manifest.id.namespace.as_str(), manifest);
        }
    }
    let needed_by = |manifest: &Manifest| {
        if manifest.is_namespace() {
            by_namespace.get(manifest.id.name.as_str()).copied()
        } else {
            by_kind.get(&manifest.definition()?.kind).copied()
        }
    };
    applied()
        .filter(|manifest| is_foundation(manifest))
        .filter_map(|manifest| Some(Hoisted { manifest, needed_by: needed_by(manifest)? }))
        .filter(|hoisted| hoisted.needed_by.run_level < hoisted.manifest.run_level)
        .collect()
}

#[cfg(test)]
mod tests;
