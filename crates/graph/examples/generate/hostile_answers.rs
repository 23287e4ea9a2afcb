//! Answers of an update service that wants to use up memory or time: each is as large as the caps of [`GraphLimits`] let it
//! be, or goes above one of them.

use std::fmt::Write as _;

use clearway_core::GraphLimits;

/// What makes an answer under some caps.
type Make = fn(&GraphLimits) -> Vec<u8>;

/// Answers by name.
pub(crate) const ANSWERS: &[(&str, Make)] = &[
    ("many risks on many updates of one group", answer_group),
    ("every update in many groups", answer_groups),
    ("many updates", answer_edges),
    ("as many updates as the cap allows", answer_most_edges),
    ("many nodes with long metadata", answer_nodes),
    ("updates that are none", answer_bad_edges),
    ("nodes that are none", answer_bad_nodes),
    ("many risks with large expressions in their queries", answer_patterns),
    ("many different queries", answer_queries),
    ("rules with many small values", answer_values),
    ("large rules of a risk that is another one for each release", answer_releases),
    ("many metadata keys", answer_keys),
    ("metadata keys in every node", answer_some_keys),
    ("deep nesting", answer_deep),
    ("a giant text", answer_giant),
    ("escaped texts", answer_escapes),
    ("numbers where lists are expected", answer_numbers),
    ("one node again and again", answer_same_node),
];

/// The version of a number: a hundred patches for each minor.
fn version(number: usize) -> String {
    format!("1.{}.{}", number / 100, number % 100)
}

