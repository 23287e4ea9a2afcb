//! How much memory the files of a snapshot may take once they are read. What is above it is neither collected, read nor
//! written.

use clearway_core::JsonSize;
use clearway_promql::read::ReadLimits;
use clearway_promql::series::Capacity;

/// Bytes of all files of a snapshot.
pub(super) const BYTES: u64 = 64 << 20;
/// Bytes of a snapshot for what is not objects or series: the manifest and the definitions.
pub(super) const MARGIN: usize = 8 << 20;
/// Bytes that the objects of all kinds take in memory: about 30,000 pods.
const MEMORY: usize = 256 << 20;
/// Bytes of the objects of all kinds that are collected, as JSON without what is removed: beside the rest they fit into a
/// snapshot.
pub const COLLECTED_BYTES: usize = (64 << 20) - MARGIN;
/// Bytes of memory for the objects of all kinds while they are collected: with a second copy, whose names are replaced, all
/// of it stays below 512 MiB.
pub const COLLECTED_MEMORY: usize = 192 << 20;
/// Series that a snapshot may hold: twice what is collected.
const SERIES: Capacity = Capacity { series: 200_000, samples: 4_000_000, bytes: 32 << 20 };
/// The caps on snapshots, as documentation shows them.
pub const SNAPSHOT_CAPS: &[(&str, u64)] = &[
    ("Bytes of all files", BYTES),
    (
        "Bytes of memory of the objects of all kinds, estimated before they are read; 30,000 pods need them",
        MEMORY as u64,
    ),
    ("Series", SERIES.series as u64),
    ("Samples of all series", SERIES.samples as u64),
    ("Bytes of the texts of labels, each counted once", SERIES.bytes as u64),
];
// What was collected can be read.
const _: () = assert!((COLLECTED_BYTES + MARGIN) as u64 <= BYTES && COLLECTED_MEMORY <= MEMORY);

/// What is left for the objects of a snapshot.
#[derive(Debug, Clone)]
pub(crate) struct Budget {
    bytes: usize,
    memory: usize,
}

impl Budget {
    /// For objects that are read from files, whose bytes were counted when they were opened.
    pub(super) fn new() -> Self {
        Budget { bytes: usize::MAX, memory: MEMORY }
    }

    /// For objects that are collected from a cluster.
    pub(crate) fn for_collecting() -> Self {
        Budget { bytes: COLLECTED_BYTES, memory: COLLECTED_MEMORY }
    }

    #[cfg(test)]
    pub(crate) fn of(memory: usize) -> Self {
        Budget { bytes: usize::MAX, memory }
    }

    /// Takes what a JSON text will need; says why there is not enough.
    pub(super) fn take(&mut self, json: &[u8]) -> Result<(), String> {
        let taken = self.take_size(&JsonSize::of_text(json));
        taken.ok_or_else(|| {
            let memory = MEMORY >> 20;
            format!("the objects take more than {memory} MiB of memory; assess the cluster itself, which reads them in parts")
        })
    }

    /// Takes what a value needs; nothing is taken if there is not enough.
    pub(crate) fn take_size(&mut self, size: &JsonSize) -> Option<()> {
        let (bytes, memory) = (self.bytes.checked_sub(size.bytes)?, self.memory.checked_sub(size.memory)?);
        *self = Budget { bytes, memory };
        Some(())
    }
}

/// How the series of a snapshot are read.
pub(super) fn series() -> ReadLimits {
    ReadLimits { bytes: usize::try_from(BYTES).unwrap_or(usize::MAX), capacity: SERIES }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_still_fits_after_something_that_does_not() {
        let needed = JsonSize::of_text(b"{}").memory;
        let mut budget = Budget::of(2 * needed - 2);
        assert_eq!(budget.take(b"{}"), Ok(()));
        assert!(budget.take(b"{}").unwrap_err().contains("MiB of memory; assess the cluster itself"));
        assert_eq!(budget.take(b"0"), Ok(()));
    }
}
