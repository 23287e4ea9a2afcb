//! Findings that do not know their line yet, within a bound for each kind.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use clearway_core::{Diagnostic, Severity};

use crate::codes::Code;
use crate::files::findings::cut;

/// A finding that does not know its line yet.
pub(super) struct Draft {
    pub(super) code: &'static Code,
    pub(super) severity: Severity,
    pub(super) file: String,
    pub(super) at: At,
    pub(super) message: String,
    pub(super) help: String,
    pub(super) note: Option<String>,
}

/// The value of a file that a finding is about.
pub(super) enum At {
    /// The value of a key.
    Key(&'static str),
    /// An entry of a list: which of those that read so.
    Entry { list: &'static str, text: String, repeat: usize },
    /// A part of a text of a rule, such as its query: which rule, the keys that lead to the text, and the text.
    RuleText { rule: usize, keys: [&'static str; 2], text: Arc<str>, span: Range<usize> },
}

impl Draft {
    pub(super) fn new(
        code: &'static Code,
        file: &str,
        at: At,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> Self {
        let (message, help) = (message.into(), help.into());
        Draft { code, severity: code.severity, file: file.to_owned(), at, message, help, note: None }
    }

    /// The finding, without its place.
    pub(super) fn finding(&self) -> Diagnostic {
        let mut finding = self.code.finding(self.message.as_str()).with_help(self.help.as_str());
        finding.severity = self.severity;
        finding.note.clone_from(&self.note);
        finding
    }
}

/// The drafts of one run. Of each kind the first are kept; the others are counted.
pub(super) struct Drafts {
    most: usize,
    pub(super) kept: Vec<Draft>,
    counts: BTreeMap<&'static str, Count>,
}

#[derive(Default)]
struct Count {
    kept: usize,
    more: usize,
    worst: Option<Severity>,
}

impl Drafts {
    pub(super) fn new(most: usize) -> Self {
        Drafts { most, kept: Vec::new(), counts: BTreeMap::new() }
    }

    pub(super) fn push(&mut self, mut draft: Draft) {
        let count = self.counts.entry(draft.code.code).or_default();
        count.worst = count.worst.max(Some(draft.severity));
        if count.kept >= self.most {
            count.more += 1;
            return;
        }
        count.kept += 1;
        cut(&mut draft.message);
        cut(&mut draft.help);
        self.kept.push(draft);
    }

    /// How many of each kind are not kept, as findings of that kind.
    pub(super) fn omitted_findings(&self) -> Vec<Diagnostic> {
        let more = self.counts.iter().filter(|(_, count)| count.more > 0).map(|(code, count)| {
            let message = format!("{} more findings of this kind are not shown", count.more);
            Diagnostic::new(*code, count.worst.unwrap_or(Severity::Info), message)
        });
        more.collect()
    }
}
