//! Fields of the zoo with rules that use what CEL has in Kubernetes: times, quantities, versions, addresses, older values.

use serde_json::{Value, json};

pub(crate) fn properties() -> Value {
    json!({
        "port": {"x-kubernetes-int-or-string": true, "maxLength": 40, "x-kubernetes-validations": [
            {"rule": "type(self) == int ? self > 0 && self < 65536 : self.size() < 16"},
        ]},
        "start": {"type": "string", "format": "date-time", "x-kubernetes-validations": [
            {"rule": "self > timestamp('2024-01-01T00:00:00Z') && self.getFullYear() < 2030"},
        ]},
        "wait": {"type": "string", "format": "duration", "x-kubernetes-validations": [{"rule": "self <= duration('1h')"}]},
        "memory": {"type": "string", "maxLength": 20, "x-kubernetes-validations": [
            {"rule": "quantity(self).isLessThan(quantity('4Gi'))", "messageExpression": "self + ' is too much'"},
        ]},
        "code": {"type": "string", "maxLength": 20, "x-kubernetes-validations": [{"rule": r"self.matches(r'^\d+\w?$')"}]},
        "ip": {"type": "string", "maxLength": 40, "x-kubernetes-validations": [
            {"rule": "isIP(self) && ip(self).family() == 4"},
        ]},
        "release": {"type": "string", "maxLength": 40, "x-kubernetes-validations": [
            {"rule": "semver(self).major() >= 1", "message": "a stable release"},
        ]},
        "once": {"type": "string", "maxLength": 20, "x-kubernetes-validations": [
            {"rule": "oldSelf.orValue('first') == self", "optionalOldSelf": true, "message": "it stays first"},
            {"rule": "self == oldSelf || oldSelf == 'any'", "message": "once it is set"},
        ]},
        "counters": {
            "type": "array", "maxItems": 5, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
            "items": {"type": "object", "required": ["k"], "properties": {
                "k": {"type": "string", "maxLength": 10},
                "v": {"type": "integer", "x-kubernetes-validations": [
                    {"rule": "self >= oldSelf", "messageExpression": "'from %d to %d'.format([oldSelf, self])"},
                    {"rule": "self < 50", "message": "below 50"},
                ]},
            }},
            "x-kubernetes-validations": [
                {"rule": "self.map(c, c.?v.orValue(0)).sum() < 100", "message": "less than 100 in all"},
            ],
        },
        "limits": {
            "type": "object", "maxProperties": 5,
            "additionalProperties": {"type": "integer", "x-kubernetes-validations": [{"rule": "self > 0 && self <= oldSelf"}]},
            "x-kubernetes-validations": [{"rule": "self.all(k, k.startsWith('l')) && self.transformList(k, v, v).max() < 10"}],
        },
        "pair": {
            "type": "object",
            "properties": {"low": {"type": "integer"}, "high": {"type": "integer", "nullable": true}},
            "x-kubernetes-validations": [
                {"rule": "self.low < self.high", "message": "low is below high", "fieldPath": ".low", "reason": "FieldValueForbidden"},
            ],
        },
    })
}

/// Values that keep to the rules.
pub(crate) fn values() -> Value {
    json!({
        "port": 80,
        "start": "2025-01-01T00:00:00Z",
        "wait": "30m",
        "memory": "1Gi",
        "code": "12",
        "ip": "10.0.0.1",
        "release": "1.2.3",
        "once": "first",
        "counters": [{"k": "a", "v": 1}, {"k": "b", "v": 2}, {"k": "c"}],
        "limits": {"l1": 1, "l2": 5},
        "pair": {"low": 1, "high": 2},
    })
}

/// Values that are right or wrong because of what was there before.
pub(crate) fn changes() -> Vec<(&'static str, Vec<Value>)> {
    vec![
        ("once", vec![json!("second"), json!("first"), json!(null)]),
        (
            "counters",
            vec![
                json!([{"k": "b", "v": 2}, {"k": "a", "v": 0}]),
                json!([{"k": "b", "v": 3}, {"k": "a", "v": 1}, {"k": "d", "v": 0}]),
                json!([{"k": "c", "v": -5}]),
                json!([]),
            ],
        ),
        ("limits", vec![json!({"l1": 2}), json!({"l1": 1, "l2": 4}), json!({"l3": 9}), json!({"l1": 0})]),
    ]
}

/// Values on both sides of each rule.
pub(crate) fn cases() -> Vec<(&'static str, Vec<Value>)> {
    vec![
        ("port", vec![json!("http"), json!(1.5), json!(true), json!(null), json!({}), json!(0), json!("p".repeat(17))]),
        ("start", vec![json!("2023-12-31T23:59:59Z"), json!("2031-01-01T00:00:00Z"), json!("soon"), json!("")]),
        ("wait", vec![json!("2h"), json!("1h"), json!("-1s"), json!("an hour"), json!("3600001ms"), json!("1 day")]),
        ("memory", vec![json!("4Gi"), json!("4294967295"), json!("8G"), json!("much"), json!(""), json!("1e3")]),
        ("code", vec![json!("1a"), json!("a"), json!("١"), json!("1é"), json!("")]),
        ("ip", vec![json!("::1"), json!("10.0.0.300"), json!("::ffff:1.2.3.4"), json!("01.2.3.4")]),
        ("release", vec![json!("0.9.0"), json!("v1.0.0"), json!("1.0"), json!("1.0.0-rc.1")]),
        ("once", vec![json!("second"), json!("any"), json!("")]),
        (
            "counters",
            vec![
                json!([{"k": "a", "v": 50}]),
                json!([{"k": "a", "v": 49}, {"k": "b", "v": 49}, {"k": "c", "v": 2}]),
                json!([{"k": "a", "v": null}]),
            ],
        ),
        ("limits", vec![json!({}), json!({"x": 1}), json!({"l": 10}), json!({"l": null}), json!({"l": -1})]),
        (
            "pair",
            vec![
                json!({"low": 3}),
                json!({"low": 3, "high": 3}),
                json!({"low": 5, "high": 9}),
                json!({"low": 1, "high": null}),
                json!({}),
            ],
        ),
    ]
}
