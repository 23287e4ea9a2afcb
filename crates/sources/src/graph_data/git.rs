//! Graph-data at a revision of a git repository, read object by object.
//!
//! `git archive` would leave out what a repository marks with `export-ignore` and rewrite what it marks with `export-subst`,
//! and its output has to be read to the end. `git cat-file --batch` knows no attributes, filters or hooks, and gives exactly
//! the objects that are asked for. The repository may be a stranger's: nothing that its configuration names is run, and
//! nothing is fetched from anywhere, and no other repository is read in its place.

mod location;
mod process;
mod repository;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use clearway_core::Limits;
use clearway_graph::Inputs;

use super::GraphDataError;
use super::collect::{BYTES, Excess, collect, is_graph_data};
use crate::files::file_tree::{FileTree, Node, ReadError, TARGET_BYTES, names_of, printable, split_last};
use process::{GitFailure, GitProcess, MEMORY, Object, ObjectKind};

/// What git, and what it says about directories, may take.
#[derive(Debug, Clone, Copy)]
struct GitLimits {
    /// How long git may take in all.
    patience: Duration,
    /// Bytes of memory that git may map.
    memory: u64,
    /// Bytes of one tree object; each entry has some forty.
    tree_bytes: u64,
    /// Entries of all directories that are looked at.
    entries: usize,
}

const LIMITS: GitLimits =
    GitLimits { patience: Duration::from_mins(2), memory: MEMORY, tree_bytes: 16 << 20, entries: 200_000 };

/// The caps on revisions in git, as documentation shows them.
pub const GIT_CAPS: &[(&str, u64)] = &[
    ("Bytes of one directory (tree object)", LIMITS.tree_bytes),
    ("Entries of all directories that are looked at", LIMITS.entries as u64),
    ("Seconds for all of it", LIMITS.patience.as_secs()),
    ("Bytes of memory that git may map (Linux)", LIMITS.memory),
    ("Files among the references and objects of the repository", repository::FILES as u64),
];

/// Reads the files that a graph-data directory had at a revision of the git repository it stands in.
pub fn git_revision(path: &Path, revision: &str, limits: &Limits) -> Result<Inputs, GraphDataError> {
    read_revision(path, revision, limits, LIMITS)
}

fn read_revision(path: &Path, revision: &str, limits: &Limits, of_git: GitLimits) -> Result<Inputs, GraphDataError> {
    let failed = |why: String| GraphDataError::Git { path: path.to_owned(), revision: revision.to_owned(), why };
    if revision.starts_with('-') {
        return Err(failed("a revision cannot begin with a dash".to_owned()));
    }
    if revision.chars().any(char::is_control) {
        return Err(failed("a revision cannot contain control characters".to_owned()));
    }
    let prefix = process::prefix(path, of_git.patience).map_err(failed)?;
    let mut tree = GitTree::open(path, revision, &prefix, of_git).map_err(failed)?;
    if !is_graph_data(&mut tree) {
        let none = "not graph-data: it has no `version` file and no `channels` directory at this revision".to_owned();
        return Err(failed(tree.failure.take().unwrap_or(none)));
    }
    match (collect(&mut tree, limits.file_bytes.min(BYTES)), tree.failure.take()) {
        (Err(Excess::Bytes(limit)), _) => Err(failed(format!("larger than {limit} bytes"))),
        (Err(Excess::Files(limit)), _) => Err(failed(format!("more than {limit} files"))),
        (Err(Excess::Entries(limit)), _) => Err(failed(too_many_entries(limit))),
        // What git itself failed at says more than what follows from it.
        (Ok(_), Some(why)) => Err(failed(why)),
        (Ok(inputs), None) => Ok(inputs),
    }
}

fn too_many_entries(limit: usize) -> String {
    format!("its directories have more than {limit} entries")
}

