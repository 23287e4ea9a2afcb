//! What holds for every kind: identity, deletion, suspension, generations, and the conditions all kinds share.
//!
//! Each function is one step and answers only if it can decide; [`super::health`] takes the first answer. Where a step
//! departs from kstatus, the comment says which hole it closes.

use clearway_yaml::Node;

use super::facts::{Condition, Facts};
use super::verdict::{Basis, State, Verdict};
use super::{DEGRADED_HOLD, Rule};
use crate::model::Status;

fn explicit(verdict: Verdict) -> Verdict {
    Verdict { basis: Basis::Explicit, ..verdict }
}

/// Only the object our apply left counts: not one of the same name, and not an older state of it from a cache.
pub(super) fn identity(facts: &Facts<'_>) -> Option<Verdict> {
    let expected = facts.context.expected.as_ref()?;
    if let Some(uid) = facts.object.meta("uid").filter(|uid| *uid != expected.uid) {
        // The one that was applied is gone; what stands in its place was made by somebody else.
        let message = format!("another object has this name now: uid {uid} instead of {}", expected.uid);
        let verdict = Verdict { proven: true, ..facts.verdict(State::NotFound, "Recreated", message) };
        return Some(explicit(verdict).since(facts.object.created()));
    }
    let (generation, applied) = (facts.generation?, expected.generation?);
    (generation < applied).then(|| {
        let message = format!("generation {generation} was seen, but generation {applied} was applied");
        explicit(Verdict { proven: false, ..facts.in_progress("StaleObservation", message) })
    })
}

/// Deletion has begun.
pub(super) fn terminating(facts: &Facts<'_>) -> Option<Verdict> {
    facts.object.meta("deletionTimestamp").filter(|time| !time.is_empty())?;
    let metadata = facts.object.root.get("metadata");
    let mut message = "Resource scheduled for deletion".to_owned();
    let finalizers = metadata.and_then(|metadata| metadata.get("finalizers")).into_iter().flat_map(Node::items);
    for (index, finalizer) in finalizers.filter_map(Node::as_text).enumerate() {
        message.push_str(if index == 0 { ", held by " } else { ", " });
        message.push_str(finalizer);
    }
    if (facts.object.group(), facts.object.kind()) == ("", "Namespace") {
        // What keeps a namespace is not in its finalizers but in its conditions, all of which are bad when True.
        for held in facts.conditions().filter(|condition| condition.status() == Status::True) {
            message.push_str("; ");
            message.push_str(held.message());
        }
    }
    // The timestamp is when the grace period ends, not when it began.
    let seconds = metadata.and_then(|metadata| metadata.get("deletionGracePeriodSeconds")).and_then(Node::as_int);
    let grace = std::time::Duration::from_secs(seconds.and_then(|seconds| u64::try_from(seconds).ok()).unwrap_or(0));
    let since = facts.object.deleted().map(|end| end.minus(grace));
    let verdict = Verdict { proven: true, ..facts.verdict(State::Terminating, "Terminating", message) };
    Some(explicit(verdict).since(since))
}

/// Its controller was told to leave it alone.
///
/// This stands before the generations: a controller that does not look does not report the generation it does not look
/// at either, and such an object would be waited for until the last clock ends.
pub(super) fn suspended(facts: &Facts<'_>, rule: Option<&Rule>) -> Option<Verdict> {
    let keys = rule.map_or(&["suspend", "paused"][..], |rule| rule.suspended_by);
    let key = keys.iter().find(|key| facts.spec_true(key))?;
    let message = format!("{} is suspended: spec.{key} is true", facts.object.kind());
    Some(explicit(Verdict { proven: true, ..facts.verdict(State::Suspended, "Suspended", message) }))
}

/// The controller has not seen the current generation yet.
///
/// kstatus gives up on an object whose number is a text, as Argo Rollouts write it; here it is read.
pub(super) fn generation(facts: &Facts<'_>) -> Option<Verdict> {
    let (generation, observed) = (facts.generation?, facts.observed?);
    (generation != observed).then(|| {
        let kind = facts.object.kind();
        let message = format!("{kind} generation is {generation}, but latest observed generation is {observed}");
        explicit(Verdict { proven: false, ..facts.in_progress("LatestGenerationNotObserved", message) })
    })
}

/// `Stalled` and `Reconciling`, which any controller may use and which decide alone.
///
/// With both True, kstatus lets the order of the list decide. Here the one about the newer generation does, then
/// `Stalled`: who is stuck and goes on trying is still stuck.
pub(super) fn stalled_or_reconciling(facts: &Facts<'_>) -> Option<Verdict> {
    let stated = |name: &str| facts.condition(name).filter(|condition| condition.status() == Status::True);
    let stalled = stated("Stalled").filter(|condition| condition.grave());
    let (condition, state) = match (stalled, stated("Reconciling")) {
        (Some(stalled), Some(reconciling)) if reconciling.observed() > stalled.observed() => {
            (reconciling, State::InProgress)
        }
        (Some(stalled), _) => (stalled, State::Failed),
        (None, Some(reconciling)) => (reconciling, State::InProgress),
        (None, None) => return None,
    };
    let decided = || explicit(facts.by_condition(state, condition, condition.name()));
    Some(facts.outdated(condition).unwrap_or_else(decided))
}

