//! The conditions of a ClusterVersion or ComponentVersion: declared once, and said from what is known.

use clearway_conditions::model::{Conditions, KeptFields, Pass, Verdict};
use clearway_conditions::{Reason, condition_set, reason};
use clearway_core::{Generation, Timestamp};

use crate::api::{Kind, Release, Status, UpdateState};
use crate::rollout::{Failure, Progress, Rollout, SEVERAL_FAILURES, Step, reported_failures};
use crate::upstream::GraphFindings;
use crate::upstream::RetrievalError;

condition_set! {
    /// The conditions of a ClusterVersion or ComponentVersion.
    pub set Versioned { summary: Ready }
    /// Always present.
    pub always Aspect {
        /// A release was applied completely at least once.
        Available: dependent,
        /// The desired release was retrieved, verified and can be applied.
        ReleaseAccepted: dependent,
        /// Every object of the desired release is applied and healthy (K3).
        ReleaseApplied = "clearway.dev/ReleaseApplied": dependent,
        /// The updates in the status are current.
        RetrievedUpdates: info,
        /// An update is being applied.
        Progressing: info,
        /// The update cannot continue.
        Failing: negative,
    }
    /// Present only while the problem exists.
    pub problems Problem {
        /// The spec is invalid.
        Invalid: problem,
        /// Updates cannot be stored in the status as they are, and are left out of it (U15).
        UpdatesLeftOut = "clearway.dev/UpdatesLeftOut": problem_warning,
        /// A check failed for the update that is being applied, and was overridden.
        UpdateConcerns = "clearway.dev/UpdateConcerns": problem_warning,
    }
}

/// What there is to say.
#[derive(Debug)]
pub(crate) struct Sayings<'a> {
    /// What it is the version of.
    pub(crate) kind: Kind,
    /// The status as it is going to be, but for its conditions.
    pub(crate) status: &'a Status,
    /// What is wrong with the spec.
    pub(crate) invalid: &'a [String],
    /// Why there is no current answer of the update service; nothing if there is one.
    pub(crate) retrieval: Retrieval<'a>,
    /// How far an update is.
    pub(crate) rollout: &'a Rollout,
    /// What could not be stored.
    pub(crate) left_out: &'a [String],
}

/// Whether what is known about updates is current.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Retrieval<'a> {
    /// Nothing was asked yet.
    NotYet,
    /// It is; but not all of the answer could be used.
    Current {
        /// What could not.
        findings: Option<&'a GraphFindings>,
    },
    /// It is not.
    Failed {
        /// Why.
        error: &'a RetrievalError,
        /// When the service said what is shown all the same.
        known: Option<Timestamp>,
    },
}

/// The conditions of an object that says `before` now.
pub(crate) fn conditions(
    sayings: &Sayings<'_>,
    before: &Conditions,
    kept: KeptFields,
    generation: Generation,
    now: Timestamp,
) -> Conditions {
    let mut pass = Pass::<Versioned>::begin(before, generation, now).stored_in(kept);
    let Sayings { kind, status, invalid, retrieval, rollout, left_out } = sayings;
    let noun = noun(*kind);
    pass.report(Aspect::RetrievedUpdates, retrieved(*retrieval));
    pass.report(Aspect::Available, available(status));
    pass.report(Aspect::ReleaseAccepted, accepted(status, rollout));
    let failures = update_failures(status, before, rollout);
    pass.report(Aspect::ReleaseApplied, applied(status, rollout, &failures));
    pass.report(Aspect::Progressing, progressing(noun, status, rollout, &failures, !invalid.is_empty()));
    pass.report(Aspect::Failing, failing(&failures).unwrap_or_else(Verdict::ok));
    match invalid {
        [] => pass.clear(Problem::Invalid),
        [one] => pass.raise(
            Problem::Invalid,
            reason!("InvalidClusterVersion"),
            format!("The {} is invalid: {one}", noun.to_lowercase()),
        ),
        many => {
            let message = format!("The {} is invalid:\n* {}", noun.to_lowercase(), many.join("\n* "));
            pass.raise(Problem::Invalid, reason!("InvalidClusterVersion"), message);
        }
    }
    match left_out {
        [] => pass.clear(Problem::UpdatesLeftOut),
        some => {
            let message = format!("Left out of this status because it cannot be stored:\n* {}", some.join("\n* "));
            pass.raise(Problem::UpdatesLeftOut, reason!("NotStorable"), message);
        }
    }
    match concerns(rollout) {
        [] => pass.clear(Problem::UpdateConcerns),
        some => {
            let message = format!("Overridden by the update request:\n* {}", some.join("\n* "));
            pass.raise(Problem::UpdateConcerns, reason!("Overridden"), message);
        }
    }
    pass.finish().conditions
}