/// A directory at a revision, named as `REVISION:PATH`, of the repository that `path` is in.
pub(crate) fn open_git_directory(path: &Path, name: &str) -> Result<impl FileTree + use<>, String> {
    if name.starts_with('-') || name.chars().any(char::is_control) {
        return Err("a revision cannot begin with a dash or contain control characters".to_owned());
    }
    GitTree::open(path, name, b"", LIMITS)
}

/// A directory as the objects of a repository have it.
struct GitTree {
    git: GitProcess,
    /// Directories that were looked at, by path.
    directories: BTreeMap<Vec<u8>, BTreeMap<Vec<u8>, Entry>>,
    entries: usize,
    limits: GitLimits,
    /// Why git gives nothing any more.
    failure: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    kind: EntryKind,
    object: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EntryKind {
    File,
    Directory,
    Link,
    Other(&'static str),
}

impl GitTree {
    /// The directory at `prefix` of the repository that `path` stands in.
    fn open(path: &Path, revision: &str, prefix: &[u8], limits: GitLimits) -> Result<Self, String> {
        let mut git = GitProcess::start(path, limits.patience, limits.memory)?;
        let mut tree = |name: &str| {
            git.object(name, limits.tree_bytes).map_err(|failure| match failure {
                GitFailure::TooLarge => format!("a directory in it is larger than {} bytes", limits.tree_bytes),
                GitFailure::Ended(why) => why,
            })
        };
        let is_tree = |object: &Object| object.kind == ObjectKind::Tree;
        let (mut root, prefix) = match tree(&format!("{revision}^{{tree}}"))?.filter(is_tree) {
            Some(root) => (root, prefix),
            // A directory of a revision, `HEAD:graph-data`, is meant as it is.
            None => match tree(revision)?.filter(is_tree) {
                Some(root) => (root, &b""[..]),
                None => return Err("git does not know this revision".to_owned()),
            },
        };
        for name in names_of(prefix) {
            let below = match entries(&root.content, root.id_bytes)?.remove(name) {
                Some(Entry { kind: EntryKind::Directory, object }) => tree(&object)?,
                _ => None,
            };
            let Some(below) = below else {
                return Err(format!("the directory `{}` does not exist at this revision", printable(prefix)));
            };
            root = below;
        }
        let root = entries(&root.content, root.id_bytes)?;
        let entries = root.len();
        if entries > limits.entries {
            return Err(too_many_entries(limits.entries));
        }
        Ok(GitTree { git, directories: BTreeMap::from([(Vec::new(), root)]), entries, limits, failure: None })
    }

    /// The content of an object of a kind. After a failure, git is not asked again.
    fn object(&mut self, id: &str, kind: ObjectKind, limit: u64) -> Result<Object, ReadError> {
        let refused = |why: &str| Err(ReadError::Refused(why.to_owned()));
        if let Some(why) = &self.failure {
            return refused(why);
        }
        match self.git.object(id, limit) {
            Ok(Some(object)) if object.kind == kind => Ok(object),
            Ok(Some(_)) => refused("its object type differs from the type in its directory"),
            Ok(None) => refused("its object is missing from the repository"),
            Err(GitFailure::TooLarge) => {
                self.failure = Some(format!("an object of it is larger than {limit} bytes"));
                Err(ReadError::TooLarge)
            }
            Err(GitFailure::Ended(why)) => {
                self.failure = Some(why.clone());
                Err(ReadError::Refused(why))
            }
        }
    }

    /// The same for what stands between a file and the root.
    fn small_object(&mut self, id: &str, kind: ObjectKind, limit: u64) -> Result<Object, String> {
        self.object(id, kind, limit).map_err(|error| match error {
            ReadError::TooLarge => format!("it is larger than {limit} bytes"),
            ReadError::Refused(why) => why,
        })
    }

