//! Writes a value as a YAML document: keys in order, so that the same value is the same bytes. Foreign text in it cannot drive
//! a terminal or deceive its reader: such characters are YAML's own escapes, so that the values stay what they are.

use std::fmt::{self, Write};

use clearway_core::terminal_text::is_unsafe;
use serde::Serialize;
use serde_json::Value;
use serde_saphyr::SerializerOptions;
use serde_saphyr::ser::Error;

/// The YAML of a value, with the line that begins a document.
pub fn to_yaml(value: &Value) -> Result<String, Error> {
    let mut text = "---\n".to_owned();
    if !write_plain_yaml(&mut text, value)? {
        text.truncate("---\n".len());
        write_escaped_yaml(&mut text, value)?;
    }
    Ok(text)
}

/// Writes the YAML of a value, unless something of it has to be escaped: then what was written is only its beginning, and the
/// answer is false.
pub fn write_plain_yaml(out: &mut impl Write, data: &impl Serialize) -> Result<bool, Error> {
    let mut has_raw = false;
    let mut plain = PlainText { out, has_raw: &mut has_raw };
    let written = serde_saphyr::to_fmt_writer_with_options(&mut plain, data, SerializerOptions::default());
    if has_raw { Ok(false) } else { written.map(|()| true) }
}

/// Writes the YAML of a value with an escape for everything that could deceive.
pub fn write_escaped_yaml(out: &mut impl Write, data: &impl Serialize) -> Result<(), Error> {
    // A block of lines has no escapes.
    let mut options = SerializerOptions::default();
    options.prefer_block_scalars = false;
    serde_saphyr::to_fmt_writer_with_options(&mut EscapedText { out }, data, options)
}

/// Whether a character must not stand in the text as it is. Line breaks and tabs are part of its form.
fn is_raw(letter: char) -> bool {
    !matches!(letter, '\n' | '\t') && is_unsafe(letter)
}

/// Text that ends with an error where something has to be escaped.
struct PlainText<'a, W> {
    out: &'a mut W,
    has_raw: &'a mut bool,
}

impl<W: Write> Write for PlainText<'_, W> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        *self.has_raw = *self.has_raw || text.contains(is_raw);
        if *self.has_raw { Err(fmt::Error) } else { self.out.write_str(text) }
    }
}

/// Text with YAML's escapes. The writer of YAML escapes control characters of ASCII and few others; without blocks of lines it
/// writes every text either as it is, in one piece, or in double quotes: names of fields in one piece, too, and values letter by
/// letter.
struct EscapedText<'a, W> {
    out: &'a mut W,
}

impl<W: Write> Write for EscapedText<'_, W> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if !text.contains(is_raw) {
            return self.out.write_str(text);
        }
        if text.starts_with('"') {
            return text.chars().try_for_each(|letter| self.write_char(letter));
        }
        self.out.write_str("\"")?;
        for letter in text.chars() {
            match letter {
                '"' | '\\' => write!(self.out, "\\{letter}")?,
                '\t' => self.out.write_str("\\t")?,
                other => self.write_char(other)?,
            }
        }
        self.out.write_str("\"")
    }

    fn write_char(&mut self, letter: char) -> fmt::Result {
        match u32::from(letter) {
            _ if !is_raw(letter) => self.out.write_char(letter),
            number @ ..=0xff => write!(self.out, "\\x{number:02x}"),
            number @ ..=0xffff => write!(self.out, "\\u{number:04x}"),
            number => write!(self.out, "\\U{number:08x}"),
        }
    }
}
