//! `clearway graph show`: the releases of a channel and their updates.

use std::collections::{BTreeSet, HashSet};

use anyhow::Result;
use clearway_graph::{Graph, Group};
use serde::{Serialize, Serializer};

use super::source;
use crate::arguments::GraphShow;
use crate::exit::Exit;
use crate::output::{self, Table};

/// Where one release may go. Names are looked up when they are shown: many updates may carry many risks.
struct ReleaseUpdates<'g> {
    graph: &'g Graph,
    place: u32,
    plain: Vec<u32>,
    conditional: Vec<u32>,
    groups: HashSet<usize>,
}

/// Runs the command.
pub(super) fn run(options: &GraphShow) -> Result<Exit> {
    let graph = source::view(&options.source, options.channel.name(), options.arch.arch.as_ref())?.graph;
    output::print_data(options.output.format, &ways(&graph), || table(&graph))?;
    Ok(Exit::Yes)
}

/// Where each release may go, in the order of the nodes.
fn ways(graph: &Graph) -> Vec<ReleaseUpdates<'_>> {
    let none = |(place, _)| ReleaseUpdates {
        graph,
        place,
        plain: Vec::new(),
        conditional: Vec::new(),
        groups: HashSet::new(),
    };
    let mut ways: Vec<ReleaseUpdates<'_>> = (0..).zip(graph.nodes()).map(none).collect();
    for edge in graph.edges() {
        ways.get_mut(edge.from as usize).into_iter().for_each(|way| way.plain.push(edge.to));
    }
    for (number, group) in graph.conditional().iter().enumerate() {
        for edge in &group.edges {
            let Some(way) = ways.get_mut(edge.from as usize) else { continue };
            way.conditional.push(edge.to);
            way.groups.insert(number);
        }
    }
    ways
}

impl<'g> ReleaseUpdates<'g> {
    /// The names of the risks on its updates, each once.
    fn risks(&self) -> BTreeSet<&'g str> {
        let groups = self.groups.iter().filter_map(|number| self.graph.conditional().get(*number));
        groups.flat_map(|group: &Group| group.risks.iter().map(|risk| risk.name())).collect()
    }
}

impl Serialize for ReleaseUpdates<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Shown<'s> {
            conditional_updates: Vec<String>,
            risks: BTreeSet<&'s str>,
            updates: Vec<String>,
            version: String,
        }
        let versions = |places: &[u32]| places.iter().map(|place| version(self.graph, *place)).collect::<Vec<_>>();
        let shown = Shown {
            conditional_updates: versions(&self.conditional),
            risks: self.risks(),
            updates: versions(&self.plain),
            version: version(self.graph, self.place),
        };
        shown.serialize(serializer)
    }
}

fn version(graph: &Graph, place: u32) -> String {
    graph.node(place).map(|node| node.version().without_build().to_string()).unwrap_or_default()
}

/// One line per release.
pub(crate) fn table(graph: &Graph) -> Table {
    let newest = |places: &[u32]| places.iter().max().map_or_else(|| "-".to_owned(), |place| version(graph, *place));
    let rows = ways(graph).into_iter().map(|ways| {
        vec![
            version(graph, ways.place),
            ways.plain.len().to_string(),
            newest(&ways.plain),
            ways.conditional.len().to_string(),
            newest(&ways.conditional),
            super::names_of_risks(ways.risks().into_iter()),
        ]
    });
    output::table(&["VERSION", "UPDATES", "NEWEST", "CONDITIONAL", "NEWEST", "RISKS"], rows)
}
