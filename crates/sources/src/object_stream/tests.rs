//! Faults that a real API server does not play on demand: lists that expire, and kinds whose server is away.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Mutex;

use clearway_core::Event;
use serde_json::json;

use super::*;
use crate::store::{Apply, Page, Part, StateDirectory, StoreEvent};

/// A directory whose pages are scripted.
#[derive(Clone)]
struct Scripted {
    state: StateDirectory,
    pages: Arc<Mutex<VecDeque<Result<Page, StoreError>>>>,
}

impl Store for Scripted {
    async fn page(&self, kind: &GroupVersionKind, token: Option<&str>, objects: u32) -> Result<Page, StoreError> {
        if kind.kind == "Namespace" {
            return self.state.page(kind, token, objects).await;
        }
        let next = self.pages.lock().unwrap().pop_front();
        next.unwrap_or_else(|| Err(StoreError::Refused { why: "the script is over".to_owned() }))
    }

    async fn kinds(&self) -> Result<Vec<GroupVersionKind>, StoreError> {
        self.state.kinds().await
    }

    async fn get(&self, key: &ObjectReference) -> Result<Option<Value>, StoreError> {
        self.state.get(key).await
    }

    async fn list(&self, kind: &GroupVersionKind, labels: &str) -> Result<Vec<Value>, StoreError> {
        self.state.list(kind, labels).await
    }

    async fn list_in(&self, kind: &GroupVersionKind, namespace: &str) -> Result<Vec<Value>, StoreError> {
        self.state.list_in(kind, namespace).await
    }

    async fn create(&self, object: &Value) -> Result<Value, StoreError> {
        self.state.create(object).await
    }

    async fn apply(&self, object: &Value, how: &Apply<'_>) -> Result<Value, StoreError> {
        self.state.apply(object, how).await
    }

    async fn patch(&self, key: &ObjectReference, part: Part, patch: &Value) -> Result<Value, StoreError> {
        self.state.patch(key, part, patch).await
    }

    async fn replace_status(&self, object: &Value) -> Result<Value, StoreError> {
        self.state.replace_status(object).await
    }

    async fn delete(&self, key: &ObjectReference, uid: &str) -> Result<(), StoreError> {
        self.state.delete(key, uid).await
    }

    async fn follow(
        &self,
        kind: &GroupVersionKind,
        names: BTreeSet<String>,
    ) -> Result<mpsc::Receiver<StoreEvent>, StoreError> {
        self.state.follow(kind, names).await
    }

    async fn record_event(&self, about: &Value, event: &Event) -> Result<(), StoreError> {
        self.state.record_event(about, event).await
    }
}

fn pod(namespace: &str, name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": namespace}})
}

#[expect(clippy::unnecessary_wraps, reason = "a line of a script, beside those that fail")]
fn page(names: &[&str], next: Option<&str>) -> Result<Page, StoreError> {
    Ok(Page { items: names.iter().map(|name| pod("shop", name)).collect(), next: next.map(str::to_owned) })
}

fn expired() -> Result<Page, StoreError> {
    Err(StoreError::Expired { why: "expired".to_owned() })
}

fn away() -> Result<Page, StoreError> {
    Err(StoreError::Away { why: "no answer".to_owned() })
}

/// What comes of a script for one kind, one word for each event.
async fn events(script: Vec<Result<Page, StoreError>>) -> Vec<String> {
    let directory = tempfile::tempdir().unwrap();
    let state = StateDirectory::open(directory.path()).unwrap();
    state.create(&json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})).await.unwrap();
    let store = Scripted { state, pages: Arc::new(Mutex::new(script.into())) };
    let (sender, mut receiver) = mpsc::channel(1);
    let kinds = vec![GroupVersionKind::new("v1", "Pod")];
    let sent = tokio::spawn(async move { ObjectStream::new(&store).send_to(kinds, sender).await });
    let mut words = Vec::new();
    while let Some(event) = receiver.recv().await {
        words.push(match event {
            StreamEvent::Objects { objects, .. } => {
                let name = |one: &StreamedObject| {
                    let place = match &one.namespace {
                        ObjectNamespace::Known(namespace) => namespace["metadata"]["name"].as_str().unwrap().to_owned(),
                        other => format!("{other:?}"),
                    };
                    format!("{place}/{}", one.object["metadata"]["name"].as_str().unwrap())
                };
                objects.iter().map(name).collect::<Vec<_>>().join(" ")
            }
            StreamEvent::Restarted { .. } => "restarted".to_owned(),
            StreamEvent::Listed { .. } => "listed".to_owned(),
            StreamEvent::Failed { error, .. } => format!("failed: {error}"),
        });
    }
    sent.await.unwrap();
    words
}

#[tokio::test(start_paused = true)]
async fn a_list_that_expires_begins_again_and_says_so() {
    let script = vec![page(&["a"], Some("1")), expired(), page(&["a", "b"], Some("2")), page(&["c"], None)];
    assert_eq!(events(script).await, ["shop/a", "restarted", "shop/a shop/b", "shop/c", "listed"]);
    // Not forever.
    let script = (0..4).flat_map(|_| [page(&["a"], Some("1")), expired()]).collect();
    let found = events(script).await;
    assert_eq!(found.last().unwrap(), "failed: expired");
    assert_eq!(found.iter().filter(|word| *word == "restarted").count(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_away_is_asked_again_for_the_same_page() {
    let script = vec![page(&["a"], Some("1")), away(), away(), page(&["b"], None)];
    assert_eq!(events(script).await, ["shop/a", "shop/b", "listed"]);
    // The API server answers, and only this kind does not: it fails soon.
    let script = std::iter::once(page(&["a"], Some("1"))).chain((0..20).map(|_| away())).collect();
    assert_eq!(events(script).await, ["shop/a", "failed: no answer"]);
}

#[tokio::test(start_paused = true)]
async fn what_is_not_allowed_fails_at_once_and_what_is_gone_has_no_objects() {
    let forbidden = Err(StoreError::Forbidden { why: "not allowed".to_owned() });
    assert_eq!(events(vec![forbidden]).await, ["failed: not allowed"]);
    let gone = Err(StoreError::NoSuchKind { kind: GroupVersionKind::new("v1", "Pod") });
    assert_eq!(events(vec![page(&["a"], Some("1")), gone]).await, ["shop/a", "restarted", "listed"]);
    let items = vec![pod("deleted", "a"), json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "b"}})];
    assert_eq!(events(vec![Ok(Page { items, next: None })]).await, ["Gone/a None/b", "listed"]);
}
