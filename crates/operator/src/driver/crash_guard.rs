//! Remembers which revision of the graph is being assessed, so that one that ends the process is not assessed again and
//! again.
//!
//! Before an answer of the update service is read, or a cached one is used, that is written beside the cached state; when it
//! was assessed, the note is removed. A process that ends in good order removes its notes as well. What a process finds
//! there has ended others: see [`Attempts`].

use std::sync::Arc;

use clearway_core::{Digest, ObjectReference, Timestamp};
use clearway_sources::store::{Part, Store, StoreError};
use serde_json::{Value, json};
use tokio::sync::Mutex;

use super::attempts::{Attempts, Decision};

/// The key of the note in the data of the object.
const NOTE: &str = "assessing";
/// How often a note is written again when the object was changed meanwhile.
const WRITES: usize = 8;

/// The notes of one process. Clones share them.
#[derive(Debug, Clone)]
pub struct CrashGuard {
    process: Arc<str>,
    /// Held while a note is changed: effects run side by side.
    notes: Arc<Mutex<Notes>>,
}

#[derive(Debug, Default)]
struct Notes {
    /// The objects in which this process wrote notes.
    written: Vec<ObjectReference>,
    /// Whether they were withdrawn: nothing is begun any more.
    withdrawn: bool,
}

impl CrashGuard {
    /// For a process whose name no other has had.
    pub fn new(process: &str) -> Self {
        CrashGuard { process: process.into(), notes: Arc::default() }
    }

    /// Whether a new answer may be assessed. If it may, that it is about to be is recorded.
    pub(super) async fn begin<S: Store>(
        &self,
        store: &S,
        key: &ObjectReference,
        digest: &Digest,
        now: Timestamp,
    ) -> Decision {
        let begin = |attempts: &mut Attempts| {
            let decision = attempts.decide(digest, &self.process, now);
            if decision == Decision::Assess {
                attempts.begin(digest, &self.process, now, false);
            }
            decision
        };
        self.change_as_begun(store, key, begin).await
    }

    /// Whether a cached answer may be used. If it may, that it is about to be is recorded.
    pub(super) async fn begin_cached<S: Store>(
        &self,
        store: &S,
        key: &ObjectReference,
        digest: &Digest,
        now: Timestamp,
    ) -> bool {
        let begin = |attempts: &mut Attempts| {
            let may = attempts.may_use_cached(digest, &self.process, now);
            if may {
                attempts.begin(digest, &self.process, now, true);
            }
            may
        };
        self.change_as_begun(store, key, begin).await
    }

    /// Records that an answer was assessed, and the process is still there.
    pub(super) async fn assessed<S: Store>(&self, store: &S, key: &ObjectReference, digest: &Digest) {
        let _notes = self.notes.lock().await;
        // Those on others stay: one of them may be what the process has to be protected from.
        change(store, key, |attempts| attempts.done(digest)).await;
    }

    /// Forgets all attempts: somebody asked for what was set aside to be tried again.
    pub(super) async fn forget<S: Store>(&self, store: &S, key: &ObjectReference) {
        let _notes = self.notes.lock().await;
        change(store, key, |attempts| *attempts = Attempts::default()).await;
    }

    /// Removes what this process has begun, because it ends in good order; nothing is begun after this.
    pub async fn withdraw<S: Store>(&self, store: &S) {
        let mut notes = self.notes.lock().await;
        notes.withdrawn = true;
        let written = std::mem::take(&mut notes.written);
        let withdraw = |key| async move { change(store, &key, |attempts| attempts.withdraw(&self.process)).await };
        futures::future::join_all(written.into_iter().map(withdraw)).await;
    }

    async fn change_as_begun<S: Store, T>(
        &self,
        store: &S,
        key: &ObjectReference,
        begin: impl Fn(&mut Attempts) -> T,
    ) -> T {
        let mut notes = self.notes.lock().await;
        if notes.withdrawn {
            drop(notes);
            // The process is about to end, and what it would begin now would count against the answer.
            return std::future::pending().await;
        }
        // Before it is written: this may be dropped at any time.
        if !notes.written.contains(key) {
            notes.written.push(key.clone());
        }
        change(store, key, begin).await
    }
}

