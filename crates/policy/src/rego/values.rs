//! Values of Rego and JSON, both ways.
//!
//! Gatekeeper sends reviews through Go's JSON, which makes every number a float: an integer of seven digits or more is
//! then written with an exponent in messages. Such numbers are floats here as well, and all others integers.

use std::collections::BTreeMap;

use regorus::Value;
use serde_json::Value as Json;

/// Integers below this are written the same whether they are floats or not.
const SHORT: i64 = 1_000_000;

/// A value of JSON: parameters, and objects of the inventory.
pub fn from_json(json: &Json) -> Value {
    convert(json, false)
}

/// A value of a review.
pub fn from_review(json: &Json) -> Value {
    convert(json, true)
}

/// A review of these fields.
pub(crate) fn from_review_fields<'f>(fields: impl Iterator<Item = (&'f str, &'f Json)>) -> Value {
    Value::from(fields.map(|(key, value)| (Value::from(key), from_review(value))).collect::<BTreeMap<Value, Value>>())
}

fn convert(json: &Json, review: bool) -> Value {
    match json {
        Json::Null => Value::Null,
        Json::Bool(bool) => Value::Bool(*bool),
        Json::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(integer), _) if review && !(-SHORT < integer && integer < SHORT) => float(number),
            (Some(integer), _) => Value::from(integer),
            (None, Some(integer)) if !review => Value::from(integer),
            _ => float(number),
        },
        Json::String(text) => Value::from(text.as_str()),
        Json::Array(values) => Value::from(values.iter().map(|value| convert(value, review)).collect::<Vec<Value>>()),
        Json::Object(fields) => Value::from(
            fields
                .iter()
                .map(|(key, value)| (Value::from(key.as_str()), convert(value, review)))
                .collect::<BTreeMap<Value, Value>>(),
        ),
    }
}

fn float(number: &serde_json::Number) -> Value {
    let float = number.as_f64().unwrap_or_default();
    // Floats without decimals below the mark are written as integers are.
    #[allow(clippy::cast_possible_truncation)] // the range is checked
    if float.fract() == 0.0 && float.abs() < 1e6 { Value::from(float as i64) } else { Value::from(float) }
}

/// JSON of a value: sets are arrays, and keys that are no texts are written out. Nothing if a value is too deep.
pub fn to_json(value: &Value) -> Option<Json> {
    json_below(value, 0)
}

fn json_below(value: &Value, depth: usize) -> Option<Json> {
    if depth > 512 {
        return None;
    }
    let below = depth.saturating_add(1);
    Some(match value {
        Value::Null | Value::Undefined => Json::Null,
        Value::Bool(bool) => Json::Bool(*bool),
        Value::Number(number) => {
            let text = number.format_decimal();
            match (text.parse::<i64>(), text.parse::<u64>(), text.parse::<f64>()) {
                (Ok(number), ..) => number.into(),
                (_, Ok(number), _) => number.into(),
                (.., Ok(number)) => serde_json::Number::from_f64(number).map_or(Json::Null, Json::Number),
                _ => Json::Null,
            }
        }
        Value::String(text) => Json::String(text.to_string()),
        Value::Array(values) => {
            Json::Array(values.iter().map(|value| json_below(value, below)).collect::<Option<_>>()?)
        }
        Value::Set(values) => {
            Json::Array(values.iter_sorted().map(|value| json_below(value, below)).collect::<Option<_>>()?)
        }
        Value::Object(fields) => {
            let mut object = serde_json::Map::new();
            for (key, value) in fields.iter_sorted() {
                let key = match key {
                    Value::String(text) => text.to_string(),
                    other => super::builtins::written(other),
                };
                object.insert(key, json_below(value, below)?);
            }
            Json::Object(object)
        }
    })
}
