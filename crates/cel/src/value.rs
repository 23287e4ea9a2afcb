//! Values of an evaluation. Texts, lists and maps of the data are borrowed, not copied; what an evaluation makes is
//! shared by counting references.
//!
//! Errors and unknown values are values as well, because `&&`, `||` and conditionals decide whether they matter.

mod compare;
pub(crate) mod convert;
pub(crate) mod format_text;
mod json;
mod key;
pub(crate) mod library;
pub(crate) mod pattern;
mod public;
mod show;
pub(crate) mod time;

use std::ops::Deref;
use std::sync::Arc;

use serde_json::Value as Json;

use crate::decl::{Decl, DeclKind};
use crate::error::ErrorClass;
use crate::syntax::span::Span;
use crate::value::library::LibraryValue;
use crate::value::time::Timestamp;

pub(crate) use compare::{Comparison, Equality, element_key, has_native};
pub(crate) use json::Reader;
pub(crate) use key::{Key, OwnedMap};
pub use public::CelValue;

/// A value, or why there is none.
#[derive(Debug, Clone)]
pub(crate) enum Value<'a> {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    String(Text<'a>),
    Bytes(Blob<'a>),
    Timestamp(Timestamp),
    /// In nanoseconds.
    Duration(i64),
    /// A type, by its name.
    Type(&'static str),
    List(List<'a>),
    Map(Map<'a>),
    Optional(Option<Arc<Value<'a>>>),
    Library(LibraryValue),
    /// The variables of a policy.
    Variables,
    Unknown,
    Error(ErrorClass, Span),
}

/// A text that is borrowed or shared.
#[derive(Debug, Clone)]
pub(crate) enum Text<'a> {
    Borrowed(&'a str),
    Shared(Arc<str>),
}

impl Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            Text::Borrowed(text) => text,
            Text::Shared(text) => text,
        }
    }
}

impl From<String> for Text<'_> {
    fn from(text: String) -> Self {
        Text::Shared(text.into())
    }
}

/// Bytes that are borrowed or shared.
#[derive(Debug, Clone)]
pub(crate) enum Blob<'a> {
    Borrowed(&'a [u8]),
    Shared(Arc<[u8]>),
}

impl Deref for Blob<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Blob::Borrowed(bytes) => bytes,
            Blob::Shared(bytes) => bytes,
        }
    }
}

impl From<Vec<u8>> for Blob<'_> {
    fn from(bytes: Vec<u8>) -> Self {
        Blob::Shared(bytes.into())
    }
}

/// A list.
#[derive(Debug, Clone)]
pub(crate) enum List<'a> {
    /// Of data without a schema.
    Json(&'a [Json]),
    /// Of data with a schema.
    Typed(&'a Vec<Json>, &'a Decl),
    Owned(Arc<Vec<Value<'a>>>),
    /// The sum of a list with a schema and another: it keeps what makes elements the same.
    TypedOwned(Arc<Vec<Value<'a>>>, &'a Decl),
}

impl<'a> List<'a> {
    pub(crate) fn of(elements: Vec<Value<'a>>) -> Self {
        List::Owned(Arc::new(elements))
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            List::Json(elements) => elements.len(),
            List::Typed(elements, _) => elements.len(),
            List::Owned(elements) | List::TypedOwned(elements, _) => elements.len(),
        }
    }

    pub(crate) fn get(&self, index: usize, reader: Reader<'a>) -> Option<Value<'a>> {
        match self {
            List::Json(elements) => elements.get(index).map(|element| reader.plain(element)),
            List::Typed(elements, decl) => elements.get(index).map(|element| reader.element(element, decl)),
            List::Owned(elements) | List::TypedOwned(elements, _) => elements.get(index).cloned(),
        }
    }

    /// The elements in turn.
    pub(crate) fn iter(&self, reader: Reader<'a>) -> impl Iterator<Item = Value<'a>> + '_ {
        (0..self.len()).filter_map(move |index| self.get(index, reader))
    }

    /// The declaration, if the list has a schema.
    pub(crate) fn decl(&self) -> Option<&'a Decl> {
        match self {
            List::Typed(_, decl) | List::TypedOwned(_, decl) => Some(decl),
            _ => None,
        }
    }
}

