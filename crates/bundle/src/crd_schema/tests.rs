//! What does not need a server: rules of strangers never panic, never cost much, and what is not checked is listed.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn of(schema: &Value) -> CrdSchema {
    CrdSchema::read(schema).unwrap()
}

/// What is wrong with an object, one text for each violation.
fn wrong(report: &Report) -> Vec<String> {
    report.violations.iter().map(ToString::to_string).collect()
}

#[test]
fn rules_that_do_not_compile_are_listed_with_their_position() {
    let schema = of(&json!({
        "type": "object",
        "properties": {
            "times": {"type": "object", "properties": {"end": {"type": "string", "format": "date-time"}}, "x-kubernetes-validations": [
                {"rule": "self.end > timestamp('2024-01-01T00:00:00Z')"},
                {"rule": "has(self.end) &&\n  self.end != ''"},
                {"rule": "self.("},
                {"rule": "math.abs(1) > 1"},
                {"rule": "optionalOldSelf", "optionalOldSelf": true},
                {"rule": "self"},
            ]},
        },
    }));
    let said: Vec<String> = schema.unchecked().iter().map(ToString::to_string).collect();
    assert_eq!(
        said,
        [
            "times: the rule `has(self.end) &&\n  self.end != ''` is not evaluated (line 2, column 3): `!=` is not defined between timestamp and string",
            "times: the rule `math.abs(1) > 1` is not evaluated (line 1, column 1): the function `abs` is not declared in this environment",
            "times: the rule `optionalOldSelf` is not evaluated (line 1, column 1): `optionalOldSelf` is not declared in this environment",
            "times: the rule `self.(` is not evaluated (line 1, column 6): expected a name, found `(`",
            "times: the rule `self` is not evaluated (line 1, column 1): the expression must return a bool, not object",
        ]
    );
    assert_eq!(wrong(&schema.validate(&json!({"times": {"end": "2025-01-01T00:00:00Z"}}))), [] as [&str; 0]);
    assert_eq!(
        wrong(&schema.validate(&json!({"times": {"end": "2023-01-01T00:00:00Z"}}))),
        ["times: failed rule: self.end > timestamp('2024-01-01T00:00:00Z')"]
    );
}

#[test]
fn rules_about_changes_need_an_older_object() {
    let schema = of(&json!({"type": "object", "properties": {
        "name": {"type": "string", "x-kubernetes-validations": [{"rule": "self == oldSelf", "message": "it stays"}]},
        "size": {"type": "integer", "x-kubernetes-validations": [
            {"rule": "oldSelf.hasValue() || self == 1", "optionalOldSelf": true, "message": "it starts at 1"},
            {"rule": "self < 100", "messageExpression": "string(self) + ' is too much'", "fieldPath": ".size"},
        ]},
        "list": {
            "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
            "items": {"type": "object", "required": ["k"], "properties": {
                "k": {"type": "string"},
                "v": {"type": "integer", "x-kubernetes-validations": [{"rule": "self >= oldSelf", "message": "it grows"}]},
            }},
        },
    }}));
    let created = json!({"name": "a", "size": 2, "list": [{"k": "x", "v": 5}, {"k": "y", "v": 1}]});
    assert_eq!(wrong(&schema.validate(&created)), ["size: it starts at 1"]);
    let changed =
        json!({"name": "b", "size": 200, "list": [{"k": "y", "v": 3}, {"k": "z", "v": 0}, {"k": "x", "v": 4}]});
    assert_eq!(
        wrong(&schema.validate_update(&changed, &created)),
        ["list[2].v: it grows", "name: it stays", "size.size: 200 is too much"]
    );
    // What was like that before is not held against anybody.
    let again = json!({"name": "b", "size": 200, "list": [{"k": "x", "v": 4}]});
    assert_eq!(wrong(&schema.validate_update(&again, &changed)), [] as [&str; 0]);
}

#[test]
fn the_cost_limits_of_the_server_hold() {
    let rules = |rule: &str| json!([{"rule": rule, "message": "no"}]);
    let list = |rule: &str| {
        of(&json!({"type": "object", "properties": {
            "list": {"type": "array", "items": {"type": "integer"}, "x-kubernetes-validations": rules(rule)},
        }}))
    };
    let numbers = |count: i64| json!({"list": (0..count).collect::<Vec<_>>()});
    let nested = list("self.all(a, self.all(b, self.all(c, a + b + c < 100000)))");
    assert_eq!(wrong(&nested.validate(&numbers(20))), [] as [&str; 0]);
    assert_eq!(
        wrong(&nested.validate(&numbers(2_000))),
        ["list: the cost limit is exceeded evaluating rule: no"],
        "one expression costs too much"
    );
    // Each expression is cheap enough, but there are many.
    let each = of(&json!({"type": "object", "properties": {"list": {"type": "array", "items": {
        "type": "array", "items": {"type": "integer"}, "x-kubernetes-validations": rules("self.all(a, self.all(b, a + b < 100000))"),
    }}}}));
    let many = json!({"list": vec![(0..200).collect::<Vec<i64>>(); 80]});
    let report = each.validate(&many);
    assert_eq!(report.violations.len(), 1, "{report:?}");
    assert!(report.violations[0].message.contains("running out of cost budget"), "{report:?}");
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
        "self == oldSelf",
        "messageExpression",
        "optionalOldSelf",
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
            let _ = schema.validate_update(&object, &schema.pruned(&object));
        }
    }
}
