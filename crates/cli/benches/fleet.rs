//! What a fleet costs: 10,000 snapshots of 200 series each, assessed with all risks of one version's updates.
//!
//! * `clearway fleet assess` as it is, on all processors, reading and the graph included, beside a loop that reads and hashes
//!   (SHA-256) the same files: at most five times as long; on one thread too, for comparison without a bound;
//! * ten thousand clusters beside one thousand: at most eleven times as long;
//! * the memory of the program: below 500 MiB.
//!
//! `cargo bench --bench fleet` writes the snapshots into a temporary directory, runs the program and its peer in turns, and
//! ends with exit code 1 above a bound; the medians count. The graph is that of `GRAPH_DATA` with the updates in
//! `candidate-4.14` from 4.13.19, or an answer with as many updates and about as many risks. Without `--bench`, a few snapshots show that all is well.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::hint::black_box;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use clearway_advice::{Plan, Settings};
use clearway_core::{Digest, Limits, Timestamp, Version};
use clearway_graph::{Graph, load, wire};
use clearway_promql::ast::MatchOp;
use clearway_promql::read::{self, ReadLimits};
use clearway_promql::{Query, Selector};
use clearway_sources::graph_data;
use clearway_sources::prometheus::windows;
use clearway_sources::snapshot::{self, ClusterFacts, Part, SeriesEvidence, Snapshot};
use serde_json::{Value, json};

#[path = "../../promql/tests/evaluation/risks.rs"]
mod risks;

const MANY: usize = 10_000;
const FEW: usize = 1_000;
const SERIES: usize = 200;
const ROUNDS: usize = 5;
/// 2026-05-04T09:00:00Z
const TAKEN_AT: i64 = 1_777_885_200;
const MOST_TIMES: f64 = 5.0;
const MOST_GROWTH: f64 = 11.0;
const MOST_MEMORY: u64 = 500 << 10;

/// Updates of the generated graph.
const UPDATES: usize = 118;

/// The graph, and where its clusters are.
struct Case {
    path: PathBuf,
    graph: Graph,
    channel: &'static str,
    version: &'static str,
}

fn main() -> ExitCode {
    let timed = std::env::args().any(|argument| argument == "--bench");
    let (few, many, rounds) = if timed { (FEW, MANY, ROUNDS) } else { (5, 20, 1) };
    let scratch = tempfile::tempdir().unwrap();
    let case = case(scratch.path());
    let questions = questions(&case);
    let selectors: Vec<Selector> = questions.iter().flat_map(Query::selectors).cloned().collect();
    println!("{} at {}: {} queries, {} selectors", case.channel, case.version, questions.len(), selectors.len());
    let mut files = Vec::new();
    let mut bytes = 0;
    for (directory, count) in [("few", few), ("many", many)] {
        for number in 0..count {
            let place = scratch.path().join(directory).join(format!("{number:05}"));
            fs::create_dir_all(&place).unwrap();
            for (name, content) in snapshot::to_files(&taken(&case, &questions, &selectors, number)).unwrap() {
                bytes += content.len();
                let path = place.join(name);
                fs::write(&path, content).unwrap();
                if directory == "many" {
                    files.push(path);
                }
            }
        }
    }
    println!("{many} snapshots of {SERIES} series, {} kB each", bytes / (few + many) / 1_000);
    let (mut ratios, mut alone, mut growth, mut memory) = (Vec::new(), Vec::new(), Vec::new(), 0);
    for _ in 0..rounds {
        let hashing = hash(&files);
        let (assessing, peak) = assess(&case, &scratch.path().join("many"), many, &[]);
        let (on_one, _) = assess(&case, &scratch.path().join("many"), many, &["--threads", "1"]);
        let (fewer, _) = assess(&case, &scratch.path().join("few"), few, &[]);
        alone.push(on_one.as_secs_f64() / hashing.as_secs_f64());
        ratios.push(assessing.as_secs_f64() / hashing.as_secs_f64());
        growth.push(assessing.as_secs_f64() / fewer.as_secs_f64());
        memory = memory.max(peak);
        let each = |whole: Duration| whole.as_secs_f64() * 1e6 / f64::from(u32::try_from(many).unwrap());
        println!(
            "    hashing {:.1} us a snapshot, assessing {:.1} us, on one thread {:.1} us",
            each(hashing),
            each(assessing),
            each(on_one)
        );
    }
    let outcomes = [
        verdict("assessing / reading and hashing", median(ratios), MOST_TIMES, timed),
        verdict(&format!("{many} clusters / {few}"), median(growth), MOST_GROWTH, timed),
        memory <= MOST_MEMORY,
    ];
    println!("  one thread beside one thread: {:.2} times", median(alone));
    println!("  {}: {memory} kB of memory, at most {MOST_MEMORY}", if outcomes[2] { "PASS" } else { "FAIL" });
    if outcomes.iter().all(|within| *within) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn verdict(name: &str, ratio: f64, bound: f64, timed: bool) -> bool {
    let holds = ratio <= bound || !timed;
    println!("  {}: {name}: {ratio:.2} times, at most {bound}", if holds { "PASS" } else { "FAIL" });
    holds
}

fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers[numbers.len() / 2]
}

