//! Reads Gatekeeper's objects from a cluster: templates, constraints, and the settings that go with them.

use std::collections::BTreeMap;

use clearway_core::{GroupVersionKind, ObjectReference};
use clearway_sources::store::{Store, StoreError};
use serde_json::Value;

use crate::gatekeeper_installation::NAMESPACE;

/// The group of constraints, whose kinds templates define.
pub const CONSTRAINTS: &str = "constraints.gatekeeper.sh";
/// The kind of templates.
const TEMPLATE: (&str, &str) = ("templates.gatekeeper.sh", "ConstraintTemplate");
/// Kinds of which all objects are read.
const KINDS: [(&str, &str); 3] =
    [TEMPLATE, ("syncset.gatekeeper.sh", "SyncSet"), ("expansion.gatekeeper.sh", "ExpansionTemplate")];
/// The kind of which one object is read.
const CONFIG: (&str, &str) = ("config.gatekeeper.sh", "Config");

/// Whether objects of a kind say which policies there are.
pub fn is_policy_kind(group: &str, kind: &str) -> bool {
    group == CONSTRAINTS || KINDS.contains(&(group, kind)) || CONFIG == (group, kind)
}

/// Templates, constraints, expansion templates, sync sets, and the `Config` of that name in Gatekeeper's namespace; nothing
/// if the cluster does not serve templates.
pub async fn read<S: Store>(store: &S) -> Result<Option<Vec<Value>>, StoreError> {
    let served = store.kinds().await?;
    let is = |kind: &GroupVersionKind, (group, name): (&str, &str)| kind.group == group && kind.kind == name;
    if !served.iter().any(|kind| is(kind, TEMPLATE)) {
        return Ok(None);
    }
    let mut found = Vec::new();
    for kind in &served {
        if is(kind, CONFIG) {
            let config =
                ObjectReference { kind: kind.clone(), namespace: NAMESPACE.to_owned(), name: "config".to_owned() };
            found.extend(store.get(&config).await?);
        } else if is_policy_kind(&kind.group, &kind.kind) {
            match store.list(kind, "").await {
                // The definition of a constraint went with its template meanwhile.
                Err(StoreError::NoSuchKind { .. }) => {}
                objects => found.extend(objects?),
            }
        }
    }
    Ok(Some(found))
}

/// The namespaces that objects are in, by name: nothing for one that does not exist, or why it cannot be read.
pub async fn namespaces_of<'o, S: Store>(
    store: &S,
    objects: impl IntoIterator<Item = &'o Value>,
) -> BTreeMap<String, Result<Option<Value>, StoreError>> {
    let mut found = BTreeMap::new();
    for object in objects {
        let name = object["metadata"]["namespace"].as_str().unwrap_or_default();
        if !name.is_empty() && !found.contains_key(name) {
            let key = ObjectReference::cluster_scoped(GroupVersionKind::new("v1", "Namespace"), name);
            found.insert(name.to_owned(), store.get(&key).await);
        }
    }
    found
}
