//! Any text as each of the files of graph-data, beside good ones: loading ends, answers are the same twice, and a file
//! that blocks never opens an edge that is closed without it.
#![no_main]

use clearway_core::{Arch, Limits};
use clearway_graph::{Inputs, load, wire};
use libfuzzer_sys::fuzz_target;

const RELEASES: &str = "- {version: 1.0.0, arch: amd64, payload: a}\n- {version: 1.0.1, arch: amd64, payload: b, previous: [1.0.0]}\n";

fn inputs(extra: Option<(&str, &str)>) -> Inputs {
    let good = [
        ("version", "1.1.0\n"),
        ("raw/metadata.json", "{}"),
        ("channels/a.yaml", "name: a\nversions: [1.0.0, 1.0.1]\n"),
        ("releases/a.yaml", RELEASES),
        ("blocked-edges/1.0.1.yaml", "to: 1.0.1\nfrom: .*\n"),
    ];
    good.into_iter().chain(extra).collect()
}

fuzz_target!(|input: (u8, &str)| {
    let (which, text) = input;
    let paths = ["channels/b.yaml", "blocked-edges/b.yaml", "risks/b.yaml", "releases/b.yaml", "raw/metadata.json", "version"];
    let path = paths[usize::from(which) % paths.len()];
    let body = |inputs: &Inputs| {
        let revision = load(inputs, &Limits::default()).revision?;
        Some(wire::write(&revision.graph("a", &Arch::default())))
    };
    let inputs = inputs(Some((path, text)));
    let first = body(&inputs);
    assert_eq!(first, body(&inputs));
    if matches!(path, "blocked-edges/b.yaml" | "risks/b.yaml") {
        // The only edge is blocked already.
        let graph = first.and_then(|body| wire::read(&body, &Limits::default()).graph);
        assert!(graph.is_none_or(|graph| graph.edges().is_empty()));
    }
});
