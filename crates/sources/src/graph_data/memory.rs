//! The files of an archive or an image, as far as they can be graph-data; and where in it graph-data is.
//!
//! An archive is read once, from its beginning to its end, before anybody knows where graph-data stands in it. So what is
//! kept is what could be graph-data by its last names; everything else costs nothing but time.

use std::collections::BTreeMap;

use clearway_graph::Inputs;

use super::collect::{self, Excess};
use super::{ArchiveError, DIRECTORIES, SIGNATURES, name_parts};
use crate::files::file_tree::{FileTree, Node, ReadError, join, names_of, printable};

/// What stands at a path of an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum StoredEntry {
    /// A file with its content.
    File(Vec<u8>),
    /// A directory in place of a file.
    Directory,
    /// Something that is not read, in words: `a symbolic link`.
    Other(&'static str),
}

/// Whether an entry of an archive is kept, by its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EntryClass {
    /// It cannot be graph-data.
    None,
    /// It is one of the files of graph-data, or stands in the place of one.
    File,
    /// It is one of the directories of graph-data: of interest if it is something else.
    Directory,
}

/// What an entry of an archive is to graph-data that stands anywhere in it.
pub(crate) fn classify_entry(path: &[u8]) -> EntryClass {
    let names: Vec<&[u8]> = names_of(path).collect();
    if name_parts(&names).is_some() {
        return EntryClass::File;
    }
    match names.as_slice() {
        [.., last] if is_directory_name(last) => EntryClass::Directory,
        [.., directory, _] | [.., directory, _, _] if *directory == SIGNATURES.as_bytes() => EntryClass::Directory,
        _ => EntryClass::None,
    }
}

/// The directory on the way to a path that stands where a file of graph-data would: `risks/x.yaml` of `risks/x.yaml/a`.
pub(crate) fn directory_in_place_of_file(path: &[u8]) -> Option<&[u8]> {
    let names: Vec<&[u8]> = names_of(path).collect();
    let mut end = 0;
    for (at, name) in names.iter().enumerate() {
        end += name.len() + usize::from(at > 0);
        let above = names.get(..=at).filter(|above| above.len() < names.len());
        if above.and_then(name_parts).is_some_and(|parts| parts > 1) {
            return path.get(..end);
        }
    }
    None
}

fn is_directory_name(name: &[u8]) -> bool {
    DIRECTORIES.iter().any(|(directory, _)| directory.as_bytes() == name)
}

/// The entries of one archive or image that can be graph-data, by path.
#[derive(Debug, Default)]
pub(crate) struct MemoryTree {
    entries: BTreeMap<Vec<u8>, StoredEntry>,
    /// The directory of graph-data, with a slash behind it unless it is the root.
    root: Vec<u8>,
}

impl MemoryTree {
    pub(crate) fn new(entries: BTreeMap<Vec<u8>, StoredEntry>) -> Self {
        MemoryTree { entries, root: Vec::new() }
    }

    /// Reads the graph-data in it, which is the outermost directory that holds `version` and `channels`.
    pub(crate) fn graph_data(mut self, bytes: u64) -> Result<Inputs, ArchiveError> {
        self.root = self.find_root()?;
        collect::collect(&mut self, bytes).map_err(|excess| match excess {
            Excess::Bytes(limit) => ArchiveError::TooLarge { limit },
            Excess::Files(limit) => ArchiveError::TooMany { what: "files", limit: limit as u64 },
            Excess::Entries(limit) => ArchiveError::TooMany { what: "files and directories", limit: limit as u64 },
        })
    }

    fn find_root(&self) -> Result<Vec<u8>, ArchiveError> {
        let mut roots: Vec<&[u8]> = self
            .entries
            .iter()
            .filter(|(_, stored)| **stored != StoredEntry::Directory)
            .filter_map(|(path, _)| path.strip_suffix(b"version"))
            .filter(|root| root.is_empty() || root.ends_with(b"/"))
            .filter(|root| {
                let channels = [*root, b"channels"].concat();
                self.node_at(&channels) != Node::Missing
            })
            .collect();
        roots.sort_by_key(|root| root.len());
        let Some((outermost, others)) = roots.split_first() else { return Err(ArchiveError::NoGraphData) };
        match others.iter().find(|other| !other.starts_with(outermost)) {
            Some(other) => Err(ArchiveError::SeveralGraphData { one: printable(outermost), other: printable(other) }),
            None => Ok(outermost.to_vec()),
        }
    }

    /// What is at a path from the root of the archive. Directories are where something is below them.
    fn node_at(&self, path: &[u8]) -> Node {
        match self.entries.get(path) {
            Some(StoredEntry::File(_)) => Node::File,
            Some(StoredEntry::Directory) => Node::Directory,
            Some(StoredEntry::Other(what)) => Node::Other(what),
            None if path.is_empty() => Node::Directory,
            None => {
                let below = [path, b"/"].concat();
                let next = self.entries.range(below.clone()..).next();
                if next.is_some_and(|(next, _)| next.starts_with(&below)) { Node::Directory } else { Node::Missing }
            }
        }
    }

    fn full(&self, path: &[u8]) -> Vec<u8> {
        [self.root.as_slice(), path].concat()
    }
}

impl FileTree for MemoryTree {
    fn node(&mut self, path: &[u8]) -> Result<Node, String> {
        let full = self.full(path);
        Ok(self.node_at(full.strip_suffix(b"/").unwrap_or(&full)))
    }

    fn names(&mut self, directory: &[u8]) -> Result<Vec<Vec<u8>>, String> {
        let prefix = self.full(&join(directory, b""));
        let mut names: Vec<Vec<u8>> = Vec::new();
        let mut from = prefix.clone();
        // From one name to the next, without a look at what is below it.
        while let Some(rest) = self.entries.range(from..).next().and_then(|(path, _)| path.strip_prefix(&*prefix)) {
            let name = rest.split(|byte| *byte == b'/').next().unwrap_or_default().to_vec();
            // The first path that is neither this name nor below it.
            from = [prefix.as_slice(), &name, &[if rest.len() > name.len() { b'/' + 1 } else { 0 }]].concat();
            names.push(name);
        }
        names.sort_unstable();
        names.dedup();
        Ok(names)
    }

    fn read(&mut self, file: &[u8], limit: u64) -> Result<Vec<u8>, ReadError> {
        let full = self.full(file);
        match self.entries.get_mut(&full) {
            Some(StoredEntry::File(content)) if content.len() as u64 > limit => Err(ReadError::TooLarge),
            // Each file is read once: an archive has no links.
            Some(StoredEntry::File(content)) => Ok(std::mem::take(content)),
            _ => Err(ReadError::Refused("it is not a file".to_owned())),
        }
    }
}

/// Puts something at a path. Two different things at one path are neither of them: who unpacks the archive may get one or
/// the other.
pub(crate) fn insert(entries: &mut BTreeMap<Vec<u8>, StoredEntry>, path: Vec<u8>, stored: StoredEntry) {
    use std::mem::discriminant;
    let is_other = entries.get(&path).is_some_and(|before| discriminant(before) != discriminant(&stored));
    entries.insert(path, if is_other { StoredEntry::Other("in it twice, with different types") } else { stored });
}
