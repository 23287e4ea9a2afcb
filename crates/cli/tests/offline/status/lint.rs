//! `clearway status lint`: the findings, in every format, and how it ends.

use clearway_core::Limits;
use clearway_yaml::{ReadEvent, read};
use serde_json::Value;
use snapbox::{assert_data_eq, file};

use crate::{FINE, MORNING, Place, WIDGET};

fn samples(place: &Place, format: &str) -> crate::Answer {
    place.run(&["status", "lint", "-f", "samples", "--now", MORNING, "-o", format])
}

#[test]
fn the_samples_for_a_person() {
    let answer = samples(&Place::with_samples(), "table");
    assert_data_eq!(&answer.out, file!["../golden/lint.txt"].raw());
    let counted = "1 finding below warning counted only; --severity info shows all\n";
    assert_eq!(answer.err, format!("7 objects checked: 4 errors, 0 warnings, 1 note\n{counted}"));
    assert_eq!(answer.code, 1);
}

#[test]
fn the_samples_as_json() {
    let answer = samples(&Place::with_samples(), "json");
    assert_data_eq!(&answer.out, file!["../golden/lint.json": Text].raw());
    assert_eq!((answer.json().as_array().unwrap().len(), answer.code), (5, 1));
}

#[test]
fn yaml_says_the_same_as_json() {
    let place = Place::with_samples();
    let yaml = samples(&place, "yaml");
    let mut items: Vec<Value> = Vec::new();
    read(yaml.out.as_bytes(), "-", &Limits::default(), |found| match found {
        ReadEvent::Object { root, .. } => items.push(root.to_json()),
        ReadEvent::Problem(problem) => panic!("{problem:?}"),
    });
    assert_eq!((Value::Array(items), yaml.code), (samples(&place, "json").json(), 1));
}

#[test]
fn sarif_has_what_code_hosting_needs() {
    let place = Place::with_samples();
    place.write("samples/broken.yaml", "kind: [unclosed\n");
    let answer = place.run(&["status", "lint", "-f", "./samples", "-f", "nope.yaml", "--now", MORNING, "-o", "sarif"]);
    assert_eq!(answer.code, 3);
    let log = answer.json();
    assert_eq!(log["version"], "2.1.0");
    assert!(log["$schema"].as_str().unwrap().contains("sarif-2.1.0"));
    assert_eq!(log["runs"].as_array().unwrap().len(), 1);
    let driver = &log["runs"][0]["tool"]["driver"];
    assert_eq!(driver["name"], "clearway");
    assert_eq!(driver["semanticVersion"], env!("CARGO_PKG_VERSION"));
    let rules = driver["rules"].as_array().unwrap();
    assert_eq!(rules.len(), 29);
    for rule in rules {
        let short = |key: &str| rule[key]["text"].as_str().is_some_and(|text| (1..=1_024).contains(&text.len()));
        assert!(short("shortDescription") && short("fullDescription"), "{rule}");
        assert!(rule["help"]["text"].is_string() && rule["help"]["markdown"].is_string(), "{rule}");
    }
    let results = log["runs"][0]["results"].as_array().unwrap();
    assert_eq!(results.len(), 7);
    for result in results {
        assert!(result["ruleId"].is_string() && result["message"]["text"].is_string(), "{result}");
        assert!(["error", "warning", "note"].contains(&result["level"].as_str().unwrap()), "{result}");
        let physical = &result["locations"][0]["physicalLocation"];
        let uri = physical["artifactLocation"]["uri"].as_str().unwrap();
        assert!(uri.starts_with("samples/") || uri == "nope.yaml", "{uri}");
        let region = &physical["region"];
        assert!(region["startLine"].as_u64() >= Some(1) && region["startColumn"].as_u64() >= Some(1), "{result}");
    }
    let maybe = place.run_with(WIDGET, &["status", "lint", "-f", "-", "-o", "sarif"]).json();
    let region = &maybe["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["region"];
    assert_eq!(*region, serde_json::json!({"startLine": 6, "startColumn": 27, "endLine": 6, "endColumn": 34}));
}

#[test]
fn what_is_clean_is_one_line_and_a_yes() {
    let place = Place::new();
    place.write("fine.yaml", FINE);
    for (format, out) in [("table", ""), ("json", "[]\n"), ("yaml", "[]\n")] {
        let answer = place.run(&["status", "lint", "-f", "fine.yaml", "-o", format]);
        assert_eq!((answer.code, answer.out.as_str()), (0, out), "{format}");
        assert_eq!(answer.err, "1 object checked: 0 errors, 0 warnings, 0 notes\n");
    }
    let log = place.run(&["status", "lint", "-f", "fine.yaml", "-o", "sarif"]);
    assert_eq!((log.code, &log.json()["runs"][0]["results"]), (0, &serde_json::json!([])));
}

#[test]
fn the_present_may_be_given() {
    let place = Place::new();
    place.write("w.yaml", WIDGET.replace("maybe", "True"));
    let lint = |now: &str| place.run(&["status", "lint", "-o", "json", "-f", "w.yaml", "--now", now]);
    let later = lint("2026-02-01T00:00:00Z");
    assert_eq!((later.places(), later.code), (Vec::new(), 0));
    let before = lint("2025-12-01T00:00:00Z");
    assert_eq!((before.places(), before.code), (vec!["SC005 w.yaml:6:78".to_owned()], 1));
    let answer = place.run(&["status", "lint", "-f", "w.yaml", "--now", "yesterday"]);
    assert_eq!((answer.code, answer.out.as_str()), (3, ""));
    assert!(answer.err.contains("`yesterday` is not an RFC 3339 time such as "), "{answer:?}");
}

#[test]
fn the_profile_may_be_given() {
    let place = Place::with_samples();
    let lint = |profile: &str| {
        let options = ["-o", "wide", "--severity", "info", "--profile", profile];
        let answer = place.run(&[&["status", "lint", "-f", "samples", "--now", MORNING][..], &options].concat());
        assert_eq!(answer.code, 1, "{answer:?}");
        answer.out
    };
    for profile in ["metav1", "knative", "gateway", "kstatus", "openshift", "native"] {
        let report = lint(profile);
        let notes = report.lines().filter(|line| line.contains("= note: profile "));
        assert!(notes.clone().all(|line| line.contains(&format!("profile {profile};"))), "{report}");
        assert!(notes.count() > 0);
    }
    assert!(lint("knative").contains("SC011") && !lint("gateway").contains("SC011"));

    let answer = place.run(&["status", "lint", "-f", "samples", "--profile", "istio"]);
    assert_eq!((answer.code, answer.out.as_str()), (3, ""));
    let all = "auto, metav1, knative, gateway, kstatus, openshift, native";
    assert!(answer.err.contains("'istio'") && answer.err.contains(all), "{answer:?}");
}

#[test]
fn the_same_input_gives_the_same_bytes() {
    let place = Place::with_samples();
    for format in ["table", "json", "yaml", "sarif"] {
        assert_eq!(samples(&place, format), samples(&place, format));
    }
}