/// An answer of parts that are JSON already.
fn answer(nodes: &str, edges: &str, conditional: &str) -> Vec<u8> {
    format!(r#"{{"version":1,"nodes":[{nodes}],"edges":[{edges}],"conditionalEdges":[{conditional}]}}"#).into_bytes()
}

fn nodes(count: usize, metadata: &str) -> String {
    let node = |number| format!(r#"{{"version":"{}","payload":"p","metadata":{{{metadata}}}}}"#, version(number));
    (0..count).map(node).collect::<Vec<_>>().join(",")
}

/// Updates by name from the first version to many others.
fn conditional_edges(from: std::ops::Range<usize>, to: std::ops::Range<usize>, most: usize) -> String {
    let mut out = String::new();
    let pairs = to.flat_map(|to| from.clone().filter(move |from| *from < to).map(move |from| (from, to)));
    for (from, to) in pairs.take(most) {
        let separator = if out.is_empty() { "" } else { "," };
        let _ = write!(out, r#"{separator}{{"from":"{}","to":"{}"}}"#, version(from), version(to));
    }
    out
}

fn json_risk(name: &str, rules: &str) -> String {
    format!(r#"{{"name":"{name}","url":"https://e","message":"m","matchingRules":[{rules}]}}"#)
}

fn promql(query: &str) -> String {
    format!(r#"{{"type":"PromQL","promql":{{"promql":"{query}"}}}}"#)
}

const ALWAYS: &str = r#"{"type":"Always"}"#;

fn answer_group(limits: &GraphLimits) -> Vec<u8> {
    let risks: Vec<String> = (0..limits.risks).map(|number| json_risk(&format!("R{number}"), ALWAYS)).collect();
    let edges = conditional_edges(0..1_000, 0..1_000, 300_000);
    answer(&nodes(1_000, ""), "", &format!(r#"{{"edges":[{edges}],"risks":[{}]}}"#, risks.join(",")))
}

fn answer_groups(limits: &GraphLimits) -> Vec<u8> {
    let mut groups = Vec::new();
    let edges = conditional_edges(0..60, 0..60, 1_000);
    for number in 0..400 {
        let risk = json_risk(&format!("R{}", number % limits.risks), ALWAYS);
        groups.push(format!(r#"{{"edges":[{edges}],"risks":[{risk}]}}"#));
    }
    answer(&nodes(60, ""), "", &groups.join(","))
}

fn answer_edges(limits: &GraphLimits) -> Vec<u8> {
    let mut edges = "[0,1],".repeat(limits.answer_bytes / 6 - 10_000);
    edges.pop();
    answer(&nodes(2, ""), &edges, "")
}

fn answer_most_edges(limits: &GraphLimits) -> Vec<u8> {
    let count = 1_100;
    let pairs = (0..count).flat_map(|to| (0..to).map(move |from| (from, to)));
    let mut edges = String::new();
    for (from, to) in pairs.take(limits.answer_edges) {
        let _ = write!(edges, "[{from},{to}],");
    }
    edges.pop();
    answer(&nodes(count, ""), &edges, "")
}

fn answer_some_keys(limits: &GraphLimits) -> Vec<u8> {
    let mut pairs = String::new();
    for number in 0..limits.metadata_keys {
        let _ = write!(pairs, "\"{number:x}\":\"\",");
    }
    pairs.pop();
    let count = limits.release_texts / (limits.metadata_keys * 45);
    answer(&nodes(count, &pairs), "", "")
}

fn answer_nodes(limits: &GraphLimits) -> Vec<u8> {
    let each = limits.answer_bytes / limits.answer_nodes - 60;
    answer(&nodes(limits.answer_nodes, &format!(r#""a":"{}""#, "x".repeat(each))), "", "")
}

fn answer_bad_edges(limits: &GraphLimits) -> Vec<u8> {
    let mut edges = "0,".repeat(limits.answer_bytes / 2 - 10_000);
    edges.pop();
    answer(&nodes(2, ""), &edges, "")
}

fn answer_bad_nodes(limits: &GraphLimits) -> Vec<u8> {
    let mut bad = "0,".repeat(limits.answer_bytes / 2 - 10_000);
    bad.pop();
    answer(&bad, "", "")
}

/// One update that carries as many risks as there may be.
fn one_update(risks: &[String]) -> Vec<u8> {
    let group = format!(r#"{{"edges":[{}],"risks":[{}]}}"#, conditional_edges(0..1, 1..2, 1), risks.join(","));
    answer(&nodes(2, ""), "", &group)
}

fn answer_patterns(limits: &GraphLimits) -> Vec<u8> {
    let risks: Vec<String> = (0..limits.queries)
        .map(|number| {
            let query: Vec<String> =
                (0..20).map(|at| format!(r#"group(m{number}{{a=~\"(x{{30}}y?){{30}}{at}\"}})"#)).collect();
            json_risk(&format!("R{number}"), &promql(&query.join(" or ")))
        })
        .collect();
    one_update(&risks)
}

fn answer_queries(limits: &GraphLimits) -> Vec<u8> {
    let each = limits.risks_bytes / limits.queries - 200;
    let risks: Vec<String> = (0..limits.queries)
        .map(|number| {
            let matchers = r#"a=\"b\","#.repeat(each / 9);
            json_risk(&format!("R{number}"), &promql(&format!("max(m{number}{{{matchers}}})")))
        })
        .collect();
    one_update(&risks)
}

fn answer_values(limits: &GraphLimits) -> Vec<u8> {
    let values = "0,".repeat(limits.risks_bytes / 2 / 36);
    let risks: Vec<String> =
        (0..32).map(|number| json_risk(&format!("R{number}"), &format!(r#"{{"type":"T","a":[{values}0]}}"#))).collect();
    one_update(&risks)
}

fn answer_releases(limits: &GraphLimits) -> Vec<u8> {
    let about_release = r#"{"type":"Policy","policy":{"kind":"A","name":"a","objects":"Release"}}"#.to_owned();
    let large = |number: usize| {
        let expression = format!("object.kind.matches('[a-z]{{1000}}{number}')");
        format!(r#"{{"type":"Resource","resource":{{"apiVersion":"v1","kind":"Node","expression":"{expression}"}}}}"#)
    };
    // So many, of which each is within its share of the memory for rules.
    let rules: Vec<String> = [about_release].into_iter().chain((1..24).map(large)).collect();
    let risk = json_risk("R", &rules.join(","));
    let updates = limits.version_risk_bytes * 9 / 10 / risk.len();
    let node = |number| format!(r#"{{"version":"{}","payload":"p{number}"}}"#, version(number));
    let nodes: Vec<String> = (0..=updates).map(node).collect();
    let edges = conditional_edges(0..1, 1..updates + 1, updates);
    answer(&nodes.join(","), "", &format!(r#"{{"edges":[{edges}],"risks":[{risk}]}}"#))
}

fn answer_keys(limits: &GraphLimits) -> Vec<u8> {
    let mut pairs = String::new();
    for number in 0..limits.answer_bytes / 12 {
        let _ = write!(pairs, "\"{number:x}\":\"\",");
    }
    pairs.pop();
    answer(&nodes(1, &pairs), "", "")
}

fn answer_deep(limits: &GraphLimits) -> Vec<u8> {
    let half = limits.answer_bytes / 2 - 1_000;
    format!(r#"{{"nodes":[],"x":{}{}}}"#, "[".repeat(half), "]".repeat(half)).into_bytes()
}

fn answer_giant(limits: &GraphLimits) -> Vec<u8> {
    let giant = "x".repeat(limits.answer_bytes / 4 - 1_000);
    let risk = format!(r#"{{"name":"{giant}","url":"u","message":"{giant}","matchingRules":[{ALWAYS}]}}"#);
    let group = format!(r#"{{"edges":[{}],"risks":[{risk}]}}"#, conditional_edges(0..1, 1..2, 1));
    answer(&nodes(2, &format!(r#""a":"{giant}""#)), "", &group)
}

fn answer_escapes(limits: &GraphLimits) -> Vec<u8> {
    let each = limits.answer_bytes / 12 / 41;
    answer(&nodes(40, &format!(r#""a":"{}","b":"{}""#, "\\u0001".repeat(each), "\\u00e9".repeat(each))), "", "")
}

fn answer_numbers(limits: &GraphLimits) -> Vec<u8> {
    let mut groups = "{},".repeat(limits.answer_bytes / 3 - 10_000);
    groups.pop();
    answer(&nodes(2, ""), "", &groups)
}

fn answer_same_node(limits: &GraphLimits) -> Vec<u8> {
    let node = r#"{"version":"1.0.0","payload":"p"},"#;
    let mut all = node.repeat(limits.answer_bytes / node.len() - 10);
    all.pop();
    answer(&all, "", "")
}
