//! What both channels' CRDs keep, and what is left out for it.

use clearway_bundle::Channel;
use clearway_core::Timestamp;
use serde_json::{Value, json};

use super::*;
use crate::api::{Release, UpdateHistory, UpdateState, crds};

fn shape(channel: Channel) -> Shape {
    let crd =
        crds(channel).unwrap().into_iter().find(|crd| crd["metadata"]["name"] == Kind::ClusterVersion.crd()).unwrap();
    Shape::of_crd(&crd, Kind::ClusterVersion).unwrap()
}

fn rule(kind: &str) -> Value {
    match kind {
        "PromQL" => json!({"type": "PromQL", "promql": {"promql": "max(up)"}}),
        "Resource" => json!({"type": "Resource", "resource": {"kind": "Node"}}),
        other => json!({"type": other}),
    }
}

fn risk(name: &str, url: &str, rules: &[&str]) -> Value {
    let rules: Vec<Value> = rules.iter().map(|kind| rule(kind)).collect();
    json!({"name": name, "url": url, "message": "It is bad.", "matchingRules": rules})
}

/// A status with conditional updates to 1.0.0, 1.0.1 and so on, all of them recommended.
fn status(updates: &[Vec<Value>]) -> Status {
    let release = |at: usize| json!({"version": format!("1.0.{at}"), "image": format!("example.com/r@{at}")});
    let recommended = json!([{"type": "Recommended", "status": "True", "reason": "NotExposedToRisks", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}]);
    let conditional: Vec<Value> = updates
        .iter()
        .enumerate()
        .map(|(at, risks)| json!({"release": release(at), "risks": risks, "conditions": recommended}))
        .collect();
    let available: Vec<Value> = (0..updates.len()).map(release).collect();
    let value = json!({
        "desired": {"version": "1.0.0", "image": "example.com/r@0"}, "observedGeneration": 1, "versionHash": "",
        "availableUpdates": available, "conditionalUpdates": conditional,
    });
    let mut status = Status::read(&value).0.unwrap();
    status.history.push(UpdateHistory {
        state: UpdateState::Completed,
        started_time: Timestamp::EPOCH,
        completion_time: None,
        version: String::new(),
        image: "x".to_owned(),
        verified: false,
        accepted_risks: String::new(),
    });
    status
}

fn versions(status: &Status) -> (Vec<&str>, Vec<&str>) {
    let conditional = status.conditional_updates.iter().map(|update| update.release.version.as_str());
    (status.available_updates.iter().map(|release| release.version.as_str()).collect(), conditional.collect())
}

#[test]
fn what_a_crd_refuses_is_left_out_whole_and_named() {
    let good = vec![risk("Good", "https://example.com", &["PromQL"])];
    for (risks, what) in [
        (vec![risk("A", "https://example.com", &["Resource"])], "a risk has no rule that can be stored"),
        (vec![risk("A", "https://example.com", &[])], "matchingRules"),
        (vec![risk("A", "no url", &["Always"])], "url"),
        (vec![risk("", "https://example.com", &["Always"])], "name"),
        (
            vec![risk("A", "https://example.com", &["Always"]), risk("A", "https://example.com/2", &["Always"])],
            "risks[1]",
        ),
        (vec![], "risks"),
    ] {
        let mut status = status(&[good.clone(), risks.clone(), good.clone()]);
        let left_out = shape(Channel::Standard).remove_unstorable(&mut status);
        assert_eq!(versions(&status), (vec!["1.0.0", "1.0.2"], vec!["1.0.0", "1.0.2"]), "{risks:?}");
        assert_eq!(left_out.len(), 1, "{left_out:?}");
        assert!(left_out[0].starts_with("the update to 1.0.1: ") && left_out[0].contains(what), "{left_out:?}");
    }
}

#[test]
fn a_rule_that_cannot_be_stored_goes_alone_while_another_remains() {
    let mut standard = status(&[vec![risk("A", "https://example.com", &["Resource", "PromQL", "Unheard", "Always"])]]);
    assert_eq!(shape(Channel::Standard).remove_unstorable(&mut standard), Vec::<String>::new());
    let kinds = |status: &Status| -> Vec<String> {
        status.conditional_updates[0].risks[0].matching_rules.iter().map(|rule| rule.kind().to_owned()).collect()
    };
    assert_eq!(kinds(&standard), ["PromQL", "Always"], "U7");
    let mut many = status(&[vec![risk("A", "https://example.com", &["Resource", "Unheard", "Always"])]]);
    assert_eq!(shape(Channel::Standard).remove_unstorable(&mut many), Vec::<String>::new());
    assert_eq!(kinds(&many), ["Always"], "more of them go than stay");
}

