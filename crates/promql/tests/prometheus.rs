//! What is PromQL is what Prometheus reads: queries of every kind are shown to a real one (U20).
//!
//! It must accept what we accept and refuse what we refuse, and our canonical text of a query must mean the same to it
//! as the text that was written.

use clearway_promql::{Limits, Query};
use clearway_testbed::{Component, Prometheus, have, http};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

/// How many generated queries are shown.
const QUERIES: usize = 1_500;

/// What Prometheus makes of a query: its own layout of it, or nothing.
async fn formatted(port: u16, query: &str) -> Option<String> {
    let encoded = query.bytes().fold(String::new(), |encoded, byte| encoded + &format!("%{byte:02X}"));
    let answer = http::get(port, &format!("/api/v1/format_query?query={encoded}")).await.unwrap();
    let body: serde_json::Value = serde_json::from_str(&answer.body).unwrap();
    (body["status"] == "success").then(|| body["data"].as_str().unwrap_or_default().to_owned())
}

fn pick(choices: &'static [&'static str]) -> impl Strategy<Value = String> + Clone {
    prop::sample::select(choices).prop_map(str::to_owned)
}

/// Queries of every kind, right and wrong ones. Durations stand only where they stay durations.
fn queries() -> impl Strategy<Value = String> {
    let matchers = prop::collection::vec(
        (
            pick(&["a", "on", "\"l.m\"", "__name__", "inf"]),
            pick(&["=", "!=", "=~", "!~"]),
            pick(&["\"\"", "'b'", "`c|d`", "\"\\n\"", "\"(\"", "\"[[]\"", "\"a{,2}\"", "\"\\\\d\""]),
        )
            .prop_map(|(label, op, value)| format!("{label}{op}{value}")),
        0..3,
    );
    let selector = (pick(&["x", "a:b", "sum", "start", "on", "offset", "", "{\"q.r\"}", "{"]), matchers).prop_map(
        |(name, matchers)| match name.as_str() {
            "{" => format!("{{\"q.r\",{}}}", matchers.join(",")),
            "{\"q.r\"}" => name,
            _ => format!("{name}{{{}}}", matchers.join(",")),
        },
    );
    let range = pick(&["", "", "[5m]", "[90]", "[0]", "[1e30]", "[1h:5m]", "[1h:]", "[2w1d:0s]", "[1m1h]"]);
    let shift = pick(&["", "", "", " offset 5m", " offset -1h @ 3.25", " @ start()", " @ Inf", " offset 1d offset 1d"]);
    let number = pick(&["0", "1.5", ".5", "1e3", "1e", "0x1F", "017", "08", "1_000", "1__0", "Inf", "NaN", "1e400"]);
    let leaf = prop_oneof![
        // Right ones, so that not every larger query is wrong somewhere.
        12 => pick(&["x", "y{a=\"b\"}", "x{a=~\"b|c\"} offset 5m", "a:b @ end()", "1", "{\"q.r\",\"l.m\"!=\"b\"}"]),
        1 => number,
        1 => pick(&["\"s\"", "'t\\''", "\"\\x41\"", "\"\\q\"", "time()"]),
        4 => (selector, range, shift.clone()).prop_map(|(selector, range, shift)| format!("{selector}{range}{shift}")),
    ];
    leaf.prop_recursive(3, 12, 3, move |inner| {
        let labels = pick(&["()", "(a)", "(a, b,)", "(on, group)", "(\"l.m\")", "(without)", "(inf)", "(a:b)", "(1)"]);
        let op = pick(&["+", "-", "*", "/", "%", "^", "atan2", "==", "<", "and", "or", "unless", "== bool", "+ bool"]);
        let matching = pick(&[
            "",
            "",
            "",
            "on (a)",
            "ignoring ()",
            "on (a) group_left (b)",
            "on (a) group_left (a)",
            "group_left",
        ]);
        let aggregate = pick(&["sum", "group", "MAX", "topk", "count_values", "limitk"]);
        let function = pick(&[
            "abs", "rate", "vector", "scalar", "absent", "hour", "info", "nope", "start", "min_of", "-", "", "+",
        ]);
        let more = pick(&["", "", ", 1", ", \"a\"", ", x", ","]);
        prop_oneof![
            (inner.clone(), op, matching, inner.clone())
                .prop_map(|(l, op, matching, r)| format!("{l} {op} {matching} {r}")),
            (aggregate.clone(), inner.clone()).prop_map(|(op, inner)| format!("{op}({inner})")),
            (aggregate.clone(), labels.clone(), inner.clone())
                .prop_map(|(op, labels, inner)| format!("{op} by {labels} ({inner})")),
            (aggregate, inner.clone(), labels)
                .prop_map(|(op, inner, labels)| format!("{op}(1, {inner}) without {labels}")),
            (function, inner.clone(), more).prop_map(|(function, inner, more)| format!("{function}({inner}{more})")),
            (inner, shift.clone()).prop_map(|(inner, shift)| format!("({inner})[1h:5m]{shift}")),
        ]
    })
}

#[tokio::test]
async fn prometheus_reads_what_we_read() {
    if !have(&[Component::Prometheus, Component::Promtool]) {
        return;
    }
    let flags = ["--enable-feature=promql-experimental-functions"];
    let prometheus = Prometheus::start_with("x 1", &flags).await.unwrap();
    let mut runner = TestRunner::deterministic();
    let strategy = queries();
    let mut accepted = 0;
    for _ in 0..QUERIES {
        let text = strategy.new_tree(&mut runner).unwrap().current();
        let theirs = formatted(prometheus.port(), &text).await;
        let ours = Query::parse(&text, &Limits::default());
        assert_eq!(ours.is_ok(), theirs.is_some(), "{text}: {:?}", ours.err());
        if let Ok(query) = ours {
            accepted += 1;
            let canonical = query.to_string();
            assert_eq!(formatted(prometheus.port(), &canonical).await, theirs, "{text} was printed as {canonical}");
        }
    }
    // Both kinds are shown often enough to mean something.
    assert!(accepted > QUERIES / 10 && accepted < QUERIES * 9 / 10, "{accepted} of {QUERIES} were accepted");
}
