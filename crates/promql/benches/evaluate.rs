//! What an evaluation costs beside asking a real Prometheus over HTTP for the same: at most a tenth.
//!
//! `cargo bench --bench evaluate` fills both with 100,000 series of one hour, asks queries in the shapes of update risks
//! in turns, and ends with exit code 1 below the bound. `CLEARWAY_PROMQL_QUERIES` names a file with further queries, with
//! lines of `---` between them; the metrics are those the queries use. Without `--bench`, a hundredth of the series shows
//! that all is well.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::process::ExitCode;
use std::time::Instant;

use clearway_promql::ast::MatchOp;
use clearway_promql::eval::{self, Settings, Value};
use clearway_promql::read::{self, ReadLimits};
use clearway_promql::{Limits, Millis, Query};
use clearway_testbed::{Component, Prometheus, have, http};

#[path = "../tests/evaluation/risks.rs"]
mod risks;

const SERIES: usize = 100_000;
/// One sample in thirty seconds for an hour.
const SAMPLES: usize = 121;
const END: i64 = 1_700_003_600;
const ROUNDS: usize = 15;
const BOUND: f64 = 10.0;

fn main() -> ExitCode {
    let timed = std::env::args().any(|argument| argument == "--bench");
    if !have(&[Component::Prometheus, Component::Promtool]) {
        return ExitCode::SUCCESS;
    }
    let given =
        std::env::var("CLEARWAY_PROMQL_QUERIES").ok().map(|file| std::fs::read_to_string(file).expect("a file"));
    let texts: Vec<&str> = match &given {
        Some(text) => text.split("\n---\n").collect(),
        None => risks::RISKS.to_vec(),
    };
    let queries: Vec<Query> =
        texts.iter().map(|text| Query::parse(text, &Limits::default()).expect("a query")).collect();
    let count = if timed { SERIES } else { SERIES / 100 };
    let text = series(&queries, count);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let prometheus = runtime.block_on(Prometheus::start(&text)).expect("Prometheus");
    let large = ReadLimits { bytes: 4 << 30, ..ReadLimits::default() };
    let begin = Instant::now();
    let store = read::open_metrics(format!("{text}# EOF\n").as_bytes(), Millis(0), &large).expect("series");
    println!(
        "{} series with {} samples, loaded here in {:.1} s",
        store.len(),
        store.samples(),
        begin.elapsed().as_secs_f64()
    );
    let mut totals = (0.0, 0.0);
    let mut worst = (f64::INFINITY, "");
    let rounds = if timed { ROUNDS } else { 1 };
    for text in &texts {
        let encoded = text.bytes().fold(String::new(), |encoded, byte| encoded + &format!("%{byte:02X}"));
        let path = format!("/api/v1/query?query={encoded}&time={END}");
        let (mut here, mut there) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            let begin = Instant::now();
            let query = Query::parse(text, &Limits::default()).expect("a query");
            let ours = eval::instant(&query, &store, Millis(END * 1000), &Settings::default());
            here.push(begin.elapsed().as_secs_f64());
            let begin = Instant::now();
            let body = runtime.block_on(http::get(prometheus.port(), &path)).expect("an answer").body;
            there.push(begin.elapsed().as_secs_f64());
            let theirs = read::api(body.as_bytes(), &ReadLimits::default());
            // Both must have done the same.
            assert_eq!(
                ours.map(|answer| length(&answer.value)).ok(),
                theirs.map(|answer| length(&answer.value)).ok(),
                "{text}"
            );
        }
        let (here, there) = (median(here), median(there));
        totals = (totals.0 + here, totals.1 + there);
        if there / here < worst.0 {
            worst = (there / here, text);
        }
    }
    let ratio = totals.1 / totals.0;
    let passes = ratio >= BOUND || !timed;
    println!("{} queries, parsed and evaluated; medians of {rounds} rounds, all together", texts.len());
    println!("  Prometheus over HTTP  {:8.2} ms", totals.1 * 1e3);
    println!("  evaluated here        {:8.2} ms", totals.0 * 1e3);
    println!(
        "  the query with the least gain is {:.1} times faster: {}",
        worst.0,
        worst.1.lines().next().unwrap_or_default()
    );
    println!("  {}: {ratio:.1} times faster, at least {BOUND}", if passes { "PASS" } else { "FAIL" });
    if passes { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn length(value: &Value) -> usize {
    match value {
        Value::Vector(samples) => samples.len(),
        Value::Matrix(rows) => rows.len(),
        Value::Scalar(_) | Value::String(_) => 1,
    }
}

/// Series of every metric the queries use, with the labels they match, spread evenly.
fn series(queries: &[Query], count: usize) -> String {
    let mut metrics: BTreeMap<&str, BTreeMap<&str, Vec<String>>> = BTreeMap::new();
    for query in queries {
        for selector in query.selectors() {
            let Some(metric) = &selector.metric else { continue };
            let labels = metrics.entry(&metric.name.text).or_default();
            for matcher in selector.matchers.iter().filter(|matcher| matcher.label.text != "_id") {
                let values =
                    labels.entry(&matcher.label.text).or_insert_with(|| vec!["other".to_owned(), "4.12.9".to_owned()]);
                if matcher.op == MatchOp::Equal && !matcher.value.text.is_empty() {
                    values.push(matcher.value.text.clone());
                }
            }
        }
    }
    let each = count / metrics.len().max(1);
    let mut names = Vec::new();
    for (metric, labels) in &metrics {
        for number in 0..each {
            let mut name =
                format!("{metric}{{instance=\"10.0.{}.{}:9100\",uid=\"{number}\"", number / 250, number % 250);
            for (index, (label, values)) in
                labels.iter().filter(|(label, _)| !["instance", "uid"].contains(label)).enumerate()
            {
                let value = &values[(number / (index + 1)) % values.len()];
                let _ = write!(name, ",{label}=\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\""));
            }
            name.push('}');
            names.push(name);
        }
    }
    let mut text = String::new();
    for step in 0..SAMPLES {
        let time = END - 30 * i64::try_from(SAMPLES - 1 - step).unwrap_or_default();
        for (number, name) in names.iter().enumerate() {
            let _ = writeln!(text, "{name} {} {time}", (number + step / 40) % 3);
        }
    }
    text
}

fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_unstable_by(f64::total_cmp);
    numbers.get(numbers.len() / 2).copied().unwrap_or_default()
}
