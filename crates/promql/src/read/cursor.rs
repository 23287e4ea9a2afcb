//! Walks over a text: names, labels, numbers.

use super::ReadError;
use crate::series::{BuildError, Builder, SeriesId};

/// A place in a text.
pub(super) struct Cursor<'t> {
    pub(super) text: &'t str,
    pub(super) at: usize,
}

/// How a label value escapes characters, besides the quote and the backslash: `\n`.
const ESCAPE: u8 = b'\\';

impl<'t> Cursor<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Cursor { text, at: 0 }
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    pub(super) fn advance(&mut self, bytes: usize) {
        self.at = self.at.saturating_add(bytes);
    }

    pub(super) fn eat(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        if found {
            self.advance(1);
        }
        found
    }

    pub(super) fn blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t')) {
            self.advance(1);
        }
    }

    /// What stands here as long as `of` holds for its bytes.
    pub(super) fn while_bytes(&mut self, of: impl Fn(u8) -> bool) -> &'t str {
        let start = self.at;
        let bytes = self.text.as_bytes().get(start..).unwrap_or_default();
        self.advance(bytes.iter().position(|byte| !of(*byte)).unwrap_or(bytes.len()));
        self.text.get(start..self.at).unwrap_or_default()
    }

    /// The rest of the line, with the cursor behind it and its end.
    pub(super) fn line(&mut self) -> &'t str {
        let line = self.while_bytes(|byte| byte != b'\n');
        self.advance(1);
        line.strip_suffix('\r').unwrap_or(line)
    }

    pub(super) fn wrong(&self, message: impl Into<String>) -> ReadError {
        ReadError::at(self.text, self.at, message)
    }

    /// A word up to a blank or the end of the line.
    pub(super) fn word(&mut self) -> &'t str {
        self.while_bytes(|byte| !matches!(byte, b' ' | b'\t' | b'\n' | b'\r'))
    }

    /// A number as Go reads it; nothing if it is none.
    pub(super) fn number(&mut self) -> Result<f64, ReadError> {
        let start = self.at;
        let word = self.word();
        number(word).ok_or_else(|| ReadError::at(self.text, start, format!("`{word}` is no number.")))
    }

    /// The name of a series and its labels, as all our text formats write them.
    pub(super) fn series(&mut self, builder: &mut Builder) -> Result<SeriesId, ReadError> {
        let start = self.at;
        let name = self.while_bytes(is_name);
        if name.starts_with(|c: char| c.is_ascii_digit()) {
            return Err(ReadError::at(self.text, start, format!("`{name}` is no name of a metric.")));
        }
        let mut named = !name.is_empty();
        if named {
            self.built(builder.label("__name__", name))?;
        }
        let behind = self.at;
        self.blanks();
        if self.eat(b'{') {
            self.labels(builder, &mut named)?;
        } else if named {
            self.at = behind;
        } else {
            return Err(self.wrong("A series starts with the name of its metric."));
        }
        let series = builder.series();
        self.built(series)
    }

    fn labels(&mut self, builder: &mut Builder, named: &mut bool) -> Result<(), ReadError> {
        let mut buffer = String::new();
        let mut name_buffer = String::new();
        loop {
            self.blanks();
            if self.eat(b'}') {
                return Ok(());
            }
            let start = self.at;
            let quoted = self.eat(b'"');
            let name = if quoted {
                self.string(&mut name_buffer)?
            } else {
                self.while_bytes(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
            };
            if name.is_empty() {
                return Err(ReadError::at(self.text, start, "The name of a label is missing."));
            }
            self.blanks();
            if self.eat(b'=') {
                self.blanks();
                if !self.eat(b'"') {
                    return Err(self.wrong("The value of a label stands in double quotes."));
                }
                let value = self.string(&mut buffer)?;
                *named |= name == "__name__";
                let added = builder.label(name, value);
                self.built(added)?;
            } else if quoted && !*named {
                // A quoted name on its own is that of the metric.
                *named = true;
                let added = builder.label("__name__", name);
                self.built(added)?;
            } else {
                return Err(self.wrong("`=` and a value must follow the name of a label."));
            }
            self.blanks();
            if !self.eat(b',') && self.peek() != Some(b'}') {
                return Err(self.wrong("`,` or `}` must follow a label."));
            }
        }
    }

    /// The text up to the closing quote; `buffer` holds it if it has escapes.
    fn string<'b>(&mut self, buffer: &'b mut String) -> Result<&'b str, ReadError>
    where
        't: 'b,
    {
        let plain = self.while_bytes(|byte| !matches!(byte, b'"' | ESCAPE | b'\n'));
        if self.eat(b'"') {
            return Ok(plain);
        }
        buffer.clear();
        buffer.push_str(plain);
        loop {
            if self.eat(b'"') {
                return Ok(buffer);
            }
            if !self.eat(ESCAPE) {
                return Err(self.wrong("A quoted text does not end on its line."));
            }
            match self.peek() {
                Some(b'n') => buffer.push('\n'),
                Some(escaped @ (b'"' | ESCAPE)) => buffer.push(char::from(escaped)),
                // Any other pair stays as it is.
                Some(b'\n') | None => return Err(self.wrong("A quoted text does not end on its line.")),
                Some(_) => {
                    buffer.push('\\');
                    buffer.push_str(self.while_bytes(|byte| !matches!(byte, b'"' | ESCAPE | b'\n')));
                    continue;
                }
            }
            self.advance(1);
            buffer.push_str(self.while_bytes(|byte| !matches!(byte, b'"' | ESCAPE | b'\n')));
        }
    }

    pub(super) fn built<T>(&self, result: Result<T, BuildError>) -> Result<T, ReadError> {
        result.map_err(|error| self.wrong(error.to_string()))
    }
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b':')
}

/// A number as Go reads it, `Inf` and `NaN` included.
pub(super) fn number(word: &str) -> Option<f64> {
    let bytes = word.as_bytes();
    // Most numbers are small and whole.
    if (1..=15).contains(&bytes.len()) && bytes.iter().all(u8::is_ascii_digit) {
        let whole = bytes
            .iter()
            .fold(0_u64, |whole, digit| whole.wrapping_mul(10).wrapping_add(u64::from(digit.wrapping_sub(b'0'))));
        #[expect(clippy::cast_precision_loss, reason = "fifteen digits fit")]
        return Some(whole as f64);
    }
    word.parse().ok()
}
