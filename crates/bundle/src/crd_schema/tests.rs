//! What does not need a server: rules of strangers never panic, never cost much, and what is not checked is listed.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn of(schema: &Value) -> CrdSchema {
    CrdSchema::read(schema).unwrap()
}

#[test]
fn rules_that_are_not_evaluated_are_listed() {
    let schema = of(&json!({
        "type": "object",
        "properties": {
            "times": {"type": "object", "properties": {"end": {"type": "string", "format": "date-time"}}, "x-kubernetes-validations": [
                {"rule": "self.end > timestamp('2024-01-01T00:00:00Z')"},
                {"rule": "self.end != ''"},
                {"rule": "self.matches('\\\\d+')"},
                {"rule": "oldSelf == self"},
                {"rule": "self.("},
                {"rule": "self.sum() > 1"},
                {"rule": "optionalOldSelf", "optionalOldSelf": true},
            ]},
        },
    }));
    let said: Vec<String> = schema.unchecked().iter().map(ToString::to_string).collect();
    assert_eq!(
        said,
        [
            "times: the rule `self.(` is not evaluated: it is not CEL that is understood here",
            "times: the rule `self.end != ''` is not evaluated: it compares texts of a format",
            "times: the rule `self.end > timestamp('2024-01-01T00:00:00Z')` is not evaluated: it uses `timestamp`",
            r"times: the rule `self.matches('\\d+')` is not evaluated: its pattern means something else here",
            "times: the rule `self.sum() > 1` is not evaluated: it uses `sum`",
        ]
    );
}

#[test]
fn a_rule_that_would_take_long_is_left_to_the_server() {
    let rules = json!([{"rule": "self.all(a, self.all(b, self.all(c, a != b || b != c)))", "message": "no"}]);
    let schema = of(&json!({"type": "object", "properties": {
        "list": {"type": "array", "items": {"type": "integer"}, "x-kubernetes-validations": rules},
    }}));
    let small = schema.validate(&json!({"list": [1, 2]}));
    assert_eq!((small.violations.len(), small.unchecked.len()), (1, 0));
    let large = schema.validate(&json!({"list": (0..2_000).collect::<Vec<_>>()}));
    assert_eq!(large.violations, []);
    assert_eq!(
        large.unchecked[0].to_string(),
        "list: the rule with the message `no` is not evaluated on so large an object"
    );
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
        if let Ok(schema) = CrdSchema::read(&schema) {
            let _ = schema.validate(&schema.pruned(&object));
            let _ = schema.validate(&object);
        }
    }
}
