//! Sets of labels, each stored once and known by a number.
//!
//! The labels of a set stand in the order of their names, and none has an empty value: a label that is missing and one
//! that is empty are the same to PromQL.

use super::hash::{self, Table};
use super::symbols::Symbol;

/// The number of a set of labels.
pub(crate) type SetId = u32;

/// A label: its name and its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pair {
    pub(crate) name: Symbol,
    pub(crate) value: Symbol,
}

impl Pair {
    fn word(self) -> u64 {
        u64::from(self.name).wrapping_shl(32) | u64::from(self.value)
    }
}

/// The hash of a set.
pub(crate) fn hash_of(pairs: &[Pair]) -> u64 {
    hash::of_words(pairs.iter().map(|pair| pair.word()))
}

/// Sets of labels, each stored once.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sets {
    pairs: Vec<Pair>,
    ends: Vec<u32>,
    table: Table,
}

impl Sets {
    /// With room for so many sets.
    pub(crate) fn expecting(sets: usize) -> Self {
        let mut made = Sets::default();
        made.pairs.reserve(sets.saturating_mul(5));
        made.ends.reserve(sets);
        made.table.reserve(sets);
        made
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The labels of a set, in the order of their names; none if there is no such set.
    pub(crate) fn pairs(&self, set: SetId) -> &[Pair] {
        let index = set as usize;
        let start = match index.checked_sub(1) {
            None => 0,
            Some(before) => self.ends.get(before).copied().unwrap_or_default(),
        };
        let end = self.ends.get(index).copied().unwrap_or_default();
        self.pairs.get(start as usize..end as usize).unwrap_or_default()
    }

    pub(crate) fn find_hashed(&self, pairs: &[Pair], hash: u64) -> Option<SetId> {
        self.table.find(hash, |set| self.pairs(set) == pairs)
    }

    /// Adds a set that is not there yet. Nothing if there is no room.
    pub(crate) fn add(&mut self, pairs: &[Pair], hash: u64) -> Option<SetId> {
        let end = u32::try_from(self.pairs.len().checked_add(pairs.len())?).ok()?;
        let set = u32::try_from(self.ends.len()).ok()?;
        self.pairs.extend_from_slice(pairs);
        self.ends.push(end);
        self.table.insert(hash, set);
        Some(set)
    }
}
