//! A release that is a directory: read within limits, and written whole.

use std::fs;
use std::path::{Path, PathBuf};

use clearway_release::{Files, MANIFESTS, METADATA, ReleaseLimits, SIGNATURES, digest};

use super::error::ReleaseError;
use super::{FetchedRelease, Reference};
use crate::files::confined::{ConfinedDirectory, DirectoryError, Pauses, ReadHooks, read_settled};
use crate::files::file_tree::{FileTree as _, Node, ReadError, Target, join, printable, resolve};

/// Directories below `release-manifests` that are followed. No manifest is there, but the digest covers them.
const MAX_DEPTH: usize = 16;

/// Reads the files of a directory that holds `release-manifests`. One that changes meanwhile is read again, a few times.
pub fn directory(path: &Path, limits: &ReleaseLimits) -> Result<FetchedRelease, ReleaseError> {
    read_directory(path, limits, &mut Pauses)
}

fn read_directory(
    path: &Path,
    limits: &ReleaseLimits,
    hooks: &mut dyn ReadHooks,
) -> Result<FetchedRelease, ReleaseError> {
    let read = read_settled(path, hooks, |directory| {
        let at = path.join(MANIFESTS).display().to_string();
        let root = match resolve(directory, b"", MANIFESTS.as_bytes()) {
            Ok(Target::Directory(root)) => root,
            Ok(Target::Missing) => {
                let inside = resolve(directory, b"", METADATA.as_bytes());
                return Err(not_a_release(path, matches!(inside, Ok(Target::File(_)))));
            }
            Ok(Target::File(_)) => return Err(not_a_release(path, false)),
            Err(refusal) => return Err(ReleaseError::File { at, why: refusal.to_string() }),
        };
        let mut gathered = Gathered { directory, files: Files::new(), directories: 0, bytes: 0, limits, path };
        gathered.below(&root, "", 0)?;
        Ok(gathered.files)
    });
    let files = read.map_err(|error| match error {
        DirectoryError::Open(error) => ReleaseError::Io { path: path.to_owned(), error },
        DirectoryError::Changing => ReleaseError::Changing { path: path.to_owned() },
        DirectoryError::Read(error) => error,
    })?;
    let digest = digest(&files);
    Ok(FetchedRelease { reference: Reference::Directory(path.to_owned()), digest, chosen: None, files })
}

fn not_a_release(path: &Path, is_inside: bool) -> ReleaseError {
    let why = if is_inside {
        "this is its release-manifests directory; name the parent directory"
    } else {
        "it has no directory release-manifests; to make a release from plain manifests, run `clearway release pack`"
    };
    ReleaseError::NotARelease { at: path.display().to_string(), why: why.to_owned() }
}

struct Gathered<'a> {
    directory: &'a mut ConfinedDirectory,
    files: Files,
    directories: usize,
    bytes: u64,
    limits: &'a ReleaseLimits,
    path: &'a Path,
}

