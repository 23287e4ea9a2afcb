//! How a wait ended, and what was known of each object by then.

use clearway_core::ObjectId;
use serde::Serialize;

use super::Clock;
use crate::health::verdict::Verdict;

/// How a wait ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "outcome")]
pub enum Outcome {
    /// Every object is current, or suspended and not waited for.
    Current {
        /// What was known of each, by id.
        report: Vec<ObjectReport>,
    },
    /// At least one object failed.
    Failed {
        /// What was known of each, by id.
        report: Vec<ObjectReport>,
    },
    /// A clock ran out; nothing had failed.
    TimedOut {
        /// Which one.
        clock: Clock,
        /// What was known of each, by id.
        report: Vec<ObjectReport>,
    },
    /// At least one object was never seen in all the time.
    CouldNotObserve {
        /// What was known of each, by id.
        report: Vec<ObjectReport>,
    },
}

/// What was known of one object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ObjectReport {
    /// Which object.
    pub id: ObjectId,
    /// The last verdict; Unknown if there was none.
    pub verdict: Verdict,
    /// How old it is; nothing if there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub age_seconds: Option<u64>,
    /// Whether the object's own clock had run out.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub late: bool,
    /// Why it could not be seen since.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unreachable: Option<String>,
}

impl Outcome {
    /// What was known of each object, by id.
    pub fn report(&self) -> &[ObjectReport] {
        match self {
            Outcome::Current { report }
            | Outcome::Failed { report }
            | Outcome::TimedOut { report, .. }
            | Outcome::CouldNotObserve { report } => report,
        }
    }

    /// The exit code: 0 current, 1 failed, 2 not yet, 3 could not observe.
    pub fn exit_code(&self) -> u8 {
        match self {
            Outcome::Current { .. } => 0,
            Outcome::Failed { .. } => 1,
            Outcome::TimedOut { .. } => 2,
            Outcome::CouldNotObserve { .. } => 3,
        }
    }
}
