//! The words of conditions: status, severity, polarity and presence, with types and reasons in [`names`] and texts for
//! people in [`message`].
//!
//! The closed vocabularies are enums without a value for "empty" or "other", so that what is written is always one of the
//! words the API allows (K2, G2). Reading what others wrote is another matter and lenient: [`Status::lenient`],
//! [`ConditionSeverity::lenient`].

pub(super) mod message;
pub(super) mod names;

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

/// What a condition says: the three words of the API, and nothing else.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Status {
    /// `True`.
    True,
    /// `False`.
    False,
    /// `Unknown`.
    Unknown,
}

/// A text that is not exactly one of `True`, `False`, `Unknown`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a condition status: it must be exactly True, False or Unknown")]
pub struct StatusError {
    /// What was read, at most its first 64 characters.
    pub text: String,
}

/// How much a condition matters (Knative's `severity`; metav1 has no such field).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ConditionSeverity {
    /// Written `""` or left out: the condition takes part in the summary (K4).
    Error,
    /// `Warning`: worth attention, without a say in the summary.
    Warning,
    /// `Info`: transient or explanatory (K6).
    Info,
}

/// Which status is the healthy one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Polarity {
    /// `True` is healthy: `Ready`, `Accepted`, `Available`.
    Positive,
    /// `True` is abnormal: `Stalled`, `Conflicted`, `MemoryPressure`.
    Negative,
}

/// When a condition is in the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Presence {
    /// From the first time the controller saw the object on, whatever its status (G1, positive conditions).
    Always,
    /// Only while it has its abnormal status; absence is health (G1, negative conditions).
    WhileAbnormal,
}

impl Status {
    /// All three, in the order of the API's documentation.
    pub const ALL: [Status; 3] = [Status::True, Status::False, Status::Unknown];

    /// The word as the API has it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Status::True => "True",
            Status::False => "False",
            Status::Unknown => "Unknown",
        }
    }

    /// What a reader takes a foreign text for: everything but exactly `True` and `False` is `Unknown` (K2, G2).
    pub fn lenient(text: &str) -> Self {
        text.parse().unwrap_or(Status::Unknown)
    }
}

impl FromStr for Status {
    type Err = StatusError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Status::ALL
            .into_iter()
            .find(|status| status.as_str() == text)
            .ok_or_else(|| StatusError { text: text.chars().take(64).collect() })
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl Serialize for Status {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl ConditionSeverity {
    /// All three, the gravest first.
    pub const ALL: [ConditionSeverity; 3] =
        [ConditionSeverity::Error, ConditionSeverity::Warning, ConditionSeverity::Info];

    /// The word as the API has it; an error is the empty text (K2), never `Error`.
    pub const fn as_str(self) -> &'static str {
        match self {
            ConditionSeverity::Error => "",
            ConditionSeverity::Warning => "Warning",
            ConditionSeverity::Info => "Info",
        }
    }

    /// The severity an exact word stands for; nothing for a word the API does not have.
    pub fn exact(text: &str) -> Option<Self> {
        ConditionSeverity::ALL.into_iter().find(|severity| severity.as_str() == text)
    }

    /// What a reader takes a foreign text for: an unknown word counts as the gravest (fail closed).
    pub fn lenient(text: &str) -> Self {
        ConditionSeverity::exact(text).unwrap_or(ConditionSeverity::Error)
    }
}

impl Polarity {
    /// The status that says all is well.
    pub const fn healthy(self) -> Status {
        match self {
            Polarity::Positive => Status::True,
            Polarity::Negative => Status::False,
        }
    }

    /// The status that says something is wrong.
    pub const fn abnormal(self) -> Status {
        match self {
            Polarity::Positive => Status::False,
            Polarity::Negative => Status::True,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn status_is_exactly_one_of_three_words() {
        for status in Status::ALL {
            assert_eq!(status.to_string().parse(), Ok(status));
        }
        for text in ["", "true", "TRUE", " True", "Yes", "unknown", "1"] {
            assert!(text.parse::<Status>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn k2_g2_what_is_not_a_word_of_the_api_reads_as_unknown() {
        for text in ["", "true", "Yes", "Maybe"] {
            assert_eq!(Status::lenient(text), Status::Unknown, "{text:?}");
        }
        assert_eq!(Status::lenient("False"), Status::False);
    }

    #[test]
    fn k2_the_empty_severity_is_an_error_and_error_is_not_a_word() {
        assert_eq!(ConditionSeverity::exact(""), Some(ConditionSeverity::Error));
        assert_eq!(ConditionSeverity::exact("Error"), None);
        assert_eq!(ConditionSeverity::lenient("Critical"), ConditionSeverity::Error);
        assert_eq!(ConditionSeverity::lenient("Info"), ConditionSeverity::Info);
    }
}