fn case(scratch: &Path) -> Case {
    if let Some(path) = std::env::var_os("GRAPH_DATA").map(PathBuf::from) {
        let inputs = graph_data::directory(&path, &Limits::default()).unwrap();
        let revision = load(&inputs, &Limits::default()).revision.unwrap();
        let channel = "candidate-4.14";
        let graph = revision.graph(channel, &"amd64".parse().unwrap());
        return Case { path, graph, channel, version: "4.13.19" };
    }
    let node = |patch: usize| json!({"version": format!("1.0.{patch}"), "payload": format!("example.com/p@{patch}")});
    let edge = |patch: usize| json!({"from": "1.0.0", "to": format!("1.0.{patch}")});
    let risk = |(number, query): (usize, &&str)| {
        json!({
            "name": format!("Risk{number}"), "url": "https://example.com", "message": "It happens.",
            "matchingRules": [{"type": "PromQL", "promql": {"promql": query}}],
        })
    };
    let answer = json!({
        "nodes": (0..=UPDATES).map(node).collect::<Vec<_>>(),
        "conditionalEdges": [{
            "edges": (1..=UPDATES).map(edge).collect::<Vec<_>>(),
            "risks": risks::RISKS.iter().enumerate().map(risk).collect::<Vec<_>>(),
        }],
    });
    let (path, text) = (scratch.join("graph.json"), answer.to_string());
    fs::write(&path, &text).unwrap();
    let graph = wire::read(text.as_bytes(), &Limits::default()).graph.unwrap();
    Case { path, graph, channel: "stable", version: "1.0.0" }
}

/// The distinct queries of the risks.
fn questions(case: &Case) -> Vec<Query> {
    let version: Version = case.version.parse().unwrap();
    let plan = Plan::new(&case.graph, &version, &Settings::default()).unwrap();
    println!("{} updates, {} risks", plan.targets().len(), plan.risks().len());
    plan.questions().into_iter().map(|question| question.query().clone()).collect()
}

/// A snapshot as it is taken from a cluster: the series that the queries ask for, and more of the same metrics.
fn taken(case: &Case, questions: &[Query], selectors: &[Selector], number: usize) -> Snapshot {
    let time = TAKEN_AT * 1_000;
    let mut lines: BTreeSet<String> = BTreeSet::new();
    for index in 0.. {
        if lines.len() >= SERIES {
            break;
        }
        let selector = &selectors[(index * 7 + number) % selectors.len()];
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
        let value = index % 2;
        lines.insert(format!(
            "{}{{{}}} {}:{value} +30000x9:{value}\n",
            metric.name.text,
            labels.join(","),
            time - 270_000
        ));
    }
    let text = format!(
        "{}\n{}# end {}\n",
        read::SNAPSHOT_HEADER,
        lines.iter().map(String::as_str).collect::<String>(),
        lines.len()
    );
    let series = read::snapshot(text.as_bytes(), &ReadLimits::default()).unwrap();
    let evidence = SeriesEvidence { series, windows: windows(questions, time), whole: false };
    Snapshot {
        cluster: ClusterFacts {
            id: Some(format!("00000000-0000-4000-8000-{number:012}")),
            version: Some(case.version.parse().unwrap()),
            arch: Some("amd64".parse().unwrap()),
            channel: Some(case.channel.to_owned()),
            kubernetes_version: None,
        },
        sources: vec!["https://prometheus.example.com".to_owned()],
        series: Part::Collected(evidence),
        ..Snapshot::new(Timestamp::from_seconds(TAKEN_AT).unwrap())
    }
}

/// Reads and hashes every file, one after the other.
fn hash(files: &[PathBuf]) -> Duration {
    let begin = Instant::now();
    let mut content = Vec::new();
    for file in files {
        content.clear();
        File::open(file).unwrap().read_to_end(&mut content).unwrap();
        black_box(Digest::sha256(&content));
    }
    begin.elapsed()
}

/// Runs the program: how long it takes, and the most memory it needed in kB.
fn assess(case: &Case, snapshots: &Path, clusters: usize, more: &[&str]) -> (Duration, u64) {
    let begin = Instant::now();
    let child = Command::new(env!("CARGO_BIN_EXE_clearway"))
        .args(["fleet", "assess", "-o", "json"])
        .args(more)
        .arg("--graph")
        .arg(&case.path)
        .args(["--as-of", "snapshot"])
        .arg("--snapshots")
        .arg(snapshots)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let mut child = child.unwrap();
    let mut output = child.stdout.take().unwrap();
    let status = format!("/proc/{}/status", child.id());
    let (text, elapsed, highest) = thread::scope(|scope| {
        let reader = scope.spawn(move || {
            let mut text = Vec::new();
            output.read_to_end(&mut text).unwrap();
            text
        });
        // The high-water mark only rises, so that the last look before the end has it but for a moment.
        let mut highest = 0;
        while child.try_wait().unwrap().is_none() {
            let seen = fs::read_to_string(&status).unwrap_or_default();
            let mark = seen.lines().find_map(|line| line.strip_prefix("VmHWM:"));
            highest = mark.map_or(highest, |mark| mark.trim().trim_end_matches("kB").trim().parse().unwrap());
            thread::sleep(Duration::from_millis(2));
        }
        let elapsed = begin.elapsed();
        (reader.join().unwrap(), elapsed, highest)
    });
    let told: Value = serde_json::from_slice(&text).unwrap();
    assert_eq!(told["summary"]["clusters"], clusters);
    assert_eq!(told["summary"]["refused"], 0);
    let risks = told["risks"].as_array().unwrap();
    assert!(risks.iter().any(|risk| risk["match"] != 0 || risk["noMatch"] != 0), "some risks are evaluated");
    (elapsed, highest)
}
