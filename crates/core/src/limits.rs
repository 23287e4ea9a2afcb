//! Bounds on foreign input, in one place and with a reason each.
//!
//! [`Limits`] holds for every document that is read. What is read of update graphs and of registries has caps of its own
//! ([`GraphLimits`], [`RegistryLimits`]): each is at least ten times what the largest public product needs, and
//! `docs/limits.md` lists them.

mod cap;
mod graph;
mod registry;

pub use cap::{Cap, CapExceeded};
pub use graph::GraphLimits;
pub use registry::RegistryLimits;

/// How much of somebody else's input is read before it is refused by name.
///
/// The defaults admit every manifest, release and cluster dump seen in practice, and keep the worst input that they
/// admit well below the memory of a small machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of one file or stream. A cluster dump of 100,000 objects is about 300 MB.
    pub file_bytes: u64,
    /// Bytes of one document of a stream, which is in memory as text while its objects are read: a `List` may hold many. A text in it
    /// may be there twice.
    pub document_bytes: usize,
    /// Bytes of one object: a document, or an item of a `List`. The API server refuses objects above 1.5 MiB.
    pub object_bytes: usize,
    /// Levels of nesting in one document.
    pub depth: usize,
    /// Values in one object, after aliases were followed: stops the "billion laughs".
    pub nodes: usize,
    /// Values that the aliases of one file or stream expand to: objects may be kept, each with a copy of its own.
    pub alias_values: usize,
    /// Bytes of the texts that the aliases of one file or stream expand to.
    pub alias_text: usize,
    /// Items of one `List` above which a reader is told that it is unusually long.
    pub list_items: usize,
    /// What an update graph may hold, in files and in answers of a service.
    pub graph: GraphLimits,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            file_bytes: 1 << 30,
            document_bytes: 192 << 20,
            object_bytes: 16 << 20,
            depth: 128,
            nodes: 1_000_000,
            alias_values: 1_000_000,
            alias_text: 16 << 20,
            list_items: 50_000,
            graph: GraphLimits::default(),
        }
    }
}

impl Limits {
    /// The limits under which the files of graph-data are gathered and read: those of [`GraphLimits`].
    pub fn for_graph_data() -> Self {
        Limits::default().of_graph_data()
    }

    /// The same limits, with those of [`GraphLimits`] for files, documents and their values.
    #[must_use]
    pub fn of_graph_data(&self) -> Self {
        let bytes = usize::try_from(self.graph.data_bytes).unwrap_or(usize::MAX);
        Limits {
            file_bytes: self.graph.data_bytes.min(self.file_bytes),
            document_bytes: bytes.min(self.document_bytes),
            // A file of graph-data is one object or few.
            object_bytes: bytes.min(self.document_bytes),
            nodes: self.graph.object_values.min(self.nodes),
            depth: self.graph.object_depth.min(self.depth),
            ..self.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cap_is_ten_times_what_the_largest_public_product_needs() {
        for cap in GraphLimits::CAPS.iter().chain(RegistryLimits::CAPS) {
            assert!(cap.default >= 10 * cap.needs && cap.default > 0, "{}: {} of {}", cap.name, cap.needs, cap.default);
            assert!(!cap.what.trim().is_empty());
        }
    }

    #[test]
    fn a_listed_cap_is_the_one_that_is_enforced() {
        let limits = RegistryLimits::default();
        for (name, enforced) in [
            ("layer_bytes", limits.layer_bytes),
            ("unpacked_bytes", limits.unpacked_bytes),
            ("manifest_bytes", limits.manifest_bytes),
        ] {
            let listed = RegistryLimits::CAPS.iter().find(|cap| cap.name == name).unwrap().default;
            assert_eq!(listed, enforced, "{name}");
        }
    }

    #[test]
    fn a_cap_is_set_by_its_name() {
        let caps = GraphLimits::default().with("releases", 7).with("nonsense", 8);
        assert_eq!(caps, GraphLimits { releases: 7, ..GraphLimits::default() });
        let above = CapExceeded::first([("a", 1, 1, "x"), ("b", 3, 2, "things"), ("c", 9, 1, "x")]).unwrap();
        assert_eq!(above.to_string(), "more than 2 things (the cap `b`)");
    }
}
