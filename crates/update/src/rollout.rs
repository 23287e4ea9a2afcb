//! The state of the update that an object asks for, and which states follow each other.
//!
//! An update has two halves with the status between them. *Preparing* fetches the release, checks it and looks at the
//! cluster; nothing is written. Then the status says that the update has begun, and only when that is stored *applying*
//! starts: a process that starts after a crash finds in the history what to continue with.
//!
//! The table of [transitions] decides which reports of a worker are accepted; `docs/update-states.md` is drawn from it.

pub mod transitions;

use clearway_conditions::{Conditions, Status as Word};
use clearway_core::{ObjectId, Timestamp};

use crate::api::{Release, Status, same_image};

/// Failures that are named at most.
const REPORTED: usize = 10;
/// Why an operator that only advises does not apply an update, and what to do.
const ADVICE_ONLY: &str =
    "this operator only advises; to have updates applied, install it with `clearway install --apply-updates`";
/// How the message of several failures begins; each of them follows on a line of its own, behind `* `.
pub(crate) const SEVERAL_FAILURES: &str = "Multiple errors are preventing progress:";

/// The release that is to be applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpdateRequest {
    /// The release. Its image is what counts; the version may be empty while only the image is known.
    pub release: Release,
    /// Whether checks that would block it are overridden.
    pub force: bool,
    /// Whether it was begun before, by an earlier process: the history has an open entry for it.
    pub resumes: bool,
}

impl UpdateRequest {
    /// What people call the release: its version, or its image while only that is known.
    pub fn name(&self) -> &str {
        if self.release.version.is_empty() { &self.release.image } else { &self.release.version }
    }

    /// Whether both ask for the same release in the same way.
    pub fn is_same(&self, other: &UpdateRequest) -> bool {
        same_image(&self.release.image, &other.release.image) && self.force == other.force
    }
}

/// A step of preparing, in the words of `ReleaseAccepted`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Fetching the release and checking its digest and signature.
    Retrieve,
    /// Reading what is in it.
    Load,
    /// Comparing its version with the one asked for.
    VerifyVersion,
    /// Looking at the cluster.
    Preconditions,
}

/// What preparing found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PreparedRelease {
    /// The version in the release.
    pub version: String,
    /// A fingerprint of what is in it.
    pub hash: String,
    /// Whether its signature was checked, and is good.
    pub verified: bool,
    /// What speaks against it and was overridden, a sentence each.
    pub overridden: Vec<String>,
    /// How many objects it has.
    pub objects: usize,
}

/// The state of an update.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Rollout {
    /// No update is asked for, or the one that was is complete and stored.
    #[default]
    Idle,
    /// An update is asked for, but nothing is done about it yet: no worker has been started.
    Waiting {
        /// What is asked for. Its image may be unknown.
        request: UpdateRequest,
        /// What it waits for.
        cause: WaitingCause,
    },
    /// The release is being fetched and checked.
    Preparing {
        /// What was asked for.
        request: UpdateRequest,
        /// The step.
        step: Step,
    },
    /// The release is not acceptable, or cannot be fetched; it is tried again.
    NotAccepted {
        /// What was asked for.
        request: UpdateRequest,
        /// The step that failed.
        step: Step,
        /// Why.
        why: String,
    },
    /// The release may be applied, as soon as the status says so.
    Accepted {
        /// What was asked for.
        request: UpdateRequest,
        /// What was found.
        prepared: PreparedRelease,
    },
    /// The release is being applied.
    Applying {
        /// What was asked for.
        request: UpdateRequest,
        /// What was found.
        prepared: PreparedRelease,
        /// How far it is.
        progress: Progress,
    },
    /// Every object of the release is applied and healthy.
    Done {
        /// What was asked for.
        request: UpdateRequest,
        /// What was found.
        prepared: PreparedRelease,
        /// When.
        at: Timestamp,
    },
}

/// Why nothing is done yet about an update that is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WaitingCause {
    /// The update service has not said yet which release is meant.
    UpdateService,
    /// The update service cannot say which release is meant.
    NotResolved(String),
    /// The operator only advises.
    AdviceOnly,
}

