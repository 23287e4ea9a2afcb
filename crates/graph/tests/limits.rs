//! Every cap of `GraphLimits`: what just keeps to it is read as if there were none, what is above it is refused with its
//! name and value, and no update is offered more freely because of that.

use std::collections::BTreeMap;

use crate::fixtures::{arch, served};
use clearway_core::{Diagnostic, GraphLimits, Limits};
use clearway_graph::{Graph, Inputs, Revision, load, wire};
use serde_json::json;

/// Caps that others hold: the service, a mirror, and whoever fetches graph-data.
const ELSEWHERE: [&str; 4] = ["packed_bytes", "answers_bytes", "answers_packed", "mirror_bytes"];
/// What is said of each finding above this one is how many there are.
const FINDINGS: &str = "findings";

/// A little of everything that a cap counts.
fn inputs() -> Inputs {
    let release = |arch: &str, version: &str, previous: &str| {
        format!(
            r#"{{"version":"{version}","arch":"{arch}","payload":"example.com/{arch}","previous":[{previous}],
                 "metadata":{{"url":"https://example.com/{version}","by":"us"}}}}"#
        )
    };
    let mut releases = Vec::new();
    for arch in ["amd64", "arm64"] {
        releases.push(release(arch, "1.0.0", ""));
        releases.push(release(arch, "1.0.1", r#""1.0.0""#));
        releases.push(release(arch, "1.0.2", r#""1.0.0","1.0.1""#));
        releases.push(release(arch, "1.0.3", r#""1.0.0","1.0.1","1.0.2""#));
    }
    let query = |name: &str| format!("[{{type: PromQL, promql: {{promql: max({name})}}}}, {{type: Always}}]");
    let block = |to: &str, from: &str, name: &str, rules: &str| {
        format!(
            "to: {to}\nfrom: '{from}'\nname: {name}\nurl: https://example.com\nmessage: m\nmatchingRules: {rules}\n"
        )
    };
    let files = [
        ("version", "1.1.0".to_owned()),
        ("channels/a.yaml", "name: a\nversions: [1.0.0, 1.0.1, 1.0.2, 1.0.3]\ntombstones: [1.0.9]\n".to_owned()),
        ("channels/b.yaml", "name: b\nversions: [1.0.0, 1.0.3]\n".to_owned()),
        ("releases/all.json", format!("[\n{}\n]", releases.join(",\n"))),
        ("blocked-edges/1.0.1-A.yaml", block("1.0.1", "^1[.]0[.][0-9]{1,9}[+]", "A", &query("a"))),
        ("blocked-edges/1.0.2-A.yaml", block("1.0.2", "1[.]0[.]0", "A", &query("a"))),
        ("blocked-edges/1.0.2-B.yaml", block("1.0.2", ".*", "Broken", &query("other"))),
        (
            "risks/C.yaml",
            "to: [1.0.3, 1.0.3]\nfrom: [1.0.x, 1.0.0]\nname: C\nurl: https://example.com\nmessage: m\n".to_owned()
                + "matchingRules: [{type: Resource, resource: {kind: Node}}, {type: Condition, condition: {kind: Node}}]\n",
        ),
        (
            "raw/metadata.json",
            r#"{"1.0.3":{"io.openshift.upgrades.graph.previous.remove_regex":"1[.]0[.]2[+]arm64"}}"#.to_owned(),
        ),
    ];
    files.into_iter().collect()
}

/// What is served of each update, and what was found.
type Seen = (Option<BTreeMap<String, String>>, Vec<Diagnostic>);

fn updates(graph: &Graph, name: &str, seen: &mut BTreeMap<String, String>) {
    for to in ["1.0.1", "1.0.2", "1.0.3"] {
        for from in ["1.0.0", "1.0.1", "1.0.2"] {
            let says = served(graph, from, to);
            seen.insert(format!("{name} {from} {to}"), if says == "no node" { "gone".to_owned() } else { says });
        }
    }
}

fn graphs(revision: &Revision) -> Vec<(String, Graph)> {
    let scopes = ["a", "b"].into_iter().flat_map(|channel| ["amd64", "arm64"].map(|name| (channel, name)));
    scopes.map(|(channel, name)| (format!("{channel}/{name}"), revision.graph(channel, &arch(name)))).collect()
}

fn limits(caps: &GraphLimits) -> Limits {
    Limits { graph: caps.clone(), ..Limits::default() }
}

/// The files, loaded.
fn of_files(caps: &GraphLimits) -> Seen {
    let outcome = load(&inputs(), &limits(caps));
    let seen = outcome.revision.map(|revision| {
        let mut seen = BTreeMap::new();
        for (name, graph) in &graphs(&revision) {
            updates(graph, name, &mut seen);
        }
        seen
    });
    (seen, outcome.diagnostics)
}

/// An answer with a little of everything.
fn answer() -> Vec<u8> {
    let node = |version: &str| json!({"version": version, "payload": "p", "metadata": {"a": "b", "c": "d"}});
    let rule = |query: &str| json!({"type": "PromQL", "promql": {"promql": query}});
    let risk = |name: &str, rules: serde_json::Value| json!({"name": name, "url": "https://example.com", "message": "m", "matchingRules": rules});
    let edge = |from: &str, to: &str| json!({"from": from, "to": to});
    let (a, b) = (risk("A", json!([rule("a"), {"type": "Always"}])), risk("Broken", json!([rule("other")])));
    let answer = json!({
        "nodes": [node("1.0.0"), node("1.0.1"), node("1.0.2"), node("1.0.3")],
        "edges": [[0, 1], [0, 3]],
        "conditionalEdges": [
            {"edges": [edge("1.0.0", "1.0.2"), edge("1.0.1", "1.0.2")], "risks": [a, b]},
            {"edges": [edge("1.0.1", "1.0.2"), edge("1.0.1", "1.0.3")], "risks": [b]},
        ],
    });
    answer.to_string().into_bytes()
}

/// The answer, read.
fn of_answer(caps: &GraphLimits) -> Seen {
    let reading = wire::read(&answer(), &limits(caps));
    let seen = reading.graph.map(|graph| {
        let mut seen = BTreeMap::new();
        updates(&graph, "answer", &mut seen);
        seen
    });
    // That an update stands in two groups is known.
    (seen, reading.diagnostics.into_iter().filter(|found| found.code != "GD064").collect())
}

/// The answers of the files, written.
fn of_answers(caps: &GraphLimits) -> Seen {
    let revision = load(&inputs(), &Limits::default()).revision.unwrap();
    let refused = |why: String| (None, vec![Diagnostic::new("x", clearway_core::Severity::Error, why)]);
    let mut seen = BTreeMap::new();
    for (name, graph) in graphs(&revision) {
        if let Err(above) = wire::write_within(&graph, caps) {
            return refused(above.to_string());
        }
        updates(&graph, &name, &mut seen);
    }
    let under = load(
        &inputs(),
        &limits(&GraphLimits { answers: caps.answers, answers_edges: caps.answers_edges, ..GraphLimits::default() }),
    );
    match under.revision.unwrap().above_in_answers() {
        Some(above) => refused(above.to_string()),
        None => (Some(seen), Vec::new()),
    }
}

/// The smallest value of a cap under which everything is seen as without it; nothing if it makes no difference.
fn need(cap: &str, default: u64, see: fn(&GraphLimits) -> Seen) -> Option<u64> {
    let wanted = see(&GraphLimits::default());
    let passes = |value: u64| see(&GraphLimits::default().with(cap, value)) == wanted;
    if passes(0) {
        return None;
    }
    // It is small, so it is looked for from below: doubled until it is enough, and then halved.
    let mut high = 1;
    while high < default && !passes(high) {
        high *= 2;
    }
    let mut low = high / 2;
    while low + 1 < high {
        let middle = low.midpoint(high);
        if passes(middle) { high = middle } else { low = middle }
    }
    Some(high)
}

#[test]
fn what_keeps_to_a_cap_is_read_and_what_is_above_it_is_refused_by_name() {
    let mut untested = Vec::new();
    for cap in GraphLimits::CAPS.iter().filter(|cap| !ELSEWHERE.contains(&cap.name) && cap.name != FINDINGS) {
        let mut tested = false;
        for see in [of_files, of_answer, of_answers] {
            let Some(need) = need(cap.name, cap.default, see) else { continue };
            tested = true;
            let without = see(&GraphLimits::default());
            assert_eq!(see(&GraphLimits::default().with(cap.name, need)), without, "{}: at the cap", cap.name);
            let (seen, found) = see(&GraphLimits::default().with(cap.name, need - 1));
            let names_it = |found: &Diagnostic| {
                let text = format!("{} {}", found.message, found.help.as_deref().unwrap_or_default());
                text.contains(&format!("`{}`", cap.name)) && text.contains(&(need - 1).to_string())
            };
            assert!(found.iter().any(names_it), "{} above {}: {found:?}", cap.name, need - 1);
            for (update, says) in seen.into_iter().flatten() {
                let before = without.0.as_ref().and_then(|without| without.get(&update)).unwrap();
                assert!(says != "open" || before == "open", "{}: {update} was {before}, and is open now", cap.name);
            }
        }
        if !tested {
            untested.push(cap.name);
        }
    }
    assert_eq!(untested, [""; 0], "no row of this table makes a difference to these caps");
}

#[test]
fn of_many_findings_the_first_are_kept_and_all_are_counted() {
    let entries = "- x\n".repeat(50);
    let inputs: Inputs =
        [("version", "1.1.0".to_owned()), ("channels/a.yaml", format!("name: a\nversions:\n{entries}"))]
            .into_iter()
            .collect();
    let outcome = load(&inputs, &limits(&GraphLimits { findings: 3, ..GraphLimits::default() }));
    let messages: Vec<&str> = outcome.diagnostics.iter().map(|found| found.message.as_str()).collect();
    assert_eq!(messages.len(), 4, "{messages:?}");
    assert!(messages.contains(&"47 more findings of this kind are not shown"), "{messages:?}");
    let edges = vec!["0"; 50].join(",");
    let answer = format!(r#"{{"nodes":[],"edges":[{edges}]}}"#);
    let reading = wire::read(answer.as_bytes(), &limits(&GraphLimits { findings: 3, ..GraphLimits::default() }));
    assert_eq!(reading.diagnostics.len(), 4, "{:?}", reading.diagnostics);
}

#[test]
fn an_answer_that_says_something_twice_is_refused() {
    for twice in [
        r#"{"nodes":[],"nodes":[]}"#,
        r#"{"nodes":[],"edges":[],"edges":[]}"#,
        r#"{"nodes":[],"conditionalEdges":[],"conditionalEdges":[]}"#,
        r#"{"nodes":[],"conditionalEdges":[{"edges":[],"risks":[],"risks":[]}]}"#,
        r#"{"nodes":[],"conditionalEdges":[{"edges":[],"edges":[],"risks":[]}]}"#,
    ] {
        let reading = wire::read(twice.as_bytes(), &Limits::default());
        assert!(reading.graph.is_none() && reading.diagnostics[0].message.contains("occurs twice"), "{twice}");
    }
}
