//! Kubernetes objects as evidence: by kind, or by name, as they were seen at one time.

use std::collections::BTreeMap;
use std::fmt;

use clearway_core::Timestamp;
use serde_json::Value;

use super::{Failure, FailureClass, Observation, Reply};
use crate::reproduce;

/// A kind of objects. The version of its API does not tell kinds apart.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectKind {
    /// The API group, empty for the core group.
    pub group: String,
    /// The kind.
    pub kind: String,
}

/// Which objects a rule is about, as far as somebody has to know who fetches them; its labels come on top.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Wanted {
    /// Their kind.
    pub kind: ObjectKind,
    /// Only those in this namespace.
    pub namespace: Option<String>,
    /// Only those of this name.
    pub name: Option<String>,
}

/// The objects of some kinds, as they were seen at one time.
#[derive(Debug, Clone, PartialEq)]
pub struct Objects {
    kinds: BTreeMap<ObjectKind, Vec<Value>>,
    /// What was looked for of kinds of which not all was.
    narrow: BTreeMap<Wanted, Vec<Value>>,
    failed: BTreeMap<ObjectKind, Failure>,
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

impl Wanted {
    /// Whether whoever has these has the others too.
    pub fn covers(&self, other: &Wanted) -> bool {
        let same = |own: &Option<String>, other: &Option<String>| own.is_none() || own == other;
        self.kind == other.kind && same(&self.namespace, &other.namespace) && same(&self.name, &other.name)
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
        Objects {
            kinds: BTreeMap::new(),
            narrow: BTreeMap::new(),
            failed: BTreeMap::new(),
            observed_at,
            source: source.into(),
            live,
        }
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

    /// Says what came of looking for some objects of a kind, and for no others of it.
    pub fn found(&mut self, wanted: Wanted, objects: Vec<Value>) {
        self.narrow.insert(wanted, objects);
    }

    /// Says that a kind could not be looked for.
    pub fn fail(&mut self, kind: ObjectKind, failure: Failure) {
        self.failed.insert(kind, failure);
    }

    /// The objects that are wanted, and maybe others of their kind; or why they are not known.
    pub fn selected(&self, wanted: &Wanted) -> Reply<Vec<&Value>> {
        let kind = &wanted.kind;
        let mut narrow = self.narrow.iter().filter(|(looked, _)| looked.kind == *kind).peekable();
        if self.kinds.contains_key(kind) || narrow.peek().is_none() {
            return self.reply(kind);
        }
        let found = narrow.find(|(looked, _)| looked.covers(wanted)).map(|(_, objects)| self.answer(kind, objects));
        found.unwrap_or_else(|| {
            let message = format!("Of the kind {kind} only objects that a rule names were looked for.");
            Reply::Failed(Failure::new(FailureClass::Absent, message))
        })
    }

    /// The objects of a kind, or that nobody looked.
    pub fn reply(&self, kind: &ObjectKind) -> Reply<Vec<&Value>> {
        match (self.kinds.get(kind), self.failed.get(kind)) {
            (Some(objects), _) => self.answer(kind, objects),
            (None, Some(failure)) => Reply::Failed(failure.clone()),
            (None, None) => Reply::NotConfigured,
        }
    }

    fn answer<'o>(&self, kind: &ObjectKind, objects: &'o [Value]) -> Reply<Vec<&'o Value>> {
        Reply::Answered(Observation {
            value: objects.iter().collect(),
            observed_at: self.observed_at,
            source: self.source.clone(),
            reproduce: self.live.then(|| reproduce::kubectl(kind)),
            warnings: Vec::new(),
        })
    }
}
