//! The parameters of a rule: under the name of its type, with keys in any case.

use clearway_graph::Rule;
use serde_json::{Map, Value};

/// Everything under the name of the type.
pub(super) fn own(rule: &Rule) -> Option<&Map<String, Value>> {
    find(&rule.parameters, &rule.kind).and_then(Value::as_object)
}

/// A parameter.
pub(super) fn find<'p>(parameters: &'p Map<String, Value>, key: &str) -> Option<&'p Value> {
    parameters.iter().find(|(known, _)| known.eq_ignore_ascii_case(key)).map(|(_, value)| value)
}

/// A parameter that is a text.
pub(super) fn word<'p>(parameters: &'p Map<String, Value>, key: &str) -> Option<&'p str> {
    find(parameters, key).and_then(Value::as_str)
}