impl Gathered<'_> {
    fn below(&mut self, directory: &[u8], prefix: &str, depth: usize) -> Result<(), ReleaseError> {
        let refused = |name: &str, why: String| {
            let at = self.path.join(MANIFESTS).join(prefix).join(name).display().to_string();
            Err(ReleaseError::File { at, why })
        };
        let names = match self.directory.names(directory) {
            Ok(names) => names,
            Err(why) => return refused("", why),
        };
        for name in names {
            let path = join(directory, &name);
            let shown = printable(&name);
            // Such a name would make the list of the digest mean two things.
            let is_plain = |name: &&str| !name.contains('\\') && !name.chars().any(char::is_control);
            let Some(name) = str::from_utf8(&name).ok().filter(is_plain) else {
                return refused(&shown, "its name is not plain text".to_owned());
            };
            let full = format!("{prefix}{name}");
            match self.directory.node(&path) {
                Ok(Node::Directory) if depth >= MAX_DEPTH => {
                    return refused(name, "directories are nested too deeply".to_owned());
                }
                Ok(Node::Directory) => {
                    self.directories += 1;
                    self.count()?;
                    self.below(&path, &format!("{full}/"), depth + 1)?;
                }
                Ok(Node::File) => self.file(&path, full)?,
                // The digest is of files, and what a link leads to is not among them.
                Ok(Node::Link(_)) => return refused(name, "it is a symbolic link".to_owned()),
                Ok(Node::Other(what)) => return refused(name, format!("it is {what}")),
                Ok(Node::Missing) => return refused(name, "it was removed while the directory was read".to_owned()),
                Err(why) => return refused(name, why),
            }
        }
        Ok(())
    }

    fn too_large(&self, what: &'static str, limit: u64) -> ReleaseError {
        ReleaseError::TooLarge { at: self.path.display().to_string(), what, limit }
    }

    /// Fails where there are more files and directories than a release may have files: each is looked at.
    fn count(&self) -> Result<(), ReleaseError> {
        let what = if self.directories == 0 { "files" } else { "files and directories" };
        let fits = self.files.len() + self.directories <= self.limits.files;
        if fits { Ok(()) } else { Err(self.too_large(what, self.limits.files as u64)) }
    }

    fn file(&mut self, path: &[u8], name: String) -> Result<(), ReleaseError> {
        let left = self.limits.bytes.saturating_sub(self.bytes);
        let content = match self.directory.read(path, left) {
            Ok(content) => content,
            Err(ReadError::TooLarge) => return Err(self.too_large("bytes", self.limits.bytes)),
            Err(ReadError::Refused(why)) => {
                let at = self.path.join(MANIFESTS).join(name).display().to_string();
                return Err(ReleaseError::File { at, why });
            }
        };
        self.bytes = self.bytes.saturating_add(content.len() as u64);
        self.files.insert(name, content);
        self.count()
    }
}

