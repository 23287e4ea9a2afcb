//! Kubernetes objects as evidence: by kind, as they were seen at one time.

use std::collections::BTreeMap;
use std::fmt;

use clearway_core::Timestamp;
use serde_json::Value;

use super::{Observation, Reply};
use crate::reproduce;

/// A kind of objects. The version of its API does not tell kinds apart.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectKind {
    /// The API group, empty for the core group.
    pub group: String,
    /// The kind.
    pub kind: String,
}

/// The objects of some kinds, as they were seen at one time.
#[derive(Debug, Clone, PartialEq)]
pub struct Objects {
    kinds: BTreeMap<ObjectKind, Vec<Value>>,
    observed_at: Timestamp,
    source: String,
    live: bool,
}

impl ObjectKind {
    /// The kind that an object's `apiVersion` and `kind` name.
    pub fn new(api_version: &str, kind: &str) -> Self {
        let group = api_version.split_once('/').map_or("", |(group, _)| group);
        ObjectKind { group: group.to_owned(), kind: kind.to_owned() }
    }

    /// The kind of an object; nothing if it does not say.
    pub fn of(object: &Value) -> Option<Self> {
        Some(ObjectKind::new(object.get("apiVersion")?.as_str()?, object.get("kind")?.as_str()?))
    }
}

impl fmt::Display for ObjectKind {
    /// As `kubectl get` takes it: `Deployment.apps`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dot = if self.group.is_empty() { "" } else { "." };
        write!(f, "{}{dot}{}", self.kind, self.group)
    }
}

impl Objects {
    /// No objects yet, seen at a time in a place; `live` if `kubectl` shows them again.
    pub fn new(observed_at: Timestamp, source: impl Into<String>, live: bool) -> Self {
        Objects { kinds: BTreeMap::new(), observed_at, source: source.into(), live }
    }

    /// When they were seen.
    pub fn observed_at(&self) -> Timestamp {
        self.observed_at
    }

    /// Says that a kind was looked for, so that finding none of it is known.
    pub fn looked_for(&mut self, kind: ObjectKind) {
        self.kinds.entry(kind).or_default();
    }

    /// Adds an object; whether it says what it is.
    pub fn insert(&mut self, object: Value) -> bool {
        let Some(kind) = ObjectKind::of(&object) else { return false };
        self.kinds.entry(kind).or_default().push(object);
        true
    }

    /// The objects of a kind, or that nobody looked.
    pub fn reply(&self, kind: &ObjectKind) -> Reply<Vec<&Value>> {
        match self.kinds.get(kind) {
            None => Reply::NotConfigured,
            Some(objects) => Reply::Answered(Observation {
                value: objects.iter().collect(),
                observed_at: self.observed_at,
                source: self.source.clone(),
                reproduce: self.live.then(|| reproduce::kubectl(kind)),
                warnings: Vec::new(),
            }),
        }
    }
}
