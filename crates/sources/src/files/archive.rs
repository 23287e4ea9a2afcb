//! The entries of a tar archive, packed or not, one after the other and within bounds.
//!
//! The `tar` crate would read a long name of any length into memory, and fill the holes of a sparse file with zeros. So its
//! raw entries are taken: names that do not fit into a header are put together here, within a limit, and a sparse file
//! is something that is not read.

mod hasher;
mod pack;
#[cfg(test)]
mod tests;
mod unpack;

use std::io::{self, Read};

use clearway_core::Digest;
use tar::EntryType;

use crate::files::file_tree::names_of;
pub(crate) use hasher::Hasher;
pub(crate) use pack::{gzip, pack};
pub(crate) use unpack::{Excess, Unpacked};

/// Bytes of a name; Linux takes no longer path.
pub(crate) const NAME_BYTES: usize = 4096;
/// Bytes of the attributes of one file: its name, its owners, extended attributes.
pub(crate) const ATTRIBUTE_BYTES: u64 = 1 << 20;
/// Bytes of a header of a tar archive.
pub(crate) const HEADER: usize = 512;
/// What is read at once of what follows the last entry.
const END_BUFFER: usize = 16 << 10;

/// How much of an archive is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ArchiveLimits {
    /// Bytes that it unpacks to, of everything in it.
    pub(crate) unpacked_bytes: u64,
    /// Entries of the archive, whatever they are.
    pub(crate) entries: u64,
    /// Streams of gzip or zstd that are packed one behind the other.
    pub(crate) members: u64,
}

impl ArchiveLimits {
    /// For layers of images, which may hold a whole system. Some tools pack every file of a layer by itself.
    pub(crate) const fn layer(unpacked_bytes: u64) -> Self {
        ArchiveLimits { unpacked_bytes, entries: 1_000_000, members: 1_000_000 }
    }

    /// For archives of graph-data and snapshots.
    pub(crate) const fn file(unpacked_bytes: u64) -> Self {
        ArchiveLimits { unpacked_bytes, entries: 100_000, members: 10_000 }
    }
}

/// What an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A file with content.
    File,
    /// A directory.
    Directory,
    /// Anything else, in words: `a symbolic link`.
    Other(&'static str),
}

/// What is wrong with the content of an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ArchiveDefect {
    /// It is no archive at all: it could be unpacked, and does not begin with a header.
    NotAnArchive,
    /// It is, but a broken one; or nothing is known of it, because it cannot be unpacked.
    Broken(String),
    /// It unpacks to more than is read.
    TooLarge(u64),
    /// It has more of something than is read: what, and how many are.
    TooMany(&'static str, u64),
}

/// One entry of an archive.
pub(crate) struct Entry<'a> {
    /// From the root of the archive, without `.` and slashes at its ends. Not always UTF-8.
    pub(crate) path: &'a [u8],
    pub(crate) kind: Kind,
    size: u64,
    stream: &'a mut dyn Read,
}

/// Looks at entries one by one.
pub(crate) type Visit<'v> = dyn FnMut(&mut Entry<'_>) -> Result<WalkControl, ArchiveDefect> + 'v;

/// Whether to look at further entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WalkControl {
    Continue,
    Stop,
}

/// Hands each entry of a layer to `visit`. Bytes that come out of the stream are at most `limit`.
pub(crate) fn walk(stream: &mut dyn Read, limit: u64, visit: &mut Visit<'_>) -> Result<(), ArchiveDefect> {
    walk_checked(stream, limit, None, visit).map(drop)
}

/// The same; returns the number of unpacked bytes, and compares the digest of all of them with `diff_id` if there is one.
pub(crate) fn walk_checked(
    stream: &mut dyn Read,
    limit: u64,
    diff_id: Option<&Digest>,
    visit: &mut Visit<'_>,
) -> Result<u64, ArchiveDefect> {
    let limits = ArchiveLimits::layer(limit);
    let mut unpacked = Unpacked::new(stream, limits.unpacked_bytes, limits.members).map_err(broken)?;
    let outcome = walk_all(&mut unpacked, limits.entries, diff_id, visit);
    said_by(&unpacked, outcome).map(|()| unpacked.unpacked_bytes())
}

/// Hands each entry of an archive that is being unpacked to `visit`.
pub(crate) fn walk_unpacked<R: Read>(
    mut unpacked: Unpacked<R>,
    most: u64,
    visit: &mut Visit<'_>,
) -> Result<(), ArchiveDefect> {
    let outcome = walk_all(&mut unpacked, most, None, visit);
    said_by(&unpacked, outcome)
}

