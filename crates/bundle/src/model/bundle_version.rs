//! Bundle versions: semantic versions with or without `v`, and snapshots that promise nothing.

use std::cmp::Ordering;
use std::fmt;

use clearway_core::Version;

use super::Level;

/// The version of a bundle, as its annotation has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BundleVersion {
    /// A release or a candidate of one, such as `v1.4.0` or `v1.5.0-rc.1`.
    Release {
        /// The version.
        version: Version,
        /// The text it was read from.
        text: String,
    },
    /// Any other text, such as `monthly-2026.01` or `v0.0.0-dev`: a state of the main branch, without guarantees.
    Snapshot(String),
}

impl BundleVersion {
    /// Reads an annotation. Every text is a version; what is not a semantic version is a snapshot.
    pub fn read(text: &str) -> Self {
        let text = text.trim();
        match text.strip_prefix('v').unwrap_or(text).parse::<Version>() {
            Ok(version) if version.pre_release() != "dev" => BundleVersion::Release { version, text: text.to_owned() },
            _ => BundleVersion::Snapshot(text.chars().take(80).collect()),
        }
    }

    /// The semantic version; none of a snapshot.
    pub fn release(&self) -> Option<&Version> {
        match self {
            BundleVersion::Release { version, .. } => Some(version),
            BundleVersion::Snapshot(_) => None,
        }
    }

    /// Whether this is a snapshot.
    pub fn is_snapshot(&self) -> bool {
        self.release().is_none()
    }

    /// Whether `newer` is an older release than `self`. Snapshots have no order.
    pub fn is_rollback_to(&self, newer: &BundleVersion) -> bool {
        match (self.release(), newer.release()) {
            (Some(old), Some(new)) => new.precedence(old) == Ordering::Less,
            _ => false,
        }
    }

    /// The level of changes that an update from `self` to `newer` may hold.
    ///
    /// A snapshot on either side allows what a minor version of the experimental channel does. An update from a
    /// candidate allows what its release may bring, because candidates promise nothing. A rollback allows nothing.
    pub fn level_to(&self, newer: &BundleVersion) -> Level {
        let (Some(old), Some(new)) = (self.release(), newer.release()) else { return Level::Minor };
        if new.precedence(old) != Ordering::Greater {
            return Level::None;
        }
        let same_release = (old.major(), old.minor(), old.patch()) == (new.major(), new.minor(), new.patch());
        let from_candidate = same_release && !old.pre_release().is_empty();
        if new.major() != old.major() || (from_candidate && new.minor() == 0 && new.patch() == 0) {
            Level::Major
        } else if new.minor() != old.minor() || (from_candidate && new.patch() == 0) {
            Level::Minor
        } else {
            Level::Patch
        }
    }
}

impl fmt::Display for BundleVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BundleVersion::Release { text, .. } | BundleVersion::Snapshot(text) => f.write_str(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn v1_two_versions_allow_the_level_of_their_difference() {
        for (old, new, level) in [
            ("v1.4.0", "v1.4.0", Level::None),
            ("v1.4.0", "1.4.1", Level::Patch),
            ("v1.4.1", "v1.5.0", Level::Minor),
            ("v0.8.1", "v0.9.0", Level::Minor),
            ("v0.8.1", "v1.0.0", Level::Major),
            ("v1.5.0-rc.1", "v1.5.0-rc.2", Level::Minor),
            ("v1.5.0-rc.1", "v1.5.0", Level::Minor),
            ("v1.5.1-rc.1", "v1.5.1", Level::Patch),
            ("v2.0.0-rc.1", "v2.0.0", Level::Major),
            ("v1.5.0", "v1.4.1", Level::None),
            ("v1.5.0", "monthly-2026.01", Level::Minor),
            ("v0.0.0-dev", "v1.5.0", Level::Minor),
        ] {
            assert_eq!(BundleVersion::read(old).level_to(&BundleVersion::read(new)), level, "{old} > {new}");
        }
    }

    #[test]
    fn a_rollback_is_between_releases_only() {
        let read = BundleVersion::read;
        assert!(read("v1.5.0").is_rollback_to(&read("v1.4.1")));
        assert!(read("v1.5.0").is_rollback_to(&read("v1.5.0-rc.1")));
        assert!(!read("v1.5.0").is_rollback_to(&read("v0.0.0-dev")));
        assert!(!read("v1.5.0").is_rollback_to(&read("v1.5.0")));
    }
}
