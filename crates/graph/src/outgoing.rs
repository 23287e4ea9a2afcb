//! The updates of a graph by source, as a walk needs them.
//!
//! An answer lists its updates by target. Every update leads to a newer version and places are in the order of
//! versions, so a walk from the last place to the first has seen where an update leads before it sees the update.

use std::sync::Arc;

use clearway_core::Version;

use crate::graph::Graph;
use crate::places::Places;
use crate::risk::Risk;
use crate::versions::{NONE, id};

/// The updates of a graph by source and then target.
pub(crate) struct Outgoing<'g> {
    pub(crate) graph: &'g Graph,
    /// Where the updates from each release start; one more entry than there are releases.
    starts: Vec<u32>,
    steps: Vec<Step>,
}

/// One update from a release.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) to: u32,
    /// The group whose risks it carries, or [`NONE`].
    group: u32,
}

impl Step {
    pub(crate) fn is_plain(self) -> bool {
        self.group == NONE
    }

    /// The place among the graph's groups of the one whose risks it carries.
    pub(crate) fn group(self) -> Option<usize> {
        (!self.is_plain()).then_some(self.group as usize)
    }
}

impl<'g> Outgoing<'g> {
    pub(crate) fn new(graph: &'g Graph) -> Self {
        let plain = graph.edges().iter().map(|edge| (edge, NONE));
        let groups = (0..).zip(graph.conditional());
        let conditional = groups.flat_map(|(group, found)| found.edges.iter().map(move |edge| (edge, group)));
        let mut rows: Vec<(u32, Step)> =
            plain.chain(conditional).map(|(edge, group)| (edge.from, Step { to: edge.to, group })).collect();
        rows.sort_unstable_by_key(|(from, step)| (*from, step.to));
        let starts = (0..=id(graph.nodes().len())).map(|place| id(rows.partition_point(|(from, _)| *from < place)));
        Outgoing { graph, starts: starts.collect(), steps: rows.into_iter().map(|(_, step)| step).collect() }
    }

    /// The updates from a release, by target.
    pub(crate) fn of(&self, from: u32) -> &[Step] {
        let at = |place: usize| self.starts.get(place).copied().unwrap_or(0) as usize;
        self.steps.get(at(from as usize)..at(from as usize + 1)).unwrap_or(&[])
    }

    /// The risks of an update; none for an unconditional one.
    pub(crate) fn risks(&self, step: Step) -> &'g [Arc<Risk>] {
        self.graph.conditional().get(step.group as usize).map_or(&[], |group| &group.risks)
    }

    /// What each release reaches over updates without a risk, itself among them.
    pub(crate) fn plain_reach(&self) -> Vec<Places> {
        let count = self.graph.nodes().len();
        let mut reach: Vec<Places> = vec![Places::none(count); count];
        for from in (0..id(count)).rev() {
            let mut set = Places::none(count);
            set.insert(from);
            for step in self.of(from).iter().filter(|step| step.is_plain()) {
                if let Some(further) = reach.get(step.to as usize) {
                    set.unite(further);
                }
            }
            if let Some(slot) = reach.get_mut(from as usize) {
                *slot = set;
            }
        }
        reach
    }
}

/// The place of a version, with its build metadata or without.
pub(crate) fn place(graph: &Graph, version: &Version) -> Option<u32> {
    graph.find(version).or_else(|| graph.find(&version.without_build()))
}

/// The version at a place. Places come from the graph itself, so there always is one.
pub(crate) fn version(graph: &Graph, place: u32) -> Version {
    graph.node(place).map_or_else(|| Version::new(0, 0, 0), |node| node.version().clone())
}
