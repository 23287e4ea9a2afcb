//! What changed between two answers: releases, updates and risks gained and lost, so that a person can read it.
//!
//! One block in the files touches hundreds of updates. They are put together as lines ([`Line`]): everything that
//! happened to the updates from some ranges of versions to some others, with the risks by name. A line is exact: it
//! stands for every update that either answer has between its ranges, and for no other. Start at [`diff`]; for two
//! revisions [`Revision::diff`](crate::Revision::diff) names the files as well.

mod compared;
mod lines;
mod reasons;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use clearway_core::Version;
use serde::Serialize;

use crate::model::graph::{Graph, Node};
use crate::model::risk::Risk;
use crate::model::versions::id;
use compared::RiskLists;
use lines::Cells;

/// Everything that differs between two answers.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Diff {
    /// The numbers.
    pub totals: Totals,
    /// What happened to releases.
    pub releases: Releases,
    /// What happened to updates, by what happened, the release that is the cause, the risks, and the target.
    pub updates: Vec<Line>,
    /// What happened to risks.
    pub risks: Risks,
}

/// How much differs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Totals {
    /// Releases that are new.
    pub releases_gained: usize,
    /// Releases that are gone.
    pub releases_lost: usize,
    /// Updates that are new, with or without risks.
    pub updates_gained: usize,
    /// Updates that are gone, with or without risks.
    pub updates_lost: usize,
    /// Updates that have risks now and had none.
    pub became_conditional: usize,
    /// Updates that had risks and have none now.
    pub became_unconditional: usize,
    /// Updates that had risks and have others now, or the same with other texts or rules.
    pub risks_changed: usize,
}

/// What happened to releases.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Releases {
    /// New ones.
    pub gained: Vec<Version>,
    /// Those that are gone.
    pub lost: Vec<Version>,
    /// Those of which something else is said.
    pub changed: Vec<ReleaseChange>,
}

/// A release of which something else is said.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReleaseChange {
    /// The release.
    pub version: Version,
    /// Its payload, if that changed.
    pub payload: Option<ValueChange<String>>,
    /// Its metadata by key, as far as it changed.
    pub metadata: BTreeMap<String, ValueChange<Option<String>>>,
}

/// A value that changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ValueChange<T> {
    /// What it was.
    pub before: T,
    /// What it is.
    pub after: T,
}

/// What happened to risks.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Risks {
    /// Names that no update had.
    pub gained: Vec<String>,
    /// Names that no update has any more.
    pub lost: Vec<String>,
    /// Risks that kept their name and say something else on the same updates.
    pub changed: Vec<RiskChange>,
}

/// A risk that says something else.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RiskChange {
    /// What it said.
    #[serde(serialize_with = "crate::model::serial::risk")]
    pub before: Arc<Risk>,
    /// What it says.
    #[serde(serialize_with = "crate::model::serial::risk")]
    pub after: Arc<Risk>,
    /// What of it changed: `url`, `message`, `matchingRules`.
    pub fields: Vec<&'static str>,
    /// On how many updates.
    pub updates: usize,
}

/// One thing that happened to every update between some ranges of versions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Line {
    /// What happened.
    pub what: UpdateChangeKind,
    /// The release that came or went and brought or took these updates; nothing if something else is said of the
    /// updates themselves. Of two that came or went together it is the target.
    pub release: Option<Version>,
    /// The risks that came or went, by name. For an update that is new or gone, all of its risks. Lines with the same risks
    /// share the list.
    #[serde(serialize_with = "names")]
    pub risks: Arc<[String]>,
    /// The sources.
    pub from: Vec<Span>,
    /// The targets.
    pub to: Vec<Span>,
    /// How many updates that is.
    pub updates: usize,
    /// The files that say something else than before; empty where two answers were compared without their files.
    pub files: Vec<FileChange>,
}

fn names<S: serde::Serializer>(names: &[String], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(names)
}

fn path<S: serde::Serializer>(path: &str, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(path)
}

