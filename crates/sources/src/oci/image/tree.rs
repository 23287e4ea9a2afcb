//! The files of an image as its layers leave them, as far as they are [`FileFilter`].

use std::collections::BTreeMap;
use std::io::Read;

use clearway_catalog::PRODUCT_FILE;
use clearway_core::Digest;
use clearway_graph::Inputs;

use crate::bundle_files::is_manifest_name;
use crate::files::archive::{ArchiveLimits, NAME_BYTES};
use crate::files::file_tree::{join, split_last};
use crate::graph_data::{
    ArchiveError, EntryClass, MemoryTree, StoredEntry, classify_entry, directory_in_place_of_file, insert,
};
use crate::oci::archive::{self, ArchiveDefect, Kind, WalkControl};
use crate::oci::image::signature;

/// What one layer may put and take away, of what is wanted.
const CHANGES: usize = 100_000;
/// What graph-data is made of, in words.
const NOUN: &str = "files that can be graph-data";
/// Bytes of the names of that.
const NAMES_BYTES: usize = 8 << 20;

/// The caps on layers of images, and on signatures of their digests, as documentation shows them.
pub const LAYER_CAPS: &[(&str, u64)] = &[
    ("Entries of one layer", ArchiveLimits::layer(0).entries),
    ("Members of gzip, or frames of zstd, of one layer", ArchiveLimits::layer(0).members),
    ("Bytes of one name", NAME_BYTES as u64),
    ("Files that can be graph-data, and removals of such, of one layer", CHANGES as u64),
    ("Bytes of their names", NAMES_BYTES as u64),
    ("Bytes of a text that was signed", signature::TEXT_BYTES),
    ("Signatures of one digest that are looked at; others are skipped", signature::MOST as u64),
];

/// Which files of an image are kept, and how many.
#[derive(Clone, Copy)]
pub(in crate::oci) struct FileFilter {
    /// Whether a file is.
    pub(in crate::oci) file: fn(&[u8]) -> bool,
    /// Whether something that is no file could stand where one is wanted.
    pub(in crate::oci) other: fn(&[u8]) -> bool,
    /// Whether files that are wanted can be gone with a path.
    pub(in crate::oci) gone: fn(&[u8]) -> bool,
    /// The directory on the way to a path that stands in place of a wanted file.
    pub(in crate::oci) in_place: fn(&[u8]) -> Option<&[u8]>,
    /// Bytes of all files of a layer.
    pub(in crate::oci) bytes: u64,
    /// Files of a layer, and what it takes from lower ones.
    pub(in crate::oci) entries: usize,
    /// What the files are, in words.
    pub(in crate::oci) noun: &'static str,
}

impl FileFilter {
    /// What can be graph-data, wherever that is.
    pub(in crate::oci) fn graph_data(bytes: u64) -> Self {
        FileFilter {
            file: |path| classify_entry(path) == EntryClass::File,
            other: |path| classify_entry(path) != EntryClass::None,
            gone: |_| true,
            in_place: directory_in_place_of_file,
            bytes,
            entries: CHANGES,
            noun: NOUN,
        }
    }

    /// What can be graph-data of a product or its `product.yaml`, wherever that is.
    pub(in crate::oci) fn catalog(bytes: u64) -> Self {
        FileFilter {
            file: |path| is_product_file(path) || classify_entry(path) == EntryClass::File,
            other: |path| is_product_file(path) || classify_entry(path) != EntryClass::None,
            ..FileFilter::graph_data(bytes)
        }
    }

    /// YAML and JSON files, wherever they are.
    pub(in crate::oci) fn manifests(bytes: u64) -> Self {
        FileFilter {
            file: is_manifest_name,
            other: |_| false,
            gone: |_| true,
            in_place: |_| None,
            bytes,
            entries: CHANGES,
            noun: "YAML and JSON files",
        }
    }
}

fn is_product_file(path: &[u8]) -> bool {
    split_last(path).1 == PRODUCT_FILE.as_bytes()
}

/// One thing that a layer does.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Change {
    /// Puts something at a path.
    Put(Vec<u8>, StoredEntry),
    /// Takes what lower layers have at a path.
    Remove(Vec<u8>),
    /// Takes what lower layers have in a directory.
    Empty(Vec<u8>),
}

