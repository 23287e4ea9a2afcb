//! Ways from one version to another over several updates, and why there is none.
//!
//! Every update leads to a newer version, so one walk over the places from the target down to the source finds the best
//! way by any cost that adds up: hops, and hops that carry a risk. Distinct risks do not add up, because the same risk
//! met twice counts once; the least number of them is a *minimum label path*, for which no fast exact method is known.
//! [`Paths::fewest_risks`] is therefore searched for within a bound and says whether the bound was met
//! ([`FewestRisks::exact`]). Start at [`paths`].

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt;
use std::sync::Arc;

use clearway_core::{CapExceeded, Version};
use serde::Serialize;

use crate::model::graph::{Graph, Node};
use crate::model::risk::Risk;
use crate::model::versions::id;
use crate::query::bit_set::BitSet;
use crate::query::outgoing::{Outgoing, Step, place, version};

/// The best ways from one version to another, each by its own measure.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Paths {
    /// The fewest hops; of those the fewest conditional hops; of those the newest versions on the way.
    pub shortest: Path,
    /// The fewest conditional hops; of those the fewest hops; of those the newest versions on the way.
    pub fewest_conditional_hops: Path,
    /// The fewest distinct risks; of those the fewest hops.
    pub fewest_risks: FewestRisks,
}

/// The way that meets the fewest distinct risks, by name.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FewestRisks {
    /// The way.
    pub path: Path,
    /// Whether no way meets fewer. If not, the search was cut short, and this is the best way it saw, which never meets
    /// more risks than [`Paths::fewest_conditional_hops`].
    pub exact: bool,
}

/// One way: its hops in order.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Path {
    /// The updates, each from where the last one led to.
    pub hops: Vec<Hop>,
}

/// One update.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Hop {
    /// The source.
    pub from: Version,
    /// The target.
    pub to: Version,
    /// The release that is the target, shared with the graph.
    #[serde(skip)]
    pub release: Option<Arc<Node>>,
    /// What it carries, by name; nothing if it is unconditional. Shared with the graph: many updates may carry many risks.
    #[serde(serialize_with = "crate::model::serial::risks")]
    pub risks: Arc<[Arc<Risk>]>,
}

impl Hop {
    /// The image or artifact of the target.
    pub fn payload(&self) -> &str {
        self.release.as_ref().map_or("", |release| release.payload())
    }
}

/// Bytes of the risks on all updates of one path, each counted once for each update: whoever shows a path shows them.
pub(crate) const PATH_RISK_BYTES: usize = 4 << 20;

/// Why there is no way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", tag = "reason")]
pub enum NoPath {
    /// The source is not in the graph.
    UnknownFrom {
        /// The source.
        version: Version,
    },
    /// The target is not in the graph.
    UnknownTo {
        /// The target.
        version: Version,
    },
    /// The target is not newer than the source, and updates only lead to newer versions.
    NotNewer {
        /// The source.
        from: Version,
        /// The target.
        to: Version,
    },
    /// No sequence of updates leads there, conditional ones included.
    Unreachable {
        /// The source.
        from: Version,
        /// The target.
        to: Version,
        /// The newest version below the target that the source does reach.
        newest_reachable: Option<Version>,
        /// The oldest version above the source that does reach the target.
        oldest_entry: Option<Version>,
    },
    /// There are ways, and the risks on the updates of one are more than anybody shows.
    AboveCap {
        /// The cap.
        cap: &'static str,
        /// Its value.
        limit: u64,
    },
}

impl Path {
    /// How many of the hops carry a risk.
    pub fn conditional_hops(&self) -> usize {
        self.hops.iter().filter(|hop| !hop.risks.is_empty()).count()
    }

    /// The names of the risks on the way, each once.
    pub fn risk_names(&self) -> Vec<&str> {
        // Updates share their lists of risks: each list is looked at once.
        let mut lists = HashSet::new();
        let new = self.hops.iter().filter(|hop| lists.insert(hop.risks.as_ptr()));
        let names: BTreeSet<&str> = new.flat_map(|hop| hop.risks.iter().map(|risk| risk.name())).collect();
        names.into_iter().collect()
    }

    /// The cap on the risks of its updates, if it is above it.
    fn above(&self) -> Option<CapExceeded> {
        let mut left = PATH_RISK_BYTES;
        let risks = self.hops.iter().flat_map(|hop| hop.risks.iter());
        for risk in risks {
            let Some(rest) = left.checked_sub(risk.json().len()) else {
                let (cap, what) = ("path_risk_bytes", "bytes of risks on the updates of one path");
                return Some(CapExceeded { cap, limit: PATH_RISK_BYTES as u64, what });
            };
            left = rest;
        }
        None
    }
}