    /// The entries of a directory, which was looked up before.
    fn directory(&mut self, path: &[u8]) -> Result<Option<&BTreeMap<Vec<u8>, Entry>>, String> {
        if !self.directories.contains_key(path) {
            let entry = match self.entry(path)? {
                Some(entry) if entry.kind == EntryKind::Directory => entry,
                _ => return Ok(None),
            };
            let tree = self.small_object(&entry.object, ObjectKind::Tree, self.limits.tree_bytes)?;
            let found = entries(&tree.content, tree.id_bytes).inspect_err(|why| self.failure = Some(why.clone()))?;
            self.entries = self.entries.saturating_add(found.len());
            if self.entries > self.limits.entries {
                let why = too_many_entries(self.limits.entries);
                self.failure = Some(why.clone());
                return Err(why);
            }
            self.directories.insert(path.to_vec(), found);
        }
        Ok(self.directories.get(path))
    }

    fn entry(&mut self, path: &[u8]) -> Result<Option<Entry>, String> {
        let (above, name) = split_last(path);
        Ok(self.directory(above)?.and_then(|entries| entries.get(name)).cloned())
    }
}

impl FileTree for GitTree {
    fn node(&mut self, path: &[u8]) -> Result<Node, String> {
        if path.is_empty() {
            return Ok(Node::Directory);
        }
        let Some(entry) = self.entry(path)? else { return Ok(Node::Missing) };
        Ok(match entry.kind {
            EntryKind::File => Node::File,
            EntryKind::Directory => Node::Directory,
            EntryKind::Link => Node::Link(self.small_object(&entry.object, ObjectKind::Blob, TARGET_BYTES)?.content),
            EntryKind::Other(what) => Node::Other(what),
        })
    }

    fn names(&mut self, directory: &[u8]) -> Result<Vec<Vec<u8>>, String> {
        let entries = self.directory(directory)?;
        Ok(entries.map(|entries| entries.keys().cloned().collect()).unwrap_or_default())
    }

    fn read(&mut self, file: &[u8], limit: u64) -> Result<Vec<u8>, ReadError> {
        let entry = self.entry(file).map_err(ReadError::Refused)?;
        let Some(entry) = entry.filter(|entry| entry.kind == EntryKind::File) else {
            return Err(ReadError::Refused("it is not a file".to_owned()));
        };
        Ok(self.object(&entry.object, ObjectKind::Blob, limit)?.content)
    }
}

/// The entries of a tree object: for each a mode in octal digits, a space, a name, a zero byte, and the id of an object.
/// What is left over may be a block or a risk, so it refuses the whole.
fn entries(mut content: &[u8], id_bytes: usize) -> Result<BTreeMap<Vec<u8>, Entry>, String> {
    let mut entries = BTreeMap::new();
    while !content.is_empty() {
        let (mode, name, id, rest) = next_entry(content, id_bytes).ok_or("a directory object is damaged")?;
        content = rest;
        let kind = match mode {
            b"40000" | b"040000" => EntryKind::Directory,
            b"120000" => EntryKind::Link,
            b"160000" => EntryKind::Other("a submodule"),
            mode if mode.starts_with(b"100") => EntryKind::File,
            _ => EntryKind::Other("of an unsupported type"),
        };
        let object = id.iter().fold(String::new(), |mut hex, byte| {
            // Writing to a text cannot fail.
            let _ = write!(hex, "{byte:02x}");
            hex
        });
        let twice = entries.contains_key(name);
        let kind = if twice { EntryKind::Other("twice in its directory") } else { kind };
        entries.insert(name.to_vec(), Entry { kind, object });
    }
    Ok(entries)
}

type Parts<'c> = (&'c [u8], &'c [u8], &'c [u8], &'c [u8]);

fn next_entry(content: &[u8], id_bytes: usize) -> Option<Parts<'_>> {
    let space = content.iter().position(|byte| *byte == b' ')?;
    let (mode, rest) = (content.get(..space)?, content.get(space + 1..)?);
    let zero = rest.iter().position(|byte| *byte == 0)?;
    let (name, rest) = (rest.get(..zero)?, rest.get(zero + 1..)?);
    Some((mode, name, rest.get(..id_bytes)?, rest.get(id_bytes..)?))
}

#[cfg(test)]
mod tests;
