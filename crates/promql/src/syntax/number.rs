//! Number literals: decimal, octal with a leading zero, hexadecimal, with an exponent, with underscores.

/// Reads a number as Prometheus does, which reads it as Go does: `0x1F`, `017` (which is 15), `1_000`, `.5`, `1e3`.
pub(crate) fn parse(text: &str) -> Option<f64> {
    if let Some(digits) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        return integer(&separated(digits.strip_prefix('_').unwrap_or(digits), char::is_alphanumeric)?, 16);
    }
    let plain = separated(text, |c| c.is_ascii_digit())?;
    if plain.len() > 1 && plain.starts_with('0') && plain.bytes().all(|byte| matches!(byte, b'0'..=b'7')) {
        return integer(&plain, 8);
    }
    // Words that Rust takes for numbers ("inf", "nan") are not literals; a literal starts with a digit or a point.
    let starts = plain.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    plain.parse().ok().filter(|number: &f64| starts && number.is_finite())
}

/// The text without underscores, if each of them stands between two digits.
fn separated(text: &str, digit: impl Fn(char) -> bool) -> Option<String> {
    let mut before = None;
    let mut chars = text.chars().peekable();
    let mut plain = String::with_capacity(text.len());
    while let Some(c) = chars.next() {
        if c != '_' {
            plain.push(c);
        } else if !before.is_some_and(&digit) || !chars.peek().copied().is_some_and(&digit) {
            return None;
        }
        before = Some(c);
    }
    Some(plain)
}

#[expect(clippy::cast_precision_loss, reason = "all numbers of PromQL are floats")]
fn integer(digits: &str, radix: u32) -> Option<f64> {
    i64::from_str_radix(digits, radix).ok().filter(|number| *number >= 0 && !digits.starts_with('+')).map(|n| n as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_go_reads_them() {
        for (text, expected) in [
            ("0", 0.0),
            ("1", 1.0),
            (".5", 0.5),
            ("5.", 5.0),
            ("1e3", 1000.0),
            ("1E-3", 0.001),
            ("0x1F", 31.0),
            ("0X_1f", 31.0),
            ("017", 15.0),
            ("08", 8.0),
            ("1_000", 1000.0),
            ("1_000.5e1", 10005.0),
        ] {
            assert_eq!(parse(text), Some(expected), "{text}");
        }
        for text in
            ["", ".", "1__0", "_1", "1_", "0x", "0xg", "1e", "1e400", "0xFFFFFFFFFFFFFFFFF", "inf", "nan", "0x+1"]
        {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
