//! Answers of an upstream service on disk, so that a restart while upstream is away loses nothing.
//!
//! One file for each channel and architecture: a line of JSON about the answer, and then the answer as it came.

use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use clearway_core::{EntityTag, Timestamp};
use clearway_sources::files::write_atomically;
use serde::{Deserialize, Serialize};

use crate::upstream::mirror::Scope;

/// A directory of answers.
#[derive(Debug)]
pub struct StoredAnswers {
    directory: PathBuf,
}

/// An answer as it came.
#[derive(Debug, Clone)]
pub(crate) struct StoredAnswer {
    pub(crate) bytes: Bytes,
    pub(crate) validator: Option<EntityTag>,
    pub(crate) confirmed: Timestamp,
}

/// The first line of a file.
#[derive(Debug, Serialize, Deserialize)]
struct About {
    channel: String,
    arch: String,
    etag: Option<String>,
    confirmed: i64,
}

impl StoredAnswers {
    /// Answers in a directory, which is made if it is not there.
    pub fn open(directory: &Path) -> io::Result<Self> {
        fs::create_dir_all(directory)?;
        Ok(StoredAnswers { directory: directory.to_owned() })
    }

    pub(crate) fn save(&self, scope: &Scope, kept: &StoredAnswer) -> io::Result<()> {
        let about = About {
            channel: scope.channel.clone(),
            arch: scope.arch.to_string(),
            etag: kept.validator.as_ref().map(|validator| validator.as_str().to_owned()),
            confirmed: kept.confirmed.as_seconds(),
        };
        let mut content = serde_json::to_vec(&about)?;
        content.push(b'\n');
        content.extend_from_slice(&kept.bytes);
        write_atomically(&self.path(scope), &content)
    }

    /// Notes that a kept answer was seen to be current.
    pub(crate) fn confirm(&self, scope: &Scope, confirmed: Timestamp, most: usize) -> io::Result<()> {
        match StoredAnswers::read(&self.path(scope), most) {
            Some((_, kept)) => self.save(scope, &StoredAnswer { confirmed, ..kept }),
            None => Ok(()),
        }
    }

    /// Keeps an answer no longer. If the file stays it is found, and passed over, at the next start.
    pub(crate) fn forget(&self, scope: &Scope) {
        let _ = fs::remove_file(self.path(scope));
    }

    fn path(&self, scope: &Scope) -> PathBuf {
        // Both are letters, digits, dots and dashes, and cannot lead out of the directory.
        self.directory.join(format!("{}_{}.answer", scope.channel, scope.arch))
    }

    /// Where the answers are that can be read, in order, without the answers themselves. What cannot be read is asked for
    /// again.
    pub(crate) fn list(&self, most: usize) -> Vec<(Scope, PathBuf)> {
        let mut paths: Vec<PathBuf> = fs::read_dir(&self.directory)
            .into_iter()
            .flatten()
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| path.extension().is_some_and(|extension| extension == "answer"))
            .take(MOST_FILES)
            .collect();
        paths.sort();
        let listed = paths.into_iter().filter_map(|path| {
            let head = contents(&path, HEAD)?;
            let about = about(&head)?;
            let fits = fs::metadata(&path).ok()?.len() <= (most + HEAD) as u64;
            fits.then_some((about.0, path))
        });
        listed.collect()
    }

    /// One answer of at most so many bytes.
    pub(crate) fn read(path: &Path, most: usize) -> Option<(Scope, StoredAnswer)> {
        let content = Bytes::from(contents(path, most.checked_add(HEAD)?)?);
        let (scope, about, end) = about(&content)?;
        let bytes = Some(content.slice(end + 1..)).filter(|bytes| bytes.len() <= most)?;
        let kept = StoredAnswer {
            bytes,
            validator: about.etag.as_deref().and_then(EntityTag::new),
            confirmed: Timestamp::from_seconds(about.confirmed).ok()?,
        };
        Some((scope, kept))
    }
}

/// Bytes of the first line of a file.
const HEAD: usize = 16 << 10;
/// Files that are looked at; a mirror keeps far fewer.
const MOST_FILES: usize = 100_000;

/// The first bytes of a file.
fn contents(path: &Path, most: usize) -> Option<Vec<u8>> {
    let mut content = Vec::new();
    fs::File::open(path).ok()?.take(most as u64).read_to_end(&mut content).ok()?;
    Some(content)
}

/// What the first line says, and where it ends.
fn about(content: &[u8]) -> Option<(Scope, About, usize)> {
    let end = content.iter().take(HEAD).position(|byte| *byte == b'\n')?;
    let about: About = serde_json::from_slice(content.get(..end)?).ok()?;
    let scope = Scope { channel: about.channel.clone(), arch: about.arch.parse().ok()? };
    Some((scope, about, end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_kept_is_found_again_and_rubbish_is_passed_over() {
        let directory = tempfile::tempdir().unwrap();
        let answers = StoredAnswers::open(directory.path()).unwrap();
        let scope = Scope { channel: "stable-4.14".to_owned(), arch: "arm64".parse().unwrap() };
        let kept = StoredAnswer {
            bytes: Bytes::from_static(b"{\"nodes\":[]}\n"),
            validator: EntityTag::new("\"x\""),
            confirmed: Timestamp::from_seconds(1_700_000_000).unwrap(),
        };
        answers.save(&scope, &kept).unwrap();
        for (name, content) in [("a.answer", ""), ("b.answer", "{}\n{}"), ("c.answer", "\n"), ("d.txt", "x")] {
            fs::write(directory.path().join(name), content).unwrap();
        }
        let [(found, path)] = answers.list(1000).try_into().unwrap();
        assert_eq!(found, scope);
        let (found, answer) = StoredAnswers::read(&path, 1000).unwrap();
        assert!(found == scope && StoredAnswers::read(&path, 5).is_none(), "larger than may be");
        assert_eq!((answer.bytes, answer.validator, answer.confirmed), (kept.bytes, kept.validator, kept.confirmed));
    }
}
