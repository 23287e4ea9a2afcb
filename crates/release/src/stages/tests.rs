use super::*;
use clearway_core::{ObjectReference, Position};
use proptest::prelude::*;
use serde_json::{Value, json};

fn manifest(file: &str, index: usize, object: &Value) -> Manifest {
    let named = super::super::name::read(file).unwrap();
    let reference = ObjectReference::of(object).unwrap();
    let (id, version) = (reference.id(), reference.kind.version);
    let position = Position { line: 1, column: 1 };
    let (run_level, component) = (named.run_level, named.component);
    Manifest { file: file.to_owned(), run_level, component, index, position, id, version, object: object.clone() }
}

fn config(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "n"}})
}

fn namespace(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
}

fn definition(kind: &str) -> Value {
    let plural = kind.to_lowercase() + "s";
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.example.com")},
        "spec": {"group": "example.com", "names": {"kind": kind, "plural": plural}, "versions": [{"name": "v1"}]}})
}

fn custom(kind: &str, name: &str) -> Value {
    json!({"apiVersion": "example.com/v1", "kind": kind, "metadata": {"name": name}})
}

fn deleted(mut object: Value) -> Value {
    object["metadata"]["annotations"] = json!({"release.openshift.io/delete": "true"});
    object
}

/// Each stage as `level part: component(a, b) component(c)`.
fn told(manifests: &[Manifest]) -> Vec<String> {
    stages(manifests)
        .iter()
        .map(|stage| {
            let lanes: Vec<String> = stage
                .lanes
                .iter()
                .map(|lane| {
                    let names: Vec<&str> = lane.manifests.iter().map(|one| one.id.name.as_str()).collect();
                    format!("{}({})", lane.component, names.join(", "))
                })
                .collect();
            format!("{} {:?}: {}", stage.run_level, stage.part, lanes.join(" "))
        })
        .collect()
}

fn sample() -> Vec<Manifest> {
    vec![
        manifest("0000_50_b_02.yaml", 0, &custom("Widget", "w")),
        manifest("0000_50_b_01.yaml", 1, &config("second")),
        manifest("0000_50_b_01.yaml", 0, &config("first")),
        manifest("0000_50_a_01.yaml", 0, &config("beside")),
        manifest("0000_50_z_crd.yaml", 0, &definition("Widget")),
        manifest("0000_10_core_ns.yaml", 0, &namespace("n")),
        manifest("0000_90_late_01.yaml", 0, &config("last")),
        manifest("plain.yaml", 0, &config("alone")),
    ]
}

#[test]
fn levels_then_foundations_then_components_side_by_side() {
    assert_eq!(
        told(&sample()),
        [
            "10 Foundations: core(n)",
            "50 Foundations: z(widgets.example.com)",
            "50 Components: a(beside) b(first, second, w) plain(alone)",
            "90 Components: late(last)",
        ]
    );
    let manifests = sample();
    let stages = stages(&manifests);
    let widget = GroupKind { group: "example.com".to_owned(), kind: "Widget".to_owned() };
    assert_eq!(stages[1].defines.iter().map(|one| &one.kind).collect::<Vec<_>>(), [&widget]);
    assert_eq!(stages[1].defines[0].versions, ["v1"]);
    assert_eq!(stages.iter().map(|stage| stage.needs.len()).collect::<Vec<_>>(), [0, 0, 1, 0]);
    assert!(stages[2].needs.contains(&widget));
}

#[test]
fn what_something_needs_comes_no_later_than_it() {
    let manifests = [
        manifest("0000_20_a_01.yaml", 0, &custom("Widget", "w")),
        manifest("0000_30_a_01.yaml", 0, &config("c")),
        manifest("0000_80_b_crd.yaml", 0, &definition("Widget")),
        manifest("0000_80_b_crd.yaml", 1, &definition("Other")),
        manifest("0000_90_b_ns.yaml", 0, &namespace("n")),
    ];
    assert_eq!(
        told(&manifests),
        [
            "20 Foundations: b(widgets.example.com)",
            "20 Components: a(w)",
            "30 Foundations: b(n)",
            "30 Components: a(c)",
            "80 Foundations: b(others.example.com)",
        ]
    );
}

#[test]
fn what_is_deleted_is_no_foundation_and_needs_none() {
    let manifests = [
        manifest("0000_20_a_01.yaml", 0, &deleted(custom("Widget", "w"))),
        manifest("0000_50_a_02.yaml", 0, &deleted(definition("Widget"))),
        manifest("0000_50_a_01.yaml", 0, &deleted(namespace("n"))),
    ];
    assert_eq!(told(&manifests), ["20 Components: a(w)", "50 Components: a(n, widgets.example.com)"]);
    assert!(stages(&manifests).iter().all(|stage| stage.defines.is_empty() && stage.needs.is_empty()));
}

proptest! {
    #[test]
    fn the_order_does_not_depend_on_the_order_of_files(order in Just((0..8_usize).collect::<Vec<_>>()).prop_shuffle()) {
        let all = sample();
        let shuffled: Vec<Manifest> = order.iter().map(|place| all[*place].clone()).collect();
        prop_assert_eq!(told(&shuffled), told(&all));
    }
}
