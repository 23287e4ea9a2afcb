//! What is wrong with an expression, or with evaluating one.
//!
//! An error has a class and a place in the text of the expression. What is wrong with the text itself is said with words
//! of the text; what goes wrong on evaluation is said by its class only, so that nothing of an object is repeated.

mod pages;

use std::fmt;

use clearway_core::Diagnostic;
use clearway_core::diagnostic::{Excerpt, Place, Severity};

use crate::syntax::span::Span;

pub use pages::pages;

/// The kind of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ErrorClass {
    /// The text is not CEL.
    Syntax,
    /// The text, its types or its patterns exceed a limit.
    TooLarge,
    /// A name that the environment does not have.
    Undeclared,
    /// Types that do not fit.
    Type,
    /// A constant that cannot be what it is used as, such as `duration('x')`.
    InvalidConstant,
    /// Something that CEL has and this engine does not.
    Unsupported,
    /// The estimated cost exceeds its limit.
    EstimatedCost,

    /// A key or field that is not there.
    NoSuchKey,
    /// A function or operator for values of other types.
    NoSuchOverload,
    /// An index outside a list.
    IndexOutOfBounds,
    /// A division by zero.
    DivisionByZero,
    /// A remainder of a division by zero.
    ModulusByZero,
    /// A number, time or duration outside the range of its type.
    Overflow,
    /// A text or value that cannot be converted.
    Conversion,
    /// An argument that a function does not accept.
    InvalidArgument,
    /// A regular expression that is not valid, or too large.
    InvalidRegex,
    /// A key that maps cannot have, or have twice.
    InvalidKey,
    /// NaN does not compare.
    NotOrdered,
    /// The value of an optional that has none.
    NoValue,
    /// Data that does not fit its schema.
    InvalidData,
    /// A variable without a value.
    NotBound,
    /// The cost of the evaluation exceeds its budget.
    CostLimit,
    /// The evaluation makes more data than its budget allows.
    MemoryLimit,
    /// The evaluation looks at more data than its budget allows.
    WorkLimit,
}

impl ErrorClass {
    /// Whether this is about the expression itself, before any evaluation.
    pub const fn is_load_time(self) -> bool {
        matches!(
            self,
            ErrorClass::Syntax
                | ErrorClass::TooLarge
                | ErrorClass::Undeclared
                | ErrorClass::Type
                | ErrorClass::InvalidConstant
                | ErrorClass::Unsupported
                | ErrorClass::EstimatedCost
        )
    }

    /// Whether a budget ended the evaluation.
    pub const fn is_budget(self) -> bool {
        matches!(self, ErrorClass::CostLimit | ErrorClass::MemoryLimit | ErrorClass::WorkLimit)
    }

