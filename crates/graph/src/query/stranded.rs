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

use clearway_core::{CapExceeded, Version};
use serde::Serialize;

use crate::model::graph::Graph;
use crate::model::versions::id;
use crate::query::bit_set::BitSet;
use crate::query::outgoing::{Outgoing, Step, version};
use crate::query::paths::{Hop, Walk, conditional_first, hop};

/// Ways that are listed for one version and one goal: those with the fewest risks.
const WAYS: usize = 100;
/// Bytes that a way counts besides its risks, for each of its updates.
const HOP_BYTES: usize = 256;

/// What finding the ways of stranded versions may take, for all channels that are asked about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StrandedBudget {
    /// Updates that may still be looked at.
    updates: u64,
    /// Bytes that the ways may still take, with their risks.
    bytes: usize,
}

impl StrandedBudget {
    const UPDATES: u64 = 1_000_000_000;
    const BYTES: usize = 64 << 20;

    fn look_at(&mut self, updates: usize) -> Result<(), CapExceeded> {
        let (cap, limit) = ("stranded_updates", Self::UPDATES);
        let what = "updates that are looked at to find paths of stranded versions";
        self.updates = self.updates.checked_sub(updates as u64).ok_or(CapExceeded { cap, limit, what })?;
        Ok(())
    }

    fn keep(&mut self, way: &RiskyPath) -> Result<(), CapExceeded> {
        let risks = way.hops.iter().flat_map(|hop| hop.risks.iter()).map(|risk| risk.json().len());
        let bytes = risks.fold(way.hops.len().saturating_mul(HOP_BYTES), usize::saturating_add);
        let (cap, limit, what) = ("stranded_bytes", Self::BYTES as u64, "bytes of paths with their risks");
        self.bytes = self.bytes.checked_sub(bytes).ok_or(CapExceeded { cap, limit, what })?;
        Ok(())
    }
}

impl Default for StrandedBudget {
    fn default() -> Self {
        StrandedBudget { updates: Self::UPDATES, bytes: Self::BYTES }
    }
}

/// The versions that are asked about; by default all.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SupportedVersions {
    /// The oldest version that is still supported.
    pub oldest: Option<Version>,
    /// The newest version to ask about.
    pub newest: Option<Version>,
    /// Whether the newest patch of each minor is left out.
    pub without_newest_patches: bool,
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
    /// The conditional ways there, first by goal and then the fewest risks first, a hundred of each goal at most; none if
    /// there is none at all.
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

/// The versions of a channel that are stranded, oldest first; the cap if finding their ways takes more than the budget.
pub fn stranded(
    graph: &Graph,
    supported: &SupportedVersions,
    budget: &mut StrandedBudget,
) -> Result<Vec<Stranded>, CapExceeded> {
    let outgoing = Outgoing::new(graph);
    let search = Search::new(&outgoing);
    let mut stuck = Vec::new();
    each_stranded(graph, &search.reach, supported, |one| stuck.push(one));
    let mut found = Vec::with_capacity(stuck.len());
    for Stuck { place, missing, newest_patch, newest, last } in stuck {
        let mut ways = Vec::new();
        if missing != MissingPath::OutOfMinor {
            ways.extend(search.conditional_ways(place, Target::Newest(newest), budget)?);
        }
        if missing != MissingPath::ToNewestPatch {
            ways.extend(search.conditional_ways(place, Target::Behind(last), budget)?);
        }
        found.push(Stranded { version: version(graph, place), missing, newest_patch, ways });
    }
    Ok(found)
}

