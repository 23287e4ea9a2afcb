//! Events about an object, each recorded once.

use clearway_core::{Digest, Event, EventType};
use std::collections::BTreeSet;

use clearway_advice::evidence::{Failure as QueryFailure, FailureClass, Observation};

use super::{Effect, Reconciler};
use crate::rollout::{Failure, Progress, Rollout, Step, UpdateRequest};

/// Events that are remembered.
const MAX_RECORDED: usize = 1000;

impl Reconciler {
    /// Records what is new in a state that follows the present one.
    pub(super) fn record_rollout(&mut self, next: &Rollout, effects: &mut Vec<Effect>) {
        let first = next.phase() != self.rollout.phase();
        if let Some((request, step, why)) = next.refusal() {
            let reason = match step {
                Step::Retrieve => "RetrievePayloadFailed",
                Step::Load => "LoadPayloadFailed",
                Step::VerifyVersion => "VerifyPayloadVersionFailed",
                Step::Preconditions => "PreconditionBlock",
            };
            return self
                .record(named_event(EventType::Warning, reason, "Release not accepted", request, "", why), effects);
        }
        let failures;
        let (request, version, type_, reason, text, why) = match next {
            Rollout::Preparing { request, step: Step::Retrieve } | Rollout::Waiting { request, .. } if first => {
                (request, "", EventType::Normal, "RetrievePayload", "Retrieving and verifying payload", "")
            }
            Rollout::Accepted { request, prepared } if first => {
                (request, prepared.version.as_str(), EventType::Normal, "PayloadLoaded", "Payload loaded", "")
            }
            Rollout::Applying { request, prepared, progress } => {
                let version = prepared.version.as_str();
                if first {
                    let text = if request.resumes { "Update continued" } else { "Update begun" };
                    let event = named_event(EventType::Normal, "UpdateBegun", text, request, version, "");
                    self.record(event, effects);
                }
                if !has_new_reason(&self.rollout, progress) {
                    return;
                }
                failures = joined(&progress.failures);
                (request, version, EventType::Warning, "UpdateFailing", "Update failing", failures.as_str())
            }
            Rollout::Done { request, prepared, .. } if first => {
                (request, prepared.version.as_str(), EventType::Normal, "UpdateCompleted", "Update completed", "")
            }
            _ => return,
        };
        self.record(named_event(type_, reason, text, request, version, why), effects);
    }

    /// Records when the metrics store stops answering, and when it answers again.
    pub(super) fn record_metrics_contact(&mut self, effects: &mut Vec<Effect>) {
        let MetricsContact { answered, unreachable, lost } = std::mem::take(&mut self.evidence.contact);
        self.evidence.contact.lost = lost;
        let (event, over) = match unreachable {
            _ if answered && lost => {
                let message = "Risk queries succeed again.";
                (Event::new(EventType::Normal, "MetricsReachable", message), "MetricsUnreachable")
            }
            Some(why) if !answered && !lost => {
                let message = format!("Risk queries fail: {why}");
                (Event::new(EventType::Warning, "MetricsUnreachable", message), "MetricsReachable")
            }
            _ => return,
        };
        self.evidence.contact.lost = !lost;
        self.record(event, effects);
        // So that the other is recorded again when it happens again.
        self.events.forget(over);
    }

    /// Records an event, unless it is the last one of its reason.
    pub(super) fn record(&mut self, event: Event, effects: &mut Vec<Effect>) {
        effects.extend(self.events.if_new(event).map(Effect::Record));
    }
}

/// Whether the metrics store answers. What counts is the whole round: one answer is enough.
#[derive(Debug, Default)]
pub(super) struct MetricsContact {
    /// Whether a query of the present round was answered.
    answered: bool,
    /// Why one of them was not.
    unreachable: Option<String>,
    /// Whether none was in the last round.
    lost: bool,
}

impl MetricsContact {
    /// Takes the answer of one query.
    pub(super) fn answered(&mut self, result: &Result<Observation<clearway_promql::eval::Value>, QueryFailure>) {
        match result {
            Err(failure) if matches!(failure.class, FailureClass::Unreachable | FailureClass::Unauthorized) => {
                self.unreachable.get_or_insert_with(|| failure.message.clone());
            }
            // Whatever else went wrong, somebody answered.
            _ => self.answered = true,
        }
    }
}

/// Recently recorded events, for deduplication: the reason, and the digest of release and message, a line each. Texts come
/// from outside, and may be long.
#[derive(Debug, Default)]
pub(super) struct RecordedEvents(BTreeSet<String>);

impl RecordedEvents {
    /// The event, unless the last one of its reason said the same.
    pub(super) fn if_new(&mut self, event: Event) -> Option<Event> {
        let key = RecordedEvents::key(&event);
        if self.0.contains(&key) {
            return None;
        }
        self.forget(&event.reason);
        self.0.insert(key);
        Some(event)
    }

    /// The event, unless it was recorded at any time before. All are forgotten when there are very many.
    pub(super) fn if_never_recorded(&mut self, event: Event) -> Option<Event> {
        if self.0.len() > MAX_RECORDED {
            self.0.clear();
        }
        self.0.insert(RecordedEvents::key(&event)).then_some(event)
    }

    /// Forgets what was recorded for a reason.
    fn forget(&mut self, reason: &str) {
        self.0.retain(|recorded| recorded.strip_prefix(reason).is_none_or(|rest| !rest.starts_with('\n')));
    }

    fn key(Event { reason, message, release, .. }: &Event) -> String {
        let about = format!("{}\n{message}", release.as_deref().unwrap_or_default());
        format!("{reason}\n{}", Digest::sha256(about.as_bytes()))
    }
}

/// An event that names the release it is about. `version` is what the release says itself, once it was read.
fn named_event(type_: EventType, reason: &str, text: &str, request: &UpdateRequest, version: &str, why: &str) -> Event {
    let version = if version.is_empty() { &request.release.version } else { version };
    let why = if why.is_empty() { String::new() } else { format!(": {why}") };
    let message = format!("{text} version={version:?} image={:?}{why}", request.release.image);
    let name = if version.is_empty() { &request.release.image } else { version };
    Event::new(type_, reason, message).about(name)
}

/// Whether an update fails for a reason that was not reported before.
fn has_new_reason(before: &Rollout, progress: &Progress) -> bool {
    let known = |failure: &Failure| match before {
        Rollout::Applying { progress, .. } => progress.failures.iter().any(|one| one.reason == failure.reason),
        _ => false,
    };
    !progress.failures.iter().all(known)
}

fn joined(failures: &[Failure]) -> String {
    let messages: Vec<&str> = failures.iter().map(|failure| failure.message.as_str()).collect();
    messages.join("; ")
}
