//! Versions that a cluster cannot leave without taking a risk (U17).
//!
//! All conditional updates are taken out of the graph of a channel, and two questions are asked of each version:
//!
//! * **to the newest patch**: is there a way to the newest release of its minor? The newest release is the newest one
//!   without a pre-release part; only a minor that has none takes its newest pre-release for it. That release itself,
//!   and whatever is newer than it, is not asked.
//! * **out of the minor**: is there a way to any version of a later minor? The newest minor of the channel is not
//!   asked, for it has nowhere to go. Pre-releases count here as any other version: who serves them in a channel offers
//!   them.
//!
//! A minor is a pair of major and minor number, so 5.0 follows 4.22 where a channel holds both. A way may have any
//! number of updates. The newest patch of a minor often has no way out only because it is younger than every release of
//! the next minor; [`Stranded::newest_patch`] tells that case from the rest. Start at [`stranded`].

use std::collections::BTreeMap;

use clearway_core::Version;
use serde::Serialize;

use crate::model::graph::Graph;
use crate::model::versions::id;
use crate::query::bit_set::BitSet;
use crate::query::outgoing::{Outgoing, Step, version};
use crate::query::paths::{Hop, Walk, conditional_first, hop};

/// The versions that are asked about; by default all.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SupportedVersions {
    /// The oldest version that is still supported.
    pub oldest: Option<Version>,
    /// The newest version to ask about.
    pub newest: Option<Version>,
}

/// A version that is stranded, and the risky ways that remain.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Stranded {
    /// The version.
    pub version: Version,
    /// Where it cannot get without a risk.
    pub missing: MissingPath,
    /// Whether it is the newest patch of its minor.
    pub newest_patch: bool,
    /// The conditional ways there, first by goal and then the fewest risks first; none if there is none at all.
    pub ways: Vec<RiskyPath>,
}

/// Where a version cannot get without a risk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum MissingPath {
    /// To the newest patch of its minor.
    ToNewestPatch,
    /// To a later minor.
    OutOfMinor,
    /// To either.
    Both,
}

/// Where a way leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Goal {
    /// To the newest patch of its minor.
    NewestPatch,
    /// To a later minor.
    LaterMinor,
}

/// A way that takes risks.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RiskyPath {
    /// Where it leads.
    pub goal: Goal,
    /// Its conditional updates in order; what lies before, between and behind them carries no risk. There is one
    /// wherever one is enough.
    pub hops: Vec<Hop>,
    /// How many single updates with the same risks, this one among them, lead to the goal.
    pub updates: usize,
}

impl SupportedVersions {
    /// Whether a version is asked about.
    pub fn contains(&self, version: &Version) -> bool {
        self.oldest.as_ref().is_none_or(|oldest| version.precedence(oldest).is_ge())
            && self.newest.as_ref().is_none_or(|newest| version.precedence(newest).is_le())
    }
}

/// The versions of a channel that are stranded, oldest first.
pub fn stranded(graph: &Graph, supported: &SupportedVersions) -> Vec<Stranded> {
    let outgoing = Outgoing::new(graph);
    let reach = outgoing.plain_reach();
    let mut found = Vec::new();
    each_stranded(graph, &reach, supported, |stuck| {
        let mut ways = Vec::new();
        if stuck.missing != MissingPath::OutOfMinor {
            ways.extend(conditional_ways(&outgoing, &reach, stuck.place, Goal::NewestPatch, stuck.newest));
        }
        if stuck.missing != MissingPath::ToNewestPatch {
            ways.extend(conditional_ways(&outgoing, &reach, stuck.place, Goal::LaterMinor, stuck.later));
        }
        let (version, missing, newest_patch) = (version(graph, stuck.place), stuck.missing, stuck.newest_patch);
        found.push(Stranded { version, missing, newest_patch, ways });
    });
    found
}

/// The versions of a channel that are stranded before the newest patch of their minor, without the ways that remain.
pub(crate) fn stranded_places(graph: &Graph) -> Vec<(u32, MissingPath)> {
    let reach = Outgoing::new(graph).plain_reach();
    let mut found = Vec::new();
    each_stranded(graph, &reach, &SupportedVersions::default(), |stuck| {
        if !stuck.newest_patch {
            found.push((stuck.place, stuck.missing));
        }
    });
    found
}

