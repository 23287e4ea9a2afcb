//! The outcome table: every rule type over everything that can come back, as a matrix and with every proof in full (U2,
//! U3, U10, U16, U19). What is special to a type stands in `outcomes.rs` and `objects.rs`.

use std::fmt::Write as _;

use crate::fixtures::{self, now, promql, proof};
use clearway_advice::evidence::{
    Evidence, Failure, FailureClass, ObjectAnswer, ObjectQuestion, Observation, Question, Reply,
};
use clearway_advice::{Verdict, recognised, render};
use clearway_core::GroupKind;
use clearway_promql::Labels;
use clearway_promql::eval::{Sample, Value as Seen};
use serde_json::{Value, json};

/// A cluster of which every source says one thing.
struct Cluster {
    query: Reply<Seen>,
    objects: Reply<Vec<Value>>,
    id: Option<&'static str>,
}

impl Evidence for Cluster {
    fn promql(&self, _: &Question, _: u64) -> Reply<Seen> {
        self.query.clone()
    }

    fn objects(&self, question: &ObjectQuestion, steps: u64) -> Reply<ObjectAnswer> {
        self.objects.clone().map(|list| {
            let mut tally = question.tally(steps);
            let wanted = &question.request().kind;
            for object in list.iter().filter(|object| GroupKind::of(object).as_ref() == Some(wanted)) {
                tally.add(object);
            }
            tally.finish().unwrap()
        })
    }

    fn cluster_id(&self) -> Option<&str> {
        self.id
    }
}

fn answered<T>(value: T, source: &str) -> Reply<T> {
    let source = source.to_owned();
    Reply::Answered(Observation { value, observed_at: now(), source, reproduce: None, warnings: Vec::new() })
}

/// A cluster whose store and API server answer, and whose id is known.
fn says(query: Seen, objects: &[Value], id: &'static str) -> Cluster {
    Cluster {
        query: answered(query, "https://prometheus.example.com"),
        objects: answered(objects.to_vec(), "https://api.example.com"),
        id: Some(id),
    }
}

/// A cluster whose store and API server fail.
fn fails(class: FailureClass, why: &str) -> Cluster {
    let failure = |url: &str| Failure { observed_at: Some(now()), ..Failure::new(class, format!("{url}{why}")) };
    Cluster {
        query: Reply::Failed(failure("https://prometheus.example.com/api/v1/query")),
        objects: Reply::Failed(failure("https://api.example.com")),
        id: None,
    }
}

fn series(values: &[f64]) -> Seen {
    let sample = |(at, value): (usize, &f64)| {
        let labels = Labels::new([("pod".to_owned(), format!("pod-{at}"))]);
        Sample { labels, value: *value }
    };
    Seen::Vector(values.iter().enumerate().map(sample).collect())
}

/// A node with a value to look at and a condition.
#[expect(clippy::needless_pass_by_value, reason = "`json!` at the place of use reads better without a reference")]
fn node(name: &str, old: Value, status: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "old": old,
        "status": {"conditions": [{"type": "Ready", "status": status}]}})
}

/// A CRD of a bundle with a version.
#[expect(clippy::needless_pass_by_value, reason = "`json!` at the place of use reads better without a reference")]
fn crd(name: &str, version: Value) -> Value {
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{name}.a.io"), "annotations": {"a.io/bundle-version": version, "a.io/channel": "standard"}},
        "spec": {"group": "a.io", "scope": "Cluster", "names": {"kind": name, "plural": name},
            "versions": [{"name": "v1", "served": true, "storage": true}]}})
}

/// A constraint of which an audit found so many violations.
#[expect(clippy::needless_pass_by_value, reason = "`json!` at the place of use reads better without a reference")]
fn constraint(total: Value) -> Value {
    json!({"apiVersion": "constraints.gatekeeper.sh/v1beta1", "kind": "Labels", "metadata": {"name": "owner"},
        "status": {"auditTimestamp": now().to_string(), "violations": listed(&total), "totalViolations": total}})
}

/// The violations that a status lists, if there are any.
fn listed(total: &Value) -> Value {
    if *total == 0 {
        return Value::Null;
    }
    json!([{"kind": "Pod", "namespace": "shop", "name": "web", "message": "not shown"}])
}

