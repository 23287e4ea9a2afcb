//! The files of a CRD bundle, from where a person names it: a file, standard input, a directory, a directory or file at a
//! revision of a git repository, or an image in a registry.
//!
//! Only YAML and JSON files are read. Links are followed inside the directory only, and what exists but cannot be read is a
//! diagnostic: a bundle with a file missing would be judged as if the file had been removed.

use std::fmt;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use clearway_core::{Diagnostic, Place, Severity};

use crate::files::confined::{ConfinedDirectory, read_regular_file};
use crate::files::file_tree::{FileTree, ReadError, Target, join, printable, resolve, split_last};
use crate::graph_data::open_git_directory;
use crate::oci::{Image, OciError, ReferenceError, Registry, manifest_files};

/// Bytes of all files of one bundle. The largest known, of OpenShift, has 12 MB.
pub const BUNDLE_BYTES: u64 = 256 << 20;
/// Files and directories of one bundle.
pub const BUNDLE_FILES: usize = 20_000;
/// Directories inside each other.
const DEPTH: usize = 32;
/// The code of a file that could not be read.
const UNREADABLE: &str = "IN006";

/// Where a bundle is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BundleSource {
    /// Standard input.
    Stdin,
    /// A file or directory.
    Path(PathBuf),
    /// A file or directory at a revision, as `git show` names it: `v1.2.0:config/crd/standard`. The repository is that of the
    /// working directory.
    Git {
        /// The revision.
        revision: String,
        /// The path from the root of the repository; empty for the root itself.
        path: String,
    },
    /// An image or artifact in a registry.
    Image(Image),
}

/// Files of a bundle.
#[derive(Debug, Clone, Default)]
pub struct BundleFiles {
    /// Names for messages, and contents, in order of names.
    pub files: Vec<(String, Vec<u8>)>,
    /// What exists but could not be read.
    pub problems: Vec<Diagnostic>,
}

/// Why nothing of a bundle can be read.
#[derive(Debug, thiserror::Error)]
pub enum BundleFilesError {
    /// The file or directory.
    #[error("cannot read {name}: {why}")]
    Unreadable {
        /// As it was named.
        name: String,
        /// Why.
        why: String,
    },
    /// There are too many files, or they are too large.
    #[error("{name} has more than {limit} {what}")]
    TooLarge {
        /// As it was named.
        name: String,
        /// How many are read.
        limit: u64,
        /// Of what.
        what: &'static str,
    },
    /// There are no YAML or JSON files.
    #[error("{name} has no YAML or JSON files")]
    Empty {
        /// As it was named.
        name: String,
    },
    /// The name of an image.
    #[error(transparent)]
    Name(#[from] ReferenceError),
    /// The registry.
    #[error(transparent)]
    Registry(#[from] OciError),
}

impl FromStr for BundleSource {
    type Err = BundleFilesError;

    /// What exists as a file is meant as one, even if it could be a revision too.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "-" {
            return Ok(BundleSource::Stdin);
        }
        if text.starts_with("oci://") {
            return Ok(BundleSource::Image(text.parse()?));
        }
        match text.split_once(':') {
            Some((revision, path)) if !revision.is_empty() && !Path::new(text).exists() => {
                Ok(BundleSource::Git { revision: revision.to_owned(), path: path.trim_matches('/').to_owned() })
            }
            _ => Ok(BundleSource::Path(PathBuf::from(text))),
        }
    }
}

impl fmt::Display for BundleSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BundleSource::Stdin => f.write_str("standard input"),
            BundleSource::Path(path) => path.display().fmt(f),
            BundleSource::Git { revision, path } => write!(f, "{revision}:{path}"),
            BundleSource::Image(image) => image.fmt(f),
        }
    }
}

impl BundleSource {
    /// Reads the files. Only images need the registry.
    pub async fn read(&self, registry: &Registry) -> Result<BundleFiles, BundleFilesError> {
        let name = self.to_string();
        let unreadable = |why: String| BundleFilesError::Unreadable { name: name.clone(), why };
        let files = match self {
            BundleSource::Stdin => {
                let mut content = Vec::new();
                let read = std::io::stdin().lock().take(BUNDLE_BYTES + 1).read_to_end(&mut content);
                read.map_err(|error| unreadable(error.to_string()))?;
                if content.len() as u64 > BUNDLE_BYTES {
                    return Err(BundleFilesError::TooLarge { name, limit: BUNDLE_BYTES, what: "bytes" });
                }
                BundleFiles { files: vec![("-".to_owned(), content)], problems: Vec::new() }
            }
            BundleSource::Path(path) if path.is_dir() => {
                let mut tree = ConfinedDirectory::open(path).map_err(|error| unreadable(error.to_string()))?;
                collect(&mut tree, &name)?
            }
            BundleSource::Path(path) => {
                let content = read_regular_file(path, BUNDLE_BYTES).map_err(|error| unreadable(error.to_string()))?;
                BundleFiles { files: vec![(name.clone(), content)], problems: Vec::new() }
            }
            BundleSource::Git { revision, path } => read_revision(revision, path, &name)?,
            BundleSource::Image(image) => {
                let (files, _) = manifest_files(registry, image, BUNDLE_BYTES).await?;
                BundleFiles { files, problems: Vec::new() }
            }
        };
        if files.files.is_empty() && files.problems.is_empty() {
            return Err(BundleFilesError::Empty { name });
        }
        Ok(files)
    }
}

