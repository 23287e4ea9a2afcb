//! What an unquoted scalar means.
//!
//! Kubernetes tools read YAML the way Go's libraries do: YAML 1.1 words such as `yes` are booleans, `0777` is octal, and
//! `status: True` is a boolean and not the word, which is why unquoted condition statuses are rejected by API servers.

use std::borrow::Cow;

/// The meaning of a plain (unquoted) scalar.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PlainScalar {
    /// Nothing, `~` or `null`.
    Null,
    /// One of the words for true and false.
    Bool(bool),
    /// A whole number that fits 64 bits.
    Int(i64),
    /// Any other number.
    Float(f64),
    /// Just text.
    Text,
}

/// Resolves a plain scalar.
pub fn resolve(text: &str) -> PlainScalar {
    // Nearly all scalars begin with a letter that none of the special words begins with.
    match text.as_bytes().first() {
        None => return PlainScalar::Null,
        Some(b'0'..=b'9' | b'+' | b'-' | b'.') => return number(text),
        Some(b'~' | b'n' | b'N' | b't' | b'T' | b'f' | b'F' | b'y' | b'Y' | b'o' | b'O') => {}
        Some(_) => return PlainScalar::Text,
    }
    match text {
        "~" | "null" | "Null" | "NULL" => PlainScalar::Null,
        "true" | "True" | "TRUE" | "yes" | "Yes" | "YES" | "on" | "On" | "ON" | "y" | "Y" => PlainScalar::Bool(true),
        "false" | "False" | "FALSE" | "no" | "No" | "NO" | "off" | "Off" | "OFF" | "n" | "N" => {
            PlainScalar::Bool(false)
        }
        _ => PlainScalar::Text,
    }
}

fn number(text: &str) -> PlainScalar {
    match text {
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => return PlainScalar::Float(f64::INFINITY),
        "-.inf" | "-.Inf" | "-.INF" => return PlainScalar::Float(f64::NEG_INFINITY),
        ".nan" | ".NaN" | ".NAN" => return PlainScalar::Float(f64::NAN),
        _ => {}
    }
    let without = if text.contains('_') { Cow::Owned(text.replace('_', "")) } else { Cow::Borrowed(text) };
    // Behind a leading point underscores may only stand between digits.
    if text.starts_with('.') && text.contains('_') && !separates_digits(text.as_bytes()) {
        return PlainScalar::Text;
    }
    let (negative, digits) = sign(&without);
    if let Some(value) = whole(digits) {
        let value = if negative { -i128::from(value) } else { i128::from(value) };
        if let Ok(value) = i64::try_from(value) {
            return PlainScalar::Int(value);
        }
        if !negative {
            #[expect(clippy::cast_precision_loss, reason = "rounded; `unsigned` has the exact one")]
            return PlainScalar::Float(value as f64);
        }
    }
    match digits.parse::<f64>() {
        Ok(value) if is_decimal(digits) && value.is_finite() => float(if negative { -value } else { value }),
        _ => PlainScalar::Text,
    }
}

/// A number that was written with a point or an exponent. Without a fraction it is a whole one: JSON has no other.
fn float(value: f64) -> PlainScalar {
    /// Up to here a float stands for one whole number only.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    #[expect(clippy::cast_possible_truncation, reason = "it is whole and lies within the range")]
    if value.fract() == 0.0 && (-EXACT..EXACT).contains(&value) {
        PlainScalar::Int(value as i64)
    } else {
        PlainScalar::Float(value)
    }
}

/// The whole number that is too large for [`PlainScalar::Int`] and still fits 64 bits without a sign.
pub(crate) fn unsigned(text: &str) -> Option<u64> {
    let text = text.replace('_', "");
    let (negative, digits) = sign(&text);
    whole(digits).filter(|_| !negative)
}

fn separates_digits(text: &[u8]) -> bool {
    let digit = |at: Option<usize>| at.and_then(|at| text.get(at)).is_some_and(u8::is_ascii_digit);
    text.iter().enumerate().all(|(at, byte)| *byte != b'_' || (digit(at.checked_sub(1)) && digit(Some(at + 1))))
}

fn sign(text: &str) -> (bool, &str) {
    match text.as_bytes().first() {
        Some(b'-') => (true, text.get(1..).unwrap_or("")),
        Some(b'+') => (false, text.get(1..).unwrap_or("")),
        _ => (false, text),
    }
}

fn whole(digits: &str) -> Option<u64> {
    let (rest, radix) = match digits.as_bytes() {
        [b'0', b'x' | b'X', ..] => (digits.get(2..)?, 16),
        [b'0', b'o' | b'O', ..] => (digits.get(2..)?, 8),
        [b'0', b'b' | b'B', ..] => (digits.get(2..)?, 2),
        [b'0', _, ..] => (digits.get(1..)?, 8),
        _ => (digits, 10),
    };
    // The sign was taken off already.
    if rest.starts_with(['+', '-']) { None } else { u64::from_str_radix(rest, radix).ok() }
}

