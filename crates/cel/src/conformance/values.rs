//! Values and types as tests write them.

use std::cmp::Ordering;
use std::sync::Arc;

use super::textproto::{FieldValue, Message};
use crate::environment::DeclaredType;
use crate::types::{Type, TypeKind, TypeTable};
use crate::value::{Blob, Key, List, Map, OwnedMap, Reader, Value};

/// Why a test cannot be run.
pub(super) type Unsupported = &'static str;

pub(super) const MESSAGES: Unsupported = "messages of Protocol Buffers";
pub(super) const ENUMS: Unsupported = "enums of Protocol Buffers";
pub(super) const WRAPPERS: Unsupported = "wrappers of Protocol Buffers";
pub(super) const ANY: Unsupported = "Any of Protocol Buffers";

/// A value of a test.
pub(super) fn value(message: &Message) -> Result<Value<'static>, Unsupported> {
    let Some((kind, content)) = message.fields.first() else { return Ok(Value::Null) };
    Ok(match (kind.as_str(), content) {
        ("null_value", _) => Value::Null,
        ("bool_value", FieldValue::Word(word)) => Value::Bool(word == "true"),
        ("int64_value", FieldValue::Word(word)) => Value::Int(integer(word)),
        ("uint64_value", FieldValue::Word(word)) => Value::Uint(unsigned(word)),
        ("double_value", FieldValue::Word(word)) => Value::Double(double(word)),
        ("string_value", FieldValue::Bytes(bytes)) => Value::text(String::from_utf8_lossy(bytes)),
        ("bytes_value", FieldValue::Bytes(bytes)) => Value::Bytes(Blob::from(bytes.clone())),
        ("type_value", FieldValue::Bytes(bytes)) => {
            Value::Type(known_type(&String::from_utf8_lossy(bytes)).ok_or(MESSAGES)?)
        }
        ("list_value", FieldValue::Message(list)) => {
            Value::list(list.messages("values").map(value).collect::<Result<_, _>>()?)
        }
        ("map_value", FieldValue::Message(map)) => {
            let mut entries = OwnedMap::default();
            for entry in map.messages("entries") {
                let part = |name| entry.message(name).map_or(Ok(Value::Null), value);
                let (key, content) = (part("key")?, part("value")?);
                if let Some(found) = Key::of(&key) {
                    entries.insert(found, key, content);
                }
            }
            Value::Map(Map::Owned(Arc::new(entries)))
        }
        ("enum_value", _) => return Err(ENUMS),
        ("object_value", FieldValue::Message(object)) => return well_known(object),
        _ => return Err(MESSAGES),
    })
}

/// Messages that CEL has values for.
fn well_known(object: &Message) -> Result<Value<'static>, Unsupported> {
    let Some((name, FieldValue::Message(content))) = object.fields.first() else { return Err(MESSAGES) };
    let number = |field: &str| match content.all(field).next() {
        Some(FieldValue::Word(word)) => integer(word),
        _ => 0,
    };
    let (seconds, nanos) = (number("seconds"), number("nanos"));
    match name.as_str() {
        "[type.googleapis.com/google.protobuf.Duration]" => {
            let whole = seconds.checked_mul(1_000_000_000).and_then(|whole| whole.checked_add(nanos));
            whole.map(Value::Duration).ok_or(MESSAGES)
        }
        "[type.googleapis.com/google.protobuf.Timestamp]" => {
            let nanos = u32::try_from(nanos).unwrap_or(0);
            Ok(Value::Timestamp(crate::value::time::Timestamp { seconds, nanos, offset: 0 }))
        }
        "[type.googleapis.com/google.protobuf.Any]" => Err(ANY),
        name if name.starts_with("[type.googleapis.com/google.protobuf.") && name.ends_with("Value]") => Err(WRAPPERS),
        _ => Err(MESSAGES),
    }
}

fn integer(word: &str) -> i64 {
    let (sign, digits) = word.strip_prefix('-').map_or((1, word), |digits| (-1, digits));
    let number = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(hex) => i128::from_str_radix(hex, 16),
        None => digits.parse::<i128>(),
    };
    i64::try_from(number.unwrap_or(0).saturating_mul(sign)).unwrap_or(0)
}

fn unsigned(word: &str) -> u64 {
    match word.strip_prefix("0x").or_else(|| word.strip_prefix("0X")) {
        Some(hex) => u64::from_str_radix(hex, 16).unwrap_or(0),
        None => word.parse().unwrap_or(0),
    }
}

fn double(word: &str) -> f64 {
    match word.to_ascii_lowercase().as_str() {
        "inf" | "infinity" => f64::INFINITY,
        "-inf" | "-infinity" => f64::NEG_INFINITY,
        "nan" | "-nan" => f64::NAN,
        other => other.trim_end_matches('f').parse().unwrap_or(0.0),
    }
}

fn known_type(name: &str) -> Option<&'static str> {
    const KNOWN: &[&str] = &[
        "bool",
        "bytes",
        "double",
        "int",
        "list",
        "map",
        "null_type",
        "string",
        "type",
        "uint",
        "google.protobuf.Timestamp",
        "google.protobuf.Duration",
        "optional_type",
        "net.IP",
        "net.CIDR",
    ];
    KNOWN.iter().copied().find(|known| *known == name)
}

