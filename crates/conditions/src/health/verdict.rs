//! The words health is told in: the state, what it rests on, the verdict, and what the judge knows besides the object.

use std::fmt;
use std::time::Duration;

use clearway_core::Timestamp;
use serde::{Serialize, Serializer};

/// How an object is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    /// It is what its spec asks for.
    Current,
    /// It is on the way there.
    InProgress,
    /// It will not get there by itself.
    Failed,
    /// It is being deleted.
    Terminating,
    /// It does not exist.
    NotFound,
    /// Somebody told its controller to leave it alone.
    Suspended,
    /// It could not be told.
    Unknown,
}

/// What a verdict rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Basis {
    /// What the object itself states in words all kinds share: conditions, generations, deletion, suspension.
    Explicit,
    /// A rule that knows this kind.
    KindRule,
    /// Nothing: there was nothing to go by.
    Default,
}

/// The health of one object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Verdict {
    /// How it is doing.
    pub state: State,
    /// Why, in one CamelCase word: `LessReplicas`, `PodPending`, or the reason of the condition that decided.
    pub reason: String,
    /// Why, for people.
    pub message: String,
    /// Since when, where the object says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// What the verdict rests on.
    pub basis: Basis,
    /// Whether what it rests on is known to be about the object's current generation.
    pub proven: bool,
    /// How long the state must last before one who waits may believe it; nothing leaves it to the waiter's clocks.
    /// A failure that often heals by itself (a pod that finds no node) asks for minutes, a final one for nothing.
    #[serde(skip)]
    pub hold: Option<Duration>,
    /// When the mere passing of time will change the verdict, if it will: no watch event announces that.
    #[serde(skip)]
    pub recheck: Option<Timestamp>,
    /// Whether the object's disappearance means that it is done, as for a started Job with a time to live.
    #[serde(skip)]
    pub gone_is_done: bool,
}

/// The object as our own apply left it: only what is seen of that one counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpectedObject {
    /// `metadata.uid` of the answer.
    pub uid: String,
    /// `metadata.generation` of the answer, for kinds that have one.
    pub generation: Option<i64>,
}

/// What the judge knows besides the object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Context {
    /// The present.
    pub now: Timestamp,
    /// The object as our own apply left it.
    pub expected: Option<ExpectedObject>,
    /// Whether the schema of the kind has `status.conditions`, if the schema is known.
    pub has_conditions_schema: Option<bool>,
    /// Whether another object of the kind shows `Ready`, so that this one is likely to.
    pub sibling_ready: bool,
    /// How long after its creation an object without conditions is given to report some, if it is expected to.
    pub grace: Duration,
    /// Whether `Ready=False` of a custom resource is a failure instead of "not yet". Off unless the kind's contract says
    /// so (Knative's does): most controllers write False while they are still at work, and a wait that took it for a
    /// failure would end in the first second of every rollout.
    pub false_is_failure: bool,
}

impl State {
    /// All of them.
    pub const ALL: [State; 7] = [
        State::Current,
        State::InProgress,
        State::Failed,
        State::Terminating,
        State::NotFound,
        State::Suspended,
        State::Unknown,
    ];

    /// The word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            State::Current => "Current",
            State::InProgress => "InProgress",
            State::Failed => "Failed",
            State::Terminating => "Terminating",
            State::NotFound => "NotFound",
            State::Suspended => "Suspended",
            State::Unknown => "Unknown",
        }
    }
}

impl Basis {
    /// The word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Basis::Explicit => "Explicit",
            Basis::KindRule => "KindRule",
            Basis::Default => "Default",
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Display for Basis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl Serialize for State {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl Serialize for Basis {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl Verdict {
    /// A verdict with nothing but its words; not proven.
    pub fn new(state: State, reason: impl Into<String>, message: impl Into<String>, basis: Basis) -> Self {
        Verdict {
            state,
            reason: reason.into(),
            message: message.into(),
            since: None,
            basis,
            proven: false,
            hold: None,
            recheck: None,
            gone_is_done: false,
        }
    }

    /// The object is not there.
    pub fn not_found() -> Self {
        Verdict { proven: true, ..Verdict::new(State::NotFound, "NotFound", "Resource not found", Basis::Explicit) }
    }

    /// Nothing could be told, and why.
    pub fn unknown(reason: impl Into<String>, why: impl Into<String>) -> Self {
        Verdict::new(State::Unknown, reason, why, Basis::Default)
    }

    /// The same, known to be so since then.
    #[must_use]
    pub(super) fn since(mut self, since: Option<Timestamp>) -> Self {
        self.since = since;
        self
    }

    /// The same, to be believed only after it lasted that long.
    #[must_use]
    pub(super) fn hold(mut self, hold: Duration) -> Self {
        self.hold = Some(hold);
        self
    }
}

impl Context {
    /// A context that knows nothing but the time.
    pub fn at(now: Timestamp) -> Self {
        Context {
            now,
            expected: None,
            has_conditions_schema: None,
            sibling_ready: false,
            grace: Duration::from_secs(10),
            false_is_failure: false,
        }
    }
}
