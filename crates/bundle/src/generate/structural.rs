//! From what `schemars` makes of a type to what an API server takes as the schema of a CRD, for one channel.
//!
//! A CRD's schema is *structural*: no references, every value has one type, and unions are written as plain fields. What
//! cannot be written so is an error and never left out, since the field would then be pruned from every object.

use serde_json::{Map, Value};

use crate::channel::Channel;

/// The keyword that marks what is not in the standard channel: a field, or a word of an enumeration.
pub const CHANNEL_KEYWORD: &str = "x-clearway-channel";

/// The keywords that are taken over as they are.
const PLAIN: &[&str] = &[
    "default",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "format",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "multipleOf",
    "nullable",
    "pattern",
    "type",
    "x-kubernetes-int-or-string",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-list-type",
    "x-kubernetes-map-type",
    "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-validations",
];

/// Why a type cannot be written as a CRD: a mistake in the type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// The keyword has no place in a structural schema, or not in this form.
    #[error("{path}: `{keyword}` cannot be written in a structural schema")]
    Keyword {
        /// The field.
        path: String,
        /// The keyword.
        keyword: String,
    },
    /// The type refers to itself.
    #[error("{path}: the type contains itself, which a structural schema cannot express")]
    Recursive {
        /// The field.
        path: String,
    },
    /// The field has no type.
    #[error("{path}: the field has no type, or several")]
    Untyped {
        /// The field.
        path: String,
    },
    /// The mark names no channel.
    #[error("{path}: `{CHANNEL_KEYWORD}` is not `standard` or `experimental`")]
    Channel {
        /// The field.
        path: String,
    },
}

/// The structural schema of one channel.
pub(crate) fn structural(schema: &Value, channel: Channel, path: &str) -> Result<Value, BuildError> {
    let keyword = |keyword: &str| BuildError::Keyword { path: path.to_owned(), keyword: keyword.to_owned() };
    let fields = schema.as_object().ok_or_else(|| keyword("true"))?;
    let mut out = Map::new();
    for (key, value) in fields {
        match key.as_str() {
            "title" | CHANNEL_KEYWORD => {}
            "$ref" => return Err(BuildError::Recursive { path: path.to_owned() }),
            "description" => {
                out.insert(key.clone(), unwrapped(value.as_str().unwrap_or_default()).into());
            }
            "properties" => {
                out.insert(key.clone(), properties(value, channel, path)?);
            }
            "items" => {
                out.insert(key.clone(), structural(value, channel, &format!("{path}[]"))?);
            }
            "additionalProperties" if value.is_object() => {
                out.insert(key.clone(), structural(value, channel, &format!("{path}{{}}"))?);
            }
            "required" | "enum" => {
                out.insert(key.clone(), value.clone());
            }
            "oneOf" | "anyOf" => {
                let words = words(value, channel, path)?.ok_or_else(|| keyword(key))?;
                out.insert("type".to_owned(), "string".into());
                out.insert("enum".to_owned(), words.into());
            }
            plain if PLAIN.contains(&plain) => {
                out.insert(key.clone(), value.clone());
            }
            other => return Err(keyword(other)),
        }
    }
    let any = out.get("x-kubernetes-int-or-string") == Some(&Value::Bool(true))
        || out.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(true));
    if !any && !out.get("type").is_some_and(Value::is_string) {
        return Err(BuildError::Untyped { path: path.to_owned() });
    }
    require_what_is_there(&mut out);
    Ok(Value::Object(out))
}

fn properties(value: &Value, channel: Channel, path: &str) -> Result<Value, BuildError> {
    let mut kept = Map::new();
    for (name, property) in value.as_object().into_iter().flatten() {
        let path = format!("{path}.{name}");
        if first_channel(property, &path)? <= channel {
            kept.insert(name.clone(), structural(property, channel, &path)?);
        }
    }
    Ok(Value::Object(kept))
}

/// The words of an enumeration whose words are described or marked one by one; nothing for any other union.
fn words(value: &Value, channel: Channel, path: &str) -> Result<Option<Vec<Value>>, BuildError> {
    let mut words = Vec::new();
    for variant in value.as_array().into_iter().flatten() {
        let Some(own) = variant.get("enum").and_then(Value::as_array) else { return Ok(None) };
        if variant.get("type") != Some(&Value::String("string".to_owned())) {
            return Ok(None);
        }
        if first_channel(variant, path)? <= channel {
            words.extend(own.iter().cloned());
        }
    }
    Ok(Some(words))
}

/// The first channel that has a field or a word.
fn first_channel(schema: &Value, path: &str) -> Result<Channel, BuildError> {
    let Some(mark) = schema.get(CHANNEL_KEYWORD) else { return Ok(Channel::Standard) };
    let word = mark.as_str().and_then(|word| word.parse().ok());
    word.ok_or_else(|| BuildError::Channel { path: path.to_owned() })
}

/// A field that is not in this channel is not required in it.
fn require_what_is_there(out: &mut Map<String, Value>) {
    let Some(Value::Array(required)) = out.get("required") else { return };
    let there = |name: &&Value| {
        let properties = out.get("properties").and_then(Value::as_object);
        name.as_str().is_some_and(|name| properties.is_some_and(|all| all.contains_key(name)))
    };
    let mut required: Vec<Value> = required.iter().filter(there).cloned().collect();
    required.sort_by(|left, right| left.as_str().cmp(&right.as_str()));
    if required.is_empty() {
        out.remove("required");
    } else {
        out.insert("required".to_owned(), required.into());
    }
}

/// A comment as a description: paragraphs stay, lines within them do not.
fn unwrapped(text: &str) -> String {
    let paragraphs = text.trim().split("\n\n").map(|paragraph| {
        paragraph.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
    });
    paragraphs.collect::<Vec<_>>().join("\n\n")
}
