//! The files a person names: a file, a directory, or `-` for standard input.
//!
//! What a person names is opened as it is. What is found below a named directory may be a stranger's: links are followed
//! inside the directory only ([`confined`]), and what is no regular file is not opened.

pub(crate) mod archive;
pub mod confined;
pub(crate) mod file_tree;

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use confined::ConfinedDirectory;
use file_tree::{FileTree as _, Refusal, Target, join, resolve};

/// Directories below a named one that are followed; more is a mistake.
const MAX_DEPTH: usize = 64;

/// Why a file is not read.
#[derive(Debug, thiserror::Error)]
pub enum FilesError {
    /// It does not exist or may not be read.
    #[error("cannot be read: {error}")]
    Io {
        /// What was named, or what was found below it.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// It is below a named directory, and not read.
    #[error("cannot be read: {why}")]
    Refused {
        /// What was found.
        path: PathBuf,
        /// Why, in words.
        why: String,
    },
    /// A directory without one manifest.
    #[error("no .yaml, .yml or .json file in this directory")]
    Empty {
        /// The directory.
        path: PathBuf,
    },
    /// Directories nested without end.
    #[error("more than {MAX_DEPTH} directories deep")]
    TooDeep {
        /// Where it was given up.
        path: PathBuf,
    },
}

impl FilesError {
    /// What is not read.
    pub fn path(&self) -> &Path {
        match self {
            FilesError::Io { path, .. }
            | FilesError::Refused { path, .. }
            | FilesError::Empty { path }
            | FilesError::TooDeep { path } => path,
        }
    }
}

/// Writes a file so that a reader, or whoever comes back after a crash, finds the old content or the new one.
pub fn write_atomically(path: &Path, content: &[u8]) -> io::Result<()> {
    write_parts_atomically(path, &[content])
}

/// The same of content in parts, which is not put together for it.
pub(crate) fn write_parts_atomically(path: &Path, parts: &[&[u8]]) -> io::Result<()> {
    let directory = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
    let mut file = tempfile::NamedTempFile::new_in(directory)?;
    for part in parts {
        file.write_all(part)?;
    }
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}

/// One stream of documents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// Standard input.
    Stdin,
    /// A file that was named.
    File(PathBuf),
    /// A file below a directory that was named.
    Below {
        /// The directory.
        directory: PathBuf,
        /// The file, as it was found.
        path: PathBuf,
        /// Where it is below the directory, after links were followed.
        place: PathBuf,
    },
}

impl Input {
    /// The name it goes by in messages.
    pub fn name(&self) -> String {
        match self {
            Input::Stdin => "-".to_owned(),
            Input::File(path) | Input::Below { path, .. } => path.display().to_string(),
        }
    }

    /// What is the same for two names of one file.
    pub fn identity(&self) -> PathBuf {
        match self {
            Input::Stdin => PathBuf::from("-"),
            Input::File(path) | Input::Below { path, .. } => fs::canonicalize(path).unwrap_or_else(|_| path.clone()),
        }
    }

    /// Opens it for reading.
    pub fn open(&self) -> Result<Box<dyn BufRead>, FilesError> {
        let opened = match self {
            Input::Stdin => return Ok(Box::new(BufReader::with_capacity(1 << 16, io::stdin()))),
            Input::File(path) => File::open(path),
            Input::Below { directory, place, .. } => {
                ConfinedDirectory::open(directory).and_then(|mut root| root.open_file(place.as_os_str().as_bytes()))
            }
        };
        match (opened, self) {
            (Ok(file), _) => Ok(Box::new(BufReader::with_capacity(1 << 16, file))),
            (Err(error), Input::File(path) | Input::Below { path, .. }) => {
                Err(FilesError::Io { path: path.clone(), error })
            }
            (Err(error), Input::Stdin) => Err(FilesError::Io { path: PathBuf::from("-"), error }),
        }
    }
}

/// What a named path stands for: `-` is standard input, a file is itself whatever its name, a directory is every
/// manifest below it in the order of their names. What cannot be read stands in its place among the others.
pub fn inputs(path: &Path) -> Vec<Result<Input, FilesError>> {
    if path.as_os_str() == "-" {
        return vec![Ok(Input::Stdin)];
    }
    let failed = |error| FilesError::Io { path: path.to_owned(), error };
    let mut found = Vec::new();
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => match ConfinedDirectory::open(path) {
            Ok(root) => {
                let mut listing = Listing { named: path, root, inputs: Vec::new(), known: BTreeSet::new() };
                listing.below(b"", b"", 0);
                found = listing.inputs;
                if found.is_empty() {
                    found.push(Err(FilesError::Empty { path: path.to_owned() }));
                }
            }
            Err(error) => found.push(Err(failed(error))),
        },
        Ok(_) => found.push(Ok(Input::File(path.to_owned()))),
        Err(error) => found.push(Err(failed(error))),
    }
    found
}

/// The manifests below a directory, as they are found.
struct Listing<'n> {
    named: &'n Path,
    root: ConfinedDirectory,
    inputs: Vec<Result<Input, FilesError>>,
    /// Directories that were looked into; a link may lead back to one.
    known: BTreeSet<Vec<u8>>,
}

