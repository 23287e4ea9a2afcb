//! What is wrong with somebody's input: where, why, and what to do about it.
//!
//! Every linter and reader of the product returns [`Diagnostic`]s, and only the edge renders them: for a terminal
//! ([`terminal`]), as JSON ([`Diagnostic`] is `Serialize`), or as SARIF for code hosting ([`sarif`]). A stream of them
//! is written by [`report`], one at a time, so that a million findings need no more memory than one. Where they are kept,
//! a [`FindingList`] counts all of them. [`Selection`] and [`suppressions`] say which of them are wanted.

mod finding_list;
mod page;
pub mod report;
pub mod sarif;
mod selection;
pub mod suppressions;
pub mod terminal;

use std::borrow::Cow;
use std::ops::Range;

use serde::Serialize;

pub use finding_list::FindingList;
pub use page::CodePage;
pub use selection::{Selection, UnknownCode};

/// How much a finding matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing; never fails a check.
    Info,
    /// Likely to hurt somebody.
    Warning,
    /// Wrong: a reader, a tool or the API server will fail on it.
    Error,
}

impl Severity {
    /// The lower-case word, as it stands in every output.
    pub fn as_str(self) -> &'static str {
        match self {
            Severity::Info => "info",
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

/// A line and a column, both counted from 1; columns count characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Position {
    /// The line.
    pub line: usize,
    /// The character within the line.
    pub column: usize,
}

/// Where a finding is: in a file, in an object, or both.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Place {
    /// The file, or `-` for standard input.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The place in that file.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub position: Option<Position>,
    /// The object, as `Kind.group namespace/name`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object: Option<String>,
    /// The field within the object, such as `status.conditions[type=Ready].reason`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

/// A piece of one source line with the part that matters.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Excerpt {
    /// The line, or the part of a very long one around the finding.
    pub text: String,
    /// The byte where the part that matters starts in `text`.
    pub start: usize,
    /// The byte behind the part that matters in `text`.
    pub end: usize,
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    /// A stable name for the kind of finding, such as `SC011`.
    pub code: Cow<'static, str>,
    /// How much it matters.
    pub severity: Severity,
    /// What is wrong, in one sentence.
    pub message: String,
    /// Where it is.
    #[serde(rename = "where")]
    pub place: Place,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
    /// What the finding rests on: a requirement, a profile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The source line, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub excerpt: Option<Excerpt>,
}

impl Diagnostic {
    /// A finding that has nothing but its name, weight and sentence yet.
    pub fn new(code: impl Into<Cow<'static, str>>, severity: Severity, message: impl Into<String>) -> Self {
        Diagnostic {
            code: code.into(),
            severity,
            message: message.into(),
            place: Place::default(),
            help: None,
            note: None,
            excerpt: None,
        }
    }

    /// The same finding with what to do about it.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// The same finding with what it rests on.
    #[must_use]
    pub fn with_note(mut self, note: impl Into<String>) -> Self {
        self.note = Some(note.into());
        self
    }

    /// The same finding at a place.
    #[must_use]
    pub fn at(mut self, place: Place) -> Self {
        self.place = place;
        self
    }

    /// The same finding with the source line it is about.
    #[must_use]
    pub fn with_excerpt(mut self, excerpt: Option<Excerpt>) -> Self {
        self.excerpt = excerpt;
        self
    }
}

impl Excerpt {
    /// Longest piece of a line that is shown; JSON dumps are often one line of megabytes.
    const WINDOW: usize = 160;
    /// How far the ends of a line are looked for on either side: what is further away is not shown.
    const REACH: usize = 2 * Self::WINDOW;

    /// The line of `source` that holds the byte range `span`, cut to a readable piece around it.
    ///
    /// Returns nothing if the range does not lie in the text. The range ends with its line. However long the line is, a
    /// small part of it is looked at: a file of one line may have a finding at every other byte.
    pub fn of(source: &str, span: Range<usize>) -> Option<Excerpt> {
        if !source.is_char_boundary(span.start) {
            return None;
        }
        let near = Self::near(source, span.start);
        let (before, after) = (source.get(near.start..span.start)?, source.get(span.start..near.end)?);
        let line_start = before.rfind('\n').map_or(near.start, |at| near.start + at + 1);
        let line_end = span.start + after.find('\n').unwrap_or(after.len());
        let line = source.get(line_start..line_end)?.trim_end_matches('\r');
        let start = (span.start - line_start).min(line.len());
        let end = (span.end.max(span.start) - line_start).clamp(start, line.len());
        if line.len() <= Self::WINDOW {
            return Some(Excerpt { text: line.to_owned(), start, end: line.ceil_char_boundary(end) });
        }
        let from = line.floor_char_boundary(start.saturating_sub(Self::WINDOW / 2));
        let to = line.ceil_char_boundary((from + Self::WINDOW).min(line.len()));
        let (lead, tail) = (if from > 0 { "…" } else { "" }, if to < line.len() { "…" } else { "" });
        let text = format!("{lead}{}{tail}", line.get(from..to)?);
        let shift = |at: usize| line.ceil_char_boundary(at.clamp(from, to)) - from + lead.len();
        Some(Excerpt { start: shift(start), end: shift(end), text })
    }