impl fmt::Display for NoPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoPath::UnknownFrom { version } | NoPath::UnknownTo { version } => {
                write!(f, "{version} is not in this channel")
            }
            NoPath::NotNewer { from, to } => {
                write!(f, "{to} is not newer than {from}; updates only lead to newer versions")
            }
            NoPath::Unreachable { from, to, newest_reachable, oldest_entry } => {
                write!(f, "no sequence of updates leads from {from} to {to}")?;
                match newest_reachable {
                    Some(newest) => write!(f, "; the newest version in between that can be reached is {newest}")?,
                    None => write!(f, "; no version between them can be reached either")?,
                }
                oldest_entry.iter().try_for_each(|entry| write!(f, "; {to} can be reached from {entry}"))
            }
            NoPath::AboveCap { cap, limit } => {
                write!(f, "the path has more than {limit} bytes of risks on its updates (the cap `{cap}`)")
            }
        }
    }
}

impl std::error::Error for NoPath {}

/// The best ways from one version to another.
pub fn paths(graph: &Graph, from: &Version, to: &Version) -> Result<Paths, Box<NoPath>> {
    let source = place(graph, from).ok_or_else(|| Box::new(NoPath::UnknownFrom { version: from.clone() }))?;
    let target = place(graph, to).ok_or_else(|| Box::new(NoPath::UnknownTo { version: to.clone() }))?;
    if from.precedence(to).is_ge() {
        return Err(Box::new(NoPath::NotNewer { from: from.clone(), to: to.clone() }));
    }
    let outgoing = Outgoing::new(graph);
    let walk = |cost: fn(Step) -> Cost| Walk::new(&outgoing, source, |place| place == target, cost).path();
    let (Some(shortest), Some(least)) = (walk(hops_first), walk(conditional_first)) else {
        return Err(Box::new(unreachable(&outgoing, source, target)));
    };
    let fewest_risks = fewest_risks(&outgoing, source, target, &least);
    if let Some(CapExceeded { cap, limit, .. }) =
        [&shortest, &least, &fewest_risks.path].into_iter().find_map(Path::above)
    {
        return Err(Box::new(NoPath::AboveCap { cap, limit }));
    }
    Ok(Paths { shortest, fewest_conditional_hops: least, fewest_risks })
}

/// What a way costs: two counts, the first of which decides.
pub(crate) type Cost = (u32, u32);

fn hops_first(step: Step) -> Cost {
    (1, u32::from(!step.is_plain()))
}

pub(crate) fn conditional_first(step: Step) -> Cost {
    (u32::from(!step.is_plain()), 1)
}

/// The best way to a goal from every release between it and a source.
pub(crate) struct Walk<'w, 'g> {
    outgoing: &'w Outgoing<'g>,
    source: u32,
    /// By place: what the way from there costs, and its first step (none at the goal).
    best: Vec<Option<(Cost, Option<Step>)>>,
}

impl<'w, 'g> Walk<'w, 'g> {
    /// Walks back from the last place; `goal` says where a way may end.
    pub(crate) fn new(
        outgoing: &'w Outgoing<'g>,
        source: u32,
        goal: impl Fn(u32) -> bool,
        cost: impl Fn(Step) -> Cost,
    ) -> Self {
        let mut best: Vec<Option<(Cost, Option<Step>)>> = vec![None; outgoing.graph.nodes().len()];
        for from in (source..id(best.len())).rev() {
            let mut found = goal(from).then_some(((0, 0), None));
            // The newest target first, and only a better one takes its place.
            for step in outgoing.of(from).iter().rev() {
                let Some(Some((rest, _))) = best.get(step.to as usize) else { continue };
                let (first, second) = cost(*step);
                let total = (rest.0 + first, rest.1 + second);
                if found.is_none_or(|(known, _)| total < known) {
                    found = Some((total, Some(*step)));
                }
            }
            if let Some(slot) = best.get_mut(from as usize) {
                *slot = found;
            }
        }
        Walk { outgoing, source, best }
    }

    /// The best way from the source.
    pub(crate) fn path(&self) -> Option<Path> {
        let mut at = self.source;
        let mut hops = Vec::new();
        loop {
            let (_, step) = (*self.best.get(at as usize)?)?;
            let Some(step) = step else { return Some(Path { hops }) };
            hops.push(hop(self.outgoing, at, step));
            at = step.to;
        }
    }
}

pub(crate) fn hop(outgoing: &Outgoing<'_>, from: u32, step: Step) -> Hop {
    let graph = outgoing.graph;
    let release = graph.nodes().get(step.to as usize).cloned();
    Hop { from: version(graph, from), to: version(graph, step.to), release, risks: outgoing.shared_risks(step) }
}

