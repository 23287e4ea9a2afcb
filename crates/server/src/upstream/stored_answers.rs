//! Answers of an upstream service on disk, so that a restart while upstream is away loses nothing.
//!
//! One file for each channel and architecture: a line of JSON about the answer, and then the answer as it came. A file is
//! read and removed by its name alone, and what it says of itself must agree with that: somebody else may have written it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use clearway_core::{EntityTag, Timestamp};
use clearway_sources::files::confined::ConfinedDirectory;
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
        match self.read(scope, most, confirmed) {
            Some(kept) => self.save(scope, &StoredAnswer { confirmed, ..kept }),
            None => Ok(()),
        }
    }

    /// Keeps an answer no longer. If the file stays it is found, and passed over, at the next start.
    pub(crate) fn forget(&self, scope: &Scope) {
        let _ = fs::remove_file(self.path(scope));
    }

    fn path(&self, scope: &Scope) -> PathBuf {
        self.directory.join(file_name(scope))
    }

    /// What the names of the files tell of, in order. What cannot be read is asked for again.
    pub(crate) fn list(&self) -> Vec<Scope> {
        let mut scopes: Vec<Scope> = fs::read_dir(&self.directory)
            .into_iter()
            .flatten()
            .take(MOST_FILES)
            .filter_map(|entry| scope_of(entry.ok()?.file_name().to_str()?))
            .collect();
        scopes.sort();
        scopes
    }

    /// One answer of at most so many bytes. None was confirmed later than now, whatever its file says.
    pub(crate) fn read(&self, scope: &Scope, most: usize, now: Timestamp) -> Option<StoredAnswer> {
        let limit = most.checked_add(HEAD)? as u64;
        let mut directory = ConfinedDirectory::open(&self.directory).ok()?;
        let content = Bytes::from(directory.read_file(Path::new(""), Path::new(&file_name(scope)), limit).ok()?);
        let end = content.iter().take(HEAD).position(|byte| *byte == b'\n')?;
        let about: About = serde_json::from_slice(content.get(..end)?).ok()?;
        if about.channel != scope.channel || about.arch != scope.arch.as_str() {
            return None;
        }
        Some(StoredAnswer {
            bytes: Some(content.slice(end + 1..)).filter(|bytes| bytes.len() <= most)?,
            validator: about.etag.as_deref().and_then(EntityTag::new),
            confirmed: Timestamp::from_seconds(about.confirmed).ok()?.min(now),
        })
    }
}

/// Bytes of the first line of a file.
const HEAD: usize = 16 << 10;
/// Files that are looked at; a mirror keeps far fewer.
const MOST_FILES: usize = 100_000;

fn file_name(scope: &Scope) -> String {
    // Both are letters, digits, dots and dashes, and cannot lead out of the directory.
    format!("{}_{}.answer", scope.channel, scope.arch)
}

/// What the answer in a file of this name is for.
fn scope_of(file_name: &str) -> Option<Scope> {
    let (channel, arch) = file_name.strip_suffix(".answer")?.split_once('_')?;
    format!("{channel}/{arch}").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scope(text: &str) -> Scope {
        text.parse().unwrap()
    }

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_seconds(seconds).unwrap()
    }

    fn answer() -> StoredAnswer {
        StoredAnswer {
            bytes: Bytes::from_static(b"{\"nodes\":[]}\n"),
            validator: EntityTag::new("\"x\""),
            confirmed: at(1_700_000_000),
        }
    }

    #[test]
    fn what_was_kept_is_found_again_and_rubbish_is_passed_over() {
        let directory = tempfile::tempdir().unwrap();
        let answers = StoredAnswers::open(directory.path()).unwrap();
        let (scope, kept, now) = (scope("stable-4.14/arm64"), answer(), at(1_800_000_000));
        answers.save(&scope, &kept).unwrap();
        for name in ["a.answer", "X_amd64.answer", "a_b_c.answer", "_amd64.answer", "a_.answer", "d.txt"] {
            fs::write(directory.path().join(name), "").unwrap();
        }
        assert_eq!(answers.list(), std::slice::from_ref(&scope));
        assert!(answers.read(&scope, 5, now).is_none(), "larger than may be");
        let found = answers.read(&scope, 1000, now).unwrap();
        assert_eq!((found.bytes, found.validator, found.confirmed), (kept.bytes, kept.validator, kept.confirmed));
        for content in ["", "{}\n{}", "\n", "{\"channel\":\"stable-4.14\",\"arch\":\"arm64\",\"confirmed\":1}"] {
            fs::write(answers.path(&scope), content).unwrap();
            assert!(answers.read(&scope, 1000, now).is_none(), "{content}");
        }
    }

    #[test]
    fn a_pipe_in_place_of_an_answer_is_not_waited_for_and_a_link_out_is_not_followed() {
        let directory = tempfile::tempdir().unwrap();
        let answers = StoredAnswers::open(&directory.path().join("upstream")).unwrap();
        let (pipe, link) = (scope("pipe"), scope("link"));
        assert!(std::process::Command::new("mkfifo").arg(answers.path(&pipe)).status().unwrap().success());
        answers.save(&link, &answer()).unwrap();
        fs::rename(answers.path(&link), directory.path().join("elsewhere")).unwrap();
        std::os::unix::fs::symlink("../elsewhere", answers.path(&link)).unwrap();
        assert_eq!(answers.list(), [link.clone(), pipe.clone()]);
        for scope in [link, pipe] {
            assert!(answers.read(&scope, 1000, at(1_800_000_000)).is_none(), "{scope:?}");
            answers.forget(&scope);
        }
        assert_eq!(answers.list(), []);
        assert!(directory.path().join("elsewhere").exists());
    }

    #[test]
    fn an_answer_that_names_another_channel_is_not_read_and_removes_nothing_else() {
        let directory = tempfile::tempdir().unwrap();
        let answers = StoredAnswers::open(&directory.path().join("upstream")).unwrap();
        let victim = directory.path().join("victim_amd64.answer");
        fs::write(&victim, "x").unwrap();
        let named = scope("named");
        for channel in [directory.path().join("victim").display().to_string(), "../victim".to_owned(), "b".to_owned()] {
            let about = About { channel, arch: "amd64".to_owned(), etag: None, confirmed: 1 };
            let content = format!("{}\n{{\"nodes\":[]}}", serde_json::to_string(&about).unwrap());
            fs::write(answers.path(&named), content).unwrap();
            assert_eq!(answers.list(), std::slice::from_ref(&named));
            assert!(answers.read(&named, 1000, at(2)).is_none(), "{about:?}");
            answers.forget(&named);
        }
        assert!(victim.exists() && answers.list().is_empty());
    }

    #[test]
    fn no_answer_is_newer_than_now() {
        let directory = tempfile::tempdir().unwrap();
        let answers = StoredAnswers::open(directory.path()).unwrap();
        let (scope, now) = (scope("a"), at(1_700_000_100));
        for (said, read) in [(4_102_444_800, 1_700_000_100), (1_700_000_099, 1_700_000_099)] {
            answers.save(&scope, &StoredAnswer { confirmed: at(said), ..answer() }).unwrap();
            assert_eq!(answers.read(&scope, 1000, now).unwrap().confirmed, at(read));
        }
    }
}
