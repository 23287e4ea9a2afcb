//! `format`: texts with clauses such as `%s` and `%.2f`.
//!
//! There are two ways of writing numbers and lists. Kubernetes has the first one, with the separators of American
//! English; the specification has the second, without any.

#![expect(clippy::format_push_string, reason = "writing to a text does not fail, and this is how it reads best")]

use std::fmt::Write as _;

use crate::cost::meter::Meter;
use crate::error::ErrorClass;
use crate::value::convert::{double_text, duration_text};
use crate::value::{Reader, Value};

/// A part of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Piece<'t> {
    Literal(&'t str),
    Clause(Clause),
}

/// `%`, what comes behind it, and a letter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Clause {
    pub(crate) letter: char,
    pub(crate) precision: Option<usize>,
}

/// The digits that may be asked for.
const MAX_PRECISION: usize = 1_000;

/// Splits a text into its parts; the last one may be an error.
pub(crate) fn pieces(text: &str) -> impl Iterator<Item = Result<Piece<'_>, &'static str>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let at = rest.find('%').unwrap_or(rest.len());
        if at > 0 {
            let (literal, after) = rest.split_at_checked(at)?;
            rest = after;
            return Some(Ok(Piece::Literal(literal)));
        }
        let after = rest.get(1..).unwrap_or_default();
        if let Some(after) = after.strip_prefix('%') {
            let literal = rest.get(..1).unwrap_or_default();
            rest = after;
            return Some(Ok(Piece::Literal(literal)));
        }
        let (clause, after) = match clause(after) {
            Ok(found) => found,
            Err(error) => {
                rest = "";
                return Some(Err(error));
            }
        };
        rest = after;
        Some(Ok(Piece::Clause(clause)))
    })
}

fn clause(text: &str) -> Result<(Clause, &str), &'static str> {
    let (precision, rest) = match text.strip_prefix('.') {
        None => (None, text),
        Some(after) => {
            let digits = after.bytes().take_while(u8::is_ascii_digit).count();
            let (digits, rest) = after.split_at_checked(digits).unwrap_or_default();
            let precision = digits.parse::<usize>().ok().filter(|precision| *precision <= MAX_PRECISION);
            (Some(precision.ok_or("the precision of a clause is not a number")?), rest)
        }
    };
    let letter = rest.chars().next().ok_or("the string ends within a clause")?;
    if !"sdfebxXo".contains(letter) {
        return Err("a clause must be one of %s, %d, %f, %e, %b, %x, %X and %o");
    }
    Ok((Clause { letter, precision }, rest.get(letter.len_utf8()..).unwrap_or_default()))
}

/// Writes values into texts.
pub(crate) struct Formatter<'m, 'a> {
    pub(crate) meter: &'m mut Meter,
    pub(crate) reader: Reader<'a>,
    /// Whether numbers and lists are written as the specification says.
    pub(crate) by_specification: bool,
    /// Whether a value to be written, or a part of one, is not known.
    pub(crate) unknown: bool,
}