/// What happened to an update.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum UpdateChangeKind {
    /// It is gone.
    Lost,
    /// It has risks now and had none.
    BecameConditional,
    /// It has risks that it did not have, besides others.
    RisksGained,
    /// It no longer has risks that it had, but still others.
    RisksLost,
    /// It had risks and has none now.
    BecameUnconditional,
    /// It is new.
    Gained,
}

/// Versions of one minor from the first to the last.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Span {
    /// The oldest.
    pub first: Version,
    /// The newest.
    pub last: Version,
}

/// A file that says something else than before of at least one update of a line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FileChange {
    /// Its path; shared by all lines that name it.
    #[serde(serialize_with = "path")]
    pub file: Arc<str>,
    /// How.
    pub now: FileChangeKind,
}

/// How the say of a file changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum FileChangeKind {
    /// It has a say that it did not have.
    Gained,
    /// It has none any more.
    Lost,
    /// It says something else.
    Changed,
}

impl Span {
    /// Whether a version is in the range.
    pub fn contains(&self, version: &Version) -> bool {
        (&self.first..=&self.last).contains(&version)
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.first == self.last { write!(f, "{}", self.first) } else { write!(f, "{}–{}", self.first, self.last) }
    }
}

/// Such as `4.13.0–4.13.12 → 4.14.3`.
impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, spans) in [&self.from, &self.to].into_iter().enumerate() {
            f.write_str(if at > 0 { " → " } else { "" })?;
            for (at, span) in spans.iter().enumerate() {
                write!(f, "{}{span}", if at > 0 { ", " } else { "" })?;
            }
        }
        Ok(())
    }
}

impl Diff {
    /// Whether nothing differs.
    pub fn is_empty(&self) -> bool {
        *self == Diff::default()
    }
}

/// What an update carries in one answer: no update, or its risks.
type Carried<'g> = Option<&'g [Arc<Risk>]>;

/// The updates that each line of a difference stands for: their sources and targets.
type Updates<'g> = Vec<Vec<(&'g Version, &'g Version)>>;

/// What changed from one answer to another.
pub fn diff(before: &Graph, after: &Graph) -> Diff {
    with_updates(before, after).0
}

