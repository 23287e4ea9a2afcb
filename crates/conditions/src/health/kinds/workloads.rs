//! The controllers of pods that keep running: Deployment, `ReplicaSet`, `StatefulSet`, `DaemonSet`.
//!
//! The checks and their order are kstatus's, so that reasons and messages are the ones people know.

use std::time::Duration;

use clearway_yaml::Node;

use crate::health::facts::{Condition, Facts};
use crate::health::verdict::{State, Verdict};
use crate::model::Status;

/// What the Deployment controller takes for "no deadline".
const NO_DEADLINE: i64 = i32::MAX as i64;

/// The first shortfall in a list of (have, want, reason, word).
fn shortfall(facts: &Facts<'_>, checks: &[(i64, i64, &str, &str)]) -> Option<Verdict> {
    let (have, want, reason, word) = checks.iter().find(|(have, want, ..)| have < want)?;
    Some(facts.in_progress(reason, format!("{word}: {have}/{want}")))
}

/// More pods than asked for: the old ones are still going.
fn extra(facts: &Facts<'_>, have: i64, want: i64) -> Option<Verdict> {
    (have > want).then(|| facts.in_progress("ExtraPods", format!("Pending termination: {}", have.saturating_sub(want))))
}

/// What is current stays so for `minReadySeconds` before it is believed, where the spec asks for it.
fn settled(facts: &Facts<'_>, verdict: Verdict) -> Verdict {
    match facts.spec_int(&["minReadySeconds"]).and_then(|seconds| u64::try_from(seconds).ok()) {
        Some(seconds) if seconds > 0 => verdict.hold(Duration::from_secs(seconds)),
        _ => verdict,
    }
}

pub(in crate::health) fn deployment(facts: &Facts<'_>) -> Verdict {
    let (progressing, available) = (facts.condition("Progressing"), facts.condition("Available"));
    if let Some(late) = progressing.filter(|condition| condition.reason() == "ProgressDeadlineExceeded") {
        let verdict = facts.by_condition(State::Failed, late, "ProgressDeadlineExceeded");
        if verdict.message.is_empty() {
            return Verdict { message: "Progress deadline exceeded".to_owned(), ..verdict };
        }
        return verdict;
    }
    // Without a deadline the controller does not write `Progressing`.
    let rolled_out = facts.spec_int(&["progressDeadlineSeconds"]).is_none_or(|seconds| seconds == NO_DEADLINE)
        || progressing.is_some_and(|condition| {
            condition.status() == Status::True && condition.reason() == "NewReplicaSetAvailable"
        });
    let want = facts.spec_int(&["replicas"]).unwrap_or(1);
    let (have, updated) = (facts.count("replicas"), facts.count("updatedReplicas"));
    let since = available.and_then(Condition::since);
    let is_available = available.is_some_and(|condition| condition.status() == Status::True);
    let behind =
        shortfall(facts, &[(have, want, "LessReplicas", "Replicas"), (updated, want, "LessUpdated", "Updated")])
            .or_else(|| extra(facts, have, want))
            .or_else(|| {
                let (ready, serving) = (facts.count("readyReplicas"), facts.count("availableReplicas"));
                let checks = [(serving, updated, "LessAvailable", "Available"), (ready, want, "LessReady", "Ready")];
                shortfall(facts, &checks)
            })
            .or_else(|| (!rolled_out).then(|| facts.in_progress("ReplicaSetNotAvailable", "ReplicaSet not Available")))
            .or_else(|| {
                (!is_available).then(|| facts.in_progress("DeploymentNotAvailable", "Deployment not Available"))
            });
    // Of an unavailable Deployment it is known since when; of one that is merely rolling out it is not.
    if let Some(verdict) = behind {
        return verdict.since(since.filter(|_| !is_available));
    }
    let message = format!("Deployment is available. Replicas: {have}");
    settled(facts, facts.current("DeploymentAvailable", message).since(since))
}

