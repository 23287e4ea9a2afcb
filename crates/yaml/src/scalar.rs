//! What an unquoted scalar means.
//!
//! Kubernetes tools read YAML the way Go's libraries do: YAML 1.1 words such as `yes` are booleans, `0777` is octal, and
//! `status: True` is a boolean and not the word, which is why unquoted condition statuses are rejected by API servers.

/// The meaning of a plain (unquoted) scalar.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Plain {
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
pub fn resolve(text: &str) -> Plain {
    // Nearly all scalars begin with a letter that none of the special words begins with.
    match text.as_bytes().first() {
        None => return Plain::Null,
        Some(b'0'..=b'9' | b'+' | b'-' | b'.') => return number(text),
        Some(b'~' | b'n' | b'N' | b't' | b'T' | b'f' | b'F' | b'y' | b'Y' | b'o' | b'O') => {}
        Some(_) => return Plain::Text,
    }
    match text {
        "~" | "null" | "Null" | "NULL" => Plain::Null,
        "true" | "True" | "TRUE" | "yes" | "Yes" | "YES" | "on" | "On" | "ON" | "y" | "Y" => Plain::Bool(true),
        "false" | "False" | "FALSE" | "no" | "No" | "NO" | "off" | "Off" | "OFF" | "n" | "N" => Plain::Bool(false),
        _ => Plain::Text,
    }
}

fn number(text: &str) -> Plain {
    match text {
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => return Plain::Float(f64::INFINITY),
        "-.inf" | "-.Inf" | "-.INF" => return Plain::Float(f64::NEG_INFINITY),
        ".nan" | ".NaN" | ".NAN" => return Plain::Float(f64::NAN),
        _ => {}
    }
    let (negative, digits) = match text.as_bytes().first() {
        Some(b'-') => (true, text.get(1..).unwrap_or("")),
        Some(b'+') => (false, text.get(1..).unwrap_or("")),
        _ => (false, text),
    };
    let digits = digits.replace('_', "");
    if let Some(value) = whole(&digits) {
        return Plain::Int(if negative { value.wrapping_neg() } else { value });
    }
    let looks_decimal = digits.bytes().any(|byte| byte.is_ascii_digit())
        && digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-'));
    match digits.parse::<f64>() {
        Ok(value) if looks_decimal => Plain::Float(if negative { -value } else { value }),
        _ => Plain::Text,
    }
}

fn whole(digits: &str) -> Option<i64> {
    let radix = |prefix: &str, radix| digits.strip_prefix(prefix).map(|rest| (rest, radix));
    let (rest, radix) = radix("0x", 16)
        .or_else(|| radix("0b", 2))
        .or_else(|| radix("0o", 8))
        .or_else(|| radix("0", 8).filter(|(rest, _)| !rest.is_empty()))
        .unwrap_or((digits, 10));
    if rest.is_empty() || !rest.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return None;
    }
    i64::from_str_radix(rest, radix).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scalars_mean_what_kubernetes_tools_take_them_for() {
        for (text, want) in [
            ("", Plain::Null),
            ("~", Plain::Null),
            ("True", Plain::Bool(true)),
            ("off", Plain::Bool(false)),
            ("y", Plain::Bool(true)),
            ("Ready", Plain::Text),
            ("nope", Plain::Text),
            ("12", Plain::Int(12)),
            ("-3", Plain::Int(-3)),
            ("0777", Plain::Int(511)),
            ("0o777", Plain::Int(511)),
            ("0x1F", Plain::Int(31)),
            ("1_000", Plain::Int(1_000)),
            ("1.5", Plain::Float(1.5)),
            ("1e3", Plain::Float(1_000.0)),
            ("089", Plain::Float(89.0)),
            ("9223372036854775808", Plain::Float(9_223_372_036_854_775_808.0)),
            ("4.14.3", Plain::Text),
            ("2024-05-01T12:00:00Z", Plain::Text),
            ("-", Plain::Text),
            ("--", Plain::Text),
            ("1.2.3.4", Plain::Text),
            ("100m", Plain::Text),
        ] {
            assert_eq!(resolve(text), want, "{text}");
        }
    }
}
