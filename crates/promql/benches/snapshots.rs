//! What reading snapshots and asking them the queries of update risks costs, beside reading and hashing the files: at most
//! five times.
//!
//! `cargo bench --bench snapshots` writes 10,000 snapshots of 200 series each, goes over them both ways in turns, and ends
//! with exit code 1 above the bound. Without `--bench`, a hundredth of them shows that all is well.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::hint::black_box;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use clearway_promql::ast::MatchOp;
use clearway_promql::eval::{self, Settings};
use clearway_promql::read::{self, ReadLimits};
use clearway_promql::{Limits, Millis, Query};
use sha2::{Digest, Sha256};

#[path = "../tests/evaluation/risks.rs"]
mod risks;

const SNAPSHOTS: usize = 10_000;
const SERIES: usize = 200;
const TIME: i64 = 1_700_000_000_000;
const ROUNDS: usize = 5;
const BOUND: f64 = 5.0;

fn main() -> ExitCode {
    let timed = std::env::args().any(|argument| argument == "--bench");
    let count = if timed { SNAPSHOTS } else { SNAPSHOTS / 100 };
    let queries: Vec<Query> =
        risks::RISKS.iter().map(|text| Query::parse(text, &Limits::default()).expect("a query")).collect();
    let directory = tempfile::tempdir().expect("a directory");
    let mut files = Vec::new();
    let mut bytes = 0;
    for number in 0..count {
        let file = directory.path().join(format!("{number}.series"));
        let text = snapshot(&queries, number);
        bytes += text.len();
        fs::write(&file, text).expect("a file");
        files.push(file);
    }
    let (mut hashing, mut reading, mut asking) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..if timed { ROUNDS } else { 1 } {
        hashing.push(time(&files, |bytes| {
            black_box(Sha256::digest(bytes));
        }));
        reading.push(time(&files, |bytes| {
            black_box(read::snapshot(bytes, &ReadLimits::default()).expect("a snapshot"));
        }));
        asking.push(time(&files, |bytes| {
            let series = read::snapshot(bytes, &ReadLimits::default()).expect("a snapshot");
            for query in &queries {
                let _ = black_box(eval::instant(query, &series, Millis(TIME), &Settings::default()));
            }
        }));
    }
    let (hashing, reading, asking) = (median(hashing), median(reading), median(asking));
    let ratio = asking / hashing;
    let passes = ratio <= BOUND || !timed;
    println!("{count} snapshots of {SERIES} series, {} MB, {} queries each", bytes / 1_000_000, queries.len());
    #[expect(clippy::cast_precision_loss, reason = "a small number")]
    let each = 1e6 / count as f64;
    println!("  reading and hashing   {:7.1} us a snapshot", hashing * each);
    println!("  reading into a store  {:7.1} us a snapshot", reading * each);
    println!("  and asking it         {:7.1} us a snapshot", asking * each);
    println!("  {}: {ratio:.2} times reading and hashing, at most {BOUND}", if passes { "PASS" } else { "FAIL" });
    if passes { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Goes over all files.
fn time(files: &[PathBuf], mut with: impl FnMut(&[u8])) -> f64 {
    let begin = Instant::now();
    for file in files {
        with(&fs::read(file).expect("a file"));
    }
    begin.elapsed().as_secs_f64()
}

/// Series as a cluster has them: some of what the queries ask for, and more of the same metrics.
fn snapshot(queries: &[Query], number: usize) -> String {
    let mut lines: BTreeSet<String> = BTreeSet::new();
    let selectors: Vec<_> = queries.iter().flat_map(Query::selectors).collect();
    for index in 0.. {
        if lines.len() >= SERIES {
            break;
        }
        let selector = selectors[(index * 7 + number) % selectors.len()];
        let Some(metric) = &selector.metric else { continue };
        let mut labels = vec![
            ("endpoint", "https-metrics".to_owned()),
            ("instance", format!("10.128.{}.{}:8443", index % 7, index)),
            ("namespace", "cluster-monitoring-operators".to_owned()),
            ("pod", format!("metrics-exporter-{:x}-{index}", number * 977 + index)),
        ];
        for matcher in &selector.matchers {
            if matcher.op == MatchOp::Equal && !matcher.value.text.is_empty() && index % 3 > 0 {
                labels.push((&matcher.label.text, matcher.value.text.clone()));
            }
        }
        labels.sort();
        labels.dedup_by(|later, kept| later.0 == kept.0);
        let labels: Vec<String> = labels.iter().map(|(name, value)| format!("{name}=\"{value}\"")).collect();
        lines.insert(format!(
            "{}{{{}}} {}:{} +30000x9:{}\n",
            metric.name.text,
            labels.join(","),
            TIME - 300_000,
            index % 2,
            index % 2
        ));
    }
    let mut text = format!("{}\n", read::SNAPSHOT_HEADER);
    text.extend(lines.iter().map(String::as_str));
    let _ = writeln!(text, "# end {}", lines.len());
    text
}

fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_unstable_by(f64::total_cmp);
    numbers.get(numbers.len() / 2).copied().unwrap_or_default()
}