pub(in crate::health) fn replica_set(facts: &Facts<'_>) -> Verdict {
    let failure = facts.condition("ReplicaFailure").filter(|condition| condition.status() == Status::True);
    if let Some(failure) = failure {
        // Not a failure for good: the controller goes on trying, and a raised quota lets it succeed.
        let mut message = "Replica Failure condition. Check Pods".to_owned();
        if !failure.message().is_empty() {
            message.push_str(": ");
            message.push_str(failure.message());
        }
        return facts.in_progress("ReplicaFailure", message).since(failure.since());
    }
    let want = facts.spec_int(&["replicas"]).unwrap_or(1);
    let have = facts.count("replicas");
    let checks = [
        (facts.count("fullyLabeledReplicas"), want, "LessLabelled", "Labelled"),
        (facts.count("availableReplicas"), want, "LessAvailable", "Available"),
        (facts.count("readyReplicas"), want, "LessReady", "Ready"),
    ];
    shortfall(facts, &checks).or_else(|| extra(facts, have, want)).unwrap_or_else(|| {
        let message = format!("ReplicaSet is available. Replicas: {have}");
        settled(facts, facts.current("ReplicaSetAvailable", message))
    })
}

pub(in crate::health) fn stateful_set(facts: &Facts<'_>) -> Verdict {
    if facts.spec_text(&["updateStrategy", "type"]) == Some("OnDelete") {
        // Its user moves it on by deleting pods; there is no point at which it is done.
        return facts.current("OnDelete", "StatefulSet is using the ondelete update strategy");
    }
    let want = facts.spec_int(&["replicas"]).unwrap_or(1);
    let (have, updated) = (facts.count("replicas"), facts.count("updatedReplicas"));
    let ready = facts.count("readyReplicas");
    let counted = shortfall(facts, &[(have, want, "LessReplicas", "Replicas"), (ready, want, "LessReady", "Ready")])
        .or_else(|| extra(facts, have, want));
    if let Some(verdict) = counted {
        return verdict;
    }
    let done = || {
        let message = format!("All replicas scheduled as expected. Replicas: {have}");
        settled(facts, facts.current("ReplicasReady", message))
    };
    if let Some(partition) = facts.spec_int(&["updateStrategy", "rollingUpdate", "partition"]) {
        let above = want.saturating_sub(partition);
        return shortfall(facts, &[(updated, above, "PartitionRollout", "updated")]).unwrap_or_else(|| {
            // The API server writes a partition of 0 into every StatefulSet, which is to say none.
            if partition == 0 {
                return done();
            }
            let message = format!("Partition rollout complete. updated: {updated}");
            settled(facts, facts.current("PartitionRolledOut", message))
        });
    }
    shortfall(facts, &[(facts.count("currentReplicas"), want, "LessCurrent", "current")])
        .or_else(|| {
            (facts.status_text("currentRevision") != facts.status_text("updateRevision"))
                .then(|| facts.in_progress("RevisionMismatch", "Waiting for updated revision to match current"))
        })
        .unwrap_or_else(done)
}

pub(in crate::health) fn daemon_set(facts: &Facts<'_>) -> Verdict {
    // The generations were compared already if both are there. A DaemonSet its controller has met has both.
    if facts.generation.is_none() {
        return facts.in_progress("NoGeneration", "DaemonSet metadata.generation not found");
    }
    if facts.observed.is_none() {
        return facts.in_progress("NoObservedGeneration", "DaemonSet status.observedGeneration not found");
    }
    let want = facts.status.and_then(|status| status.get("desiredNumberScheduled")).and_then(Node::as_int);
    let Some(want) = want.filter(|want| *want != -1) else {
        return facts.in_progress("NoDesiredNumber", "Missing .status.desiredNumberScheduled");
    };
    let checks = [
        (facts.count("currentNumberScheduled"), want, "LessCurrent", "Current"),
        (facts.count("updatedNumberScheduled"), want, "LessUpdated", "Updated"),
        (facts.count("numberAvailable"), want, "LessAvailable", "Available"),
        (facts.count("numberReady"), want, "LessReady", "Ready"),
    ];
    shortfall(facts, &checks).unwrap_or_else(|| {
        let message = format!("All replicas scheduled as expected. Replicas: {want}");
        settled(facts, facts.current("PodsReady", message))
    })
}
