//! Proofs for people: every outcome in one tree, and what was wrong with the graph.

use std::time::Duration;

use crate::fixtures::{self, golden, now, objects, promql, risk, series, snapshot, version};
use clearway_advice::evidence::{Failure, FailureClass, Observation, Record, RecordedEvidence};
use clearway_advice::reproduce::HttpAccess;
use clearway_advice::{Plan, Settings, render};
use clearway_core::Limits;
use clearway_graph::wire;
use clearway_promql::Labels;
use clearway_promql::eval::{Sample, Value as Seen};
use serde_json::json;

#[test]
fn every_outcome_reads_well() {
    let condition = |name: &str| {
        json!({"type": "Condition", "condition": {
            "apiVersion": "config.openshift.io/v1", "kind": "ClusterOperator", "name": name, "type": "Degraded", "status": "True"}})
    };
    let rollout = json!({"type": "Rollout", "rollout": {"start": "2026-05-04T00:00:00Z", "duration": "3d"}});
    let risks = vec![
        risk("Staged", json!([rollout])),
        risk(
            "FallsThrough",
            json!([{"type": "Phase", "moon": "full"}, promql("max({a=\"b\"})"), condition("etcd"), {"type": "Always"}, promql("max(x)")]),
        ),
        risk("Later", json!([promql("max(later)"), {"type": "Always"}])),
        risk("Down", json!([promql("max(down)")])),
        risk("Old", json!([promql("max(old)")])),
        risk("Several", json!([promql("several")])),
        risk("Gone", json!([promql("max(gone)\nor\n0 * group(cluster_version)")])),
        risk("StaleStatus", json!([condition("storage")])),
        risk("NoRules", json!([])),
    ];
    let operator = |name: &str, seen: i64, status: &str| {
        json!({"apiVersion": "config.openshift.io/v1", "kind": "ClusterOperator", "metadata": {"name": name, "generation": 4},
            "status": {"conditions": [{"type": "Degraded", "status": status, "observedGeneration": seen}]}})
    };
    let url = "https://prometheus.example.com";
    let sample = |name: &str, value: f64| Sample { labels: Labels::new([("pod".to_owned(), name.to_owned())]), value };
    let seen = |query: &str, minutes: u64, samples: Vec<Sample>| {
        let observed_at = now().minus(Duration::from_mins(minutes));
        let reproduce = Some(clearway_advice::reproduce::curl(query, url, observed_at, &HttpAccess::default()));
        Record::Answered(Observation {
            value: Seen::Vector(samples),
            observed_at,
            source: url.to_owned(),
            reproduce,
            warnings: Vec::new(),
        })
    };
    let down = Failure {
        observed_at: Some(now().minus(Duration::from_mins(3))),
        source: Some(url.to_owned()),
        ..Failure::new(FailureClass::Timeout, "The metrics store gave no answer within 30s.")
    };
    let zero = "max(gone) or 0 * group(cluster_version)";
    let graph = fixtures::graph(&fixtures::answer(&["1.0.2"], &[("1.0.1", risks)]));
    let plan = Plan::new(&graph, &version("1.0.0"), &Settings::default()).unwrap();
    let operators = objects(&[operator("etcd", 4, "False"), operator("storage", 3, "False")]);
    let evidence = RecordedEvidence {
        queries: [
            ("max(later)".to_owned(), Record::Pending { due: Some(now().plus(Duration::from_mins(7))) }),
            ("max(down)".to_owned(), Record::Failed(down)),
            ("max(old)".to_owned(), seen("max(old)", 150, vec![sample("a", 0.0)])),
            ("several".to_owned(), seen("several", 12, ["d", "c", "b", "a"].map(|name| sample(name, 1.0)).to_vec())),
            (zero.to_owned(), seen(zero, 12, vec![Sample { labels: Labels::default(), value: 0.0 }])),
        ]
        .into(),
        configured: true,
        objects: Some(fixtures::recorded(&plan, &operators)),
        cluster_id: Some("2f1b3d64-0e4c-4b0a-9d2e-0a7f6a1c9b11".to_owned()),
        ..RecordedEvidence::default()
    };
    let assessment = plan.assess(&evidence, now());
    golden("proofs.txt", &render::assessment(&assessment));
    golden("proofs-message.txt", &(assessment.updates[1].recommended.message.clone() + "\n"));
}

#[test]
fn a_target_that_is_both_recommended_and_conditional_is_conditional_and_named() {
    let sent = fixtures::answer(&["1.0.1"], &[("1.0.1", vec![risk("Broken", json!([{"type": "Always"}]))])]);
    let reading = wire::read(sent.to_string().as_bytes(), &Limits::default());
    let plan = Plan::new(&reading.graph.unwrap(), &version("1.0.0"), &Settings::default()).unwrap();
    let store = series("a 1\n");
    let assessment = plan.with_diagnostics(reading.diagnostics).assess(&snapshot(&store), now());
    assert_eq!(assessment.updates.len(), 1);
    assert!(assessment.updates[0].conditional);
    assert_eq!(assessment.updates[0].recommended.reason, "Broken");
    assert_eq!(assessment.diagnostics.len(), 1);
    assert!(
        render::assessment(&assessment).contains("the update from 1.0.0 to 1.0.1 is both recommended and conditional")
    );
}

#[test]
fn a_version_that_is_not_in_the_graph_is_said() {
    let graph = fixtures::graph(&fixtures::answer(&["1.0.1"], &[]));
    let error = Plan::new(&graph, &version("2.0.0"), &Settings::default()).unwrap_err();
    assert_eq!(error.to_string(), "the version 2.0.0 is not in the graph, so its updates are unknown");
    // Build metadata tells versions apart only where the graph has both.
    assert!(Plan::new(&graph, &version("1.0.0+amd64"), &Settings::default()).is_ok());
}

#[test]
fn a_shared_store_is_asked_the_questions_of_one_cluster() {
    let rules = json!([promql("max(a{_id=\"\"})"), {"type": "Always"}, promql("max(never)")]);
    let graph = fixtures::graph(&fixtures::answer(&[], &[("1.0.1", vec![risk("Broken", rules)])]));
    let plan = Plan::new(&graph, &version("1.0.0"), &Settings::default()).unwrap();
    let texts: Vec<String> = plan.questions_for("7").iter().map(|question| question.text().to_owned()).collect();
    assert_eq!(texts, ["max(a{_id=\"7\"})"]);
}
