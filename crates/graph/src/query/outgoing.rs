//! The updates of a graph by source, as a walk needs them.
//!
//! An answer lists its updates by target. Every update leads to a newer version and places are in the order of
//! versions, so a walk from the last place to the first has seen where an update leads before it sees the update.

use std::sync::Arc;

use clearway_core::Version;

use crate::model::graph::Graph;
use crate::model::risk::Risk;
use crate::model::versions::{NONE, id};
use crate::query::bit_set::BitSet;

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
        // Sorted into their sources by counting; there are few of them, and each has its targets nearly in order.
        let mut starts = vec![0_u32; graph.nodes().len() + 1];
        let mut count = |edges: &[crate::Edge]| {
            for edge in edges {
                starts.get_mut(edge.from as usize + 1).into_iter().for_each(|count| *count += 1);
            }
        };
        count(graph.edges());
        graph.conditional().iter().for_each(|group| count(&group.edges));
        let mut sum = 0;
        for count in &mut starts {
            sum += *count;
            *count = sum;
        }
        let mut next = starts.clone();
        let mut steps = vec![Step { to: NONE, group: NONE }; sum as usize];
        for (edge, group) in plain.chain(conditional) {
            let Some(slot) = next.get_mut(edge.from as usize) else { continue };
            steps.get_mut(*slot as usize).into_iter().for_each(|step| *step = Step { to: edge.to, group });
            *slot += 1;
        }
        let mut outgoing = Outgoing { graph, starts, steps };
        for from in 0..graph.nodes().len() {
            let range = outgoing.range(from);
            let targets = outgoing.steps.get_mut(range).unwrap_or(&mut []);
            if !targets.is_sorted_by_key(|step| step.to) {
                targets.sort_unstable_by_key(|step| step.to);
            }
        }
        outgoing
    }

    fn range(&self, from: usize) -> std::ops::Range<usize> {
        let at = |place: usize| self.starts.get(place).copied().unwrap_or(0) as usize;
        at(from)..at(from + 1)
    }

    /// The updates from a release, by target.
    pub(crate) fn of(&self, from: u32) -> &[Step] {
        self.steps.get(self.range(from as usize)).unwrap_or(&[])
    }

    /// How many updates there are.
    pub(crate) fn updates(&self) -> usize {
        self.steps.len()
    }

    /// The risks of an update; none for an unconditional one.
    pub(crate) fn risks(&self, step: Step) -> &'g [Arc<Risk>] {
        self.graph.conditional().get(step.group as usize).map_or(&[], |group| &group.risks)
    }

    /// The same, shared with the graph.
    pub(crate) fn shared_risks(&self, step: Step) -> Arc<[Arc<Risk>]> {
        self.graph.conditional().get(step.group as usize).map_or_else(|| [].into(), |group| Arc::clone(&group.risks))
    }

    /// What each release reaches over updates without a risk, itself among them.
    pub(crate) fn plain_reach(&self) -> Vec<BitSet> {
        let count = self.graph.nodes().len();
        let mut reach: Vec<BitSet> = vec![BitSet::none(count); count];
        for from in (0..id(count)).rev() {
            let mut set = BitSet::none(count);
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