/// The versions of a channel that are stranded before the newest patch of their minor, without the ways that remain.
pub fn stranded_versions(graph: &Graph) -> Vec<(Version, MissingPath)> {
    stranded_places(graph).into_iter().map(|(place, missing)| (version(graph, place), missing)).collect()
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
struct Stuck {
    place: u32,
    missing: MissingPath,
    newest_patch: bool,
    /// The newest patch of its minor.
    newest: u32,
    /// The last release of its minor: what is behind it is of a later one.
    last: u32,
}

fn each_stranded(graph: &Graph, reach: &[BitSet], supported: &SupportedVersions, mut tell: impl FnMut(Stuck)) {
    let minors = minors(graph);
    for (at, minor) in minors.iter().enumerate() {
        for place in minor.first..=minor.last {
            let asked = graph.node(place).is_some_and(|node| supported.contains(node.version()));
            let Some(reached) = reach.get(place as usize).filter(|_| asked) else { continue };
            let to_patch = place < minor.newest && !reached.contains(minor.newest);
            let out = at + 1 < minors.len() && reached.iter().last().is_none_or(|farthest| farthest <= minor.last);
            let missing = match (to_patch, out) {
                (false, false) => continue,
                (true, false) => MissingPath::ToNewestPatch,
                (false, true) => MissingPath::OutOfMinor,
                (true, true) => MissingPath::Both,
            };
            let newest_patch = place == minor.newest;
            if newest_patch && supported.without_newest_patches {
                continue;
            }
            tell(Stuck { place, missing, newest_patch, newest: minor.newest, last: minor.last });
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

/// Where a way is to lead, by place.
#[derive(Clone, Copy)]
enum Target {
    /// To this release, the newest patch of a minor.
    Newest(u32),
    /// To any release behind this one, the last of a minor.
    Behind(u32),
}

/// What is known of a graph once, for all of its stranded versions.
struct Search<'w, 'g> {
    outgoing: &'w Outgoing<'g>,
    reach: Vec<BitSet>,
    /// The last place that each release reaches.
    farthest: Vec<u32>,
    /// For each group of updates the rank of its risks: the fewest first, then by their names. Groups whose risks have the same
    /// names have the same rank.
    ranks: Vec<u32>,
}

impl<'w, 'g> Search<'w, 'g> {
    fn new(outgoing: &'w Outgoing<'g>) -> Self {
        let reach = outgoing.plain_reach();
        let farthest = reach.iter().map(|reached| reached.iter().last().unwrap_or(0)).collect();
        let names: Vec<Vec<&str>> = outgoing
            .graph
            .conditional()
            .iter()
            .map(|group| group.risks.iter().map(|risk| risk.name()).collect())
            .collect();
        let mut order: Vec<(usize, &[&str], usize)> =
            names.iter().enumerate().map(|(at, names)| (names.len(), names.as_slice(), at)).collect();
        order.sort_unstable();
        let mut ranks = vec![0; names.len()];
        for (rank, alike) in (0..).zip(order.chunk_by(|one, other| one.1 == other.1)) {
            for (_, _, at) in alike {
                ranks.get_mut(*at).into_iter().for_each(|slot| *slot = rank);
            }
        }
        Search { outgoing, reach, farthest, ranks }
    }

    fn leads_to(&self, from: u32, target: Target) -> bool {
        match target {
            Target::Newest(place) => self.reach.get(from as usize).is_some_and(|reached| reached.contains(place)),
            Target::Behind(place) => self.farthest.get(from as usize).is_some_and(|farthest| *farthest > place),
        }
    }

    /// The ways from a version to a goal that it does not reach without a risk: one for each set of risks that a single
    /// update stands for, or the one with the fewest conditional updates if none is enough.
    fn conditional_ways(
        &self,
        from: u32,
        target: Target,
        budget: &mut StrandedBudget,
    ) -> Result<Vec<RiskyPath>, CapExceeded> {
        let goal = match target {
            Target::Newest(_) => Goal::NewestPatch,
            Target::Behind(_) => Goal::LaterMinor,
        };
        let mut single: BTreeMap<u32, (u32, Step, usize)> = BTreeMap::new();
        for source in self.reach.get(from as usize).into_iter().flat_map(BitSet::iter) {
            let steps = self.outgoing.of(source);
            budget.look_at(steps.len())?;
            for step in steps {
                let rank = step.group().and_then(|group| self.ranks.get(group));
                let Some(rank) = rank.filter(|_| self.leads_to(step.to, target)) else { continue };
                let entry = single.entry(*rank).or_insert((source, *step, 0));
                entry.2 += 1;
                // The version itself before others, and then the newest target.
                if source == entry.0 && step.to > entry.1.to {
                    (entry.0, entry.1) = (source, *step);
                }
            }
        }
        let mut ways = Vec::new();
        if single.is_empty() {
            budget.look_at(self.outgoing.updates())?;
            let is_goal = |place: u32| match target {
                Target::Newest(newest) => place == newest,
                Target::Behind(last) => place > last,
            };
            let walk = Walk::new(self.outgoing, from, is_goal, conditional_first);
            let hops = walk.path().into_iter().flat_map(|path| path.hops);
            let hops: Vec<_> = hops.filter(|hop| !hop.risks.is_empty()).collect();
            if !hops.is_empty() {
                ways.push(RiskyPath { goal, hops, updates: 1 });
            }
        }
        for (source, step, updates) in single.into_values().take(WAYS) {
            ways.push(RiskyPath { goal, hops: vec![hop(self.outgoing, source, step)], updates });
        }
        ways.iter().try_for_each(|way| budget.keep(way))?;
        Ok(ways)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::model::graph::{Edge, Node};
    use crate::model::risk::Risk;

    /// Releases of one minor, each of which all later ones follow without a risk, but the last one only with some risks.
    fn graph(releases: u32, sets: &[&[&str]]) -> Graph {
        let node = |patch: u32| Arc::new(Node::new(Version::new(1, 0, patch.into()), "p", BTreeMap::new()));
        let last = releases - 1;
        let plain = (0..last).flat_map(|from| (from + 1..last).map(move |to| Edge { from, to }));
        let conditional = sets.iter().zip(0..last).map(|(names, from)| {
            let risks: Vec<_> = names.iter().map(|name| Arc::new(Risk::new(*name, "u", "m", Vec::new()))).collect();
            (Edge { from, to: last }, risks)
        });
        Graph::assemble((0..releases).map(node).collect(), plain.collect::<Vec<_>>(), conditional.collect::<Vec<_>>())
    }

    #[test]
    fn what_is_looked_at_and_kept_is_bounded() {
        let graph = graph(6, &[&["A"], &["B"], &["A"]]);
        let find = |updates, bytes| {
            let found = stranded(&graph, &SupportedVersions::default(), &mut StrandedBudget { updates, bytes });
            found.map(|found| found.iter().map(|one| one.ways.len()).collect::<Vec<_>>()).map_err(|above| above.cap)
        };
        assert_eq!(find(1_000, 10_000), Ok(vec![2, 2, 1, 0, 0]));
        assert_eq!(find(10, 10_000), Err("stranded_updates"));
        assert_eq!(find(1_000, 1_000), Err("stranded_bytes"));
    }

    #[test]
    fn only_the_ways_with_the_fewest_risks_are_listed() {
        let names: Vec<String> = (0..150).map(|number| format!("R{number:03}")).collect();
        let pairs: Vec<[&str; 2]> = names.iter().map(|name| [name.as_str(), "Z"]).collect();
        let mut sets: Vec<&[&str]> = pairs.iter().map(<[&str; 2]>::as_slice).collect();
        sets.push(&["Alone"]);
        let found =
            stranded(&graph(153, &sets), &SupportedVersions::default(), &mut StrandedBudget::default()).unwrap();
        let first = &found.first().unwrap().ways;
        assert_eq!(first.len(), WAYS);
        assert_eq!(first[0].hops[0].risks.len(), 1);
    }
}
