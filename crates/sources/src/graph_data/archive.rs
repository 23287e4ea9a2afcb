//! Graph-data in a stream: an archive (tar, packed with gzip or zstd or not), or one answer, told apart by what is in it.
//!
//! Nothing is written to disk. What is a link or another odd entry where a file of graph-data would be is noted, and
//! refuses the revision.

use std::collections::BTreeMap;
use std::io::{self, Read};

use clearway_core::Limits;
use clearway_graph::Inputs;

use super::collect::BYTES;
use super::memory::{EntryClass, MemoryTree, StoredEntry, classify_entry, directory_in_place_of_file, insert};
use crate::files::archive::{ArchiveDefect, ArchiveLimits, Excess, HEADER, Kind, Unpacked, WalkControl, walk_unpacked};

/// Bytes of an answer of an update service. `OpenShift`'s largest has 0.5 MB.
pub(crate) const ANSWER_BYTES: u64 = 16 << 20;
/// Bytes of the names of entries that are kept.
pub(crate) const NAMES_BYTES: usize = 8 << 20;

/// Why a stream is no graph-data.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// It is something else.
    #[error("not an archive of graph-data (tar, or tar compressed with gzip)")]
    NotAnArchive,
    /// It ends too early, or was changed on the way.
    #[error("the archive is damaged: {why}")]
    Damaged {
        /// What the reader of archives said.
        why: String,
    },
    /// Unpacked, it is too large.
    #[error("larger than {limit} bytes when unpacked")]
    TooLarge {
        /// The limit.
        limit: u64,
    },
    /// It has too much of something else.
    #[error("the archive has more than {limit} {what}")]
    TooMany {
        /// Of what, such as `entries`.
        what: &'static str,
        /// The limit.
        limit: u64,
    },
    /// It is an archive of other things.
    #[error("not graph-data: no directory in it has a `version` file and a `channels` directory")]
    NoGraphData,
    /// There is graph-data in two directories, and none of them is in the other one.
    #[error("it has graph-data at `/{one}` and at `/{other}`; remove one of them")]
    SeveralGraphData {
        /// The first directory.
        one: String,
        /// Another one.
        other: String,
    },
}

impl From<ArchiveDefect> for ArchiveError {
    fn from(spoiled: ArchiveDefect) -> Self {
        match spoiled {
            ArchiveDefect::NotAnArchive => ArchiveError::NotAnArchive,
            ArchiveDefect::Broken(why) => ArchiveError::Damaged { why },
            ArchiveDefect::TooLarge(limit) => ArchiveError::TooLarge { limit },
            ArchiveDefect::TooMany(what, limit) => ArchiveError::TooMany { what, limit },
        }
    }
}

/// What a stream holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// The files of graph-data.
    Files(Inputs),
    /// Something that begins as an answer of an update service does.
    Answer(Vec<u8>),
}

/// Reads an archive of graph-data, which may stand anywhere in it: its directory is the one that holds `version` and
/// `channels`, the outermost if there are several.
pub fn archive(stream: impl Read, limits: &Limits) -> Result<Inputs, ArchiveError> {
    let mut stream = OpenedArchive::new(stream, limits.file_bytes.min(BYTES))?;
    if stream.is_archive()? { unpack(stream, limits) } else { Err(ArchiveError::NotAnArchive) }
}

/// Reads an archive of graph-data or an answer, packed or not.
pub fn content(stream: impl Read, limits: &Limits) -> Result<Content, ArchiveError> {
    let mut stream = OpenedArchive::new(stream, limits.file_bytes.min(BYTES))?;
    if stream.is_archive()? {
        return unpack(stream, limits).map(Content::Files);
    }
    if stream.head()?.iter().find(|byte| !byte.is_ascii_whitespace()) != Some(&b'{') {
        return Err(ArchiveError::NotAnArchive);
    }
    let mut answer = Vec::new();
    let limit = limits.file_bytes.min(ANSWER_BYTES);
    let read = stream.unpacked.by_ref().take(limit.saturating_add(1)).read_to_end(&mut answer);
    read.map_err(|error| stream.failed(&error))?;
    if answer.len() as u64 > limit { Err(ArchiveError::TooLarge { limit }) } else { Ok(Content::Answer(answer)) }
}

