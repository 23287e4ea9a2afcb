//! Updates that had the same happen to them, as few lines of version ranges as that takes.
//!
//! A line is a rectangle: sources times targets. It may hold places where neither answer has an update, for those say
//! nothing; it may not hold an update to which something else happened. So `4.14.0–4.14.8 → 4.14.3–4.14.9` is one line
//! although no version updates to an older one. How much is tried to make few lines is bounded: where that is used up,
//! there are more lines, and each of them is as true.

use std::collections::HashMap;
use std::sync::Arc;

use clearway_core::Version;

use super::{Line, Span, UpdateChangeKind};
use crate::query::bit_set::BitSet;

/// What happened, the place of the release that is the cause, and the number of the list of risks.
pub(super) type EdgeChange = (UpdateChangeKind, Option<u32>, u32);

/// Comparisons of sets that are made to put targets together. Real channels take some thousand.
const TRIALS: usize = 1_000_000;
/// How many lines back a target is compared with.
const BACK: usize = 64;

/// What happened, by update.
pub(super) struct Cells<'v> {
    /// The versions of both answers, in order; places are of this list.
    versions: &'v [&'v Version],
    /// By target: every source that either answer has an update from.
    existing: Vec<BitSet>,
    /// By what happened: target and source.
    happened: HashMap<EdgeChange, Vec<(u32, u32)>>,
    /// Comparisons that may still be made.
    left: usize,
}

/// A line, and the updates that it stands for: target and source.
pub(super) type LineUpdates = (Line, Vec<(u32, u32)>);

