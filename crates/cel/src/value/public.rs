//! Values as users of the crate see them.

use serde_json::{Map as JsonMap, Value as Json, json};

use super::{Blob, List, Map, Reader, Text, Value};
use crate::value::convert::{base64_text, duration_text};
use crate::value::library::LibraryValue;

/// A value of CEL.
#[derive(Debug, Clone)]
pub struct CelValue<'a>(Value<'a>);

impl<'a> CelValue<'a> {
    pub(crate) fn new(value: Value<'a>) -> Self {
        CelValue(value)
    }

    pub(crate) fn into_inner(self) -> Value<'a> {
        self.0
    }

    /// Data as it is.
    pub fn of_json(data: &'a Json) -> Self {
        CelValue(Reader::default().plain(data))
    }

    /// An unsigned integer, which data cannot hold.
    pub fn uint(number: u64) -> Self {
        CelValue(Value::Uint(number))
    }

    /// Bytes, which data cannot hold.
    pub fn bytes(bytes: &'a [u8]) -> Self {
        CelValue(Value::Bytes(Blob::Borrowed(bytes)))
    }

    /// A text.
    pub fn text(text: &'a str) -> Self {
        CelValue(Value::String(Text::Borrowed(text)))
    }

    /// The name of its type.
    pub fn type_name(&self) -> &'static str {
        self.0.type_name()
    }

    /// The bool that it is; nothing if it is none.
    pub fn as_bool(&self) -> Option<bool> {
        match &self.0 {
            Value::Bool(value) => Some(*value),
            _ => None,
        }
    }

    /// The integer that it is; nothing if it is none.
    pub fn as_int(&self) -> Option<i64> {
        match &self.0 {
            Value::Int(value) => Some(*value),
            _ => None,
        }
    }

    /// The text that it is; nothing if it is none.
    pub fn as_text(&self) -> Option<&str> {
        match &self.0 {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    /// Whether it is `null`.
    pub fn is_null(&self) -> bool {
        matches!(self.0, Value::Null)
    }

    /// The value as CEL would write it, cut off behind so many characters.
    pub fn show(&self, most: usize) -> String {
        self.0.show(Reader::default(), most)
    }

    /// One unambiguous text for every value, with types, by which two engines are compared.
    pub fn canonical(&self) -> String {
        canonical(&self.0, 0)
    }

    /// The value as JSON: times, durations and values of libraries are texts, bytes are base64, optionals without
    /// a value are `null`.
    pub fn to_json(&self) -> Json {
        to_json(&self.0, 0)
    }
}

fn canonical(value: &Value<'_>, depth: usize) -> String {
    if depth > 200 {
        return "…".to_owned();
    }
    let below = depth.saturating_add(1);
    let hex = |bytes: &[u8]| bytes.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"));
    let reader = Reader::default();
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Int(number) => format!("int({number})"),
        Value::Uint(number) => format!("uint({number})"),
        Value::Double(number) => format!("double({:016x})", number.to_bits()),
        Value::String(text) => format!("string({})", hex(text.as_bytes())),
        Value::Bytes(bytes) => format!("bytes({})", hex(bytes)),
        Value::Duration(nanoseconds) => format!("duration({nanoseconds})"),
        Value::Timestamp(time) => format!("timestamp({})", time.text()),
        Value::Type(name) => format!("type({name})"),
        Value::Optional(None) => "optional()".to_owned(),
        Value::Optional(Some(value)) => format!("optional({})", canonical(value, below)),
        Value::Library(value) => {
            let name = match value {
                LibraryValue::Url(_) => "url",
                LibraryValue::Quantity(..) => "quantity",
                LibraryValue::Semver(_) => "semver",
                LibraryValue::Format(_) => "format",
                LibraryValue::Ip(_) => "ip",
                LibraryValue::Cidr(_) => "cidr",
            };
            format!("{name}({})", value.text())
        }
        Value::Map(map) => {
            let entry = |key: Value<'_>| {
                let found = map.get(&key, reader).ok().flatten();
                let value = found.map_or_else(|| "error".to_owned(), |value| canonical(&value, below));
                format!("{}:{value}", canonical(&key, below))
            };
            let mut entries: Vec<String> = map.keys().into_iter().map(entry).collect();
            entries.sort();
            format!("{{{}}}", entries.join(","))
        }
        Value::List(list) => {
            let elements: Vec<String> = list.iter(reader).map(|element| canonical(&element, below)).collect();
            format!("[{}]", elements.join(","))
        }
        Value::Error(..) => "error".to_owned(),
        Value::Unknown => "unknown".to_owned(),
        Value::Variables => "variables".to_owned(),
    }
}

fn to_json(value: &Value<'_>, depth: usize) -> Json {
    if depth > 200 {
        return Json::Null;
    }
    let below = depth.saturating_add(1);
    match value {
        Value::Bool(value) => json!(value),
        Value::Int(number) => json!(number),
        Value::Uint(number) => json!(number),
        Value::Double(number) if number.is_finite() => json!(number),
        Value::Double(number) => json!(crate::value::convert::double_text(*number)),
        Value::String(text) => json!(&**text),
        Value::Bytes(bytes) => json!(base64_text(bytes)),
        Value::Timestamp(time) => json!(time.text()),
        Value::Duration(nanoseconds) => json!(duration_text(*nanoseconds)),
        Value::Type(name) => json!(name),
        Value::List(List::Json(elements)) => Json::Array(elements.to_vec()),
        Value::List(List::Typed(elements, _)) => Json::Array((*elements).clone()),
        Value::List(List::Owned(elements) | List::TypedOwned(elements, _)) => {
            elements.iter().map(|element| to_json(element, below)).collect()
        }
        Value::Map(Map::Json(entries) | Map::Typed(entries, _)) => Json::Object((*entries).clone()),
        Value::Map(Map::Owned(entries)) => {
            let mut object = JsonMap::new();
            for (key, value) in entries.iter() {
                let name = match key {
                    Value::String(text) => text.to_string(),
                    key => key.show(Reader::default(), 100),
                };
                object.insert(name, to_json(value, below));
            }
            Json::Object(object)
        }
        Value::Optional(Some(value)) => to_json(value, below),
        Value::Library(value) => json!(value.text()),
        Value::Null | Value::Optional(None) | Value::Variables | Value::Unknown | Value::Error(..) => Json::Null,
    }
}
