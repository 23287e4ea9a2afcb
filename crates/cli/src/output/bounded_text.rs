//! Text of data that strangers can make large: a few megabytes of a graph may have gigabytes of risks on its updates. Escapes are
//! part of the text, and count: they may have three times the bytes of what they stand for.

use std::fmt;
use std::io;

use anyhow::{Result, anyhow};
use clearway_core::terminal_text::write_json_escaped;
use serde::Serialize;

/// Bytes of one result. It is in memory, and so may be a copy of it.
pub(super) const RESULT_BYTES: usize = 128 << 20;

/// Text that ends with an error where it would have more than so many bytes.
pub(super) struct BoundedText {
    text: Vec<u8>,
    most: usize,
    is_full: bool,
}

impl BoundedText {
    fn push(&mut self, bytes: &[u8]) -> bool {
        self.is_full = self.is_full || self.text.len().saturating_add(bytes.len()) > self.most;
        if !self.is_full {
            self.text.extend_from_slice(bytes);
        }
        !self.is_full
    }
}

impl fmt::Write for BoundedText {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.push(text.as_bytes()) { Ok(()) } else { Err(fmt::Error) }
    }
}

/// JSON whose strings have an escape for what could drive a terminal or deceive its reader.
struct EscapedJson<'a>(&'a mut BoundedText);

impl io::Write for EscapedJson<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // The writer of JSON ends no piece within a letter.
        let text = str::from_utf8(bytes).map_err(io::Error::other)?;
        write_json_escaped(self.0, text).map_err(io::Error::other)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Data as JSON on several lines.
pub(super) fn json(data: &impl Serialize) -> Result<String> {
    json_within(RESULT_BYTES, data)
}

fn json_within(most: usize, data: &impl Serialize) -> Result<String> {
    bounded(most, |text| Ok(serde_json::to_writer_pretty(EscapedJson(text), data)?))
}

/// The text that is written, or an error where it would have more than so many bytes.
pub(super) fn bounded(most: usize, write: impl FnOnce(&mut BoundedText) -> Result<()>) -> Result<String> {
    let mut text = BoundedText { text: Vec::new(), most, is_full: false };
    let written = write(&mut text);
    if text.is_full {
        return Err(anyhow!("the result has more than {most} bytes; ask for less of it, or use -o table"));
    }
    written?;
    Ok(String::from_utf8(text.text)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_that_is_too_large_is_an_error_before_it_is_built() {
        let data = ["abcd", "efgh"];
        let json = json_within(22, &data).unwrap();
        assert_eq!(json, "[\n  \"abcd\",\n  \"efgh\"\n]");
        let error = json_within(21, &data).unwrap_err().to_string();
        assert!(error.contains("more than 21 bytes"), "{error}");
    }

    #[test]
    fn escapes_count_for_the_bound() {
        // Each letter of two bytes is an escape of six.
        let data = "\u{ad}".repeat(100);
        let json = json_within(602, &data).unwrap();
        assert_eq!(json, format!("\"{}\"", "\\u00ad".repeat(100)));
        assert_eq!(serde_json::from_str::<String>(&json).unwrap(), data);
        let error = json_within(601, &data).unwrap_err().to_string();
        assert!(error.contains("more than 601 bytes"), "{error}");
    }
}