impl Listing<'_> {
    /// Adds what is below a directory; `shown` is its path as a person goes there.
    fn below(&mut self, directory: &[u8], shown: &[u8], depth: usize) {
        let path = |name: &[u8]| self.named.join(OsStr::from_bytes(name));
        if !self.known.insert(directory.to_vec()) {
            return;
        }
        if depth > MAX_DEPTH {
            return self.inputs.push(Err(FilesError::TooDeep { path: path(shown) }));
        }
        let names = match self.root.names(directory) {
            Ok(names) => names,
            Err(why) => return self.inputs.push(Err(FilesError::Refused { path: path(shown), why })),
        };
        for name in names.iter().filter(|name| !name.starts_with(b".")) {
            let extension = Path::new(OsStr::from_bytes(name)).extension();
            let is_manifest =
                extension.is_some_and(|found| ["yaml", "yml", "json"].iter().any(|known| found == *known));
            let shown = join(shown, name);
            let path = self.named.join(OsStr::from_bytes(&shown));
            match resolve(&mut self.root, directory, name) {
                Ok(Target::Directory(below)) => self.below(&below, &shown, depth + 1),
                _ if !is_manifest => {}
                Ok(Target::File(place)) => {
                    let place = OsStr::from_bytes(&place).into();
                    self.inputs.push(Ok(Input::Below { directory: self.named.to_owned(), path, place }));
                }
                Ok(Target::Missing) => {
                    self.inputs.push(Err(FilesError::Io { path, error: io::ErrorKind::NotFound.into() }));
                }
                Err(refusal) => {
                    let help = if matches!(refusal, Refusal::Outside(_)) { "; name the file itself" } else { "" };
                    self.inputs.push(Err(FilesError::Refused { path, why: format!("{refusal}{help}") }));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_its_manifests_in_order_and_a_file_is_itself() {
        let root = tempfile::tempdir().unwrap();
        for name in ["b.yaml", "a/z.json", "a/notes.txt", "a/.hidden.yaml", ".git/x.yaml", "c.yml"] {
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        let names: Vec<String> = [root.path(), Path::new("-"), &root.path().join("a/notes.txt")]
            .into_iter()
            .flat_map(inputs)
            .map(|input| input.unwrap().name().replace(root.path().to_str().unwrap(), ""))
            .collect();
        assert_eq!(names, ["/a/z.json", "/b.yaml", "/c.yml", "-", "/a/notes.txt"]);
    }

    #[test]
    fn what_is_not_there_and_what_is_empty_is_said() {
        let root = tempfile::tempdir().unwrap();
        let said = |path: &Path| match inputs(path).pop() {
            Some(Err(error)) => (error.path().to_owned(), error.to_string()),
            other => panic!("{other:?}"),
        };
        let (path, empty) = said(root.path());
        assert_eq!((path.as_path(), empty.as_str()), (root.path(), "no .yaml, .yml or .json file in this directory"));
        let (path, missing) = said(&root.path().join("nope"));
        assert!(path.ends_with("nope") && missing.starts_with("cannot be read: No such file"), "{missing}");
    }

    #[test]
    fn what_is_odd_below_a_directory_is_refused_and_does_not_hide_its_neighbours() {
        use rustix::fs::{CWD, FileType, Mode, mknodat};
        use std::os::unix::fs::symlink;
        let place = tempfile::tempdir().unwrap();
        fs::write(place.path().join("outside.yaml"), "x").unwrap();
        let root = place.path().join("root");
        fs::create_dir_all(root.join("sub")).unwrap();
        symlink("/nonexistent", root.join("a.yaml")).unwrap();
        symlink("gone", root.join("b.yaml")).unwrap();
        symlink("../outside.yaml", root.join("c.yaml")).unwrap();
        mknodat(CWD, root.join("d.yaml"), FileType::Fifo, Mode::RUSR, 0).unwrap();
        fs::write(root.join("e.yaml"), "e").unwrap();
        symlink("../e.yaml", root.join("sub/f.yaml")).unwrap();
        // Two ways back up, and odd things without the name of a manifest.
        symlink("..", root.join("sub/up")).unwrap();
        symlink("../sub", root.join("sub/again")).unwrap();
        symlink("/nonexistent", root.join("notes")).unwrap();
        symlink("/", root.join("everything")).unwrap();
        let told = |input: Result<Input, FilesError>| match input {
            Ok(input) => {
                let mut text = String::new();
                std::io::Read::read_to_string(&mut input.open().unwrap(), &mut text).unwrap();
                (PathBuf::from(input.name()), text)
            }
            Err(error) => (error.path().to_owned(), error.to_string()),
        };
        let mut found = inputs(&root).into_iter().map(told);
        for (name, want) in [
            ("a.yaml", "cannot be read: it links to `/nonexistent`, outside the directory"),
            ("b.yaml", "cannot be read: it links to `gone`, which does not exist"),
            ("c.yaml", "outside the directory; name the file itself"),
            ("d.yaml", "cannot be read: it is a named pipe, not a file"),
            ("e.yaml", "e"),
            ("sub/f.yaml", "e"),
        ] {
            let (path, text) = found.next().unwrap();
            assert!(path == root.join(name) && text.contains(want), "{name}: {text}");
        }
        assert_eq!(found.next(), None);
    }
}
