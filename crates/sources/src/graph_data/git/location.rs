//! Whether the repository that git found for a directory is the one that the directory stands in.
//!
//! Git takes the first `.git` at or above a directory, and follows it wherever it leads when it is a link or a file. Who makes a
//! directory could so have git read another repository of the reader. A link must stay in its directory. A file must, too,
//! or lead to a repository that knows of it: as one of its working trees, or as a submodule of the repository around it.

use std::io;
use std::path::{Path, PathBuf};

use super::repository::{cannot, is_absent, shown};
use crate::files::confined::read_regular_file;

/// Bytes of a file that names a path.
const PATH: u64 = 8192;

/// Why the repository at `git_dir`, as git found it for a directory, is not read, in words.
pub(super) fn check(directory: &Path, git_dir: &Path) -> Result<(), String> {
    let canonical = |path: &Path| path.canonicalize().map_err(|error| cannot(path, &error));
    let (directory, git_dir) = (canonical(directory)?, canonical(git_dir)?);
    for (above, here) in directory.ancestors().enumerate() {
        // A repository without a working tree, or the inside of one that has it.
        if here == git_dir {
            return Ok(());
        }
        match leads_to(here)? {
            Some(found) if found.git_dir == git_dir => {
                let is_submodule = || enclosing(&directory, above).any(|outer| git_dir.starts_with(outer));
                let belongs = git_dir.starts_with(here) || found.is_known || is_submodule();
                return if belongs { Ok(()) } else { Err(found.foreign()) };
            }
            // Git passes over what is no repository.
            _ => {}
        }
    }
    let (git_dir, directory) = (shown(&git_dir), shown(&directory));
    Err(format!("git reads {git_dir}, to which no .git at or above {directory} leads; unset GIT_DIR"))
}

/// What the `.git` of a directory leads to.
struct Found {
    dot_git: PathBuf,
    git_dir: PathBuf,
    is_link: bool,
    /// Whether it is there, or names the `.git` as one of its working trees.
    is_known: bool,
}

impl Found {
    fn foreign(&self) -> String {
        let (dot_git, git_dir) = (shown(&self.dot_git), shown(&self.git_dir));
        if self.is_link {
            format!("{dot_git} is a link that leads out of its directory, to {git_dir}; name that repository itself")
        } else {
            format!(
                "{dot_git} names {git_dir}, which does not name it as a working tree and is not that of a submodule; \
                 name that repository itself, or run `git worktree repair` there"
            )
        }
    }
}

/// What the `.git` of a directory leads to; nothing if there is none.
fn leads_to(directory: &Path) -> Result<Option<Found>, String> {
    let dot_git = directory.join(".git");
    let found = match dot_git.symlink_metadata() {
        Err(error) if is_absent(&error) => return Ok(None),
        Err(error) => return Err(cannot(&dot_git, &error)),
        Ok(found) => found.file_type(),
    };
    let target = match dot_git.canonicalize() {
        Err(error) if is_absent(&error) => return Ok(None),
        Err(error) => return Err(cannot(&dot_git, &error)),
        Ok(target) => target,
    };
    if target.is_dir() {
        let is_link = found.is_symlink();
        return Ok(Some(Found { dot_git, git_dir: target, is_link, is_known: !is_link }));
    }
    let Some(git_dir) = named(&target, directory, "gitdir:")? else { return Ok(None) };
    // The file in the repository names the `.git` back. A link in its place would not be that `.git`.
    let back = named(&git_dir.join("gitdir"), &git_dir, "")?;
    let is_known = !found.is_symlink() && back.is_some_and(|back| back == dot_git);
    Ok(Some(Found { dot_git, git_dir, is_link: found.is_symlink(), is_known }))
}

/// The path that a file names after a word; nothing if there is no such file, or it does not name what exists.
fn named(file: &Path, base: &Path, word: &str) -> Result<Option<PathBuf>, String> {
    let content = match read_regular_file(file, PATH) {
        Err(error) if is_absent(&error) => return Ok(None),
        Err(error) => return Err(cannot(file, &error)),
        Ok(content) => content,
    };
    let text = str::from_utf8(&content).map_err(|_| format!("{} is not UTF-8", shown(file)))?;
    let Some(path) = text.strip_prefix(word) else { return Ok(None) };
    match base.join(path.trim()).canonicalize() {
        Ok(path) => Ok(Some(path)),
        Err(error) if is_absent(&error) || error.kind() == io::ErrorKind::InvalidInput => Ok(None),
        Err(error) => Err(cannot(file, &error)),
    }
}

/// Where the repositories above a directory keep those of their submodules.
fn enclosing(directory: &Path, levels: usize) -> impl Iterator<Item = PathBuf> {
    let outer = directory.ancestors().skip(levels.saturating_add(1));
    let known = outer.filter_map(|outer| leads_to(outer).ok().flatten()).filter(|found| found.is_known);
    known.map(|found| found.git_dir.join("modules"))
}