/// How far applying is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Progress {
    /// Objects that are as the release has them, and healthy.
    pub done: usize,
    /// All objects of the release.
    pub total: usize,
    /// What is being waited for, a few names.
    pub waiting_on: Vec<String>,
    /// What keeps it from going on, with a word for each; it is tried again. Of very many only the first, and how many more.
    pub failures: Vec<Failure>,
    /// How many there are in all.
    pub failed: usize,
}

/// Something that keeps an update from going on.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Failure {
    /// A word in camel case.
    pub reason: String,
    /// A sentence that names the object.
    pub message: String,
}

impl Progress {
    /// The same with these failures, in order and each once.
    #[must_use]
    pub fn with_failures(self, mut failures: Vec<Failure>) -> Self {
        failures.sort();
        failures.dedup();
        let failed = failures.len();
        if failed > REPORTED {
            failures.truncate(REPORTED);
            let message = format!("and {} more", failed - REPORTED);
            failures.push(Failure { reason: "MoreFailures".to_owned(), message });
        }
        Progress { failures, failed, ..self }
    }
}

impl Failure {
    /// Whether its sentence names this object.
    pub fn is_about(&self, id: &ObjectId) -> bool {
        self.message.strip_prefix(&id.to_string()).is_some_and(|rest| rest.starts_with([' ', ':']))
    }
}

/// The failures of the update that is being carried out, as the status reports them. A process that has just started has
/// observed nothing, so they count until it has.
pub(crate) fn reported_failures(status: &Status, conditions: &Conditions) -> Vec<Failure> {
    let (Some(open), Some(failing)) = (status.open_entry(), conditions.get("Failing")) else { return Vec::new() };
    // A failure from before this update began is about another release.
    let ours = failing.last_transition_time.is_some_and(|since| since >= open.started_time);
    if failing.status != Word::True || !ours {
        return Vec::new();
    }
    let failure = |message: &str| Failure { reason: failing.reason.to_owned(), message: message.to_owned() };
    match failing.message.strip_prefix(SEVERAL_FAILURES) {
        Some(lines) => lines.split("\n* ").filter(|line| !line.is_empty()).map(failure).collect(),
        None => vec![failure(failing.message)],
    }
}

impl Rollout {
    /// What is asked for, whether or not something is done about it.
    pub fn request(&self) -> Option<&UpdateRequest> {
        match self {
            Rollout::Idle => None,
            Rollout::Waiting { request, .. }
            | Rollout::Preparing { request, .. }
            | Rollout::NotAccepted { request, .. }
            | Rollout::Accepted { request, .. }
            | Rollout::Applying { request, .. }
            | Rollout::Done { request, .. } => Some(request),
        }
    }

    /// What a worker was started for, and may still report about.
    pub fn active_request(&self) -> Option<&UpdateRequest> {
        self.request().filter(|_| !matches!(self, Rollout::Waiting { .. }))
    }

    /// Whether the release was not accepted: the step that failed, and why.
    pub fn refusal(&self) -> Option<(&UpdateRequest, Step, &str)> {
        match self {
            Rollout::NotAccepted { request, step, why } => Some((request, *step, why)),
            Rollout::Waiting { request, cause: WaitingCause::NotResolved(why) } => Some((request, Step::Retrieve, why)),
            Rollout::Waiting { request, cause: WaitingCause::AdviceOnly } => {
                Some((request, Step::Preconditions, ADVICE_ONLY))
            }
            _ => None,
        }
    }

    /// Whether the release is being looked at: the step.
    pub fn preparation(&self) -> Option<(&UpdateRequest, Step)> {
        match self {
            Rollout::Preparing { request, step } => Some((request, *step)),
            Rollout::Waiting { request, cause: WaitingCause::UpdateService } => Some((request, Step::Retrieve)),
            _ => None,
        }
    }
}

impl Step {
    /// The reason of `ReleaseAccepted`.
    pub const fn reason(self) -> &'static str {
        match self {
            Step::Retrieve => "RetrievePayload",
            Step::Load => "LoadPayload",
            Step::VerifyVersion => "VerifyPayloadVersion",
            Step::Preconditions => "PreconditionChecks",
        }
    }
}