/// Everything that can come back. The first id has had its turn in the rollout below, the second has not.
fn columns() -> Vec<(&'static str, Cluster)> {
    let (early, late) = ("cluster-3", "cluster-4");
    let (no, yes) = (node("a", json!(false), json!("False")), node("b", json!(true), json!("True")));
    let (old, new) = (crd("one", json!("v1.0.0")), crd("two", json!("v2.0.0")));
    vec![
        ("absent", Cluster { id: None, ..says(series(&[]), &[], early) }),
        ("error", fails(FailureClass::Unreachable, " cannot be reached: Connection refused (os error 111)")),
        ("time-out", fails(FailureClass::Timeout, ": no complete answer within 30s")),
        ("0", says(series(&[0.0]), &[no.clone(), new.clone(), constraint(json!(0))], early)),
        ("1", says(series(&[1.0]), &[yes.clone(), old.clone(), constraint(json!(1))], late)),
        ("2 series", says(series(&[0.0, 1.0]), &[no, yes, old, new, constraint(json!(2))], late)),
        (
            "NaN",
            says(
                series(&[f64::NAN]),
                &[node("c", Value::Null, json!("Perhaps")), crd("one", json!("latest")), constraint(Value::Null)],
                early,
            ),
        ),
        (
            "wrong type",
            says(
                Seen::String("1".to_owned()),
                &[node("d", json!("yes"), json!(1)), crd("one", json!(1)), constraint(json!("1"))],
                " ",
            ),
        ),
    ]
}

/// A rule of every type, and what comes of it in the order of [`columns`].
fn rows() -> Vec<(Value, &'static str)> {
    vec![
        (json!({"type": "Always"}), "match match match match match match match match"),
        (promql("max by (pod) (a)"), "unknown unknown unknown noMatch match unknown unknown unknown"),
        (
            json!({"type": "Resource", "resource": {"apiVersion": "v1", "kind": "Node", "expression": "object.old"}}),
            "unknown unknown unknown noMatch match match unknown unknown",
        ),
        (
            json!({"type": "Condition", "condition":
                {"apiVersion": "v1", "kind": "Node", "type": "Ready", "status": "True"}}),
            "unknown unknown unknown noMatch match match unknown unknown",
        ),
        (
            json!({"type": "Bundle", "bundle": {"group": "a.io", "version": "1.x"}}),
            "unknown unknown unknown noMatch match unknown unknown unknown",
        ),
        (
            json!({"type": "Policy", "policy": {"kind": "Labels", "name": "owner"}}),
            "unknown unknown unknown noMatch match match unknown unknown",
        ),
        (
            json!({"type": "Rollout", "rollout": {"start": "2026-05-01T00:00:00Z", "percentage": 50}}),
            "unknown unknown unknown noMatch match match noMatch unknown",
        ),
        (
            json!({"type": "Phase", "phase": {"moon": "full"}}),
            "unknown unknown unknown unknown unknown unknown unknown unknown",
        ),
        (json!({"promql": {"promql": "max(a)"}}), "unknown unknown unknown unknown unknown unknown unknown unknown"),
    ]
}

#[test]
fn every_rule_type_over_everything_that_can_come_back() {
    let columns = columns();
    for kind in recognised() {
        assert!(rows().iter().any(|(rule, _)| rule["type"] == kind), "{kind} has no row");
    }
    let mut golden = String::new();
    for (rule, want) in rows() {
        let kind = rule["type"].as_str().unwrap_or("(no type)");
        let mut found = Vec::new();
        // Each different proof once, below the columns that have it.
        let mut proofs: Vec<(Vec<&str>, String)> = Vec::new();
        for (column, cluster) in &columns {
            let proof = proof(json!([rule]), cluster);
            let tried = &proof.rules[0];
            let known = matches!(proof.verdict, Verdict::Match | Verdict::NoMatch);
            // What is not known says why, and what would have to be there; what is known says what was seen, and where.
            let sentence = |text: &Option<String>| text.as_ref().is_some_and(|text| !text.is_empty());
            assert_eq!(
                (sentence(&tried.why), sentence(&tried.missing)),
                (!known, !known),
                "{kind} {column}: {tried:?}"
            );
            let shown = tried.value.is_some() && tried.observed_at.is_some() && tried.source.is_some();
            assert!(!known || shown || kind == "Always", "{kind} {column}: {tried:?}");
            // Only a rule that evaluated decides; behind all others the next has its say.
            let behind = fixtures::proof(json!([rule, {"type": "Always"}]), cluster);
            assert_eq!(behind.decided_by, Some(usize::from(!known)), "{kind} {column}");
            let text = render::risk(&proof);
            match proofs.iter_mut().find(|(_, known)| *known == text) {
                Some((columns, _)) => columns.push(column),
                None => proofs.push((vec![column], text)),
            }
            found.push(serde_json::to_value(proof.verdict).unwrap().as_str().unwrap().to_owned());
        }
        assert_eq!(found.join(" "), want, "{kind}");
        for (columns, text) in proofs {
            let _ = write!(golden, "## {kind}: {}\n\n{text}\n", columns.join(", "));
        }
    }
    fixtures::golden("table.txt", &golden);
}
