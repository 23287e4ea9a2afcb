//! A tar.gz whose bytes depend on its files only.

use std::path::Path;

use anyhow::Result;
use flate2::{Compression, GzBuilder};
use sha2::{Digest as _, Sha256};

/// A file, a program or a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    path: String,
    content: Content,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Content {
    File(Vec<u8>),
    Program(Vec<u8>),
    Link(String),
}

impl Entry {
    /// A file that everybody may read.
    pub(crate) fn file(path: &str, bytes: Vec<u8>) -> Self {
        Entry { path: path.to_owned(), content: Content::File(bytes) }
    }

    /// A file that everybody may run.
    pub(crate) fn program(path: &str, bytes: Vec<u8>) -> Self {
        Entry { path: path.to_owned(), content: Content::Program(bytes) }
    }

    /// A symbolic link.
    pub(crate) fn link(path: &str, to: &str) -> Self {
        Entry { path: path.to_owned(), content: Content::Link(to.to_owned()) }
    }
}

/// Packs entries below one directory, sorted by name, with one time and no owner.
pub(crate) fn pack(top: &str, mut entries: Vec<Entry>, epoch: u64) -> Result<Vec<u8>> {
    entries.sort_by(|one, other| one.path.cmp(&other.path));
    let packer = GzBuilder::new().mtime(0).write(Vec::new(), Compression::best());
    let mut archive = tar::Builder::new(packer);
    for Entry { path, content } in entries {
        let path = Path::new(top).join(path);
        let mut header = tar::Header::new_gnu();
        header.set_mtime(epoch);
        header.set_uid(0);
        header.set_gid(0);
        let (bytes, mode) = match &content {
            Content::File(bytes) => (bytes.as_slice(), 0o644),
            Content::Program(bytes) => (bytes.as_slice(), 0o755),
            Content::Link(_) => (&[][..], 0o777),
        };
        header.set_mode(mode);
        header.set_size(bytes.len() as u64);
        if let Content::Link(to) = &content {
            header.set_entry_type(tar::EntryType::Symlink);
            archive.append_link(&mut header, &path, to)?;
        } else {
            header.set_entry_type(tar::EntryType::Regular);
            archive.append_data(&mut header, &path, bytes)?;
        }
    }
    Ok(archive.into_inner()?.finish()?)
}

/// A checksum as `sha256sum` prints it.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_files_are_the_same_bytes_in_any_order() {
        let one = Entry::program("bin", b"1".to_vec());
        let two = Entry::file("a/file", b"2".to_vec());
        let link = Entry::link("also", "bin");
        let packed = pack("top", vec![one.clone(), two.clone(), link.clone()], 7).unwrap();
        assert_eq!(packed, pack("top", vec![link, two, one], 7).unwrap());
        let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(packed.as_slice()));
        let found: Vec<(String, u32, u64)> = archive
            .entries()
            .unwrap()
            .map(|entry| {
                let entry = entry.unwrap();
                let path = entry.path().unwrap().display().to_string();
                (path, entry.header().mode().unwrap(), entry.header().mtime().unwrap())
            })
            .collect();
        let want = [("top/a/file", 0o644, 7), ("top/also", 0o777, 7), ("top/bin", 0o755, 7)];
        assert_eq!(found, want.map(|(path, mode, time)| (path.to_owned(), mode, time)));
    }
}
