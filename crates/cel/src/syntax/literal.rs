//! Numbers and strings of the text become values.

use crate::syntax::span::Span;

/// Reads an integer; `negative` if a minus stands before it.
pub(crate) fn int(text: &str, negative: bool) -> Option<i64> {
    let magnitude = unsigned(text)?;
    if negative { 0_i64.checked_sub_unsigned(magnitude) } else { i64::try_from(magnitude).ok() }
}

/// Reads an unsigned integer with its suffix.
pub(crate) fn uint(text: &str) -> Option<u64> {
    unsigned(text.get(..text.len().checked_sub(1)?)?)
}

fn unsigned(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

/// Reads a floating-point number; nothing if it is too large for one.
pub(crate) fn double(text: &str, negative: bool) -> Option<f64> {
    let number: f64 = text.parse().ok()?;
    number.is_finite().then_some(if negative { -number } else { number })
}

/// What is wrong with a string, and where in the text.
pub(crate) struct BadString {
    pub(crate) span: Span,
    pub(crate) detail: &'static str,
}

/// The content of a string between its quotes, and where that starts in its text.
pub(crate) struct Quoted<'s> {
    pub(crate) content: &'s str,
    pub(crate) start: u32,
    pub(crate) raw: bool,
}

/// Takes prefixes and quotes off a string as the lexer found it.
pub(crate) fn unquoted(text: &str, at: u32) -> Quoted<'_> {
    let prefix = text.find(['"', '\'']).unwrap_or(0);
    let raw = text.get(..prefix).unwrap_or_default().contains(['r', 'R']);
    let rest = text.get(prefix..).unwrap_or_default();
    let triple = rest.len() >= 6 && (rest.starts_with("'''") || rest.starts_with("\"\"\""));
    let quotes = if triple { 3 } else { 1 };
    let content = rest.get(quotes..rest.len().saturating_sub(quotes)).unwrap_or_default();
    let start = u32::try_from(prefix.saturating_add(quotes)).unwrap_or(u32::MAX).saturating_add(at);
    Quoted { content, start, raw }
}

impl Quoted<'_> {
    /// Whether the value is not just the content.
    pub(crate) fn has_escapes(&self) -> bool {
        (!self.raw && self.content.contains('\\')) || self.content.contains('\r')
    }

    /// Appends the value of a string.
    pub(crate) fn push_text(&self, out: &mut String) -> Result<(), BadString> {
        self.pieces(|piece| {
            match piece {
                Piece::Char(char) => out.push(char),
                Piece::Byte(byte) => out.push(char::from(byte)),
                Piece::CodePoint(code) => out.push(char::from_u32(code).ok_or("this is not a Unicode code point")?),
            }
            Ok(())
        })
    }

    /// Appends the value of bytes.
    pub(crate) fn push_bytes(&self, out: &mut Vec<u8>) -> Result<(), BadString> {
        self.pieces(|piece| {
            match piece {
                Piece::Char(char) => out.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes()),
                Piece::Byte(byte) => out.push(byte),
                Piece::CodePoint(_) => return Err("bytes have no escapes of code points; use `\\x` or octal digits"),
            }
            Ok(())
        })
    }

    fn pieces(&self, mut take: impl FnMut(Piece) -> Result<(), &'static str>) -> Result<(), BadString> {
        let mut rest = self.content;
        while let Some(first) = rest.chars().next() {
            let before = rest;
            let taken = if first == '\\' && !self.raw {
                escape(rest.get(1..).unwrap_or_default()).map(|(piece, length)| (piece, length.saturating_add(1)))
            } else if first == '\r' {
                // Line ends are the same everywhere.
                Ok((Piece::Char('\n'), if rest.starts_with("\r\n") { 2 } else { 1 }))
            } else {
                Ok((Piece::Char(first), first.len_utf8()))
            };
            let result = taken.and_then(|(piece, length)| {
                rest = rest.get(length..).unwrap_or_default();
                take(piece)
            });
            if let Err(detail) = result {
                let at = self.content.len().saturating_sub(before.len());
                let start = u32::try_from(at).unwrap_or(u32::MAX).saturating_add(self.start);
                return Err(BadString { span: Span::new(start, start.saturating_add(2)), detail });
            }
        }
        Ok(())
    }
}

/// A part of a string.
enum Piece {
    /// A character that stands for itself.
    Char(char),
    /// `\x` or octal digits: a byte of bytes, a code point of strings.
    Byte(u8),
    /// `\u` or `\U`.
    CodePoint(u32),
}

/// Reads an escape behind its backslash, and says how long it is.
fn escape(text: &str) -> Result<(Piece, usize), &'static str> {
    let first = text.chars().next().ok_or("the escape has no end")?;
    let byte = |code: u32| u8::try_from(code).map(Piece::Byte).map_err(|_| "the escape is out of range");
    let simple = match first {
        'a' => '\u{7}',
        'b' => '\u{8}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'v' => '\u{b}',
        '\\' | '?' | '"' | '\'' | '`' => first,
        'x' | 'X' => return Ok((byte(code(text, 1, 2, 16)?)?, 3)),
        'u' => return Ok((Piece::CodePoint(code(text, 1, 4, 16)?), 5)),
        'U' => return Ok((Piece::CodePoint(code(text, 1, 8, 16)?), 9)),
        '0'..='3' => return Ok((byte(code(text, 0, 3, 8)?)?, 3)),
        _ => return Err("the escape is unknown"),
    };
    Ok((Piece::Char(simple), 1))
}

fn code(text: &str, from: usize, digits: usize, radix: u32) -> Result<u32, &'static str> {
    let digits = text.get(from..from.saturating_add(digits)).ok_or("the escape is too short")?;
    if !digits.chars().all(|digit| digit.is_digit(radix)) {
        return Err("the digits of the escape are not valid");
    }
    u32::from_str_radix(digits, radix).map_err(|_| "the escape is out of range")
}