/// The caps are told apart here, because what the stream said is lost in the words of the archive's reader.
fn said_by<R: Read>(unpacked: &Unpacked<R>, outcome: Result<(), ArchiveDefect>) -> Result<(), ArchiveDefect> {
    outcome.map_err(|defect| unpacked.exceeded().map_or(defect, ArchiveDefect::from))
}

fn walk_all<R: Read>(
    unpacked: &mut Unpacked<R>,
    most: u64,
    diff_id: Option<&Digest>,
    visit: &mut Visit<'_>,
) -> Result<(), ArchiveDefect> {
    // What cannot be unpacked may be an archive, so nothing is known about what is in it.
    unpacked.peek(HEADER).map_err(broken)?;
    if !is_header(unpacked.peeked()) {
        return Err(ArchiveDefect::NotAnArchive);
    }
    let mut archive = tar::Archive::new(Hashed { stream: unpacked, hasher: diff_id.map(Hasher::new) });
    let control = entries(&mut archive, most, visit)?;
    let mut hashed = archive.into_inner();
    if control == WalkControl::Continue {
        read_end(&mut hashed)?;
    }
    let Some(diff_id) = diff_id else { return Ok(()) };
    // What follows the last entry that was looked at has a part in the digest too.
    io::copy(&mut hashed, &mut io::sink()).map_err(broken)?;
    if hashed.hasher.is_some_and(|hasher| hasher.hex() == diff_id.hex()) {
        return Ok(());
    }
    Err(ArchiveDefect::Broken(format!("its unpacked digest is not {diff_id}, which the image configuration names")))
}

/// Reads what follows the last entry, up to the end of the stream: an archive ends with two blocks of zeros, of which the
/// first was read, and tools fill it up with more of them. Entries behind a block of zeros, or behind the place where an
/// archive was cut, would be lost without a word. At its end, a packed stream also compares its checksum.
fn read_end(stream: &mut dyn Read) -> Result<(), ArchiveDefect> {
    let mut buffer = vec![0; END_BUFFER];
    let mut zeros: u64 = 0;
    loop {
        let read = match stream.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(broken(error)),
        };
        if buffer.iter().take(read).any(|byte| *byte != 0) {
            return Err(ArchiveDefect::Broken("it is damaged: content follows its end marker".to_owned()));
        }
        zeros = zeros.saturating_add(read as u64);
    }
    if zeros < HEADER as u64 {
        return Err(ArchiveDefect::Broken("it is truncated: its end marker is missing".to_owned()));
    }
    Ok(())
}

/// Whether an archive begins so: with a header, even a damaged one, or with the zeros that end an empty archive.
fn is_header(head: &[u8]) -> bool {
    if head.len() != HEADER {
        return false;
    }
    let header = tar::Header::from_byte_slice(head);
    // The sum is of the header with spaces in place of the sum.
    let counted = head.iter().enumerate().map(|(at, byte)| if (148..156).contains(&at) { b' ' } else { *byte });
    head.iter().all(|byte| *byte == 0)
        || head.get(257..262) == Some(b"ustar")
        || header.cksum().is_ok_and(|sum| sum == counted.map(u32::from).sum::<u32>())
}

impl From<Excess> for ArchiveDefect {
    fn from(excess: Excess) -> Self {
        match excess {
            Excess::Bytes(limit) => ArchiveDefect::TooLarge(limit),
            Excess::Members(limit) => ArchiveDefect::TooMany("consecutive compressed parts", limit),
        }
    }
}

/// A stream that is hashed as it is read, if there is a digest to compare.
struct Hashed<'u, R: Read> {
    stream: &'u mut Unpacked<R>,
    hasher: Option<Hasher>,
}

impl<R: Read> Read for Hashed<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.stream.read(buffer)?;
        if let Some(hasher) = &mut self.hasher {
            hasher.update(buffer.get(..read).unwrap_or_default());
        }
        Ok(read)
    }
}

// Errors are mapped to it as they come.
#[allow(clippy::needless_pass_by_value)]
fn broken(error: io::Error) -> ArchiveDefect {
    let why = match error.kind() {
        io::ErrorKind::UnexpectedEof => "it is truncated".to_owned(),
        _ => error.to_string(),
    };
    ArchiveDefect::Broken(why)
}

/// What the entries before one say about it.
#[derive(Default)]
struct Attributes {
    name: Option<Vec<u8>>,
    is_sparse: bool,
}

