use clearway_schema::Schema;
use serde_json::json;

use super::*;

fn decl(schema: &serde_json::Value) -> Decl {
    Decl::of_schema(Schema::read(schema).unwrap().root(), false)
}

#[test]
fn the_root_has_the_fields_of_every_resource() {
    let root = decl(&json!({"type": "object", "properties": {
        "metadata": {"type": "object", "properties": {"labels": {"type": "object"}}},
        "spec": {"type": "object", "properties": {"a-b": {"type": "integer"}, "namespace": {"type": "string"}}},
    }}));
    assert!(root.field("apiVersion", true).is_some());
    let metadata = root.field("metadata", true).unwrap();
    assert!(metadata.field("name", true).is_some() && metadata.field("labels", true).is_none());
    let spec = root.field("spec", true).unwrap();
    assert!(spec.field("a__dash__b", true).is_some() && spec.field("a-b", true).is_none());
    assert!(spec.field("__namespace__", false).is_some());
    assert!(spec.field("namespace", true).is_some() && spec.field("namespace", false).is_none());
}

#[test]
fn numbers_lead_to_their_declarations() {
    let root = decl(&json!({"type": "object", "properties": {
        "a": {"type": "array", "items": {"type": "object", "properties": {"b": {"type": "object"}}}},
        "c": {"type": "object", "additionalProperties": {"type": "object"}},
    }}));
    for id in root.id..root.end {
        assert_eq!(root.find(id).map(|decl| decl.id), Some(id));
    }
    assert!(root.find(root.end).is_none());
}

#[test]
fn sizes_are_those_of_the_api_server() {
    let root = decl(&json!({"type": "object", "required": ["s"], "properties": {
        "s": {"type": "string", "maxLength": 10},
        "e": {"type": "string", "enum": ["ab", "abcd"]},
        "l": {"type": "array", "items": {"type": "boolean"}},
        "m": {"type": "object", "additionalProperties": {"type": "string"}, "maxProperties": 7},
    }}));
    let size = |name| root.field(name, true).unwrap().max_size;
    assert_eq!(size("s"), 40);
    assert_eq!(size("e"), 4);
    assert_eq!(size("l"), (3 * 1024 * 1024 - 2) / 5);
    assert_eq!(size("m"), 7);
    assert_eq!(root.min_bytes, 2 + 1 + 4 + 2);
}

#[test]
fn what_has_no_type_is_not_exposed() {
    let root = decl(&json!({"type": "object", "properties": {
        "any": {"x-kubernetes-preserve-unknown-fields": true},
        "list": {"type": "array", "items": {"x-kubernetes-preserve-unknown-fields": true}},
        "port": {"x-kubernetes-int-or-string": true},
        "object": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
    }}));
    assert!(root.field("any", true).is_none() && root.field("list", true).is_none());
    assert!(root.field("port", true).is_some() && root.field("object", true).is_some());
}
