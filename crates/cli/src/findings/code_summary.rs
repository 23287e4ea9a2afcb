//! Findings for a person: a few with their source lines, more of them in one line each, and a count for every code.
//!
//! A linter of a large directory has thousands of findings. A screen is enough to see which kinds there are and where
//! the first ones of each are, so memory and output are bounded whatever is found.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt::Write as _;

use clearway_core::diagnostic::terminal;
use clearway_core::terminal_text::escape_line;
use clearway_core::{Diagnostic, Severity};

use crate::output::{Table, truncated};

/// So many findings are shown with their source lines; if there are more, each has one line.
const WITH_SOURCE: usize = 5;

/// Lines of findings that are shown at most. If there are more, the first ones of each code are.
const LINES: usize = 24;

/// The findings of a run.
#[derive(Debug, Default)]
pub(super) struct CodeSummary {
    /// The first ones that are shown, in the order in which they were found.
    first: Vec<Diagnostic>,
    shown: usize,
    /// By code and severity: some codes have findings of several severities.
    codes: BTreeMap<(Reverse<Severity>, Cow<'static, str>), Code>,
}

#[derive(Debug, Default)]
struct Code {
    count: usize,
    shown: usize,
    /// The first ones that are shown.
    first: Vec<Diagnostic>,
}

impl CodeSummary {
    /// Counts a finding, and keeps it if it is shown and there is room.
    pub(super) fn push(&mut self, finding: &Diagnostic, is_shown: bool) {
        let code = self.codes.entry((Reverse(finding.severity), finding.code.clone())).or_default();
        code.count = code.count.saturating_add(1);
        if !is_shown {
            return;
        }
        code.shown = code.shown.saturating_add(1);
        if code.first.len() < LINES {
            code.first.push(finding.clone());
        }
        self.shown = self.shown.saturating_add(1);
        if self.first.len() < WITH_SOURCE {
            self.first.push(finding.clone());
        }
    }

    /// The findings: with their source lines if they are few, else in a line each. Lines are cut at the width of a terminal,
    /// and whole where there is none: a log or another program has room for them.
    pub(super) fn findings(&self, width: Option<usize>, colour: bool) -> String {
        if self.shown <= WITH_SOURCE {
            return self.first.iter().map(|finding| terminal::render(finding, colour) + "\n\n").collect();
        }
        let limit = self.lines_per_code();
        let mut text = String::new();
        for code in self.codes.values() {
            for finding in code.first.iter().take(limit) {
                let line = line(finding);
                let line = match width {
                    Some(width) => truncated(&line, width),
                    None => line,
                };
                // Writing into a text cannot fail.
                let _ = writeln!(text, "{line}");
            }
        }
        text.push('\n');
        text
    }

    /// How many findings of [`CodeSummary::findings`] are left out because there are too many.
    pub(super) fn left_out(&self) -> usize {
        if self.shown <= WITH_SOURCE {
            return 0;
        }
        let limit = self.lines_per_code();
        self.codes.values().map(|code| code.shown.saturating_sub(limit)).sum()
    }

    /// A line for each code; empty if nothing was found.
    pub(super) fn table(&self, title: impl Fn(&str) -> Option<&'static str>) -> Option<Table> {
        let row = |((severity, code), found): (&(Reverse<Severity>, Cow<'static, str>), &Code)| {
            let title = title(code).unwrap_or_default();
            vec![code.to_string(), severity_word(severity.0).to_owned(), found.count.to_string(), title.to_owned()]
        };
        (!self.codes.is_empty())
            .then(|| Table::new(&["CODE", "SEVERITY", "FINDINGS", "ABOUT"], self.codes.iter().map(row)))
    }

    /// The most findings of each code that fit, and at least one.
    fn lines_per_code(&self) -> usize {
        let needed = |limit: usize| self.codes.values().map(|code| code.shown.min(limit)).sum::<usize>();
        (1..=LINES).rev().find(|&limit| needed(limit) <= LINES).unwrap_or(1)
    }
}

/// A finding in one line: what, where, and the message.
fn line(finding: &Diagnostic) -> String {
    let place = &finding.place;
    let file = place.file.as_deref().map(|file| match place.position {
        Some(position) => format!("{file}:{}:{}", position.line, position.column),
        None => file.to_owned(),
    });
    let place = file.or_else(|| place.object.clone()).map(|place| format!("{place}: ")).unwrap_or_default();
    let word = severity_word(finding.severity);
    escape_line(&format!("{word}[{}] {place}{}", finding.code, finding.message)).into_owned()
}

/// The word of the counts, in which `info` is a note.
fn severity_word(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "note",
    }
}

#[cfg(test)]
mod tests {
    use clearway_core::{Place, Position};

    use super::*;

    fn finding(code: &'static str, severity: Severity, line: usize) -> Diagnostic {
        let place =
            Place { file: Some("a.yaml".to_owned()), position: Some(Position { line, column: 1 }), ..Place::default() };
        Diagnostic::new(code, severity, "bad\nthing").at(place)
    }

    fn summary(counts: &[(&'static str, Severity, usize)]) -> CodeSummary {
        let mut summary = CodeSummary::default();
        for (code, severity, count) in counts {
            for line in 1..=*count {
                summary.push(&finding(code, *severity, line), *severity > Severity::Info);
            }
        }
        summary
    }

    #[test]
    fn few_findings_are_shown_with_their_source_and_many_in_a_line_each() {
        let few = summary(&[("X1", Severity::Error, 2)]);
        let shown = few.findings(None, false);
        assert!(shown.starts_with("error[X1]: bad\n") && shown.contains("--> a.yaml:1:1"), "{shown}");
        let many = summary(&[("X1", Severity::Warning, 5), ("X2", Severity::Error, 1)]);
        let text = many.findings(None, false);
        assert_eq!(text.lines().count(), 7, "{text}");
        assert!(text.starts_with("error[X2] a.yaml:1:1: bad thing\nwarning[X1] a.yaml:1:1: bad thing\n"), "{text}");
        assert_eq!(many.findings(Some(20), false).lines().next(), Some("error[X2] a.yaml:1:…"));
        assert_eq!((few.left_out(), many.left_out()), (0, 0));
    }

    #[test]
    fn of_very_many_the_first_of_each_code_are_shown_and_all_are_counted() {
        let all = summary(&[
            ("X1", Severity::Warning, 100_000),
            ("X2", Severity::Warning, 2),
            ("X3", Severity::Error, 50),
            ("X4", Severity::Info, 70),
        ]);
        let text = all.findings(None, false);
        assert_eq!(text.lines().filter(|line| !line.is_empty()).count(), LINES);
        assert_eq!(text.matches("[X2]").count(), 2);
        assert!(!text.contains("[X4]"), "notes are counted only");
        assert_eq!(all.left_out(), 100_000 + 2 + 50 - LINES);
        let table = all.table(|code| (code == "X1").then_some("Title")).unwrap().to_string();
        assert_eq!(
            table,
            "CODE  SEVERITY  FINDINGS  ABOUT\n\
             X3    error     50\n\
             X1    warning   100000    Title\n\
             X2    warning   2\n\
             X4    note      70\n"
        );
    }

    #[test]
    fn nothing_found_is_nothing_to_say() {
        let none = CodeSummary::default();
        assert_eq!((none.findings(None, false), none.table(|_| None)), (String::new(), None));
    }
}