fn unreachable(outgoing: &Outgoing<'_>, source: u32, target: u32) -> NoPath {
    let graph = outgoing.graph;
    let count = graph.nodes().len();
    let mut reached = BitSet::none(count);
    reached.insert(source);
    for from in source..target {
        if reached.contains(from) {
            outgoing.of(from).iter().for_each(|step| reached.insert(step.to));
        }
    }
    let newest = reached.iter().filter(|place| *place > source && *place < target).last();
    let mut entries = BitSet::none(count);
    entries.insert(target);
    for from in (source..target).rev() {
        if outgoing.of(from).iter().any(|step| entries.contains(step.to)) {
            entries.insert(from);
        }
    }
    let oldest = entries.iter().next().filter(|place| *place < target);
    NoPath::Unreachable {
        from: version(graph, source),
        to: version(graph, target),
        newest_reachable: newest.map(|place| version(graph, place)),
        oldest_entry: oldest.map(|place| version(graph, place)),
    }
}

/// How many ways the search keeps at each release when there are more than twice as many. Real channels have a handful.
const KEPT: usize = 16;

/// A way from a release to the target: the risks it meets, its hops, and its first step with where that goes on.
struct Label {
    risks: BitSet,
    count: u32,
    hops: u32,
    next: Option<(Step, usize)>,
}

/// The fewest distinct risks: at each release every way is kept that no other one there is better than in both risks
/// and hops, and that does not meet more risks than `known` already.
fn fewest_risks(outgoing: &Outgoing<'_>, source: u32, target: u32, known: &Path) -> FewestRisks {
    if known.conditional_hops() == 0 {
        return FewestRisks { path: known.clone(), exact: true };
    }
    // The fewest risks with each counted as often as it is met are not the fewest distinct ones, but close.
    let count = |step: Step| (id(outgoing.risks(step).len()), 1);
    let close = Walk::new(outgoing, source, |place| place == target, count).path();
    let known = close.as_ref().filter(|close| close.risk_names().len() < known.risk_names().len()).unwrap_or(known);
    let limit = id(known.risk_names().len());
    let mut ids: BTreeMap<&str, u32> = BTreeMap::new();
    for risk in outgoing.graph.conditional().iter().flat_map(|group| group.risks.iter()) {
        let next = id(ids.len());
        ids.entry(risk.name()).or_insert(next);
    }
    let none = BitSet::none(ids.len());
    let sets: Vec<BitSet> = outgoing
        .graph
        .conditional()
        .iter()
        .map(|group| {
            let mut set = none.clone();
            group.risks.iter().filter_map(|risk| ids.get(risk.name())).for_each(|id| set.insert(*id));
            set
        })
        .collect();
    let mut risks = none.clone();
    let mut exact = true;
    let mut labels: Vec<Vec<Label>> = Vec::new();
    labels.resize_with(target as usize + 1, Vec::new);
    for from in (source..=target).rev() {
        let mut here: Vec<Label> = Vec::new();
        if from == target {
            here.push(Label { risks: none.clone(), count: 0, hops: 0, next: None });
        }
        for step in outgoing.of(from).iter().rev() {
            let Some(ways) = labels.get(step.to as usize) else { continue };
            for (at, way) in ways.iter().enumerate() {
                risks.clone_from(&way.risks);
                if let Some(more) = step.group().and_then(|group| sets.get(group)) {
                    risks.unite(more);
                }
                let (count, hops) = (risks.len(), way.hops + 1);
                let beaten = |other: &Label| other.hops <= hops && other.risks.within(&risks);
                if count > limit || here.iter().any(beaten) {
                    continue;
                }
                here.retain(|other| !(hops <= other.hops && risks.within(&other.risks)));
                here.push(Label { risks: risks.clone(), count, hops, next: Some((*step, at)) });
                if here.len() > 2 * KEPT {
                    exact = false;
                    here.sort_by_key(|label| (label.count, label.hops));
                    here.truncate(KEPT);
                }
            }
        }
        if let Some(slot) = labels.get_mut(from as usize) {
            *slot = here;
        }
    }
    let (mut from, mut hops) = (source, Vec::new());
    let ways = labels.get(source as usize).map_or(&[][..], Vec::as_slice);
    let best = ways.iter().enumerate().min_by_key(|(_, label)| (label.count, label.hops));
    let mut at = best.map(|(at, _)| at);
    while let Some((step, next)) = at.and_then(|at| labels.get(from as usize)?.get(at)?.next) {
        hops.push(hop(outgoing, from, step));
        (from, at) = (step.to, Some(next));
    }
    // A search that was cut short may have dropped the way that is known.
    if hops.is_empty() {
        return FewestRisks { path: known.clone(), exact };
    }
    FewestRisks { path: Path { hops }, exact }
}
