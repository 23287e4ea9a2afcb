//! One condition as it stands in an object: every field as written, read in one pass and without copying.

use clearway_yaml::{Node, Value};

use super::instant;
use crate::Status;

/// A condition as written. A field that is absent is nothing; one of the wrong type is there as its node.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Condition<'a> {
    /// The whole element.
    pub(crate) node: Node<'a>,
    /// Its number in the list.
    pub(crate) index: usize,
    /// The text of `type`; empty if there is none.
    pub(crate) name: &'a str,
    pub(crate) type_node: Option<Node<'a>>,
    /// The status, if it is exactly one of the three words.
    pub(crate) status: Option<Status>,
    pub(crate) status_node: Option<Node<'a>>,
    pub(crate) reason_node: Option<Node<'a>>,
    /// The text of `reason`; empty if there is none.
    pub(crate) reason: &'a str,
    pub(crate) message_node: Option<Node<'a>>,
    /// The text of `message`; empty if there is none.
    pub(crate) message: &'a str,
    pub(crate) severity_node: Option<Node<'a>>,
    pub(crate) time_node: Option<Node<'a>>,
    /// `lastTransitionTime` in seconds since 1970, if it is a time.
    pub(crate) time: Option<i64>,
    pub(crate) generation_node: Option<Node<'a>>,
    /// `observedGeneration`, if it is a whole number.
    pub(crate) generation: Option<i64>,
}

impl<'a> Condition<'a> {
    /// Reads an element of a list; nothing if it is not an object.
    pub(crate) fn read(node: Node<'a>, index: usize) -> Option<Self> {
        if !node.is_mapping() {
            return None;
        }
        let mut condition = Condition {
            node,
            index,
            name: "",
            type_node: None,
            status: None,
            status_node: None,
            reason_node: None,
            reason: "",
            message_node: None,
            message: "",
            severity_node: None,
            time_node: None,
            time: None,
            generation_node: None,
            generation: None,
        };
        for (key, value) in node.fields() {
            match key.raw() {
                "type" => (condition.type_node, condition.name) = (Some(value), text(value)),
                "status" => {
                    condition.status_node = Some(value);
                    condition.status = match text(value) {
                        "True" => Some(Status::True),
                        "False" => Some(Status::False),
                        "Unknown" => Some(Status::Unknown),
                        _ => None,
                    };
                }
                "reason" => (condition.reason_node, condition.reason) = (Some(value), text(value)),
                "message" => (condition.message_node, condition.message) = (Some(value), text(value)),
                "severity" => condition.severity_node = Some(value),
                "lastTransitionTime" => {
                    condition.time_node = Some(value);
                    // The common form is a text whether quoted or not, so what the scalar means need not be asked.
                    condition.time =
                        instant::common(value.raw().as_bytes()).or_else(|| instant::seconds(value.as_text()?));
                }
                "observedGeneration" => {
                    (condition.generation_node, condition.generation) = (Some(value), value.as_int());
                }
                _ => {}
            }
        }
        Some(condition)
    }

    /// The condition's type for messages.
    pub(crate) fn title(&self) -> String {
        if super::path::is_label(self.name) { format!("`{}`", self.name) } else { format!("number {}", self.index + 1) }
    }

    /// Whether the severity is "" or absent: the condition takes part in the summary (K4).
    pub(crate) fn is_error_severity(&self) -> bool {
        self.severity_node.is_none_or(|node| node.raw().is_empty() && !node.is_mapping() && !node.is_sequence())
    }

    /// Whether the condition has this type and status.
    pub(crate) fn has_status(&self, name: &str, status: Status) -> bool {
        self.status == Some(status) && self.name == name
    }

    /// Whether this is what the CRD of Gateway API puts there before any controller came by (GW20).
    pub(crate) fn is_placeholder(&self) -> bool {
        self.time == Some(0) && self.status == Some(Status::Unknown) && self.reason == "Pending"
    }
}

fn text(node: Node<'_>) -> &str {
    match node.value() {
        Value::Text(text) => text,
        _ => "",
    }
}