/// Whether a result is the value that a test wants: of the same type, in depth.
pub(super) fn matches<'a>(wanted: &Value<'a>, found: &Value<'a>, depth: usize) -> bool {
    if depth > 200 {
        return false;
    }
    let reader = Reader::default();
    let below = depth.saturating_add(1);
    match (wanted, found) {
        (Value::Double(one), Value::Double(two)) => {
            one.partial_cmp(two) == Some(Ordering::Equal) || (one.is_nan() && two.is_nan())
        }
        (Value::Int(one), Value::Int(two)) | (Value::Duration(one), Value::Duration(two)) => one == two,
        (Value::Uint(one), Value::Uint(two)) => one == two,
        (Value::Type(one), Value::Type(two)) => one == two,
        (Value::List(one), Value::List(two)) => lists_match(one, two, reader, below),
        (Value::Map(one), Value::Map(two)) => {
            one.len() == two.len()
                && one.entries(reader).iter().all(|(key, value)| {
                    let mut others = two.entries(reader).into_iter();
                    others.any(|(other, found)| matches(key, &other, below) && matches(value, &found, below))
                })
        }
        (Value::Null, Value::Null) => true,
        (Value::Bool(one), Value::Bool(two)) => one == two,
        (Value::String(one), Value::String(two)) => **one == **two,
        (Value::Bytes(one), Value::Bytes(two)) => **one == **two,
        (Value::Timestamp(one), Value::Timestamp(two)) => one.instant() == two.instant(),
        _ => false,
    }
}

fn lists_match<'a>(one: &List<'a>, two: &List<'a>, reader: Reader<'a>, depth: usize) -> bool {
    one.len() == two.len() && one.iter(reader).zip(two.iter(reader)).all(|(one, two)| matches(&one, &two, depth))
}

/// The declared type of a variable.
pub(super) fn declared(message: &Message) -> Result<DeclaredType, Unsupported> {
    let Some((kind, content)) = message.fields.first() else { return Ok(DeclaredType::Dyn) };
    let part = |message: &Message, name: &str| message.message(name).map_or(Ok(DeclaredType::Dyn), declared);
    Ok(match (kind.as_str(), content) {
        ("dyn" | "type_param", _) => DeclaredType::Dyn,
        ("null", _) => DeclaredType::Null,
        ("type", _) => DeclaredType::Type,
        ("primitive", FieldValue::Word(word)) => match word.as_str() {
            "BOOL" => DeclaredType::Bool,
            "INT64" => DeclaredType::Int,
            "UINT64" => DeclaredType::Uint,
            "DOUBLE" => DeclaredType::Double,
            "STRING" => DeclaredType::String,
            _ => DeclaredType::Bytes,
        },
        ("well_known", FieldValue::Word(word)) => match word.as_str() {
            "TIMESTAMP" => DeclaredType::Timestamp,
            "DURATION" => DeclaredType::Duration,
            _ => return Err(ANY),
        },
        ("list_type", FieldValue::Message(list)) => DeclaredType::List(Box::new(part(list, "elem_type")?)),
        ("map_type", FieldValue::Message(map)) => {
            DeclaredType::Map(Box::new(part(map, "key_type")?), Box::new(part(map, "value_type")?))
        }
        ("abstract_type", FieldValue::Message(named)) if named.text("name").as_deref() == Some("optional_type") => {
            DeclaredType::Optional(Box::new(part(named, "parameter_types")?))
        }
        ("wrapper", _) => return Err(WRAPPERS),
        _ => return Err(MESSAGES),
    })
}

/// Whether a type is the one that a test deduces.
pub(super) fn is_type(table: &TypeTable, of: Type, wanted: &DeclaredType, depth: usize) -> bool {
    if depth > 100 {
        return false;
    }
    let below = depth.saturating_add(1);
    match (table.kind(of), wanted) {
        (TypeKind::Dyn, DeclaredType::Dyn)
        | (TypeKind::Null, DeclaredType::Null)
        | (TypeKind::Bool, DeclaredType::Bool)
        | (TypeKind::Int, DeclaredType::Int)
        | (TypeKind::Uint, DeclaredType::Uint)
        | (TypeKind::Double, DeclaredType::Double)
        | (TypeKind::String, DeclaredType::String)
        | (TypeKind::Bytes, DeclaredType::Bytes)
        | (TypeKind::Timestamp, DeclaredType::Timestamp)
        | (TypeKind::Duration, DeclaredType::Duration)
        | (TypeKind::Type(_), DeclaredType::Type) => true,
        (TypeKind::List(inner), DeclaredType::List(wanted))
        | (TypeKind::Optional(inner), DeclaredType::Optional(wanted)) => is_type(table, inner, wanted, below),
        (TypeKind::Map(key, value), DeclaredType::Map(wanted_key, wanted_value)) => {
            is_type(table, key, wanted_key, below) && is_type(table, value, wanted_value, below)
        }
        _ => false,
    }
}
