//! Rules, a line `---`, and the objects of a cluster, one a line: assessing ends, gives the same twice, and recommends
//! nothing that no rule decided. A text that is no list is the expression of a rule about all those objects.
#![no_main]

use clearway_advice::evidence::{Objects, Snapshot};
use clearway_advice::{Plan, Settings, Status, Verdict, render};
use clearway_core::{GroupKind, Limits, Timestamp, Version};
use clearway_graph::wire;
use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};

fuzz_target!(|text: &str| {
    let (rules, lines) = text.split_once("\n---\n").unwrap_or((text, ""));
    let now: Timestamp = "2026-05-04T09:00:00Z".parse().expect("a time");
    let mut objects = Objects::new(now, "fuzz");
    let mut kind = json!({"apiVersion": "v1", "kind": "Node"});
    objects.looked_for(GroupKind::from_api_version("v1", "Node"));
    objects.looked_for(GroupKind::from_api_version("apiextensions.k8s.io/v1", "CustomResourceDefinition"));
    for object in lines.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
        let named = json!({"apiVersion": object["apiVersion"], "kind": object["kind"]});
        if objects.insert(object) {
            kind = named;
        }
    }
    let rules = serde_json::from_str(rules).ok().filter(Value::is_array).unwrap_or_else(|| {
        let mut parameters = kind;
        parameters["expression"] = json!(rules);
        json!([{"type": "Resource", "resource": parameters}])
    });
    let answer = json!({
        "nodes": [{"version": "1.0.0", "payload": "a"}, {"version": "1.0.1", "payload": "b"}],
        "conditionalEdges": [{
            "edges": [{"from": "1.0.0", "to": "1.0.1"}],
            "risks": [{"name": "Fuzzed", "url": "https://example.com", "message": "Something.", "matchingRules": rules}],
        }],
    });
    let reading = wire::read(answer.to_string().as_bytes(), &Limits::default());
    let Some(graph) = reading.graph else { return };
    let Ok(plan) = Plan::new(&graph, &Version::new(1, 0, 0), &Settings::default()) else { return };
    let evidence = Snapshot { objects: Some(&objects), cluster_id: Some("7c9e6679"), ..Snapshot::empty(now, "fuzz") };
    let assessment = plan.assess(&evidence, now);
    assert_eq!(assessment, plan.assess(&evidence, now));
    let statuses: Vec<Status> = assessment.updates.iter().map(|update| update.recommended.status).collect();
    assert_eq!(plan.brief(&evidence, now).updates, statuses);
    for risk in assessment.updates.iter().flat_map(|update| &update.risks) {
        let decided = risk.decided_by.is_some() || risk.rules.is_empty();
        assert_eq!(decided, matches!(risk.verdict, Verdict::Match | Verdict::NoMatch), "{risk:?}");
    }
    _ = (render::assessment(&assessment), assessment.to_json());
});