/// The same, with the updates that each line stands for.
fn with_updates<'g>(before: &'g Graph, after: &'g Graph) -> (Diff, Updates<'g>) {
    let mut found = Diff::default();
    // The releases of both by version, so that an update has the same places in either.
    let mut nodes: BTreeMap<&Version, (Option<&Node>, Option<&Node>)> = BTreeMap::new();
    before.nodes().iter().for_each(|node| nodes.entry(node.version()).or_default().0 = Some(node));
    after.nodes().iter().for_each(|node| nodes.entry(node.version()).or_default().1 = Some(node));
    for (version, pair) in &nodes {
        match pair {
            (Some(_), None) => found.releases.lost.push((*version).clone()),
            (None, Some(_)) => found.releases.gained.push((*version).clone()),
            (Some(one), Some(other)) if one != other => found.releases.changed.push(release_change(one, other)),
            _ => {}
        }
    }
    let versions: Vec<&Version> = nodes.keys().copied().collect();
    let stays: Vec<bool> = nodes.values().map(|pair| pair.0.is_some() && pair.1.is_some()).collect();
    let stays = |place: u32| stays.get(place as usize).is_some_and(|stays| *stays);
    let mut updates: BTreeMap<(u32, u32), (Carried<'_>, Carried<'_>)> = BTreeMap::new();
    for (edge, risks) in placed(before, &versions) {
        updates.entry(edge).or_default().0 = Some(risks);
    }
    for (edge, risks) in placed(after, &versions) {
        updates.entry(edge).or_default().1 = Some(risks);
    }
    let mut cells = Cells::new(&versions);
    let mut lists = RiskLists::default();
    for ((to, from), carried) in updates {
        cells.exists(from, to);
        let release = [to, from].into_iter().find(|place| !stays(*place));
        let mut put = |what, risks: u32| cells.put((what, release, risks), from, to);
        let totals = &mut found.totals;
        match carried {
            (Some(risks), None) => {
                totals.updates_lost += 1;
                put(UpdateChangeKind::Lost, lists.names(risks));
            }
            (None, Some(risks)) => {
                totals.updates_gained += 1;
                put(UpdateChangeKind::Gained, lists.names(risks));
            }
            (Some([]), Some(risks @ [_, ..])) => {
                totals.became_conditional += 1;
                put(UpdateChangeKind::BecameConditional, lists.names(risks));
            }
            (Some(risks @ [_, ..]), Some([])) => {
                totals.became_unconditional += 1;
                put(UpdateChangeKind::BecameUnconditional, lists.names(risks));
            }
            (Some(old @ [_, ..]), Some(new @ [_, ..])) => {
                if let Some((lost, gained)) = lists.compare(old, new) {
                    totals.risks_changed += 1;
                    for (what, risks) in [(UpdateChangeKind::RisksLost, lost), (UpdateChangeKind::RisksGained, gained)]
                    {
                        if let Some(risks) = risks {
                            put(what, risks);
                        }
                    }
                }
            }
            _ => {}
        }
    }
    let (names, reworded) = lists.finish();
    let (lines, cells): (Vec<Line>, Vec<Vec<(u32, u32)>>) = cells.lines(&names).into_iter().unzip();
    found.updates = lines;
    found.totals.releases_gained = found.releases.gained.len();
    found.totals.releases_lost = found.releases.lost.len();
    let (old, new) = (all_names(before), all_names(after));
    found.risks.gained = new.difference(&old).map(|name| (*name).to_owned()).collect();
    found.risks.lost = old.difference(&new).map(|name| (*name).to_owned()).collect();
    found.risks.changed =
        reworded.into_values().map(|(before, after, updates)| risk_change(before, after, updates)).collect();
    let version = |place: u32| versions.get(place as usize).copied();
    let ends = |updates: Vec<(u32, u32)>| {
        updates.into_iter().filter_map(|(to, from)| Some((version(from)?, version(to)?))).collect()
    };
    let updates = cells.into_iter().map(ends).collect();
    (found, updates)
}

/// The updates of a graph as target and source by their places among `versions`.
fn placed<'g>(graph: &'g Graph, versions: &[&Version]) -> impl Iterator<Item = ((u32, u32), &'g [Arc<Risk>])> {
    let places: Vec<u32> =
        graph.nodes().iter().map(|node| id(versions.partition_point(|v| *v < node.version()))).collect();
    let at = move |place: u32| places.get(place as usize).copied();
    graph.updates().filter_map(move |(edge, risks)| Some(((at(edge.to)?, at(edge.from)?), risks)))
}

fn all_names(graph: &Graph) -> BTreeSet<&str> {
    graph.conditional().iter().flat_map(|group| group.risks.iter().map(|risk| risk.name())).collect()
}

fn release_change(before: &Node, after: &Node) -> ReleaseChange {
    let changed = |one: &str, other: &str| ValueChange { before: one.to_owned(), after: other.to_owned() };
    let payload = (before.payload() != after.payload()).then(|| changed(before.payload(), after.payload()));
    let keys: BTreeSet<&str> = before.metadata().keys().chain(after.metadata().keys()).collect();
    let metadata = keys.into_iter().filter_map(|key| {
        let text = |node: &Node| node.metadata().get(key).map(str::to_owned);
        let (before, after) = (text(before), text(after));
        (before != after).then(|| (key.to_owned(), ValueChange { before, after }))
    });
    ReleaseChange { version: before.version().clone(), payload, metadata: metadata.collect() }
}

fn risk_change(before: &Arc<Risk>, after: &Arc<Risk>, updates: usize) -> RiskChange {
    let fields = [
        ("url", before.url() != after.url()),
        ("message", before.message() != after.message()),
        ("matchingRules", before.rules() != after.rules()),
    ];
    let fields = fields.into_iter().filter(|(_, differs)| *differs).map(|(name, _)| name).collect();
    RiskChange { before: Arc::clone(before), after: Arc::clone(after), fields, updates }
}