/// How much larger an archive may be than its files: each has a header of 512 bytes, and is filled up to as many.
pub(crate) const UNPACKED_FACTOR: u64 = 2;

/// A stream that is being unpacked, with its first bytes looked at.
pub(crate) struct OpenedArchive<R: Read> {
    unpacked: Unpacked<R>,
    limits: ArchiveLimits,
}

impl<R: Read> OpenedArchive<R> {
    /// Begins to read a stream whose files have at most so many bytes. It unpacks to at most twice that: headers count, and
    /// what is passed over, for it is unpacked all the same.
    pub(crate) fn new(stream: R, files_bytes: u64) -> Result<Self, ArchiveError> {
        let limits = ArchiveLimits::file(files_bytes.saturating_mul(UNPACKED_FACTOR));
        let unpacked = Unpacked::new(stream, limits.unpacked_bytes, limits.members);
        let unpacked = unpacked.map_err(|error| ArchiveError::Damaged { why: error.to_string() })?;
        Ok(OpenedArchive { unpacked, limits })
    }

    /// Whether it begins with a header of an archive, or with the zeros that end one.
    pub(crate) fn is_archive(&mut self) -> Result<bool, ArchiveError> {
        let head = self.head()?;
        let is_header = head.get(257..262) == Some(b"ustar") || head.iter().all(|byte| *byte == 0);
        Ok(head.len() == HEADER && is_header)
    }

    /// Hands each entry to `visit`.
    pub(crate) fn walk(self, visit: &mut crate::files::archive::Visit<'_>) -> Result<(), ArchiveError> {
        Ok(walk_unpacked(self.unpacked, self.limits.entries, visit)?)
    }

    fn head(&mut self) -> Result<&[u8], ArchiveError> {
        self.unpacked.peek(HEADER).map_err(|error| self.failed(&error))?;
        Ok(self.unpacked.peeked())
    }

    /// What a failure to read means.
    fn failed(&self, error: &io::Error) -> ArchiveError {
        match (self.unpacked.exceeded(), error.kind()) {
            (Some(Excess::Bytes(limit)), _) => ArchiveError::TooLarge { limit },
            (Some(excess), _) => ArchiveDefect::from(excess).into(),
            (None, io::ErrorKind::UnexpectedEof) => ArchiveError::Damaged { why: "it is truncated".to_owned() },
            (None, _) => ArchiveError::Damaged { why: error.to_string() },
        }
    }
}

