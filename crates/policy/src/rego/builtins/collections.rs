//! Functions about collections: those of Rego v0 that the engine lacks, and those that it does not bound.

use regorus::Value;

use super::{Function, array, elements, elements_fit, set};

pub(super) const FUNCTIONS: &[(&str, usize, Function)] = &[
    ("all", 1, all),
    ("any", 1, any),
    ("array.concat", 2, concat),
    ("array.flatten", 1, flatten),
    ("cast_array", 1, cast_array),
    ("cast_boolean", 1, |arguments| cast(arguments, |value| matches!(value, Value::Bool(_)))),
    ("cast_null", 1, |arguments| cast(arguments, |value| matches!(value, Value::Null))),
    ("cast_object", 1, |arguments| cast(arguments, |value| matches!(value, Value::Object(_)))),
    ("cast_set", 1, cast_set),
    ("cast_string", 1, |arguments| cast(arguments, |value| matches!(value, Value::String(_)))),
    // What `walk` becomes; see `corrections`.
    ("clearway_walk", 1, walk),
    ("set_diff", 2, set_diff),
];

fn all(arguments: &[Value]) -> Option<Value> {
    let elements = elements(arguments.first()?)?;
    Some(Value::from(elements.into_iter().all(|element| *element == Value::Bool(true))))
}

fn any(arguments: &[Value]) -> Option<Value> {
    let elements = elements(arguments.first()?)?;
    Some(Value::from(elements.into_iter().any(|element| *element == Value::Bool(true))))
}

fn concat(arguments: &[Value]) -> Option<Value> {
    let [Value::Array(first), Value::Array(second)] = arguments else { return None };
    elements_fit(first.len().saturating_add(second.len()))?;
    Some(array(first.iter().chain(second.iter()).cloned()))
}

/// One level, as OPA does it.
fn flatten(arguments: &[Value]) -> Option<Value> {
    let [Value::Array(outer)] = arguments else { return None };
    let mut flat = Vec::new();
    for element in outer.iter() {
        match element {
            Value::Array(inner) => flat.extend(inner.iter().cloned()),
            other => flat.push(other.clone()),
        }
        elements_fit(flat.len())?;
    }
    Some(array(flat))
}

fn cast(arguments: &[Value], is: fn(&Value) -> bool) -> Option<Value> {
    arguments.first().filter(|value| is(value)).cloned()
}

fn cast_array(arguments: &[Value]) -> Option<Value> {
    Some(array(elements(arguments.first()?)?.into_iter().cloned()))
}

fn cast_set(arguments: &[Value]) -> Option<Value> {
    Some(set(elements(arguments.first()?)?.into_iter().cloned()))
}

fn set_diff(arguments: &[Value]) -> Option<Value> {
    let [Value::Set(first), Value::Set(second)] = arguments else { return None };
    Some(first.difference(second).into_value())
}

/// The path and the value of every part of a value, itself included.
fn walk(arguments: &[Value]) -> Option<Value> {
    let mut parts = Vec::new();
    let mut stack: Vec<(Vec<Value>, &Value)> = vec![(Vec::new(), arguments.first()?)];
    let mut size = 0_usize;
    while let Some((path, value)) = stack.pop() {
        size = size.saturating_add(path.len()).saturating_add(2);
        elements_fit(size)?;
        let below = |key: Value| path.iter().cloned().chain([key]).collect::<Vec<Value>>();
        match value {
            Value::Array(elements) => {
                for (number, element) in elements.iter().enumerate() {
                    stack.push((below(Value::from(u64::try_from(number).ok()?)), element));
                }
            }
            Value::Set(elements) => elements.iter_sorted().for_each(|one| stack.push((below(one.clone()), one))),
            Value::Object(fields) => fields.iter_sorted().for_each(|(key, one)| stack.push((below(key.clone()), one))),
            _ => {}
        }
        parts.push(array([array(path), value.clone()]));
    }
    Some(array(parts))
}