    /// The stable name, for machines.
    pub const fn name(self) -> &'static str {
        match self {
            ErrorClass::Syntax => "syntax",
            ErrorClass::TooLarge => "too-large",
            ErrorClass::Undeclared => "undeclared",
            ErrorClass::Type => "type",
            ErrorClass::InvalidConstant => "invalid-constant",
            ErrorClass::Unsupported => "unsupported",
            ErrorClass::EstimatedCost => "estimated-cost",
            ErrorClass::NoSuchKey => "no-such-key",
            ErrorClass::NoSuchOverload => "no-such-overload",
            ErrorClass::IndexOutOfBounds => "index-out-of-bounds",
            ErrorClass::DivisionByZero => "division-by-zero",
            ErrorClass::ModulusByZero => "modulus-by-zero",
            ErrorClass::Overflow => "overflow",
            ErrorClass::Conversion => "conversion",
            ErrorClass::InvalidArgument => "invalid-argument",
            ErrorClass::InvalidRegex => "invalid-regex",
            ErrorClass::InvalidKey => "invalid-key",
            ErrorClass::NotOrdered => "not-ordered",
            ErrorClass::NoValue => "no-value",
            ErrorClass::InvalidData => "invalid-data",
            ErrorClass::NotBound => "not-bound",
            ErrorClass::CostLimit => "cost-limit",
            ErrorClass::MemoryLimit => "memory-limit",
            ErrorClass::WorkLimit => "work-limit",
        }
    }

    /// The code of a [`Diagnostic`].
    pub const fn code(self) -> &'static str {
        match self {
            ErrorClass::Syntax => "CEL001",
            ErrorClass::TooLarge => "CEL002",
            ErrorClass::Undeclared => "CEL003",
            ErrorClass::Type => "CEL004",
            ErrorClass::InvalidConstant => "CEL005",
            ErrorClass::Unsupported => "CEL006",
            ErrorClass::EstimatedCost => "CEL007",
            _ => "CEL010",
        }
    }

    /// One sentence without data.
    pub const fn describe(self) -> &'static str {
        match self {
            ErrorClass::Syntax => "the expression is not valid CEL",
            ErrorClass::TooLarge => "the expression is too large",
            ErrorClass::Undeclared => "the name is not declared",
            ErrorClass::Type => "the types do not match",
            ErrorClass::InvalidConstant => "the constant is not valid",
            ErrorClass::Unsupported => "this is not supported",
            ErrorClass::EstimatedCost => "the estimated cost exceeds the limit",
            ErrorClass::NoSuchKey => "no such key",
            ErrorClass::NoSuchOverload => "no such overload",
            ErrorClass::IndexOutOfBounds => "index out of bounds",
            ErrorClass::DivisionByZero => "division by zero",
            ErrorClass::ModulusByZero => "modulus by zero",
            ErrorClass::Overflow => "the result is out of range",
            ErrorClass::Conversion => "the value cannot be converted",
            ErrorClass::InvalidArgument => "the argument is not valid",
            ErrorClass::InvalidRegex => "the regular expression is not valid",
            ErrorClass::InvalidKey => "the map key is not valid or occurs twice",
            ErrorClass::NotOrdered => "NaN values cannot be ordered",
            ErrorClass::NoValue => "the optional has no value",
            ErrorClass::InvalidData => "the data does not match its schema",
            ErrorClass::NotBound => "the variable has no value",
            ErrorClass::CostLimit => "the cost limit is exceeded",
            ErrorClass::MemoryLimit => "the memory limit is exceeded",
            ErrorClass::WorkLimit => "the limit on processed data is exceeded",
        }
    }
}

/// What is wrong, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CelError {
    /// The kind.
    pub class: ErrorClass,
    /// The part of the expression.
    pub span: Span,
    /// More words, about the text of the expression only; none for errors of evaluation.
    pub detail: Option<Box<str>>,
}

impl CelError {
    /// An error that its class says everything about.
    pub const fn new(class: ErrorClass, span: Span) -> Self {
        CelError { class, span, detail: None }
    }

    /// An error with more words.
    pub fn with(class: ErrorClass, span: Span, detail: impl Into<Box<str>>) -> Self {
        CelError { class, span, detail: Some(detail.into()) }
    }

    /// The error at its line and column, with the line that it is in.
    pub fn diagnostic(&self, source: &str) -> Diagnostic {
        let place = Place { position: self.span.position(source), ..Place::default() };
        let range = self.span.start as usize..self.span.end as usize;
        Diagnostic::new(self.class.code(), Severity::Error, self.to_string())
            .at(place)
            .with_excerpt(Excerpt::of(source, range))
    }
}

impl fmt::Display for CelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.detail.as_deref().unwrap_or(self.class.describe()))
    }
}

impl std::error::Error for CelError {}

#[cfg(test)]
mod tests {
    use clearway_core::diagnostic::Position;

    use super::*;

    #[test]
    fn an_error_is_shown_at_its_place() {
        let error = CelError::new(ErrorClass::NoSuchKey, Span::new(3, 6));
        let diagnostic = error.diagnostic("a +\nb.c");
        assert_eq!(diagnostic.place.position, Some(Position { line: 1, column: 4 }));
        assert_eq!(diagnostic.message, "no such key");
    }
}
