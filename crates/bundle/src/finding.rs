//! One change between two bundles: the rule, the values, the level it needs, and the verdict.

use std::fmt;

use clearway_core::{Diagnostic, Place, Severity, Timestamp};
use serde::Serialize;
use serde_json::Value;

use crate::model::Level;

/// The name of a rule: `R01` to `R46`, or the requirement that a separate check is for (`V2`, `V4`, `V5`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct RuleId(pub(crate) &'static str);

/// What is to be done about a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The versions allow the change.
    Allowed,
    /// A waiver allows the change.
    Waived,
    /// The versions allow the change, but users should know of it.
    Warning,
    /// Whether the change is compatible cannot be decided here; a person has to.
    NeedsReview,
    /// The versions do not allow the change.
    Violation,
}

/// One change between two bundles.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// The rule.
    pub rule: RuleId,
    /// Where: the resource, the API version and the field, such as `httproutes v1 spec.rules[].filters[].type`.
    pub path: String,
    /// The name of the CRD; none for findings about the whole bundle.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub crd: Option<String>,
    /// The API version; none for findings about a whole CRD.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The field; empty for findings about more than one field.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub field: String,
    /// What changed, in one sentence.
    pub message: String,
    /// The value before; none if there was none. Long values are cut.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub old: Option<Value>,
    /// The value after; none if there is none. Long values are cut.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub new: Option<Value>,
    /// The level that the change needs.
    pub needed: Level,
    /// The level that the versions of the two bundles allow.
    pub allowed: Level,
    /// The result.
    pub verdict: Verdict,
    /// What the change means for objects that are stored already, in one sentence.
    pub stored_objects: String,
    /// Where the new schema says so; the old one for what was removed.
    #[serde(rename = "where")]
    pub place: Place,
    /// The waiver that allows it, if the verdict is [`Verdict::Waived`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiver: Option<AppliedWaiver>,
}

/// Why a waiver allows a finding, and until when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AppliedWaiver {
    /// The reason its author gave.
    pub reason: String,
    /// The last moment at which it holds.
    pub expires: Timestamp,
}

impl RuleId {
    /// The name.
    pub const fn as_str(self) -> &'static str {
        self.0
    }
}

impl Verdict {
    /// The words in messages and tables.
    pub const fn as_str(self) -> &'static str {
        match self {
            Verdict::Allowed => "allowed",
            Verdict::Waived => "waived",
            Verdict::Warning => "warning",
            Verdict::NeedsReview => "needs review",
            Verdict::Violation => "violation",
        }
    }
}

impl Finding {
    /// The finding for terminals, JSON and SARIF. The code is the name of the rule.
    pub fn to_diagnostic(&self) -> Diagnostic {
        let (severity, help) = match self.verdict {
            Verdict::Allowed | Verdict::Waived => (Severity::Info, None),
            Verdict::Warning => (Severity::Warning, None),
            Verdict::NeedsReview => {
                (Severity::Warning, Some("check whether stored objects stay valid, then write a waiver".to_owned()))
            }
            Verdict::Violation => (Severity::Error, Some(self.help())),
        };
        let message = format!("{}: {}", self.path, self.message);
        let mut diagnostic = Diagnostic::new(self.rule.0, severity, message).at(self.place.clone());
        diagnostic.help = help;
        diagnostic.note = Some(match &self.waiver {
            Some(waiver) => format!("waived until {}: {}", waiver.expires, waiver.reason),
            None => self.stored_objects.clone(),
        });
        diagnostic
    }

    fn help(&self) -> String {
        match self.needed {
            Level::Never => "undo the change, or write a waiver that says why it is safe".to_owned(),
            Level::NewApiVersion => "make the change in a new API version, or write a waiver".to_owned(),
            needed => format!("release it as a {needed} version; the two versions allow `{}`", self.allowed),
        }
    }
}

impl fmt::Display for RuleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
