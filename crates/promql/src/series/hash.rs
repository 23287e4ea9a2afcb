//! A fast hash with fixed keys, and a table of ids that is searched by content.
//!
//! Results must be the same in every run, so nothing here is seeded at random; what is hashed is bounded by the limits
//! of the readers and the budget of an evaluation.

use std::hash::{BuildHasherDefault, Hasher};

const KEY: u64 = 0x9E37_79B9_7F4A_7C15;
const MORE: u64 = 0xD6E8_FEB8_6659_FD93;

/// Folds the product of two words: every bit of the input reaches every bit of the result.
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a).wrapping_mul(u128::from(b));
    #[expect(clippy::cast_possible_truncation, reason = "both halves are taken")]
    let (low, high) = (product as u64, product.wrapping_shr(64) as u64);
    low ^ high
}

/// The hash of a text.
pub(crate) fn of_bytes(bytes: &[u8]) -> u64 {
    let mut state = KEY ^ (bytes.len() as u64);
    let (words, rest) = bytes.as_chunks::<8>();
    for word in words {
        state = fold(state ^ u64::from_le_bytes(*word), MORE);
    }
    let mut last = [0_u8; 8];
    for (to, from) in last.iter_mut().zip(rest) {
        *to = *from;
    }
    fold(state ^ u64::from_le_bytes(last), KEY)
}

/// The hash of a row of words.
pub(crate) fn of_words(words: impl Iterator<Item = u64>) -> u64 {
    fold(words.fold(KEY, |state, word| fold(state ^ word, MORE)), KEY)
}

/// Hashes ids: they are small and dense, so one multiplication spreads them.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct IdHasher(u64);

impl Hasher for IdHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0 = fold(self.0 ^ of_bytes(bytes), MORE);
    }

    fn write_u32(&mut self, id: u32) {
        self.0 = fold(self.0 ^ u64::from(id), MORE);
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = fold(self.0 ^ word, MORE);
    }

    fn write_usize(&mut self, word: usize) {
        self.0 = fold(self.0 ^ (word as u64), MORE);
    }
}

/// Maps and sets of ids.
pub(crate) type IdMap<K, V> = std::collections::HashMap<K, V, BuildHasherDefault<IdHasher>>;
/// A set of ids.
pub(crate) type IdSet<K> = std::collections::HashSet<K, BuildHasherDefault<IdHasher>>;

/// Ids by the hash of what they stand for. The content lives elsewhere, so that it is stored once.
#[derive(Debug, Clone, Default)]
pub(crate) struct Table {
    /// Half of the hash above, the id plus one below; zero is free. The length is a power of two.
    slots: Vec<u64>,
    used: usize,
}

impl Table {
    const LEAST: usize = 64;

    /// Makes room for so many ids.
    pub(crate) fn reserve(&mut self, ids: usize) {
        if self.used == 0 {
            self.slots = vec![0; ids.saturating_mul(2).next_power_of_two().clamp(Self::LEAST, 1 << 20)];
        }
    }

    /// The id with this hash for which `is` holds.
    pub(crate) fn find(&self, hash: u64, mut is: impl FnMut(u32) -> bool) -> Option<u32> {
        let mask = self.slots.len().checked_sub(1)?;
        let mut at = place(hash) & mask;
        // A table is never full, so the walk ends.
        for _ in 0..self.slots.len() {
            let slot = *self.slots.get(at)?;
            if slot == 0 {
                return None;
            }
            if upper(slot) == upper(hash) {
                let id = lower(slot).wrapping_sub(1);
                if is(id) {
                    return Some(id);
                }
            }
            at = at.wrapping_add(1) & mask;
        }
        None
    }

    /// Adds an id that is not in the table.
    pub(crate) fn insert(&mut self, hash: u64, id: u32) {
        // Half full at most.
        if self.used.saturating_mul(2) >= self.slots.len() {
            let length = self.slots.len().saturating_mul(2).max(Self::LEAST);
            let old = std::mem::replace(&mut self.slots, vec![0; length]);
            for slot in old.into_iter().filter(|slot| *slot != 0) {
                self.put(slot);
            }
        }
        self.put((hash & !u64::from(u32::MAX)) | u64::from(id.wrapping_add(1)));
        self.used = self.used.saturating_add(1);
    }

    fn put(&mut self, slot: u64) {
        let Some(mask) = self.slots.len().checked_sub(1) else { return };
        let mut at = place(slot) & mask;
        for _ in 0..self.slots.len() {
            match self.slots.get_mut(at) {
                Some(free) if *free == 0 => {
                    *free = slot;
                    return;
                }
                _ => at = at.wrapping_add(1) & mask,
            }
        }
    }
}

/// Where a hash starts to look. Only the upper half counts: it is what a slot keeps.
fn place(hash: u64) -> usize {
    upper(hash) as usize
}

fn upper(word: u64) -> u32 {
    u32::try_from(word.wrapping_shr(32)).unwrap_or_default()
}

fn lower(word: u64) -> u32 {
    u32::try_from(word & u64::from(u32::MAX)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_id_is_found_and_nothing_else() {
        let texts: Vec<String> = (0..10_000).map(|number| format!("label-{number}")).collect();
        let mut table = Table::default();
        for (id, text) in texts.iter().enumerate() {
            let hash = of_bytes(text.as_bytes());
            assert_eq!(table.find(hash, |id| texts[id as usize] == *text), None);
            table.insert(hash, u32::try_from(id).unwrap());
        }
        for (id, text) in texts.iter().enumerate() {
            let found = table.find(of_bytes(text.as_bytes()), |id| texts[id as usize] == *text);
            assert_eq!(found, u32::try_from(id).ok());
        }
        assert_eq!(table.find(of_bytes(b"other"), |_| true), None);
    }

    #[test]
    fn texts_that_differ_at_their_end_differ_in_their_hash() {
        assert_ne!(of_bytes(b"abcdefgh"), of_bytes(b"abcdefgh\0"));
        assert_ne!(of_words([1, 2].into_iter()), of_words([2, 1].into_iter()));
    }
}
