//! Graph-data in a stream: an archive (tar, packed with gzip or not), or one answer, told apart by what is in it.
//!
//! Nothing is written to disk, so a path that leads out of the archive leads nowhere; such entries are passed over.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::{Component, Path};

use clearway_core::Limits;
use clearway_graph::Inputs;
use flate2::bufread::MultiGzDecoder;

use super::name_parts;

/// Bytes of a header of a tar archive.
const HEADER: usize = 512;

/// Why a stream is no graph-data.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// It is something else.
    #[error("no archive of graph-data (tar, or tar packed with gzip)")]
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
    /// It is an archive of other things.
    #[error("no graph-data: there is no directory in the archive with a `version` file and `channels` in it")]
    NoGraphData,
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
    let stream = Opened::new(stream, limits)?;
    if stream.is_archive() { stream.unpack() } else { Err(ArchiveError::NotAnArchive) }
}

/// Reads an archive of graph-data or an answer, packed with gzip or not.
pub fn content(stream: impl Read, limits: &Limits) -> Result<Content, ArchiveError> {
    let stream = Opened::new(stream, limits)?;
    if stream.is_archive() {
        return stream.unpack().map(Content::Files);
    }
    if stream.head.iter().find(|byte| !byte.is_ascii_whitespace()) != Some(&b'{') {
        return Err(ArchiveError::NotAnArchive);
    }
    let limit = stream.limit;
    let mut answer = Vec::new();
    stream.bytes().read_to_end(&mut answer).map_err(|error| damaged(&error, limit))?;
    Ok(Content::Answer(answer))
}

/// A stream after gzip, with its first bytes looked at.
pub(crate) struct Opened<R: Read> {
    head: Vec<u8>,
    rest: Unpacked<BufReader<R>>,
    limit: u64,
}

/// A stream as it is, or what gzip makes of it.
enum Unpacked<R: BufRead> {
    Plain(R),
    Gzip(Box<MultiGzDecoder<R>>),
}

impl<R: BufRead> Read for Unpacked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Unpacked::Plain(stream) => stream.read(buffer),
            Unpacked::Gzip(stream) => stream.read(buffer),
        }
    }
}

impl<R: Read> Opened<R> {
    pub(crate) fn new(stream: R, limits: &Limits) -> Result<Self, ArchiveError> {
        let limit = limits.file_bytes;
        let mut stream = BufReader::with_capacity(1 << 16, stream);
        let packed = stream.fill_buf().map_err(|error| damaged(&error, limit))?.starts_with(&[0x1f, 0x8b]);
        let mut rest =
            if packed { Unpacked::Gzip(Box::new(MultiGzDecoder::new(stream))) } else { Unpacked::Plain(stream) };
        let mut head = Vec::with_capacity(HEADER);
        let read = rest.by_ref().take(HEADER as u64).read_to_end(&mut head);
        read.map_err(|error| damaged(&error, limit))?;
        Ok(Opened { head, rest, limit })
    }

    /// Whether it begins with a header of an archive, or with the zeros that end one.
    pub(crate) fn is_archive(&self) -> bool {
        self.head.len() == HEADER
            && (self.head.get(257..262) == Some(b"ustar") || self.head.iter().all(|byte| *byte == 0))
    }

    /// Everything, up to the limit: what is passed over counts, for it is unpacked all the same.
    pub(crate) fn bytes(self) -> impl Read {
        Bounded { left: self.limit, stream: Cursor::new(self.head).chain(self.rest) }
    }

    fn unpack(self) -> Result<Inputs, ArchiveError> {
        let limit = self.limit;
        let failed = |error: io::Error| damaged(&error, limit);
        let mut archive = tar::Archive::new(self.bytes());
        let mut found: BTreeMap<Vec<String>, Inputs> = BTreeMap::new();
        for entry in archive.entries().map_err(failed)? {
            let mut entry = entry.map_err(failed)?;
            if !entry.header().entry_type().is_file() {
                continue;
            }
            let path = entry.path().map_err(failed)?.into_owned();
            if let Some((root, name)) = split(&path) {
                let mut content = Vec::new();
                entry.read_to_end(&mut content).map_err(failed)?;
                found.entry(root).or_default().insert(name, content);
            }
        }
        let is_root = |inputs: &Inputs| {
            inputs.get("version").is_some() && inputs.iter().any(|(name, _)| name.starts_with("channels/"))
        };
        let roots = found.into_iter().filter(|(_, inputs)| is_root(inputs));
        let outermost = roots.min_by_key(|(root, _)| root.len());
        outermost.map(|(_, inputs)| inputs).ok_or(ArchiveError::NoGraphData)
    }
}

/// A path as the directory it would be graph-data in, and its name there; nothing for files of no interest.
fn split(path: &Path) -> Option<(Vec<String>, String)> {
    let mut parts = Vec::new();
    for part in path.components() {
        match part {
            Component::Normal(part) => parts.push(part.to_str()?.to_owned()),
            Component::CurDir | Component::RootDir => {}
            Component::ParentDir | Component::Prefix(_) => return None,
        }
    }
    let names: Vec<&str> = parts.iter().map(String::as_str).collect();
    let root = names.len() - name_parts(&names)?;
    let name = names.get(root..)?.join("/");
    parts.truncate(root);
    Some((parts, name))
}

/// Reads up to a limit, and fails behind it, where `take` would seem to end.
struct Bounded<R> {
    stream: R,
    left: u64,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.stream.read(buffer)?;
        self.left = self.left.checked_sub(read as u64).ok_or(io::Error::from(io::ErrorKind::FileTooLarge))?;
        Ok(read)
    }
}

/// What a failure to read means.
pub(crate) fn damaged(error: &io::Error, limit: u64) -> ArchiveError {
    match error.kind() {
        io::ErrorKind::FileTooLarge => ArchiveError::TooLarge { limit },
        io::ErrorKind::UnexpectedEof => ArchiveError::Damaged { why: "it ends too early".to_owned() },
        _ => ArchiveError::Damaged { why: error.to_string() },
    }
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
    fn paths_that_lead_out_are_passed_over() {
        let files: [(&str, &[u8]); 3] =
            [("version", b"1.1.0"), ("channels/a.yaml", b"name: a"), ("x/../channels/b.yaml", b"name: b")];
        assert_eq!(
            names(&archive(tar(&files).as_slice(), &Limits::default()).unwrap()),
            ["channels/a.yaml", "version"]
        );
    }

    #[test]
    fn what_is_no_graph_data_is_told_apart() {
        let good = tar(&[("version", b"1.1.0"), ("channels/a.yaml", &[b'#'; 9000])]);
        let packed = gzip(&good);
        let small = Limits { file_bytes: 4096, ..Limits::default() };
        for (bytes, limits, want) in [
            (b"<html>no</html>".to_vec(), &Limits::default(), "no archive of graph-data"),
            (Vec::new(), &Limits::default(), "no archive of graph-data"),
            (tar(&[("README", b"x")]), &Limits::default(), "no graph-data: there is no directory"),
            (vec![0; 1024], &Limits::default(), "no graph-data: there is no directory"),
            (packed[..packed.len() / 2].to_vec(), &Limits::default(), "damaged: it ends too early"),
            (good[..4000].to_vec(), &Limits::default(), "damaged"),
            (packed.clone(), &small, "larger than 4096 bytes"),
            // What nobody asked for is unpacked too.
            (gzip(&tar(&[("big", &vec![0; 100_000])])), &small, "larger than 4096 bytes"),
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
