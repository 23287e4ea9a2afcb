//! YAML in which foreign text cannot drive a terminal or deceive its reader: such characters are YAML's own escapes, so that
//! the values stay what they are in a file or a pipe, too.

use std::fmt::{self, Write};

use anyhow::{Result, anyhow};
use clearway_core::terminal_text::is_unsafe;
use serde::Serialize;
use serde_saphyr::SerializerOptions;

use super::bounded_text::{BoundedText, RESULT_BYTES, bounded};

/// A value as YAML.
pub(crate) fn to_yaml(data: &impl Serialize) -> Result<String> {
    within(RESULT_BYTES, data)
}

fn within(most: usize, data: &impl Serialize) -> Result<String> {
    let mut has_raw = false;
    let options = SerializerOptions::default();
    let plain = bounded(most, |out| write_yaml(&mut PlainText { out, has_raw: &mut has_raw }, data, options));
    if !has_raw {
        return plain;
    }
    // What was written until then is not kept beside the second text.
    drop(plain);
    // A block of lines has no escapes.
    let mut options = SerializerOptions::default();
    options.prefer_block_scalars = false;
    bounded(most, |out| write_yaml(&mut EscapedText { out }, data, options))
}

fn write_yaml(out: &mut impl Write, data: &impl Serialize, options: SerializerOptions) -> Result<()> {
    serde_saphyr::to_fmt_writer_with_options(out, data, options)
        .map_err(|error| anyhow!("cannot be written as YAML: {error}"))
}

/// Whether a character must not stand in the text as it is. Line breaks and tabs are part of its form.
fn is_raw(letter: char) -> bool {
    !matches!(letter, '\n' | '\t') && is_unsafe(letter)
}

/// Text that ends with an error where something has to be escaped.
struct PlainText<'a> {
    out: &'a mut BoundedText,
    has_raw: &'a mut bool,
}

impl Write for PlainText<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        *self.has_raw = *self.has_raw || text.contains(is_raw);
        if *self.has_raw { Err(fmt::Error) } else { self.out.write_str(text) }
    }
}

/// Text with YAML's escapes. The writer of YAML escapes control characters of ASCII and few others; without blocks of lines it
/// writes every text either as it is, in one piece, or in double quotes: names of fields in one piece, too, and values letter by
/// letter.
struct EscapedText<'a> {
    out: &'a mut BoundedText,
}

impl Write for EscapedText<'_> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn what_could_deceive_is_an_escape_and_the_values_stay() {
        let odd = "a\r\u{1b}[2J\u{7f}\u{85}\u{9b}31m\u{202e}\u{2028}\u{e0041}\"\\ {x}: - #\n\ty é";
        for value in [
            json!({"plain": ["a", 1, null, 2.5, true, "escaped0z", "yes"], "text": "a\nb\n"}),
            json!({odd: odd, "list": [odd, {odd: [odd]}, "escaped", "escapedx1z"], "z": "plain é"}),
            json!(odd),
        ] {
            let yaml = to_yaml(&value).unwrap();
            assert!(!yaml.contains(is_raw), "{yaml}");
            assert_eq!(serde_saphyr::from_str::<Value>(&yaml).unwrap(), value, "{yaml}");
        }
        assert!(to_yaml(&json!(["b\u{202e}"])).unwrap().contains("- \"b\\u202e\""));
    }
    #[test]
    fn every_place_of_a_text_is_escaped() {
        // Texts that are written as they are, in quotes and as lines, of one letter and of many.
        for text in [
            "\u{ad}",
            "a\u{ad}",
            "a: \u{ad}",
            "\"\u{ad}\\",
            "- \u{ad}",
            "a\n\u{ad}\n\n",
            " \u{ad}\t",
            "\u{ad}#'b'",
            "\u{2028}",
        ] {
            let long = format!("{} {text}", "word ".repeat(50));
            for text in [text, &long] {
                let value = json!({text: {"a": text, "b": [text, [text], {text: text}, "true", "1", "two\nlines"]}});
                let yaml = to_yaml(&value).unwrap();
                assert!(!yaml.contains(is_raw), "{yaml}");
                assert_eq!(serde_saphyr::from_str::<Value>(&yaml).unwrap(), value, "{yaml}");
            }
        }
    }

    #[test]
    fn escapes_count_for_the_bound() {
        // Each letter of two bytes is an escape of four.
        let value = json!(["\u{ad}".repeat(100)]);
        assert_eq!(within(1_000, &value).unwrap().len(), 405);
        let error = within(404, &value).unwrap_err().to_string();
        assert!(error.contains("more than 404 bytes"), "{error}");
    }
}
