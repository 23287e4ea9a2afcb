//! One answer: the releases of a channel and an architecture, and the edges among them.
//!
//! A [`Graph`] is always in one form: nodes by increasing version, edges by target and then source, each (from, to)
//! once, in exactly one place, leading to a newer version; risks of a group by name; groups by their first edge. So two
//! graphs are equal if and only if they say the same, and their bytes are equal then too. Nodes and risks are shared
//! between the answers of one revision.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use clearway_core::{CapExceeded, GraphLimits, Version};

use crate::model::metadata::Metadata;
use crate::model::risk::{Risk, push_text};
use crate::model::sets::Sets;
use crate::model::versions::id;

/// A release as clients see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    version: Version,
    payload: String,
    metadata: Metadata,
    json: String,
    /// Where the version stands in the JSON, in quotes.
    name: std::ops::Range<usize>,
}

/// An update, by the places of its releases in [`Graph::nodes`].
///
/// The order is that of answers: by target, then by source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Edge {
    /// The source.
    pub from: u32,
    /// The target.
    pub to: u32,
}

impl Ord for Edge {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.to, self.from).cmp(&(other.to, other.from))
    }
}

impl PartialOrd for Edge {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Edges that carry the same risks.
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    /// The risks by name; never empty.
    pub risks: Arc<[Arc<Risk>]>,
    /// The edges in order; never empty.
    pub edges: Vec<Edge>,
}

/// The releases of one answer and the updates among them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Graph {
    nodes: Vec<Arc<Node>>,
    edges: Vec<Edge>,
    conditional: Vec<Group>,
}

impl Node {
    /// A release; its JSON is rendered here, once.
    pub fn new(version: Version, payload: impl Into<String>, metadata: impl Into<Metadata>) -> Self {
        let (payload, metadata) = (payload.into(), metadata.into());
        let shown = version.to_string();
        let pairs: usize = metadata.iter().map(|(key, value)| key.len() + value.len() + 6).sum();
        let mut json = String::with_capacity(48 + shown.len() + payload.len() + pairs);
        json.push_str("{\"version\":");
        let start = json.len();
        push_text(&mut json, &shown);
        let name = start..json.len();
        json.push_str(",\"payload\":");
        push_text(&mut json, &payload);
        json.push_str(",\"metadata\":{");
        for (at, (key, value)) in metadata.iter().enumerate() {
            if at > 0 {
                json.push(',');
            }
            push_text(&mut json, key);
            json.push(':');
            push_text(&mut json, value);
        }
        json.push_str("}}");
        Node { version, payload, metadata, json, name }
    }

    /// The version, without the architecture.
    pub fn version(&self) -> &Version {
        &self.version
    }

    /// Where the release is: an image reference.
    pub fn payload(&self) -> &str {
        &self.payload
    }

    /// What else is said about it.
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// The release as it stands on the wire.
    pub fn json(&self) -> &str {
        &self.json
    }

    /// The version as it stands on the wire, in quotes.
    pub(crate) fn name(&self) -> &str {
        self.json.get(self.name.clone()).unwrap_or("\"\"")
    }
}

impl Graph {
    /// A graph from parts that are in order already.
    pub(crate) fn from_ordered(nodes: Vec<Arc<Node>>, edges: Vec<Edge>, conditional: Vec<Group>) -> Self {
        Graph { nodes, edges, conditional }
    }

    /// A graph from parts in any order.
    ///
    /// `nodes` must have distinct versions; edges name them by their place in it. An edge that stands in both is
    /// conditional; risks of an edge that comes twice are united. An edge that does not lead from a node to a newer
    /// one is left out, and so is a conditional edge without risks, which nobody could be recommended.
    pub fn assemble<R: Into<Arc<[Arc<Risk>]>>>(
        nodes: Vec<Arc<Node>>,
        edges: impl IntoIterator<Item = Edge>,
        conditional: impl IntoIterator<Item = (Edge, R)>,
    ) -> Self {
        let mut sets = Sets::default();
        let conditional = conditional.into_iter().map(|(edge, risks)| (edge, sets.add(&risks.into()))).collect();
        // Without a bound there is always a graph.
        Graph::of_sets(nodes, edges, conditional, sets, usize::MAX).unwrap_or_default()
    }