impl<'a> Formatter<'_, 'a> {
    /// The text with its clauses replaced.
    pub(crate) fn format(&mut self, text: &str, arguments: &[Value<'a>]) -> Result<String, ErrorClass> {
        let mut out = String::new();
        let mut arguments = arguments.iter();
        for piece in pieces(text) {
            match piece.map_err(|_| ErrorClass::InvalidArgument)? {
                Piece::Literal(literal) => out.push_str(literal),
                Piece::Clause(clause) => {
                    let argument = arguments.next().ok_or(ErrorClass::InvalidArgument)?;
                    let before = out.len();
                    self.clause(clause, argument, &mut out)?;
                    self.meter.memory(out.len().saturating_sub(before))?;
                }
            }
        }
        Ok(out)
    }

    fn clause(&mut self, clause: Clause, value: &Value<'a>, out: &mut String) -> Result<(), ErrorClass> {
        let wrong = Err(ErrorClass::InvalidArgument);
        self.unknown |= matches!(value, Value::Unknown);
        let written = match (clause.letter, value) {
            ('s', value) => return self.plain(value, out, 0),
            ('d', Value::Int(number)) => write!(out, "{number}"),
            ('d', Value::Uint(number)) => write!(out, "{number}"),
            ('d', Value::Double(number)) if self.by_specification => write!(out, "{}", plain_double(*number)),
            ('f' | 'e', value) => {
                let Some(number) = self.number(value) else { return wrong };
                self.decimal(clause, number, out);
                return Ok(());
            }
            ('b', Value::Bool(value)) => write!(out, "{}", u8::from(*value)),
            ('b', Value::Int(number)) => write!(out, "{}{:b}", minus(*number), number.unsigned_abs()),
            ('b', Value::Uint(number)) => write!(out, "{number:b}"),
            ('o', Value::Int(number)) => write!(out, "{}{:o}", minus(*number), number.unsigned_abs()),
            ('o', Value::Uint(number)) => write!(out, "{number:o}"),
            ('x' | 'X', value) => {
                if let Value::String(_) | Value::Bytes(_) = value {
                    self.meter.memory(value_bytes(value).saturating_mul(2))?;
                }
                let Some(hex) = hexadecimal(value) else { return wrong };
                out.push_str(&if clause.letter == 'X' { hex.to_ascii_uppercase() } else { hex });
                Ok(())
            }
            _ => return wrong,
        };
        written.map_err(|_| ErrorClass::InvalidArgument)
    }

    #[expect(clippy::cast_precision_loss, reason = "integers are written as floating-point numbers")]
    fn number(&self, value: &Value<'a>) -> Option<f64> {
        match value {
            Value::Double(number) => Some(*number),
            Value::Int(number) if self.by_specification => Some(*number as f64),
            Value::Uint(number) if self.by_specification => Some(*number as f64),
            Value::String(text) if !self.by_specification => match &**text {
                "NaN" => Some(f64::NAN),
                "Infinity" => Some(f64::INFINITY),
                "-Infinity" => Some(f64::NEG_INFINITY),
                _ => None,
            },
            _ => None,
        }
    }

    fn decimal(&self, clause: Clause, number: f64, out: &mut String) {
        if !number.is_finite() {
            let infinite = if self.by_specification { "Infinity" } else { "∞" };
            let sign = if number < 0.0 { "-" } else { "" };
            out.push_str(&if number.is_nan() { "NaN".to_owned() } else { format!("{sign}{infinite}") });
            return;
        }
        let precision = clause.precision.unwrap_or(6);
        out.push_str(&match (clause.letter, self.by_specification) {
            ('f', true) => format!("{number:.precision$}"),
            ('f', false) => grouped(&format!("{number:.precision$}")),
            (_, true) => {
                let (mantissa, exponent) = scientific(number, precision);
                let sign = if exponent < 0 { '-' } else { '+' };
                format!("{mantissa}e{sign}{:02}", exponent.unsigned_abs())
            }
            (_, false) => {
                // What is written as a precision is taken as a width there.
                let (mantissa, exponent) = scientific(number, 6);
                let sign = if exponent < 0 { "⁻" } else { "" };
                format!("{mantissa}×10{sign}{}", raised(exponent.unsigned_abs()))
            }
        });
    }

    /// `%s`.
    fn plain(&mut self, value: &Value<'a>, out: &mut String, depth: usize) -> Result<(), ErrorClass> {
        if depth > 300 {
            return Err(ErrorClass::WorkLimit);
        }
        self.pay(value)?;
        match value {
            Value::Unknown => self.unknown = true,
            Value::Null => out.push_str("null"),
            Value::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
            Value::Int(number) => out.push_str(&number.to_string()),
            Value::Uint(number) => out.push_str(&number.to_string()),
            Value::Double(number) if self.by_specification => out.push_str(&plain_double(*number)),
            Value::Double(number) => out.push_str(&double_text(*number)),
            Value::String(text) => out.push_str(text),
            Value::Bytes(bytes) if self.by_specification => out.push_str(&String::from_utf8_lossy(bytes)),
            Value::Bytes(bytes) => out.push_str(std::str::from_utf8(bytes).map_err(|_| ErrorClass::InvalidArgument)?),
            Value::Timestamp(time) if self.by_specification => {
                out.push_str(&crate::value::time::Timestamp { offset: 0, ..*time }.text());
            }
            Value::Timestamp(time) => out.push_str(&time.text()),
            Value::Duration(duration) => out.push_str(&duration_text(*duration)),
            Value::Type(name) => out.push_str(name),
            Value::List(list) => {
                out.push('[');
                for (index, element) in list.iter(self.reader).enumerate() {
                    if index > 0 {
                        out.push_str(", ");
                    }
                    self.element(&element, out, depth)?;
                }
                out.push(']');
            }
            Value::Map(map) => {
                let mut entries = Vec::with_capacity(map.len());
                for (key, value) in map.entries(self.reader) {
                    let (mut key_text, mut value_text) = (String::new(), String::new());
                    if !matches!(key, Value::String(_) | Value::Bool(_) | Value::Int(_) | Value::Uint(_)) {
                        return Err(ErrorClass::InvalidArgument);
                    }
                    self.element(&key, &mut key_text, depth)?;
                    self.element(&value, &mut value_text, depth)?;
                    entries.push((key_text, value_text));
                }
                entries.sort();
                out.push('{');
                for (index, (key, value)) in entries.iter().enumerate() {
                    if index > 0 {
                        out.push_str(", ");
                    }
                    out.push_str(key);
                    out.push_str(if self.by_specification { ": " } else { ":" });
                    out.push_str(value);
                }
                out.push('}');
            }
            _ => return Err(ErrorClass::InvalidArgument),
        }
        self.meter.memory(out.len() / 16)
    }

    /// Pays for a value before it is written: elements of a list may share one large text.
    fn pay(&mut self, value: &Value<'a>) -> Result<(), ErrorClass> {
        let bytes = value_bytes(value);
        self.meter.work((bytes / 8).saturating_add(1))?;
        self.meter.memory(bytes)
    }

    /// An element of a list or map: Kubernetes writes it as an expression would have it.
    fn element(&mut self, value: &Value<'a>, out: &mut String, depth: usize) -> Result<(), ErrorClass> {
        let depth = depth.saturating_add(1);
        if self.by_specification {
            return self.plain(value, out, depth);
        }
        if !matches!(value, Value::List(_) | Value::Map(_)) {
            self.pay(value)?;
        }
        match value {
            Value::String(text) => out.push_str(&quoted(text)),
            Value::Bytes(bytes) => {
                let text = std::str::from_utf8(bytes).map_err(|_| ErrorClass::InvalidArgument)?;
                out.push('b');
                out.push_str(&quoted(text));
            }
            Value::Double(number) if number.is_nan() => out.push_str("\"NaN\""),
            Value::Double(number) if number.is_infinite() => {
                out.push_str(if *number > 0.0 { "\"+Inf\"" } else { "\"-Inf\"" });
            }
            Value::Double(number) => out.push_str(&format!("{number:.6}")),
            Value::Timestamp(time) => out.push_str(&format!("timestamp({})", quoted(&time.text()))),
            Value::Duration(duration) => out.push_str(&format!("duration({})", quoted(&duration_text(*duration)))),
            other => return self.plain(other, out, depth),
        }
        Ok(())
    }
}

