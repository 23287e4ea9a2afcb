//! What happens to one ClusterVersion or ComponentVersion: a state machine without effects.
//!
//! [`Reconciler::step`] takes an [`Input`] and the time, and returns what is to be done. Everything that waits, reads or
//! writes is an [`Effect`] for the driver; its outcome comes back as an input. At rest a step returns nothing: a status is
//! stored only if it differs from what the object has, compared as its CRD keeps it.
//!
//! Each subject has its part of the state and its file: the update service (`upstream.rs`), what the cluster says
//! (`evidence.rs`), the update that is applied (`update.rs`), what is written (`store.rs`) and recorded (`events.rs`).

mod events;
mod evidence;
mod io;
mod schedule;
mod settings;
mod store;
mod update;
mod upstream;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use clearway_advice::Assessment;
use clearway_core::{Event, EventType, Timestamp};
use serde_json::Value;

pub use io::{Effect, Input, ObjectRecords, UpstreamAnswer};
pub use settings::{Settings, UpdateMode};

use crate::api::VersionObject;
use crate::rollout::Rollout;
use crate::rollout::transitions::Trigger;
use crate::status::shape::Shape;
use crate::upstream::Knowledge;
use events::RecordedEvents;
use evidence::ClusterEvidence;
use store::StatusWrites;
use upstream::{CachedBefore, Upstream};

/// The annotation that asks for everything to be evaluated again; any change of its value does.
pub const RE_EVALUATE: &str = "clearway.dev/re-evaluate";
/// Delay after another writer changed the object first: two who write in turn must not do nothing else.
const AFTER_CONFLICT: Duration = Duration::from_secs(1);
/// Delay after a status could not be stored.
const AFTER_FAILURE: Duration = Duration::from_secs(10);

/// The state of one object.
#[derive(Debug)]
pub struct Reconciler {
    settings: Settings,
    /// What the CRD keeps.
    shape: Shape,
    /// Nothing while there is no such object.
    subject: Option<Subject>,
    upstream: Upstream,
    evidence: ClusterEvidence,
    rollout: Rollout,
    writes: StatusWrites,
    statistics: Statistics,
    events: RecordedEvents,
    stepped_at: Option<Timestamp>,
}

/// The object as it was read last.
#[derive(Debug)]
struct Subject {
    /// As it is stored. It may be large, and is shared with whoever shows it.
    raw: Arc<Value>,
    object: Arc<VersionObject>,
    /// What is wrong with its spec.
    remarks: Vec<String>,
}

/// Counted since the start, for metrics.
#[derive(Debug, Default)]
struct Statistics {
    counts: Counts,
    transitions: Arc<BTreeMap<String, u64>>,
}

/// What was done since the start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Queries that gave an answer.
    pub answered: u64,
    /// Queries that failed.
    pub failed: u64,
    /// Statuses that were stored.
    pub stored: u64,
}

impl Reconciler {
    /// Nothing is known yet.
    pub fn new(settings: Settings) -> Self {
        let evidence = ClusterEvidence::new(settings.round_settings());
        Reconciler {
            settings,
            shape: Shape::default(),
            subject: None,
            upstream: Upstream::default(),
            evidence,
            rollout: Rollout::Idle,
            writes: StatusWrites::default(),
            statistics: Statistics::default(),
            events: RecordedEvents::default(),
            stepped_at: None,
        }
    }

    /// Applies an input, and returns what is to be done.
    pub fn step(&mut self, input: Input, now: Timestamp) -> Vec<Effect> {
        let mut effects = Vec::new();
        let is_cached = matches!(input, Input::Cached { .. });
        if self.stepped_at.is_some_and(|before| now < before) {
            self.turn_back(now);
        }
        self.stepped_at = Some(now);
        self.apply_input(input, now, &mut effects);
        let Some(object) = self.subject.as_ref().map(|subject| subject.object.clone()) else {
            // The room that there was for it may be another one's later.
            if !is_cached {
                self.upstream.discard_cached(&mut effects);
            }
            return effects;
        };
        self.retrieve(&object, now, &mut effects);
        self.evaluate(now, &mut effects);
        let invalid = self.advance_update(&object, &mut effects);
        self.store_status(&object, &invalid, now, &mut effects);
        self.mark_assessed(&mut effects);
        self.cache(now, &mut effects);
        effects
    }

    /// Does not wait for as long as the clock was set back, and does not do without the evidence that is of the future now.
    fn turn_back(&mut self, now: Timestamp) {
        self.upstream.turn_back(now, &self.settings);
        self.evidence.turn_back(now, &self.settings);
        self.writes.turn_back(now);
    }

    /// When the next step is due if nothing else happens.
    pub fn next(&self) -> Option<Timestamp> {
        self.subject.as_ref()?;
        let evidence = [self.evidence.rounds.next(), self.evidence.look_due()];
        let others = [self.upstream.due(), self.writes.retry_at, self.writes.held_until];
        evidence.into_iter().chain(others).flatten().min()
    }

    /// The last assessment, with all its proofs; nothing while nothing is known of updates.
    pub fn assessment(&self) -> Option<&Arc<Assessment>> {
        self.writes.assessment.as_ref()
    }

