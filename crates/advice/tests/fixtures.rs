//! Small graphs and small clusters.

#![allow(clippy::needless_pass_by_value)] // `json!` at the place of use reads better without a reference.

use std::collections::BTreeMap;

use clearway_advice::evidence::{
    Evidence, FailureClass, ObjectAnswer, ObjectQuestion, Objects, Question, Record, Reply, Snapshot,
};
use clearway_advice::{Assessment, Plan, RiskProof, Settings, Update};
use clearway_core::{Limits, Timestamp, Version};
use clearway_graph::{Graph, wire};
use clearway_promql::eval::Value as Seen;
use clearway_promql::{Millis, Series, read};
use serde_json::{Value, json};

/// 2026-05-04T09:00:00Z
pub(crate) const NOW: i64 = 1_777_885_200;

pub(crate) fn now() -> Timestamp {
    Timestamp::from_seconds(NOW).unwrap()
}

pub(crate) fn version(text: &str) -> Version {
    text.parse().unwrap()
}

/// Series in the form of text exposition, all sampled at [`NOW`].
pub(crate) fn series(text: &str) -> Series {
    read::text(text.as_bytes(), Millis(NOW * 1_000), &read::ReadLimits::default()).unwrap()
}

pub(crate) fn snapshot(series: &Series) -> Snapshot<'_> {
    Snapshot::new(series, now(), "cluster.series")
}

/// A risk on the wire.
pub(crate) fn risk(name: &str, rules: Value) -> Value {
    json!({"name": name, "url": format!("https://example.com/{name}"), "message": format!("{name} happens."), "matchingRules": rules})
}

/// The graph of an answer with releases 1.0.0 and the targets of `conditional`, which also names their risks.
pub(crate) fn answer(edges: &[&str], conditional: &[(&str, Vec<Value>)]) -> Value {
    let mut versions = vec!["1.0.0"];
    versions.extend(edges);
    versions.extend(conditional.iter().map(|(to, _)| *to));
    versions.sort_unstable();
    versions.dedup();
    let place = |version: &str| versions.iter().position(|known| *known == version).unwrap();
    json!({
        "nodes": versions.iter().map(|version| json!({"version": version, "payload": format!("example.com/p@{version}")})).collect::<Vec<_>>(),
        "edges": edges.iter().map(|to| json!([place("1.0.0"), place(to)])).collect::<Vec<_>>(),
        "conditionalEdges": conditional.iter().map(|(to, risks)| json!({"edges": [{"from": "1.0.0", "to": to}], "risks": risks})).collect::<Vec<_>>(),
    })
}

pub(crate) fn graph(answer: &Value) -> Graph {
    wire::read(answer.to_string().as_bytes(), &Limits::default()).graph.unwrap()
}

pub(crate) fn assess(graph: &Graph, evidence: &dyn Evidence) -> Assessment {
    let plan = Plan::new(graph, &version("1.0.0"), &Settings::default()).unwrap();
    let assessment = plan.assess(evidence, now());
    // Whatever is assessed, the short form says the same.
    let statuses: Vec<_> = assessment.updates.iter().map(|update| update.recommended.status).collect();
    assert_eq!(plan.summarize(evidence, now()).updates, statuses);
    assessment
}

/// The update to 1.0.1 that carries one risk with these rules.
pub(crate) fn one(rules: Value, evidence: &dyn Evidence) -> Update {
    let graph = graph(&answer(&[], &[("1.0.1", vec![risk("Broken", rules)])]));
    assess(&graph, evidence).updates.remove(0)
}

/// The proof of the one risk of [`one`].
pub(crate) fn proof(rules: Value, evidence: &dyn Evidence) -> RiskProof {
    one(rules, evidence).risks.remove(0).as_ref().clone()
}

pub(crate) fn promql(query: &str) -> Value {
    json!({"type": "PromQL", "promql": {"promql": query}})
}

/// Objects of a snapshot.
pub(crate) fn objects(list: &[Value]) -> Objects {
    let mut objects = Objects::new(now(), "https://api.example.com");
    for object in list {
        assert!(objects.insert(object.clone()), "{object}");
    }
    objects
}

/// What objects say to the questions of a plan, as a controller records it.
pub(crate) fn recorded(plan: &Plan, objects: &Objects) -> BTreeMap<String, Record<ObjectAnswer>> {
    let record = |(question, steps): (&ObjectQuestion, u64)| {
        let record = match objects.answer(question, steps) {
            Reply::Answered(observation) => Record::Answered(observation),
            Reply::Failed(failure) => Record::Failed(failure),
            Reply::Pending { .. } | Reply::NotConfigured => Record::failed(FailureClass::Absent, "Not read."),
        };
        (question.text().to_owned(), record)
    };
    plan.object_questions().into_iter().map(record).collect()
}

/// What objects said to every question about them.
pub(crate) struct ObjectEvidence(pub(crate) Objects);

impl Evidence for ObjectEvidence {
    fn promql(&self, _: &Question, _: u64) -> Reply<Seen> {
        Reply::NotConfigured
    }

    fn objects(&self, question: &ObjectQuestion, steps: u64) -> Reply<ObjectAnswer> {
        self.0.answer(question, steps)
    }

    fn cluster_id(&self) -> Option<&str> {
        None
    }
}

/// Compares with a file of `tests/golden/`; writes it instead if `GOLDEN=overwrite` is set.
pub(crate) fn golden(name: &str, found: &str) {
    let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("GOLDEN").is_some_and(|value| value == "overwrite") {
        std::fs::write(&file, found).unwrap();
    }
    let want = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(want == found, "{name} differs (GOLDEN=overwrite writes it):\n{found}");
}
