//! The entries of a layer, which is a tar archive, one after the other and within bounds.
//!
//! The `tar` crate would read a long name of any length into memory. So its raw entries are taken, and names that do not
//! fit into a header are put together here, within a limit.

use std::io::{self, Read};

use clearway_core::Digest;

use super::layer::Hasher;
use super::unpack::Unpacked;

/// Bytes of a name, and of the attributes of one file.
const NAME_BYTES: u64 = 1 << 20;

/// What an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A file with content.
    File,
    /// A directory.
    Directory,
    /// Anything else: links, devices.
    Other,
}

/// What is wrong with the content of a layer, although it is what its digest names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Spoiled {
    /// It is no archive at all.
    NotAnArchive,
    /// It is, but a broken one.
    Broken(String),
    /// It unpacks to more than is read.
    TooLarge(u64),
}

/// One entry of an archive.
pub(super) struct Entry<'a> {
    /// From the root of the image, without `.` and slashes at its ends.
    pub(super) path: &'a str,
    pub(super) kind: Kind,
    size: u64,
    stream: &'a mut dyn Read,
}

/// Looks at entries one by one.
pub(super) type Visit<'v> = dyn FnMut(&mut Entry<'_>) -> Result<Then, Spoiled> + 'v;

/// Whether to look at further entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Then {
    Continue,
    Stop,
}

/// Hands each entry to `visit`. Bytes that come out of the stream are at most `limit`.
pub(super) fn walk(stream: &mut dyn Read, limit: u64, visit: &mut Visit<'_>) -> Result<(), Spoiled> {
    let unpacked = Unpacked::new(stream, limit).map_err(|error| Spoiled::Broken(error.to_string()))?;
    let mut archive = tar::Archive::new(unpacked);
    let outcome = entries(&mut archive, visit);
    // The limit is told apart here, because what the stream said is lost in the words of the archive's reader.
    if outcome.is_err() && archive.into_inner().exceeded { Err(Spoiled::TooLarge(limit)) } else { outcome }
}

/// The same, and compares the digest of all that comes out of the stream, if there is one to compare it with.
pub(super) fn walk_checked(
    stream: &mut dyn Read,
    limit: u64,
    diff_id: Option<&Digest>,
    visit: &mut Visit<'_>,
) -> Result<(), Spoiled> {
    let Some(diff_id) = diff_id else { return walk(stream, limit, visit) };
    let unpacked = Unpacked::new(stream, limit).map_err(|error| Spoiled::Broken(error.to_string()))?;
    let mut archive = tar::Archive::new(Hashed { stream: unpacked, hasher: Hasher::new(diff_id) });
    let outcome = entries(&mut archive, visit);
    let mut hashed = archive.into_inner();
    let outcome = outcome.and_then(|()| {
        // What follows the last entry has a part in the digest too.
        io::copy(&mut hashed, &mut io::sink()).map_err(|error| Spoiled::Broken(error.to_string()))
    });
    match outcome {
        Err(_) if hashed.stream.exceeded => Err(Spoiled::TooLarge(limit)),
        Err(spoiled) => Err(spoiled),
        Ok(_) if hashed.hasher.hex() == diff_id.hex() => Ok(()),
        Ok(_) => Err(Spoiled::Broken(format!("it does not unpack to {diff_id}, as the image's configuration has it"))),
    }
}

/// A stream that is hashed as it is read.
struct Hashed<R: Read> {
    stream: Unpacked<R>,
    hasher: Hasher,
}

impl<R: Read> Read for Hashed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.stream.read(buffer)?;
        self.hasher.update(buffer.get(..read).unwrap_or_default());
        Ok(read)
    }
}

