//! What Gatekeeper's `Config` and `SyncSet` say: excluded namespaces, and the kinds of the inventory.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::matching::Glob;
use crate::review::{ObjectKind, metadata};

/// What a namespace can be excluded from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Process {
    /// The audit of objects that exist.
    Audit,
    /// The inventory.
    Sync,
    /// The validating webhook.
    Webhook,
}

impl Process {
    /// As it is written in `Config`.
    pub fn name(self) -> &'static str {
        match self {
            Process::Audit => "audit",
            Process::Sync => "sync",
            Process::Webhook => "webhook",
        }
    }
}

/// The namespaces that are excluded from one process.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ExcludedNamespaces {
    globs: Vec<Glob>,
}

impl ExcludedNamespaces {
    /// Reads `spec.match` of a `Config`. What has another form excludes nothing.
    pub fn read(config: &Value, process: Process) -> Self {
        let list = |entry: &Value, field: &str| -> Vec<String> {
            let values = entry.get(field).and_then(Value::as_array).into_iter().flatten();
            values.filter_map(Value::as_str).map(str::to_owned).collect()
        };
        let entries = config.pointer("/spec/match").and_then(Value::as_array).into_iter().flatten();
        let own =
            entries.filter(|entry| list(entry, "processes").iter().any(|name| name == "*" || name == process.name()));
        let globs = own.flat_map(|entry| list(entry, "excludedNamespaces")).map(|text| Glob::new(&text)).collect();
        ExcludedNamespaces { globs }
    }

    /// Whether an object is excluded: by its namespace, and a namespace by its own name. The glob `*` excludes objects
    /// without a namespace, too.
    pub fn excludes(&self, object: &Value) -> bool {
        let field = if ObjectKind::of(object).is_namespace() { "name" } else { "namespace" };
        self.excludes_namespace(metadata(object, field))
    }

    /// Whether a namespace is excluded.
    pub fn excludes_namespace(&self, name: &str) -> bool {
        self.globs.iter().any(|glob| glob.matches(name))
    }
}

/// Whether an object is a `Config`. Gatekeeper reads the one that is named `config` in its namespace.
pub fn is_config(object: &Value) -> bool {
    let kind = ObjectKind::of(object);
    kind.group == "config.gatekeeper.sh" && kind.kind == "Config"
}

/// Whether an object is a `SyncSet`.
pub fn is_sync_set(object: &Value) -> bool {
    let kind = ObjectKind::of(object);
    kind.group == "syncset.gatekeeper.sh" && kind.kind == "SyncSet"
}

/// The kinds whose objects are in the inventory: those of a `Config` (`spec.sync.syncOnly`) and of `SyncSet`s
/// (`spec.gvks`) together. Other objects have none.
pub fn synced_kinds<'o>(objects: impl IntoIterator<Item = &'o Value>) -> BTreeSet<ObjectKind> {
    let mut kinds = BTreeSet::new();
    for object in objects {
        let path = match object {
            object if is_config(object) => "/spec/sync/syncOnly",
            object if is_sync_set(object) => "/spec/gvks",
            _ => continue,
        };
        for entry in object.pointer(path).and_then(Value::as_array).into_iter().flatten() {
            let text = |field: &str| entry.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
            kinds.insert(ObjectKind { group: text("group"), version: text("version"), kind: text("kind") });
        }
    }
    kinds
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn config() -> Value {
        json!({
            "apiVersion": "config.gatekeeper.sh/v1alpha1", "kind": "Config",
            "metadata": {"name": "config", "namespace": "gatekeeper-system"},
            "spec": {
                "sync": {"syncOnly": [{"group": "", "version": "v1", "kind": "Service"}]},
                "match": [
                    {"processes": ["audit", "webhook"], "excludedNamespaces": ["kube-*", "build"]},
                    {"processes": ["*"], "excludedNamespaces": ["*-test"]},
                    {"processes": ["mutation-webhook"], "excludedNamespaces": ["shop"]},
                ],
            },
        })
    }

    #[test]
    fn namespaces_are_excluded_by_process() {
        let cases = [
            (Process::Audit, "kube-system", true),
            (Process::Audit, "build", true),
            (Process::Audit, "building", false),
            (Process::Audit, "shop-test", true),
            (Process::Audit, "shop", false),
            (Process::Webhook, "kube-system", true),
            (Process::Sync, "kube-system", false),
            (Process::Sync, "shop-test", true),
            (Process::Audit, "", false),
        ];
        for (process, namespace, excluded) in cases {
            let excluded_namespaces = ExcludedNamespaces::read(&config(), process);
            assert_eq!(excluded_namespaces.excludes_namespace(namespace), excluded, "{process:?} {namespace}");
        }
    }

    #[test]
    fn a_namespace_is_excluded_by_its_own_name() {
        let excluded = ExcludedNamespaces::read(&config(), Process::Audit);
        let object = |api_version: &str, kind: &str, name: &str, namespace: Option<&str>| json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "namespace": namespace}});
        assert!(excluded.excludes(&object("v1", "Namespace", "kube-system", None)));
        assert!(!excluded.excludes(&object("v1", "Namespace", "shop", None)));
        assert!(excluded.excludes(&object("v1", "Pod", "web", Some("kube-system"))));
        assert!(!excluded.excludes(&object("v1", "Pod", "kube-proxy", Some("shop"))));
        assert!(!excluded.excludes(&object("v1", "Node", "kube-node", None)));
        // A kind of the same name in another group has a namespace or none, like any other.
        assert!(!excluded.excludes(&object("example.com/v1", "Namespace", "kube-system", None)));
    }

    #[test]
    fn everything_is_excluded_by_an_asterisk() {
        let config = json!({"spec": {"match": [{"processes": ["audit"], "excludedNamespaces": ["*"]}]}});
        let excluded = ExcludedNamespaces::read(&config, Process::Audit);
        assert!(excluded.excludes(&json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}})));
    }

    #[test]
    fn malformed_configs_exclude_nothing() {
        for config in [json!(null), json!({"spec": {"match": {}}}), json!({"spec": {"match": [1, {"processes": "*"}]}})]
        {
            assert_eq!(ExcludedNamespaces::read(&config, Process::Audit), ExcludedNamespaces::default());
        }
    }

    #[test]
    fn synced_kinds_are_the_union_of_config_and_sync_sets() {
        let sync_set = json!({
            "apiVersion": "syncset.gatekeeper.sh/v1alpha1", "kind": "SyncSet", "metadata": {"name": "more"},
            "spec": {"gvks": [
                {"group": "", "version": "v1", "kind": "Service"},
                {"group": "networking.k8s.io", "version": "v1", "kind": "Ingress"},
            ]},
        });
        let kinds = synced_kinds([&config(), &sync_set, &json!({"apiVersion": "v1", "kind": "Pod"})]);
        let names: Vec<String> =
            kinds.iter().map(|kind| format!("{}/{}/{}", kind.group, kind.version, kind.kind)).collect();
        assert_eq!(names, ["/v1/Service", "networking.k8s.io/v1/Ingress"]);
    }
}
