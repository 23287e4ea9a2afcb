//! The status: when it is computed and written.

use std::sync::Arc;
use std::time::Duration;

use clearway_advice::Assessment;
use clearway_core::{Digest, Event, EventType, Timestamp};
use serde_json::Value;

use super::{Effect, Reconciler};
use crate::api::VersionObject;
use crate::rollout::Rollout;
use crate::status::shape::Shape;
use crate::status::{self, StatusInput};

/// Minimum time between two statuses about the progress of one thing.
const BETWEEN_WRITES: Duration = Duration::from_secs(1);
/// Maximum time a status waits for answers that are about to come.
const FOR_ANSWERS: Duration = Duration::from_secs(2);

/// What was computed and written.
#[derive(Debug, Default)]
pub(super) struct StatusWrites {
    /// Until when a status that differs is held back.
    pub(super) held_until: Option<Timestamp>,
    /// Not before this time after a failure to store.
    pub(super) retry_at: Option<Timestamp>,
    /// What the last status was computed from.
    pub(super) assessment: Option<Arc<Assessment>>,
    /// Whether a status was computed from the present answer of the update service and all evidence that there is.
    pub(super) composed: bool,
    composed_at: Option<Timestamp>,
    stored_at: Option<Timestamp>,
    /// The digest of the status that is being stored.
    storing: Option<Digest>,
    /// The digest of the status that was stored last, and of what the store made of it.
    stored: Option<(Digest, Digest)>,
}

impl StatusWrites {
    pub(super) fn stored(&mut self, status: &Value, now: Timestamp) {
        (self.retry_at, self.stored_at) = (None, Some(now));
        self.stored = self.storing.take().map(|sent| (sent, digest(status)));
    }

    pub(super) fn failed(&mut self, retry_at: Timestamp) {
        (self.storing, self.retry_at) = (None, Some(retry_at));
    }

    /// Whether a store was sent this status already, and made of it what it has now: storing it again changes nothing.
    fn is_stored(&self, status: &Value, now: &Value) -> bool {
        self.stored.as_ref().is_some_and(|(sent, became)| *sent == digest(status) && *became == digest(now))
    }

    /// Does not wait for as long as the clock was set back.
    pub(super) fn turn_back(&mut self, now: Timestamp) {
        let limit = |time: Option<Timestamp>| time.map(|time| time.min(now));
        (self.composed_at, self.stored_at) = (limit(self.composed_at), limit(self.stored_at));
        self.retry_at = limit(self.retry_at);
    }
}

fn digest(status: &Value) -> Digest {
    Digest::sha256(status.to_string().as_bytes())
}

impl Reconciler {
    /// Stores the status if it differs from what the object has.
    pub(super) fn store_status(
        &mut self,
        object: &VersionObject,
        invalid: &[String],
        now: Timestamp,
        effects: &mut Vec<Effect>,
    ) {
        self.writes.held_until = self.held(object, now);
        let Some(subject) = &self.subject else { return };
        let writes = &mut self.writes;
        if writes.storing.is_some() || writes.held_until.is_some() || writes.retry_at.is_some_and(|again| again > now) {
            return;
        }
        writes.retry_at = None;
        let (rounds, objects) = (&self.evidence.rounds, self.evidence.objects.as_ref());
        let known = StatusInput {
            knowledge: self.upstream.knowledge.as_deref(),
            evidence: status::evidence(rounds, objects, &object.spec, &self.settings),
            retrieval: self.upstream.retrieval(),
            rollout: &self.rollout,
            invalid,
        };
        let mut composed = status::compose(object, &known, &self.shape, now);
        writes.assessment = composed.assessment.take().map(Arc::new);
        (writes.composed_at, writes.composed) = (Some(now), true);
        let before = &subject.raw["status"];
        if composed.is_too_large {
            let event = Event::new(EventType::Warning, "StatusNotStored", Shape::too_large());
            effects.extend(self.events.if_new(event).map(Effect::Record));
        } else if !self.shape.same(&composed.status, before) && !writes.is_stored(&composed.status, before) {
            writes.storing = Some(digest(&composed.status));
            let mut next = Box::new(Value::clone(&subject.raw));
            next["status"] = composed.status;
            effects.push(Effect::Store(next));
        }
        for note in &composed.left_out {
            let message = format!("Left out of the status because it cannot be stored: {note}");
            let event = Event::new(EventType::Warning, "UpdateLeftOut", message);
            effects.extend(self.events.if_never_recorded(event).map(Effect::Record));
        }
    }

    /// Until when to wait with a status, because it would be out of date in a moment.
    fn held(&self, object: &VersionObject, now: Timestamp) -> Option<Timestamp> {
        let updating = object.status.as_ref().is_some_and(|status| status.open_entry().is_some());
        let later = |since: Option<Timestamp>, by: Duration| since.map(|since| since.plus(by)).filter(|end| *end > now);
        // Very many answers in a second are not as many statuses.
        let composed = self.writes.composed_at.filter(|_| self.evidence.rounds.is_open());
        match &self.rollout {
            Rollout::Applying { .. } => later(self.writes.stored_at, BETWEEN_WRITES),
            // A first look at everything becomes one status, not one for each answer.
            Rollout::Idle if !updating => {
                let asking = self.upstream.asking.filter(|_| !self.upstream.tried);
                let round = later(self.evidence.round_since, FOR_ANSWERS);
                later(asking, FOR_ANSWERS).max(round).max(later(composed, BETWEEN_WRITES))
            }
            // These may stay for long.
            Rollout::Waiting { .. } | Rollout::NotAccepted { .. } | Rollout::Done { .. } => {
                later(composed, BETWEEN_WRITES)
            }
            // What an update waits for is never held back.
            _ => None,
        }
    }
}
