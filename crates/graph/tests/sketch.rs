//! Graphs from a line of text, and graphs from chance.

use std::collections::BTreeMap;
use std::sync::Arc;

use clearway_core::Version;
use clearway_graph::{Edge, Graph, Node, Risk, Rule};
use proptest::prelude::*;

pub(crate) fn version(text: &str) -> Version {
    text.parse().unwrap()
}

pub(crate) fn node(text: &str) -> Arc<Node> {
    Arc::new(Node::new(version(text), format!("example.com/{text}"), BTreeMap::new()))
}

pub(crate) fn risk(name: &str) -> Arc<Risk> {
    let url = format!("https://example.com/{name}");
    Arc::new(Risk::new(name, url, format!("{name} happens."), vec![Rule::of_kind(Rule::ALWAYS)]))
}

fn place<'w>(names: &mut Vec<&'w str>, name: &'w str) -> u32 {
    let at = names.iter().position(|known| *known == name).unwrap_or_else(|| {
        names.push(name);
        names.len() - 1
    });
    u32::try_from(at).unwrap()
}

/// A graph from words: `1.0.0` is a release, `1.0.0>1.0.1` an update, `1.0.0>1.0.1?A,B` one with risks.
pub(crate) fn sketch(words: &str) -> Graph {
    let (mut names, mut edges, mut conditional) = (Vec::new(), Vec::new(), Vec::new());
    for word in words.split_whitespace() {
        let (update, risks) = word.split_once('?').map_or((word, None), |(update, risks)| (update, Some(risks)));
        let Some((from, to)) = update.split_once('>') else {
            place(&mut names, update);
            continue;
        };
        let edge = Edge { from: place(&mut names, from), to: place(&mut names, to) };
        match risks {
            None => edges.push(edge),
            Some(risks) => conditional.push((edge, risks.split(',').map(risk).collect::<Vec<_>>())),
        }
    }
    Graph::assemble(names.into_iter().map(node).collect(), edges, conditional)
}

/// Any graph of a few versions in a few minors, with pre-releases, and risks of a few names.
pub(crate) fn graphs() -> impl Strategy<Value = Graph> {
    let versions = prop::collection::btree_set((1_u64..4, 0_u64..4, prop::option::weighted(0.2, 0_u64..2)), 1..11);
    let updates = prop::collection::vec((0_u32..11, 0_u32..11, prop::collection::vec(0_usize..5, 0..3)), 0..45);
    (versions, updates).prop_map(|(versions, updates)| {
        let text = |(minor, patch, pre): (u64, u64, Option<u64>)| match pre {
            Some(pre) => format!("1.{minor}.{patch}-rc.{pre}"),
            None => format!("1.{minor}.{patch}"),
        };
        let nodes: Vec<_> = versions.into_iter().map(|parts| node(&text(parts))).collect();
        let (plain, risky): (Vec<_>, Vec<_>) = updates.into_iter().partition(|(_, _, risks)| risks.is_empty());
        let edge = |from: u32, to: u32| Edge { from, to };
        let named = |at: usize| risk(["A", "B", "C", "D", "E"][at]);
        Graph::assemble(
            nodes,
            plain.into_iter().map(|(from, to, _)| edge(from, to)),
            risky
                .into_iter()
                .map(|(from, to, risks)| (edge(from, to), risks.into_iter().map(named).collect::<Vec<_>>())),
        )
    })
}

/// The names of the risks of an update, if the graph has it.
pub(crate) fn served(graph: &Graph, from: &Version, to: &Version) -> Option<Vec<String>> {
    let edge = Edge { from: graph.find(from)?, to: graph.find(to)? };
    let (_, risks) = graph.updates().find(|(found, _)| *found == edge)?;
    Some(risks.iter().map(|risk| risk.name().to_owned()).collect())
}
