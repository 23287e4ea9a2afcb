//! Which generation of an object is meant, and whether a value is about the present one.

use std::fmt;

/// The generation of an object that is being reported on: 1 or more, as the API server counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Generation(i64);

/// A number that is no generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{number} is not a generation: the API server counts them from 1")]
pub struct GenerationError {
    /// What was given.
    pub number: i64,
}

impl Generation {
    /// The generation of an object whose spec never changed.
    pub const FIRST: Generation = Generation(1);

    /// The generation with this number, which `metadata.generation` of the object holds.
    pub fn new(number: i64) -> Result<Self, GenerationError> {
        if number >= 1 { Ok(Generation(number)) } else { Err(GenerationError { number }) }
    }

    /// The number.
    pub const fn get(self) -> i64 {
        self.0
    }
}

impl fmt::Display for Generation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What is known of a value that an object reports, such as a condition, and whether it is about the present generation
/// of the object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Observed<T> {
    /// It is about the present generation, or its object does not count generations.
    Current(T),
    /// It is about another generation. (A later one than the object has belongs to another incarnation of it.)
    Stale {
        /// What it said then.
        value: T,
        /// The generation it is about.
        seen: i64,
        /// The generation the object has.
        want: i64,
    },
    /// Neither it nor its status says which generation it is about, though the object counts them.
    Unproven(T),
    /// The object does not report it.
    Absent,
}

impl<T> Observed<T> {
    /// Places a value: `want` is the generation of the object, `seen` the one the value is about.
    pub fn place(value: T, seen: Option<i64>, want: Option<i64>) -> Self {
        match (seen, want) {
            (_, None) => Observed::Current(value),
            (None, Some(_)) => Observed::Unproven(value),
            (Some(seen), Some(want)) if seen == want => Observed::Current(value),
            (Some(seen), Some(want)) => Observed::Stale { value, seen, want },
        }
    }

    /// The value, if it is current.
    pub fn current(self) -> Option<T> {
        match self {
            Observed::Current(value) => Some(value),
            _ => None,
        }
    }

    /// The same knowledge of something made of the value.
    pub fn map<U>(self, f: impl FnOnce(T) -> U) -> Observed<U> {
        match self {
            Observed::Current(value) => Observed::Current(f(value)),
            Observed::Stale { value, seen, want } => Observed::Stale { value: f(value), seen, want },
            Observed::Unproven(value) => Observed::Unproven(f(value)),
            Observed::Absent => Observed::Absent,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generations_count_from_one() {
        assert_eq!(Generation::new(0), Err(GenerationError { number: 0 }));
        assert_eq!(Generation::new(-1).map(Generation::get), Err(GenerationError { number: -1 }));
        assert_eq!(Generation::new(3).map(Generation::get), Ok(3));
    }

    #[test]
    fn a_value_is_current_stale_or_unproven() {
        assert_eq!(Observed::place("a", Some(3), Some(3)), Observed::Current("a"));
        assert_eq!(Observed::place("a", None, None), Observed::Current("a"));
        assert_eq!(Observed::place("a", Some(2), Some(3)), Observed::Stale { value: "a", seen: 2, want: 3 });
        assert_eq!(Observed::place("a", None, Some(3)), Observed::Unproven("a"));
        assert_eq!(Observed::place("a", None, Some(3)).map(str::len), Observed::Unproven(1));
        assert_eq!(Observed::place("a", None, Some(3)).current(), None);
    }
}
