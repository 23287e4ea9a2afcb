//! No input makes the linter panic or slow.

use clearway_yaml::{Source, Tape};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::{Policy, Profile};
use super::*;

/// Values as they occur in conditions, right and wrong, and anything else.
fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(|truth| json!(truth)),
        (-3_i64..9).prop_map(|number| json!(number)),
        any::<f64>().prop_map(|number| json!(number)),
        prop::sample::select(vec![
            "True",
            "False",
            "Unknown",
            "",
            "Ready",
            "Succeeded",
            "Accepted",
            "Programmed",
            "Stalled",
            "Reconciling",
            "Pending",
            "1970-01-01T00:00:00Z",
            "2025-06-01T08:05:00Z",
            "2099-01-01T00:00:00Z",
            "example.com/Odd",
            "Info",
        ])
        .prop_map(|text| json!(text)),
        ".{0,8}".prop_map(|text| json!(text)),
    ];
    let keys = prop::sample::select(vec![
        "conditions",
        "type",
        "status",
        "reason",
        "message",
        "severity",
        "lastTransitionTime",
        "observedGeneration",
        "parents",
        "listeners",
        "ancestors",
        "name",
        "parentRef",
        "controllerName",
        "é",
    ]);
    leaf.prop_recursive(5, 96, 8, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::Array),
            prop::collection::vec((keys.clone(), inner), 0..8).prop_map(|fields| Value::Object(
                fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
            )),
        ]
    })
}

fn any_object() -> impl Strategy<Value = Value> {
    let kinds = prop::sample::select(vec![
        ("example.com/v1", "Database"),
        ("gateway.networking.k8s.io/v1", "Gateway"),
        ("gateway.networking.k8s.io/v1", "HTTPRoute"),
        ("serving.knative.dev/v1", "Service"),
        ("source.toolkit.fluxcd.io/v1", "GitRepository"),
        ("config.openshift.io/v1", "ClusterOperator"),
        ("v1", "Node"),
    ]);
    (kinds, any_value(), any_value(), any::<Option<i8>>()).prop_map(
        |((api_version, kind), status, managed, generation)| {
            json!({
                "apiVersion": api_version, "kind": kind, "status": status,
                "metadata": {"name": "a", "generation": generation, "creationTimestamp": "2025-06-01T08:00:00Z",
                             "managedFields": managed},
            })
        },
    )
}

fn any_definition() -> impl Strategy<Value = Value> {
    let keys = prop::sample::select(vec![
        "properties",
        "items",
        "conditions",
        "status",
        "type",
        "x-kubernetes-list-type",
        "x-kubernetes-list-map-keys",
        "schema",
        "openAPIV3Schema",
        "versions",
        "subresources",
        "enum",
        "additionalProperties",
    ]);
    let leaf = prop_oneof![Just(json!("array")), Just(json!("map")), Just(json!(["type"])), Just(json!(null))];
    leaf.prop_recursive(8, 96, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::Array),
            prop::collection::vec((keys.clone(), inner), 0..6).prop_map(|fields| Value::Object(
                fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
            )),
        ]
    })
    .prop_map(|schema| {
        json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "a"},
            "spec": {"group": "example.com", "versions": [{"name": "v1", "schema": {"openAPIV3Schema": {"properties": {
                "status": schema}}}}]},
        })
    })
}

fn profiles() -> impl Iterator<Item = Policy> {
    [None].into_iter().chain(Profile::ALL.map(Some)).map(|profile| Policy { profile, ..policy() })
}

proptest! {
    #[test]
    fn no_status_makes_the_linter_panic_and_every_finding_is_documented(value in any_object()) {
        let tape = Tape::from_json(&value);
        let object = Object::new(tape.root().unwrap(), Source::default(), None).unwrap();
        for policy in profiles() {
            let (mut once, mut twice) = (Vec::new(), Vec::new());
            lint(&object, &policy, &mut once);
            lint(&object, &policy, &mut twice);
            prop_assert_eq!(&once, &twice);
            for finding in &once {
                prop_assert!(super::super::rule(&finding.code).is_some_and(|rule| finding.severity <= rule.severity));
            }
        }
    }

    #[test]
    fn no_definition_makes_the_linter_panic(value in any_definition()) {
        let tape = Tape::from_json(&value);
        let object = Object::new(tape.root().unwrap(), Source::default(), None).unwrap();
        lint(&object, &policy(), &mut Vec::new());
    }

    #[test]
    fn no_sequence_makes_the_history_panic(values in prop::collection::vec(any_object(), 1..6)) {
        for policy in profiles() {
            let (mut history, mut findings) = (History::new(), Vec::new());
            for value in &values {
                let tape = Tape::from_json(value);
                history.push(&Object::new(tape.root().unwrap(), Source::default(), None).unwrap(), &policy, &mut findings);
            }
        }
    }
}

#[test]
fn a_list_of_a_hundred_thousand_conditions_is_read_in_a_moment() {
    let list: Vec<Value> = (0..100_000)
        .map(|number| {
            json!({"type": format!("Part{}Done", number / 2), "status": "True", "reason": "Done", "message": "",
                   "lastTransitionTime": "2025-06-01T08:05:00Z"})
        })
        .collect();
    let value = json!({"apiVersion": "example.com/v1", "kind": "Database", "metadata": {"name": "a"},
                       "status": {"conditions": list}});
    let tape = Tape::from_json(&value);
    let object = Object::new(tape.root().unwrap(), Source::default(), None).unwrap();
    let mut findings = Vec::new();
    lint(&object, &policy(), &mut findings);
    assert_eq!(findings.iter().filter(|one| one.code == "SC001").count(), 50_000);
    History::new().push(&object, &policy(), &mut findings);
}