    /// The object as it was stored last.
    pub fn raw(&self) -> Option<&Arc<Value>> {
        self.subject.as_ref().map(|subject| &subject.raw)
    }

    /// How often each condition changed its status since the start.
    pub fn transitions(&self) -> Arc<BTreeMap<String, u64>> {
        self.statistics.transitions.clone()
    }

    /// When the update service answered last; if it never did, when it was first to be asked.
    pub fn retrieved_at(&self) -> Option<Timestamp> {
        self.upstream.retrieved_at
    }

    /// What was done since the start.
    pub fn counts(&self) -> Counts {
        self.statistics.counts
    }

    /// The state of the update that the object asks for.
    pub fn rollout(&self) -> &Rollout {
        &self.rollout
    }

    /// What the update service said.
    pub fn knowledge(&self) -> Option<&Arc<Knowledge>> {
        self.upstream.knowledge.as_ref()
    }

    /// Bytes of memory for what is kept of update services, as [`Knowledge::memory`] estimates them.
    pub fn kept_memory(&self) -> usize {
        let knowledge = self.upstream.knowledge.as_ref();
        let (memory, part) = knowledge.map_or((0, 0), |known| (known.memory(), known.plan.unwanted_queries_memory()));
        // The queries of an earlier answer rest for a while, and have a part in the memory of the present one.
        memory.saturating_add(self.evidence.rounds.unwanted_memory().saturating_sub(part))
    }

    /// The object as it was read last.
    pub fn object(&self) -> Option<&VersionObject> {
        self.subject.as_ref().map(|subject| subject.object.as_ref())
    }

    fn apply_input(&mut self, input: Input, now: Timestamp, effects: &mut Vec<Effect>) {
        match input {
            // Whether it is about the same question is known when the object is.
            Input::Cached { state, room } => {
                let cached = CachedBefore { state: *state, room };
                self.upstream.cached_before = Some(cached).filter(|_| !self.upstream.tried);
            }
            Input::Shape(shape) => self.shape = *shape,
            Input::Object(raw) => self.read(raw, now),
            Input::Gone => {
                self.subject = None;
                if self.rollout.active_request().is_some() {
                    effects.push(Effect::Stop);
                }
                self.change_rollout(Trigger::Deleted, Rollout::Idle, effects);
            }
            Input::Fetched { ask, outcome } => self.fetched(&ask, outcome, now, effects),
            Input::Evidence { query, result } => self.answered(&query, result, now, effects),
            Input::Looked { number, mut objects } => {
                objects.limit(self.upstream.knowledge.as_ref().map(|knowledge| &knowledge.plan));
                self.evidence.record_objects(number, objects, self.settings.look_again, now);
                self.writes.composed = false;
            }
            Input::Rollout(rollout) => {
                // A worker that was stopped may still report.
                if rollout.request() == self.rollout.active_request() {
                    self.change_rollout(Trigger::Reported, rollout, effects);
                }
            }
            Input::Stored(Ok(raw)) => {
                self.writes.stored(&raw["status"], now);
                self.statistics.counts.stored += 1;
                self.read(raw, now);
            }
            Input::Overtaken(raw) => {
                self.writes.failed(now.plus(AFTER_CONFLICT));
                self.read(raw, now);
            }
            Input::Stored(Err(why)) => {
                self.writes.failed(now.plus(AFTER_FAILURE));
                let message = format!("The status could not be stored: {why}");
                self.record(Event::new(EventType::Warning, "StatusNotStored", message), effects);
            }
            Input::Tick => {}
        }
    }

    fn read(&mut self, raw: Box<Value>, now: Timestamp) {
        let Ok((object, remarks)) = VersionObject::read(&raw) else { return };
        let asked = |object: &VersionObject| object.metadata.annotations.as_ref()?.get(RE_EVALUATE).cloned();
        if self.object().is_some_and(|before| asked(before) != asked(&object)) {
            self.evaluate_again(now);
        }
        self.upstream.retrieved_at.get_or_insert(now);
        self.count_transitions(&object);
        let about_spec = remarks.iter().filter(|remark| remark.path.starts_with("spec"));
        let remarks = about_spec.map(ToString::to_string).collect();
        self.subject = Some(Subject { raw: Arc::new(*raw), object: Arc::new(object), remarks });
    }

    /// Asks everything again. Answers count until new ones come.
    fn evaluate_again(&mut self, now: Timestamp) {
        self.evidence.restart(self.settings.round_settings());
        self.set_questions(now);
        self.upstream.refetch();
    }

    /// Counts the conditions whose status differs from that of the object as it was read before.
    fn count_transitions(&mut self, object: &VersionObject) {
        let before = self.subject.as_ref().and_then(|subject| subject.object.status.as_ref());
        let (Some(before), Some(after)) = (before, object.status.as_ref()) else { return };
        for condition in after.conditions.iter() {
            let same = before.conditions.get(condition.type_).is_some_and(|old| old.status == condition.status);
            if !same {
                let transitions = Arc::make_mut(&mut self.statistics.transitions);
                *transitions.entry(condition.type_.to_owned()).or_default() += 1;
            }
        }
    }
}