/// How many bytes a text or bytes have; others are short, or made of these.
fn value_bytes(value: &Value<'_>) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Bytes(bytes) => bytes.len(),
        _ => 0,
    }
}

fn minus(number: i64) -> &'static str {
    if number < 0 { "-" } else { "" }
}

/// All digits, without an exponent.
fn plain_double(number: f64) -> String {
    if number.is_nan() {
        "NaN".to_owned()
    } else if number.is_infinite() {
        (if number > 0.0 { "Infinity" } else { "-Infinity" }).to_owned()
    } else {
        format!("{number}")
    }
}

fn hexadecimal(value: &Value<'_>) -> Option<String> {
    let bytes = |bytes: &[u8]| {
        let mut text = String::with_capacity(bytes.len().saturating_mul(2));
        for byte in bytes {
            text.push_str(&format!("{byte:02x}"));
        }
        text
    };
    Some(match value {
        Value::Int(number) => format!("{}{:x}", minus(*number), number.unsigned_abs()),
        Value::Uint(number) => format!("{number:x}"),
        Value::String(text) => bytes(text.as_bytes()),
        Value::Bytes(content) => bytes(content),
        _ => return None,
    })
}

/// Commas between groups of three digits.
fn grouped(text: &str) -> String {
    let (sign, digits) = text.strip_prefix('-').map_or(("", text), |digits| ("-", digits));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let mut out = String::from(sign);
    for (index, char) in whole.chars().enumerate() {
        if index > 0 && whole.len().saturating_sub(index) % 3 == 0 {
            out.push(',');
        }
        out.push(char);
    }
    if !fraction.is_empty() {
        out.push('.');
        out.push_str(fraction);
    }
    out
}