    /// The part of a text around a byte that an excerpt is taken from.
    fn near(source: &str, at: usize) -> Range<usize> {
        let from = source.floor_char_boundary(at.saturating_sub(Self::REACH));
        from..source.ceil_char_boundary(at.saturating_add(Self::REACH))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_excerpt_is_the_line_and_the_part_that_matters() {
        let source = "a: 1\nstatus: maybe\nb: 2\n";
        let excerpt = Excerpt::of(source, 13..18).unwrap();
        assert_eq!(excerpt, Excerpt { text: "status: maybe".to_owned(), start: 8, end: 13 });
    }

    #[test]
    fn a_very_long_line_is_cut_around_the_finding() {
        let source = format!("{}NEEDLE{}", "é".repeat(5_000), "x".repeat(5_000));
        let excerpt = Excerpt::of(&source, 10_000..10_006).unwrap();
        assert_eq!(excerpt.text.get(excerpt.start..excerpt.end), Some("NEEDLE"));
        assert!(excerpt.text.len() < 200 && excerpt.text.starts_with('…') && excerpt.text.ends_with('…'));
    }

    #[test]
    fn a_small_part_of_a_long_line_is_looked_at() {
        // A letter of one byte and one of four: the ends of what is looked at are between letters.
        let source = "x𝄞".repeat(200_000);
        for at in [0, 1, 5, 500_000, 999_995, 999_996, 1_000_000] {
            let near = Excerpt::near(&source, at);
            assert!(near.contains(&at) || at == source.len(), "{at}: {near:?}");
            assert!(near.len() <= 2 * (Excerpt::REACH + 4), "{at}: {near:?}");
            assert!(source.get(near.clone()).is_some(), "{at}: {near:?}");
            // Nothing outside of it makes a difference.
            let excerpt = Excerpt::of(&source, at..at + 1);
            let before = source.get(..near.start).unwrap().replace('x', "\n");
            let after = source.get(near.end..).unwrap().replace('x', "\n");
            let other = format!("{before}{}{after}", &source[near]);
            assert_eq!(Excerpt::of(&other, at..at + 1), excerpt, "{at}");
            assert_eq!(excerpt.is_some(), source.is_char_boundary(at), "{at}");
        }
    }

    #[test]
    fn json_has_the_place_as_one_object_named_where() {
        let place =
            Place { file: Some("a.yaml".into()), position: Some(Position { line: 3, column: 7 }), ..Place::default() };
        let diagnostic = Diagnostic::new("SC002", Severity::Error, "bad").at(place).with_help("mend it");
        assert_eq!(
            serde_json::to_string(&diagnostic).unwrap(),
            r#"{"code":"SC002","severity":"error","message":"bad","where":{"file":"a.yaml","line":3,"column":7},"help":"mend it"}"#
        );
    }

    /// The same with the ends of the line looked for in the whole text.
    fn of_the_whole_line(source: &str, start: usize) -> Option<String> {
        let (before, after) = source.split_at_checked(start)?;
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        let line_end = start + after.find('\n').unwrap_or(after.len());
        let line = source.get(line_start..line_end)?;
        let start = start - line_start;
        let from = line.floor_char_boundary(start.saturating_sub(Excerpt::WINDOW / 2));
        let from = if line.len() <= Excerpt::WINDOW { 0 } else { from };
        let to = line.ceil_char_boundary(from + Excerpt::WINDOW);
        let (lead, tail) = (if from > 0 { "…" } else { "" }, if to < line.len() { "…" } else { "" });
        Some(format!("{lead}{}{tail}", line.get(from..to)?))
    }

    proptest! {
        #[test]
        fn lines_of_any_length_are_cut_in_the_same_way(text in "([a-zé𝄞]{0,400}\n?){0,4}", start in 0_usize..1_600) {
            let start = text.floor_char_boundary(start);
            prop_assert_eq!(Excerpt::of(&text, start..start + 1).map(|excerpt| excerpt.text), of_the_whole_line(&text, start));
        }

        #[test]
        fn any_range_of_any_text_gives_a_sound_excerpt_or_none(text in "(?s).{0,400}", start in 0_usize..500, length in 0_usize..500) {
            if let Some(excerpt) = Excerpt::of(&text, start..start + length) {
                prop_assert!(excerpt.text.get(excerpt.start..excerpt.end).is_some());
            }
        }
    }
}
