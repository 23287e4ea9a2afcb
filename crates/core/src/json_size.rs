//! How large a JSON value is, as text and in memory, counted without a copy of the text.
//!
//! Bytes alone do not bound memory: `[{"a":0},{"a":0}]` takes eighty times its length, because every map has room for
//! several fields. So maps, lists and values are counted too, before memory is taken for them.

use std::io;

use serde_json::Value;

/// What a map with fields takes, without the texts in it.
const MAP: usize = 700;
/// What each value after the first one of a list or map takes.
const VALUE: usize = 80;

/// Counts the bytes of a JSON text that is written into it, and what the text takes in memory once it is read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct JsonSize {
    /// Bytes of the text.
    pub bytes: usize,
    /// Bytes that the value takes in memory, an estimate from above.
    pub memory: usize,
    in_text: bool,
    escaped: bool,
}

impl JsonSize {
    /// The size of a JSON text and of its value.
    pub fn of_text(json: &[u8]) -> Self {
        let mut size = JsonSize::default();
        size.add(json);
        size
    }

    /// The size of a value and of its text.
    pub fn of_value(value: &Value) -> Self {
        let mut size = JsonSize::default();
        // A value has only texts as keys, so writing it into something that takes everything cannot fail.
        let _ = serde_json::to_writer(&mut size, value);
        size
    }

    fn add(&mut self, json: &[u8]) {
        self.bytes = self.bytes.saturating_add(json.len());
        self.memory = self.memory.saturating_add(json.len());
        for byte in json {
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' if self.in_text => self.escaped = true,
                b'"' => self.in_text = !self.in_text,
                _ if self.in_text => {}
                b'{' => self.memory = self.memory.saturating_add(MAP),
                b'[' | b',' => self.memory = self.memory.saturating_add(VALUE),
                _ => {}
            }
        }
    }
}

impl io::Write for JsonSize {
    fn write(&mut self, json: &[u8]) -> io::Result<usize> {
        self.add(json);
        Ok(json.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_and_values_are_counted_where_they_are_no_text() {
        for (json, maps, values) in
            [("{}", 1, 0), (r#"[{"a":0},{"a":0}]"#, 2, 2), (r#"{"a":"{[,\"{,","b":[1,2]}"#, 1, 3), (r#""\\","#, 0, 1)]
        {
            let size = JsonSize::of_text(json.as_bytes());
            assert_eq!((size.bytes, size.memory), (json.len(), json.len() + maps * MAP + values * VALUE), "{json}");
            if let Ok(value) = serde_json::from_str::<Value>(json) {
                assert_eq!(JsonSize::of_value(&value), size, "{json}");
            }
        }
    }
}
