//! What does not need a server: schemas of strangers never panic, never cost much, and what is not checked is listed.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn of(schema: &Value) -> Schema {
    Schema::read(schema).unwrap()
}

#[test]
fn what_is_not_checked_is_listed() {
    let schema = of(&json!({
        "type": "object",
        "properties": {
            "mail": {"type": "string", "format": "email"},
            "moon": {"type": "string", "format": "moon"},
            "bytes": {"type": "string", "pattern": r"\C+"},
        },
    }));
    let said: Vec<String> = schema.unchecked().iter().map(ToString::to_string).collect();
    assert_eq!(
        said,
        [r"bytes: the pattern `\C+` is not supported", "mail: strings of the format `email` are not checked"]
    );
}

#[test]
fn validation_rules_are_read_as_they_are_written() {
    let schema = of(&json!({"type": "object", "x-kubernetes-validations": [
        {"rule": "self.a", "message": "m", "messageExpression": "'x'", "reason": "R", "fieldPath": ".a", "optionalOldSelf": true},
        {"rule": "self.b"},
    ]}));
    let rules = &schema.root().validations;
    assert_eq!((rules[0].rule.as_str(), rules[0].message.as_str(), rules[0].optional_old_self), ("self.a", "m", true));
    assert_eq!((rules[0].reason.as_deref(), rules[0].field_path.as_deref()), (Some("R"), Some(".a")));
    assert_eq!(rules[1], ValidationRule { rule: "self.b".to_owned(), ..ValidationRule::default() });
}

#[test]
fn a_schema_without_end_is_refused() {
    let mut schema = json!({"type": "object"});
    for _ in 0..100 {
        schema = json!({"type": "object", "properties": {"a": schema}});
    }
    assert_eq!(Schema::read(&schema).unwrap_err(), SchemaError::TooLarge("it is nested more than 64 levels deep"));
    let crd = json!({"spec": {"versions": [{"name": "v1"}]}});
    assert_eq!(Schema::of_crd(&crd, "v2").unwrap_err().to_string(), "the CRD has no version `v2`");
    assert_eq!(Schema::of_crd(&crd, "v1").unwrap_err().to_string(), "version `v1` of the CRD has no schema");
}

#[test]
fn a_violation_says_where_and_what() {
    let schema = of(&json!({"type": "object", "required": ["a"], "properties": {
        "a": {"type": "string"},
        "list": {"type": "array", "items": {"type": "object", "properties": {"n": {"type": "integer", "maximum": 3}}}},
    }}));
    let violations = schema.validate(&json!({"list": [{"n": 1}, {"n": 4}]}));
    let said: Vec<_> = violations.iter().map(|one| (one.rule, one.to_string())).collect();
    assert_eq!(
        said,
        [("required", "a: is required".to_owned()), ("maximum", "list[1].n: must not be greater than 3".to_owned())]
    );
}

#[test]
fn every_format_compiles() {
    assert!(Format::Uuid.holds("9e8e9d2c-5a37-4b2b-8a3e-0c5a1ad2e2bb"));
}

fn any_value(depth: u32) -> impl Strategy<Value = Value> {
    let words = prop::sample::select(vec![
        "type",
        "object",
        "array",
        "string",
        "integer",
        "properties",
        "items",
        "additionalProperties",
        "enum",
        "required",
        "pattern",
        "[",
        "(a+)+$",
        "\\d",
        "format",
        "date-time",
        "uri",
        "x-kubernetes-validations",
        "rule",
        "self.a == 1",
        "self.all(x, x > self.size())",
        "x-kubernetes-list-type",
        "map",
        "set",
        "x-kubernetes-list-map-keys",
        "nullable",
        "default",
        "a",
        "b",
        "%zz",
        "http://[::1",
        "2024-01-01T00:00:00Z",
        "",
        "é",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        words.clone().prop_map(Value::from),
    ];
    leaf.prop_recursive(depth, 64, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::btree_map(words.clone().prop_map(str::to_owned), inner, 0..6)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn no_schema_and_no_object_panics(schema in any_value(8), object in any_value(5)) {
        if let Ok(schema) = Schema::read(&schema) {
            let pruned = schema.pruned(&object);
            prop_assert_eq!(schema.pruned(&pruned), pruned.clone(), "pruning twice is pruning once");
            let _ = schema.validate(&pruned);
            let _ = schema.validate(&object);
        }
    }

    #[test]
    fn no_text_panics(text in "\\PC{0,40}", pattern in "[\\[\\]\\\\()a-z:^&~*+?{},0-9-]{0,24}") {
        let _ = uri::is_request_uri(&text);
        let _ = Format::DateTime.holds(&text);
        let _ = pattern::read(&pattern).map(|pattern| pattern.is_match(&text));
    }
}
