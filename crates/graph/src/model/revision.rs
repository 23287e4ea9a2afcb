//! One immutable state of the graph-data, from which every answer is cut.
//!
//! Releases have ids: their places by architecture and version. So the releases of an answer are a sorted list of ids
//! that lie close together, and their edges are found without a search. Start at [`Revision::graph`].

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use clearway_core::{Arch, Digest, Exceeded, GraphLimits, Place, Position, Version};

use crate::files::block::Block;
use crate::files::channel::Channel;
use crate::files::declaration::Declaration;
use crate::files::findings::Findings;
use crate::files::raw::Raw;
use crate::files::releases::Listed;
use crate::model::edges::{Table, rank};
use crate::model::graph::{Edge, Graph, Group, Node};
use crate::model::verdicts::{Judged, Ruling};
use crate::model::versions::{NONE, id};

/// A release, and where it is listed.
#[derive(Debug, Clone)]
pub struct Release {
    /// What clients see of it.
    pub node: Arc<Node>,
    /// What it is built for.
    pub arch: Arch,
    /// The file that lists it.
    pub file: Arc<str>,
    /// The place in that file.
    pub position: Option<Position>,
}

/// One state of the graph-data: every node, edge and risk of an answer comes from one of these.
#[derive(Debug)]
pub struct Revision {
    pub(crate) id: Digest,
    /// In order; a version's place is its rank.
    pub(crate) versions: Vec<Version>,
    pub(crate) arches: Vec<Arch>,
    pub(crate) releases: Vec<Release>,
    pub(crate) members: Members,
    pub(crate) table: Table,
    pub(crate) judged: Judged,
    pub(crate) blocks: Vec<Block>,
    pub(crate) declarations: Vec<Declaration>,
    pub(crate) channels: BTreeMap<String, Channel>,
    /// What `raw/metadata.json` adds.
    pub(crate) raw: Raw,
    /// The caps it was loaded under.
    pub(crate) caps: GraphLimits,
}

/// Which releases a version or a channel has.
#[derive(Debug, Default)]
pub(crate) struct Members {
    /// Where the releases of each version start; one more entry than there are versions.
    starts: Vec<u32>,
    by_version: Vec<u32>,
    /// The releases of each channel, in order.
    channels: BTreeMap<String, Box<[u32]>>,
    /// Where each architecture's releases end.
    arch_ends: Vec<u32>,
}

impl Members {
    pub(crate) fn new(listed: &[Listed], versions: usize, arches: usize) -> Self {
        let mut starts = vec![0_u32; versions + 1];
        let mut arch_ends = vec![0_u32; arches];
        for (end, release) in (1..).zip(listed) {
            starts.get_mut(release.version as usize + 1).into_iter().for_each(|count| *count += 1);
            arch_ends.get_mut(release.arch as usize).into_iter().for_each(|slot| *slot = end);
        }
        // An architecture whose releases were all refused ends where the one before it does.
        let mut last = 0;
        for end in &mut arch_ends {
            last = last.max(*end);
            *end = last;
        }
        let mut sum = 0;
        for count in &mut starts {
            sum += *count;
            *count = sum;
        }
        let mut next = starts.clone();
        let mut by_version = vec![0_u32; listed.len()];
        for (place, release) in (0..).zip(listed) {
            let Some(slot) = next.get_mut(release.version as usize) else { continue };
            by_version.get_mut(*slot as usize).into_iter().for_each(|entry| *entry = place);
            *slot += 1;
        }
        Members { starts, by_version, channels: BTreeMap::new(), arch_ends }
    }

    /// Adds which releases each channel holds: a version of all architectures, or of the one it names.
    pub(crate) fn with_channels(
        mut self,
        channels: &BTreeMap<String, Channel>,
        versions: &[Version],
        listed: &[Listed],
        arches: &[Arch],
        findings: &mut Findings<'_>,
    ) -> Self {
        let (mut count, most) = (0, findings.caps().channel_members);
        let mut members: Vec<u32> = Vec::new();
        for (name, channel) in channels {
            members.clear();
            for version in &channel.versions {
                let Some(rank) = rank(versions, version) else { continue };
                let only = version.build();
                members.extend(self.of_version(rank).iter().filter(|place| {
                    let arch = listed.get(**place as usize).and_then(|release| arches.get(release.arch as usize));
                    only.is_empty() || arch.is_some_and(|arch| arch.as_str() == only)
                }));
            }
            members.sort_unstable();
            members.dedup();
            count += members.len();
            if findings.exceeds("channel_members", count, most, "releases in channels", Place::default) {
                return self;
            }
            self.channels.insert(name.clone(), members.as_slice().into());
        }
        self
    }

    /// The releases of a version, by architecture.
    pub(crate) fn of_version(&self, rank: u32) -> &[u32] {
        let at = |place: usize| self.starts.get(place).copied().unwrap_or(0) as usize;
        self.by_version.get(at(rank as usize)..at(rank as usize + 1)).unwrap_or(&[])
    }

    /// The releases of a channel.
    pub(crate) fn of_channel(&self, channel: &str) -> &[u32] {
        self.channels.get(channel).map_or(&[], |members| members)
    }

    /// The releases of a channel for one architecture.
    fn of(&self, channel: &str, arch: usize) -> &[u32] {
        let all = self.of_channel(channel);
        let end = |arch: usize| self.arch_ends.get(arch).copied().unwrap_or(0);
        let first = arch.checked_sub(1).map_or(0, end);
        let (from, to) = (all.partition_point(|place| *place < first), all.partition_point(|place| *place < end(arch)));
        all.get(from..to).unwrap_or(&[])
    }
}

