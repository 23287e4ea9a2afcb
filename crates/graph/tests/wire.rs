//! The wire JSON: what is written, and what is made of answers that somebody else wrote.

use crate::fixtures::{arch, loaded, served};
use clearway_core::Limits;
use clearway_graph::{Graph, wire};
use serde_json::{Value, json};

fn read(answer: &Value) -> (Graph, Vec<String>) {
    let reading = wire::read(answer.to_string().as_bytes(), &Limits::default());
    let codes = reading
        .diagnostics
        .iter()
        .map(|found| format!("{} {}", found.code, found.place.path.as_deref().unwrap_or("-")));
    (reading.graph.expect("a graph"), codes.collect())
}

fn risk(name: &str) -> Value {
    json!({"url": "https://example.com", "name": name, "message": "m", "matchingRules": [{"type": "Always"}]})
}

/// Four nodes in no order: 1.0.0 at 2, 1.0.1 at 0, 1.0.2 at 3, and one that cannot be read at 1.
fn answer(edges: &Value, conditional: &Value) -> Value {
    json!({
        "version": 1,
        "nodes": [
            {"version": "1.0.1", "payload": "b", "metadata": {"k": "v"}},
            {"version": "one", "payload": "x"},
            {"version": "1.0.0", "payload": "a", "metadata": {}},
            {"version": "1.0.2", "payload": "c"},
        ],
        "edges": edges,
        "conditionalEdges": conditional,
    })
}

const BAD_NODE: &str = "GD061 nodes[1]";

#[test]
fn an_answer_is_one_line_in_cincinnatis_shape() {
    let block = "to: 1.0.2\nfrom: '1[.]0[.]1'\nurl: https://example.com\nname: A\nmessage: m\nmatchingRules: [{type: Always}]\n";
    let outcome = loaded(&[("blocked-edges/a.yaml", block)]);
    let graph = outcome.revision.unwrap().graph("stable-1", &arch("amd64"));
    let node = |version: &str| {
        format!(
            r#"{{"version":"{version}","payload":"example.com/amd64@sha256:{version}","metadata":{{"io.openshift.upgrades.graph.release.channels":"stable-1","io.openshift.upgrades.graph.release.manifestref":"sha256:{version}"}}}}"#
        )
    };
    let wanted = format!(
        r#"{{"version":1,"nodes":[{},{},{}],"edges":[[0,1],[0,2]],"conditionalEdges":[{{"edges":[{{"from":"1.0.1","to":"1.0.2"}}],"risks":[{{"url":"https://example.com","name":"A","message":"m","matchingRules":[{{"type":"Always"}}]}}]}}]}}"#,
        node("1.0.0"),
        node("1.0.1"),
        node("1.0.2")
    );
    assert_eq!(String::from_utf8(wire::write(&graph)).unwrap(), wanted);
    let empty = br#"{"version":1,"nodes":[],"edges":[],"conditionalEdges":[]}"#;
    assert_eq!(wire::write(&Graph::default()), empty);
}

#[test]
fn a_bad_node_is_dropped_and_nobody_is_shifted() {
    let (graph, codes) = read(&answer(&json!([[2, 0], [2, 1], [1, 3], [0, 3]]), &json!([])));
    assert_eq!(codes, [BAD_NODE]);
    assert_eq!((served(&graph, "1.0.0", "1.0.1"), served(&graph, "1.0.1", "1.0.2")), ("open".into(), "open".into()));
    assert_eq!((graph.nodes().len(), graph.edges().len()), (3, 2));
}

#[test]
fn bad_edges_are_dropped() {
    let edges = json!([[2, 0], [2], [2, 0, 3], [2, 9], [-1, 0], ["2", 0], 3, null, [2.5, 0], [2, 0]]);
    let (graph, codes) = read(&answer(&edges, &json!([])));
    assert_eq!(graph.edges().len(), 1);
    let bad: Vec<_> = (1..=8).map(|at| format!("GD062 edges[{at}]")).collect();
    assert_eq!(codes[1..], bad);
}

