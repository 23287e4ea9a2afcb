//! A CRD with everything that a stranger's may have and ours do not.

use kube::Client;
use serde_json::{Map, Value, json};

use super::differential::Server;
use super::install;
use super::mutate::{Numbers, mutate};
use super::rules;

fn crd() -> Value {
    let mut spec = json!({
        "type": "object",
        "properties": {
            "open": {"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {
                "known": {"type": "object", "properties": {"a": {"type": "string"}}},
            }},
            "labels": {"type": "object", "additionalProperties": {"type": "string", "maxLength": 3}, "maxProperties": 2},
            "nested": {"type": "object", "additionalProperties": {"type": "object", "properties": {"a": {"type": "integer"}}}},
            "anything": {"type": "object", "additionalProperties": true},
            "level": {"type": "integer", "minimum": 1, "maximum": 10, "exclusiveMaximum": true, "multipleOf": 2, "default": 4},
            "ratio": {"type": "number", "minimum": 0, "exclusiveMinimum": true, "maximum": 1},
            "small": {"type": "integer", "format": "int32"},
            "maybe": {"type": "string", "nullable": true, "enum": ["a", "b"]},
            "defaulted": {"type": "object", "default": {}, "properties": {
                "inner": {"type": "string", "default": "x"}, "other": {"type": "string"},
            }},
            "list": {"type": "array", "items": {"type": "object", "required": ["k"], "properties": {
                "k": {"type": "string"}, "z": {"type": "integer", "default": 1}, "v": {"type": "string"},
            }}, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k", "z"]},
            "set": {"type": "array", "items": {"type": "integer"}, "x-kubernetes-list-type": "set", "minItems": 1, "maxItems": 3},
            "digits": {"type": "string", "pattern": r"^\d+[[:alpha:]\w-]*$"},
            "brackets": {"type": "string", "pattern": r"^[]\[&&~~a]+$"},
            "angles": {"type": "string", "pattern": r"^\<\w+\>\/[\-\D]?$"},
            "id": {"type": "string", "format": "uuid4"},
            "day": {"type": "string", "format": "date"},
            "bytes": {"type": "string", "format": "byte"},
            "address": {"type": "string", "format": "ipv6"},
            "short": {"type": "string", "format": "k8s-short-name"},
            "unknownFormat": {"type": "string", "format": "moon"},
            "union": {
                "type": "object",
                "properties": {"a": {"type": "string"}, "b": {"type": "string"}, "c": {"type": "string"}},
                "oneOf": [{"required": ["a"]}, {"required": ["b"]}],
                "not": {"required": ["c"]},
            },
            "either": {"type": "integer", "anyOf": [{"minimum": 10}, {"maximum": 1}], "allOf": [{"not": {"enum": [0]}}]},
            "namespace": {"type": "string", "maxLength": 10},
            "with-dash": {"type": "string", "maxLength": 10},
            "ruled": {
                "type": "array", "maxItems": 5,
                "items": {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}, "x-kubernetes-validations": [
                    {"rule": "self.n != 3", "message": "n must not be 3"},
                ]},
                "x-kubernetes-validations": [{"rule": "self.all(x, x.n < 5) && size(self) != 2"}],
            },
            "template": {"type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true},
        },
        "x-kubernetes-validations": [
            {"rule": "!has(self.__namespace__) || self.__namespace__ != 'kube-system'"},
            {"rule": "!has(self.with__dash__dash) || self.with__dash__dash.startsWith('a')"},
            {"rule": "!has(self.ratio) || self.ratio <= 0.9"},
            {"rule": "self.level == oldSelf.level || true"},
        ],
    });
    spec["properties"].as_object_mut().unwrap().extend(object(&rules::properties()));
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "animals.zoo.example.com"},
        "spec": {
            "group": "zoo.example.com",
            "names": {"kind": "Animal", "plural": "animals"},
            "scope": "Cluster",
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}},
            }],
        },
    })
}