/// A map, or an object of a schema.
#[derive(Debug, Clone)]
pub(crate) enum Map<'a> {
    /// Of data without a schema.
    Json(&'a serde_json::Map<String, Json>),
    /// Of data with a schema.
    Typed(&'a serde_json::Map<String, Json>, &'a Decl),
    Owned(Arc<OwnedMap<'a>>),
}

impl<'a> Map<'a> {
    pub(crate) fn len(&self) -> usize {
        match self {
            Map::Json(entries) | Map::Typed(entries, _) => entries.len(),
            Map::Owned(entries) => entries.len(),
        }
    }

    /// The value of a text as a key.
    pub(crate) fn get_text(&self, key: &str, reader: Reader<'a>) -> Option<Value<'a>> {
        match self {
            Map::Json(entries) => entries.get(key).map(|value| reader.plain(value)),
            Map::Typed(entries, decl) => {
                if let DeclKind::Map(element) = &decl.kind {
                    return entries.get(key).map(|value| reader.typed(value, element));
                }
                let name = crate::decl::unescape(key)?;
                reader.property(entries, decl, &name)
            }
            Map::Owned(entries) => entries.get_text(key).cloned(),
        }
    }

    /// The value of a key; an error if a map with a schema is asked for another key than a text.
    pub(crate) fn get(&self, key: &Value<'a>, reader: Reader<'a>) -> Result<Option<Value<'a>>, ErrorClass> {
        match (self, key) {
            (_, Value::String(text)) => Ok(self.get_text(text, reader)),
            (Map::Typed(..), _) => Err(ErrorClass::NoSuchOverload),
            (Map::Json(_), _) => Ok(None),
            (Map::Owned(entries), key) => Ok(Key::of(key).and_then(|key| entries.get(&key)).cloned()),
        }
    }

    /// The keys in turn. Fields of objects are written with escapes.
    pub(crate) fn keys(&self) -> Vec<Value<'a>> {
        match self {
            Map::Json(entries) => entries.keys().map(|key| Value::String(Text::Borrowed(key))).collect(),
            Map::Typed(entries, decl) => {
                let is_map = matches!(decl.kind, DeclKind::Map(_));
                let known = entries.keys().filter(|key| is_map || decl.property(key).is_some());
                known
                    .map(|key| match crate::decl::escape(key).filter(|_| !is_map) {
                        Some(escaped) => Value::String(Text::from(escaped)),
                        None => Value::String(Text::Borrowed(key)),
                    })
                    .collect()
            }
            Map::Owned(entries) => entries.keys().cloned().collect(),
        }
    }

    /// The entries in turn.
    pub(crate) fn entries(&self, reader: Reader<'a>) -> Vec<(Value<'a>, Value<'a>)> {
        let value = |key: Value<'a>| {
            let value = self.get(&key, reader).ok().flatten();
            value.map(|value| (key, value))
        };
        match self {
            Map::Owned(entries) => entries.iter().map(|(key, value)| (key.clone(), value.clone())).collect(),
            _ => self.keys().into_iter().filter_map(value).collect(),
        }
    }
}

impl<'a> Value<'a> {
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Value::String(Text::from(text.into()))
    }

    pub(crate) fn list(elements: Vec<Value<'a>>) -> Self {
        Value::List(List::of(elements))
    }

    pub(crate) fn some(value: Value<'a>) -> Self {
        Value::Optional(Some(Arc::new(value)))
    }

    /// Whether there is no value: an error, or unknown.
    pub(crate) fn is_missing(&self) -> bool {
        matches!(self, Value::Error(..) | Value::Unknown)
    }

    /// The name of its type.
    pub(crate) fn type_name(&self) -> &'static str {
        match self {
            Value::Null => "null_type",
            Value::Bool(_) => "bool",
            Value::Int(_) => "int",
            Value::Uint(_) => "uint",
            Value::Double(_) => "double",
            Value::String(_) => "string",
            Value::Bytes(_) => "bytes",
            Value::Timestamp(_) => "google.protobuf.Timestamp",
            Value::Duration(_) => "google.protobuf.Duration",
            Value::Type(_) => "type",
            Value::List(_) => "list",
            Value::Map(_) => "map",
            Value::Optional(_) => "optional_type",
            Value::Library(value) => value.type_name(),
            Value::Variables => "kubernetes.variables",
            Value::Unknown => "unknown",
            Value::Error(..) => "error",
        }
    }

    /// The size by which costs are counted: characters, bytes, elements, entries; 1 of everything else.
    pub(crate) fn size(&self) -> u64 {
        let size = match self {
            Value::String(text) => char_count(text),
            Value::Bytes(bytes) => bytes.len(),
            Value::List(list) => list.len(),
            Value::Map(map) => map.len(),
            Value::Library(value) => value.size(),
            _ => 1,
        };
        u64::try_from(size).unwrap_or(u64::MAX)
    }

    /// The same data without its schema: what is inside an optional has none.
    pub(crate) fn without_schema(&self) -> Value<'a> {
        match self {
            Value::Map(Map::Typed(entries, _)) => Value::Map(Map::Json(entries)),
            Value::List(List::Typed(elements, _)) => Value::List(List::Json(elements)),
            Value::List(List::TypedOwned(elements, _)) => {
                Value::list(elements.iter().map(Value::without_schema).collect())
            }
            other => other.clone(),
        }
    }
}

/// How many characters a text has.
pub(crate) fn char_count(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.chars().count() }
}
