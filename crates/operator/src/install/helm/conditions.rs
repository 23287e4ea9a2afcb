//! Conditions around what only some settings add to a list.

use serde_json::Value;

use super::rules::MARK;

/// Puts every element of a list that `without` does not have between two strings that become the condition's begin and end
/// when they are written as lines. What differs otherwise is a matter of the rules for lines.
pub(super) fn add_conditions(without: &Value, with: &mut Value, condition: &str) {
    match (without, with) {
        (Value::Object(without), Value::Object(with)) => {
            for (key, value) in with.iter_mut() {
                if let Some(other) = without.get(key).filter(|_| key != "args") {
                    add_conditions(other, value, condition);
                }
            }
        }
        (Value::Array(without), Value::Array(with)) => {
            let is_mark = |value: &Value| value.as_str().is_some_and(|text| text.starts_with(MARK));
            let mut result = Vec::new();
            let mut others = without.iter().peekable();
            let mut is_conditional = false;
            for mut element in std::mem::take(with) {
                is_conditional = is_conditional || is_mark(&element);
                let other = others.next_if(|other| is_same(other, &element));
                if is_conditional {
                    // Another condition, which ends with its second mark.
                    is_conditional = element != end();
                    result.push(element);
                } else if let Some(other) = other {
                    add_conditions(other, &mut element, condition);
                    result.push(element);
                } else {
                    result.extend([begin(condition), element, end()]);
                }
            }
            *with = result;
        }
        _ => {}
    }
}

/// Whether two elements are the same one with other settings: an object by its kind and name, a part of a pod by its name, and
/// anything else by its value.
fn is_same(one: &Value, other: &Value) -> bool {
    let both = |key: fn(&Value) -> Option<Vec<&Value>>| key(one).is_some() && key(one) == key(other);
    one == other
        || both(|value| Some(vec![value.get("kind")?, value.get("metadata")?.get("name")?]))
        || both(|value| Some(vec![value.get("name")?]))
}

/// The string that becomes the begin of a condition.
fn begin(condition: &str) -> Value {
    format!("{MARK}if {condition}").into()
}

/// The string that becomes the end of a condition.
fn end() -> Value {
    format!("{MARK}end").into()
}
