//! Kubernetes objects of a snapshot: by kind, or by name, as they were seen at one time.

use std::collections::{BTreeMap, BTreeSet};

use clearway_core::{GroupKind, ObjectName, Timestamp};
use serde_json::Value;

use super::object_answer::short_name;
use super::{
    Failure, FailureClass, ObjectAnswer, ObjectExplanation, ObjectQuestion, ObjectRequest, Observation, Reply,
};

/// The objects of some kinds, as they were seen at one time.
#[derive(Debug, Clone, PartialEq)]
pub struct Objects {
    kinds: BTreeMap<GroupKind, Vec<Value>>,
    /// The objects of kinds of which only some were read.
    narrow: BTreeMap<ObjectRequest, Vec<Value>>,
    failed: BTreeMap<GroupKind, Failure>,
    /// Why objects that were asked for by name could not be read.
    failed_requests: BTreeMap<ObjectRequest, Failure>,
    not_served: BTreeSet<GroupKind>,
    observed_at: Timestamp,
    source: String,
    /// Whether their values may be shown.
    shows_values: bool,
}

impl Objects {
    /// No objects yet, seen at a time in a place.
    pub fn new(observed_at: Timestamp, source: impl Into<String>) -> Self {
        Objects {
            kinds: BTreeMap::new(),
            narrow: BTreeMap::new(),
            failed: BTreeMap::new(),
            failed_requests: BTreeMap::new(),
            not_served: BTreeSet::new(),
            observed_at,
            source: source.into(),
            shows_values: false,
        }
    }

    /// The same objects, whose values may be shown: they come from files that whoever sees a proof named.
    #[must_use]
    pub fn showing_values(self) -> Self {
        Objects { shows_values: true, ..self }
    }

    /// When they were seen.
    pub fn observed_at(&self) -> Timestamp {
        self.observed_at
    }

    /// Records that all objects of a kind were read, so that finding none of it is known.
    pub fn mark_read(&mut self, kind: GroupKind) {
        self.kinds.entry(kind).or_default();
    }

    /// Records that the cluster does not serve a kind.
    pub fn not_served(&mut self, kind: GroupKind) {
        self.not_served.insert(kind);
    }

    /// Adds an object; false if it does not say what it is.
    pub fn insert(&mut self, object: Value) -> bool {
        let Some(kind) = GroupKind::of(&object) else { return false };
        self.kinds.entry(kind).or_default().push(object);
        true
    }

    /// Records the objects of a request, where others of the kind were not read.
    pub fn add_requested(&mut self, request: ObjectRequest, objects: Vec<Value>) {
        self.narrow.insert(request, objects);
    }

    /// Records why the objects of a kind could not be read.
    pub fn fail(&mut self, kind: GroupKind, failure: Failure) {
        self.failed.insert(kind, failure);
    }

    /// Records why the objects of one request could not be read; others of the kind may be known.
    pub fn fail_request(&mut self, request: ObjectRequest, failure: Failure) {
        self.failed_requests.insert(request, failure);
    }

    /// All objects of a kind, or why they are not known. A kind that is not served has none.
    pub fn of_kind(&self, kind: &GroupKind) -> Result<&[Value], Failure> {
        if let Some(failure) = self.failed.get(kind) {
            return Err(failure.clone());
        }
        match self.kinds.get(kind) {
            Some(objects) => Ok(objects),
            None if self.not_served.contains(kind) => Ok(&[]),
            None => {
                Err(Failure::new(FailureClass::Absent, format!("{kind} objects are unknown: they were not collected.")))
            }
        }
    }

    /// What the objects say to a question, or why they are not known. `steps` bounds the evaluation.
    pub fn answer(&self, question: &ObjectQuestion, steps: u64) -> Reply<ObjectAnswer> {
        let request = question.request();
        let kind = &request.kind;
        if let Some(failure) = self.failed.get(kind).or_else(|| self.failed_requests.get(request)) {
            return Reply::Failed(failure.clone());
        }
        if self.not_served.contains(kind) {
            return Reply::Answered(self.observation(ObjectAnswer::not_served()));
        }
        let mut narrow = self.narrow.iter().filter(|(read, _)| read.kind == *kind).peekable();
        let objects = match self.kinds.get(kind) {
            Some(objects) => objects,
            None if narrow.peek().is_none() => return Reply::NotConfigured,
            None => {
                let Some((_, objects)) = narrow.find(|(read, _)| read.covers(request)) else {
                    if question.release_constraint().is_some() {
                        return Reply::NotConfigured;
                    }
                    let message = format!("Only {kind} objects that a rule names were read.");
                    return Reply::Failed(Failure::new(FailureClass::Absent, message));
                };
                objects
            }
        };
        let mut tally = question.tally(steps);
        for object in objects {
            tally.add(object);
        }
        match tally.finish() {
            Ok(answer) => Reply::Answered(self.observation(answer)),
            Err(failure) => Reply::Failed(failure),
        }
    }

    /// See [`Evidence::explain`](super::Evidence::explain).
    pub fn explain(&self, question: &ObjectQuestion, name: &ObjectName) -> Option<ObjectExplanation> {
        if !self.shows_values {
            return None;
        }
        let kind = &question.request().kind;
        let narrow = self.narrow.iter().filter(|(read, _)| read.kind == *kind).map(|(_, objects)| objects);
        let mut objects = self.kinds.get(kind).into_iter().chain(narrow).flatten();
        objects.find(|object| short_name(object) == *name).and_then(|object| question.explain(object))
    }

    fn observation(&self, value: ObjectAnswer) -> Observation<ObjectAnswer> {
        Observation {
            value,
            observed_at: self.observed_at,
            source: self.source.clone(),
            reproduce: None,
            warnings: Vec::new(),
        }
    }
}
