//! Everything that had a say in one edge, by file.
//!
//! Start at [`Revision::explain`].

use std::sync::Arc;

use clearway_core::{Arch, Version};

use crate::files::block::Block;
use crate::files::raw;
use crate::model::edges::by;
use crate::model::revision::{Release, Revision};
use crate::model::risk::Risk;
use crate::model::verdicts::Ruling;

/// One update and what was said about it.
#[derive(Debug)]
pub struct Explanation<'r> {
    /// The source.
    pub from: &'r Release,
    /// The target.
    pub to: &'r Release,
    /// What is served.
    pub verdict: Verdict<'r>,
    /// Who said what: first who lists the edge, then who takes it away or gives it a risk.
    pub said: Vec<Statement<'r>>,
    /// The channels that hold both releases, and so serve the edge.
    pub channels: Vec<&'r str>,
}

/// What became of an edge.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Verdict<'r> {
    /// Nobody lists it.
    NotListed,
    /// Offered to every cluster.
    Recommended,
    /// Offered to the clusters that none of these risks matches.
    Conditional(&'r [Arc<Risk>]),
    /// Offered to nobody.
    Removed,
}

/// Something that had a say in an edge.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Statement<'r> {
    /// A release lists the other one under `previous` or `next`.
    Listed {
        /// The key.
        key: &'static str,
        /// The file that lists the release.
        file: &'r str,
    },
    /// Metadata adds or removes the edge. It comes with the release, or from `raw/metadata.json`.
    Metadata {
        /// The key.
        key: &'static str,
        /// The file that lists the release.
        file: &'r str,
    },
    /// A block removes the edge or gives it a risk.
    Blocked(&'r Block),
}

impl Revision {
    /// Everything that had a say in the update from one version to another; nothing if either has no release.
    pub fn explain(&self, from: &Version, to: &Version, arch: &Arch) -> Option<Explanation<'_>> {
        let (source, target) = (self.place(from, arch)?, self.place(to, arch)?);
        let (from, to) = (self.releases.get(source as usize)?, self.releases.get(target as usize)?);
        let holds = |name: &str, place: &u32| self.members.of_channel(name).binary_search(place).is_ok();
        let both = |name: &&str| holds(name, &source) && holds(name, &target);
        let channels = self.channels.keys().map(String::as_str).filter(both).collect();
        let verdict = match self.table.find(source, target).and_then(|at| self.table.rows.get(at)) {
            None => Verdict::NotListed,
            Some(row) => match row.ruling {
                Ruling::PLAIN => Verdict::Recommended,
                Ruling::REMOVED => Verdict::Removed,
                conditional => Verdict::Conditional(self.judged.sets.get(conditional.set() as usize)?),
            },
        };
        Some(Explanation { from, to, verdict, said: self.statements(source, target), channels })
    }

    /// Who said what about the update from one release to another, by their places.
    pub(crate) fn statements(&self, source: u32, target: u32) -> Vec<Statement<'_>> {
        let mut said = Vec::new();
        let (Some(from), Some(to)) = (self.releases.get(source as usize), self.releases.get(target as usize)) else {
            return said;
        };
        let Some(at) = self.table.find(source, target) else { return said };
        let by = self.table.by.get(at).copied().unwrap_or(0);
        for (bit, key, by_source) in [(by::PREVIOUS, "previous", false), (by::NEXT, "next", true)] {
            if by & bit != 0 {
                said.push(Statement::Listed { key, file: if by_source { &from.file } else { &to.file } });
            }
        }
        for (bit, key, by_source) in [
            (by::PREVIOUS_ADD, "io.openshift.upgrades.graph.previous.add", false),
            (by::NEXT_ADD, "io.openshift.upgrades.graph.next.add", true),
            (by::PREVIOUS_REMOVE, "io.openshift.upgrades.graph.previous.remove", false),
            (by::NEXT_REMOVE, "io.openshift.upgrades.graph.next.remove", true),
            (by::REMOVE_REGEX, "io.openshift.upgrades.graph.previous.remove_regex", false),
        ] {
            if by & bit != 0 {
                let (release, other) = if by_source { (from, to) } else { (to, from) };
                let outside = raw::changes_edge(&self.raw, release.node.version(), key, other.node.version());
                said.push(Statement::Metadata { key, file: if outside { raw::PATH } else { &release.file } });
            }
        }
        let blocks = self.judged.hits.of(at).iter().filter_map(|block| self.blocks.get(*block as usize));
        said.extend(blocks.map(Statement::Blocked));
        said
    }
}