#[test]
fn an_update_that_does_not_lead_up_is_dropped() {
    let conditional = json!([{"edges": [{"from": "1.0.2", "to": "1.0.1"}], "risks": [risk("A")]}]);
    let (graph, codes) = read(&answer(&json!([[0, 2], [0, 0]]), &conditional));
    assert_eq!(graph.updates().count(), 0);
    assert_eq!(codes[1..], ["GD066 edges[0]", "GD066 edges[1]", "GD066 conditionalEdges[0].edges[0]"]);
}

#[test]
fn a_target_in_both_lists_is_conditional() {
    let conditional = json!([{"edges": [{"from": "1.0.0", "to": "1.0.1"}], "risks": [risk("A")]}]);
    let (graph, codes) = read(&answer(&json!([[2, 0]]), &conditional));
    assert_eq!(served(&graph, "1.0.0", "1.0.1"), "A");
    assert_eq!(codes[1..], ["GD065 edges"]);
}

#[test]
fn groups_that_repeat_an_update_are_united() {
    let edge = json!({"from": "1.0.0", "to": "1.0.1"});
    let conditional = json!([
        {"edges": [edge, {"from": "1.0.1", "to": "1.0.2"}], "risks": [risk("B")]},
        {"edges": [edge, edge], "risks": [risk("A"), risk("B"), risk("A")]},
    ]);
    let (graph, codes) = read(&answer(&json!([]), &conditional));
    assert_eq!((served(&graph, "1.0.0", "1.0.1"), served(&graph, "1.0.1", "1.0.2")), ("A,B".into(), "B".into()));
    assert_eq!(codes[1..], ["GD064 conditionalEdges[1].edges[0]"]);
}

#[test]
fn a_bad_risk_makes_its_updates_unknown_and_never_unconditional() {
    for (bad, name) in [
        (json!([{"name": "A", "url": "u", "message": "m"}]), "A"),
        (json!([{"name": "A", "url": "u", "message": "m", "matchingRules": "x"}]), "A"),
        (json!([{"name": "A", "url": "u", "message": "m", "matchingRules": [3]}]), "A"),
        (json!([{"name": "A", "url": "u", "message": "m", "matchingRules": [{"type": 3}]}]), "A"),
        (json!([{"name": "A", "url": 3, "message": "m", "matchingRules": []}]), "A"),
        (json!([{"url": "u", "message": "m", "matchingRules": []}]), "UnreadableRisk"),
        (json!([3]), "UnreadableRisk"),
        (json!([]), "UnreadableRisk"),
        (json!("none"), "UnreadableRisk"),
        (json!(null), "UnreadableRisk"),
    ] {
        let conditional = json!([{"edges": [{"from": "1.0.0", "to": "1.0.1"}], "risks": bad}]);
        let (graph, codes) = read(&answer(&json!([[2, 0]]), &conditional));
        assert_eq!(served(&graph, "1.0.0", "1.0.1"), name, "{bad}");
        let rules = graph.conditional()[0].risks[0].rules();
        assert_eq!(rules.iter().map(|rule| rule.kind.as_str()).collect::<Vec<_>>(), ["Unreadable"], "{bad}");
        assert!(codes[1].starts_with("GD063 conditionalEdges[0].risks"), "{codes:?}");
    }
    let empty = json!([{"edges": [{"from": "1.0.0", "to": "1.0.1"}], "risks": [{"name": "A", "url": "", "message": "", "matchingRules": []}]}]);
    let (graph, codes) = read(&answer(&json!([]), &empty));
    assert_eq!((served(&graph, "1.0.0", "1.0.1").as_str(), codes.len()), ("A", 1), "no rules is a risk, and readable");
}

