//! What becomes of an object before it is stored: unknown fields go, nulls go where none may be, defaults come.
//!
//! The three passes are those of the API server, in its order. Its oddities are kept: an object below
//! `additionalProperties: true` loses all its fields unless it says to preserve them.

use serde_json::{Map, Value};

use super::node::{AdditionalProperties, Node};

/// The fields of every object, which the schema of a CRD does not describe.
const META: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// Prunes an object in place.
pub(super) fn prune(object: &mut Value, root: &Node) {
    nulls(object, Some(root));
    defaults(object, root);
    fields(object, Some(root));
}

fn fields(value: &mut Value, node: Option<&Node>) {
    let Some(node) = node else {
        match value {
            Value::Object(map) => map.clear(),
            Value::Array(items) => items.iter_mut().for_each(|item| fields(item, None)),
            _ => {}
        }
        return;
    };
    match value {
        Value::Object(map) => known_fields(map, node),
        Value::Array(items) if node.preserve => {
            for item in items {
                preserved(item, node.items.as_deref());
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| fields(item, node.items.as_deref())),
        _ => {}
    }
}

fn known_fields(map: &mut Map<String, Value>, node: &Node) {
    let meta = |key: &str| node.embedded && META.contains(&key);
    for (key, value) in map.iter_mut().filter(|(key, _)| !meta(key)) {
        match (node.properties.get(key), &node.additional) {
            (Some(property), _) => fields(value, Some(property)),
            (None, AdditionalProperties::Each(each)) => fields(value, Some(each)),
            (None, AdditionalProperties::Any | AdditionalProperties::Forbidden) => fields(value, None),
            (None, AdditionalProperties::Unspecified) => {}
        }
    }
    if !node.preserve && matches!(node.additional, AdditionalProperties::Unspecified) {
        map.retain(|key, _| meta(key) || node.properties.contains_key(key));
    }
}

/// Elements of a list that preserves unknown fields: they keep theirs, and below that what is described is pruned.
fn preserved(value: &mut Value, node: Option<&Node>) {
    let Some(node) = node else { return };
    match value {
        Value::Object(map) => {
            for (key, value) in map.iter_mut() {
                match (node.properties.get(key), &node.additional) {
                    (Some(property), _) => fields(value, Some(property)),
                    (None, AdditionalProperties::Each(each)) => fields(value, Some(each)),
                    _ => {}
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| preserved(item, node.items.as_deref())),
        _ => {}
    }
}

/// What the schema says of a field.
fn below<'n>(node: Option<&'n Node>, key: &str) -> Option<&'n Node> {
    let node = node?;
    node.properties.get(key).or(match &node.additional {
        AdditionalProperties::Each(each) => Some(each),
        _ => None,
    })
}

fn nulls(value: &mut Value, node: Option<&Node>) {
    match value {
        Value::Object(map) => {
            map.retain(|key, value| {
                let refused = below(node, key).is_some_and(|node| !node.nullable && node.default.is_none());
                !(value.is_null() && refused)
            });
            for (key, value) in map.iter_mut() {
                nulls(value, below(node, key));
            }
        }
        Value::Array(items) => {
            let node = node.and_then(|node| node.items.as_deref());
            for item in items {
                nulls(item, node);
            }
        }
        _ => {}
    }
}

fn defaults(value: &mut Value, node: &Node) {
    let null = |value: &Value, node: &Node| value.is_null() && !node.nullable;
    match value {
        Value::Object(map) => {
            for (name, property) in &node.properties {
                let Some(default) = &property.default else { continue };
                if map.get(name).is_none_or(|value| null(value, property)) {
                    map.insert(name.clone(), default.clone());
                }
            }
            for (key, value) in map.iter_mut() {
                if let Some(node) = below(Some(node), key) {
                    if null(value, node) {
                        *value = node.default.clone().unwrap_or_default();
                    }
                    defaults(value, node);
                }
            }
        }
        Value::Array(items) => {
            let Some(node) = node.items.as_deref() else { return };
            for item in items {
                if null(item, node) {
                    *item = node.default.clone().unwrap_or_default();
                }
                defaults(item, node);
            }
        }
        _ => {}
    }
}
