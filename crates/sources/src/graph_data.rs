//! Graph-data: a directory, the same directory at a git revision, an archive of one, or one answer in a file.
//!
//! Whatever holds it, the module `collect` says which files are read, and what refuses the revision.

mod archive;
mod collect;
mod git;
mod memory;
mod risk_tests;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use clearway_core::Limits;
use clearway_graph::Inputs;

use crate::files::confined::{ConfinedDirectory, DirectoryError, Pauses, READS, ReadHooks, read_settled_by};
pub(crate) use archive::{ANSWER_BYTES, NAMES_BYTES, OpenedArchive, UNPACKED_FACTOR};
pub use archive::{ArchiveError, Content, archive, content};
pub(crate) use collect::{BYTES as GRAPH_DATA_BYTES, ENTRIES, FILES, NAME_BYTES as PATH_BYTES};
use collect::{BYTES, Excess};
pub(crate) use git::open_git_directory;
pub use git::{GIT_CAPS, git_revision};
pub(crate) use memory::{EntryClass, MemoryTree, StoredEntry, classify_entry, directory_in_place_of_file, insert};
pub use risk_tests::{TestFile, risk_tests};

/// The directories of graph-data whose files are read, besides `version`; of each, how many levels below it the files are.
pub const DIRECTORIES: [(&str, usize); 6] =
    [("channels", 1), ("blocked-edges", 1), ("risks", 1), ("releases", 1), ("raw", 1), (SIGNATURES, 3)];

/// The directory of signatures: `signatures/ALGORITHM/DIGEST/NAME` (schema 1.2.0).
const SIGNATURES: &str = "signatures";

/// How many of the last names of a path are its name within graph-data, wherever that is: `version`, a file directly in
/// one of the directories, a signature. Nothing for files of no interest.
fn name_parts(path: &[&[u8]]) -> Option<usize> {
    let is = |name: &[u8], word: &str| name == word.as_bytes();
    match path {
        [.., signatures, _, _, _] if is(signatures, SIGNATURES) => Some(4),
        [.., directory, _] if DIRECTORIES.iter().any(|(known, levels)| *levels == 1 && is(directory, known)) => Some(2),
        [.., last] if is(last, "version") => Some(1),
        _ => None,
    }
}

/// Why graph-data cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum GraphDataError {
    /// A file or directory cannot be read.
    #[error("{}: {error}", path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// The directory is none of graph-data.
    #[error("{}: not graph-data: it has no `version` file and no `channels` directory", path.display())]
    NotGraphData {
        /// Which.
        path: PathBuf,
    },
    /// A file, or all of them together, is too large.
    #[error("{}: larger than {limit} bytes", path.display())]
    TooLarge {
        /// Which.
        path: PathBuf,
        /// The limit.
        limit: u64,
    },
    /// There are too many files.
    #[error("{}: more than {limit} files", path.display())]
    TooManyFiles {
        /// Which directory.
        path: PathBuf,
        /// The limit.
        limit: usize,
    },
    /// There are too many names.
    #[error("{}: more than {limit} files and directories (the cap `entries`)", path.display())]
    TooManyEntries {
        /// Which directory.
        path: PathBuf,
        /// The limit.
        limit: usize,
    },
    /// The directory does not come to rest.
    #[error(
        "{}: it changed during each of {READS} reads; publish with one rename, see docs/publishing.md",
        path.display()
    )]
    Changing {
        /// Which.
        path: PathBuf,
    },
    /// The file is no graph-data.
    #[error("{}: {error}", path.display())]
    Archive {
        /// Which.
        path: PathBuf,
        /// What is wrong with it.
        error: ArchiveError,
    },
    /// The file is neither graph-data nor an answer.
    #[error("{}: neither an archive of graph-data nor an answer of an update service", path.display())]
    Unknown {
        /// Which.
        path: PathBuf,
    },
    /// The revision cannot be had from git.
    #[error("{} at {revision}: {why}", path.display())]
    Git {
        /// The directory.
        path: PathBuf,
        /// The revision.
        revision: String,
        /// What git said.
        why: String,
    },
}

/// Reads the files of a graph-data directory. One that changes meanwhile is read again, a few times.
pub fn directory(path: &Path, limits: &Limits) -> Result<Inputs, GraphDataError> {
    read_directory(path, limits, &mut Pauses)
}

/// The same for a directory in another one, which is not left: a name that is a link out of it is refused.
pub(crate) fn directory_within(root: &Path, name: &str, limits: &Limits) -> Result<Inputs, GraphDataError> {
    let open = || ConfinedDirectory::open(root)?.enter(Path::new(name));
    read_opened(&root.join(name), open, limits, &mut Pauses)
}

fn read_directory(path: &Path, limits: &Limits, hooks: &mut dyn ReadHooks) -> Result<Inputs, GraphDataError> {
    read_opened(path, || ConfinedDirectory::open(path), limits, hooks)
}

fn read_opened(
    path: &Path,
    open: impl Fn() -> io::Result<ConfinedDirectory>,
    limits: &Limits,
    hooks: &mut dyn ReadHooks,
) -> Result<Inputs, GraphDataError> {
    let bytes = limits.file_bytes.min(BYTES);
    let path = || path.to_owned();
    let read = read_settled_by(open, hooks, |directory| {
        if !collect::is_graph_data(directory) {
            return Err(GraphDataError::NotGraphData { path: path() });
        }
        collect::collect(directory, bytes).map_err(|excess| match excess {
            Excess::Bytes(limit) => GraphDataError::TooLarge { path: path(), limit },
            Excess::Files(limit) => GraphDataError::TooManyFiles { path: path(), limit },
            Excess::Entries(limit) => GraphDataError::TooManyEntries { path: path(), limit },
        })
    });
    read.map_err(|error| match error {
        DirectoryError::Open(error) => GraphDataError::Io { path: path(), error },
        DirectoryError::Changing => GraphDataError::Changing { path: path() },
        DirectoryError::Read(error) => error,
    })
}

/// Reads a file by what is in it: an archive of graph-data, or an answer of an update service.
pub fn file(path: &Path, limits: &Limits) -> Result<Content, GraphDataError> {
    let stream = fs::File::open(path).map_err(|error| GraphDataError::Io { path: path.to_owned(), error })?;
    self::stream(path, stream, limits)
}

/// Reads a stream, such as standard input, as [`file()`] does; it goes by some name in messages.
pub fn stream(name: &Path, stream: impl io::Read, limits: &Limits) -> Result<Content, GraphDataError> {
    content(stream, limits).map_err(|error| match error {
        ArchiveError::NotAnArchive => GraphDataError::Unknown { path: name.to_owned() },
        error => GraphDataError::Archive { path: name.to_owned(), error },
    })
}

#[cfg(test)]
mod tests;
