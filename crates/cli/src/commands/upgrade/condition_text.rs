//! Conditions as text and as JSON, with control characters escaped.

use clearway_conditions::{Condition, Conditions, Status as Word};
use clearway_core::Timestamp;
use serde::Serialize;

use crate::output::printable;

/// The condition that names updates which cannot be stored in the status.
const LEFT_OUT: &str = "clearway.dev/UpdatesLeftOut";

/// What is said of something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Statement {
    pub(super) status: Word,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) reason: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) message: String,
}

/// A condition as JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct ConditionJson {
    #[serde(rename = "type")]
    type_: String,
    status: Word,
    #[serde(skip_serializing_if = "String::is_empty")]
    reason: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    since: Option<Timestamp>,
}

impl ConditionJson {
    /// All of a list.
    pub(super) fn all(conditions: &Conditions) -> Vec<Self> {
        let said = |condition: Condition<'_>| ConditionJson {
            type_: condition.type_.to_owned(),
            status: condition.status,
            reason: condition.reason.to_owned(),
            message: condition.message.to_owned(),
            since: condition.last_transition_time,
        };
        conditions.iter().map(said).collect()
    }
}

/// Foreign text with its lines, without what could drive a terminal.
pub(super) fn clean(text: &str) -> String {
    let lines: Vec<String> = text.trim().lines().map(|line| printable(line).trim_end().to_owned()).collect();
    lines.join("\n")
}

/// Text whose lines after the first are moved to the right; empty ones stay empty.
pub(super) fn indented(text: &str, by: usize) -> String {
    let space = " ".repeat(by);
    let mut lines = text.lines();
    let mut out = lines.next().unwrap_or_default().to_owned();
    for line in lines {
        out.push('\n');
        if !line.is_empty() {
            out.push_str(&space);
            out.push_str(line);
        }
    }
    out
}

/// The two lines that stand below the name of a condition.
pub(super) fn reason_and_message(reason: &str, message: &str) -> String {
    format!("  Reason: {}\n  Message: {}", printable(reason), indented(&clean(message), 2))
}

/// The updates that the operator left out, and why: what it could not use of the graph, and what the status cannot hold.
/// Where did that edge go (U8, U15)?
pub(super) fn left_out(conditions: &Conditions) -> Vec<String> {
    let retrieved = conditions.get("RetrievedUpdates").filter(|condition| condition.status == Word::True);
    let stored = conditions.get(LEFT_OUT).filter(|condition| condition.status == Word::True);
    [retrieved, stored]
        .into_iter()
        .flatten()
        .map(|condition| clean(condition.message))
        .filter(|message| !message.is_empty())
        .collect()
}
