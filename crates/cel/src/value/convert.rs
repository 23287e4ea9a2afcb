//! Texts and numbers become each other, as Go's `strconv` and `time` do it.

use crate::value::time::{Timestamp, parse_duration, parse_timestamp};

/// Reads an integer in base 10.
pub(crate) fn int(text: &str) -> Option<i64> {
    text.parse().ok()
}

/// Reads an unsigned integer in base 10, without a sign.
pub(crate) fn uint(text: &str) -> Option<u64> {
    if text.starts_with('+') { None } else { text.parse().ok() }
}

/// Reads a bool.
pub(crate) fn bool(text: &str) -> Option<bool> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Some(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Some(false),
        _ => None,
    }
}

/// Reads a floating-point number; nothing if it is out of range.
pub(crate) fn double(text: &str) -> Option<f64> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let lower = unsigned.to_ascii_lowercase();
    match lower.as_str() {
        "nan" => return (unsigned.len() == text.len()).then_some(f64::NAN),
        "inf" | "infinity" => return Some(if text.starts_with('-') { f64::NEG_INFINITY } else { f64::INFINITY }),
        _ => {}
    }
    let digits = without_underscores(unsigned)?;
    let number = match digits.to_ascii_lowercase().strip_prefix("0x") {
        Some(hex) => hex_double(hex)?,
        None if digits.starts_with(|char: char| char.is_ascii_digit() || char == '.') => digits.parse().ok()?,
        None => return None,
    };
    number.is_finite().then_some(if text.starts_with('-') { -number } else { number })
}

/// Underscores may stand between digits.
fn without_underscores(text: &str) -> Option<String> {
    if !text.contains('_') {
        return Some(text.to_owned());
    }
    let bytes = text.as_bytes();
    let digit = |at: Option<usize>| at.and_then(|at| bytes.get(at)).is_some_and(u8::is_ascii_hexdigit);
    let separates = |(at, byte): (usize, &u8)| *byte != b'_' || (digit(at.checked_sub(1)) && digit(at.checked_add(1)));
    bytes.iter().enumerate().all(separates).then(|| text.replace('_', ""))
}

/// A number such as `1.8p3`, behind its `0x`.
fn hex_double(text: &str) -> Option<f64> {
    let (mantissa, exponent) = text.split_once('p')?;
    let exponent: i32 = exponent.parse().ok()?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let mut value = 0.0_f64;
    for digit in whole.chars() {
        value = value.mul_add(16.0, f64::from(digit.to_digit(16)?));
    }
    let mut scale = 1.0_f64 / 16.0;
    for digit in fraction.chars() {
        value = scale.mul_add(f64::from(digit.to_digit(16)?), value);
        scale /= 16.0;
    }
    Some(value * 2.0_f64.powi(exponent))
}

/// Writes a floating-point number as Go's `%g` does.
pub(crate) fn double_text(number: f64) -> String {
    if number.is_nan() {
        return "NaN".to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 { "+Inf".to_owned() } else { "-Inf".to_owned() };
    }
    let scientific = format!("{number:e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    // Large and small ones have an exponent of two digits at least.
    if number != 0.0 && !(-4..6).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{mantissa}e{sign}{:02}", exponent.unsigned_abs());
    }
    format!("{number}")
}

/// Reads a duration, in nanoseconds.
pub(crate) fn duration(text: &str) -> Option<i64> {
    parse_duration(text)
}

/// Writes a duration in seconds.
pub(crate) fn duration_text(nanoseconds: i64) -> String {
    format!("{}s", seconds_of(nanoseconds))
}

/// A duration in seconds.
#[expect(clippy::cast_precision_loss, reason = "as in Go, a duration of years loses its nanoseconds")]
pub(crate) fn seconds_of(nanoseconds: i64) -> f64 {
    let (whole, rest) = (nanoseconds / 1_000_000_000, nanoseconds % 1_000_000_000);
    whole as f64 + rest as f64 / 1e9
}

/// Why a text is no time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BadTime {
    /// It is not in RFC 3339.
    Format,
    /// It lies outside the years 1 to 9999.
    Range,
}

/// Reads a time in RFC 3339.
pub(crate) fn timestamp(text: &str) -> Result<Timestamp, BadTime> {
    let time = parse_timestamp(text, true).ok_or(BadTime::Format)?;
    if time.is_in_range() { Ok(time) } else { Err(BadTime::Range) }
}

/// A time by its seconds since 1970; nothing outside the years 1 to 9999.
pub(crate) fn timestamp_of_seconds(seconds: i64) -> Option<Timestamp> {
    let time = Timestamp { seconds, nanos: 0, offset: 0 };
    time.is_in_range().then_some(time)
}

/// An integer of a floating-point number without its fraction.
#[expect(clippy::cast_possible_truncation, reason = "the range was checked")]
pub(crate) fn int_of_double(number: f64) -> Option<i64> {
    let limit = 9_223_372_036_854_775_808.0;
    (number > -limit && number < limit).then_some(number as i64)
}

