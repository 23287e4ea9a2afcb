//! The rules as data: a page each, with an example that fails and one that passes.
//!
//! The page is the one source: title and examples are cut out of it when the program is built.

use std::borrow::Cow;

use clearway_core::Severity;
use clearway_core::diagnostic::{CodePage, sarif};

/// What a rule needs to see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// One object.
    Snapshot,
    /// One object, and what its conventions declare about its condition types.
    Declared,
    /// Several snapshots of one object, in order.
    Sequence,
    /// The definition of a custom resource, or the owners of fields.
    Schema,
}

impl std::fmt::Display for Scope {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Scope::Snapshot => "one object",
            Scope::Declared => "one object and its conventions",
            Scope::Sequence => "several snapshots",
            Scope::Schema => "a definition, or field owners",
        })
    }
}

/// What there is to say about a rule, whatever was found.
#[derive(Debug, Clone, Copy)]
pub struct RuleDoc {
    /// The stable code, such as `SC011`.
    pub code: &'static str,
    /// One line: what the rule asks for.
    pub title: &'static str,
    /// Why it asks for it: the first part of the page.
    pub why: &'static str,
    /// What is checked: the second part of the page.
    pub checked: &'static str,
    /// The gravest severity of its findings.
    pub severity: Severity,
    /// What it needs to see.
    pub scope: Scope,
    /// The whole page in Markdown: why, what is checked, the profiles, both examples, references.
    pub page: &'static str,
    /// YAML that fails.
    pub bad: &'static str,
    /// YAML that passes.
    pub good: &'static str,
}

macro_rules! rules {
    ($($code:literal $severity:ident $scope:ident),* $(,)?) => {
        &[$({
            const PAGE: &str = include_str!(concat!("pages/", $code, ".md"));
            const TITLE: &str = between(PAGE, concat!("# ", $code, ": "), "\n");
            const WHY: &str = between(PAGE, "\n## Why\n\n", "\n\n## ");
            const CHECKED: &str = between(PAGE, "\n## Checked\n\n", "\n\n## ");
            const BAD: &str = between(PAGE, "\n## Fails\n\n```yaml\n", "```");
            const GOOD: &str = between(PAGE, "\n## Passes\n\n```yaml\n", "```");
            RuleDoc {
                code: $code,
                title: TITLE,
                why: WHY,
                checked: CHECKED,
                severity: Severity::$severity,
                scope: Scope::$scope,
                page: PAGE,
                bad: BAD,
                good: GOOD,
            }
        }),*]
    };
}

/// Every rule, by code. `SC000` is about the check itself.
pub const RULES: &[RuleDoc] = rules! {
    "SC000" Error Snapshot,
    "SC001" Error Snapshot,
    "SC002" Error Snapshot,
    "SC003" Error Snapshot,
    "SC004" Error Snapshot,
    "SC005" Error Snapshot,
    "SC006" Error Snapshot,
    "SC007" Error Snapshot,
    "SC008" Error Snapshot,
    "SC009" Error Snapshot,
    "SC010" Error Declared,
    "SC011" Error Declared,
    "SC012" Warning Snapshot,
    "SC013" Error Declared,
    "SC014" Warning Declared,
    "SC015" Error Snapshot,
    "SC016" Error Declared,
    "SC017" Warning Declared,
    "SC018" Warning Snapshot,
    "SC019" Warning Snapshot,
    "SC020" Warning Snapshot,
    "SC021" Error Sequence,
    "SC022" Warning Sequence,
    "SC023" Warning Sequence,
    "SC024" Error Sequence,
    "SC025" Error Schema,
};

/// The rule of a code.
pub fn rule(code: &str) -> Option<&'static RuleDoc> {
    RULES.iter().find(|rule| rule.code == code)
}

/// The rules as a SARIF log lists them.
pub fn sarif_rules() -> Vec<sarif::Rule> {
    RULES
        .iter()
        .map(|rule| sarif::Rule { code: rule.code, title: rule.title, why: rule.why, text: rule.page })
        .collect()
}

/// The rules as pages of `clearway explain`.
pub fn pages() -> Vec<CodePage> {
    let action = "Correct the controller that writes the status, so that it writes as the second example does.";
    let page = |rule: &RuleDoc| CodePage {
        meaning: Cow::Owned(format!("{}\n\n{}", rule.why, rule.checked)),
        ..CodePage::new(rule.code, Some(rule.severity), rule.title, "", action).with_example(rule.bad, rule.good)
    };
    RULES.iter().map(page).collect()
}

/// The text between two marks; the whole text if either is missing, which the tests notice.
const fn between(text: &'static str, open: &str, close: &str) -> &'static str {
    match after(text, open) {
        Some(rest) => match before(rest, close) {
            Some(inner) => inner,
            None => text,
        },
        None => text,
    }
}

const fn after(text: &'static str, mark: &str) -> Option<&'static str> {
    match position(text.as_bytes(), mark.as_bytes()) {
        Some(at) => match text.split_at_checked(at + mark.len()) {
            Some((_, rest)) => Some(rest),
            None => None,
        },
        None => None,
    }
}

const fn before(text: &'static str, mark: &str) -> Option<&'static str> {
    match position(text.as_bytes(), mark.as_bytes()) {
        Some(at) => match text.split_at_checked(at) {
            Some((inner, _)) => Some(inner),
            None => None,
        },
        None => None,
    }
}

const fn position(mut text: &[u8], mark: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        if starts_with(text, mark) {
            return Some(at);
        }
        match text.split_first() {
            Some((_, rest)) => (text, at) = (rest, at + 1),
            None => return None,
        }
    }
}

const fn starts_with(mut text: &[u8], mut mark: &[u8]) -> bool {
    while let Some((wanted, rest)) = mark.split_first() {
        match text.split_first() {
            Some((is, more)) if *is == *wanted => (text, mark) = (more, rest),
            _ => return false,
        }
    }
    true
}