/// A release that is stranded, and the goals that it is asked for.
struct Stuck<'p> {
    place: u32,
    missing: MissingPath,
    newest_patch: bool,
    newest: &'p BitSet,
    later: &'p BitSet,
}

fn each_stranded(graph: &Graph, reach: &[BitSet], supported: &SupportedVersions, mut tell: impl FnMut(Stuck<'_>)) {
    let minors = minors(graph);
    for (at, minor) in minors.iter().enumerate() {
        let mut newest = BitSet::none(graph.nodes().len());
        newest.insert(minor.newest);
        let mut later = BitSet::none(graph.nodes().len());
        for next in minors.iter().skip(at + 1) {
            (next.first..=next.last).for_each(|place| later.insert(place));
        }
        for place in minor.first..=minor.last {
            let asked = graph.node(place).is_some_and(|node| supported.contains(node.version()));
            let Some(reached) = reach.get(place as usize).filter(|_| asked) else { continue };
            let to_patch = place < minor.newest && !reached.meets(&newest);
            let out = at + 1 < minors.len() && !reached.meets(&later);
            let missing = match (to_patch, out) {
                (false, false) => continue,
                (true, false) => MissingPath::ToNewestPatch,
                (false, true) => MissingPath::OutOfMinor,
                (true, true) => MissingPath::Both,
            };
            tell(Stuck { place, missing, newest_patch: place == minor.newest, newest: &newest, later: &later });
        }
    }
}

/// The versions of one minor: they stand together.
pub(crate) struct Minor {
    pub(crate) first: u32,
    pub(crate) last: u32,
    /// The newest patch, as the head of this file has it.
    pub(crate) newest: u32,
}

/// The minors of a graph, oldest first.
pub(crate) fn minors(graph: &Graph) -> Vec<Minor> {
    let mut minors = Vec::new();
    let mut first = 0;
    let of = |version: &Version| (version.major(), version.minor());
    for nodes in graph.nodes().chunk_by(|one, other| of(one.version()) == of(other.version())) {
        let last = first + id(nodes.len()).saturating_sub(1);
        let release = nodes.iter().rposition(|node| node.version().pre_release().is_empty());
        minors.push(Minor { first, last, newest: release.map_or(last, |at| first + id(at)) });
        first = last + 1;
    }
    minors
}

/// The ways from a version to a goal that it does not reach without a risk: one for each set of risks that a single
/// update stands for, or the one with the fewest conditional updates if none is enough.
fn conditional_ways(
    outgoing: &Outgoing<'_>,
    reach: &[BitSet],
    from: u32,
    goal: Goal,
    goals: &BitSet,
) -> Vec<RiskyPath> {
    let reached = |place: u32| reach.get(place as usize);
    let mut single: BTreeMap<(usize, Vec<&str>), (u32, Step, usize)> = BTreeMap::new();
    for source in reached(from).into_iter().flat_map(BitSet::iter) {
        for step in outgoing.of(source).iter().filter(|step| !step.is_plain()) {
            if !reached(step.to).is_some_and(|further| further.meets(goals)) {
                continue;
            }
            let names: Vec<_> = outgoing.risks(*step).iter().map(|risk| risk.name()).collect();
            let entry = single.entry((names.len(), names)).or_insert((source, *step, 0));
            entry.2 += 1;
            // The version itself before others, and then the newest target.
            if source == entry.0 && step.to > entry.1.to {
                (entry.0, entry.1) = (source, *step);
            }
        }
    }
    if single.is_empty() {
        let walk = Walk::new(outgoing, from, |place| goals.contains(place), conditional_first);
        let hops: Vec<_> = walk.path().into_iter().flat_map(|path| path.hops).collect();
        let hops: Vec<_> = hops.into_iter().filter(|hop| !hop.risks.is_empty()).collect();
        return if hops.is_empty() { Vec::new() } else { vec![RiskyPath { goal, hops, updates: 1 }] };
    }
    let way = |(source, step, updates)| RiskyPath { goal, hops: vec![hop(outgoing, source, step)], updates };
    single.into_values().map(way).collect()
}
