//! What the update graph costs, as ratios on graph-data of a large product's size:
//!
//! * loading it and building every answer, beside reading and hashing its files: at most ten times as long;
//! * ten copies that share nothing, beside one: at most eleven times as long;
//! * loading and linting it, beside only parsing the same files with the library that reads YAML (which JSON is, too):
//!   at most five times as long. Beside only those that are written in YAML, it is shown and has no bound: most of the
//!   bytes are a list of releases in JSON, which is loaded all the same.
//!
//! `cargo bench --bench graph` runs both sides of each in turn and ends with exit code 1 above a bound. The data are
//! those of `GRAPH_DATA`, or generated. One copy and ten are each loaded by a process of its own, as in life: in one
//! process the smaller would get its memory for nothing from the round before. The words `hash`, `build`, `parse`,
//! `parse-yaml` and `lint` run one side once, for a profiler that counts instructions where the machine is too busy for a
//! clock.

use std::fs;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use clearway_core::{Digest, Limits};
use clearway_graph::{Inputs, lint, load, wire};

#[path = "../../graph/examples/generate/data.rs"]
mod data;
#[path = "../src/commands/graph/lint/rule_texts.rs"]
mod rule_texts;

/// As in the program that is measured.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

const ROUNDS: usize = 11;
const COPIES: usize = 10;

/// One side of a comparison.
type Side<'d> = &'d dyn Fn() -> usize;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let scratch = tempfile::tempdir().unwrap();
    let given = std::env::var_os("GRAPH_DATA").map(PathBuf::from);
    let directory = given.clone().unwrap_or_else(|| written(&scratch.path().join("one"), 0..1));
    let inputs = gather(&directory);
    let sides: [(&str, Side<'_>); 5] = [
        ("hash", &|| hash(&gather(&directory))),
        ("build", &|| build(&gather(&directory))),
        ("parse", &|| parse(&inputs, &["yaml", "json"])),
        ("parse-yaml", &|| parse(&inputs, &["yaml"])),
        ("lint", &|| checked(&inputs)),
    ];
    let side = |name: &str| sides.iter().find(|(word, _)| *word == name).unwrap().1;
    if let Some((_, side)) = sides.iter().find(|(word, _)| arguments.iter().any(|argument| argument == word)) {
        black_box(side());
        return ExitCode::SUCCESS;
    }
    if !arguments.iter().any(|argument| argument == "--bench") {
        // `cargo test` only looks whether it runs.
        return if build(&inputs) > 0 && checked(&inputs) > 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    let one = written(&scratch.path().join("one"), 0..1);
    let ten = written(&scratch.path().join("ten"), 0..COPIES);
    let shown = given.map_or_else(|| "generated data".to_owned(), |path| path.display().to_string());
    println!("{shown}: {} files", inputs.iter().count());
    let outcomes = [
        compare("load and build every answer / read and hash", side("build"), side("hash"), 10.0),
        compare("ten copies / one", &|| elsewhere(&ten), &|| elsewhere(&one), 11.0),
        compare("load and lint / parse the files", side("lint"), side("parse"), 5.0),
    ];
    compare("load and lint / parse those in YAML", side("lint"), side("parse-yaml"), f64::INFINITY);
    if outcomes.iter().all(|within| *within) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Both sides take turns, so that whatever else the machine does meets both alike; the ratio is the median of all turns.
fn compare(name: &str, side: Side<'_>, peer: Side<'_>, bound: f64) -> bool {
    let mut ratios: Vec<f64> = (0..ROUNDS).map(|_| time(side) / time(peer)).collect();
    ratios.sort_by(f64::total_cmp);
    let (least, ratio, most) = (ratios[0], ratios[ROUNDS / 2], ratios[ROUNDS - 1]);
    let (verdict, at_most) = match bound {
        f64::INFINITY => ("", String::new()),
        _ if ratio <= bound => ("PASS: ", format!(", at most {bound}")),
        _ => ("FAIL: ", format!(", at most {bound}")),
    };
    println!("  {verdict}{name}: {ratio:.2} times{at_most} ({least:.2} to {most:.2})");
    ratio <= bound
}

fn time(side: Side<'_>) -> f64 {
    let start = Instant::now();
    black_box(side());
    start.elapsed().as_secs_f64()
}

fn hash(inputs: &Inputs) -> usize {
    inputs.iter().map(|(_, content)| black_box(Digest::sha256(content)).to_string().len()).sum()
}

/// Loads everything and builds every answer; the bytes of all of them.
fn build(inputs: &Inputs) -> usize {
    let revision = load(inputs, &Limits::default()).revision.expect("the data are not refused");
    let pairs = revision.channels().flat_map(|channel| revision.arches().iter().map(move |arch| (channel, arch)));
    pairs.map(|(channel, arch)| black_box(wire::write(&revision.graph(&channel.name, arch))).len()).sum()
}

/// Builds a directory in a process of its own.
fn elsewhere(directory: &Path) -> usize {
    let this = std::env::current_exe().unwrap();
    let status = std::process::Command::new(this).arg("build").env("GRAPH_DATA", directory).status().unwrap();
    assert!(status.success());
    0
}

/// Reads the files of some endings and nothing more; the number of documents.
fn parse(inputs: &Inputs, endings: &[&str]) -> usize {
    let mut documents = 0;
    let wanted =
        |path: &str| Path::new(path).extension().is_some_and(|end| endings.iter().any(|wanted| end == *wanted));
    for (path, content) in inputs.iter().filter(|(path, _)| wanted(path)) {
        clearway_yaml::read(content, path, &Limits::default(), |found| {
            black_box(&found);
            documents += 1;
        });
    }
    documents
}

/// Loads and lints everything; the number of findings.
fn checked(inputs: &Inputs) -> usize {
    let outcome = load(inputs, &Limits::default());
    let revision = outcome.revision.expect("the data are not refused");
    outcome.diagnostics.len()
        + lint(&revision, inputs, &rule_texts::TextReader::with(clearway_promql::Fence::default())).len()
}

/// The files of a graph-data directory.
fn gather(root: &Path) -> Inputs {
    let mut inputs = Inputs::new();
    let mut add = |path: PathBuf| {
        let name = path.strip_prefix(root).unwrap().to_string_lossy().into_owned();
        inputs.insert(name, fs::read(&path).unwrap());
    };
    add(root.join("version"));
    for directory in ["channels", "blocked-edges", "risks", "releases", "raw"] {
        let entries = fs::read_dir(root.join(directory)).into_iter().flatten();
        entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_file()).for_each(&mut add);
    }
    inputs
}

fn written(root: &Path, copies: std::ops::Range<usize>) -> PathBuf {
    for (path, text) in copies.flat_map(data::files) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    root.to_owned()
}