/// Changes the note as it is stored, and returns what comes of that.
///
/// Without the note a revision that ends the process would end it after each restart; but a store that takes no note takes
/// no status either, so there is nothing to be gained by waiting for it.
async fn change<S: Store, T>(store: &S, key: &ObjectReference, change: impl Fn(&mut Attempts) -> T) -> T {
    let mut failed = None;
    for _ in 0..WRITES {
        let object = match store.get(key).await {
            Ok(object) => object,
            Err(error) => {
                failed = Some(error);
                break;
            }
        };
        let before = object.as_ref().map(noted).unwrap_or_default();
        let mut attempts = before.clone();
        let outcome = change(&mut attempts);
        if attempts == before {
            return outcome;
        }
        match write(store, key, object.as_ref(), &attempts).await {
            Ok(()) => return outcome,
            // Others write into the same object.
            Err(error @ (StoreError::Conflict { .. } | StoreError::Missing { .. })) => failed = Some(error),
            Err(error) => {
                tracing::warn!(%error, "cannot record which revision of the graph is being assessed");
                return outcome;
            }
        }
    }
    let error = failed.map(|error| error.to_string()).unwrap_or_default();
    tracing::warn!(error, "cannot record which revision of the graph is being assessed");
    change(&mut Attempts::default())
}

fn noted(object: &Value) -> Attempts {
    let note = object["data"][NOTE].as_str().unwrap_or_default();
    serde_json::from_str(note).unwrap_or_default()
}

