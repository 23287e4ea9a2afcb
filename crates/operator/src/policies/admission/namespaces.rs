//! The namespaces of objects that are reviewed: watched, and read where the watch does not have one yet.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use clearway_sources::kubernetes::{Cluster, ClusterError, KindEvent, ObjectPart};
use serde_json::Value;
use tokio::task::JoinHandle;

use super::super::kinds;

type Known = Arc<RwLock<BTreeMap<String, Arc<Value>>>>;

/// The namespaces of a cluster.
pub(super) struct Namespaces {
    cluster: Cluster,
    known: Known,
    watch: JoinHandle<()>,
}

impl Namespaces {
    /// Watches all namespaces until it is dropped.
    pub(super) fn watch(cluster: Cluster) -> Self {
        let known = Known::default();
        let mut events = cluster.watch_kind(&kinds::namespaces(), ObjectPart::Whole);
        let seen = Arc::clone(&known);
        let watch = tokio::spawn(async move {
            while let Some(event) = events.recv().await {
                note(&seen, event);
            }
        });
        Namespaces { cluster, known, watch }
    }

    /// A namespace.
    pub(super) async fn get(&self, name: &str) -> Result<Arc<Value>, ClusterError> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned();
        match known {
            Some(namespace) => Ok(namespace),
            None => self.cluster.get(&kinds::namespaces(), "", name).await.map(Arc::new),
        }
    }
}

impl Drop for Namespaces {
    fn drop(&mut self) {
        self.watch.abort();
    }
}

fn note(known: &Known, event: KindEvent) {
    let name = |object: &Value| object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    let mut known = known.write().unwrap_or_else(PoisonError::into_inner);
    match event {
        KindEvent::Listed(objects) => {
            *known = objects.into_iter().map(|object| (name(&object), Arc::new(object))).collect();
        }
        KindEvent::Changed(object) => {
            known.insert(name(&object), Arc::new(*object));
        }
        KindEvent::Deleted { name, .. } => {
            known.remove(&name);
        }
        KindEvent::Trouble { error } => tracing::warn!(%error, "cannot watch namespaces"),
    }
}
