//! All objects of many kinds, kind by kind and page by page, each with the namespace that it is in.
//!
//! Memory is that of a few pages and of the namespaces, however many objects there are. An API server that is away for a
//! while is waited for; a list that expired begins again, and its receiver is told to forget what came of it. A kind that
//! cannot be listed is reported, and the others go on.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use clearway_core::{GroupVersionKind, ObjectReference};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep};

use crate::store::{ObjectPages, Store, StoreError};
use crate::waiting;

/// How long an API server that does not answer is waited for.
pub const PATIENCE: Duration = Duration::from_mins(2);
/// Objects of one page, unless something else is wanted.
pub const PAGE_SIZE: u32 = 500;
/// The wait before a request is sent again; it doubles up to the longest one.
const FIRST_DELAY: Duration = Duration::from_millis(250);
const LONGEST_DELAY: Duration = Duration::from_secs(5);
/// How often a request is sent again while the API server itself answers.
const ATTEMPTS: u32 = 4;
/// How often a list that expired begins again.
const RESTARTS: u32 = 3;

/// What is seen of the kinds, in their order.
#[derive(Debug)]
pub enum StreamEvent {
    /// Objects of a kind.
    Objects {
        /// The kind, in the version in which it is listed.
        kind: GroupVersionKind,
        /// The objects of one page.
        objects: Vec<StreamedObject>,
    },
    /// The list of a kind begins again: what came of it before comes once more.
    Restarted {
        /// The kind.
        kind: GroupVersionKind,
    },
    /// All objects of a kind came.
    Listed {
        /// The kind.
        kind: GroupVersionKind,
    },
    /// Objects of a kind are missing. The next event is about another kind.
    Failed {
        /// The kind.
        kind: GroupVersionKind,
        /// Why.
        error: StoreError,
    },
}

/// An object, and the namespace that it is in.
#[derive(Debug)]
pub struct StreamedObject {
    /// The object.
    pub object: Value,
    /// Its namespace.
    pub namespace: ObjectNamespace,
}

/// The namespace of an object.
#[derive(Debug, Clone)]
pub enum ObjectNamespace {
    /// The object is in none.
    None,
    /// The namespace as it was when it was first seen.
    Known(Arc<Value>),
    /// It does not exist any more, and so does not the object.
    Gone,
    /// It cannot be read.
    Unknown(StoreError),
}

/// Streams objects.
pub struct ObjectStream<'s, S> {
    store: &'s S,
    patience: Duration,
    /// Objects of one page.
    page_size: u32,
    /// All namespaces are listed before the first one is needed.
    namespaces: Option<BTreeMap<String, ObjectNamespace>>,
}

impl<'s, S: Store> ObjectStream<'s, S> {
    /// A stream that waits for an API server for [`PATIENCE`].
    pub fn new(store: &'s S) -> Self {
        ObjectStream { store, patience: PATIENCE, page_size: PAGE_SIZE, namespaces: None }
    }

    /// The same with another patience.
    #[must_use]
    pub fn with_patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// The same with another number of objects in a page.
    #[must_use]
    pub fn with_page_size(mut self, objects: u32) -> Self {
        self.page_size = objects;
        self
    }

    /// Sends the objects of kinds until all are sent or no one receives them. The receiver bounds memory: a channel of one
    /// event holds one page, while the next one is read.
    pub async fn send_to(mut self, kinds: Vec<GroupVersionKind>, receiver: mpsc::Sender<StreamEvent>) {
        for kind in kinds {
            let event = match self.send_kind(&kind, &receiver).await {
                Ok(()) => StreamEvent::Listed { kind },
                Err(error) => StreamEvent::Failed { kind, error },
            };
            if receiver.send(event).await.is_err() {
                return;
            }
        }
    }

