//! Walks over a text: names, labels, numbers.

use std::ops::Range;

use super::ReadError;
use crate::series::{BuildError, Builder, KnownLabel, SeriesId};

/// A place in a text.
pub(super) struct Cursor<'t> {
    pub(super) text: &'t str,
    pub(super) at: usize,
    /// The labels of the series before, each with its text and what ends it: most labels stand in many series.
    before: Vec<(Range<usize>, KnownLabel)>,
}

/// How a label value escapes characters, besides the quote and the backslash: `\n`.
const ESCAPE: u8 = b'\\';

impl<'t> Cursor<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Cursor { text, at: 0, before: Vec::new() }
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
        let start = self.at;
        let bytes = self.text.as_bytes().get(start..).unwrap_or_default();
        self.advance(memchr::memchr(b'\n', bytes).unwrap_or(bytes.len()));
        let line = self.text.get(start..self.at).unwrap_or_default();
        self.advance(1);
        line.strip_suffix('\r').unwrap_or(line)
    }

    pub(super) fn wrong(&self, message: impl Into<String>) -> ReadError {
        ReadError::at(self.text, self.at, message)
    }

    /// What stands here up to a quote, a backslash or the end of the line.
    fn until_special(&mut self) -> &'t str {
        let start = self.at;
        let bytes = self.text.as_bytes().get(start..).unwrap_or_default();
        self.advance(memchr::memchr3(b'"', ESCAPE, b'\n', bytes).unwrap_or(bytes.len()));
        self.text.get(start..self.at).unwrap_or_default()
    }

    /// A word up to a blank or the end of the line.
    pub(super) fn word(&mut self) -> &'t str {
        self.while_bytes(|byte| !matches!(byte, b' ' | b'\t' | b'\n' | b'\r'))
    }

    /// A number as Go reads it; nothing if it is none.
    pub(super) fn number(&mut self) -> Result<f64, ReadError> {
        let start = self.at;
        let word = self.word();
        number(word).ok_or_else(|| ReadError::at(self.text, start, format!("`{word}` is not a number.")))
    }

    /// Takes the label that stood at this place in the series before, if it stands here again. Says whether it ends the
    /// labels.
    fn again(&mut self, place: usize, builder: &mut Builder) -> Option<bool> {
        let (range, label) = self.before.get(place)?;
        let bytes = self.text.as_bytes();
        let known = bytes.get(range.clone())?;
        let found = bytes.get(self.at..)?.starts_with(known);
        if !found {
            return None;
        }
        builder.label_again(*label);
        let ends = known.last() == Some(&b'}');
        self.advance(known.len());
        Some(ends)
    }

    /// Keeps the label that was just read, for the next series.
    fn keep(&mut self, place: usize, start: usize, builder: &Builder) {
        let Some(label) = builder.last_label() else { return };
        let range = start..self.at;
        match self.before.get_mut(place) {
            Some(known) => *known = (range, label),
            None if place < 64 => self.before.push((range, label)),
            None => {}
        }
    }

    /// The name of a series and its labels, as all our text formats write them.
    pub(super) fn series(&mut self, builder: &mut Builder) -> Result<SeriesId, ReadError> {
        let start = self.at;
        // The name counts as the first label, with its brace behind it.
        if self.peek() != Some(b'{')
            && let Some(ends) = self.again(0, builder)
        {
            if !ends {
                self.labels(builder, &mut true)?;
            }
            let series = builder.series();
            return self.built(series);
        }
        let name = self.while_bytes(is_name);
        if name.starts_with(|c: char| c.is_ascii_digit()) {
            return Err(ReadError::at(self.text, start, format!("`{name}` is not a metric name.")));
        }
        let mut named = !name.is_empty();
        if named {
            self.built(builder.label("__name__", name))?;
        }
        let behind = self.at;
        self.blanks();
        if self.eat(b'{') {
            if named {
                self.keep(0, start, builder);
            }
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
        let mut place: usize = 0;
        loop {
            self.blanks();
            if self.eat(b'}') {
                return Ok(());
            }
            place = place.saturating_add(1);
            match self.again(place, builder) {
                Some(true) => return Ok(()),
                Some(false) => continue,
                None => {}
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
                    return Err(self.wrong("The value of a label must be in double quotes."));
                }
                let value = self.string(&mut buffer)?;
                *named |= name == "__name__";
                let added = builder.label(name, value);
                self.built(added)?;
                // An empty value is no label, and a name within braces is looked at again.
                if !value.is_empty() && name != "__name__" && matches!(self.peek(), Some(b',' | b'}')) {
                    let ends = self.peek() == Some(b'}');
                    self.advance(1);
                    self.keep(place, start, builder);
                    if ends {
                        return Ok(());
                    }
                    continue;
                }
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
        let plain = self.until_special();
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
                return Err(self.wrong("A quoted string does not end on its line."));
            }
            match self.peek() {
                Some(b'n') => buffer.push('\n'),
                Some(escaped @ (b'"' | ESCAPE)) => buffer.push(char::from(escaped)),
                // Any other pair stays as it is.
                Some(b'\n') | None => return Err(self.wrong("A quoted string does not end on its line.")),
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