/// Writes the note into the object as it was read.
async fn write<S: Store>(
    store: &S,
    key: &ObjectReference,
    object: Option<&Value>,
    attempts: &Attempts,
) -> Result<(), StoreError> {
    let note = if attempts.is_empty() { Value::Null } else { json!(json!(attempts).to_string()) };
    let Some(object) = object else {
        let object = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": key.name, "namespace": key.namespace},
            "data": {NOTE: note},
        });
        return store.create(&object).await.map(drop);
    };
    let version = &object["metadata"]["resourceVersion"];
    let patch = json!({"metadata": {"resourceVersion": version}, "data": {NOTE: note}});
    store.patch(key, Part::Main, &patch).await.map(drop)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use clearway_core::GroupVersionKind;
    use clearway_sources::store::StateDirectory;

    fn key() -> ObjectReference {
        ObjectReference {
            kind: GroupVersionKind::new("v1", "ConfigMap"),
            namespace: "clearway".into(),
            name: "state".into(),
        }
    }

    fn now() -> Timestamp {
        Timestamp::from_seconds(1_700_000_000).unwrap()
    }

    #[tokio::test]
    async fn a_revision_that_ends_the_process_twice_is_set_aside() {
        let directory = tempfile::tempdir().unwrap();
        let store = StateDirectory::open(directory.path()).unwrap();
        let (bad, good) = (Digest::sha256(b"bad"), Digest::sha256(b"good"));
        let (key, now) = (key(), now());
        let [first, second, third] = ["first", "second", "third"].map(CrashGuard::new);
        assert_eq!(first.begin(&store, &key, &bad, now).await, Decision::Assess);
        assert_eq!(second.begin(&store, &key, &bad, now).await, Decision::Assess, "it ended the process once");
        assert_eq!(third.begin(&store, &key, &bad, now).await, Decision::SetAside, "and twice");
        third.assessed(&store, &key, &good).await;
        assert_eq!(third.begin(&store, &key, &bad, now).await, Decision::SetAside, "also after another was assessed");
        let waits = third.begin(&store, &key, &good, now).await;
        assert!(matches!(waits, Decision::Wait { ended: 2, .. }), "whichever it is");
        let later = now.plus(Duration::from_hours(1));
        assert_eq!(third.begin(&store, &key, &good, later).await, Decision::Assess);
        third.assessed(&store, &key, &good).await;

        assert!(third.begin_cached(&store, &key, &good, later).await);
        assert!(!third.begin_cached(&store, &key, &bad, now).await);
        third.forget(&store, &key).await;
        assert_eq!(store.get(&key).await.unwrap().unwrap()["data"][NOTE], Value::Null);
        assert_eq!(third.begin(&store, &key, &bad, now).await, Decision::Assess, "somebody asked for it");
    }

    /// The end of a wait is stored, and does not move each time somebody asks.
    #[tokio::test]
    async fn notes_of_a_clock_that_was_wrong_wait_as_long_as_others() {
        let directory = tempfile::tempdir().unwrap();
        let store = StateDirectory::open(directory.path()).unwrap();
        let (key, now) = (key(), now());
        let wrong = now.plus(Duration::from_hours(24 * 365));
        for name in ["first", "second"] {
            let begun = CrashGuard::new(name).begin(&store, &key, &Digest::sha256(name.as_bytes()), wrong).await;
            assert_eq!(begun, Decision::Assess, "{name}");
        }
        let (third, answer) = (CrashGuard::new("third"), Digest::sha256(b"third"));
        let until = now.plus(Duration::from_mins(10));
        for minutes in [0, 5, 9] {
            let decided = third.begin(&store, &key, &answer, now.plus(Duration::from_mins(minutes))).await;
            assert_eq!(decided, Decision::Wait { until, ended: 2 }, "{minutes}");
        }
        assert_eq!(third.begin(&store, &key, &answer, until).await, Decision::Assess);
    }

    #[tokio::test(start_paused = true)]
    async fn a_process_that_ends_in_good_order_leaves_no_attempt() {
        let directory = tempfile::tempdir().unwrap();
        let store = StateDirectory::open(directory.path()).unwrap();
        let (slow, cached) = (Digest::sha256(b"slow"), Digest::sha256(b"cached"));
        let (key, now) = (key(), now());
        for name in ["first", "second", "third"] {
            let guard = CrashGuard::new(name);
            assert!(guard.begin_cached(&store, &key, &cached, now).await, "{name}");
            assert_eq!(guard.begin(&store, &key, &slow, now).await, Decision::Assess, "{name}");
            guard.withdraw(&store).await;
            assert_eq!(store.get(&key).await.unwrap().unwrap()["data"][NOTE], Value::Null, "{name}");
            let late = tokio::time::timeout(Duration::from_hours(1), guard.begin(&store, &key, &slow, now)).await;
            assert!(late.is_err(), "{name}: nothing is begun after the end");
        }
        let died = CrashGuard::new("died");
        assert_eq!(died.begin(&store, &key, &slow, now).await, Decision::Assess);
        let next = CrashGuard::new("next");
        assert_eq!(next.begin(&store, &key, &slow, now).await, Decision::Assess);
        next.withdraw(&store).await;
        let left = noted(&store.get(&key).await.unwrap().unwrap());
        assert!(left.has_open("died") && !left.has_open("next"), "only its own are removed");
    }

    /// Effects run side by side, and another process may write as well.
    #[tokio::test]
    async fn no_note_is_lost_to_another() {
        let directory = tempfile::tempdir().unwrap();
        let store = StateDirectory::open(directory.path()).unwrap();
        let (key, now) = (key(), now());
        let guards = ["one", "other"].map(CrashGuard::new);
        let answers: Vec<Digest> = (0..4_u8).map(|number| Digest::sha256(&[number])).collect();
        let begun = guards
            .iter()
            .flat_map(|guard| answers.iter().map(move |answer| (guard, answer)))
            .map(|(guard, answer)| guard.begin_cached(&store, &key, answer, now));
        assert!(futures::future::join_all(begun).await.into_iter().all(|may| may));
        let ended = guards.iter().map(|guard| guard.withdraw(&store));
        futures::future::join_all(ended).await;
        assert_eq!(store.get(&key).await.unwrap().unwrap()["data"][NOTE], Value::Null);
    }
}
