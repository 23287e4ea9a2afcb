//! What linting costs beside only parsing the YAML with the same library: at most a quarter more.
//!
//! `cargo bench --bench lint` runs both sides in turn on the same text and ends with exit code 1 above the bound. The
//! words `mixed` and `dense` choose the objects, and `generate`, `parse` and `lint` run one side once, for a profiler.

use std::hint::black_box;
use std::process::ExitCode;
use std::time::Instant;

use clearway_conditions::Object;
use clearway_conditions::lint::{self, Policy, lint};
use clearway_core::{Diagnostic, Limits};
use clearway_yaml::{ReadEvent, read_fields};

#[path = "objects/generate.rs"]
mod objects;

const OBJECTS: usize = 10_000;
/// Objects of one turn.
const SLICE: usize = 100;
const ROUNDS: usize = 12;
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
        if timed && !["generate", "parse", "lint"].iter().any(|side| has(side)) {
            passes &= compare(name, object);
            continue;
        }
        let mut text = String::new();
        (0..count).for_each(|number| object(number, &mut text));
        if has("parse") {
            black_box(parse(&text));
        } else if !has("generate") {
            black_box(read_and_lint(&text));
        }
    }
    if passes { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn is_mix(word: &str) -> bool {
    MIXES.iter().any(|(name, _)| *name == word)
}

/// Both sides take turns on slices of some milliseconds, so that whatever else the machine does meets both alike, and the
/// ratio is the median of the ratios of all turns.
fn compare(name: &str, object: Generate) -> bool {
    let slices: Vec<String> = (0..OBJECTS / SLICE)
        .map(|slice| {
            let mut text = String::new();
            (0..SLICE).for_each(|number| object(slice * SLICE + number, &mut text));
            text
        })
        .collect();
    let (mut parsing, mut linting, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        for text in &slices {
            // Who comes first finds the text in no cache, so that is each by turns.
            let (parsed, linted) = if round % 2 == 0 {
                let parsed = time(|| parse(text));
                (parsed, time(|| read_and_lint(text)))
            } else {
                let linted = time(|| read_and_lint(text));
                (time(|| parse(text)), linted)
            };
            ratios.push(linted / parsed);
            parsing.push(parsed);
            linting.push(linted);
        }
    }
    let (parsing, linting, ratio) = (median(parsing), median(linting), median(ratios));
    #[expect(clippy::cast_precision_loss, reason = "a small number")]
    let per_turn = SLICE as f64;
    let passes = ratio <= BOUND;
    let bytes: usize = slices.iter().map(String::len).sum();
    println!(
        "{OBJECTS} objects, {name}, {} MB of YAML; {SLICE} at a time in turns, medians of {ROUNDS} rounds",
        bytes / 1_000_000
    );
    println!("  only parsing         {:6.2} us an object", parsing * 1e6 / per_turn);
    println!("  reading and linting  {:6.2} us an object", linting * 1e6 / per_turn);
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
    let summary =
        read_fields(text.as_bytes(), "bench.yaml", &Limits::default(), lint::needs_field, |found| match found {
            ReadEvent::Object { root, source, list } => {
                lint(&Object::new(root, source, list).expect("an object"), &policy, &mut findings);
            }
            ReadEvent::Problem(problem) => panic!("{problem:?}"),
        });
    // Findings cost what writing them costs; what is compared is a cluster that is well.
    assert!(findings.is_empty(), "{:?}", findings.first());
    summary.objects
}

/// How long it takes, in seconds.
fn time<T>(work: impl FnOnce() -> T) -> f64 {
    let begin = Instant::now();
    black_box(work());
    begin.elapsed().as_secs_f64()
}

fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_unstable_by(f64::total_cmp);
    numbers.get(numbers.len() / 2).copied().unwrap_or_default()
}
