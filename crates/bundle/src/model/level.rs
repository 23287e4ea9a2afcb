//! How large a step between two bundle versions must be for a change.

use std::fmt;

use serde::Serialize;

/// The smallest step between two bundle versions that a change may ship with, in increasing order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// The change has no effect, so it needs no new version.
    None,
    /// A new patch version.
    Patch,
    /// A new minor version.
    Minor,
    /// A new API version of the CRD, which old clients do not use. A new major version of the bundle also allows it.
    NewApiVersion,
    /// A new major version.
    Major,
    /// No version allows it; only a waiver does.
    Never,
}

impl Level {
    /// The word in messages and tables.
    pub const fn as_str(self) -> &'static str {
        match self {
            Level::None => "none",
            Level::Patch => "patch",
            Level::Minor => "minor",
            Level::NewApiVersion => "new API version",
            Level::Major => "major",
            Level::Never => "never",
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
