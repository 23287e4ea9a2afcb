//! A release that is a directory: read within limits, and written whole.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use super::error::ReleaseError;
use super::{Fetched, Files, MANIFESTS, Reference, ReleaseLimits, digest, read};

/// Directories below `release-manifests` that are followed. No manifest is there, but the digest covers them.
const MAX_DEPTH: usize = 16;

/// Reads the files of a directory that holds `release-manifests`.
pub fn directory(path: &Path, limits: &ReleaseLimits) -> Result<Fetched, ReleaseError> {
    let root = path.join(MANIFESTS);
    if !root.is_dir() {
        // What is not there at all is said in the system's own words.
        fs::metadata(path).map_err(|error| ReleaseError::Io { path: path.to_owned(), error })?;
        let why = if path.join(read::METADATA).is_file() {
            "this is the inside of one; name the directory above it, in which it is called release-manifests"
        } else {
            "there is no directory release-manifests in it; `clearway release pack` makes a release from plain manifests"
        };
        return Err(ReleaseError::NotARelease { at: path.display().to_string(), why: why.to_owned() });
    }
    let mut gathered = Gathered { files: Files::new(), bytes: 0, limits, path };
    gathered.below(&root, "", 0)?;
    let digest = digest(&gathered.files);
    let reference = Reference::Directory(path.to_owned());
    Ok(Fetched { reference, digest, chosen: None, files: gathered.files })
}

struct Gathered<'a> {
    files: Files,
    bytes: u64,
    limits: &'a ReleaseLimits,
    path: &'a Path,
}

impl Gathered<'_> {
    fn below(&mut self, directory: &Path, prefix: &str, depth: usize) -> Result<(), ReleaseError> {
        let failed = |error| ReleaseError::Io { path: directory.to_owned(), error };
        for entry in fs::read_dir(directory).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let path = entry.path();
            let refused = |why: &str| ReleaseError::File { at: path.display().to_string(), why: why.to_owned() };
            let name = entry.file_name();
            // Such a name would make the list of the digest mean two things.
            let Some(name) = name.to_str().filter(|name| !name.contains('\\') && !name.chars().any(char::is_control))
            else {
                return Err(refused("its name is no plain text"));
            };
            let kind = entry.file_type().map_err(failed)?;
            let name = format!("{prefix}{name}");
            if kind.is_dir() {
                if depth >= MAX_DEPTH {
                    return Err(refused("the directories are nested too deep"));
                }
                self.below(&path, &format!("{name}/"), depth + 1)?;
            } else if kind.is_file() {
                self.file(&path, name)?;
            } else {
                return Err(refused("it is a link or no file at all"));
            }
        }
        Ok(())
    }

    fn file(&mut self, path: &Path, name: String) -> Result<(), ReleaseError> {
        let failed = |error| ReleaseError::Io { path: path.to_owned(), error };
        let too_large = |what, limit| ReleaseError::TooLarge { at: self.path.display().to_string(), what, limit };
        if self.files.len() >= self.limits.files {
            return Err(too_large("files", self.limits.files as u64));
        }
        let left = self.limits.bytes.saturating_sub(self.bytes);
        let mut content = Vec::new();
        let file = File::open(path).map_err(failed)?;
        file.take(left.saturating_add(1)).read_to_end(&mut content).map_err(failed)?;
        self.bytes = self.bytes.saturating_add(content.len() as u64);
        if self.bytes > self.limits.bytes {
            return Err(too_large("bytes", self.limits.bytes));
        }
        self.files.insert(name, content);
        Ok(())
    }
}

/// Writes a release as a directory, which must not be there or be empty. It is there whole or not at all.
pub fn write_directory(path: &Path, files: &Files, signatures: Option<&[u8]>) -> Result<(), ReleaseError> {
    let failed = |path: &Path, error| ReleaseError::Io { path: path.to_owned(), error };
    let occupied = fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_some());
    if occupied || path.is_file() {
        let why = "it is there already, and has something in it; name another".to_owned();
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
        let file = root.join(super::SIGNATURES);
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
        assert!(error.contains("there already"), "{error}");
        assert_eq!(fs::read_dir(root.path().join("new")).unwrap().count(), 1, "nothing is left beside it");
    }

    #[test]
    fn another_digest_than_the_one_asked_for_is_refused() {
        let root = release(&[("a.yaml", "a")]);
        let fetched = directory(root.path(), &ReleaseLimits::default()).unwrap();
        assert!(fetched.clone().expect(None).is_ok() && fetched.clone().expect(Some(&fetched.digest)).is_ok());
        let error = fetched.expect(Some(&clearway_core::Digest::sha256(b"x"))).unwrap_err();
        assert!(error.kind() == "digest" && error.to_string().contains("was asked for"), "{error}");
    }

    #[test]
    fn what_is_no_release_or_too_much_of_one_is_said() {
        let limits = ReleaseLimits::default();
        let root = release(&[("release-metadata", "{}"), ("a.yaml", "aaaa")]);
        let said = |path: &Path, limits: &ReleaseLimits| directory(path, limits).unwrap_err();
        for (error, kind, want) in [
            (said(&root.path().join("nope"), &limits), "io", "No such file"),
            (said(&root.path().join(MANIFESTS), &limits), "not_a_release", "name the directory above it"),
            (said(tempfile::tempdir().unwrap().path(), &limits), "not_a_release", "release pack"),
            (said(root.path(), &ReleaseLimits { files: 1, ..limits.clone() }), "too_large", "more than 1 files"),
            (said(root.path(), &ReleaseLimits { bytes: 5, ..limits.clone() }), "too_large", "more than 5 bytes"),
        ] {
            assert!(error.kind() == kind && error.to_string().contains(want), "{want}: {error}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn links_and_odd_names_are_refused_by_name() {
        for (link, want) in [(true, "it is a link"), (false, "no plain text")] {
            let root = release(&[("a.yaml", "a")]);
            let path = root.path().join(MANIFESTS);
            if link {
                std::os::unix::fs::symlink("/etc/passwd", path.join("b.yaml")).unwrap();
            } else {
                fs::write(path.join("b\n.yaml"), "b").unwrap();
            }
            let error = directory(root.path(), &ReleaseLimits::default()).unwrap_err().to_string();
            assert!(error.contains(want), "{error}");
        }
    }
}
