//! Any bytes as the answer of an update service, read as the operator does, under caps small enough to be met: reading and
//! planning end, what is refused is named, and no update is offered more freely than under the usual caps.
#![no_main]

use clearway_advice::{Plan, Settings};
use clearway_core::{GraphLimits, Limits, Version};
use clearway_graph::{Graph, wire};
use libfuzzer_sys::fuzz_target;

fn limits(graph: GraphLimits) -> Limits {
    Limits { graph, ..Limits::default() }
}

/// The updates that are offered to everybody.
fn open(graph: &Graph) -> Vec<(Version, Version)> {
    let version = |place: u32| graph.node(place).unwrap().version().clone();
    graph.edges().iter().map(|edge| (version(edge.from), version(edge.to))).collect()
}

fuzz_target!(|bytes: &[u8]| {
    let usual = wire::read(bytes, &limits(GraphLimits::default()));
    let small = GraphLimits {
        answer_nodes: 6,
        answer_edges: 8,
        answer_groups: 3,
        answer_risks: 5,
        answer_united: 4,
        metadata_keys: 2,
        release_bytes: 120,
        risks: 3,
        risk_bytes: 300,
        rules: 2,
        message_bytes: 20,
        query_bytes: 20,
        version_risk_bytes: 600,
        findings: 3,
        ..GraphLimits::default()
    };
    let capped = wire::read(bytes, &limits(small));
    if capped.graph.is_none() {
        assert!(!capped.diagnostics.is_empty());
    }
    if let (Some(usual), Some(capped)) = (&usual.graph, &capped.graph) {
        let before = open(usual);
        assert!(open(capped).iter().all(|update| before.contains(update)));
    }
    let Some(graph) = usual.graph else { return };
    for (place, node) in graph.nodes().iter().enumerate().take(4) {
        let plan = Plan::new(&graph, node.version(), &Settings::default()).unwrap();
        // The part of the graph that the operator keeps says the same about this version.
        let part = graph.part_from(u32::try_from(place).unwrap());
        let kept = Plan::new(&part, node.version(), &Settings::default()).unwrap();
        assert!(plan.targets().eq(kept.targets()) && plan.risks().eq(kept.risks()));
    }
});
