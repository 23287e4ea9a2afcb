//! Updates that had the same happen to them, as few lines of version ranges as that takes.
//!
//! A line is a rectangle: sources times targets. It may hold places where neither answer has an update, for those say
//! nothing; it may not hold an update to which something else happened. So `4.14.0–4.14.8 → 4.14.3–4.14.9` is one line
//! although no version updates to an older one.

use std::collections::BTreeMap;

use clearway_core::Version;

use super::{Line, Span, What};
use crate::places::Places;

/// What happened, the place of the release that is the cause, and the names of the risks.
type Happening = (What, Option<u32>, Vec<String>);

/// What happened, by update.
pub(super) struct Cells<'v> {
    /// The versions of both answers, in order; places are of this list.
    versions: &'v [&'v Version],
    /// By target: every source that either answer has an update from.
    existing: Vec<Places>,
    /// By what happened and then target: the sources.
    happened: BTreeMap<Happening, BTreeMap<u32, Places>>,
}

impl<'v> Cells<'v> {
    pub(super) fn new(versions: &'v [&'v Version]) -> Self {
        let existing = vec![Places::none(versions.len()); versions.len()];
        Cells { versions, existing, happened: BTreeMap::new() }
    }

    /// One of the answers has this update.
    pub(super) fn exists(&mut self, from: u32, to: u32) {
        if let Some(sources) = self.existing.get_mut(to as usize) {
            sources.insert(from);
        }
    }

    /// This happened to an update.
    pub(super) fn put(&mut self, what: What, release: Option<u32>, risks: &[&str], from: u32, to: u32) {
        let key = (what, release, risks.iter().map(|name| (*name).to_owned()).collect());
        let targets = self.happened.entry(key).or_default();
        targets.entry(to).or_insert_with(|| Places::none(self.versions.len())).insert(from);
    }

    /// The lines in order.
    pub(super) fn lines(&self) -> Vec<Line> {
        let mut lines = Vec::new();
        for ((what, release, risks), targets) in &self.happened {
            for block in self.blocks(targets) {
                let from = self.spans(&block.sources, |place| block.targets.iter().any(|to| self.has(place, *to)));
                // The ranges may have taken in versions without an update to these targets; others they may have.
                let covered = self.covered(&from);
                let to = self.spans(&self.set(&block.targets), |place| self.meets(place, &covered));
                let updates = block.targets.iter().filter_map(|to| targets.get(to)).map(|from| from.len() as usize);
                lines.push(Line {
                    what: *what,
                    release: release.and_then(|place| self.versions.get(place as usize)).map(|found| (*found).clone()),
                    risks: risks.clone(),
                    from,
                    to,
                    updates: updates.sum(),
                    files: Vec::new(),
                });
            }
        }
        lines
    }

    /// Puts targets together from the oldest on, as long as the rectangle stays true.
    fn blocks(&self, targets: &BTreeMap<u32, Places>) -> Vec<Block> {
        let mut blocks: Vec<Block> = Vec::new();
        for (to, sources) in targets {
            let joined = blocks.iter_mut().rev().find_map(|block| {
                let mut all = block.sources.clone();
                all.unite(sources);
                let holds = |to: &u32| {
                    let (existing, here) = (self.existing.get(*to as usize)?, targets.get(to)?);
                    (existing.common(&all) == *here).then_some(())
                };
                let all_hold = holds(to).is_some() && block.targets.iter().all(|to| holds(to).is_some());
                (all_hold && self.reads_well(block, *to, sources, &all)).then_some((block, all))
            });
            match joined {
                Some((block, all)) => {
                    block.targets.push(*to);
                    block.sources = all;
                }
                None => blocks.push(Block { targets: vec![*to], sources: sources.clone() }),
            }
        }
        blocks
    }

    /// Whether a target may join a block: with the same sources it always may. With others it may if it is of the same
    /// minor and the sources do not fall into more ranges, for a line that is a list is no longer read.
    fn reads_well(&self, block: &Block, to: u32, sources: &Places, all: &Places) -> bool {
        let minor = |place: u32| self.versions.get(place as usize).map(|version| (version.major(), version.minor()));
        let ranges = |set: &Places| self.spans(set, |_| true).len();
        block.sources == *sources
            || (block.targets.last().is_some_and(|last| minor(*last) == minor(to))
                && ranges(all) <= ranges(&block.sources).max(ranges(sources)))
    }

    fn has(&self, from: u32, to: u32) -> bool {
        self.existing.get(to as usize).is_some_and(|sources| sources.contains(from))
    }

    fn meets(&self, to: u32, sources: &Places) -> bool {
        self.existing.get(to as usize).is_some_and(|existing| existing.meets(sources))
    }

    fn set(&self, places: &[u32]) -> Places {
        let mut set = Places::none(self.versions.len());
        for place in places {
            set.insert(*place);
        }
        set
    }

    fn covered(&self, spans: &[Span]) -> Places {
        let inside = |version: &Version| spans.iter().any(|span| span.contains(version));
        let places = (0..).zip(self.versions).filter(|(_, version)| inside(version)).map(|(place, _)| place);
        self.set(&places.collect::<Vec<_>>())
    }

    /// Neighbours of one minor as ranges; a version between them for which `counts` is false has no say.
    fn spans(&self, set: &Places, counts: impl Fn(u32) -> bool) -> Vec<Span> {
        let mut spans: Vec<Span> = Vec::new();
        let mut open = false;
        let minor = |version: &Version| (version.major(), version.minor());
        for (place, version) in (0..).zip(self.versions) {
            if !set.contains(place) {
                open &= !counts(place);
                continue;
            }
            match spans.last_mut().filter(|span| open && minor(&span.last) == minor(version)) {
                Some(span) => span.last = (*version).clone(),
                None => spans.push(Span { first: (*version).clone(), last: (*version).clone() }),
            }
            open = true;
        }
        spans
    }
}

/// Sources times targets.
struct Block {
    targets: Vec<u32>,
    sources: Places,
}
