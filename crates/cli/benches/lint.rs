//! What linting costs beside only parsing the YAML with the same library: at most a quarter more.
//!
//! `cargo bench --bench lint` runs both sides in turn on the same text and ends with exit code 1 above the bound. The
//! words `mixed` and `dense` choose the objects, and `generate`, `parse` and `lint` run one side once, for a profiler.

use std::hint::black_box;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clearway_conditions::Object;
use clearway_conditions::lint::{self, Policy, lint};
use clearway_core::{Diagnostic, Limits};
use clearway_yaml::{Found, read_fields};

mod objects;

const OBJECTS: usize = 10_000;
const ROUNDS: usize = 15;
const BOUND: f64 = 1.25;
/// Appends the object of a number.
type Generate = fn(usize, &mut String);
/// Objects as a cluster has them, and objects that are hardly more than their conditions, which is the hardest case.
const MIXES: [(&str, Generate); 2] = [("mixed", objects::object), ("dense", objects::dense)];

fn main() -> ExitCode {
    // `cargo bench` adds `--bench`; without it, a tenth shows that all is well, and is enough for a profiler.
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let has = |word: &str| arguments.iter().any(|argument| argument == word);
    let timed = has("--bench");
    let count = if timed { OBJECTS } else { OBJECTS / 10 };
    let mut passes = true;
    for (name, object) in MIXES.into_iter().filter(|(name, _)| arguments.iter().all(|word| !is_mix(word)) || has(name))
    {
        let mut text = String::new();
        (0..count).for_each(|number| object(number, &mut text));
        if has("parse") {
            black_box(parse(&text));
        } else if has("lint") || !(timed || has("generate")) {
            black_box(read_and_lint(&text));
        } else if !has("generate") {
            passes &= compare(name, &text);
        }
    }
    if passes { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn is_mix(word: &str) -> bool {
    MIXES.iter().any(|(name, _)| *name == word)
}

fn compare(name: &str, text: &str) -> bool {
    let (mut parsing, mut linting) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        parsing.push(time(|| parse(text)));
        linting.push(time(|| read_and_lint(text)));
    }
    let (parsing, linting) = (median(&mut parsing), median(&mut linting));
    let ratio = linting.as_secs_f64() / parsing.as_secs_f64();
    let passes = ratio <= BOUND;
    println!("{OBJECTS} objects, {name}: {} MB of YAML, medians of {ROUNDS} rounds in turn", text.len() / 1_000_000);
    println!("  only parsing         {:7.1} ms", parsing.as_secs_f64() * 1e3);
    println!("  reading and linting  {:7.1} ms", linting.as_secs_f64() * 1e3);
    println!("  {}: {ratio:.3} times parsing, at most {BOUND}", if passes { "PASS" } else { "FAIL" });
    passes
}

/// Goes through the events of the text and keeps none: the peer.
fn parse(text: &str) -> usize {
    let mut parser = granit_parser::Parser::new_from_str(text);
    let mut events = 0;
    while let Some(event) = parser.next_event() {
        black_box(event.expect("valid YAML"));
        events += 1;
    }
    events
}

/// What `clearway status lint` does with the text, apart from writing.
fn read_and_lint(text: &str) -> usize {
    let policy = Policy::new("2026-01-01T00:00:00Z".parse().expect("a time"));
    let mut findings: Vec<Diagnostic> = Vec::new();
    let summary = read_fields(text.as_bytes(), "bench.yaml", &Limits::default(), lint::keeps, |found| match found {
        Found::Object { root, source, list } => {
            lint(&Object::new(root, source, list).expect("an object"), &policy, &mut findings);
        }
        Found::Problem(problem) => panic!("{problem:?}"),
    });
    // Findings cost what writing them costs; what is compared is a cluster that is well.
    assert!(findings.is_empty(), "{:?}", findings.first());
    summary.objects
}

fn time<T>(work: impl FnOnce() -> T) -> Duration {
    let begin = Instant::now();
    black_box(work());
    begin.elapsed()
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}
