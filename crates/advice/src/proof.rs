//! Proofs: what a verdict rests on, as values that are printed and written as JSON.
//!
//! The form is documented at the head of this crate; the words here are those of the JSON.

use std::fmt;
use std::sync::Arc;

use clearway_core::Timestamp;
use serde::{Serialize, Serializer};

use crate::evidence::{FailureClass, ObjectExplanation};

/// Whether a risk applies to a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Verdict {
    /// It does.
    Match,
    /// It does not.
    NoMatch,
    /// No rule could tell.
    Unknown,
    /// A rule will tell, but has not yet.
    Pending,
}

/// What became of one rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Outcome {
    /// It says that the risk applies.
    Match,
    /// It says that the risk does not apply.
    NoMatch,
    /// It could not be evaluated.
    Failed,
    /// It will be evaluated.
    Pending,
    /// Its type is not supported by this version of Clearway.
    NotRecognised,
    /// A rule before it decided.
    NotReached,
}

/// One rule of a risk, and what became of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RuleProof {
    /// Its type.
    #[serde(rename = "type")]
    pub kind: String,
    /// Its parameters in one form: the query, or JSON with the keys in order.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub parameters: String,
    /// What became of it.
    pub outcome: Outcome,
    /// What was seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// When.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_at: Option<Timestamp>,
    /// How many seconds before the assessment that was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub age_seconds: Option<u64>,
    /// Where.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The command that shows it again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reproduce: Option<String>,
    /// The value of each part of the expression, for objects in files that the user named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explanation: Option<ObjectExplanation>,
    /// The kind of failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<FailureClass>,
    /// Why there is no answer, in one sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// What would have to be there for an answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
    /// When it will be evaluated: for the first time, or again after a failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub due: Option<Timestamp>,
    /// What should be known about the answer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// A risk, whether it applies, and why.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RiskProof {
    /// Its name.
    pub name: String,
    /// Where more is said about it.
    pub url: String,
    /// What goes wrong.
    pub message: String,
    /// Whether it applies.
    pub verdict: Verdict,
    /// The place of the rule that decided, counted from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decided_by: Option<usize>,
    /// Its rules in order of precedence (U2).
    pub rules: Vec<RuleProof>,
}

/// The status of a condition or recommendation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum Status {
    /// `True`.
    True,
    /// `False`.
    False,
    /// `Unknown`.
    Unknown,
}

/// A status with a word and a text, as conditions of Kubernetes have it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Statement {
    /// The status.
    pub status: Status,
    /// A word in camel case.
    pub reason: String,
    /// The text; paragraphs stand apart by blank lines.
    pub message: String,
}

impl RiskProof {
    /// Whether at least one rule has a type that is known here (U7).
    pub fn recognised(&self) -> bool {
        // Behind the rule that decided nothing was tried, but types were recognised all the same.
        self.decided_by.is_some() || self.rules.iter().any(|rule| rule.outcome != Outcome::NotRecognised)
    }

    /// The rules that could not be evaluated because the source of their evidence cannot be reached.
    pub fn unreachable(&self) -> impl Iterator<Item = &RuleProof> {
        self.rules.iter().filter(|rule| rule.failure.is_some_and(FailureClass::is_of_source))
    }
}

impl Status {
    /// The word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Status::True => "True",
            Status::False => "False",
            Status::Unknown => "Unknown",
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Shared proofs as a list, without asking `serde` for its support of shared values.
pub(crate) fn shared<S: Serializer>(risks: &[Arc<RiskProof>], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(risks.iter().map(AsRef::as_ref))
}
