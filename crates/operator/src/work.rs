//! How far the carrying out of an update is: what the status says of it, and what happens next.
//!
//! Two steps with the status between them. *Preparing* fetches the release, checks it and looks at the cluster; nothing is
//! written. Then the status says that the update has begun, and only when that is stored *applying* starts: whoever
//! comes back after a crash finds in the history what to go on with.

use clearway_conditions::{Conditions, Status as Word};
use clearway_core::{ObjectId, Timestamp};

use crate::api::{Release, UpdateHistory};

/// Failures that are named at most.
const REPORTED: usize = 10;
/// How the message of several failures begins; each of them follows on a line of its own, behind `* `.
pub(crate) const SEVERAL_FAILURES: &str = "Multiple errors are preventing progress:";

/// What is to be brought about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    /// The release. Its image is what counts; the version may be empty while only the image is known.
    pub release: Release,
    /// Whether checks that would hold it up are waived.
    pub force: bool,
}

impl Order {
    /// What people call the release: its version, or its image while only that is known.
    pub fn name(&self) -> &str {
        if self.release.version.is_empty() { &self.release.image } else { &self.release.version }
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
pub struct Prepared {
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

/// How far it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Work {
    /// Nothing is being done.
    #[default]
    Idle,
    /// The release is being looked at.
    Preparing {
        /// What for.
        order: Order,
        /// The step.
        step: Step,
    },
    /// The release is not acceptable, or cannot be had; it is tried again.
    NotAccepted {
        /// What was asked for.
        order: Order,
        /// Where it failed.
        step: Step,
        /// Why.
        why: String,
    },
    /// The release may be applied.
    Accepted {
        /// What was asked for.
        order: Order,
        /// What was found.
        prepared: Prepared,
    },
    /// The release is being applied.
    Applying {
        /// What was asked for.
        order: Order,
        /// What was found.
        prepared: Prepared,
        /// How far it is.
        progress: Progress,
    },
    /// The release is there, and healthy.
    Done {
        /// What was asked for.
        order: Order,
        /// What was found.
        prepared: Prepared,
        /// When.
        at: Timestamp,
    },
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
pub(crate) fn reported_failures(history: &[UpdateHistory], conditions: &Conditions) -> Vec<Failure> {
    let open = history.first().filter(|entry| entry.completion_time.is_none());
    let (Some(open), Some(failing)) = (open, conditions.get("Failing")) else { return Vec::new() };
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

impl Work {
    /// What is being brought about, or was.
    pub fn order(&self) -> Option<&Order> {
        match self {
            Work::Idle => None,
            Work::Preparing { order, .. }
            | Work::NotAccepted { order, .. }
            | Work::Accepted { order, .. }
            | Work::Applying { order, .. }
            | Work::Done { order, .. } => Some(order),
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