    /// The same with risks as sets by their numbers. Nothing if putting the sets of edges together takes more than so
    /// many risks in all.
    pub(crate) fn of_sets(
        nodes: Vec<Arc<Node>>,
        edges: impl IntoIterator<Item = Edge>,
        conditional: Vec<(Edge, u32)>,
        mut sets: Sets,
        most: usize,
    ) -> Option<Self> {
        let mut order: Vec<(Arc<Node>, u32)> = nodes.into_iter().zip(0..).collect();
        order.sort_by(|(one, _), (other, _)| one.version.cmp(&other.version));
        let mut places = vec![0_u32; order.len()];
        for (place, (_, old)) in (0..).zip(&order) {
            if let Some(slot) = places.get_mut(*old as usize) {
                *slot = place;
            }
        }
        let nodes: Vec<_> = order.into_iter().map(|(node, _)| node).collect();
        let moved = |edge: Edge| -> Option<Edge> {
            let edge = Edge { from: *places.get(edge.from as usize)?, to: *places.get(edge.to as usize)? };
            let (from, to) = (nodes.get(edge.from as usize)?, nodes.get(edge.to as usize)?);
            from.version.precedence(&to.version).is_lt().then_some(edge)
        };
        let mut carried: Vec<(Edge, u32)> =
            conditional.into_iter().filter_map(|(edge, set)| Some((moved(edge)?, set))).collect();
        carried.retain(|(_, set)| !sets.is_empty(*set));
        carried.sort_unstable();
        carried.dedup();
        let mut plain: Vec<_> = edges.into_iter().filter_map(moved).collect();
        plain.sort_unstable();
        plain.dedup();
        plain.retain(|edge| carried.binary_search_by_key(edge, |(carried, _)| *carried).is_err());
        let mut groups: Vec<Group> = Vec::new();
        let mut known: HashMap<u32, usize> = HashMap::new();
        let mut left = most;
        for of_edge in carried.chunk_by(|(one, _), (other, _)| one == other) {
            let Some((edge, first)) = of_edge.first() else { continue };
            let set =
                if of_edge.len() == 1 { *first } else { sets.unite(of_edge.iter().map(|(_, set)| *set), &mut left)? };
            let at = *known.entry(set).or_insert(groups.len());
            match groups.get_mut(at) {
                Some(group) => group.edges.push(*edge),
                None => groups.push(Group { risks: sets.risks(set), edges: vec![*edge] }),
            }
        }
        Some(Graph { nodes, edges: plain, conditional: groups })
    }

    /// The part of the graph that starts at a place: that release, its updates, and where they lead.
    #[must_use]
    pub fn part_from(&self, place: u32) -> Graph {
        let mut nodes: Vec<Arc<Node>> = self.nodes.get(place as usize).cloned().into_iter().collect();
        let mut targets: Vec<u32> =
            self.updates().filter(|(edge, _)| edge.from == place).map(|(edge, _)| edge.to).collect();
        targets.sort_unstable();
        nodes.extend(targets.iter().filter_map(|to| self.nodes.get(*to as usize).cloned()));
        // Updates lead to newer versions, so the source stays the first, and the others in their order.
        let moved =
            |edge: &Edge| (edge.from == place).then_some(edge).and_then(|edge| targets.binary_search(&edge.to).ok());
        let moved = |edge: &Edge| moved(edge).map(|at| Edge { from: 0, to: id(at + 1) });
        let conditional = self.conditional.iter().filter_map(|group| {
            let edges: Vec<Edge> = group.edges.iter().filter_map(moved).collect();
            (!edges.is_empty()).then(|| Group { risks: Arc::clone(&group.risks), edges })
        });
        let conditional = conditional.collect();
        Graph { edges: self.edges.iter().filter_map(moved).collect(), conditional, nodes }
    }

    /// The cap on answers that the graph is above.
    pub fn above(&self, caps: &GraphLimits) -> Option<CapExceeded> {
        let edges = self.edges.len() + self.conditional.iter().map(|group| group.edges.len()).sum::<usize>();
        let mut risks: HashSet<*const Risk> = HashSet::new();
        let mut named = 0;
        // What the updates from each version carry.
        let mut carried = vec![0_usize; self.nodes.len()];
        for group in &self.conditional {
            named += group.risks.len();
            risks.extend(group.risks.iter().map(Arc::as_ptr));
            let bytes: usize = group.risks.iter().map(|risk| risk.json().len()).sum();
            for edge in &group.edges {
                carried.get_mut(edge.from as usize).into_iter().for_each(|sum| *sum = sum.saturating_add(bytes));
            }
        }
        let carried = carried.into_iter().max().unwrap_or(0);
        CapExceeded::first([
            ("answer_nodes", self.nodes.len(), caps.answer_nodes, "releases in one answer"),
            ("answer_edges", edges, caps.answer_edges, "updates in one answer"),
            (
                "answer_groups",
                self.conditional.len(),
                caps.answer_groups,
                "groups of conditional updates in one answer",
            ),
            ("answer_risks", named, caps.answer_risks, "risks in the groups of one answer"),
            ("risks", risks.len(), caps.risks, "different risks"),
            ("version_risk_bytes", carried, caps.version_risk_bytes, "bytes of risks on the updates from one version"),
        ])
    }

    /// The releases by increasing version.
    pub fn nodes(&self) -> &[Arc<Node>] {
        &self.nodes
    }

    /// The updates that carry no risk, by target and then source.
    pub fn edges(&self) -> &[Edge] {
        &self.edges
    }

    /// The updates that carry risks.
    pub fn conditional(&self) -> &[Group] {
        &self.conditional
    }

    /// The release at a place that an [`Edge`] names.
    pub fn node(&self, place: u32) -> Option<&Node> {
        self.nodes.get(place as usize).map(AsRef::as_ref)
    }

    /// The place of a version.
    pub fn find(&self, version: &Version) -> Option<u32> {
        self.nodes.binary_search_by(|node| node.version.cmp(version)).ok().map(id)
    }

    /// Every update with its risks, which are none for an unconditional one.
    pub fn updates(&self) -> impl Iterator<Item = (Edge, &[Arc<Risk>])> {
        let plain = self.edges.iter().map(|edge| (*edge, [].as_slice()));
        let conditional =
            self.conditional.iter().flat_map(|group| group.edges.iter().map(|edge| (*edge, group.risks.as_ref())));
        plain.chain(conditional)
    }
}
