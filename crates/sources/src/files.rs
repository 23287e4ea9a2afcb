//! The files a person names: a file, a directory, or `-` for standard input.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

/// Directories below a named one that are followed; more is a loop of links or a mistake.
const MAX_DEPTH: usize = 64;

/// Why a named file is not read.
#[derive(Debug, thiserror::Error)]
pub enum FilesError {
    /// It does not exist or may not be read.
    #[error("{}: {error}", path.display())]
    Io {
        /// What was named, or what was found below it.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// A directory without one manifest.
    #[error("{}: no .yaml, .yml or .json file in this directory", path.display())]
    Empty {
        /// The directory.
        path: PathBuf,
    },
    /// Directories nested without end.
    #[error("{}: more than {MAX_DEPTH} directories deep", path.display())]
    TooDeep {
        /// Where it was given up.
        path: PathBuf,
    },
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

/// What the named paths stand for: `-` is standard input, a file is itself whatever its name, a directory is every
/// manifest below it in the order of their names.
pub fn inputs(paths: &[PathBuf]) -> Result<Vec<Input>, FilesError> {
    let mut inputs = Vec::new();
    for path in paths {
        if path.as_os_str() == "-" {
            inputs.push(Input::Stdin);
        } else if metadata(path)?.is_dir() {
            let before = inputs.len();
            manifests_below(path, 0, &mut inputs)?;
            if inputs.len() == before {
                return Err(FilesError::Empty { path: path.clone() });
            }
        } else {
            inputs.push(Input::File(path.clone()));
        }
    }
    Ok(inputs)
}

fn metadata(path: &Path) -> Result<fs::Metadata, FilesError> {
    fs::metadata(path).map_err(|error| FilesError::Io { path: path.to_owned(), error })
}

fn manifests_below(directory: &Path, depth: usize, inputs: &mut Vec<Input>) -> Result<(), FilesError> {
    if depth > MAX_DEPTH {
        return Err(FilesError::TooDeep { path: directory.to_owned() });
    }
    let failed = |error| FilesError::Io { path: directory.to_owned(), error };
    let mut paths: Vec<PathBuf> = fs::read_dir(directory)
        .map_err(failed)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<_, _>>()
        .map_err(failed)?;
    paths.sort();
    for path in paths {
        let hidden = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        if hidden {
            continue;
        }
        if metadata(&path)?.is_dir() {
            manifests_below(&path, depth + 1, inputs)?;
        } else if path
            .extension()
            .is_some_and(|extension| ["yaml", "yml", "json"].iter().any(|known| extension == *known))
        {
            inputs.push(Input::File(path));
        }
    }
    Ok(())
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
        let given = [root.path().to_owned(), PathBuf::from("-"), root.path().join("a/notes.txt")];
        let names: Vec<String> = inputs(&given)
            .unwrap()
            .iter()
            .map(|input| input.name().replace(root.path().to_str().unwrap(), ""))
            .collect();
        assert_eq!(names, ["/a/z.json", "/b.yaml", "/c.yml", "-", "/a/notes.txt"]);
    }

    #[test]
    fn what_is_not_there_and_what_is_empty_is_said() {
        let root = tempfile::tempdir().unwrap();
        let empty = inputs(&[root.path().to_owned()]).unwrap_err().to_string();
        assert!(empty.ends_with("no .yaml, .yml or .json file in this directory"), "{empty}");
        let missing = inputs(&[root.path().join("nope")]).unwrap_err().to_string();
        assert!(missing.contains("nope: No such file"), "{missing}");
    }
}
