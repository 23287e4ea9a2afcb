//! What is wrong with a query: which kind, where, why, and what to do.
//!
//! An [`Error`] is a value with a byte span. [`Error::diagnostic`] turns it into the product's own form, with line,
//! column and excerpt.

mod pages;

use std::fmt;

use clearway_core::{Diagnostic, Excerpt, Place, Position, Severity};

use crate::syntax::ast::Span;

pub use pages::pages;

/// The stable name of a kind of error, refusal or finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Code {
    /// The text is longer than is read.
    TooLong,
    /// The query nests deeper than is read.
    TooDeep,
    /// A character that starts nothing.
    Character,
    /// A string that does not end, or has a wrong escape.
    Text,
    /// A number or duration that is none, or is out of range.
    Number,
    /// The words are in no order that makes a query.
    Syntax,
    /// Syntax that Prometheus has behind a feature flag.
    Experimental,
    /// A selector that selects everything, or names its metric twice.
    Selector,
    /// A regular expression that is none.
    Regex,
    /// A function that does not exist, or gets the wrong number of arguments.
    Function,
    /// A value of the wrong type.
    Type,
    /// `on`, `ignoring`, `group_left`, `group_right` or `bool` where it has no meaning.
    Matching,
    /// A range, `offset` or `@` behind something that has no time.
    Modifier,
    /// A limit of the fence.
    Fence,
    /// The result is no instant vector.
    NotAVector,
    /// The query can say 1 but never 0.
    NoZeroBranch,
    /// The query can say 0 but never 1.
    NoOneBranch,
    /// The query, or a branch of it, can give neither 0 nor 1.
    OutsideZeroOne,
    /// The query may give several series.
    SeveralSeries,
    /// A regular expression behind `=` or `!=`.
    RegexUnderEquals,
    /// The series and the query do not fit together: the evaluation fails as it does in Prometheus.
    Evaluation,
    /// The query asks for a native histogram, which is not evaluated.
    NativeHistogram,
    /// The query asks for something else that is not evaluated.
    Unsupported,
    /// The evaluation takes more than its budget of samples.
    Budget,
    /// The evaluation was told to stop.
    Stopped,
}

impl Code {
    /// The code as it stands in every output.
    pub fn as_str(self) -> &'static str {
        match self {
            Code::TooLong => "PQ001",
            Code::TooDeep => "PQ002",
            Code::Character => "PQ003",
            Code::Text => "PQ004",
            Code::Number => "PQ005",
            Code::Syntax => "PQ006",
            Code::Experimental => "PQ007",
            Code::Selector => "PQ008",
            Code::Regex => "PQ009",
            Code::Function => "PQ010",
            Code::Type => "PQ011",
            Code::Matching => "PQ012",
            Code::Modifier => "PQ013",
            Code::Fence => "PQ020",
            Code::NotAVector => "PQ030",
            Code::NoZeroBranch => "PQ031",
            Code::NoOneBranch => "PQ032",
            Code::OutsideZeroOne => "PQ033",
            Code::SeveralSeries => "PQ034",
            Code::RegexUnderEquals => "PQ035",
            Code::Evaluation => "PQ040",
            Code::NativeHistogram => "PQ041",
            Code::Unsupported => "PQ042",
            Code::Budget => "PQ043",
            Code::Stopped => "PQ044",
        }
    }
}

/// One thing that makes a text no query.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    /// Which kind it is.
    pub code: Code,
    /// Where it is.
    pub span: Span,
    /// What is wrong, in one sentence.
    pub message: String,
    /// What to do about it.
    pub help: String,
}

impl Error {
    pub(crate) fn new(code: Code, span: Span, message: impl Into<String>, help: impl Into<String>) -> Self {
        Error { code, span, message: message.into(), help: help.into() }
    }

    /// The error as a finding in `source`, which is the text that was read.
    pub fn diagnostic(&self, source: &str) -> Diagnostic {
        diagnostic(source, self.code, Severity::Error, self.span, &self.message).with_help(&self.help)
    }
}

/// Everything that makes a text no query; never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Errors(pub Vec<Error>);

impl fmt::Display for Errors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, error) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str(" ")?;
            }
            write!(f, "{error}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Errors {}

impl From<Error> for Errors {
    fn from(error: Error) -> Self {
        Errors(vec![error])
    }
}

/// A finding of this crate at its line and column, counted from 1.
pub(crate) fn diagnostic(source: &str, code: Code, severity: Severity, span: Span, message: &str) -> Diagnostic {
    let place = Place { position: position(source, span.start), ..Place::default() };
    Diagnostic::new(code.as_str(), severity, message).at(place).with_excerpt(Excerpt::of(source, span.start..span.end))
}

/// The line and column of a byte; nothing if it lies in no place of the text.
fn position(source: &str, at: usize) -> Option<Position> {
    let before = source.get(..at)?;
    let line_start = before.rfind('\n').map_or(0, |newline| newline.saturating_add(1));
    let line = before.matches('\n').count().saturating_add(1);
    let column = before.get(line_start..)?.chars().count().saturating_add(1);
    Some(Position { line, column })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_shown_at_its_line_and_column() {
        let source = "sum(\n  é{a=~\"(\"}\n)";
        let error = Error::new(Code::Regex, Span::new(9, 16), "No.", "Mend it.");
        let diagnostic = error.diagnostic(source);
        assert_eq!(diagnostic.place.position, Some(Position { line: 2, column: 4 }));
        assert_eq!(diagnostic.excerpt.map(|excerpt| excerpt.text), Some("  é{a=~\"(\"}".to_owned()));
        assert_eq!(diagnostic.code, "PQ009");
    }

    #[test]
    fn a_place_outside_the_text_is_no_place() {
        assert_eq!(position("ab", 7), None);
    }
}