/// What preparing found against the update that is being carried out.
fn concerns(rollout: &Rollout) -> &[String] {
    match rollout {
        Rollout::Accepted { prepared, .. } | Rollout::Applying { prepared, .. } => &prepared.overridden,
        _ => &[],
    }
}

/// What the words of clients call it.
fn noun(kind: Kind) -> &'static str {
    match kind {
        Kind::ClusterVersion => "Cluster version",
        Kind::ComponentVersion => "Component version",
    }
}

fn retrieved(retrieval: Retrieval<'_>) -> Verdict {
    match retrieval {
        Retrieval::Current { findings } => match findings.and_then(GraphFindings::summary) {
            Some(summary) => Verdict::ok_because(reason!("AsExpected"), summary),
            None => Verdict::ok(),
        },
        Retrieval::NotYet => {
            Verdict::pending(reason!("NotRetrievedYet"), "The update service has not been queried yet.")
        }
        Retrieval::Failed { error, known } => {
            let known = known.map(|at| format!(" The updates in this status are from {at}.")).unwrap_or_default();
            Verdict::bad(error.reason.clone(), format!("{}{known}", error.message))
        }
    }
}

fn available(status: &Status) -> Verdict {
    match status.history.iter().find(|entry| entry.state == UpdateState::Completed) {
        Some(entry) => Verdict::ok_because(
            reason!("AsExpected"),
            format!("Done applying {}", if entry.version.is_empty() { &entry.image } else { &entry.version }),
        ),
        // Nothing has failed while nothing was applied yet.
        None if status.history.is_empty() => Verdict::pending(
            reason!("NoRelease"),
            "No release has been applied yet: adopt the installed one (clearway install --adopt VERSION), or request one in spec.desiredUpdate.",
        ),
        None => Verdict::pending(reason!("FirstRelease"), "The first release is still being applied."),
    }
}

fn accepted(status: &Status, rollout: &Rollout) -> Verdict {
    let loaded = |release: &Release| {
        let text = format!(
            "Payload loaded version={:?} image={:?} architecture={:?}",
            release.version,
            release.image,
            release.architecture.as_deref().unwrap_or_default()
        );
        Verdict::ok_because(reason!("PayloadLoaded"), text)
    };
    if let Some((request, step)) = rollout.preparation() {
        let Release { version, image, .. } = &request.release;
        let doing = match step {
            Step::Retrieve => "Retrieving and verifying payload",
            Step::Load | Step::VerifyVersion => "Loading payload",
            Step::Preconditions => "Checking preconditions of payload",
        };
        return Verdict::pending(step_reason(step), format!("{doing} version={version:?} image={image:?}"));
    }
    if let Some((request, step, why)) = rollout.refusal() {
        let Release { version, image, .. } = &request.release;
        let failed = match step {
            Step::Retrieve => "Retrieving payload failed",
            Step::Load => "Loading payload failed",
            Step::VerifyVersion => "Verifying payload failed",
            Step::Preconditions => "Preconditions failed for payload loaded",
        };
        return Verdict::bad(step_reason(step), format!("{failed} version={version:?} image={image:?} failure={why}"));
    }
    match rollout {
        Rollout::Accepted { request, prepared }
        | Rollout::Applying { request, prepared, .. }
        | Rollout::Done { request, prepared, .. } => {
            loaded(&Release { version: prepared.version.clone(), ..request.release.clone() })
        }
        _ if status.history.is_empty() => Verdict::pending(reason!("NoRelease"), "No release has been requested yet."),
        _ => loaded(&status.desired),
    }
}