    async fn send_kind(
        &mut self,
        kind: &GroupVersionKind,
        receiver: &mpsc::Sender<StreamEvent>,
    ) -> Result<(), StoreError> {
        let (store, size) = (self.store, self.page_size);
        let first = || ObjectPages::new(store, kind.clone()).with_size(size);
        let mut pages = first();
        let mut restarts = 0;
        loop {
            let mut outage = Outage::new(self.store, self.patience);
            let page = loop {
                match pages.next_page().await {
                    Ok(page) => break Ok(page),
                    Err(error) if outage.wait(&error).await => {}
                    Err(error) => break Err(error),
                }
            };
            match page {
                Ok(None) => return Ok(()),
                Ok(Some(page)) => {
                    let mut objects = Vec::with_capacity(page.items.len());
                    for object in page.items {
                        let namespace = self.namespace_of(&object).await;
                        objects.push(StreamedObject { object, namespace });
                    }
                    // The audience may have left; then the next event says so.
                    let _ = receiver.send(StreamEvent::Objects { kind: kind.clone(), objects }).await;
                    if receiver.is_closed() {
                        return Ok(());
                    }
                }
                Err(StoreError::Expired { .. }) if restarts < RESTARTS => {
                    restarts += 1;
                    pages = first();
                    let _ = receiver.send(StreamEvent::Restarted { kind: kind.clone() }).await;
                }
                // Its definition was deleted, and its objects with it.
                Err(StoreError::NoSuchKind { .. }) => {
                    let _ = receiver.send(StreamEvent::Restarted { kind: kind.clone() }).await;
                    return Ok(());
                }
                Err(error) => return Err(error),
            }
        }
    }

    async fn namespace_of(&mut self, object: &Value) -> ObjectNamespace {
        let Some(name) = object["metadata"]["namespace"].as_str().filter(|name| !name.is_empty()) else {
            return ObjectNamespace::None;
        };
        let kind = GroupVersionKind::new("v1", "Namespace");
        if self.namespaces.is_none() {
            self.namespaces = Some(self.all_namespaces(&kind).await);
        }
        if let Some(known) = self.namespaces.as_ref().and_then(|namespaces| namespaces.get(name)) {
            return known.clone();
        }
        // One that is newer than the list, or that may be read only by its name.
        let key = ObjectReference::cluster_scoped(kind, name);
        let mut outage = Outage::new(self.store, self.patience);
        let found = loop {
            match self.store.get(&key).await {
                Ok(Some(namespace)) => break ObjectNamespace::Known(Arc::new(namespace)),
                Ok(None) => break ObjectNamespace::Gone,
                Err(error) if outage.wait(&error).await => {}
                Err(error) => break ObjectNamespace::Unknown(error),
            }
        };
        self.namespaces.get_or_insert_default().insert(name.to_owned(), found.clone());
        found
    }

    /// All namespaces; none if they cannot be listed, and then each is read when it is needed.
    async fn all_namespaces(&self, kind: &GroupVersionKind) -> BTreeMap<String, ObjectNamespace> {
        let mut found = BTreeMap::new();
        let mut pages = ObjectPages::new(self.store, kind.clone());
        while let Ok(Some(page)) = pages.next_page().await {
            for namespace in page.items {
                let name = namespace["metadata"]["name"].as_str().unwrap_or_default().to_owned();
                found.insert(name, ObjectNamespace::Known(Arc::new(namespace)));
            }
        }
        found
    }
}

/// Decides whether a request that failed is sent again.
struct Outage<'s, S> {
    store: &'s S,
    deadline: Instant,
    delay: Duration,
    attempts: u32,
    /// How often it was waited for.
    waits: u32,
    /// Whether the API server itself did not answer. After that it may be starting: it does not know all kinds and
    /// rights yet.
    was_away: bool,
}

impl<'s, S: Store> Outage<'s, S> {
    fn new(store: &'s S, patience: Duration) -> Self {
        let deadline = Instant::now() + patience;
        Outage { store, deadline, delay: FIRST_DELAY, attempts: 0, waits: 0, was_away: false }
    }

    /// Waits, if the request may succeed later; false if it is not worth another try.
    async fn wait(&mut self, error: &StoreError) -> bool {
        let passing = match error {
            StoreError::Away { .. } => true,
            StoreError::Forbidden { .. } | StoreError::NoSuchKind { .. } => self.was_away,
            _ => false,
        };
        if !passing || self.attempts >= ATTEMPTS || Instant::now() >= self.deadline {
            return false;
        }
        // A kind that another server serves may be away for long while the rest of the cluster answers.
        match self.store.kinds().await {
            Ok(_) => self.attempts += 1,
            Err(_) => self.was_away = true,
        }
        self.waits = self.waits.saturating_add(1);
        waiting::to_retry("the cluster", error, self.waits, None, self.delay);
        sleep(self.delay).await;
        self.delay = self.delay.saturating_mul(2).min(LONGEST_DELAY);
        true
    }
}