/// What one layer does, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::oci) struct Changes {
    list: Vec<Change>,
    /// Bytes of the layer, unpacked.
    pub(in crate::oci) unpacked: u64,
}

/// The files of some layers.
#[derive(Debug, Default)]
pub(in crate::oci) struct Tree {
    files: BTreeMap<Vec<u8>, StoredEntry>,
}

impl Changes {
    /// Reads a layer, keeping what is wanted. If its unpacked bytes have a digest, it is compared.
    pub(in crate::oci) fn read(
        stream: &mut dyn Read,
        unpacked: u64,
        wanted: &FileFilter,
        diff_id: Option<&Digest>,
    ) -> Result<Self, ArchiveDefect> {
        let mut changes = Vec::new();
        let (mut left, mut names) = (wanted.bytes, NAMES_BYTES);
        let unpacked = archive::walk_checked(stream, unpacked, diff_id, &mut |entry| {
            let (path, kind) = (entry.path, entry.kind);
            let (directory, name) = split_last(path);
            let change = if name == b".wh..wh..opq" {
                (wanted.gone)(directory).then(|| Change::Empty(directory.to_vec()))
            } else if let Some(gone) = name.strip_prefix(b".wh.") {
                Some(join(directory, gone)).filter(|gone| (wanted.gone)(gone)).map(Change::Remove)
            } else {
                match kind {
                    Kind::File if (wanted.file)(path) => {
                        let content = entry.content(left)?.ok_or(ArchiveDefect::TooLarge(wanted.bytes))?;
                        left = left.saturating_sub(content.len() as u64);
                        Some(Change::Put(path.to_vec(), StoredEntry::File(content)))
                    }
                    // In place of a directory; what is in it does not matter.
                    Kind::File if (wanted.other)(path) => {
                        Some(Change::Put(path.to_vec(), StoredEntry::File(Vec::new())))
                    }
                    Kind::Directory if (wanted.other)(path) => Some(Change::Put(path.to_vec(), StoredEntry::Directory)),
                    Kind::Other(what) if (wanted.other)(path) => {
                        Some(Change::Put(path.to_vec(), StoredEntry::Other(what)))
                    }
                    _ => None,
                }
            };
            let above = (wanted.in_place)(path).map(|above| Change::Put(above.to_vec(), StoredEntry::Directory));
            for change in above.into_iter().chain(change) {
                names = names
                    .checked_sub(change.path().len())
                    .ok_or(ArchiveDefect::TooMany("bytes in names", NAMES_BYTES as u64))?;
                changes.push(change);
            }
            if changes.len() > wanted.entries {
                return Err(ArchiveDefect::TooMany(wanted.noun, wanted.entries as u64));
            }
            Ok(WalkControl::Continue)
        })?;
        Ok(Changes { list: changes, unpacked })
    }
}

impl Change {
    fn path(&self) -> &[u8] {
        match self {
            Change::Put(path, _) | Change::Remove(path) | Change::Empty(path) => path,
        }
    }
}

impl Tree {
    /// Puts a layer above those that are there.
    pub(in crate::oci) fn apply(&mut self, layer: Changes) {
        // What a layer takes away is what lower ones have, wherever in the layer that stands.
        for change in &layer.list {
            match change {
                Change::Remove(path) => {
                    self.files.remove(path);
                    self.remove_below(path);
                }
                Change::Empty(directory) => self.remove_below(directory),
                // A directory keeps what lower layers have in it.
                Change::Put(_, StoredEntry::Directory) => {}
                // A link or file in place of a directory.
                Change::Put(path, _) => self.remove_below(path),
            }
        }
        let mut put = BTreeMap::new();
        for change in layer.list {
            if let Change::Put(path, stored) = change {
                insert(&mut put, path, stored);
            }
        }
        self.files.extend(put);
    }

    /// Bytes of all files.
    pub(in crate::oci) fn bytes(&self) -> u64 {
        let length =
            |stored: &StoredEntry| if let StoredEntry::File(content) = stored { content.len() as u64 } else { 0 };
        self.files.values().map(length).sum()
    }

