//! The documentation of one code, which `clearway explain` and docs/codes.md show.
//!
//! Every crate keeps the pages of its codes beside the code that reports them; the program collects them. What a page
//! leaves out is empty, so that a table of pages can be written with one constructor per crate.

use std::borrow::Cow;

use serde::Serialize;

use super::{Severity, sarif};

/// What a code means, whatever was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CodePage {
    /// The stable code: `GD021`, a reason such as `PromQLError`, or a condition with its reason such as `Accepted/Pending`.
    pub code: Cow<'static, str>,
    /// One line: what is wrong, or what the code says.
    pub title: Cow<'static, str>,
    /// The gravest severity of its findings; none for codes that are not findings, such as reasons of conditions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub severity: Option<Severity>,
    /// What it means, and why it matters.
    pub meaning: Cow<'static, str>,
    /// What to do about it; empty where nothing has to be done.
    pub action: Cow<'static, str>,
    /// Something that has the code; empty where text cannot show it.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub wrong: Cow<'static, str>,
    /// The same without it.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub right: Cow<'static, str>,
}

impl CodePage {
    /// A page without examples.
    pub const fn new(
        code: &'static str,
        severity: Option<Severity>,
        title: &'static str,
        meaning: &'static str,
        action: &'static str,
    ) -> Self {
        CodePage {
            code: Cow::Borrowed(code),
            title: Cow::Borrowed(title),
            severity,
            meaning: Cow::Borrowed(meaning),
            action: Cow::Borrowed(action),
            wrong: Cow::Borrowed(""),
            right: Cow::Borrowed(""),
        }
    }

    /// A page of a rule as a SARIF log lists it.
    pub const fn of_rule(rule: &sarif::Rule, severity: Severity, action: &'static str) -> Self {
        CodePage::new(rule.code, Some(severity), rule.title, rule.why, action)
    }

    /// The same page with an example that has the code, and one that does not.
    #[must_use]
    pub fn with_example(mut self, wrong: &'static str, right: &'static str) -> Self {
        self.wrong = Cow::Borrowed(wrong);
        self.right = Cow::Borrowed(right);
        self
    }
}
