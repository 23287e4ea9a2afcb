//! Remembers which revision of the graph is being assessed, so that one that ends the process is not assessed again and
//! again.
//!
//! Before an answer of the update service is read, its digest is written beside the cached state; when it was assessed,
//! that mark is removed. A process that finds a mark of [`ATTEMPTS`] attempts for the same answer sets that answer aside.

use clearway_core::Digest;
use clearway_sources::store::{Key, Part, Store, StoreError};
use serde_json::{Value, json};

/// How often a revision may end a process before it is set aside.
const ATTEMPTS: u32 = 2;
/// The key of the mark in the data of the object.
const MARK: &str = "assessing";

/// Whether a revision may be assessed. If it may, that it is about to be is recorded.
pub(super) async fn may_assess<S: Store>(store: &S, key: &Key, digest: &Digest) -> bool {
    let attempts = match store.get(key).await {
        Ok(object) => object.as_ref().map_or(0, |object| attempts(object, digest)),
        Err(error) => {
            tracing::warn!(%error, "cannot read how often this revision of the graph was assessed");
            0
        }
    };
    if attempts >= ATTEMPTS {
        return false;
    }
    // Without the mark a revision that ends the process would end it after each restart; but a store that takes no mark
    // takes no status either, so there is nothing to be gained by waiting for it.
    if let Err(error) = write(store, key, &json!(format!("{digest} {}", attempts + 1))).await {
        tracing::warn!(%error, "cannot record that a revision of the graph is being assessed");
    }
    true
}

/// Records that a revision was assessed, and the process is still there.
pub(super) async fn assessed<S: Store>(store: &S, key: &Key, digest: &Digest) {
    // The mark of another revision stays: that one may be what the process has to be protected from.
    if !matches!(store.get(key).await, Ok(Some(object)) if attempts(&object, digest) > 0) {
        return;
    }
    if let Err(error) = write(store, key, &Value::Null).await {
        tracing::warn!(%error, "cannot record that a revision of the graph was assessed");
    }
}

fn attempts(object: &Value, digest: &Digest) -> u32 {
    let mark = object["data"][MARK].as_str().and_then(|mark| mark.split_once(' '));
    mark.filter(|(marked, _)| *marked == digest.to_string()).and_then(|(_, count)| count.parse().ok()).unwrap_or(0)
}

async fn write<S: Store>(store: &S, key: &Key, mark: &Value) -> Result<(), StoreError> {
    let data = json!({"data": {MARK: mark}});
    match store.patch(key, Part::Main, &data).await {
        Ok(_) => Ok(()),
        Err(StoreError::Missing { .. }) if mark.is_null() => Ok(()),
        Err(StoreError::Missing { .. }) => {
            let mut object = json!({
                "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": key.name, "namespace": key.namespace},
            });
            object["data"] = data["data"].clone();
            store.create(&object).await.map(drop)
        }
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clearway_sources::store::{Kind, StateDirectory};

    #[tokio::test]
    async fn a_revision_that_ends_the_process_twice_is_set_aside() {
        let directory = tempfile::tempdir().unwrap();
        let store = StateDirectory::open(directory.path()).unwrap();
        let key = Key { kind: Kind::new("v1", "ConfigMap"), namespace: "clearway".into(), name: "state".into() };
        let (bad, good) = (Digest::sha256(b"bad"), Digest::sha256(b"good"));
        assert!(may_assess(&store, &key, &bad).await);
        assert!(may_assess(&store, &key, &bad).await, "it ended the process once");
        assert!(!may_assess(&store, &key, &bad).await, "and twice");
        assert!(!may_assess(&store, &key, &bad).await, "for good");
        assessed(&store, &key, &good).await;
        assert!(!may_assess(&store, &key, &bad).await, "also after another was assessed");
        assert!(may_assess(&store, &key, &good).await, "another one is another matter");
        assessed(&store, &key, &good).await;
        for _ in 0..5 {
            assert!(may_assess(&store, &key, &good).await);
            assessed(&store, &key, &good).await;
        }
        let object = store.get(&key).await.unwrap().unwrap();
        assert_eq!(object["data"][MARK], Value::Null);
    }
}