#[test]
fn a_risk_with_a_key_twice_makes_its_updates_unknown() {
    let matching = r#""matchingRules": [{"type": "Always"}]"#;
    for (rules, key) in [
        (
            format!(r#"{matching}, "matchingRules": [{{"type": "PromQL", "promql": {{"promql": "a"}}}}]"#),
            "matchingRules",
        ),
        (r#""matchingRules": [{"type": "PromQL", "promql": {"promql": "a", "promql": "b"}}]"#.to_owned(), "promql"),
        (
            r#""matchingRules": [{"type": "PromQL", "promql": {"promql": "a", "pr\u006fmql": "b"}}]"#.to_owned(),
            "promql",
        ),
        (r#""matchingRules": [{"type": "Always", "type": "PromQL", "promql": {"promql": "a"}}]"#.to_owned(), "type"),
        (format!(r#""name": "B", {matching}"#), "name"),
    ] {
        let risk = format!(r#"{{"name": "A", "url": "u", "message": "m", {rules}}}"#);
        let group = format!(r#"[{{"edges": [{{"from": "1.0.0", "to": "1.0.1"}}], "risks": [{risk}]}}]"#);
        let text = answer(&json!([]), &json!("GROUPS")).to_string().replace("\"GROUPS\"", &group);
        let reading = wire::read(text.as_bytes(), &Limits::default());
        let graph = reading.graph.expect("a graph");
        assert_eq!(served(&graph, "1.0.0", "1.0.1"), "UnreadableRisk", "{risk}");
        assert_eq!(graph.conditional()[0].risks[0].rules()[0].kind, "Unreadable", "{risk}");
        let finding = reading.diagnostics.iter().find(|found| found.code == "GD063").expect("a finding");
        assert!(finding.message.contains(&format!("the key `{key}` twice")), "{}", finding.message);
    }
}

#[test]
fn bad_groups_and_updates_without_nodes_are_dropped() {
    let conditional = json!([
        3,
        {"edges": "x", "risks": [risk("A")]},
        {"risks": [risk("A")]},
        {"edges": [{"from": "1.0.0"}, {"from": "1.0.0", "to": "9.9.9"}, 7, {"from": "1.0.0", "to": "1.0.2"}], "risks": [risk("A")]},
    ]);
    let (graph, codes) = read(&answer(&json!([]), &conditional));
    assert_eq!((graph.updates().count(), served(&graph, "1.0.0", "1.0.2")), (1, "A".into()));
    assert_eq!(
        codes[1..],
        [
            "GD062 conditionalEdges[0]",
            "GD062 conditionalEdges[1]",
            "GD062 conditionalEdges[3].edges[0]",
            "GD062 conditionalEdges[3].edges[1]",
            "GD062 conditionalEdges[3].edges[2]"
        ]
    );
}

#[test]
fn a_version_with_two_contents_is_dropped_and_with_one_is_joined() {
    let node = |payload: &str| json!({"version": "1.0.1", "payload": payload});
    let first = json!({"version": "1.0.0", "payload": "a"});
    let (graph, codes) = read(&json!({"nodes": [first, node("b"), node("b")], "edges": [[0, 1], [0, 2]]}));
    assert_eq!((graph.nodes().len(), graph.edges().len(), codes.len()), (2, 1, 0));
    let (graph, codes) = read(&json!({"nodes": [first, node("b"), node("c")], "edges": [[0, 1], [0, 2]]}));
    assert_eq!((graph.nodes().len(), graph.edges().len()), (1, 0));
    assert_eq!(codes, ["GD061 nodes[1]", "GD061 nodes[2]"]);
}

#[test]
fn what_is_no_graph_is_none_and_says_why() {
    for text in ["", "{", "null", "[]", "{}", r#"{"nodes": {}}"#, "\u{feff}{}", r#"{"nodes": []}x"#] {
        let reading = wire::read(text.as_bytes(), &Limits::default());
        assert!(reading.graph.is_none() && reading.diagnostics[0].code == "GD060", "{text}");
    }
    let limits = Limits { document_bytes: 5, ..Limits::default() };
    assert!(wire::read(br#"{"nodes":[]}"#, &limits).graph.is_none());
    let (graph, codes) = read(&json!({"nodes": [], "edges": null, "colour": "red"}));
    assert_eq!((graph, codes.len()), (Graph::default(), 0));
    let (_, codes) = read(&json!({"nodes": [], "edges": 3, "conditionalEdges": {}}));
    assert_eq!(codes, ["GD062 edges", "GD062 conditionalEdges"]);
}