/// The graph-data in an archive.
fn unpack(archive: OpenedArchive<impl Read>, limits: &Limits) -> Result<Inputs, ArchiveError> {
    let bytes = limits.file_bytes.min(BYTES);
    let mut left = bytes;
    let mut kept: BTreeMap<Vec<u8>, StoredEntry> = BTreeMap::new();
    let mut names = NAMES_BYTES;
    archive.walk(&mut |entry| {
        let path = entry.path;
        let mut keep = |path: &[u8], stored: StoredEntry| {
            let excess = ArchiveDefect::TooMany("bytes in names", NAMES_BYTES as u64);
            names = names.checked_sub(path.len()).ok_or(excess)?;
            insert(&mut kept, path.to_vec(), stored);
            Ok::<(), ArchiveDefect>(())
        };
        if let Some(above) = directory_in_place_of_file(path) {
            keep(above, StoredEntry::Directory)?;
        }
        let stored = match (classify_entry(path), entry.kind) {
            (EntryClass::None, _) => return Ok(WalkControl::Continue),
            (EntryClass::File, Kind::File) => {
                let content = entry.content(left)?.ok_or(ArchiveDefect::TooLarge(bytes))?;
                left = left.saturating_sub(content.len() as u64);
                StoredEntry::File(content)
            }
            // In place of a directory; what is in it does not matter.
            (EntryClass::Directory, Kind::File) => StoredEntry::File(Vec::new()),
            (_, Kind::Directory) => StoredEntry::Directory,
            (_, Kind::Other(what)) => StoredEntry::Other(what),
        };
        keep(path, stored)?;
        Ok(WalkControl::Continue)
    })?;
    MemoryTree::new(kept).graph_data(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use std::io::Write as _;

    fn tar(files: &[(&str, &[u8])]) -> Vec<u8> {
        let mut builder = tar::Builder::new(Vec::new());
        for (path, content) in files {
            let mut header = tar::Header::new_gnu();
            // Past the checks of the writer: foreign archives hold what they like.
            header.as_old_mut().name[..path.len()].copy_from_slice(path.as_bytes());
            header.set_size(content.len() as u64);
            header.set_mode(0o644);
            header.set_cksum();
            builder.append(&header, *content).unwrap();
        }
        builder.into_inner().unwrap()
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn names(inputs: &Inputs) -> Vec<&str> {
        inputs.iter().map(|(name, _)| name).collect()
    }

    #[test]
    fn the_directory_is_found_wherever_it_stands() {
        for prefix in ["", "./", "/", "graph-data-main/", "var/lib/data/"] {
            let path = |name: &str| format!("{prefix}{name}");
            let (version, channel, other) = (path("version"), path("channels/a.yaml"), path("docs/channels/version"));
            let files: [(&str, &[u8]); 4] =
                [("LICENSE", b"x"), (&version, b"1.1.0"), (&channel, b"name: a"), (&other, b"x")];
            for bytes in [tar(&files), gzip(&tar(&files))] {
                let inputs = archive(bytes.as_slice(), &Limits::default()).unwrap();
                assert_eq!(names(&inputs), ["channels/a.yaml", "version"], "{prefix}");
                assert_eq!(content(bytes.as_slice(), &Limits::default()).unwrap(), Content::Files(inputs));
            }
        }
    }

    #[test]
    fn the_outermost_directory_is_taken_unless_there_are_two() {
        let good: [(&str, &[u8]); 2] = [("g/version", b"1.1.0"), ("g/channels/a.yaml", b"a")];
        let within: [(&str, &[u8]); 2] = [("g/test/version", b"1.0.0"), ("g/test/channels/a.yaml", b"b")];
        let inputs = archive(tar(&[good, within].concat()).as_slice(), &Limits::default()).unwrap();
        assert_eq!(inputs.get("channels/a.yaml"), Some(&b"a"[..]));
        let beside: [(&str, &[u8]); 2] = [("h/x/version", b"1.0.0"), ("h/x/channels/a.yaml", b"b")];
        let error = archive(tar(&[good, beside].concat()).as_slice(), &Limits::default()).unwrap_err().to_string();
        assert_eq!(error, "it has graph-data at `/g/` and at `/h/x/`; remove one of them");
    }

    #[test]
    fn a_small_archive_that_would_take_much_memory_is_refused_by_its_cap() {
        let error = |bytes: &[u8]| archive(bytes, &Limits::default()).unwrap_err().to_string();
        let good = tar(&[("version", b"1.1.0"), ("channels/a.yaml", b"a")]);
        let good = &good[..good.len() - 1024];
        let long_name = |length: u64| {
            let mut header = tar::Header::new_gnu();
            header.set_entry_type(tar::EntryType::GNULongName);
            header.set_size(length);
            header.set_cksum();
            [good, header.as_bytes(), &b"a/".repeat(usize::try_from(length / 2).unwrap())].concat()
        };
        // A name of a hundred million parts packs to nothing, and took three gigabytes.
        assert_eq!(
            error(&gzip(&long_name(2 << 20))),
            "the archive has more than 1048576 bytes in the attributes of a file"
        );
        let mut named = long_name(1 << 20);
        named.extend(tar(&[("x", b"")]));
        assert_eq!(error(&named), "the archive has more than 4096 bytes in a name");
        // The holes of a sparse file cost nothing in an archive, and everything when they are filled.
        let mut sparse = tar::Header::new_gnu();
        sparse.set_path("risks/r.yaml").unwrap();
        sparse.set_entry_type(tar::EntryType::GNUSparse);
        sparse.set_size(0);
        if let Some(gnu) = sparse.as_gnu_mut() {
            gnu.realsize.copy_from_slice(b"77777777777\0");
        }
        sparse.set_cksum();
        let inputs = archive([good, sparse.as_bytes(), &[0; 1024]].concat().as_slice(), &Limits::default()).unwrap();
        let unreadable: Vec<_> = inputs.unreadable().collect();
        assert_eq!(unreadable, [("risks/r.yaml", "it is a sparse file, not a file")]);
        // Many entries, many names that are kept, many packed parts.
        let entry = tar(&[("x", b"")])[..512].to_vec();
        assert_eq!(error(&entry.repeat(100_001)), "the archive has more than 100000 entries");
        let directory = "d".repeat(300);
        let long = (0..40_000).map(|number| format!("{directory}/channels/{number}"));
        let mut builder = tar::Builder::new(Vec::new());
        for name in long {
            let mut header = tar::Header::new_gnu();
            header.set_size(0);
            builder.append_data(&mut header, name, &b""[..]).unwrap();
        }
        assert_eq!(error(&builder.into_inner().unwrap()), "the archive has more than 8388608 bytes in names");
        let parts = gzip(b"").repeat(10_001);
        assert_eq!(error(&parts), "the archive has more than 10000 consecutive compressed parts");
    }

    #[test]
    fn what_is_no_graph_data_is_told_apart() {
        let good = tar(&[("version", b"1.1.0"), ("channels/a.yaml", &[b'#'; 9000])]);
        let packed = gzip(&good);
        let small = Limits { file_bytes: 4096, ..Limits::default() };
        for (bytes, limits, want) in [
            (b"<html>no</html>".to_vec(), &Limits::default(), "not an archive of graph-data"),
            (Vec::new(), &Limits::default(), "not an archive of graph-data"),
            (tar(&[("README", b"x")]), &Limits::default(), "not graph-data: no directory"),
            (vec![0; 1024], &Limits::default(), "not graph-data: no directory"),
            (packed[..packed.len() / 2].to_vec(), &Limits::default(), "damaged: it is truncated"),
            (good[..4000].to_vec(), &Limits::default(), "damaged"),
            (
                tar(&[("version", b"1.1.0"), ("channels/a.yaml", b"a"), ("x/../channels/b.yaml", b"b")]),
                &Limits::default(),
                "damaged: a name in it has `..`",
            ),
            (packed.clone(), &small, "larger than 4096 bytes"),
            // What nobody asked for is unpacked too.
            (gzip(&tar(&[("big", &vec![0; 100_000])])), &small, "larger than 8192 bytes"),
            // All files together, each of which is small enough.
            (
                tar(&[("version", b"1.1.0"), ("channels/a.yaml", &[b'#'; 2048]), ("channels/b.yaml", &[b'#'; 2048])]),
                &small,
                "larger than 4096 bytes",
            ),
        ] {
            let error = archive(bytes.as_slice(), limits).unwrap_err().to_string();
            assert!(error.contains(want), "{want}: {error}");
        }
    }

    #[test]
    fn an_answer_is_one_by_its_first_letter() {
        for bytes in [b" {\"nodes\":[]}".to_vec(), gzip(b"{\"nodes\":[]}")] {
            let Ok(Content::Answer(answer)) = content(bytes.as_slice(), &Limits::default()) else { panic!() };
            assert!(answer.ends_with(b"{\"nodes\":[]}"));
        }
        assert!(content(&b"[]"[..], &Limits::default()).is_err());
        let small = Limits { file_bytes: 600, ..Limits::default() };
        let long = format!("{{{}}}", " ".repeat(1000));
        assert!(matches!(content(long.as_bytes(), &small), Err(ArchiveError::TooLarge { .. })));
    }
}