fn entries<R: Read>(
    archive: &mut tar::Archive<R>,
    most: u64,
    visit: &mut Visit<'_>,
) -> Result<WalkControl, ArchiveDefect> {
    let mut attributes = Attributes::default();
    for (number, entry) in (0_u64..).zip(archive.entries().map_err(broken)?.raw(true)) {
        let mut entry = entry.map_err(broken)?;
        if number >= most {
            return Err(ArchiveDefect::TooMany("entries", most));
        }
        let (kind, size) = (entry.header().entry_type(), entry.size());
        if kind.is_gnu_longname() {
            let mut name = extension(&mut entry, size)?;
            name.truncate(name.iter().position(|byte| *byte == 0).unwrap_or(name.len()));
            attributes.name = Some(name);
            continue;
        }
        if kind.is_pax_local_extensions() {
            attributes.read(&extension(&mut entry, size)?)?;
            continue;
        }
        if kind.is_pax_global_extensions() {
            let mut global = Attributes::default();
            global.read(&extension(&mut entry, size)?)?;
            // One reader would give it to every file that follows, another one would not.
            if global.name.is_some() || global.is_sparse {
                return Err(ArchiveDefect::Broken("it gives all of its files the same name".to_owned()));
            }
            continue;
        }
        if kind.is_gnu_longlink() {
            continue;
        }
        let Attributes { name, is_sparse } = std::mem::take(&mut attributes);
        let name = name.unwrap_or_else(|| entry.path_bytes().into_owned());
        let path = clean(&name)?;
        let kind = match described(kind) {
            _ if is_sparse => Kind::Other("a sparse file"),
            // Before directories had a letter of their own, they had a slash.
            Kind::File if name.ends_with(b"/") => Kind::Directory,
            kind => kind,
        };
        if visit(&mut Entry { path: &path, kind, size, stream: &mut entry })? == WalkControl::Stop {
            return Ok(WalkControl::Stop);
        }
    }
    Ok(WalkControl::Continue)
}

impl Attributes {
    fn read(&mut self, text: &[u8]) -> Result<(), ArchiveDefect> {
        for attribute in tar::PaxExtensions::new(text) {
            let attribute = attribute.map_err(broken)?;
            match attribute.key_bytes() {
                b"path" => self.name = Some(attribute.value_bytes().to_vec()),
                b"GNU.sparse.name" => {
                    self.name = Some(attribute.value_bytes().to_vec());
                    self.is_sparse = true;
                }
                // Only written for files of 8 GiB and more, and then the header tells another size.
                b"size" => return Err(ArchiveDefect::Broken("a file in it is larger than 8 GiB".to_owned())),
                key if key.starts_with(b"GNU.sparse.") => self.is_sparse = true,
                _ => {}
            }
        }
        Ok(())
    }
}

/// What an entry is, by the letter in its header.
fn described(kind: EntryType) -> Kind {
    match kind {
        EntryType::Regular | EntryType::Continuous => Kind::File,
        EntryType::Directory => Kind::Directory,
        EntryType::Link => Kind::Other("a hard link"),
        EntryType::Symlink => Kind::Other("a symbolic link"),
        EntryType::Fifo => Kind::Other("a named pipe"),
        EntryType::Char | EntryType::Block => Kind::Other("a device"),
        EntryType::GNUSparse => Kind::Other("a sparse file"),
        _ => Kind::Other("of an unsupported type"),
    }
}

impl Entry<'_> {
    /// The content of a file of at most so many bytes; `None` if it has more.
    pub(crate) fn content(&mut self, limit: u64) -> Result<Option<Vec<u8>>, ArchiveDefect> {
        if self.size > limit { Ok(None) } else { content(self.stream, self.size).map(Some) }
    }
}

fn content(stream: &mut dyn Read, size: u64) -> Result<Vec<u8>, ArchiveDefect> {
    let mut content = Vec::new();
    stream.take(size).read_to_end(&mut content).map_err(broken)?;
    if content.len() as u64 == size {
        Ok(content)
    } else {
        Err(ArchiveDefect::Broken("it is truncated within a file".to_owned()))
    }
}

fn extension(stream: &mut dyn Read, size: u64) -> Result<Vec<u8>, ArchiveDefect> {
    if size > ATTRIBUTE_BYTES {
        return Err(ArchiveDefect::TooMany("bytes in the attributes of a file", ATTRIBUTE_BYTES));
    }
    content(stream, size)
}

/// A path from the root of the archive, without `.` and slashes at its ends. One that leaves the root is refused: nothing
/// is written anywhere, but two readers could take it for two different files.
fn clean(name: &[u8]) -> Result<Vec<u8>, ArchiveDefect> {
    if name.len() > NAME_BYTES {
        return Err(ArchiveDefect::TooMany("bytes in a name", NAME_BYTES as u64));
    }
    if name.contains(&0) {
        return Err(ArchiveDefect::Broken("a name in it has a zero byte".to_owned()));
    }
    let mut path = Vec::with_capacity(name.len());
    for component in names_of(name) {
        if component == b".." {
            return Err(ArchiveDefect::Broken("a name in it has `..`".to_owned()));
        }
        if !path.is_empty() {
            path.push(b'/');
        }
        path.extend_from_slice(component);
    }
    Ok(path)
}