fn entries<R: Read>(archive: &mut tar::Archive<R>, visit: &mut Visit<'_>) -> Result<(), Spoiled> {
    let broken = |error: std::io::Error| Spoiled::Broken(error.to_string());
    let mut long_name: Option<Vec<u8>> = None;
    let mut first = true;
    for entry in archive.entries().map_err(broken)?.raw(true) {
        // What has no valid header where the first one should be was never an archive.
        let mut entry = entry.map_err(|error| if first { Spoiled::NotAnArchive } else { broken(error) })?;
        first = false;
        let (kind, size) = (entry.header().entry_type(), entry.size());
        if kind.is_gnu_longname() {
            let mut name = extension(&mut entry, size)?;
            name.truncate(name.iter().position(|byte| *byte == 0).unwrap_or(name.len()));
            long_name = Some(name);
            continue;
        }
        if kind.is_pax_local_extensions() {
            let attributes = extension(&mut entry, size)?;
            for attribute in tar::PaxExtensions::new(&attributes) {
                let attribute = attribute.map_err(broken)?;
                match attribute.key_bytes() {
                    b"path" => long_name = Some(attribute.value_bytes().to_vec()),
                    // Only written for files of 8 GiB and more, and then the header tells another size.
                    b"size" => return Err(Spoiled::Broken("a file in it is larger than 8 GiB".to_owned())),
                    _ => {}
                }
            }
            continue;
        }
        if kind.is_pax_global_extensions() || kind.is_gnu_longlink() {
            continue;
        }
        let name = long_name.take().unwrap_or_else(|| entry.path_bytes().into_owned());
        // What is not UTF-8 is none of the names that are looked for.
        let Ok(name) = String::from_utf8(name) else { continue };
        let path = clean(&name)?;
        let kind = match kind {
            _ if kind.is_file() => Kind::File,
            _ if kind.is_dir() => Kind::Directory,
            _ => Kind::Other,
        };
        if visit(&mut Entry { path: &path, kind, size, stream: &mut entry })? == Then::Stop {
            return Ok(());
        }
    }
    // Nothing at all, or nothing but zeros: an empty archive is an archive.
    Ok(())
}

impl Entry<'_> {
    /// The content of a file of at most so many bytes; `None` if it has more.
    pub(super) fn content(&mut self, limit: u64) -> Result<Option<Vec<u8>>, Spoiled> {
        if self.size > limit { Ok(None) } else { content(self.stream, self.size).map(Some) }
    }
}

fn content(stream: &mut dyn Read, size: u64) -> Result<Vec<u8>, Spoiled> {
    let mut content = Vec::new();
    stream.take(size).read_to_end(&mut content).map_err(|error| Spoiled::Broken(error.to_string()))?;
    if content.len() as u64 == size { Ok(content) } else { Err(Spoiled::Broken("it ends within a file".to_owned())) }
}

fn extension(stream: &mut dyn Read, size: u64) -> Result<Vec<u8>, Spoiled> {
    if size > NAME_BYTES {
        return Err(Spoiled::Broken("a name in it is too long".to_owned()));
    }
    content(stream, size)
}

