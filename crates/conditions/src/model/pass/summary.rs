//! The summary: `Ready` or `Succeeded`, computed from every condition of severity "" on the object.
//!
//! One False makes it False, else one Unknown makes it Unknown, else it is True (K3, K4). Who wrote a condition does not
//! matter: a foreign one without a severity has severity "" (K2) and counts. What the summary said before does not
//! matter either. Start at [`summarise`].

use clearway_core::Generation;

use super::verdict::{Finding, common_reason};
use crate::model::{Condition, ConditionSeverity, Message, Reason, Status};
use crate::reason;

/// One condition that counts.
pub(super) struct Part<'a> {
    pub(super) type_: &'a str,
    pub(super) finding: Finding,
}

impl<'a> Part<'a> {
    /// How a condition that somebody else wrote counts; nothing if its severity exempts it.
    ///
    /// Its False and Unknown are taken at their word, stale or not, as K4 demands. A True about another generation than
    /// the present proves nothing, and counts as Unknown; one that names no generation is believed.
    pub(super) fn foreign(condition: &Condition<'a>, generation: Generation) -> Option<Self> {
        if condition.severity != ConditionSeverity::Error {
            return None;
        }
        let type_ = condition.type_;
        let finding = match (condition.status, condition.observed_generation) {
            (Status::True, Some(seen)) if seen != generation.get() => stale(seen, generation),
            (status, _) => Finding {
                status,
                reason: Reason::sanitize(condition.reason, reason!("NoReasonGiven")),
                message: match condition.message.trim() {
                    "" => format!("{type_} is {status}."),
                    _ => condition.message.to_owned(),
                },
            },
        };
        Some(Part { type_, finding })
    }
}

/// What becomes of an observation that is about another generation.
pub(super) fn stale(seen: i64, generation: Generation) -> Finding {
    Finding {
        status: Status::Unknown,
        reason: reason!("StaleObservation"),
        message: format!("Last observed at generation {seen}; the object is at generation {generation}."),
    }
}

/// What the parts come to, in the order they are to be named in. A single unhappy part lends the summary its reason and
/// message. Of several each is named in the message, the False ones first, and the reason is the one that the parts
/// share which decided the status, or `MultipleReasons`.
pub(super) fn summarise(parts: &[Part<'_>]) -> Finding {
    let with = |status| parts.iter().filter(move |part| part.finding.status == status);
    let unhappy: Vec<&Part<'_>> = with(Status::False).chain(with(Status::Unknown)).collect();
    match unhappy.as_slice() {
        [] => Finding { status: Status::True, reason: reason!("AsExpected"), message: String::new() },
        [only] => Finding { message: Message::new(only.finding.message.as_str()).to_string(), ..only.finding.clone() },
        [first, ..] => {
            let status = first.finding.status;
            Finding {
                status,
                reason: common_reason(with(status).map(|part| &part.finding.reason)),
                message: Message::list(unhappy.iter().map(|part| (part.type_, part.finding.message.as_str())))
                    .to_string(),
            }
        }
    }
}