/// Writes a release as a directory, which must not be there or be empty. It is there whole or not at all.
pub fn write_directory(path: &Path, files: &Files, signatures: Option<&[u8]>) -> Result<(), ReleaseError> {
    let failed = |path: &Path, error| ReleaseError::Io { path: path.to_owned(), error };
    let occupied = fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_some());
    if occupied || path.is_file() {
        let why = "it exists and is not empty; name another directory".to_owned();
        return Err(ReleaseError::NotARelease { at: path.display().to_string(), why });
    }
    let parent = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    };
    fs::create_dir_all(&parent).map_err(|error| failed(&parent, error))?;
    // Beside its place, so that it can be moved there in one step; it goes away if anything fails.
    let unfinished = tempfile::tempdir_in(&parent).map_err(|error| failed(&parent, error))?;
    let root = unfinished.path().join("release");
    for (name, content) in files {
        let file = root.join(MANIFESTS).join(name);
        let directory = file.parent().unwrap_or(&root);
        fs::create_dir_all(directory).map_err(|error| failed(directory, error))?;
        fs::write(&file, content).map_err(|error| failed(&file, error))?;
    }
    if let Some(signatures) = signatures {
        let file = root.join(SIGNATURES);
        fs::write(&file, signatures).map_err(|error| failed(&file, error))?;
    }
    fs::rename(&root, path).map_err(|error| failed(path, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn release(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (name, content) in files {
            let path = root.path().join(MANIFESTS).join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        root
    }

    #[test]
    fn a_directory_is_what_was_written() {
        let files: Files =
            [("a.yaml".to_owned(), b"a".to_vec()), ("release-metadata".to_owned(), b"{}".to_vec())].into();
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("new/1.0.0");
        write_directory(&path, &files, Some(b"x")).unwrap();
        let fetched = directory(&path, &ReleaseLimits::default()).unwrap();
        assert_eq!((&fetched.files, &fetched.digest), (&files, &digest(&files)));
        assert_eq!(fs::read(path.join("release.sig")).unwrap(), b"x");
        let error = write_directory(&path, &files, None).unwrap_err().to_string();
        assert!(error.contains("not empty"), "{error}");
        assert_eq!(fs::read_dir(root.path().join("new")).unwrap().count(), 1, "nothing is left beside it");
    }

    #[test]
    fn another_digest_than_the_one_asked_for_is_refused() {
        let root = release(&[("a.yaml", "a")]);
        let fetched = directory(root.path(), &ReleaseLimits::default()).unwrap();
        assert!(fetched.clone().expect(None).is_ok() && fetched.clone().expect(Some(&fetched.digest)).is_ok());
        let error = fetched.expect(Some(&clearway_core::Digest::sha256(b"x"))).unwrap_err();
        assert!(error.kind() == "digest" && error.to_string().contains("was requested"), "{error}");
    }

    #[test]
    fn what_is_no_release_or_too_much_of_one_is_said() {
        let limits = ReleaseLimits::default();
        let root = release(&[("release-metadata", "{}"), ("a.yaml", "aaaa")]);
        // Directories that hold nothing are gone through, too.
        let empty = release(&[("release-metadata", "{}")]);
        for number in 0..10 {
            fs::create_dir_all(empty.path().join(MANIFESTS).join(number.to_string()).join("a")).unwrap();
        }
        let said = |path: &Path, limits: &ReleaseLimits| directory(path, limits).unwrap_err();
        for (error, kind, want) in [
            (said(&root.path().join("nope"), &limits), "io", "No such file"),
            (said(&root.path().join(MANIFESTS), &limits), "not_a_release", "name the parent directory"),
            (said(tempfile::tempdir().unwrap().path(), &limits), "not_a_release", "release pack"),
            (said(root.path(), &ReleaseLimits { files: 1, ..limits.clone() }), "too_large", "more than 1 files"),
            (said(root.path(), &ReleaseLimits { bytes: 5, ..limits.clone() }), "too_large", "more than 5 bytes"),
            (
                said(empty.path(), &ReleaseLimits { files: 20, ..limits.clone() }),
                "too_large",
                "more than 20 files and directories",
            ),
        ] {
            assert!(error.kind() == kind && error.to_string().contains(want), "{want}: {error}");
        }
    }

    #[test]
    fn what_is_no_plain_file_is_refused_by_name_and_nothing_is_waited_for() {
        use rustix::fs::{CWD, FileType, Mode, mknodat};
        use std::os::unix::fs::symlink;
        use std::os::unix::net::UnixListener;
        type Row<'r> = (&'r str, &'r dyn Fn(&Path));
        let rows: [Row<'_>; 6] = [
            ("b.yaml: it is a symbolic link", &|path| symlink("/etc/passwd", path.join("b.yaml")).unwrap()),
            ("b.yaml: it is a symbolic link", &|path| symlink("a.yaml", path.join("b.yaml")).unwrap()),
            ("b.yaml: it is a named pipe", &|path| {
                mknodat(CWD, path.join("b.yaml"), FileType::Fifo, Mode::RUSR, 0).unwrap();
            }),
            ("b.yaml: it is a socket", &|path| drop(UnixListener::bind(path.join("b.yaml")).unwrap())),
            ("b .yaml: its name is not plain text", &|path| fs::write(path.join("b\n.yaml"), "b").unwrap()),
            ("release-manifests: it links to `/etc`, outside", &|path| {
                fs::remove_dir_all(path).unwrap();
                symlink("/etc", path).unwrap();
            }),
        ];
        for (want, make) in rows {
            let root = release(&[("a.yaml", "a")]);
            make(&root.path().join(MANIFESTS));
            let error = directory(root.path(), &ReleaseLimits::default()).unwrap_err();
            assert!(error.kind() == "file" && error.to_string().contains(want), "{want}: {error}");
        }
    }

    /// Adds a file after each reading, up to so many.
    struct Restless<'r>(&'r Path, usize);

    impl ReadHooks for Restless<'_> {
        fn after_reading(&mut self, reading: usize) {
            if reading < self.1 {
                fs::write(self.0.join(MANIFESTS).join(format!("{reading}.yaml")), "x").unwrap();
            }
        }

        fn before_next(&mut self, _: usize) {}
    }

    #[test]
    fn a_release_that_changes_while_it_is_read_is_read_again_or_refused() {
        let root = release(&[("a.yaml", "a")]);
        let link = root.path().join("link");
        std::os::unix::fs::symlink(root.path(), &link).unwrap();
        let fetched = read_directory(&link, &ReleaseLimits::default(), &mut Restless(root.path(), 2)).unwrap();
        assert_eq!(fetched.files.len(), 3, "also by a link to it");
        let mut restless = Restless(root.path(), usize::MAX);
        fs::remove_dir_all(root.path().join(MANIFESTS)).unwrap();
        fs::create_dir(root.path().join(MANIFESTS)).unwrap();
        let error = read_directory(root.path(), &ReleaseLimits::default(), &mut restless).unwrap_err();
        assert!(error.kind() == "changing" && !error.is_about_the_release(), "{error}");
    }
}
