//! Bounds on the text of a query, checked before and while it is read.

/// How much of a query is read before it is refused by name.
///
/// The defaults are several times the largest query of a real update graph (975 bytes, eleven levels).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of the text.
    pub bytes: usize,
    /// Levels of nesting, parentheses and chains of operators included. Never more than [`Limits::DEEPEST`].
    pub depth: usize,
    /// Regular expressions in the query: each is compiled to see whether it is one.
    pub patterns: usize,
    /// Bytes of one compiled regular expression.
    pub pattern_bytes: usize,
    /// Positions of all regular expressions, with their repetitions written out.
    pub pattern_positions: usize,
    /// Whether syntax that Prometheus has behind a feature flag is read: arithmetic in durations, and `fill`.
    pub experimental: bool,
}

impl Limits {
    /// The deepest tree this crate builds, whatever `depth` says: everything that walks a tree is recursive, and this
    /// many levels fit into the smallest stack a thread is given.
    pub const DEEPEST: usize = 96;

    pub(crate) fn levels(&self) -> usize {
        self.depth.min(Self::DEEPEST)
    }
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            bytes: 64 << 10,
            depth: 64,
            patterns: 64,
            pattern_bytes: 256 << 10,
            pattern_positions: 10_000,
            experimental: false,
        }
    }
}
