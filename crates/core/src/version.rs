//! Release versions: `SemVer`, with the architecture as build metadata as Cincinnati writes it (`4.6.23+amd64`).

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::Arch;

/// A release version.
///
/// *Identity* (`==`, `Hash`, `Ord`) tells `4.6.23+amd64` from `4.6.23+arm64`: they are two nodes of a graph.
/// *Precedence* ([`Version::precedence`]) does not: neither is newer than the other. The order of `Ord` is precedence
/// first, then build metadata, so sorting is total and never puts an older version after a newer one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Version(semver::Version);

/// Why a text is not a version.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a version such as `4.14.3` or `4.15.0-rc.1+amd64`: {why}")]
pub struct VersionError {
    text: String,
    why: String,
}

impl Version {
    /// A released version `major.minor.patch`.
    pub fn new(major: u64, minor: u64, patch: u64) -> Self {
        Version(semver::Version::new(major, minor, patch))
    }

    /// The first number.
    pub fn major(&self) -> u64 {
        self.0.major
    }

    /// The second number.
    pub fn minor(&self) -> u64 {
        self.0.minor
    }

    /// The third number.
    pub fn patch(&self) -> u64 {
        self.0.patch
    }

    /// What stands behind `-`, or `""` for a release.
    pub fn pre_release(&self) -> &str {
        self.0.pre.as_str()
    }

    /// What stands behind `+`, or `""`.
    pub fn build(&self) -> &str {
        self.0.build.as_str()
    }

    /// The architecture, where the build metadata is one.
    pub fn arch(&self) -> Option<Arch> {
        self.build().parse().ok()
    }

    /// The same version for one architecture, in place of whatever build metadata it had.
    #[must_use]
    pub fn with_arch(&self, arch: &Arch) -> Self {
        // An architecture is letters and digits, which build metadata admits.
        let build = semver::BuildMetadata::new(arch.as_str()).unwrap_or(semver::BuildMetadata::EMPTY);
        Version(semver::Version { build, ..self.0.clone() })
    }

    /// The same version without build metadata.
    #[must_use]
    pub fn without_build(&self) -> Self {
        Version(semver::Version { build: semver::BuildMetadata::EMPTY, ..self.0.clone() })
    }

    /// Which of two versions is newer; build metadata has no say.
    pub fn precedence(&self, other: &Version) -> Ordering {
        self.0.cmp_precedence(&other.0)
    }
}

impl FromStr for Version {
    type Err = VersionError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let shown = || text.chars().take(80).collect();
        if text.len() > 256 {
            return Err(VersionError { text: shown(), why: "longer than 256 bytes".to_owned() });
        }
        semver::Version::parse(text)
            .map(Version)
            .map_err(|error| VersionError { text: shown(), why: better(text).unwrap_or_else(|| error.to_string()) })
    }
}

/// What was meant, for the mistakes that people make: a `v` in front, or only two numbers.
fn better(text: &str) -> Option<String> {
    let is_version = |text: &str| semver::Version::parse(text).is_ok();
    let bare = text.strip_prefix(['v', 'V']).unwrap_or(text);
    let patched = format!("{bare}.0");
    if bare != text && is_version(bare) {
        Some(format!("write it without `v`, as `{bare}`"))
    } else if bare.split('.').count() == 2 && is_version(&patched) {
        Some(format!("it has three numbers, as in `{patched}`"))
    } else {
        None
    }
}

impl TryFrom<String> for Version {
    type Error = VersionError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<Version> for String {
    fn from(version: Version) -> Self {
        version.to_string()
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn version(text: &str) -> Version {
        text.parse().unwrap()
    }

    #[test]
    fn identity_sees_the_architecture_and_precedence_does_not() {
        let (amd64, arm64) = (version("4.6.23+amd64"), version("4.6.23+arm64"));
        assert_ne!(amd64, arm64);
        assert_eq!(amd64.precedence(&arm64), Ordering::Equal);
        assert_eq!(amd64.arch(), Some("amd64".parse().unwrap()));
        assert_eq!(amd64.without_build().with_arch(&"arm64".parse().unwrap()), arm64);
    }

    #[test]
    fn precedence_is_semver() {
        let ordered = [
            "1.0.0-alpha",
            "1.0.0-alpha.1",
            "1.0.0-alpha.beta",
            "1.0.0-rc.2",
            "1.0.0-rc.10",
            "1.0.0",
            "1.9.0",
            "1.10.0",
        ];
        for pair in ordered.windows(2) {
            let [older, newer] = pair else { continue };
            assert_eq!(version(older).precedence(&version(newer)), Ordering::Less, "{older} < {newer}");
        }
    }

    #[test]
    fn what_is_not_a_version_is_refused_by_name() {
        for text in ["", "4", "4.6", "v4.6.1", "4.06.1", "4.6.1+", "99999999999999999999.0.0", &"1".repeat(300)] {
            let error = text.parse::<Version>().unwrap_err().to_string();
            assert!(error.contains("is not a version such as"), "{error}");
        }
    }

    #[test]
    fn build_metadata_that_is_no_architecture_is_kept_but_is_none() {
        let version = version("1.2.3+build.7");
        assert_eq!((version.arch(), version.build()), (None, "build.7"));
    }

    proptest! {
        #[test]
        fn order_agrees_with_precedence(a in "[0-3]\\.[0-3]\\.[0-3](-rc\\.[0-9])?(\\+(amd64|arm64))?", b in "[0-3]\\.[0-3]\\.[0-3](-rc\\.[0-9])?(\\+(amd64|arm64))?") {
            let (a, b) = (version(&a), version(&b));
            if a.precedence(&b) != Ordering::Equal {
                prop_assert_eq!(a.cmp(&b), a.precedence(&b));
            }
            prop_assert_eq!(a.to_string().parse::<Version>(), Ok(a));
        }

        #[test]
        fn no_text_panics_and_what_is_read_is_written_as_it_was(text in "[0-9]{1,3}\\.[0-9]{1,3}\\.[0-9]{1,3}[-+.a-z0-9]{0,20}|.{0,60}") {
            if let Ok(version) = text.parse::<Version>() {
                prop_assert_eq!(version.to_string(), text);
                prop_assert_eq!(version.precedence(&version.without_build()), Ordering::Equal);
            }
        }
    }
}
