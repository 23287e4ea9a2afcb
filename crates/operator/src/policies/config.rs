//! What Config and SyncSets ask for: which kinds are in the inventory, and which namespaces are left out.

use std::collections::{BTreeMap, BTreeSet};

use clearway_core::GroupVersionKind;
use serde_json::Value;

use super::excluded_namespaces::ExcludedNamespaces;

/// The only name that a Config may have.
pub const CONFIG: &str = "config";

/// The Config and the SyncSets of a cluster.
#[derive(Debug, Clone, Default)]
pub(super) struct Configuration {
    config: Option<Value>,
    sync_sets: BTreeMap<String, Value>,
}

impl Configuration {
    /// Takes over the Config; none if it was deleted.
    pub(super) fn set_config(&mut self, config: Option<Value>) {
        self.config = config;
    }

    /// Takes over a SyncSet; none if it was deleted.
    pub(super) fn set_sync_set(&mut self, name: &str, sync_set: Option<Value>) {
        match sync_set {
            Some(sync_set) => self.sync_sets.insert(name.to_owned(), sync_set),
            None => self.sync_sets.remove(name),
        };
    }

    /// Forgets every SyncSet that is not among these.
    pub(super) fn keep_sync_sets(&mut self, names: &BTreeSet<String>) {
        self.sync_sets.retain(|name, _| names.contains(name));
    }

    /// The kinds whose objects are in the inventory: those of the Config and of all SyncSets.
    pub(super) fn synced_kinds(&self) -> BTreeSet<GroupVersionKind> {
        let list = |object: &Value, path: &str| -> Vec<GroupVersionKind> {
            let entries = object.pointer(path).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
            entries.iter().filter_map(read_kind).collect()
        };
        let config = self.config.iter().flat_map(|config| list(config, "/spec/sync/syncOnly"));
        config.chain(self.sync_sets.values().flat_map(|set| list(set, "/spec/gvks"))).collect()
    }

    /// The namespaces that are left out.
    pub(super) fn excluded(&self) -> ExcludedNamespaces {
        self.config.as_ref().map(ExcludedNamespaces::of_config).unwrap_or_default()
    }
}

/// A kind; nothing without a version or a kind, which name no objects.
fn read_kind(entry: &Value) -> Option<GroupVersionKind> {
    let text = |field: &str| entry.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
    let kind = GroupVersionKind { group: text("group"), version: text("version"), kind: text("kind") };
    (!kind.version.is_empty() && !kind.kind.is_empty()).then_some(kind)
}

#[cfg(test)]
mod tests {
    use super::super::excluded_namespaces::Process;
    use super::*;
    use serde_json::json;

    #[test]
    fn synced_kinds_are_those_of_the_config_and_of_all_sync_sets() {
        let mut configuration = Configuration::default();
        assert!(configuration.synced_kinds().is_empty());
        configuration.set_config(Some(json!({"spec": {
            "sync": {"syncOnly": [{"version": "v1", "kind": "Namespace"}, {"version": "v1"}]},
            "match": [{"processes": ["sync"], "excludedNamespaces": ["kube-*"]}],
        }})));
        let gvk = |group: &str, kind: &str| json!({"group": group, "version": "v1", "kind": kind});
        let set = |kinds: Value| Some(json!({"spec": {"gvks": kinds}}));
        configuration.set_sync_set("a", set(json!([gvk("", "Namespace"), gvk("networking.k8s.io", "Ingress")])));
        configuration.set_sync_set("b", set(json!([gvk("", "Pod")])));
        let names = |configuration: &Configuration| -> Vec<String> {
            configuration.synced_kinds().into_iter().map(|kind| kind.kind).collect()
        };
        assert_eq!(names(&configuration), ["Namespace", "Pod", "Ingress"]);
        assert!(configuration.excluded().has(Process::Sync, "kube-system"));
        configuration.keep_sync_sets(&BTreeSet::from(["a".to_owned()]));
        configuration.set_config(None);
        assert_eq!(names(&configuration), ["Namespace", "Ingress"]);
        assert!(!configuration.excluded().has(Process::Sync, "kube-system"));
    }
}