impl Revision {
    /// The name of exactly this state: see [`crate::Inputs::id`].
    pub fn id(&self) -> &Digest {
        &self.id
    }

    /// The channels by name.
    pub fn channels(&self) -> impl Iterator<Item = &Channel> {
        self.channels.values()
    }

    /// The architectures that have a release.
    pub fn arches(&self) -> &[Arch] {
        &self.arches
    }

    /// Every release, by architecture and version.
    pub fn releases(&self) -> &[Release] {
        &self.releases
    }

    /// Every declared risk, by file.
    pub fn declarations(&self) -> &[Declaration] {
        &self.declarations
    }

    /// Every block: by file, and then those that the declared risks stand for.
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// The release of a version (whatever its build metadata) for an architecture.
    pub fn release(&self, version: &Version, arch: &Arch) -> Option<&Release> {
        self.releases.get(self.place(version, arch)? as usize)
    }

    pub(crate) fn place(&self, version: &Version, arch: &Arch) -> Option<u32> {
        let rank = rank(&self.versions, version)?;
        let is = |place: &&u32| self.releases.get(**place as usize).is_some_and(|release| release.arch == *arch);
        self.members.of_version(rank).iter().find(is).copied()
    }

    /// The releases of an answer, by their places in [`Revision::releases`]: equal lists have equal answers.
    pub fn members(&self, channel: &str, arch: &Arch) -> &[u32] {
        self.arches.binary_search(arch).map_or(&[], |arch| self.members.of(channel, arch))
    }

    /// The cap on all answers together that the revision is above: how many there are, and how much there is to look at to
    /// make them.
    pub fn above_in_answers(&self) -> Option<Exceeded> {
        let answers = self.channels.len().saturating_mul(self.arches.len());
        // Channels with the same releases have the same answers.
        let different: HashSet<&[u32]> = self.members.channels.values().map(AsRef::as_ref).collect();
        let edges: u64 = different.into_iter().map(|members| self.rows_into(members)).sum();
        let (most, what) = (self.caps.answers_edges, "updates to read for all answers");
        Exceeded::first([("answers", answers, self.caps.answers, "answers: channels times architectures")])
            .or((edges > most).then_some(Exceeded { cap: "answers_edges", limit: most, what }))
    }

    /// How many updates, offered or not, lead to some releases.
    fn rows_into(&self, members: &[u32]) -> u64 {
        members.iter().map(|member| self.table.range(*member).len() as u64).sum()
    }

    /// How many updates there are to look at if every channel is looked at by itself.
    pub(crate) fn rows_of_channels(&self) -> u64 {
        self.members.channels.values().map(|members| self.rows_into(members)).sum()
    }

    /// The caps that it was loaded under.
    pub fn caps(&self) -> &GraphLimits {
        &self.caps
    }

    /// The answer for a channel and an architecture; an empty one for what nobody declared.
    pub fn graph(&self, channel: &str, arch: &Arch) -> Graph {
        let Ok(arch) = self.arches.binary_search(arch) else { return Graph::default() };
        let members = self.members.of(channel, arch);
        let (Some(first), Some(last)) = (members.first(), members.last()) else { return Graph::default() };
        // Where each release stands in this answer; members lie close together, so this is small.
        let mut places = vec![NONE; (last - first) as usize + 1];
        for (place, member) in (0..).zip(members) {
            places.get_mut((member - first) as usize).into_iter().for_each(|slot| *slot = place);
        }
        let nodes = members
            .iter()
            .filter_map(|member| self.releases.get(*member as usize))
            .map(|release| Arc::clone(&release.node));
        let listed: usize = members.iter().map(|member| self.table.range(*member).len()).sum();
        let mut edges = Vec::with_capacity(listed.min(members.len() * members.len() / 2));
        let mut groups = Groups { revision: self, list: Vec::new(), known: HashMap::new(), last: (NONE, 0) };
        for (to, member) in (0..).zip(members) {
            for row in self.table.incoming(*member) {
                let from = row.from.checked_sub(*first).and_then(|at| places.get(at as usize)).copied().unwrap_or(NONE);
                if from == NONE {
                    continue;
                }
                match row.ruling {
                    Ruling::PLAIN => edges.push(Edge { from, to }),
                    Ruling::REMOVED => {}
                    conditional => groups.add(conditional.set(), Edge { from, to }),
                }
            }
        }
        Graph::from_ordered(nodes.collect(), edges, groups.list)
    }
}

/// The groups of an answer in the making, in the order of their first edges.
struct Groups<'r> {
    revision: &'r Revision,
    list: Vec<Group>,
    known: HashMap<u32, usize>,
    /// Neighbouring edges mostly carry the same risks.
    last: (u32, usize),
}

impl Groups<'_> {
    fn add(&mut self, set: u32, edge: Edge) {
        let at = if self.last.0 == set { self.last.1 } else { *self.known.entry(set).or_insert(self.list.len()) };
        self.last = (set, at);
        if let Some(group) = self.list.get_mut(at) {
            group.edges.push(edge);
        } else if let Some(risks) = self.revision.judged.sets.get(set as usize) {
            self.list.push(Group { risks: Arc::clone(risks), edges: vec![edge] });
        }
    }
}

/// The number of releases, channels and blocks, for a line of a log.
impl std::fmt::Display for Revision {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (releases, channels, blocks) = (self.releases.len(), self.channels.len(), self.blocks.len());
        write!(f, "{releases} releases, {channels} channels, {blocks} blocks, {} edges", id(self.table.rows.len()))
    }
}