    /// Which cap on names all layers together are above: what there is too much of, and how much is kept.
    pub(in crate::oci) fn excess(&self) -> Option<(&'static str, u64)> {
        let names: usize = self.files.keys().map(Vec::len).sum();
        if self.files.len() > CHANGES {
            Some((NOUN, CHANGES as u64))
        } else if names > NAMES_BYTES {
            Some(("bytes in names", NAMES_BYTES as u64))
        } else {
            None
        }
    }

    fn remove_below(&mut self, directory: &[u8]) {
        if directory.is_empty() {
            self.files.clear();
            return;
        }
        let prefix = join(directory, b"");
        let below: Vec<Vec<u8>> = self
            .files
            .range(prefix.clone()..)
            .map(|(path, _)| path)
            .take_while(|path| path.starts_with(&prefix))
            .cloned()
            .collect();
        for path in below {
            self.files.remove(&path);
        }
    }

    /// How many files there are.
    pub(in crate::oci) fn len(&self) -> usize {
        self.files.values().filter(|stored| **stored != StoredEntry::Directory).count()
    }

    /// Every path with what is there.
    pub(in crate::oci) fn into_files(self) -> BTreeMap<Vec<u8>, StoredEntry> {
        self.files
    }

    /// The files of the one directory that is graph-data.
    pub(in crate::oci) fn graph_data(self, bytes: u64) -> Result<Inputs, ArchiveError> {
        MemoryTree::new(self.files).graph_data(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layer(files: &[&str]) -> Changes {
        let mut builder = tar::Builder::new(Vec::new());
        for name in files {
            let mut header = tar::Header::new_gnu();
            if let Some(name) = name.strip_suffix('@') {
                header.set_entry_type(tar::EntryType::Symlink);
                header.set_size(0);
                builder.append_link(&mut header, name, "/etc/passwd").unwrap();
                continue;
            }
            let (name, content) = name.split_once('=').unwrap_or((name, ""));
            header.set_size(content.len() as u64);
            builder.append_data(&mut header, name, content.as_bytes()).unwrap();
        }
        let wanted = FileFilter::graph_data(1 << 10);
        Changes::read(&mut builder.into_inner().unwrap().as_slice(), 1 << 20, &wanted, None).unwrap()
    }

    /// The graph-data of some layers as `path=content`, or why there is none, or what of it cannot be read.
    fn read(layers: &[&[&str]]) -> Result<Vec<String>, String> {
        let mut tree = Tree::default();
        for files in layers {
            tree.apply(layer(files));
        }
        let inputs = tree.graph_data(1 << 20).map_err(|error| error.to_string())?;
        let unreadable: Vec<String> = inputs.unreadable().map(|(path, why)| format!("{path}: {why}")).collect();
        if !unreadable.is_empty() {
            return Err(unreadable.join("; "));
        }
        Ok(inputs.iter().map(|(path, content)| format!("{path}={}", String::from_utf8_lossy(content))).collect())
    }

    #[test]
    fn layers_are_applied_in_order_with_what_they_take_away() {
        let base: &[&str] =
            &["g/version=1", "g/channels/a.yaml=a", "g/channels/b.yaml=b", "g/README=x", "etc/version=9"];
        for (layers, want) in [
            (vec![base], vec!["channels/a.yaml=a", "channels/b.yaml=b", "version=1"]),
            (vec![base, &["g/channels/a.yaml=new"]], vec!["channels/a.yaml=new", "channels/b.yaml=b", "version=1"]),
            (vec![base, &["g/channels/.wh.a.yaml"]], vec!["channels/b.yaml=b", "version=1"]),
            (vec![base, &["g/channels/c.yaml=c", "g/channels/.wh..wh..opq"]], vec!["channels/c.yaml=c", "version=1"]),
            (
                vec![base, &["g/.wh.channels"], &["g/channels/d.yaml=d", "g/risks/r.yaml=r"]],
                vec!["channels/d.yaml=d", "risks/r.yaml=r", "version=1"],
            ),
            (vec![base, &[".wh.g", "version=2", "channels/e.yaml=e"]], vec!["channels/e.yaml=e", "version=2"]),
            (
                vec![&["version=1", "channels/a.yaml=a", "channels/old/b.yaml=b"]],
                vec!["channels/a.yaml=a", "version=1"],
            ),
        ] {
            assert_eq!(read(&layers).unwrap(), want, "{layers:?}");
        }
    }

    #[test]
    fn no_graph_data_and_two_of_them_are_refused_and_what_is_no_file_is_noted() {
        let none = "not graph-data: no directory in it has a `version` file and a `channels` directory";
        for (files, want) in [
            (vec!["version=1"], none),
            (vec!["channels/a.yaml=a", "b/version=1"], none),
            (vec!["conversion=1", "channels/a.yaml=a"], none),
            (
                vec!["a/version=1", "a/channels/a=a", "b/version=1", "b/channels/a=a"],
                "it has graph-data at `/a/` and at `/b/`; remove one of them",
            ),
            (
                vec!["version=1", "channels/a.yaml=a", "blocked-edges/b.yaml@"],
                "blocked-edges/b.yaml: it is a symbolic link, not a file",
            ),
            (
                vec!["version=1", "channels/a.yaml=a", "blocked-edges@"],
                "blocked-edges: it is a symbolic link, not a file",
            ),
            (vec!["version@", "channels/a.yaml=a"], "version: it is a symbolic link, not a file"),
            (vec!["version=1", "channels@"], "channels: it is a symbolic link, not a file"),
            (vec!["version=1", "channels/a=a", "risks=x"], "risks: it is a file, not a directory"),
            (vec!["version=1", "channels/a=a", "risks/b.yaml/c=x"], "risks/b.yaml: it is a directory, not a file"),
            (
                vec!["version=1", "channels/a=a", "risks/b.yaml/c=x", "risks/b.yaml=x"],
                "risks/b.yaml: it is in it twice, with different types, not a file",
            ),
            (
                vec!["version=1", "channels/a=a", "risks/b.yaml=x", "risks/b.yaml@"],
                "risks/b.yaml: it is in it twice, with different types, not a file",
            ),
        ] {
            assert_eq!(read(&[&files]), Err(want.to_owned()), "{files:?}");
        }
        // A link elsewhere is nobody's concern, and an upper layer may put a file where one was.
        assert_eq!(read(&[&["g/version=1", "g/channels/a=a", "usr/share/channels@"]]).unwrap().len(), 2);
        let base: &[&str] = &["version=1", "channels/a.yaml=a", "risks/b.yaml@", "risks/c.yaml/d=x"];
        let above: &[&str] = &["risks/b.yaml=b", "risks/.wh.c.yaml"];
        assert_eq!(read(&[base, above]).unwrap(), ["channels/a.yaml=a", "risks/b.yaml=b", "version=1"]);
        // What lower layers have below a directory stays.
        assert!(read(&[&["version=1", "channels/a.yaml=a"], &["channels/b.yaml=b"]]).unwrap().len() == 3);
    }

    #[test]
    fn more_than_the_limit_is_refused() {
        let mut builder = tar::Builder::new(Vec::new());
        let mut header = tar::Header::new_gnu();
        header.set_size(6);
        for name in ["version", "channels/a.yaml"] {
            builder.append_data(&mut header, name, &b"123456"[..]).unwrap();
        }
        let bytes = builder.into_inner().unwrap();
        assert!(Changes::read(&mut bytes.as_slice(), 1 << 20, &FileFilter::graph_data(12), None).is_ok());
        assert_eq!(
            Changes::read(&mut bytes.as_slice(), 1 << 20, &FileFilter::graph_data(11), None),
            Err(ArchiveDefect::TooLarge(11))
        );
    }

    #[test]
    fn names_that_are_kept_are_bounded() {
        let names = |count: usize, length: usize| {
            let mut builder = tar::Builder::new(Vec::new());
            for number in 0..count {
                let name = format!("{}/.wh.{number}", "d".repeat(length));
                let mut header = tar::Header::new_gnu();
                header.set_size(0);
                builder.append_data(&mut header, name, &b""[..]).unwrap();
            }
            let bytes = builder.into_inner().unwrap();
            Changes::read(&mut bytes.as_slice(), 1 << 30, &FileFilter::graph_data(12), None)
        };
        assert!(names(2_000, 4_000).is_ok());
        let excess = ArchiveDefect::TooMany("bytes in names", NAMES_BYTES as u64);
        assert_eq!(names(2_200, 4_000), Err(excess));
    }
}
