//! `clearway graph show`: the releases of a channel and their updates.

use std::collections::BTreeSet;

use anyhow::Result;
use clearway_graph::Graph;
use serde_json::{Value, json};

use super::source;
use crate::arguments::GraphShow;
use crate::exit::Exit;
use crate::output::{self, Table};

/// Where one release may go.
#[derive(Default)]
struct ReleaseUpdates<'g> {
    plain: Vec<u32>,
    conditional: Vec<u32>,
    risks: BTreeSet<&'g str>,
}

/// Runs the command.
pub(super) fn run(options: &GraphShow) -> Result<Exit> {
    let graph = source::view(&options.source, options.channel.name(), options.arch.arch.as_ref())?.graph;
    output::print_data(options.output.format, &data(&graph), || table(&graph))?;
    Ok(Exit::Yes)
}

/// Where each release may go, in the order of the nodes.
fn ways(graph: &Graph) -> Vec<ReleaseUpdates<'_>> {
    let mut ways: Vec<ReleaseUpdates<'_>> = graph.nodes().iter().map(|_| ReleaseUpdates::default()).collect();
    for (edge, risks) in graph.updates() {
        let Some(way) = ways.get_mut(edge.from as usize) else { continue };
        let targets = if risks.is_empty() { &mut way.plain } else { &mut way.conditional };
        targets.push(edge.to);
        way.risks.extend(risks.iter().map(|risk| risk.name()));
    }
    ways
}

fn version(graph: &Graph, place: u32) -> String {
    graph.node(place).map(|node| node.version().without_build().to_string()).unwrap_or_default()
}

fn data(graph: &Graph) -> Vec<Value> {
    let versions = |places: &[u32]| places.iter().map(|place| version(graph, *place)).collect::<Vec<_>>();
    (0..)
        .zip(ways(graph))
        .map(|(place, ways)| {
            json!({
                "version": version(graph, place),
                "updates": versions(&ways.plain),
                "conditionalUpdates": versions(&ways.conditional),
                "risks": ways.risks,
            })
        })
        .collect()
}

/// One line per release.
pub(crate) fn table(graph: &Graph) -> Table {
    let newest = |places: &[u32]| places.iter().max().map_or_else(|| "-".to_owned(), |place| version(graph, *place));
    let rows = (0..).zip(ways(graph)).map(|(place, ways)| {
        vec![
            version(graph, place),
            ways.plain.len().to_string(),
            newest(&ways.plain),
            ways.conditional.len().to_string(),
            newest(&ways.conditional),
            ways.risks.into_iter().collect::<Vec<_>>().join(", "),
        ]
    });
    output::table(&["VERSION", "UPDATES", "NEWEST", "CONDITIONAL", "NEWEST", "RISKS"], rows)
}
