//! Sets of places: numbers below a bound that is known from the start, one bit each.
//!
//! The walks ask of each release which others it reaches, and of each route which risks it meets; both are sets of a
//! few hundred small numbers that are united and compared all the time.

/// A set of numbers below a bound.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BitSet {
    words: Vec<u64>,
}

impl Clone for BitSet {
    fn clone(&self) -> Self {
        BitSet { words: self.words.clone() }
    }

    /// In the same memory, for searches that try thousands.
    fn clone_from(&mut self, other: &Self) {
        self.words.clone_from(&other.words);
    }
}

impl BitSet {
    /// No number; `bound` is one more than the largest that may come.
    pub(crate) fn none(bound: usize) -> Self {
        BitSet { words: vec![0; bound.div_ceil(64)] }
    }

    /// Adds a number; one that is not below the bound is left out.
    pub(crate) fn insert(&mut self, place: u32) {
        if let Some(word) = self.words.get_mut(place as usize / 64) {
            *word |= 1 << (place % 64);
        }
    }

    pub(crate) fn contains(&self, place: u32) -> bool {
        self.words.get(place as usize / 64).is_some_and(|word| word & (1 << (place % 64)) != 0)
    }

    /// Adds every number of the other set.
    pub(crate) fn unite(&mut self, other: &BitSet) {
        for (word, more) in self.words.iter_mut().zip(&other.words) {
            *word |= more;
        }
    }

    /// The numbers that are in both.
    pub(crate) fn common(&self, other: &BitSet) -> BitSet {
        BitSet { words: self.words.iter().zip(&other.words).map(|(one, two)| one & two).collect() }
    }

    /// The numbers that are in this set and not in the other.
    pub(crate) fn without(&self, other: &BitSet) -> BitSet {
        BitSet { words: self.words.iter().zip(&other.words).map(|(one, two)| one & !two).collect() }
    }

    /// Whether any number is in both.
    pub(crate) fn meets(&self, other: &BitSet) -> bool {
        self.words.iter().zip(&other.words).any(|(one, two)| one & two != 0)
    }

    /// Whether every number of this set is in the other.
    pub(crate) fn within(&self, other: &BitSet) -> bool {
        self.words.iter().zip(&other.words).all(|(one, two)| one & !two == 0)
    }

    pub(crate) fn len(&self) -> u32 {
        self.words.iter().map(|word| word.count_ones()).sum()
    }

    /// The numbers in increasing order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = u32> {
        (0..).step_by(64).zip(&self.words).flat_map(|(base, word)| {
            let mut left = *word;
            std::iter::from_fn(move || {
                let bit = (left != 0).then(|| left.trailing_zeros())?;
                left &= left - 1;
                Some(base + bit)
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(numbers: &[u32]) -> BitSet {
        let mut set = BitSet::none(200);
        for number in numbers {
            set.insert(*number);
        }
        set
    }

    #[test]
    fn a_set_does_what_sets_do() {
        let (one, two) = (set(&[0, 63, 64, 199]), set(&[64, 5]));
        assert_eq!(one.iter().collect::<Vec<_>>(), [0, 63, 64, 199]);
        assert_eq!((one.len(), one.contains(63), one.contains(62), one.contains(4000)), (4, true, false, false));
        assert_eq!((one.common(&two), two.without(&one)), (set(&[64]), set(&[5])));
        assert!(one.meets(&two) && !one.meets(&set(&[5])));
        assert!(set(&[64]).within(&one) && !two.within(&one));
        let mut all = one.clone();
        all.unite(&two);
        assert_eq!(all, set(&[0, 5, 63, 64, 199]));
    }
}
