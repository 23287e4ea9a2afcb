//! What is told of an object: each once, as an Event and in the log.

use clearway_advice::evidence::{Failure as QueryFailure, FailureClass, Observation};
use clearway_sources::store::{Event, Weight};

use super::{Effect, MetricsContact, Reconciler};
use crate::work::{Failure, Order, Progress, Step, Work};

impl Reconciler {
    /// Records an event about what is new in `work`, which comes after `self.work`.
    pub(super) fn tell_of(&mut self, work: &Work, effects: &mut Vec<Effect>) {
        let first = std::mem::discriminant(work) != std::mem::discriminant(&self.work);
        let failures;
        let (order, version, weight, reason, text, why) = match work {
            Work::Preparing { order, step: Step::Retrieve } if first => {
                (order, "", Weight::Normal, "RetrievePayload", "Retrieving and verifying payload", "")
            }
            Work::NotAccepted { order, step, why } => {
                let reason = match step {
                    Step::Retrieve => "RetrievePayloadFailed",
                    Step::Load => "LoadPayloadFailed",
                    Step::VerifyVersion => "VerifyPayloadVersionFailed",
                    Step::Preconditions => "PreconditionBlock",
                };
                (order, "", Weight::Warning, reason, "Release not accepted", why.as_str())
            }
            Work::Accepted { order, prepared } if first => {
                (order, prepared.version.as_str(), Weight::Normal, "PayloadLoaded", "Payload loaded", "")
            }
            Work::Applying { order, prepared, progress } => {
                let version = prepared.version.as_str();
                if first {
                    let text = if self.resumes { "Update continued" } else { "Update begun" };
                    let event = named_event(Weight::Normal, "UpdateBegun", text, order, version, "");
                    self.say(event, effects);
                }
                if !has_new_reason(&self.work, progress) {
                    return;
                }
                failures = joined(&progress.failures);
                (order, version, Weight::Warning, "UpdateFailing", "Update failing", failures.as_str())
            }
            Work::Done { order, prepared, .. } if first => {
                (order, prepared.version.as_str(), Weight::Normal, "UpdateCompleted", "Update completed", "")
            }
            _ => return,
        };
        self.say(named_event(weight, reason, text, order, version, why), effects);
    }

    /// Takes in whether somebody answered a query. What counts is the whole round: one answer is enough.
    pub(super) fn note_answer(&mut self, result: &Result<Observation<clearway_promql::eval::Value>, QueryFailure>) {
        match result {
            Err(failure) if matches!(failure.class, FailureClass::Unreachable | FailureClass::Unauthorized) => {
                self.metrics.unreachable.get_or_insert_with(|| failure.message.clone());
            }
            // Whatever else went wrong, somebody answered.
            _ => self.metrics.answered = true,
        }
    }

    /// Tells when the metrics store goes away, and when it is back.
    pub(super) fn tell_of_metrics(&mut self, effects: &mut Vec<Effect>) {
        let MetricsContact { answered, unreachable, away } = std::mem::take(&mut self.metrics);
        self.metrics.away = away;
        match unreachable {
            _ if answered => {
                if away {
                    self.say(
                        Event::new(Weight::Normal, "MetricsReachable", "Queries of risks are answered again."),
                        effects,
                    );
                    self.metrics.away = false;
                }
            }
            Some(why) if !away => {
                let message = format!("Queries of risks get no answer: {why}");
                self.say(Event::new(Weight::Warning, "MetricsUnreachable", message), effects);
                self.metrics.away = true;
            }
            _ => return,
        }
        // So that the other is said again when it happens again.
        let over = if self.metrics.away { "MetricsReachable" } else { "MetricsUnreachable" };
        self.said.retain(|said| !said.starts_with(&format!("{over}\n")));
    }

    /// Says something once until something else is said under the same word.
    pub(super) fn say(&mut self, event: Event, effects: &mut Vec<Effect>) {
        let Event { reason, message, release, .. } = &event;
        let key = format!("{reason}\n{}\n{message}", release.as_deref().unwrap_or_default());
        if self.said.contains(&key) {
            return;
        }
        self.said.retain(|said| !said.starts_with(&format!("{reason}\n")));
        self.said.insert(key);
        effects.push(Effect::Tell(event));
    }
}

/// An event that names the release it is about. `version` is what the release says itself, once it was read.
fn named_event(weight: Weight, reason: &str, text: &str, order: &Order, version: &str, why: &str) -> Event {
    let version = if version.is_empty() { &order.release.version } else { version };
    let why = if why.is_empty() { String::new() } else { format!(": {why}") };
    let message = format!("{text} version={version:?} image={:?}{why}", order.release.image);
    let name = if version.is_empty() { &order.release.image } else { version };
    Event::new(weight, reason, message).about(name)
}

/// Whether an update fails for a reason that was not reported before.
fn has_new_reason(before: &Work, progress: &Progress) -> bool {
    let known = |failure: &Failure| match before {
        Work::Applying { progress, .. } => progress.failures.iter().any(|one| one.reason == failure.reason),
        _ => false,
    };
    !progress.failures.iter().all(known)
}

fn joined(failures: &[Failure]) -> String {
    let messages: Vec<&str> = failures.iter().map(|failure| failure.message.as_str()).collect();
    messages.join("; ")
}
