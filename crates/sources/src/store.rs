//! Where objects live that are read, changed and followed: a cluster's API server, or a directory.
//!
//! One small trait with two implementations: [`ClusterStore`] and [`StateDirectory`]. What reconciles works on the trait
//! and cannot tell them apart; what only one of them has (leases, discovery, a metrics feed) is not part of it. A program
//! is given one of them and never falls back to the other by itself.
//!
//! Objects are raw JSON, as everywhere at this edge.

mod cluster;
mod directory;
mod merge;
mod object_files;
mod pages;

use std::collections::BTreeSet;

use clearway_advice::evidence::ObjectRequest;
use clearway_core::{Event, GroupVersionKind, ObjectReference, ObjectReferenceError};
use serde_json::Value;
use tokio::sync::mpsc;

pub use crate::kubernetes::{Apply, Page, Part};
pub use cluster::ClusterStore;
pub use directory::{STATE_CAPS, StateDirectory};
pub use object_files::{OBJECT_BYTES, parse as parse_object_file};
pub use pages::ObjectPages;

use crate::kubernetes::ClusterError;

/// Why an object could not be read or changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// Nothing answers, or not now; the same may succeed later.
    #[error("{why}")]
    Away {
        /// What failed.
        why: String,
    },
    /// Not allowed.
    #[error("{why}")]
    Forbidden {
        /// What was tried, and what the server said.
        why: String,
    },
    /// Objects of this kind are not kept here.
    #[error("the kind {kind} is not served")]
    NoSuchKind {
        /// The kind.
        kind: GroupVersionKind,
    },
    /// There is no such object.
    #[error("{what} not found")]
    Missing {
        /// The object.
        what: String,
    },
    /// It was changed meanwhile, a field of it belongs to somebody else, or it is there already.
    #[error("{why}")]
    Conflict {
        /// What the server said.
        why: String,
    },
    /// The object is larger than is stored; nothing was written.
    #[error("{what} has {bytes} bytes; the limit is {limit}")]
    TooLarge {
        /// The object.
        what: String,
        /// How many bytes it would take.
        bytes: usize,
        /// How many are stored.
        limit: usize,
    },
    /// A page of a list is larger than is read; fewer objects may fit.
    #[error("{why}")]
    AnswerTooLarge {
        /// Of what, and how much is read.
        why: String,
    },
    /// The rest of a list is not known any more; it can be started again.
    #[error("{why}")]
    Expired {
        /// Which list.
        why: String,
    },
    /// The object is not acceptable as it is; trying again will not help.
    #[error("{why}")]
    Refused {
        /// What is wrong with it.
        why: String,
    },
}

impl StoreError {
    /// Whether the same request may succeed later without anybody changing anything.
    pub fn is_passing(&self) -> bool {
        matches!(self, StoreError::Away { .. } | StoreError::Conflict { .. } | StoreError::Expired { .. })
    }
}

impl From<ClusterError> for StoreError {
    fn from(error: ClusterError) -> Self {
        let why = error.to_string();
        match error {
            ClusterError::Forbidden { .. } => StoreError::Forbidden { why },
            ClusterError::Conflict { .. } => StoreError::Conflict { why },
            ClusterError::Refused { .. } => StoreError::Refused { why },
            ClusterError::AnswerTooLarge { .. } => StoreError::AnswerTooLarge { why },
            ClusterError::Expired { .. } => StoreError::Expired { why },
            ClusterError::NotFound { resource, name } => StoreError::Missing { what: format!("{resource} {name}") },
            ClusterError::NoSuchKind { name, .. } => StoreError::NoSuchKind {
                kind: GroupVersionKind { group: String::new(), version: String::new(), kind: name },
            },
            ClusterError::Config { .. } | ClusterError::Unreachable { .. } | ClusterError::Api { .. } => {
                StoreError::Away { why }
            }
        }
    }
}

impl From<ObjectReferenceError> for StoreError {
    fn from(error: ObjectReferenceError) -> Self {
        StoreError::Refused { why: error.to_string() }
    }
}

/// What is seen of an object that is followed.
#[derive(Debug)]
pub enum StoreEvent {
    /// The object as it is now.
    Object(Box<Value>),
    /// There is no such object (any more).
    Gone {
        /// Its name.
        name: String,
    },
    /// Nothing can be seen at the moment; it is tried again.
    Trouble {
        /// Why.
        error: StoreError,
    },
}

/// A place where objects live.
pub trait Store: Clone + Send + Sync + 'static {
    /// One object, or none.
    fn get(&self, key: &ObjectReference) -> impl Future<Output = Result<Option<Value>, StoreError>> + Send;

    /// All objects of a kind, in all namespaces, by namespace and name; with a label selector, those it selects.
    fn list(
        &self,
        kind: &GroupVersionKind,
        labels: &str,
    ) -> impl Future<Output = Result<Vec<Value>, StoreError>> + Send;

    /// All objects of a kind in one namespace, by name; none of a kind that is not in namespaces.
    fn list_in(
        &self,
        kind: &GroupVersionKind,
        namespace: &str,
    ) -> impl Future<Output = Result<Vec<Value>, StoreError>> + Send;

    /// One page of the objects of a kind in all namespaces, with so many objects at most; `token` is where the page before
    /// ended. A page takes a bounded amount of memory: [`StoreError::AnswerTooLarge`] asks for fewer objects.
    fn page(
        &self,
        kind: &GroupVersionKind,
        token: Option<&str>,
        objects: u32,
    ) -> impl Future<Output = Result<Page, StoreError>> + Send;

    /// Every kind whose objects can be listed here.
    fn kinds(&self) -> impl Future<Output = Result<Vec<GroupVersionKind>, StoreError>> + Send;

    /// API groups of which [`Store::kinds`] may have missed some, because who serves them did not answer the last time.
    fn stale_groups(&self) -> BTreeSet<String> {
        BTreeSet::new()
    }

    /// The command that shows the objects of a request, if there is one.
    fn show_command(&self, _request: &ObjectRequest) -> Option<String> {
        None
    }

    /// Creates an object that must not be there yet.
    fn create(&self, object: &Value) -> impl Future<Output = Result<Value, StoreError>> + Send;

    /// Makes an object say what is given, and leaves alone what others say in it.
    fn apply(&self, object: &Value, how: &Apply<'_>) -> impl Future<Output = Result<Value, StoreError>> + Send;

    /// Merges a patch into one half of an object.
    fn patch(
        &self,
        key: &ObjectReference,
        part: Part,
        patch: &Value,
    ) -> impl Future<Output = Result<Value, StoreError>> + Send;

    /// Replaces the status of an object, if nobody changed the object since it was read.
    fn replace_status(&self, object: &Value) -> impl Future<Output = Result<Value, StoreError>> + Send;

    /// Deletes an object if it is still the one with this uid; one that is gone already is as good.
    fn delete(&self, key: &ObjectReference, uid: &str) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Follows the named objects of a kind that is not in namespaces (all of them if no name is given) until the
    /// receiver is dropped: each is reported at the start, and then whenever it changes.
    fn follow(
        &self,
        kind: &GroupVersionKind,
        names: BTreeSet<String>,
    ) -> impl Future<Output = Result<mpsc::Receiver<StoreEvent>, StoreError>> + Send;

    /// Tells of something that happened to an object. Nobody relies on it being heard.
    fn record_event(&self, about: &Value, event: &Event) -> impl Future<Output = Result<(), StoreError>> + Send;
}
