//! Secrets and ConfigMaps: watched as metadata, and read by name only when something refers to them.
//!
//! Of what is read the engine keeps whether it holds PEM, and nothing else ([`clearway_gateway::model::Secret`]).

use std::collections::{BTreeMap, BTreeSet};

use clearway_core::{GroupVersionKind, ObjectReference, form};
use clearway_gateway::model::{Body, Metadata, Secret};
use clearway_gateway::{Object, ObjectKey, ObjectKind};
use clearway_sources::store::{Store, StoreError};
use futures::stream::{self, StreamExt as _};
use serde_json::Value;

/// Objects that are read at a time.
const AT_ONCE: usize = 8;

/// What was read so far, and what has to be read again.
#[derive(Debug, Default)]
pub(super) struct NamedObjects {
    /// The versions of the objects that were read; none of one that does not exist.
    read: BTreeMap<ObjectKey, Option<String>>,
    due: BTreeSet<ObjectKey>,
}

/// What became of reading an object.
#[derive(Debug)]
pub(super) enum Contents {
    /// What the engine is to know of it.
    Known(Box<Object>),
    /// It does not exist.
    Missing(ObjectKey),
}

impl NamedObjects {
    /// Something refers to an object; it is read unless it was.
    pub(super) fn need(&mut self, key: &ObjectKey) {
        if is_by_name(&key.kind) && !self.read.contains_key(key) {
            self.due.insert(key.clone());
        }
    }

    /// The metadata of an object was seen, or that it is gone (no version).
    pub(super) fn see(&mut self, key: &ObjectKey, version: Option<&str>) {
        if self.read.get(key).is_some_and(|known| known.as_deref() != version) {
            self.due.insert(key.clone());
        }
    }

    /// All objects of a kind there are, with their versions.
    pub(super) fn see_all(&mut self, kind: &ObjectKind, versions: &BTreeMap<ObjectKey, String>) {
        let of_kind = self.read.iter().filter(|(key, _)| key.kind == *kind);
        let different = of_kind.filter(|(key, known)| versions.get(*key) != known.as_ref());
        let keys: Vec<ObjectKey> = different.map(|(key, _)| key.clone()).collect();
        self.due.extend(keys);
    }

    /// Reads everything of a kind again that something refers to: where it cannot be watched.
    pub(super) fn read_all_again(&mut self, kind: &ObjectKind) {
        let keys: Vec<ObjectKey> = self.read.keys().filter(|key| key.kind == *kind).cloned().collect();
        self.due.extend(keys);
    }

    /// Forgets objects that nothing refers to any more, and returns them.
    pub(super) fn forget(&mut self, is_referenced: impl Fn(&ObjectKey) -> bool) -> Vec<ObjectKey> {
        self.due.retain(|key| is_referenced(key));
        let unused: Vec<ObjectKey> = self.read.keys().filter(|key| !is_referenced(key)).cloned().collect();
        self.read.retain(|key, _| is_referenced(key));
        unused
    }

    /// Reads what is due. What could not be read stays due, and the error is returned beside the rest.
    pub(super) async fn read_due<S: Store>(&mut self, store: &S) -> (Vec<Contents>, Option<StoreError>) {
        let keys: Vec<ObjectKey> = self.due.iter().cloned().collect();
        let reads = keys.into_iter().map(async |key| (read(store, &key).await, key));
        let mut answers = stream::iter(reads).buffer_unordered(AT_ONCE);
        let (mut contents, mut failed) = (Vec::new(), None);
        while let Some((answer, key)) = answers.next().await {
            let (version, object) = match answer {
                Ok(Some(value)) => (version(&value), Object::from_json(&value)),
                Ok(None) => (None, None),
                Err(error @ (StoreError::Away { .. } | StoreError::Expired { .. })) => {
                    failed = Some(error);
                    continue;
                }
                // About this object alone: whoever refers to it must not hold up the status of the others.
                Err(error) => {
                    tracing::warn!("cannot read {key}: {error}");
                    (None, unread(&key))
                }
            };
            self.due.remove(&key);
            self.read.insert(key.clone(), version);
            contents.push(object.map_or(Contents::Missing(key), |object| Contents::Known(Box::new(object))));
        }
        (contents, failed)
    }
}

fn is_by_name(kind: &ObjectKind) -> bool {
    matches!(kind, ObjectKind::Secret | ObjectKind::ConfigMap)
}

async fn read<S: Store>(store: &S, key: &ObjectKey) -> Result<Option<Value>, StoreError> {
    // References are free text, and there is no such object.
    if !form::is_dns_label(&key.namespace) || !form::is_dns_subdomain(&key.name) {
        return Ok(None);
    }
    let kind = GroupVersionKind::new("v1", key.kind.as_str());
    store.get(&ObjectReference { kind, namespace: key.namespace.to_string(), name: key.name.to_string() }).await
}

/// The version of an object.
pub(super) fn version(object: &Value) -> Option<String> {
    object["metadata"]["resourceVersion"].as_str().map(str::to_owned)
}

/// A Secret of which nothing is known; a ConfigMap that cannot be read is as good as missing.
fn unread(key: &ObjectKey) -> Option<Object> {
    let body = Body::Secret(Secret { certificate: false, private_key: false, contents_known: false });
    (key.kind == ObjectKind::Secret).then(|| Object {
        key: key.clone(),
        api_version: "v1".into(),
        metadata: Metadata::default(),
        body,
    })
}
