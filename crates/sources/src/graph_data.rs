//! Graph-data: a directory, the same directory at a git revision, an archive of one, or one answer in a file.

mod archive;

use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clearway_core::Limits;
use clearway_graph::Inputs;

pub use archive::{ArchiveError, Content, archive, content};
pub(crate) use archive::{Opened, damaged};

/// The directories of graph-data whose files are read, besides `version` and `raw/metadata.json`.
pub(crate) const DIRECTORIES: [&str; 5] = ["channels", "blocked-edges", "risks", "releases", "raw"];

/// The directory of signatures: `signatures/ALGORITHM/DIGEST/NAME` (schema 1.2.0).
const SIGNATURES: &str = "signatures";

/// How many of the last parts of a path are its name within graph-data, wherever that is: `version`, a file directly in
/// one of the directories, a signature. Nothing for files of no interest.
pub(crate) fn name_parts(path: &[&str]) -> Option<usize> {
    match path {
        [.., SIGNATURES, _, _, _] => Some(4),
        [.., directory, _] if DIRECTORIES.contains(directory) => Some(2),
        [.., "version"] => Some(1),
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
    #[error("{}: no graph-data: there is no `version` file and no `channels` directory in it", path.display())]
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

/// Reads the files of a graph-data directory.
pub fn directory(path: &Path, limits: &Limits) -> Result<Inputs, GraphDataError> {
    if !path.join("version").is_file() && !path.join("channels").is_dir() {
        // What is not there at all is said in the system's own words.
        fs::metadata(path).map_err(|error| GraphDataError::Io { path: path.to_owned(), error })?;
        return Err(GraphDataError::NotGraphData { path: path.to_owned() });
    }
    let mut gathered = Gathered { inputs: Inputs::new(), bytes: 0, limit: limits.file_bytes };
    if path.join("version").is_file() {
        gathered.file(path, &path.join("version"))?;
    }
    for directory in DIRECTORIES {
        gathered.below(path, &path.join(directory), 1)?;
    }
    gathered.below(path, &path.join(SIGNATURES), 3)?;
    Ok(gathered.inputs)
}

/// Reads the files that a graph-data directory had at a revision of the git repository it stands in.
pub fn git_revision(path: &Path, revision: &str, limits: &Limits) -> Result<Inputs, GraphDataError> {
    let failed = |why: String| GraphDataError::Git { path: path.to_owned(), revision: revision.to_owned(), why };
    if revision.starts_with('-') {
        return Err(failed("a revision does not begin with a dash".to_owned()));
    }
    let mut git = Command::new("git")
        .arg("-C")
        .arg(path)
        .args(["archive", "--format=tar", revision, "."])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| failed(format!("git cannot be started: {error}")))?;
    let unpacked = git.stdout.take().map_or(Err(ArchiveError::NoGraphData), |stream| archive(stream, limits));
    let output = git.wait_with_output().map_err(|error| failed(error.to_string()))?;
    // Who stops reading because of a limit makes git fail too, and knows better why.
    match unpacked {
        Err(error @ ArchiveError::TooLarge { .. }) => Err(failed(error.to_string())),
        _ if !output.status.success() => Err(failed(String::from_utf8_lossy(&output.stderr).trim().to_owned())),
        unpacked => unpacked.map_err(|error| failed(error.to_string())),
    }
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

/// Files as they come together, within a limit for all of them.
struct Gathered {
    inputs: Inputs,
    bytes: u64,
    limit: u64,
}

impl Gathered {
    /// The files this many levels below a directory; none if it is not there.
    fn below(&mut self, root: &Path, directory: &Path, levels: usize) -> Result<(), GraphDataError> {
        if !directory.is_dir() {
            return Ok(());
        }
        let failed = |error| GraphDataError::Io { path: directory.to_owned(), error };
        for entry in fs::read_dir(directory).map_err(failed)? {
            let entry = entry.map_err(failed)?.path();
            // Links are followed: a mounted ConfigMap is made of them.
            match levels {
                1 if entry.is_file() => self.file(root, &entry)?,
                1 => {}
                _ => self.below(root, &entry, levels - 1)?,
            }
        }
        Ok(())
    }

    fn file(&mut self, root: &Path, path: &Path) -> Result<(), GraphDataError> {
        let failed = |error| GraphDataError::Io { path: path.to_owned(), error };
        let file = fs::File::open(path).map_err(failed)?;
        let name = path.strip_prefix(root).unwrap_or(path).to_string_lossy().replace('\\', "/");
        self.take(name, file, path)
    }

    fn take(&mut self, name: String, source: impl io::Read, path: &Path) -> Result<(), GraphDataError> {
        let left = self.limit.saturating_sub(self.bytes);
        let mut content = Vec::new();
        let read = source.take(left.saturating_add(1)).read_to_end(&mut content);
        read.map_err(|error| GraphDataError::Io { path: path.to_owned(), error })?;
        self.bytes += content.len() as u64;
        if self.bytes > self.limit {
            return Err(GraphDataError::TooLarge { path: path.to_owned(), limit: self.limit });
        }
        self.inputs.insert(name, content);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (name, text) in [
            ("version", "1.1.0\n"),
            ("channels/stable.yaml", "name: stable\nversions: [1.0.0]\n"),
            ("channels/old/away.yaml", "x"),
            ("README.md", "x"),
        ] {
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        root
    }

    fn names(inputs: &Inputs) -> Vec<String> {
        inputs.iter().map(|(name, _)| name.to_owned()).collect()
    }

    #[test]
    fn a_directory_is_its_files_and_nothing_else() {
        let root = sample();
        let inputs = directory(root.path(), &Limits::default()).unwrap();
        assert_eq!(names(&inputs), ["channels/stable.yaml", "version"]);
    }

    #[test]
    fn what_is_no_graph_data_missing_or_too_large_is_said() {
        let root = sample();
        let error = |path: PathBuf, limits: &Limits| directory(&path, limits).unwrap_err().to_string();
        assert!(error(root.path().join("channels"), &Limits::default()).contains("no graph-data"));
        assert!(error(root.path().join("nope"), &Limits::default()).contains("No such file"));
        let small = Limits { file_bytes: 8, ..Limits::default() };
        assert!(error(root.path().to_owned(), &small).ends_with("larger than 8 bytes"));
    }

    #[test]
    fn a_git_revision_is_the_directory_as_it_was() {
        let root = sample();
        let git = |arguments: &[&str]| {
            let done = Command::new("git").arg("-C").arg(root.path()).args(arguments).output().unwrap();
            assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        };
        git(&["init", "-q"]);
        git(&["add", "-A"]);
        git(&["-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-q", "-m", "first"]);
        let before = directory(root.path(), &Limits::default()).unwrap();
        fs::write(root.path().join("channels/stable.yaml"), "name: stable\nversions: []\n").unwrap();
        assert_eq!(git_revision(root.path(), "HEAD", &Limits::default()).unwrap(), before);
        let error = git_revision(root.path(), "nowhere", &Limits::default()).unwrap_err().to_string();
        assert!(error.contains("at nowhere: "), "{error}");
        assert!(git_revision(root.path(), "--output=x", &Limits::default()).is_err());
    }
}
