use super::*;
use proptest::prelude::*;
use serde_json::json;

use crate::{Payload, Selection, digest};

fn metadata() -> Metadata {
    let version = "1.2.3".parse().unwrap();
    Metadata { version, previous: vec!["1.2.2".to_owned()], next: Vec::new(), metadata: [].into() }
}

fn packed(files: &[(&str, &str)]) -> Result<Packed, Vec<Diagnostic>> {
    let streams = files.iter().map(|(name, text)| ((*name).to_owned(), text.as_bytes()));
    pack(streams, &metadata(), "main", &ReleaseLimits::default())
}

/// The objects of a release.
fn objects(files: &Files) -> Vec<Value> {
    let payload = Payload::read(files, digest(files), &Selection::default(), &ReleaseLimits::default()).unwrap();
    assert_eq!(payload.metadata, metadata());
    payload.manifests.into_iter().map(|manifest| manifest.object).collect()
}

#[test]
fn names_say_what_is_in_a_file_and_where_it_belongs() {
    let several = "\
{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: shop}}
---
{apiVersion: v1, kind: ServiceAccount, metadata: {name: web, namespace: shop}}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: 'Shop:Reader'}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: shop, annotations: {clearway.dev/run-level: '5'}}}
---
{apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: Service, metadata: {name: web, namespace: shop,
  annotations: {clearway.dev/component: front-end}}}]}
";
    let placed = "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}";
    let packed = packed(&[("several.yaml", several), ("dir/0000_30_core_c.yaml", placed)]).unwrap();
    let names: Vec<&str> = packed.files.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        [
            "0000_05_main_00-namespace_shop.yaml",
            "0000_30_core_21-configmap_c.yaml",
            "0000_50_front-end_40-service_shop_web.yaml",
            "0000_50_main_20-serviceaccount_shop_web.yaml",
            "0000_50_main_30-clusterrole.rbac.authorization.k8s.io_shop-reader-af9a89ba.yaml",
            "0000_50_main_50-deployment.apps_shop_web.yaml",
            "release-metadata",
        ]
    );
    assert_eq!(packed.objects, 6);
    assert_eq!(
        packed.files["0000_30_core_21-configmap_c.yaml"],
        b"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c\n"
    );
}

#[test]
fn what_cannot_be_packed_is_said_by_place() {
    let object = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n";
    let with = |annotation: &str| format!("{object}  annotations: {{{annotation}}}\n");
    for (files, want) in [
        (
            vec![("a.yaml", object.to_owned()), ("b.yaml", object.to_owned())],
            "b.yaml:1:1 ConfigMap a occurs twice: also in a.yaml:1:1",
        ),
        (
            vec![("a.yaml", with("clearway.dev/run-level: '100'"))],
            "a.yaml:1:1 ConfigMap a: the annotation clearway.dev/run-level is `100`",
        ),
        (vec![("a.yaml", with("clearway.dev/run-level: first"))], "must be a number from 0 to 99"),
        (vec![("a.yaml", with("clearway.dev/component: a_b"))], "`a_b` is not a valid component"),
        (vec![("a.yaml", with("clearway.dev/component: 7"))], "a.yaml:5:41 metadata.annotations"),
        (vec![("a.yaml", "kind: X".to_owned())], "a.yaml:1:1 the object has no apiVersion"),
        (vec![("a.yaml", "# nothing\n".to_owned())], "there are no objects to pack"),
        (vec![], "there are no objects to pack"),
    ] {
        let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (*name, text.as_str())).collect();
        let problems = packed(&files).unwrap_err();
        let place = problems[0].place.position.map(|at| format!(":{}:{}", at.line, at.column)).unwrap_or_default();
        let said = format!("{}{place} {}", problems[0].place.file.as_deref().unwrap_or_default(), problems[0].message);
        assert!(said.contains(want), "{want}: {said}");
    }
}

#[test]
fn two_names_that_look_alike_are_two_files() {
    let long = "x".repeat(250);
    let text = format!(
        "{{apiVersion: v1, kind: C, metadata: {{name: 'a:b'}}}}\n---\n{{apiVersion: v1, kind: C, metadata: {{name: 'a;b'}}}}\n---\n\
         {{apiVersion: v1, kind: C, metadata: {{name: {long}1}}}}\n---\n{{apiVersion: v1, kind: C, metadata: {{name: {long}2}}}}\n---\n\
         {{apiVersion: v1, kind: CC, metadata: {{name: d}}}}\n---\n{{apiVersion: v1, kind: Cc, metadata: {{name: d}}}}\n"
    );
    let packed = packed(&[("a.yaml", &text)]).unwrap();
    assert_eq!(packed.files.len(), 7);
    assert!(packed.files.keys().all(|name| name.len() <= 255));
    assert_eq!(objects(&packed.files).len(), 6);
}

/// Text that readers of YAML like to take for something else.
fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("yes".to_owned()),
        Just("0777".to_owned()),
        Just("1e3".to_owned()),
        Just("~".to_owned()),
        Just("<<".to_owned()),
        Just("2001-01-01".to_owned()),
        Just("- a".to_owned()),
        Just("a: b #c".to_owned()),
        Just("{{ x }}".to_owned()),
        Just(" a\n\n b\n".to_owned()),
        Just("---".to_owned()),
        ".{0,12}",
        "(?s).{0,20}",
    ]
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(|truth| json!(truth)),
        any::<i64>().prop_map(|number| json!(number)),
        any::<u64>().prop_map(|number| json!(number)),
        // Not whole ones: those are written as whole numbers, which is the same to an API server.
        (-1000_i32..1000).prop_map(|number| json!(f64::from(2 * number + 1) / 8.0)),
        any_text().prop_map(|text| json!(text)),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            prop::collection::btree_map(any_text(), inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn what_is_packed_is_read_again_whatever_the_order(
        specs in prop::collection::vec(any_value(), 1..6),
        order in Just((0..6_usize).collect::<Vec<_>>()).prop_shuffle(),
    ) {
        let all: Vec<Value> = (0..).zip(&specs).map(|(number, spec): (usize, _)| {
            json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": format!("w{number}")}, "spec": spec})
        }).collect();
        let text = |object: &Value| json(object);
        let one: Vec<(String, String)> = (0..).zip(&all).map(|(number, object): (usize, _)| (format!("{number}.json"), text(object))).collect();
        let one: Vec<(&str, &str)> = one.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
        let packed_one = packed(&one);
        prop_assert!(packed_one.is_ok(), "{:?}", packed_one);
        let packed_one = packed_one.unwrap();
        prop_assert_eq!(&objects(&packed_one.files), &all);
        // All in one stream, in another order.
        let stream: Vec<String> = order.iter().filter_map(|place| all.get(*place)).map(text).collect();
        let again = packed(&[("-", &stream.join("\n---\n"))]).unwrap();
        prop_assert_eq!(again, packed_one);
    }
}
