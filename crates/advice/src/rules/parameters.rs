//! Reads the parameters of a rule: total, with a sentence for what is wrong.
//!
//! Parameters of a type stand under a key that is the type's name (`promql.promql`, `rollout.start`). Keys are read in any
//! case, as Go's decoder does it, so that both spellings in use are understood. A key in two spellings says two things, so
//! a rule that has one cannot be read.

use std::collections::HashSet;

use clearway_graph::Rule;
use serde_json::{Map, Value};

use crate::evidence::{Failure, FailureClass};

/// The parameters of one rule.
pub(crate) struct Parameters<'r> {
    kind: String,
    map: &'r Map<String, Value>,
}

impl<'r> Parameters<'r> {
    /// The object under the type's name.
    pub(crate) fn of(rule: &'r Rule) -> Result<Self, Failure> {
        let kind = lower_first(&rule.kind);
        if let Some(key) = key_in_two_spellings(&rule.parameters) {
            return Err(wrong(format!("`{}` is set twice, in two spellings.", excerpt(key))));
        }
        match find(&rule.parameters, &kind).map(Value::as_object) {
            Some(Some(map)) => match key_in_two_spellings(map) {
                None => Ok(Parameters { kind, map }),
                Some(key) => Err(wrong(format!("`{kind}.{}` is set twice, in two spellings.", excerpt(key)))),
            },
            Some(None) => Err(wrong(format!("`{kind}` is not an object."))),
            None => Err(wrong(format!("The rule has no parameters: `{kind}` is missing."))),
        }
    }

    /// A value, if it is there and not null.
    pub(crate) fn get(&self, key: &str) -> Option<&'r Value> {
        find(self.map, key).filter(|value| !value.is_null())
    }

    /// A text, if it is there.
    pub(crate) fn text(&self, key: &str) -> Result<Option<&'r str>, Failure> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::String(text)) if !text.is_empty() => Ok(Some(text)),
            Some(_) => Err(self.wrong(key, "is not a string, or is empty")),
        }
    }

    /// A text that must be there.
    pub(crate) fn required(&self, key: &str) -> Result<&'r str, Failure> {
        self.text(key)?.ok_or_else(|| self.wrong(key, "is missing"))
    }

    /// One of some words; the first of them if the key is not there.
    pub(crate) fn word<T: Copy>(&self, key: &str, words: &[(&str, T)]) -> Result<Option<T>, Failure> {
        let Some(text) = self.text(key)? else { return Ok(words.first().map(|(_, value)| *value)) };
        let known = words.iter().find(|(word, _)| *word == text);
        known.map(|(_, value)| Some(*value)).ok_or_else(|| {
            let all: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            self.wrong(key, &format!("is `{}`, not one of {}", excerpt(text), all.join(", ")))
        })
    }

    /// The failure that something is wrong with a parameter.
    pub(crate) fn wrong(&self, key: &str, what: &str) -> Failure {
        wrong(format!("`{}.{key}` {what}.", self.kind))
    }
}

fn wrong(message: String) -> Failure {
    Failure::new(FailureClass::Malformed, message)
}

/// The start of a text that is not ours.
pub(crate) fn excerpt(text: &str) -> String {
    text.chars().take(64).collect()
}

fn find<'m>(map: &'m Map<String, Value>, key: &str) -> Option<&'m Value> {
    map.get(key).or_else(|| map.iter().find(|(known, _)| known.eq_ignore_ascii_case(key)).map(|(_, value)| value))
}

/// The first key that is there in another case, too.
fn key_in_two_spellings(map: &Map<String, Value>) -> Option<&str> {
    let mut seen = HashSet::with_capacity(map.len());
    map.keys().find(|key| !seen.insert(key.to_ascii_lowercase())).map(String::as_str)
}

fn lower_first(text: &str) -> String {
    let mut rest = text.chars();
    rest.next().map(|first| first.to_ascii_lowercase()).into_iter().chain(rest).collect()
}

/// Parameters as JSON on one line with the keys in order; nothing for none.
pub(crate) fn canonical(parameters: &Map<String, Value>) -> String {
    if parameters.is_empty() {
        return String::new();
    }
    sorted(&Value::Object(parameters.clone())).to_string()
}

/// The same value with the keys of every object in order, whatever order the map keeps.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Array(items) => Value::Array(items.iter().map(sorted).collect()),
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_by_key(|(key, _)| key.as_str());
            Value::Object(fields.into_iter().map(|(key, value)| (key.clone(), sorted(value))).collect())
        }
        other => other.clone(),
    }
}