/// A path from the root of the image, without `.` and slashes at its ends. One that leaves the root is refused: nothing
/// is written anywhere, but two readers could take it for two different files.
fn clean(name: &str) -> Result<String, Spoiled> {
    let mut path = String::with_capacity(name.len());
    for component in name.split('/').filter(|component| !component.is_empty() && *component != ".") {
        if component == ".." {
            return Err(Spoiled::Broken("a name in it has `..`".to_owned()));
        }
        if !path.is_empty() {
            path.push('/');
        }
        path.push_str(component);
    }
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn archive(files: &[(&str, &[u8])]) -> Vec<u8> {
        let mut builder = tar::Builder::new(Vec::new());
        for (name, content) in files {
            let mut header = tar::Header::new_gnu();
            header.set_size(content.len() as u64);
            builder.append_data(&mut header, name, *content).unwrap();
        }
        builder.into_inner().unwrap()
    }

    fn raw(name: &[u8], kind: tar::EntryType, size: u64) -> Vec<u8> {
        let mut header = tar::Header::new_gnu();
        header.as_mut_bytes()[..name.len()].copy_from_slice(name);
        header.set_entry_type(kind);
        header.set_size(size);
        header.set_cksum();
        header.as_bytes().to_vec()
    }

    fn names(bytes: &[u8], limit: u64) -> Result<Vec<String>, Spoiled> {
        let mut names = Vec::new();
        walk(&mut &*bytes, limit, &mut |entry| {
            if entry.kind == Kind::File {
                entry.content(1 << 20)?;
                names.push(entry.path.to_owned());
            }
            Ok(Then::Continue)
        })?;
        Ok(names)
    }

    #[test]
    fn names_of_any_length_are_read() {
        let long = format!("{}/file", "d".repeat(300));
        assert_eq!(
            names(&archive(&[("./a/b", b"1"), (&long, b"2"), ("c", b"3")]), 1 << 20).unwrap(),
            ["a/b", &long, "c"]
        );
        let mut builder = tar::Builder::new(Vec::new());
        builder.append_pax_extensions([("path", long.as_bytes()), ("mtime", b"1")]).unwrap();
        builder
            .append(&tar::Header::from_byte_slice(&raw(b"x", tar::EntryType::Regular, 0)).clone(), &b""[..])
            .unwrap();
        assert_eq!(names(&builder.into_inner().unwrap(), 1 << 20).unwrap(), [long]);
        assert_eq!(names(b"", 10).unwrap(), Vec::<String>::new());
        assert_eq!(names(&[0; 1024], 2000).unwrap(), Vec::<String>::new());
    }

    #[test]
    fn what_would_take_memory_or_lead_astray_is_refused() {
        let huge = 7 << 30;
        for (bytes, want) in [
            (raw(b"n", tar::EntryType::GNULongName, huge), "a name in it is too long"),
            (raw(b"n", tar::EntryType::XHeader, huge), "a name in it is too long"),
            (raw(b"a/../../etc/passwd", tar::EntryType::Regular, 0), "a name in it has `..`"),
            (raw(b"n", tar::EntryType::Regular, 5), "it ends within a file"),
        ] {
            assert_eq!(names(&bytes, 1 << 20), Err(Spoiled::Broken(want.to_owned())));
        }
        let padded = [raw(b"n", tar::EntryType::Regular, 1 << 20), vec![0; 2 << 20]].concat();
        assert_eq!(names(&padded, 1 << 20), Err(Spoiled::TooLarge(1 << 20)));
        assert_eq!(names(&[b'x'; 2000], 1 << 20), Err(Spoiled::NotAnArchive));
        assert_eq!(names(b"{\"some\": \"json\"}", 1 << 20), Err(Spoiled::NotAnArchive));
        let torn = [archive(&[("a", b"1")])[..1024].to_vec(), vec![b'x'; 600]].concat();
        assert!(matches!(names(&torn, 1 << 20), Err(Spoiled::Broken(_))));
    }

    proptest! {
        #[test]
        fn an_archive_that_is_damaged_anywhere_ends_in_words(at in 0_usize..4096, byte: u8, cut in 0_usize..4096) {
            let long = format!("{}/file", "d".repeat(300));
            let mut bytes = archive(&[("a", b"1"), (&long, b"2"), ("release-manifests/release-metadata", b"3")]);
            if let Some(damaged) = bytes.get_mut(at) {
                *damaged = byte;
            }
            bytes.truncate(cut.max(1));
            let _ = names(&bytes, 1 << 20);
            // The same, packed, and damaged after that.
            let mut packed = ruzstd::encoding::compress_to_vec(bytes.as_slice(), ruzstd::encoding::CompressionLevel::Fastest);
            if let Some(damaged) = packed.get_mut(at % 256) {
                *damaged = byte;
            }
            let _ = names(&packed, 1 << 20);
        }
    }
}
