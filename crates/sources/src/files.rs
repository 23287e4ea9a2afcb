//! The files a person names: a file, a directory, or `-` for standard input.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Write as _};
use std::path::{Path, PathBuf};

/// Directories below a named one that are followed; more is a loop of links or a mistake.
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
            FilesError::Io { path, .. } | FilesError::Empty { path } | FilesError::TooDeep { path } => path,
        }
    }
}

/// Writes a file so that a reader, or whoever comes back after a crash, finds the old content or the new one.
pub fn write_atomically(path: &Path, content: &[u8]) -> io::Result<()> {
    let directory = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
    let mut file = tempfile::NamedTempFile::new_in(directory)?;
    file.write_all(content)?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}

/// One stream of documents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// Standard input.
    Stdin,
    /// A file.
    File(PathBuf),
}

impl Input {
    /// The name it goes by in messages.
    pub fn name(&self) -> String {
        match self {
            Input::Stdin => "-".to_owned(),
            Input::File(path) => path.display().to_string(),
        }
    }

    /// What is the same for two names of one file.
    pub fn identity(&self) -> PathBuf {
        match self {
            Input::Stdin => PathBuf::from("-"),
            Input::File(path) => fs::canonicalize(path).unwrap_or_else(|_| path.clone()),
        }
    }

    /// Opens it for reading.
    pub fn open(&self) -> Result<Box<dyn BufRead>, FilesError> {
        match self {
            Input::Stdin => Ok(Box::new(BufReader::with_capacity(1 << 16, io::stdin()))),
            Input::File(path) => match File::open(path) {
                Ok(file) => Ok(Box::new(BufReader::with_capacity(1 << 16, file))),
                Err(error) => Err(FilesError::Io { path: path.clone(), error }),
            },
        }
    }
}

/// What a named path stands for: `-` is standard input, a file is itself whatever its name, a directory is every
/// manifest below it in the order of their names. What cannot be read stands in its place among the others.
pub fn inputs(path: &Path) -> Vec<Result<Input, FilesError>> {
    if path.as_os_str() == "-" {
        return vec![Ok(Input::Stdin)];
    }
    let mut inputs = Vec::new();
    match metadata(path) {
        Ok(found) if found.is_dir() => {
            manifests_below(path, 0, &mut inputs);
            if inputs.is_empty() {
                inputs.push(Err(FilesError::Empty { path: path.to_owned() }));
            }
        }
        Ok(_) => inputs.push(Ok(Input::File(path.to_owned()))),
        Err(error) => inputs.push(Err(error)),
    }
    inputs
}

fn metadata(path: &Path) -> Result<fs::Metadata, FilesError> {
    fs::metadata(path).map_err(|error| FilesError::Io { path: path.to_owned(), error })
}

fn manifests_below(directory: &Path, depth: usize, inputs: &mut Vec<Result<Input, FilesError>>) {
    if depth > MAX_DEPTH {
        inputs.push(Err(FilesError::TooDeep { path: directory.to_owned() }));
        return;
    }
    let failed = |error| FilesError::Io { path: directory.to_owned(), error };
    let listed: Result<Vec<PathBuf>, io::Error> =
        fs::read_dir(directory).and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect());
    let mut paths = match listed {
        Ok(paths) => paths,
        Err(error) => return inputs.push(Err(failed(error))),
    };
    paths.sort();
    for path in paths {
        let hidden = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        let manifest = || {
            path.extension().is_some_and(|extension| ["yaml", "yml", "json"].iter().any(|known| extension == *known))
        };
        if hidden {
            continue;
        }
        match metadata(&path) {
            Ok(found) if found.is_dir() => manifests_below(&path, depth + 1, inputs),
            Ok(_) if manifest() => inputs.push(Ok(Input::File(path))),
            // A link to nowhere matters if it has the name of a manifest.
            Err(error) if manifest() => inputs.push(Err(error)),
            _ => {}
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

    #[cfg(unix)]
    #[test]
    fn a_link_to_nowhere_does_not_hide_its_neighbours() {
        let root = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("/nonexistent", root.path().join("a.yaml")).unwrap();
        std::os::unix::fs::symlink("/nonexistent", root.path().join("notes")).unwrap();
        fs::write(root.path().join("b.yaml"), "").unwrap();
        let found: Vec<bool> = inputs(root.path()).iter().map(Result::is_ok).collect();
        assert_eq!(found, [false, true]);
    }
}