impl<'v> Cells<'v> {
    pub(super) fn new(versions: &'v [&'v Version]) -> Self {
        let existing = vec![BitSet::none(versions.len()); versions.len()];
        Cells { versions, existing, happened: HashMap::new(), left: TRIALS }
    }

    /// One of the answers has this update.
    pub(super) fn exists(&mut self, from: u32, to: u32) {
        if let Some(sources) = self.existing.get_mut(to as usize) {
            sources.insert(from);
        }
    }

    /// This happened to an update.
    pub(super) fn put(&mut self, happening: EdgeChange, from: u32, to: u32) {
        self.happened.entry(happening).or_default().push((to, from));
    }

    /// The lines in order; `lists` are the names of risks by the numbers of their lists.
    pub(super) fn lines(mut self, lists: &[Vec<&str>]) -> Vec<LineUpdates> {
        let named = |number: u32| lists.get(number as usize).map_or(&[][..], Vec::as_slice);
        let mut happened: Vec<(EdgeChange, Vec<(u32, u32)>)> = self.happened.drain().collect();
        happened.sort_by(|((what, release, risks), _), ((other, cause, others), _)| {
            (what, release, named(*risks)).cmp(&(other, cause, named(*others)))
        });
        let mut lines = Vec::new();
        let mut shared: HashMap<u32, Arc<[String]>> = HashMap::new();
        for ((what, release, risks), mut updates) in happened {
            updates.sort_unstable();
            let shared =
                shared.entry(risks).or_insert_with(|| named(risks).iter().map(|name| (*name).to_owned()).collect());
            for block in self.blocks(&updates) {
                let from =
                    self.spans(&block.sources.iter().collect::<Vec<_>>(), |_, place| block.reached.contains(place));
                // The ranges may have taken in versions without an update to these targets; others they may have.
                let mut covered = BitSet::none(self.versions.len());
                for (first, last) in &from {
                    (*first..=*last).for_each(|place| covered.insert(place));
                }
                let to = self.spans(&block.targets, |cells, place| cells.meets(place, &covered));
                let line = Line {
                    what,
                    release: release.and_then(|place| self.versions.get(place as usize)).map(|found| (*found).clone()),
                    risks: Arc::clone(shared),
                    from: self.shown(&from),
                    to: self.shown(&to),
                    updates: block.updates.len(),
                    files: Vec::new(),
                };
                lines.push((line, block.updates));
            }
        }
        lines
    }

    /// Puts targets together from the oldest on, as long as the rectangle stays true.
    fn blocks(&mut self, updates: &[(u32, u32)]) -> Vec<Block> {
        let mut blocks: Vec<Block> = Vec::new();
        for of_target in updates.chunk_by(|(one, _), (other, _)| one == other) {
            let Some((to, _)) = of_target.first() else { continue };
            let mut sources = BitSet::none(self.versions.len());
            for (_, from) in of_target {
                sources.insert(*from);
            }
            let existing = self.existing.get(*to as usize).cloned().unwrap_or_else(|| sources.clone());
            let back = blocks.len().saturating_sub(BACK);
            let recent = blocks.get_mut(back..).into_iter().flatten().rev();
            let mut recent = recent.take(self.left);
            self.left = self.left.saturating_sub(BACK);
            match recent.find(|block| self.joins(block, *to, &sources, &existing)) {
                Some(block) => {
                    block.targets.push(*to);
                    block.sources.unite(&sources);
                    block.reached.unite(&existing);
                    block.updates.extend_from_slice(of_target);
                }
                None => {
                    blocks.push(Block { targets: vec![*to], sources, reached: existing, updates: of_target.to_vec() });
                }
            }
        }
        blocks
    }

    /// Whether a target may join a block: the rectangle then still holds nothing to which something else happened, and
    /// reads well.
    fn joins(&self, block: &Block, to: u32, sources: &BitSet, existing: &BitSet) -> bool {
        let mut all = block.sources.clone();
        all.unite(sources);
        // Of the targets that are there, none may have an update from a source that is new to them.
        let new = sources.without(&block.sources);
        existing.common(&all) == *sources && !new.meets(&block.reached) && self.reads_well(block, to, sources, &all)
    }

    /// With the same sources a target always reads well. With others it does if it is of the same minor and the sources do
    /// not fall into more ranges, for a line that is a list is no longer read.
    fn reads_well(&self, block: &Block, to: u32, sources: &BitSet, all: &BitSet) -> bool {
        let ranges = |set: &BitSet| {
            let places: Vec<u32> = set.iter().collect();
            1 + places.windows(2).filter(|pair| !matches!(pair, [one, other] if self.follows(*one, *other))).count()
        };
        block.sources == *sources
            || (block.targets.last().is_some_and(|last| self.minor(*last) == self.minor(to))
                && ranges(all) <= ranges(&block.sources).max(ranges(sources)))
    }

    /// Whether a place comes right behind another one of the same minor.
    fn follows(&self, one: u32, other: u32) -> bool {
        one + 1 == other && self.minor(one) == self.minor(other)
    }

    fn minor(&self, place: u32) -> Option<(u64, u64)> {
        self.versions.get(place as usize).map(|version| (version.major(), version.minor()))
    }

    fn meets(&self, to: u32, sources: &BitSet) -> bool {
        self.existing.get(to as usize).is_some_and(|existing| existing.meets(sources))
    }

    /// Neighbours of one minor as ranges of places; a place between them for which `counts` is false has no say.
    fn spans(&mut self, places: &[u32], counts: impl Fn(&Self, u32) -> bool) -> Vec<(u32, u32)> {
        let mut spans: Vec<(u32, u32)> = Vec::new();
        for place in places {
            let open = spans.last_mut().filter(|(_, last)| self.minor(*last) == self.minor(*place));
            match open {
                Some(span) if self.is_empty_between(span.1, *place, &counts) => span.1 = *place,
                _ => spans.push((*place, *place)),
            }
        }
        spans
    }

    fn is_empty_between(&mut self, one: u32, other: u32, counts: &impl Fn(&Self, u32) -> bool) -> bool {
        (one + 1..other).all(|place| {
            let spent = self.left == 0;
            self.left = self.left.saturating_sub(1);
            !spent && !counts(self, place)
        })
    }

    fn shown(&self, spans: &[(u32, u32)]) -> Vec<Span> {
        let version = |place: u32| self.versions.get(place as usize).map(|version| (*version).clone());
        spans.iter().filter_map(|(first, last)| Some(Span { first: version(*first)?, last: version(*last)? })).collect()
    }
}

/// Sources times targets.
struct Block {
    targets: Vec<u32>,
    sources: BitSet,
    /// Every source that any of the targets has an update from, whatever happened to that.
    reached: BitSet,
    /// The updates in it: target and source.
    updates: Vec<(u32, u32)>,
}
