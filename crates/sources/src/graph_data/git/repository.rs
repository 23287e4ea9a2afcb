//! Whether a repository is made of its own files only.
//!
//! Git reads objects of other repositories where `objects/info/alternates` names them, and follows symbolic links to
//! wherever they lead. Who makes a repository could so have a report say what another repository of the reader contains.

use std::fs::{self, FileType};
use std::io;
use std::path::{Path, PathBuf};

use crate::files::confined::read_regular_file;
use crate::files::file_tree::printable;

/// Files and directories among the references and objects that are looked at. Git packs them from a few thousand on.
pub(super) const FILES: usize = 1_000_000;
/// Bytes of the path in the file `commondir`.
const PATH: u64 = 4096;
/// Levels of directories below the references and objects.
const LEVELS: usize = 64;

/// Why a repository is not read, in words; `git_dir` is the absolute path that git gives for it.
pub(super) fn check(git_dir: &Path) -> Result<(), String> {
    Check::new(git_dir)?.run(FILES)
}

/// The directories of one repository.
struct Check {
    /// Of this working tree.
    git_dir: PathBuf,
    /// Of all working trees.
    common_dir: PathBuf,
}

impl Check {
    fn new(git_dir: &Path) -> Result<Self, String> {
        let git_dir = git_dir.canonicalize().map_err(|error| cannot(git_dir, &error))?;
        let file = git_dir.join("commondir");
        let common_dir = match read_regular_file(&file, PATH) {
            Ok(path) => {
                let path =
                    str::from_utf8(path.trim_ascii_end()).map_err(|_| format!("{} is not UTF-8", shown(&file)))?;
                git_dir.join(path).canonicalize().map_err(|error| cannot(&file, &error))?
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => git_dir.clone(),
            Err(error) => return Err(cannot(&file, &error)),
        };
        // The directory of another working tree is `worktrees/NAME` in the common one.
        if common_dir != git_dir && git_dir.parent() != Some(&common_dir.join("worktrees")) {
            let (file, other) = (shown(&file), shown(&common_dir));
            return Err(format!("{file} names {other}, whose working tree this is not; remove the file"));
        }
        Ok(Check { git_dir, common_dir })
    }

    fn run(&self, mut files: usize) -> Result<(), String> {
        for name in ["alternates", "http-alternates"] {
            let path = self.common_dir.join("objects/info").join(name);
            match path.symlink_metadata() {
                Err(error) if is_absent(&error) => {}
                Err(error) => return Err(cannot(&path, &error)),
                Ok(_) => {
                    return Err(format!(
                        "{} names another repository to read objects from; \
                         run `git repack -a -d` in the repository and remove the file",
                        shown(&path)
                    ));
                }
            }
        }
        for directory in [&self.git_dir, &self.common_dir] {
            for name in ["HEAD", "packed-refs", "refs", "reftable", "objects"] {
                let path = directory.join(name);
                match path.symlink_metadata() {
                    Err(error) if is_absent(&error) => {}
                    Err(error) => return Err(cannot(&path, &error)),
                    Ok(found) => self.look(&path, found.file_type(), LEVELS, &mut files)?,
                }
            }
            if self.git_dir == self.common_dir {
                break;
            }
        }
        Ok(())
    }

    /// Looks at a file, and at what is below a directory.
    fn look(&self, path: &Path, found: FileType, levels: usize, files: &mut usize) -> Result<(), String> {
        let many = || format!("{} contains more files than are checked; run `git gc` there", shown(&self.common_dir));
        *files = files.checked_sub(1).ok_or_else(many)?;
        if found.is_symlink() {
            return match path.canonicalize() {
                Ok(target) if target.starts_with(&self.common_dir) => Ok(()),
                Ok(_) => Err(format!("{} is a link that leads out of the repository; remove it", shown(path))),
                // There is nothing to be read.
                Err(error) if is_absent(&error) => Ok(()),
                Err(error) => Err(cannot(path, &error)),
            };
        }
        if !found.is_dir() {
            return Ok(());
        }
        let levels = levels.checked_sub(1).ok_or_else(many)?;
        for entry in fs::read_dir(path).map_err(|error| cannot(path, &error))? {
            let entry = entry.map_err(|error| cannot(path, &error))?;
            let found = entry.file_type().map_err(|error| cannot(&entry.path(), &error))?;
            self.look(&entry.path(), found, levels, files)?;
        }
        Ok(())
    }
}

pub(super) fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

pub(super) fn shown(path: &Path) -> String {
    printable(path.as_os_str().as_encoded_bytes())
}

pub(super) fn cannot(path: &Path, error: &io::Error) -> String {
    format!("cannot check {}: {error}", shown(path))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn repository() -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for directory in ["objects/info", "refs/heads"] {
            fs::create_dir_all(root.path().join(directory)).unwrap();
        }
        fs::write(root.path().join("HEAD"), "ref: refs/heads/main\n").unwrap();
        root
    }

    #[test]
    fn links_that_stay_inside_or_lead_nowhere_are_left_alone() {
        let root = repository();
        fs::write(root.path().join("refs/heads/main"), "0\n").unwrap();
        fs::remove_file(root.path().join("HEAD")).unwrap();
        symlink("refs/heads/main", root.path().join("HEAD")).unwrap();
        symlink("gone", root.path().join("refs/heads/other")).unwrap();
        assert_eq!(check(root.path()), Ok(()));
    }

    #[test]
    fn links_that_lead_out_are_named() {
        let other = tempfile::tempdir().unwrap();
        for name in
            ["HEAD", "packed-refs", "refs", "refs/heads/x", "refs/heads", "objects", "objects/ab", "objects/pack"]
        {
            let root = repository();
            let link = root.path().join(name);
            let _ = fs::remove_file(&link);
            let _ = fs::remove_dir_all(&link);
            symlink(other.path(), &link).unwrap();
            let error = check(root.path()).unwrap_err();
            assert!(error.contains(name) && error.contains("leads out of the repository"), "{name}: {error}");
        }
    }

    #[test]
    fn only_a_working_tree_has_a_common_directory() {
        let (root, other) = (repository(), repository());
        fs::write(root.path().join("commondir"), format!("{}\n", other.path().display())).unwrap();
        let error = check(root.path()).unwrap_err();
        assert!(error.contains("commondir") && error.contains("whose working tree this is not"), "{error}");
        let tree = other.path().join("worktrees/x");
        fs::create_dir_all(&tree).unwrap();
        fs::write(tree.join("commondir"), "../..\n").unwrap();
        assert_eq!(check(&tree), Ok(()));
        symlink(root.path(), other.path().join("refs/heads/x")).unwrap();
        assert!(check(&tree).unwrap_err().contains("refs/heads/x"));
    }

    #[test]
    fn more_files_than_are_checked_refuse_a_repository() {
        let root = repository();
        // HEAD, refs, refs/heads, objects, objects/info
        assert_eq!(Check::new(root.path()).unwrap().run(5), Ok(()));
        assert!(Check::new(root.path()).unwrap().run(4).unwrap_err().contains("more files than are checked"));
    }
}
