//! What speaks for or against updating at all: conditions of the object.

use clearway_conditions::{Conditions, Status as Word};
use serde::Serialize;

use crate::commands::upgrade::condition_text::clean;

/// Something that was looked at before an update.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Precheck {
    /// The name by which it can be accepted.
    pub(super) name: String,
    pub(super) result: PrecheckResult,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) reason: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) message: String,
    pub(super) accepted: bool,
    /// Whether it concerns every update, and not only those to another minor version.
    #[serde(skip)]
    pub(super) concerns_all: bool,
}

/// What came of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum PrecheckResult {
    /// Nothing speaks against an update.
    Passed,
    /// Something does.
    Concern,
    /// It could not be found out.
    Unknown,
    /// It was not asked for.
    NotChecked,
}

impl Precheck {
    pub(super) fn new(name: &str, result: PrecheckResult, reason: &str, message: &str) -> Self {
        let (name, reason, message) = (name.to_owned(), reason.to_owned(), clean(message));
        Precheck { name, result, reason, message, accepted: false, concerns_all: true }
    }
}

/// A condition that is looked at: its type, the status in which all is well, and the name of the issue.
const CONDITIONS: [(&str, Word, &str); 3] = [
    ("Failing", Word::False, "Failing"),
    ("Progressing", Word::False, "Progressing"),
    ("RetrievedUpdates", Word::True, "CannotRetrieveUpdates"),
];

/// What the conditions of an object say about updating it.
pub(super) fn of_conditions(conditions: &Conditions) -> Vec<Precheck> {
    let mut found = Vec::new();
    for (type_, good, name) in CONDITIONS {
        found.push(match conditions.get(type_) {
            Some(condition) if condition.status == good => {
                Precheck::new(type_, PrecheckResult::Passed, "", condition.message)
            }
            // Updates that are not current are not known to be wrong.
            Some(condition) if condition.status == Word::Unknown || type_ == "RetrievedUpdates" => {
                Precheck::new(name, PrecheckResult::Unknown, condition.reason, condition.message)
            }
            Some(condition) => Precheck::new(name, PrecheckResult::Concern, condition.reason, condition.message),
            None => Precheck::new(name, PrecheckResult::Unknown, "", "The operator has not reported this condition."),
        });
    }
    // These say something only while there is a problem.
    for (type_, bad) in [("Invalid", Word::True), ("ReleaseAccepted", Word::False)] {
        if let Some(condition) = conditions.get(type_).filter(|condition| condition.status == bad) {
            found.push(Precheck::new(type_, PrecheckResult::Concern, condition.reason, condition.message));
        }
    }
    if let Some(condition) = conditions.get("Upgradeable").filter(|condition| condition.status == Word::False) {
        let precheck =
            Precheck::new(super::judgement::UPGRADEABLE, PrecheckResult::Concern, condition.reason, condition.message);
        found.push(Precheck { concerns_all: false, ..precheck });
    }
    found
}
