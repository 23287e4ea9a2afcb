//! `clearway status show` on files.

use serde_json::Value;
use snapbox::{assert_data_eq, file};

use crate::{FINE, MORNING, Place, WIDGET};

fn show(place: &Place, file: &str, more: &[&str]) -> crate::Answer {
    place.run(&[&["status", "show", "-f", file, "--now", MORNING], more].concat())
}

#[test]
fn the_samples_as_table_tree_and_data() {
    let place = Place::with_samples();
    let table = show(&place, "samples", &[]);
    assert_data_eq!(&table.out, file!["../golden/show.txt"].raw());
    assert_eq!((table.err.as_str(), table.code), ("7 objects: 2 Current, 2 InProgress, 3 Failed\n", 1));
    let tree = show(&place, "samples", &["--tree"]);
    assert_data_eq!(&tree.out, file!["../golden/tree.txt"].raw());
    assert_eq!((tree.err, tree.code), (table.err, 1));
    let data = show(&place, "samples", &["-o", "json"]);
    assert_data_eq!(&data.out, file!["../golden/show.json": Text].raw());
    assert_eq!((data.err.as_str(), data.code), ("", 1));
    let tree = show(&place, "samples", &["--tree", "-o", "json"]);
    assert_data_eq!(&tree.out, file!["../golden/tree.json": Text].raw());
    assert_eq!(show(&place, "samples", &["--tree", "-o", "yaml"]).code, 1);
}

#[test]
fn every_object_is_told_by_the_same_fields() {
    let place = Place::with_samples();
    let data = show(&place, "samples", &["-o", "json"]).json();
    for object in data.as_array().unwrap() {
        for key in ["state", "reason", "message", "basis"] {
            assert!(object[key].is_string(), "{key}: {object}");
        }
        assert!(object["proven"].is_boolean(), "{object}");
        for key in ["group", "kind", "namespace", "name"] {
            assert!(object["object"][key].is_string(), "{key}: {object}");
        }
        assert!(matches!(object["since"], Value::Null | Value::String(_)), "{object}");
    }
}

#[test]
fn the_exit_code_is_the_answer() {
    let place = Place::with_samples();
    place.write("fine.yaml", FINE);
    place.write("w.yaml", WIDGET);
    place.write("bad.yaml", "kind: [unclosed\n");
    assert_eq!(show(&place, "fine.yaml", &[]).code, 0);
    assert_eq!(show(&place, "samples/shop.yaml", &[]).code, 1);
    assert_eq!(show(&place, "w.yaml", &[]).code, 2);
    let bad = show(&place, "bad.yaml", &["-f", "fine.yaml"]);
    assert_eq!(bad.code, 3);
    assert!(bad.out.contains("ConfigMap fine") && bad.err.contains("--> bad.yaml:1:7\n"), "{bad:?}");
}

#[test]
fn conditions_that_are_not_a_list_are_told_of() {
    let place = Place::new();
    place.write("w.yaml", "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w}\nstatus: {conditions: 3}\n");
    let answer = show(&place, "w.yaml", &[]);
    assert!(
        answer.err.contains("warning[SC000]: `conditions` is a number, not a list\n --> w.yaml:4:22\n"),
        "{answer:?}"
    );
    assert!(answer.out.contains("(unproven)"), "{answer:?}");
}

#[test]
fn foreign_text_stays_on_its_line() {
    let place = Place::new();
    place.write("w.yaml", WIDGET.replace("message: m", "message: \"one\\ntwo \\e[31mred\""));
    let answer = show(&place, "w.yaml", &[]);
    assert_eq!(answer.out.lines().count(), 2, "{answer:?}");
    assert!(!answer.out.contains('\u{1b}'));
}

#[test]
fn nothing_named_is_bad_usage_and_no_question_of_clusters() {
    let place = Place::new();
    for verb in ["show", "lint", "wait"] {
        let answer = place.run(&["status", verb]);
        assert_eq!((answer.code, answer.out.as_str()), (3, ""));
        assert_eq!(answer.err, "error: no objects selected: pass a KIND, KIND/NAME, or files with -f; see --help\n");
    }
    let answer = place.run(&["status", "show", "deploy"]);
    assert_eq!(answer.code, 3);
    assert!(answer.err.starts_with("error: no cluster configured") && answer.err.contains("-f"), "{answer:?}");
}

/// A release that is half applied is not Current, whatever else its object says; one that fails has failed (K3).
#[test]
fn an_object_whose_release_is_half_applied_is_not_current() {
    let place = Place::new();
    for (kind, status, reason, want, code) in [
        ("config.openshift.io/v1, kind: ClusterVersion", "Unknown", "Updating", "InProgress", 2),
        ("config.openshift.io/v1, kind: ClusterVersion", "\"False\"", "TakesTooLong", "Failed", 1),
        ("clearway.dev/v1alpha1, kind: ComponentVersion", "\"False\"", "PodsFailed", "Failed", 1),
        ("clearway.dev/v1alpha1, kind: ComponentVersion", "\"True\"", "AsExpected", "Current", 0),
    ] {
        let condition = |name: &str, status: &str| {
            format!(
                "{{type: {name}, status: {status}, reason: {reason}, message: it says, lastTransitionTime: {MORNING}}}"
            )
        };
        let conditions = [
            condition("Ready", status),
            condition("Available", "\"True\""),
            condition("clearway.dev/ReleaseApplied", status),
        ];
        let object = format!(
            "{{apiVersion: {kind}, metadata: {{name: version, generation: 1}}, status: {{observedGeneration: 1, conditions: [{}]}}}}",
            conditions.join(", ")
        );
        place.write("object.yaml", &object);
        let shown = show(&place, "object.yaml", &["-o", "json"]);
        assert_eq!((shown.code, &shown.json()[0]["state"]), (code, &Value::from(want)), "{object}");
    }
}