/// The same without a sign.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range was checked")]
pub(crate) fn uint_of_double(number: f64) -> Option<u64> {
    let limit = 18_446_744_073_709_551_616.0;
    (number >= 0.0 && number < limit).then_some(number as u64)
}

/// Reads base64. The alphabet is that of URLs if `url`; line ends are skipped; padding must be there if `padded`.
pub(crate) fn base64_bytes(text: &str, url: bool, padded: bool) -> Option<Vec<u8>> {
    let digit = |byte: u8| -> Option<u32> {
        Some(u32::from(match byte {
            b'A'..=b'Z' => byte.wrapping_sub(b'A'),
            b'a'..=b'z' => byte.wrapping_sub(b'a').wrapping_add(26),
            b'0'..=b'9' => byte.wrapping_sub(b'0').wrapping_add(52),
            b'+' if !url => 62,
            b'/' if !url => 63,
            b'-' if url => 62,
            b'_' if url => 63,
            _ => return None,
        }))
    };
    let text: Vec<u8> = text.bytes().filter(|byte| !matches!(byte, b'\r' | b'\n')).collect();
    let end = text.iter().position(|byte| *byte == b'=').unwrap_or(text.len());
    let (digits, padding) = text.split_at_checked(end)?;
    if padding.iter().any(|byte| *byte != b'=') {
        return None;
    }
    let fits = match (digits.len() % 4, padding.len()) {
        (0, 0) => true,
        (2, 2) | (3, 1) => padded,
        (2 | 3, 0) => !padded,
        _ => false,
    };
    if !fits {
        return None;
    }
    let mut out = Vec::with_capacity(digits.len().saturating_mul(3) / 4);
    for group in digits.chunks(4) {
        let mut bits = 0_u32;
        for byte in group {
            bits = bits << 6 | digit(*byte)?;
        }
        bits <<= 6_usize.saturating_mul(4_usize.saturating_sub(group.len()));
        let [_, first, second, third] = bits.to_be_bytes();
        let whole = [first, second, third];
        out.extend_from_slice(whole.get(..group.len().saturating_sub(1))?);
    }
    Some(out)
}

/// Writes base64 with padding.
pub(crate) fn base64_text(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3).saturating_mul(4));
    for group in bytes.chunks(3) {
        let byte = |at: usize| u32::from(group.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for at in 0..4_u32 {
            if at as usize <= group.len() {
                let digit = bits >> 18_u32.saturating_sub(at.saturating_mul(6)) & 63;
                out.push(ALPHABET.get(digit as usize).copied().map_or('=', char::from));
            } else {
                out.push('=');
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_are_written_as_go_writes_them() {
        for (number, text) in [
            (0.0, "0"),
            (-0.0, "-0"),
            (100_000.0, "100000"),
            (1_000_000.0, "1e+06"),
            (123_456_789.0, "1.23456789e+08"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (1.5, "1.5"),
            (-1e300, "-1e+300"),
            (f64::INFINITY, "+Inf"),
        ] {
            assert_eq!(double_text(number), text);
        }
    }

    #[test]
    fn doubles_are_read_as_go_reads_them() {
        assert_eq!(double("1_000.5"), Some(1000.5));
        assert_eq!(double("0x1.8p3"), Some(12.0));
        assert_eq!(double("-Infinity"), Some(f64::NEG_INFINITY));
        assert!(double("NaN").is_some_and(f64::is_nan));
        for text in ["", "1e999", "-nan", "1_", "abc", "0x1", "e5", "."] {
            assert_eq!(double(text), None, "{text}");
        }
        assert_eq!(uint("+1"), None);
        assert_eq!(int("+1"), Some(1));
    }

    #[test]
    fn base64_is_read_and_written() {
        assert_eq!(base64_text(b"hello"), "aGVsbG8=");
        assert_eq!(base64_bytes("aGVsbG8=", false, true).as_deref(), Some(b"hello".as_slice()));
        assert_eq!(base64_bytes("aGVsbG8", false, false).as_deref(), Some(b"hello".as_slice()));
        assert_eq!(base64_bytes("aGVsbG8", false, true), None);
        assert_eq!(base64_bytes("_-8=", true, true).as_deref(), Some([0xff, 0xef].as_slice()));
        assert_eq!(base64_bytes("a", false, false), None);
        assert_eq!(base64_bytes("", true, true).as_deref(), Some([].as_slice()));
    }

    #[test]
    fn conversions_of_doubles_end_at_the_range() {
        assert_eq!(int_of_double(9_223_372_036_854_775_807.0), None);
        assert_eq!(int_of_double(-1.9), Some(-1));
        assert_eq!(uint_of_double(-0.0), Some(0));
        assert_eq!(uint_of_double(18_446_744_073_709_551_615.0), None);
    }
}
