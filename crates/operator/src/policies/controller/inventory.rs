//! The inventory: objects of the kinds that Config and `SyncSet`s name, within a limit of bytes.
//!
//! A kind whose objects do not fit any more is refused by name, and none of its objects are in the inventory: templates
//! would otherwise decide by a part of them. It is tried again when Config or a `SyncSet` changes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Instant;

use clearway_core::GroupVersionKind;
use clearway_policy::{ExcludedNamespaces, Process, synced_kinds};
use clearway_sources::kubernetes::ObjectPart;
use serde_json::Value;

use super::super::evaluation::Change;
use super::super::log_lines::now;
use super::watches::Subject;
use super::{Controller, place};

/// An object of the inventory.
#[derive(Debug)]
struct Synced {
    version: Value,
    bytes: usize,
}

/// What is in the inventory.
#[derive(Debug, Default)]
pub(super) struct SyncedObjects {
    kinds: BTreeMap<GroupVersionKind, BTreeMap<(String, String), Synced>>,
    bytes: usize,
    /// Kinds that do not fit, or cannot be watched.
    failed: BTreeSet<GroupVersionKind>,
    excluded: ExcludedNamespaces,
}

impl SyncedObjects {
    /// The objects of a kind.
    pub(super) fn places(&self, kind: &GroupVersionKind) -> Vec<(String, String)> {
        self.kinds.get(kind).into_iter().flatten().map(|(place, _)| place.clone()).collect()
    }

    /// Notes that the objects of a kind are not known.
    pub(super) fn set_failed(&mut self, kind: &GroupVersionKind) {
        self.failed.insert(kind.clone());
    }

    /// Kinds that are not in the inventory although they should be.
    pub(super) fn failed(&self) -> impl Iterator<Item = &GroupVersionKind> {
        self.failed.iter()
    }

    fn remove(&mut self, kind: &GroupVersionKind, place: &(String, String)) -> bool {
        let Some(removed) = self.kinds.get_mut(kind).and_then(|objects| objects.remove(place)) else { return false };
        self.bytes = self.bytes.saturating_sub(removed.bytes);
        true
    }
}

impl Controller {
    /// Follows the kinds that Config and `SyncSet`s name now.
    pub(super) async fn follow_configuration(&mut self) {
        self.is_changed = true;
        let excluded = ExcludedNamespaces::read(self.config.as_ref().unwrap_or(&Value::Null), Process::Sync);
        let kinds = synced_kinds(self.config.iter().chain(self.sync_sets.values())).into_iter();
        let kinds = kinds.map(|kind| GroupVersionKind { group: kind.group, version: kind.version, kind: kind.kind });
        let wanted: BTreeSet<GroupVersionKind> =
            kinds.filter(|kind| !kind.version.is_empty() && !kind.kind.is_empty()).collect();
        let other_namespaces = excluded != self.inventory.excluded;
        self.inventory.excluded = excluded;
        let watched = self.watches.subjects().filter_map(|subject| match subject {
            Subject::Synced(kind) => Some(kind.clone()),
            _ => None,
        });
        for kind in watched.collect::<Vec<_>>() {
            if !wanted.contains(&kind) {
                self.drop_kind(&kind).await;
            } else if other_namespaces {
                // Listed again, so that namespaces are left out or taken in.
                self.watches.stop(&Subject::Synced(kind));
            }
        }
        self.inventory.failed.clear();
        for kind in wanted {
            let subject = Subject::Synced(kind.clone());
            if !self.watches.has(&subject) {
                self.wait_for(&subject);
                let names = (kind.group.as_str(), kind.kind.as_str());
                self.watches.watch_served(subject, names, Some(&kind.version), ObjectPart::Whole);
            }
        }
    }

    pub(super) async fn put_synced(&mut self, kind: &GroupVersionKind, object: Value) {
        // A kind that was refused by an object of the same list.
        if !self.watches.has(&Subject::Synced(kind.clone())) {
            return;
        }
        let place = place(&object);
        if self.inventory.excluded.excludes(&object) {
            return self.remove_synced(kind, &place.0, &place.1).await;
        }
        let version = object["metadata"]["resourceVersion"].clone();
        let known = self.inventory.kinds.get(kind).and_then(|objects| objects.get(&place));
        if known.is_some_and(|known| known.version == version) {
            return;
        }
        let bytes = object.to_string().len();
        let before = known.map_or(0, |known| known.bytes);
        let total = self.inventory.bytes.saturating_sub(before).saturating_add(bytes);
        if total > self.settings.inventory_bytes {
            return self.refuse_kind(kind).await;
        }
        let started = Instant::now();
        let loaded = self.evaluators.apply(Change::PutInventory(Arc::new(object))).await;
        if let Some(error) = loaded.error {
            tracing::warn!("{} {}/{} is not in the inventory: {}", kind.kind, place.0, place.1, error.message);
            return;
        }
        self.metrics.count_sync(started.elapsed(), now());
        self.inventory.bytes = total;
        self.inventory.failed.remove(kind);
        self.inventory.kinds.entry(kind.clone()).or_default().insert(place, Synced { version, bytes });
        self.count_synced(kind);
    }

    pub(super) async fn remove_synced(&mut self, kind: &GroupVersionKind, namespace: &str, name: &str) {
        if !self.inventory.remove(kind, &(namespace.to_owned(), name.to_owned())) {
            return;
        }
        let (namespace, name) = (namespace.to_owned(), name.to_owned());
        self.evaluators.apply(Change::RemoveInventory { kind: kind.clone(), namespace, name }).await;
        self.count_synced(kind);
    }

    /// Ends the watch of a kind, and takes its objects out of the inventory.
    async fn drop_kind(&mut self, kind: &GroupVersionKind) {
        let subject = Subject::Synced(kind.clone());
        self.watches.stop(&subject);
        self.end_wait(&subject);
        for (namespace, name) in self.inventory.places(kind) {
            self.remove_synced(kind, &namespace, &name).await;
        }
        self.inventory.kinds.remove(kind);
        self.count_synced(kind);
    }

    async fn refuse_kind(&mut self, kind: &GroupVersionKind) {
        tracing::error!(
            "objects of {kind} are not in the inventory: with them it would exceed {} MiB; sync fewer kinds in Config and \
             SyncSets, exclude namespaces, or raise --inventory-limit",
            self.settings.inventory_bytes >> 20
        );
        let failed = self.inventory.kinds.get(kind).map_or(0, BTreeMap::len).saturating_add(1);
        self.drop_kind(kind).await;
        self.inventory.set_failed(kind);
        self.metrics.set_synced(&kind.kind, 0, failed);
        self.is_changed = true;
    }

    fn count_synced(&self, kind: &GroupVersionKind) {
        self.metrics.set_synced(&kind.kind, self.inventory.kinds.get(kind).map_or(0, BTreeMap::len), 0);
        self.metrics.set_inventory_bytes(self.inventory.bytes);
    }
}
