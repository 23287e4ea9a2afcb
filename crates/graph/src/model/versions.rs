//! Versions as numbers: each distinct one is parsed once, and compared by its rank from then on.
//!
//! A large graph names its few thousand versions hundreds of thousands of times, nearly always in the same order, so
//! the version that followed last time is tried before the table is asked.

use std::collections::HashMap;

use clearway_core::{Version, VersionError};

/// Stands for "none" among ids.
pub(crate) const NONE: u32 = u32::MAX;

/// A count as an id.
pub(crate) fn id(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(NONE)
}

/// Why a text has no id.
#[derive(Debug)]
pub(crate) enum NotInterned {
    /// It is no version.
    NoVersion(VersionError),
    /// There are as many different versions as there may be.
    TooMany,
}

/// How many spellings are remembered for each version there may be: with and without an architecture.
const SPELLINGS: usize = 4;

/// Every version that was named, without build metadata.
#[derive(Default)]
pub(crate) struct Versions {
    texts: HashMap<Box<str>, u32>,
    ids: HashMap<Version, u32>,
    list: Vec<Version>,
    /// How each version was spelt last, and which one followed it.
    spelt: Vec<(Box<str>, u32)>,
    last: u32,
}

impl Versions {
    /// The id of a version by its text, whatever its build metadata. There are at most so many different ones.
    pub(crate) fn intern(&mut self, text: &str, most: usize) -> Result<u32, NotInterned> {
        let guess = self.spelt.get(self.last as usize).map_or(NONE, |(_, next)| *next);
        if let Some((spelling, _)) = self.spelt.get(guess as usize)
            && **spelling == *text
        {
            self.last = guess;
            return Ok(guess);
        }
        let known = self.texts.get(text).copied();
        let found = match known {
            Some(found) => found,
            None => self.parse(text, most)?,
        };
        if let Some((_, next)) = self.spelt.get_mut(self.last as usize) {
            *next = found;
        }
        self.last = found;
        Ok(found)
    }

    fn parse(&mut self, text: &str, most: usize) -> Result<u32, NotInterned> {
        let version = text.parse::<Version>().map_err(NotInterned::NoVersion)?.without_build();
        if self.list.len() >= most && !self.ids.contains_key(&version) {
            return Err(NotInterned::TooMany);
        }
        let found = self.add(&version);
        // Build metadata may be anything: what is spelt in ever new ways is parsed again each time.
        if self.texts.len() < most.saturating_mul(SPELLINGS) {
            self.texts.insert(text.into(), found);
        }
        if let Some((spelling, _)) = self.spelt.get_mut(found as usize) {
            *spelling = text.into();
        }
        Ok(found)
    }

    fn add(&mut self, version: &Version) -> u32 {
        if let Some(found) = self.ids.get(version) {
            return *found;
        }
        let new = id(self.list.len());
        self.ids.insert(version.clone(), new);
        self.list.push(version.clone());
        self.spelt.push((version.to_string().into(), NONE));
        new
    }

    /// The versions in increasing order, and the rank of each id among them.
    pub(crate) fn ranked(self) -> (Vec<Version>, Vec<u32>) {
        let mut order: Vec<(Version, u32)> = self.list.into_iter().zip(0..).collect();
        order.sort_unstable();
        let mut ranks = vec![NONE; order.len()];
        for (rank, (_, id)) in (0..).zip(&order) {
            if let Some(slot) = ranks.get_mut(*id as usize) {
                *slot = rank;
            }
        }
        (order.into_iter().map(|(version, _)| version).collect(), ranks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_one_version_are_one_id_and_ranks_are_in_order() {
        let mut versions = Versions::default();
        let texts = ["4.10.0", "4.9.0+amd64", "4.9.0", "4.10.0-rc.1", "4.9.0", "4.10.0", "4.9.0+amd64"];
        let ids: Vec<_> = texts.iter().map(|text| versions.intern(text, 3).unwrap()).collect();
        assert_eq!(ids, [0, 1, 1, 2, 1, 0, 1]);
        assert!(matches!(versions.intern("4.9", 3), Err(NotInterned::NoVersion(_))));
        assert!(matches!(versions.intern("4.11.0", 3), Err(NotInterned::TooMany)));
        assert_eq!(versions.intern("4.9.0+arm64", 3).unwrap(), 1);
        let (list, ranks) = versions.ranked();
        assert_eq!(list.iter().map(ToString::to_string).collect::<Vec<_>>(), ["4.9.0", "4.10.0-rc.1", "4.10.0"]);
        assert_eq!(ranks, [2, 0, 1]);
    }
}
