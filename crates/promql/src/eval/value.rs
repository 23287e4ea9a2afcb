//! What an evaluation gives.

use std::fmt;

use crate::series::Labels;
use crate::syntax::ast::Span;

/// The value of a query.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A number.
    Scalar(f64),
    /// A text.
    String(String),
    /// Series with one sample each, in the order of the result.
    Vector(Vec<Sample>),
    /// Series with several samples each, in the order of their labels.
    Matrix(Vec<Row>),
}

/// A series with one sample.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// The series.
    pub labels: Labels,
    /// Its value at the time of the evaluation.
    pub value: f64,
}

/// A series with the samples of a range.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// The series.
    pub labels: Labels,
    /// Times in milliseconds since 1970, rising, with their values.
    pub samples: Vec<(i64, f64)>,
}

/// What a query gave.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// Its value.
    pub value: Value,
    /// What Prometheus would remark about it.
    pub notes: Vec<Note>,
    /// The value of every expression of the query, if that was asked for.
    pub explained: Vec<ExpressionValue>,
}

/// How much a remark matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// The result is probably not what was meant.
    Warning,
    /// The result may not be what was meant.
    Info,
}

/// A remark of the evaluation, in the words of Prometheus.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Note {
    /// How much it matters.
    pub level: Level,
    /// What part of the query it is about.
    pub span: Span,
    /// The remark.
    pub message: String,
}

impl Note {
    /// The remark as Prometheus prints it: with its level, and line and column in `source`.
    pub fn describe(&self, source: &str) -> String {
        let level = match self.level {
            Level::Warning => "PromQL warning",
            Level::Info => "PromQL info",
        };
        let before = source.get(..self.span.start).unwrap_or_default();
        let line = before.matches('\n').count().saturating_add(1);
        let column = before.rsplit('\n').next().map_or(0, str::len).saturating_add(1);
        format!("{level}: {} ({line}:{column})", self.message)
    }
}

/// The value of one expression within a query.
#[derive(Debug, Clone, PartialEq)]
pub struct ExpressionValue {
    /// Where the expression stands.
    pub span: Span,
    /// How deep it stands; the whole query is at 1.
    pub level: usize,
    /// What it gave last.
    pub value: Value,
    /// How often it was evaluated: more than once within a subquery or a range.
    pub times: u64,
}

/// A number as Prometheus prints it in results: no exponent, `+Inf`, `-Inf`, `NaN`.
pub(crate) fn plain_number(number: f64) -> String {
    if number.is_nan() {
        "NaN".to_owned()
    } else if number.is_infinite() {
        if number > 0.0 { "+Inf".to_owned() } else { "-Inf".to_owned() }
    } else {
        number.to_string()
    }
}

/// A number as Go's `%g` prints it: with an exponent from a million on and below a ten-thousandth.
pub(crate) fn short_number(number: f64) -> String {
    let text = format!("{number:e}");
    let parts = text.split_once('e').and_then(|(digits, exponent)| Some((digits, exponent.parse::<i32>().ok()?)));
    match parts {
        Some((digits, exponent)) if !(-4..6).contains(&exponent) => {
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{digits}e{sign}{:02}", exponent.unsigned_abs())
        }
        _ => plain_number(number),
    }
}

impl fmt::Display for Value {
    /// One series a line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Scalar(number) => f.write_str(&plain_number(*number)),
            Value::String(text) => f.write_str(text),
            Value::Vector(samples) => {
                for (index, sample) in samples.iter().enumerate() {
                    let end = if index > 0 { "\n" } else { "" };
                    write!(f, "{end}{} {}", sample.labels, plain_number(sample.value))?;
                }
                Ok(())
            }
            Value::Matrix(rows) => {
                for (index, row) in rows.iter().enumerate() {
                    write!(f, "{}{}", if index > 0 { "\n" } else { "" }, row.labels)?;
                    for (time, value) in &row.samples {
                        write!(f, " {}@{time}", plain_number(*value))?;
                    }
                }
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_printed_as_go_prints_them() {
        for (number, short, plain) in [
            (0.0, "0", "0"),
            (0.5, "0.5", "0.5"),
            (123_456.0, "123456", "123456"),
            (1e6, "1e+06", "1000000"),
            (12_345_678.5, "1.23456785e+07", "12345678.5"),
            (1e-4, "0.0001", "0.0001"),
            (1e-5, "1e-05", "0.00001"),
            (f64::INFINITY, "+Inf", "+Inf"),
            (f64::NAN, "NaN", "NaN"),
        ] {
            assert_eq!((short_number(number).as_str(), plain_number(number).as_str()), (short, plain));
        }
    }

    #[test]
    fn a_remark_names_line_and_column() {
        let note = Note { level: Level::Info, span: Span::new(5, 6), message: "mind".to_owned() };
        assert_eq!(note.describe("sum(\nx)"), "PromQL info: mind (2:1)");
    }
}
