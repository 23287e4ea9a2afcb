//! Remembers which revision of the graph is being assessed, so that one that ends the process is not assessed again and
//! again.
//!
//! Before an answer of the update service is read, or a cached one is used, that is written beside the cached state; when it
//! was assessed, the note is removed. What a process finds there has ended others: see [`Attempts`].

use clearway_core::{Digest, ObjectReference, Timestamp};
use clearway_sources::store::{Part, Store, StoreError};
use serde_json::{Value, json};

use super::attempts::{Attempts, Decision};

/// The key of the note in the data of the object.
const NOTE: &str = "assessing";

/// Whether a new answer may be assessed. If it may, that it is about to be is recorded.
pub(super) async fn begin<S: Store>(store: &S, key: &ObjectReference, digest: &Digest, now: Timestamp) -> Decision {
    let mut attempts = read(store, key).await;
    let decision = attempts.decide(digest, now);
    if decision == Decision::Assess {
        attempts.begin(digest, now, false);
        record(store, key, &attempts).await;
    }
    decision
}

/// Whether a cached answer may be used; `object` is where it is kept. If it may, that it is about to be is recorded.
pub(super) async fn begin_cached<S: Store>(
    store: &S,
    key: &ObjectReference,
    object: &Value,
    digest: &Digest,
    now: Timestamp,
) -> bool {
    let mut attempts = noted(object);
    let may = attempts.may_use_cached(digest, now);
    if may {
        attempts.begin(digest, now, true);
        record(store, key, &attempts).await;
    }
    may
}

/// Records that an answer was assessed, and the process is still there.
pub(super) async fn assessed<S: Store>(store: &S, key: &ObjectReference, digest: &Digest) {
    let mut attempts = read(store, key).await;
    // Those on others stay: one of them may be what the process has to be protected from.
    if attempts.done(digest) {
        record(store, key, &attempts).await;
    }
}

/// Forgets all attempts: somebody asked for what was set aside to be tried again.
pub(super) async fn forget<S: Store>(store: &S, key: &ObjectReference) {
    if !read(store, key).await.is_empty() {
        record(store, key, &Attempts::default()).await;
    }
}

async fn read<S: Store>(store: &S, key: &ObjectReference) -> Attempts {
    match store.get(key).await {
        Ok(object) => object.as_ref().map(noted).unwrap_or_default(),
        Err(error) => {
            tracing::warn!(%error, "cannot read which revisions of the graph were assessed");
            Attempts::default()
        }
    }
}

fn noted(object: &Value) -> Attempts {
    let note = object["data"][NOTE].as_str().unwrap_or_default();
    serde_json::from_str(note).unwrap_or_default()
}

/// Without the note a revision that ends the process would end it after each restart; but a store that takes no note takes
/// no status either, so there is nothing to be gained by waiting for it.
async fn record<S: Store>(store: &S, key: &ObjectReference, attempts: &Attempts) {
    let note = if attempts.is_empty() { Value::Null } else { json!(json!(attempts).to_string()) };
    if let Err(error) = write(store, key, &note).await {
        tracing::warn!(%error, "cannot record which revision of the graph is being assessed");
    }
}

async fn write<S: Store>(store: &S, key: &ObjectReference, note: &Value) -> Result<(), StoreError> {
    let data = json!({"data": {NOTE: note}});
    match store.patch(key, Part::Main, &data).await {
        Ok(_) => Ok(()),
        Err(StoreError::Missing { .. }) if note.is_null() => Ok(()),
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
    use clearway_core::GroupVersionKind;
    use clearway_sources::store::StateDirectory;

    #[tokio::test]
    async fn a_revision_that_ends_the_process_twice_is_set_aside() {
        let directory = tempfile::tempdir().unwrap();
        let store = StateDirectory::open(directory.path()).unwrap();
        let key = ObjectReference {
            kind: GroupVersionKind::new("v1", "ConfigMap"),
            namespace: "clearway".into(),
            name: "state".into(),
        };
        let (bad, good) = (Digest::sha256(b"bad"), Digest::sha256(b"good"));
        let now = Timestamp::from_seconds(1_700_000_000).unwrap();
        assert_eq!(begin(&store, &key, &bad, now).await, Decision::Assess);
        assert_eq!(begin(&store, &key, &bad, now).await, Decision::Assess, "it ended the process once");
        assert_eq!(begin(&store, &key, &bad, now).await, Decision::SetAside, "and twice");
        assessed(&store, &key, &good).await;
        assert_eq!(begin(&store, &key, &bad, now).await, Decision::SetAside, "also after another was assessed");
        assert!(matches!(begin(&store, &key, &good, now).await, Decision::Wait { ended: 2, .. }), "whichever it is");
        let later = now.plus(std::time::Duration::from_hours(1));
        assert_eq!(begin(&store, &key, &good, later).await, Decision::Assess);
        assessed(&store, &key, &good).await;

        let object = store.get(&key).await.unwrap().unwrap();
        assert!(begin_cached(&store, &key, &object, &good, later).await);
        let object = store.get(&key).await.unwrap().unwrap();
        assert!(!begin_cached(&store, &key, &object, &bad, now).await);
        forget(&store, &key).await;
        assert_eq!(store.get(&key).await.unwrap().unwrap()["data"][NOTE], Value::Null);
        assert_eq!(begin(&store, &key, &bad, now).await, Decision::Assess, "somebody asked for it");
    }
}