/// U7: the experimental channel stores whatever a graph has, so nothing is left out and nothing is pruned.
#[test]
fn the_experimental_channel_keeps_every_rule() {
    let odd = json!({
        "name": "A", "url": "https://example.com", "message": "It is bad.",
        "matchingRules": [
            {"type": "Resource", "resource": {"kind": "Node"}},
            {"type": "PromQL", "promql": {"promql": "max(up)", "timeout": "1m"}},
            {"type": "PromQL", "promql": "not an object"},
            {"type": "Unheard", "unheard": {"of": [1, 2]}, "weight": 3},
        ],
    });
    let none = risk("B", "https://example.com", &[]);
    let before = status(&[vec![odd], vec![none], vec![risk("C", "https://example.com", &["Unheard"])]]);
    let mut after = before.clone();
    let shape = shape(Channel::Experimental);
    assert_eq!(shape.remove_unstorable(&mut after), Vec::<String>::new());
    assert_eq!(after, before);
    let whole = json!({"status": &before});
    assert_eq!(shape.schema.unwrap().pruned(&whole), whole);
}

#[test]
fn what_is_too_much_is_cut_from_its_oldest_end() {
    let one = vec![risk("A", "https://example.com", &["Always"])];
    let mut many = status(&vec![one; 520]);
    let left_out = shape(Channel::Standard).remove_unstorable(&mut many);
    assert_eq!((many.conditional_updates.len(), left_out.len()), (500, 20));
    let long = json!({"name": "A", "url": "https://example.com", "message": "x".repeat(100_000), "matchingRules": [{"type": "Always"}]});
    let mut large = status(&vec![vec![long]; 20]);
    let left_out = shape(Channel::Standard).remove_unstorable(&mut large);
    assert_eq!((large.conditional_updates.len(), left_out.len()), (10, 10));
    assert_eq!(left_out[0], "the update to 1.0.10: the status would have more than 1048576 bytes");
}

/// Also without a schema, and also what carries no risks: an update with a large image name is as large as any.
#[test]
fn a_status_is_never_larger_than_a_store_takes() {
    let mut available = status(&[]);
    available.available_updates = (0..2_000)
        .map(|at| Release { version: format!("1.0.{at}"), image: "x".repeat(6_000), ..Release::default() })
        .collect();
    let left_out = Shape::default().remove_unstorable(&mut available);
    assert!(serde_json::to_vec(&available).unwrap().len() <= 1 << 20);
    assert!((100..200).contains(&available.available_updates.len()));
    assert_eq!(left_out.len(), 21, "twenty are named");
    assert!(left_out[20].ends_with(" more updates"), "{left_out:?}");
}

#[test]
fn two_statuses_are_the_same_if_they_are_stored_the_same() {
    let status = serde_json::to_value(status(&[])).unwrap();
    let mut stored = status.clone();
    stored["conditions"] = json!([]);
    let standard = shape(Channel::Standard);
    assert!(!standard.same(&status, &stored));
    stored = status.clone();
    stored["colour"] = json!("red");
    assert!(standard.same(&status, &stored), "a field that is not kept makes no difference");
    assert!(!Shape::default().same(&status, &stored), "where all is kept it does");
}

/// An API server writes numbers in its own way; a status that differs from it in that would be written for ever.
#[test]
fn numbers_are_the_same_if_an_api_server_takes_them_for_the_same() {
    let with = |number: &str| -> Value { serde_json::from_str(&format!(r#"{{"x": [{{"y": {number}}}]}}"#)).unwrap() };
    for (sent, stored, same) in [
        ("25.0", "25", true),
        ("-0.0", "0", true),
        ("12345678901234567890", "12345678901234567000.0", true),
        ("1e3", "1000", true),
        ("25.5", "25", false),
        ("9007199254740992", "9007199254740992", true),
        ("\"25\"", "25", false),
        ("null", "0", false),
    ] {
        assert_eq!(Shape::default().same(&with(sent), &with(stored)), same, "{sent} {stored}");
    }
    assert!(!Shape::default().same(&json!([1, 2]), &json!([1])));
    assert!(!Shape::default().same(&json!({"a": 1}), &json!({"b": 1})));
}

/// The conditions may take what the lists were fitted beside.
#[test]
fn what_does_not_fit_beside_the_conditions_is_named() {
    let mut status = status(&[vec![risk("A", "https://example.com", &["Always"])]]);
    let named = Shape::remove_updates(&mut status).unwrap();
    assert_eq!(named, "all other updates: the status would have more than 1310720 bytes");
    assert_eq!(versions(&status), (vec![], vec![]));
    assert_eq!(Shape::remove_updates(&mut status), None);
}
