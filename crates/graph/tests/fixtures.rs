//! Tiny graph-data for tests: three releases a minor, two architectures, one channel.

use clearway_core::{Arch, Limits, Version};
use clearway_graph::{Graph, Inputs, Outcome, Verdict, load};

/// Releases 1.0.0 to 1.0.2 for two architectures, each updating to every later one, in the channel `stable-1`.
pub(crate) fn inputs(files: &[(&str, &str)]) -> Inputs {
    let mut releases = Vec::new();
    for arch in ["amd64", "arm64"] {
        for (version, previous) in [("1.0.0", ""), ("1.0.1", r#""1.0.0""#), ("1.0.2", r#""1.0.0","1.0.1""#)] {
            releases.push(format!(
                r#"{{"version":"{version}","arch":"{arch}","payload":"example.com/{arch}@sha256:{version}","previous":[{previous}]}}"#
            ));
        }
    }
    let releases = format!("[\n{}\n]\n", releases.join(",\n"));
    let base = [
        ("version", "1.1.0\n"),
        ("channels/stable-1.yaml", "name: stable-1\nversions: [1.0.0, 1.0.1, 1.0.2]\n"),
        ("releases/all.json", releases.as_str()),
    ];
    base.iter().chain(files).map(|(path, content)| (*path, *content)).collect()
}

pub(crate) fn loaded(files: &[(&str, &str)]) -> Outcome {
    load(&inputs(files), &Limits::default())
}

pub(crate) fn arch(name: &str) -> Arch {
    name.parse().unwrap()
}

pub(crate) fn version(text: &str) -> Version {
    text.parse().unwrap()
}

/// The codes of what was found, each with its file and line.
pub(crate) fn codes(outcome: &Outcome) -> Vec<String> {
    let shown = |found: &clearway_core::Diagnostic| {
        let line = found.place.position.map_or(0, |position| position.line);
        format!("{} {}:{line}", found.code, found.place.file.as_deref().unwrap_or("-"))
    };
    outcome.diagnostics.iter().map(shown).collect()
}

/// What is served of one update: `open`, `gone`, or the names of its risks.
pub(crate) fn served(graph: &Graph, from: &str, to: &str) -> String {
    let (Some(from), Some(to)) = (graph.find(&version(from)), graph.find(&version(to))) else {
        return "no node".into();
    };
    let found: Vec<_> = graph.updates().filter(|(edge, _)| (edge.from, edge.to) == (from, to)).collect();
    match found.as_slice() {
        [] => "gone".to_owned(),
        [(_, [])] => "open".to_owned(),
        [(_, risks)] => risks.iter().map(|risk| risk.name()).collect::<Vec<_>>().join(","),
        _ => "repeated".to_owned(),
    }
}

/// The three updates of the tiny graph for an architecture: `1.0.0>1.0.1 1.0.0>1.0.2 1.0.1>1.0.2`.
pub(crate) fn updates(outcome: &Outcome, of: &str) -> [String; 3] {
    let revision = outcome.revision.as_ref().expect("a revision");
    let graph = revision.graph("stable-1", &arch(of));
    [("1.0.0", "1.0.1"), ("1.0.0", "1.0.2"), ("1.0.1", "1.0.2")].map(|(from, to)| {
        let says = served(&graph, from, to);
        let explained = revision.explain(&version(from), &version(to), &arch(of)).expect("both releases");
        let agrees = match explained.verdict {
            Verdict::Recommended => says == "open",
            Verdict::Removed | Verdict::NotListed => says == "gone",
            Verdict::Conditional(risks) => says.split(',').eq(risks.iter().map(|risk| risk.name())),
        };
        assert!(agrees, "explained otherwise than served: {from} {to} {says} {explained:?}");
        says
    })
}
