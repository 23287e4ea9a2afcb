//! Bounds on foreign input, in one place and with a reason each.

/// How much of somebody else's input is read before it is refused by name.
///
/// The defaults admit every manifest, release and cluster dump seen in practice, and keep the worst input that they
/// admit well below the memory of a small machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of one file or stream. A cluster dump of 100,000 objects is about 300 MB.
    pub file_bytes: u64,
    /// Bytes of one document of a stream. The API server refuses objects above 1.5 MiB; a `List` may hold many.
    pub document_bytes: usize,
    /// Levels of nesting in one document.
    pub depth: usize,
    /// Values in one object, after aliases were followed: stops the "billion laughs".
    pub nodes: usize,
    /// Items of one `List` above which a reader is told that it is unusually long.
    pub list_items: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { file_bytes: 1 << 30, document_bytes: 512 << 20, depth: 128, nodes: 1_000_000, list_items: 50_000 }
    }
}
