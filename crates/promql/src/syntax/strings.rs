//! String literals: what stands between the quotes, and how a string is quoted.

/// Why a quoted text is no string, and where within it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StringError {
    /// An escape that does not exist, at this byte.
    Escape(usize),
    /// The bytes named by escapes are not UTF-8.
    Utf8,
}

/// The string between two quotes `quote`; `body` is the text without them. Backquotes quote everything.
pub(crate) fn unquote(body: &str, quote: char) -> Result<String, StringError> {
    if quote == '`' || !body.contains('\\') {
        return Ok(body.to_owned());
    }
    let mut bytes = Vec::with_capacity(body.len());
    let mut chars = body.char_indices();
    while let Some((at, c)) = chars.next() {
        if c == '\\' {
            escape(chars.by_ref().map(|(_, c)| c), quote, &mut bytes).ok_or(StringError::Escape(at))?;
        } else {
            push(c, &mut bytes);
        }
    }
    String::from_utf8(bytes).map_err(|_| StringError::Utf8)
}

/// Reads one escape behind its backslash.
fn escape(mut rest: impl Iterator<Item = char>, quote: char, bytes: &mut Vec<u8>) -> Option<()> {
    let c = rest.next()?;
    let plain = match c {
        'a' => 0x07,
        'b' => 0x08,
        'f' => 0x0C,
        'n' => b'\n',
        'r' => b'\r',
        't' => b'\t',
        'v' => 0x0B,
        '\\' => b'\\',
        '0'..='7' => {
            let value = digits(c.to_digit(8)?, 2, 8, rest)?;
            u8::try_from(value).ok()?
        }
        'x' => u8::try_from(digits(0, 2, 16, rest)?).ok()?,
        'u' | 'U' => {
            push(char::from_u32(digits(0, if c == 'u' { 4 } else { 8 }, 16, rest)?)?, bytes);
            return Some(());
        }
        _ if c == quote => u8::try_from(c).ok()?,
        _ => return None,
    };
    bytes.push(plain);
    Some(())
}

/// Exactly `count` further digits behind the number `start`.
fn digits(start: u32, count: usize, radix: u32, mut rest: impl Iterator<Item = char>) -> Option<u32> {
    (0..count).try_fold(start, |value, _| value.checked_mul(radix)?.checked_add(rest.next()?.to_digit(radix)?))
}

fn push(c: char, bytes: &mut Vec<u8>) {
    bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
}

/// The text in double quotes, with every character that needs it escaped.
pub(crate) fn quote(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() => {
                out.push_str("\\u");
                for shift in [12_u32, 8, 4, 0] {
                    out.push(char::from_digit(u32::from(c).wrapping_shr(shift) & 0xF, 16).unwrap_or('0'));
                }
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn escapes_are_those_of_go() {
        for (body, quote, expected) in [
            (r"a\nb", '"', Ok("a\nb")),
            (r"a\nb", '`', Ok(r"a\nb")),
            (r#"\""#, '"', Ok("\"")),
            (r"\'", '\'', Ok("'")),
            (r"\'", '"', Err(StringError::Escape(0))),
            (r"\x41\101\u00e9\U0001F600", '"', Ok("AAé😀")),
            (r"\xc3\xa9", '"', Ok("é")),
            (r"ab\xff", '"', Err(StringError::Utf8)),
            (r"ab\.", '"', Err(StringError::Escape(2))),
            (r"\400", '"', Err(StringError::Escape(0))),
            (r"\ud800", '"', Err(StringError::Escape(0))),
            (r"\x4", '"', Err(StringError::Escape(0))),
        ] {
            assert_eq!(unquote(body, quote).as_deref(), expected.as_ref().copied(), "{body}");
        }
    }

    proptest! {
        #[test]
        fn a_quoted_string_unquotes_to_itself(text in "(?s).{0,40}") {
            let mut quoted = String::new();
            quote(&text, &mut quoted);
            prop_assert_eq!(unquote(&quoted[1..quoted.len() - 1], '"'), Ok(text));
        }
    }
}