fn is_decimal(digits: &str) -> bool {
    digits.starts_with(|first: char| first.is_ascii_digit() || first == '.')
        && digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What `YAMLToJSON` of sigs.k8s.io/yaml 1.6 makes of each.
    #[test]
    fn scalars_mean_what_kubernetes_tools_take_them_for() {
        let table: &[(&str, PlainScalar)] = &[
            ("", PlainScalar::Null),
            ("~", PlainScalar::Null),
            ("null", PlainScalar::Null),
            ("NULL", PlainScalar::Null),
            ("nULL", PlainScalar::Text),
            ("True", PlainScalar::Bool(true)),
            ("TRUE", PlainScalar::Bool(true)),
            ("tRUE", PlainScalar::Text),
            ("yes", PlainScalar::Bool(true)),
            ("no", PlainScalar::Bool(false)),
            ("on", PlainScalar::Bool(true)),
            ("off", PlainScalar::Bool(false)),
            ("y", PlainScalar::Bool(true)),
            ("N", PlainScalar::Bool(false)),
            ("yEs", PlainScalar::Text),
            ("Ready", PlainScalar::Text),
            ("nope", PlainScalar::Text),
            ("infinity", PlainScalar::Text),
            ("nan", PlainScalar::Text),
            ("12", PlainScalar::Int(12)),
            ("-3", PlainScalar::Int(-3)),
            ("+12", PlainScalar::Int(12)),
            ("-0", PlainScalar::Int(0)),
            ("00", PlainScalar::Int(0)),
            ("012", PlainScalar::Int(10)),
            ("-012", PlainScalar::Int(-10)),
            ("0777", PlainScalar::Int(511)),
            ("0o777", PlainScalar::Int(511)),
            ("0O777", PlainScalar::Int(511)),
            ("0o8", PlainScalar::Text),
            ("0x1F", PlainScalar::Int(31)),
            ("0X1F", PlainScalar::Int(31)),
            ("-0x1F", PlainScalar::Int(-31)),
            ("0x_1_F", PlainScalar::Int(31)),
            ("0x", PlainScalar::Text),
            ("0x-1", PlainScalar::Text),
            ("0b101", PlainScalar::Int(5)),
            ("-0B101", PlainScalar::Int(-5)),
            ("0b2", PlainScalar::Text),
            ("1_000", PlainScalar::Int(1_000)),
            ("1__0_", PlainScalar::Int(10)),
            ("_1", PlainScalar::Text),
            ("089", PlainScalar::Int(89)),
            ("0_9", PlainScalar::Int(9)),
            ("1.5", PlainScalar::Float(1.5)),
            ("4.10", PlainScalar::Float(4.1)),
            (".5", PlainScalar::Float(0.5)),
            ("-.5", PlainScalar::Float(-0.5)),
            (".5_0", PlainScalar::Float(0.5)),
            (".5_", PlainScalar::Text),
            (".5__1", PlainScalar::Text),
            ("1_0.5", PlainScalar::Float(10.5)),
            ("5.", PlainScalar::Int(5)),
            ("1.0", PlainScalar::Int(1)),
            ("1e3", PlainScalar::Int(1_000)),
            ("1.e+3", PlainScalar::Int(1_000)),
            ("1e-7", PlainScalar::Float(1e-7)),
            ("1e21", PlainScalar::Float(1e21)),
            ("1e400", PlainScalar::Text),
            ("1e", PlainScalar::Text),
            ("1e3.5", PlainScalar::Text),
            ("9223372036854775807", PlainScalar::Int(i64::MAX)),
            ("-9223372036854775808", PlainScalar::Int(i64::MIN)),
            ("-0x8000000000000000", PlainScalar::Int(i64::MIN)),
            ("-0x8000000000000001", PlainScalar::Text),
            ("-9223372036854775809", PlainScalar::Float(-9_223_372_036_854_775_808.0)),
            ("9223372036854775808", PlainScalar::Float(9_223_372_036_854_775_808.0)),
            ("18446744073709551616", PlainScalar::Float(18_446_744_073_709_551_616.0)),
            ("0x10000000000000000", PlainScalar::Text),
            ("07777777777777777777777", PlainScalar::Float(7_777_777_777_777_777_777_777.0)),
            (".inf", PlainScalar::Float(f64::INFINITY)),
            ("-.Inf", PlainScalar::Float(f64::NEG_INFINITY)),
            ("+.nan", PlainScalar::Text),
            ("4.14.3", PlainScalar::Text),
            ("12:30", PlainScalar::Text),
            ("2024-01-01", PlainScalar::Text),
            ("2024-05-01T12:00:00Z", PlainScalar::Text),
            ("-", PlainScalar::Text),
            ("--1", PlainScalar::Text),
            ("+-1", PlainScalar::Text),
            (".", PlainScalar::Text),
            ("1.2.3.4", PlainScalar::Text),
            ("100m", PlainScalar::Text),
        ];
        for (text, want) in table {
            assert_eq!(resolve(text), *want, "{text}");
        }
        assert_eq!(unsigned("18446744073709551615"), Some(u64::MAX));
        assert_eq!(unsigned("0xFFFF_FFFFFFFFFFFF"), Some(u64::MAX));
    }

    proptest! {
        #[test]
        fn no_text_panics_and_whole_numbers_are_themselves(text in "[-+.0-9xXobeE_~a-fn]{0,24}", number: i64) {
            let _ = (resolve(&text), unsigned(&text));
            prop_assert_eq!(resolve(&number.to_string()), PlainScalar::Int(number));
        }
    }
}