/// The conditions that sum an object up, for kinds without a rule of their own.
///
/// `Ready` is kstatus's. `Succeeded` is what stands in its place for what runs to completion (Knative, Tekton).
/// `Available` is asked only where neither exists: Cluster API put it in the place of `Ready`, and `OpenShift`'s operators
/// never had another.
pub(super) fn summary(facts: &Facts<'_>) -> Verdict {
    let (mut ready, mut succeeded, mut available) = (None, None, None);
    for condition in facts.conditions() {
        let slot = match condition.name() {
            "Ready" => &mut ready,
            "Succeeded" => &mut succeeded,
            "Available" => &mut available,
            _ => continue,
        };
        slot.get_or_insert(condition);
    }
    // What runs to completion and has not completed is not ready, whatever else somebody wrote.
    let unfinished = succeeded.filter(|succeeded| succeeded.status() != Status::True);
    if let Some(ready) = ready.filter(|_| unfinished.is_none()) {
        let fails = facts.context.false_is_failure;
        return summed_up(
            facts,
            ready,
            "NotReady",
            |verdict| if fails { verdict.hold(DEGRADED_HOLD) } else { verdict },
        );
    }
    if let Some(succeeded) = succeeded {
        return summed_up(facts, succeeded, "NotSucceeded", |verdict| verdict);
    }
    match available {
        Some(available) => by_available(facts, available),
        None => unproven(facts),
    }
}

/// The verdict of a summary condition, whatever its name.
fn summed_up<'a>(
    facts: &Facts<'a>,
    condition: Condition<'a>,
    bad: &str,
    failure: impl FnOnce(Verdict) -> Verdict,
) -> Verdict {
    // A stale True is the commonest false success there is; kstatus reads only the generation of the whole status.
    if let Some(outdated) = facts.outdated(condition) {
        return outdated;
    }
    // What ran to completion and says False has failed for good; for `Ready` see `Context::false_is_failure`.
    // Knative says False for failure only (K3), and gives the reason (K5).
    let knative = facts.object.group().ends_with(".knative.dev") && !condition.reason().is_empty();
    // So does Clearway of its own objects, which are known by this condition.
    let clearway = facts.condition("clearway.dev/ReleaseApplied").is_some();
    let false_fails = condition.name() == "Succeeded" || facts.context.false_is_failure || knative || clearway;
    explicit(match condition.status() {
        Status::True => facts.by_condition(State::Current, condition, condition.name()),
        Status::False if false_fails && condition.grave() => failure(facts.by_condition(State::Failed, condition, bad)),
        // An empty or misspelt status is Unknown. kstatus ignores it and says Current.
        Status::False | Status::Unknown => facts.by_condition(State::InProgress, condition, bad),
    })
}

/// `Available` with its companion `Degraded`: one can be degraded and still serve.
fn by_available<'a>(facts: &Facts<'a>, available: Condition<'a>) -> Verdict {
    let degraded =
        facts.condition("Degraded").filter(|condition| condition.status() == Status::True && condition.grave());
    if let Some(degraded) = degraded.filter(|degraded| facts.outdated(*degraded).is_none()) {
        return explicit(facts.by_condition(State::Failed, degraded, "Degraded").hold(DEGRADED_HOLD));
    }
    summed_up(facts, available, "NotAvailable", |verdict| verdict.hold(DEGRADED_HOLD))
}

/// Nothing to go by. kstatus calls that Current, which is how a resource its controller has not met yet passes for
/// healthy; so an object that is expected to report is given time first, and what is Current after it is marked.
pub(super) fn unproven(facts: &Facts<'_>) -> Verdict {
    let context = facts.context;
    let kind = facts.object.kind();
    let reports = context.has_conditions_schema == Some(true) || context.sibling_ready;
    let created = facts.object.created();
    let verdict = match created.map(|created| created.plus(context.grace)) {
        Some(end) if reports && context.now < end => {
            let message = format!("{kind} has not reported a summary condition yet");
            Verdict { recheck: Some(end), ..facts.in_progress("NotReportedYet", message).since(created) }
        }
        _ => {
            let mut message = "unproven: ".to_owned();
            let mut names = facts.conditions().map(Condition::name).filter(|name| !name.is_empty());
            match names.next() {
                None => message.push_str("the object reports nothing about its health"),
                Some(first) => {
                    message.push_str("none of its conditions is a summary: ");
                    message.push_str(first);
                    for name in names {
                        message.push_str(", ");
                        message.push_str(name);
                    }
                }
            }
            facts.current("Unproven", message)
        }
    };
    Verdict { basis: Basis::Default, proven: false, ..verdict }
}
