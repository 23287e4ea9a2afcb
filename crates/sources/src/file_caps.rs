//! The caps on files and archives of graph-data and snapshots, as documentation shows them.

use clearway_core::limits::Cap;

use crate::files::archive::{ATTRIBUTE_BYTES, ArchiveLimits, NAME_BYTES as ENTRY_NAME_BYTES};
use crate::files::confined::NAMES;
use crate::files::file_tree::LINKS;
use crate::graph_data::{ANSWER_BYTES, ENTRIES, FILES, GRAPH_DATA_BYTES, NAMES_BYTES, PATH_BYTES, UNPACKED_FACTOR};

/// Of graph-data, from every source.
pub const GRAPH_DATA_CAPS: &[Cap] = &[
    cap("files", "Files of a revision, counting those that cannot be read", 1_796, FILES as u64),
    cap("entries", "Files and directories that are looked at to find them", 1_802, ENTRIES as u64),
    cap("bytes", "Bytes of all files", 5_754_257, GRAPH_DATA_BYTES),
    cap("path", "Bytes of the path of a file", 85, PATH_BYTES as u64),
    cap("names", "Names in one directory", 1_717, NAMES as u64),
    cap("answer", "Bytes of one answer of an update service in a file", 521_686, ANSWER_BYTES),
    cap("links", "Links on the way to one file", 0, LINKS as u64),
];

const ARCHIVE: ArchiveLimits = ArchiveLimits::file(GRAPH_DATA_BYTES * UNPACKED_FACTOR);

/// Of archives of graph-data and snapshots.
pub const ARCHIVE_CAPS: &[Cap] = &[
    cap(
        "unpacked",
        "Bytes that it unpacks to, headers and everything else in it included",
        7_000_000,
        ARCHIVE.unpacked_bytes,
    ),
    cap("files", "Bytes of the files of graph-data or of a snapshot in it", 5_754_257, GRAPH_DATA_BYTES),
    cap("entries", "Entries", 1_802, ARCHIVE.entries),
    cap("name", "Bytes of one name", 85, ENTRY_NAME_BYTES as u64),
    cap("attributes", "Bytes of the attributes of one file (PAX, GNU long names)", 0, ATTRIBUTE_BYTES),
    cap("names", "Bytes of the names that are kept", 100_000, NAMES_BYTES as u64),
    cap("members", "Members of gzip, or frames of zstd, in sequence", 1, ARCHIVE.members),
];

const fn cap(name: &'static str, what: &'static str, needs: u64, default: u64) -> Cap {
    Cap { name, what, needs, default }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cap_on_files_is_ten_times_what_the_largest_public_product_needs() {
        for cap in GRAPH_DATA_CAPS.iter().chain(ARCHIVE_CAPS) {
            assert!(cap.default >= 10 * cap.needs && cap.default > 0, "{}: {} of {}", cap.name, cap.needs, cap.default);
        }
    }
}