fn scientific(number: f64, precision: usize) -> (String, i32) {
    let text = format!("{number:.precision$e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    (mantissa.to_owned(), exponent.parse().unwrap_or(0))
}

/// An exponent of two digits at least, in raised digits.
fn raised(exponent: u32) -> String {
    let digits = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    let raise = |char: char| char.to_digit(10).and_then(|digit| digits.get(digit as usize)).copied();
    format!("{exponent:02}").chars().filter_map(raise).collect()
}

/// A text in quotes with escapes, as Go's `%q` writes it.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for char in text.chars() {
        match char {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{b}' => out.push_str("\\v"),
            char if char.is_ascii_control() => out.push_str(&format!("\\x{:02x}", u32::from(char))),
            char if char.is_control() => out.push_str(&format!("\\u{:04x}", u32::from(char))),
            char => out.push(char),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cost::limits::Budget;

    fn format(text: &str, arguments: &[Value<'static>], by_specification: bool) -> Result<String, ErrorClass> {
        let mut meter = Meter::new(&Budget::default());
        Formatter { meter: &mut meter, reader: Reader::default(), by_specification, unknown: false }
            .format(text, arguments)
    }

    #[test]
    fn kubernetes_writes_american_english() {
        assert_eq!(format("%f", &[Value::Double(10000.5)], false).unwrap(), "10,000.500000");
        assert_eq!(format("%e", &[Value::Double(1_052.032_911)], false).unwrap(), "1.052033×10⁰³");
        let list = Value::list(vec![Value::text("a"), Value::Double(1.5)]);
        assert_eq!(format("100%% %s", &[list], false).unwrap(), "100% [\"a\", 1.500000]");
    }

    #[test]
    fn the_specification_writes_no_separators() {
        assert_eq!(format("%.2f", &[Value::Double(10000.5)], true).unwrap(), "10000.50");
        assert_eq!(format("%e", &[Value::Double(1_052.032_911)], true).unwrap(), "1.052033e+03");
        assert_eq!(
            format("%x %X %b %o", &[Value::Int(-255), Value::text("hi"), Value::Int(5), Value::Uint(8)], true).unwrap(),
            "-ff 6869 101 10"
        );
    }

    #[test]
    fn wrong_clauses_are_refused() {
        for text in ["%", "%q", "%.", "%.5", "%.99999999999f", "%s %s"] {
            assert_eq!(format(text, &[Value::Double(1.0)], false), Err(ErrorClass::InvalidArgument), "{text}");
        }
    }
}