fn object(value: &Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

fn animal() -> Value {
    let mut animal = json!({
        "open": {"x": {"y": [1, {"z": null}]}, "known": {"a": "b", "pruned": 1}},
        "labels": {"a": "b"},
        "nested": {"a": {"a": 1, "b": 2}, "n": {}},
        "anything": {"x": {"y": 1}, "list": [{"a": 1}], "s": "t"},
        "ratio": 0.5,
        "small": 7,
        "maybe": "a",
        "list": [{"k": "a"}, {"k": "a", "z": 2}, {"k": "b", "pruned": true}],
        "set": [1, 2],
        "digits": "12ab_",
        "brackets": "]&[~a",
        "angles": "<a>/",
        "id": "9e8e9d2c-5a37-4b2b-8a3e-0c5a1ad2e2bb",
        "day": "2024-02-29",
        "bytes": "YWJj",
        "address": "fe80::1",
        "short": "a-b",
        "unknownFormat": "full",
        "union": {"a": "x"},
        "either": 11,
        "namespace": "default",
        "with-dash": "abc",
        "ruled": [{"n": 1}, {"n": 2}, {"n": 4}],
    });
    animal.as_object_mut().unwrap().extend(object(&rules::values()));
    animal
}

pub(crate) async fn agree(client: &Client) {
    let crd = crd();
    install(client, &crd).await;
    let mut server = Server::new(client, &crd);
    assert_eq!(
        server.unchecked(),
        [
            "spec.template: the metadata of embedded objects is not checked",
            "spec.wait: strings of the format `duration` are not checked",
        ],
        "and nothing else is left to the server"
    );
    server.spec(&animal()).await;
    for (field, values) in all_cases() {
        for value in values {
            let mut spec = animal();
            spec[field] = value;
            server.spec(&spec).await;
        }
    }
    for seed in 0..300 {
        let mut spec = animal();
        mutate(&mut spec, &mut Numbers::new(seed));
        server.spec(&spec).await;
    }
    let stored = server.create("stays", &animal()).await;
    for (field, values) in all_cases().chain(rules::changes()) {
        for value in values {
            let mut spec = animal();
            spec[field] = value;
            server.update(&stored, &spec).await;
        }
    }
    for seed in 300..600 {
        let mut spec = animal();
        mutate(&mut spec, &mut Numbers::new(seed));
        server.update(&stored, &spec).await;
    }
    assert_eq!(server.disagreements, [] as [String; 0]);
    assert!(server.accepted > 50 && server.refused > 100, "{} and {}", server.accepted, server.refused);
}

fn all_cases() -> impl Iterator<Item = (&'static str, Vec<Value>)> {
    cases().into_iter().chain(rules::cases())
}

fn cases() -> Vec<(&'static str, Vec<Value>)> {
    vec![
        ("labels", vec![json!({"a": null}), json!({"a": "long"}), json!({"a": "", "b": "", "c": ""}), json!(null)]),
        ("nested", vec![json!({"a": null}), json!({"a": {"a": null}}), json!({"a": 1})]),
        ("anything", vec![json!({"a": null}), json!({"a": [[{"b": 1}], null]})]),
        ("level", vec![json!(null), json!(0), json!(3), json!(10), json!(8), json!(2.0), json!("2")]),
        ("ratio", vec![json!(0), json!(1), json!(0.95), json!(1e-9)]),
        ("small", vec![json!(4_000_000_000_i64), json!(-1), json!(1.0)]),
        ("maybe", vec![json!(null), json!("c"), json!("")]),
        ("defaulted", vec![json!(null), json!({"inner": null}), json!({"inner": "y", "x": 1}), json!(1)]),
        (
            "list",
            vec![
                json!([{"k": "a"}, {"k": "a", "z": 1}]),
                json!([{"k": "a"}, {"k": "a"}]),
                json!([{"z": 1}]),
                json!([null]),
                json!([1]),
                json!([{"k": null}]),
                json!([{"k": "a", "z": null}, {"k": "a", "z": 2}]),
            ],
        ),
        (
            "set",
            vec![json!([]), json!([1, 1]), json!([1, 1.0]), json!([1, 2, 3, 4]), json!([null]), json!([null, null])],
        ),
        ("digits", vec![json!("١"), json!("1é"), json!("1-"), json!("a"), json!("1\n")]),
        ("angles", vec![json!("<é>/"), json!("<a>/-"), json!("<a>/1"), json!("<a>/١"), json!("a/")]),
        ("brackets", vec![json!("b"), json!("[]"), json!("")]),
        (
            "id",
            vec![json!("9E8E9D2C5A374B2B8A3E0C5A1AD2E2BB"), json!("9e8e9d2c-5a37-1b2b-8a3e-0c5a1ad2e2bb"), json!("")],
        ),
        ("day", vec![json!("2023-02-29"), json!("2024-1-1"), json!("2024-12-31T"), json!([])]),
        ("bytes", vec![json!(""), json!("YW=="), json!("YWJ"), json!("YW-_")]),
        ("address", vec![json!("1.2.3.4"), json!("::ffff:1.2.3.4"), json!("::1%eth0"), json!("fe80::1::")]),
        ("short", vec![json!("A"), json!("a."), json!("a".repeat(64)), json!("-a")]),
        ("union", vec![json!({"a": "x", "b": "y"}), json!({}), json!({"b": "y", "c": "z"}), json!({"c": "z"})]),
        ("either", vec![json!(0), json!(1), json!(5), json!(-3)]),
        ("namespace", vec![json!("kube-system"), json!("a"), json!("äöüäöüäöüä")]),
        ("with-dash", vec![json!("b"), json!("a")]),
        ("ruled", vec![json!([{"n": 3}]), json!([{"n": 1}, {"n": 2}]), json!([]), json!([{"n": 6}]), json!(null)]),
        ("open", vec![json!({"known": {"b": 1}}), json!({"known": null, "x": null}), json!([])]),
        (
            "template",
            vec![
                json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {"x": [{}]}}),
                json!({"spec": 1}),
            ],
        ),
    ]
}