fn read_revision(revision: &str, path: &str, name: &str) -> Result<BundleFiles, BundleFilesError> {
    let open = |path: &str| open_git_directory(Path::new("."), &format!("{revision}:{path}"));
    let unreadable = |why: String| BundleFilesError::Unreadable { name: name.to_owned(), why };
    match open(path) {
        Ok(mut tree) => collect(&mut tree, name),
        // Perhaps it is a file: then it is in the directory above.
        Err(why) if is_manifest_name(path.as_bytes()) => {
            let (directory, file) = split_last(path.as_bytes());
            let mut tree = open(&printable(directory)).map_err(|_| unreadable(why))?;
            let content = tree.read(file, BUNDLE_BYTES).map_err(|error| unreadable(error_text(error)))?;
            Ok(BundleFiles { files: vec![(name.to_owned(), content)], problems: Vec::new() })
        }
        Err(why) => Err(unreadable(why)),
    }
}

/// Whether a file is YAML or JSON by its name. The files of kustomize only name others.
pub(crate) fn is_manifest_name(path: &[u8]) -> bool {
    let kustomize = [&b"kustomization.yaml"[..], b"kustomization.yml"].contains(&split_last(path).1);
    !kustomize && [&b".yaml"[..], b".yml", b".json"].iter().any(|end| path.ends_with(end))
}

fn error_text(error: ReadError) -> String {
    match error {
        ReadError::TooLarge => format!("it has more than {BUNDLE_BYTES} bytes"),
        ReadError::Refused(why) => why,
    }
}

/// Reads every YAML and JSON file of a tree, in order of paths.
fn collect(tree: &mut impl FileTree, name: &str) -> Result<BundleFiles, BundleFilesError> {
    let mut found = BundleFiles::default();
    let mut left = BUNDLE_BYTES;
    let mut entries = 0;
    // Directories that are still to be read, with how deep they are; the last is the next.
    let mut directories = vec![(Vec::new(), 0)];
    let too_large = |limit: u64, what| BundleFilesError::TooLarge { name: name.to_owned(), limit, what };
    while let Some((directory, depth)) = directories.pop() {
        let shown = |path: &[u8]| {
            if path.is_empty() {
                name.to_owned()
            } else {
                format!("{}/{}", name.trim_end_matches('/'), printable(path))
            }
        };
        let names = match tree.names(&directory) {
            Ok(names) => names,
            Err(why) => {
                found.problems.push(unreadable_entry(&shown(&directory), &why));
                continue;
            }
        };
        let mut below = Vec::new();
        for entry in names {
            entries += 1;
            if entries > BUNDLE_FILES {
                return Err(too_large(BUNDLE_FILES as u64, "files"));
            }
            let path = join(&directory, &entry);
            let is_manifest = is_manifest_name(&entry);
            match resolve(tree, &directory, &entry) {
                // What begins with a dot belongs to a tool: `.git`, `.github`.
                Ok(Target::Directory(_)) if entry.starts_with(b".") => {}
                Ok(Target::Directory(_)) if depth == DEPTH => {
                    return Err(too_large(DEPTH as u64, "nested directories"));
                }
                // A directory behind a link is read where it is.
                Ok(Target::Directory(real)) if real == path => below.push((path, depth + 1)),
                Ok(Target::File(real)) if is_manifest => match tree.read(&real, left) {
                    Ok(content) => {
                        left = left.saturating_sub(content.len() as u64);
                        found.files.push((shown(&path), content));
                    }
                    Err(ReadError::TooLarge) => return Err(too_large(BUNDLE_BYTES, "bytes")),
                    Err(ReadError::Refused(why)) => found.problems.push(unreadable_entry(&shown(&path), &why)),
                },
                Err(refusal) if is_manifest => {
                    found.problems.push(unreadable_entry(&shown(&path), &refusal.to_string()));
                }
                Ok(_) | Err(_) => {}
            }
        }
        directories.extend(below.into_iter().rev());
    }
    found.files.sort();
    Ok(found)
}

fn unreadable_entry(path: &str, why: &str) -> Diagnostic {
    Diagnostic::new(UNREADABLE, Severity::Error, format!("cannot read {path}: {why}"))
        .at(Place { file: Some(path.to_owned()), ..Place::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_exists_is_a_path_and_the_rest_is_told_by_its_form() {
        for (text, want) in [
            ("-", "standard input"),
            ("src", "src"),
            ("missing/dir", "missing/dir"),
            ("v1.2.0:config/crd/", "v1.2.0:config/crd"),
            ("HEAD:", "HEAD:"),
            ("oci://example.com/crds:v1", "oci://example.com/crds:v1"),
        ] {
            assert_eq!(text.parse::<BundleSource>().unwrap().to_string(), want);
        }
        assert!(matches!("src".parse(), Ok(BundleSource::Path(_))));
        assert!(matches!("HEAD:".parse(), Ok(BundleSource::Git { .. })));
        assert!("oci://".parse::<BundleSource>().is_err());
    }

    #[test]
    fn files_are_read_by_name_and_links_stay_inside() {
        let root = tempfile::tempdir().unwrap();
        let write = |name: &str| {
            let path = root.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "a: 1\n").unwrap();
        };
        for name in ["b.yaml", "a/c.yml", "a/d.json", "README.md", ".git/config.yaml"] {
            write(name);
        }
        std::os::unix::fs::symlink("/etc/hostname", root.path().join("out.yaml")).unwrap();
        let mut tree = ConfinedDirectory::open(root.path()).unwrap();
        let found = collect(&mut tree, "x").unwrap();
        let names: Vec<&str> = found.files.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["x/a/c.yml", "x/a/d.json", "x/b.yaml"]);
        assert_eq!(found.problems.len(), 1, "{:?}", found.problems);
        assert!(found.problems[0].message.starts_with("cannot read x/out.yaml: "), "{:?}", found.problems);
    }
}
