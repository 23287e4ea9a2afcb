//! What graph-data needs of each cap: the smallest value under which it is still read, served and read back as before.
//!
//! `cargo run --release -p clearway-server --example needs -- GRAPH_DATA`: each cap is halved until something is refused.
//! The numbers in `core::GraphLimits` were found so on the public graph-data of OpenShift.

use std::num::NonZeroUsize;
use std::path::Path;
use std::process::ExitCode;

use clearway_core::{GraphLimits, Limits};
use clearway_graph::{Inputs, load, wire};
use clearway_server::Publication;
use clearway_sources::graph_data;

fn main() -> ExitCode {
    let Some(directory) = std::env::args().nth(1) else {
        eprintln!("usage: needs GRAPH_DATA");
        return ExitCode::from(3);
    };
    let inputs = match graph_data::directory(Path::new(&directory), &Limits::for_graph_data()) {
        Ok(inputs) => inputs,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::from(3);
        }
    };
    let Some(wanted) = findings(&inputs, &GraphLimits::default()) else {
        eprintln!("{directory} is refused under the default caps");
        return ExitCode::from(1);
    };
    println!("{:24} {:>12} {:>12} {:>8}", "cap", "needs", "default", "times");
    for cap in GraphLimits::CAPS {
        let passes = |value: u64| findings(&inputs, &GraphLimits::default().with(cap.name, value)) == Some(wanted);
        let needs = smallest(cap.default, passes);
        println!("{:24} {needs:12} {:12} {:8.1}", cap.name, cap.default, ratio(cap.default, needs));
    }
    ExitCode::SUCCESS
}

#[expect(clippy::cast_precision_loss, reason = "for people")]
fn ratio(default: u64, needs: u64) -> f64 {
    default as f64 / needs.max(1) as f64
}

/// The smallest value that passes, if larger ones do too.
fn smallest(most: u64, passes: impl Fn(u64) -> bool) -> u64 {
    let (mut low, mut high) = (0, most);
    while low < high {
        let middle = low + (high - low) / 2;
        if passes(middle) { high = middle } else { low = middle + 1 }
    }
    low
}

/// How many findings there are where everything is read and served; nothing if something is refused.
fn findings(inputs: &Inputs, caps: &GraphLimits) -> Option<usize> {
    let limits = Limits { graph: caps.clone(), ..Limits::default() };
    let outcome = load(inputs, &limits);
    let revision = outcome.revision?;
    let mut answers = 0_u64;
    for channel in revision.channels() {
        for arch in revision.arches() {
            let body = wire::write_within(&revision.graph(&channel.name, arch), caps).ok()?;
            answers += body.len() as u64;
            let reading = wire::read(&body, &limits);
            if reading.graph.is_none() || !reading.diagnostics.is_empty() {
                return None;
            }
        }
    }
    // Packing takes longer than all the rest, and has a say in these alone.
    let defaults = GraphLimits::default();
    let packs = caps.answers_packed != defaults.answers_packed
        || caps.answers_bytes != defaults.answers_bytes
        || caps.answers_edges != defaults.answers_edges
        || caps.answers != defaults.answers;
    if packs && (answers > 0) {
        let threads = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        Publication::prepare(inputs, &revision, None, threads).ok()?;
    }
    Some(outcome.diagnostics.len())
}
