//! How values are written for people: as CEL would have them, and no longer than wanted.

#![expect(clippy::format_push_string, reason = "writing to a text does not fail, and this is how it reads best")]

use super::{Reader, Value};
use crate::value::convert::{double_text, duration_text};
use crate::value::format_text::quoted;

impl<'a> Value<'a> {
    /// The value as CEL writes it, cut off behind so many characters.
    pub(crate) fn show(&self, reader: Reader<'a>, most: usize) -> String {
        let mut out = String::new();
        self.push_shown(reader, &mut out, most, 0);
        if let Some((at, _)) = out.char_indices().nth(most) {
            out.truncate(at);
            out.push('…');
        }
        out
    }

    fn push_shown(&self, reader: Reader<'a>, out: &mut String, most: usize, depth: usize) {
        if out.len() > most.saturating_mul(4) || depth > 64 {
            return;
        }
        let below = depth.saturating_add(1);
        match self {
            Value::Null => out.push_str("null"),
            Value::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
            Value::Int(number) => out.push_str(&number.to_string()),
            Value::Uint(number) => out.push_str(&format!("{number}u")),
            Value::Double(number) => {
                let text = double_text(*number);
                let whole = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
                out.push_str(&if whole { format!("{text}.0") } else { text });
            }
            Value::String(text) => {
                let end = text.char_indices().nth(most).map_or(text.len(), |(at, _)| at);
                out.push_str(&quoted(text.get(..end).unwrap_or_default()));
            }
            Value::Bytes(bytes) => {
                out.push_str("b\"");
                for byte in bytes.iter().take(most) {
                    match byte {
                        b'"' | b'\\' => out.push_str(&format!("\\{}", char::from(*byte))),
                        b' '..=b'~' => out.push(char::from(*byte)),
                        _ => out.push_str(&format!("\\x{byte:02x}")),
                    }
                }
                out.push('"');
            }
            Value::Timestamp(time) => out.push_str(&format!("timestamp(\"{}\")", time.text())),
            Value::Duration(nanoseconds) => out.push_str(&format!("duration(\"{}\")", duration_text(*nanoseconds))),
            Value::Type(name) => out.push_str(name),
            Value::List(list) => {
                out.push('[');
                for (index, element) in list.iter(reader).enumerate().take(most) {
                    if index > 0 {
                        out.push_str(", ");
                    }
                    element.push_shown(reader, out, most, below);
                }
                out.push(']');
            }
            Value::Map(map) => {
                out.push('{');
                for (index, key) in map.keys().into_iter().enumerate().take(most) {
                    if index > 0 {
                        out.push_str(", ");
                    }
                    key.push_shown(reader, out, most, below);
                    out.push_str(": ");
                    if let Ok(Some(value)) = map.get(&key, reader) {
                        value.push_shown(reader, out, most, below);
                    }
                }
                out.push('}');
            }
            Value::Optional(None) => out.push_str("optional.none()"),
            Value::Optional(Some(value)) => {
                out.push_str("optional.of(");
                value.push_shown(reader, out, most, below);
                out.push(')');
            }
            Value::Library(value) => {
                out.push_str(value.type_name());
                out.push('(');
                out.push_str(&quoted(&value.text()));
                out.push(')');
            }
            Value::Variables => out.push_str("variables"),
            Value::Unknown => out.push_str("unknown"),
            Value::Error(class, _) => out.push_str(&format!("error: {}", class.describe())),
        }
    }
}