fn applied(status: &Status, rollout: &Rollout, failures: &[Failure]) -> Verdict {
    if let Some(failing) = failing(failures) {
        return failing;
    }
    let name = |version: &str, image: &str| if version.is_empty() { image.to_owned() } else { version.to_owned() };
    match status.history.first() {
        None => Verdict::pending(reason!("NoRelease"), "No release has been applied yet."),
        Some(entry) if entry.state == UpdateState::Completed => {
            let done = format!("Applied {}", name(&entry.version, &entry.image));
            Verdict::ok_because(reason!("ReleaseApplied"), done)
        }
        Some(entry) => {
            let text = match rollout {
                Rollout::Applying { prepared, progress, .. } => working(&prepared.version, progress),
                _ => format!("Working towards {}", name(&entry.version, &entry.image)),
            };
            Verdict::pending(reason!("Updating"), text)
        }
    }
}

fn step_reason(step: Step) -> Reason {
    Reason::sanitize(step.reason(), reason!("RetrievePayload"))
}

fn progressing(noun: &str, status: &Status, rollout: &Rollout, failures: &[Failure], invalid: bool) -> Verdict {
    let version = |release: &Release| {
        if release.version.is_empty() { release.image.clone() } else { release.version.clone() }
    };
    let current = version(&status.desired);
    let unable = |towards: &str, failed: usize| {
        let text = match failures {
            [one] => one.message.clone(),
            _ => format!("{failed} objects cannot be applied"),
        };
        Verdict::ok_because(reason!("Updating"), format!("Unable to apply {towards}: {text}"))
    };
    match rollout {
        Rollout::Applying { prepared, progress, .. } if failures.is_empty() => {
            Verdict::ok_because(reason!("Updating"), working(&prepared.version, progress))
        }
        Rollout::Applying { prepared, progress, .. } => unable(&prepared.version, progress.failed),
        _ if !failures.is_empty() => unable(&current, failures.len()),
        Rollout::Accepted { prepared, .. } => {
            Verdict::ok_because(reason!("Updating"), format!("Working towards {}", prepared.version))
        }
        _ if status.open_entry().is_some() => {
            Verdict::ok_because(reason!("Updating"), format!("Working towards {current}"))
        }
        _ if invalid => Verdict::bad(
            reason!("InvalidClusterVersion"),
            format!("Stopped at {current}: the {} is invalid", noun.to_lowercase()),
        ),
        _ if status.history.is_empty() => Verdict::bad(reason!("NoRelease"), "No release has been applied yet"),
        _ => Verdict::bad(reason!("AsExpected"), format!("{noun} is {current}")),
    }
}

fn working(towards: &str, progress: &Progress) -> String {
    let Progress { done, total, waiting_on, .. } = progress;
    let percent = if *total == 0 { 0 } else { done * 100 / total };
    let waiting = if waiting_on.is_empty() { String::new() } else { format!(", waiting on {}", waiting_on.join(", ")) };
    format!("Working towards {towards}: {done} of {total} done ({percent}% complete){waiting}")
}

/// What keeps the update that was begun from going on. What an earlier process reported counts until this one has
/// something to say about it: after a restart nothing was observed yet.
fn update_failures(status: &Status, before: &Conditions, rollout: &Rollout) -> Vec<Failure> {
    match rollout {
        Rollout::Applying { progress, .. } => progress.failures.clone(),
        Rollout::Done { .. } => Vec::new(),
        _ => reported_failures(status, before),
    }
}

/// The failures as one verdict; nothing if there are none.
fn failing(failures: &[Failure]) -> Option<Verdict> {
    Some(match failures {
        [] => return None,
        [one] => Verdict::bad(Reason::sanitize(&one.reason, reason!("UpdateFailed")), one.message.as_str()),
        many => {
            let mut lines: Vec<&str> = many.iter().map(|failure| failure.message.as_str()).collect();
            lines.sort_unstable();
            lines.dedup();
            let message = format!("{SEVERAL_FAILURES}\n* {}", lines.join("\n* "));
            Verdict::bad(reason!("MultipleErrors"), message)
        }
    })
}
