//! JSON as values: as it is, or by the declaration of its schema as the API server reads it.

use serde_json::Value as Json;

use super::{Blob, List, Map, Text, Value};
use crate::decl::{Decl, DeclKind, StringFormat};
use crate::error::ErrorClass;
use crate::syntax::span::Span;
use crate::value::convert;
use crate::value::time::{Timestamp, parse_date, parse_schema_duration, parse_timestamp};

/// How data is read.
#[derive(Clone, Copy, Default)]
pub(crate) struct Reader<'a> {
    /// Which values are not known, such as those that were removed before the data was stored.
    pub(crate) unknown: Option<&'a (dyn Fn(&Json) -> bool + Sync)>,
}

impl<'a> Reader<'a> {
    fn is_unknown(self, json: &Json) -> bool {
        self.unknown.is_some_and(|unknown| unknown(json))
    }

    /// Data without a schema.
    pub(crate) fn plain(self, json: &'a Json) -> Value<'a> {
        if self.is_unknown(json) {
            return Value::Unknown;
        }
        match json {
            Json::Null => Value::Null,
            Json::Bool(value) => Value::Bool(*value),
            Json::Number(number) => match number.as_i64() {
                Some(number) => Value::Int(number),
                // Integers outside 64 bits are floating-point numbers in the API server.
                None => Value::Double(number.as_f64().unwrap_or(f64::NAN)),
            },
            Json::String(text) => Value::String(Text::Borrowed(text)),
            Json::Array(elements) => Value::List(List::Json(elements)),
            Json::Object(entries) => Value::Map(Map::Json(entries)),
        }
    }

    /// Data by its declaration.
    pub(crate) fn typed(self, json: &'a Json, decl: &'a Decl) -> Value<'a> {
        if self.is_unknown(json) {
            return Value::Unknown;
        }
        let invalid = Value::Error(ErrorClass::InvalidData, Span::default());
        match (json, &decl.kind) {
            (Json::Null, _) => {
                if decl.nullable {
                    Value::Null
                } else {
                    invalid
                }
            }
            (Json::String(text), DeclKind::IntOrString) => Value::String(Text::Borrowed(text)),
            (Json::Number(number), DeclKind::IntOrString | DeclKind::Integer) => {
                number.as_i64().map_or(invalid, Value::Int)
            }
            (Json::Object(entries), DeclKind::Object(_) | DeclKind::Map(_)) => Value::Map(Map::Typed(entries, decl)),
            (Json::Array(elements), DeclKind::List(..)) => Value::List(List::Typed(elements, decl)),
            (Json::Number(number), DeclKind::Number) => number.as_f64().map_or(invalid, Value::Double),
            (Json::Bool(value), DeclKind::Boolean) => Value::Bool(*value),
            (Json::String(text), DeclKind::String(format)) => string(text, *format).unwrap_or(invalid),
            _ => invalid,
        }
    }

    /// An element of a list, or a value of a map, by the declaration of the list or map.
    pub(crate) fn element(self, json: &'a Json, decl: &'a Decl) -> Value<'a> {
        match decl.element() {
            Some(element) => self.typed(json, element),
            None => self.plain(json),
        }
    }

    /// A field of an object by its name in the data; `null` is as if it were not there.
    pub(crate) fn property(
        self,
        entries: &'a serde_json::Map<String, Json>,
        decl: &'a Decl,
        name: &str,
    ) -> Option<Value<'a>> {
        let value = entries.get(name).filter(|value| !value.is_null())?;
        decl.property(name).map(|property| self.typed(value, property))
    }
}

/// A text by its format.
fn string(text: &str, format: StringFormat) -> Option<Value<'_>> {
    Some(match format {
        StringFormat::Plain => Value::String(Text::Borrowed(text)),
        // The alphabet of URLs only, although schemas accept both.
        StringFormat::Bytes => Value::Bytes(Blob::from(convert::base64_bytes(text, true, true)?)),
        StringFormat::Duration => Value::Duration(parse_schema_duration(text)?),
        StringFormat::Date => Value::Timestamp(parse_date(text)?),
        StringFormat::DateTime if text.is_empty() => Value::Timestamp(Timestamp { seconds: 0, nanos: 0, offset: 0 }),
        StringFormat::DateTime => Value::Timestamp(parse_timestamp(text, false)?),
    })
}
