//! What was found behind digests, kept in a directory, so that nothing is fetched twice.
//!
//! A digest names the same bytes for ever, so an entry is never out of date. Each file begins with a line that names the
//! form and the digest of the rest: a file that was cut off or changed is passed over, and written anew.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use clearway_core::Digest;

use super::OciError;
use super::release::{Release, SkipReason};
use crate::files::confined::open_regular_file;
use crate::files::write_parts_atomically;

/// The first word of a file, and the form of what follows. A new form gets a new number, and old files are passed over.
const FORM: &str = "clearway-cache-1";
/// Bytes of one file, behind its first line. It is held while it is read and written, beside what is in it.
pub(super) const FILE_BYTES: u64 = 256 << 20;
/// Bytes of the first line.
const HEADING_BYTES: u64 = 512;

/// The directory of payloads.
const PAYLOADS: &str = "payloads";
/// How many files of payloads are kept: an update needs two releases, and each may have signatures.
const MOST_PAYLOADS: usize = 16;

/// A directory in which what was found behind digests is kept; or none. A clone is the same cache.
#[derive(Debug, Clone, Default)]
pub struct Cache {
    files: Option<Arc<Files>>,
}

#[derive(Debug)]
struct Files {
    directory: PathBuf,
    /// Why the last entry was not kept.
    trouble: Mutex<Option<String>>,
}

/// What was found behind the digest of a tag.
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
enum Entry {
    Release(Release),
    Not(SkipReason),
}

impl Cache {
    /// Keeps nothing.
    pub fn none() -> Self {
        Cache::default()
    }

    /// Keeps entries in a directory, which is made if it is not there. Several processes may use it.
    pub fn directory(path: impl Into<PathBuf>) -> Result<Self, OciError> {
        let path = path.into();
        for part in ["releases", "graph-data", PAYLOADS] {
            fs::create_dir_all(path.join(part)).map_err(|error| OciError::Cache { path: path.clone(), error })?;
        }
        Ok(Cache { files: Some(Arc::new(Files { directory: path, trouble: Mutex::default() })) })
    }

    /// Why something could not be kept, the last time that happened. What was asked for was given all the same; only the
    /// next time it is fetched again.
    pub fn last_error(&self) -> Option<String> {
        self.files.as_ref()?.trouble.lock().ok()?.clone()
    }

    /// What is known about each of some digests, as far as it takes so many bytes in all.
    pub(super) async fn releases(
        &self,
        digests: BTreeSet<Digest>,
        most: u64,
    ) -> BTreeMap<Digest, Result<Release, SkipReason>> {
        let known = move |files: &Files| {
            let mut left = most;
            let mut known = BTreeMap::new();
            for digest in digests {
                let Some(outcome) = files.release(&digest) else { continue };
                let Some(rest) = left.checked_sub(outcome.as_ref().map_or(0, Release::bytes)) else { break };
                left = rest;
                known.insert(digest, outcome);
            }
            known
        };
        self.work(known).await.unwrap_or_default()
    }

    /// Keeps what is known for good about a digest.
    pub(super) async fn store_release(&self, digest: &Digest, outcome: &Result<Release, SkipReason>) {
        let entry = match outcome {
            Ok(release) => Entry::Release(release.clone()),
            Err(why) if why.is_definite() => Entry::Not(why.clone()),
            Err(_) => return,
        };
        let digest = digest.clone();
        if let Ok(text) = serde_json::to_vec(&entry) {
            self.work(move |files| files.write(&release_file(&digest), &digest, &text)).await;
        }
    }

    /// The archive of graph-data that a name had when its digest was this one.
    pub(super) async fn graph_data(&self, name: &str, digest: &Digest) -> Option<Vec<u8>> {
        let (file, digest) = (graph_data_file(name), digest.clone());
        self.work(move |files| files.read(&file, &digest)).await.flatten()
    }

    /// Keeps an archive of graph-data. One per name: it changes many times a day and has megabytes.
    pub(super) async fn store_graph_data(&self, name: &str, digest: &Digest, archive: Vec<u8>) {
        let (file, digest) = (graph_data_file(name), digest.clone());
        self.work(move |files| files.write(&file, &digest, &archive)).await;
    }

    /// The archive of a release that was read for an architecture.
    pub(super) async fn payload(&self, digest: &Digest, arch: &str) -> Option<Vec<u8>> {
        let (file, digest) = (payload_file(digest, arch), digest.clone());
        self.work(move |files| files.read(&file, &digest)).await.flatten()
    }

    /// Keeps the archive of a release. Of many, the last that were kept stay.
    pub(super) async fn store_payload(&self, digest: &Digest, arch: &str, archive: Vec<u8>) {
        let (file, digest) = (payload_file(digest, arch), digest.clone());
        let keep = move |files: &Files| {
            files.write(&file, &digest, &archive);
            files.forget_payloads();
        };
        self.work(keep).await;
    }

    /// Works with files on a thread that may wait for them.
    async fn work<T: Send + 'static>(&self, work: impl FnOnce(&Files) -> T + Send + 'static) -> Option<T> {
        let files = Arc::clone(self.files.as_ref()?);
        tokio::task::spawn_blocking(move || work(&files)).await.ok()
    }
}

impl Files {
    fn release(&self, digest: &Digest) -> Option<Result<Release, SkipReason>> {
        match serde_json::from_slice(&self.read(&release_file(digest), digest)?).ok()? {
            Entry::Release(release) => Some(Ok(release)),
            Entry::Not(why) => Some(Err(why)),
        }
    }

    fn read(&self, file: &Path, digest: &Digest) -> Option<Vec<u8>> {
        let opened = open_regular_file(&self.directory.join(file)).ok()?;
        let length = opened.metadata().ok()?.len();
        if length > FILE_BYTES + HEADING_BYTES {
            return None;
        }
        // The first line is read by itself, so that the rest is held once.
        let mut reader = BufReader::new(opened);
        let mut first = Vec::new();
        reader.by_ref().take(HEADING_BYTES).read_until(b'\n', &mut first).ok()?;
        let mut content = Vec::with_capacity(usize::try_from(length).ok()?.saturating_sub(first.len()));
        reader.take(FILE_BYTES).read_to_end(&mut content).ok()?;
        (first == heading(digest, &content).as_bytes()).then_some(content)
    }

    /// Takes the oldest payloads away, if there are too many.
    fn forget_payloads(&self) {
        let Ok(entries) = fs::read_dir(self.directory.join(PAYLOADS)) else { return };
        let mut kept: Vec<_> = entries
            .flatten()
            .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
            .collect();
        kept.sort();
        let many = kept.len().saturating_sub(MOST_PAYLOADS);
        for (_, path) in kept.into_iter().take(many) {
            // Somebody else may have been faster.
            let _ = fs::remove_file(path);
        }
    }

    fn write(&self, file: &Path, digest: &Digest, content: &[u8]) {
        let path = self.directory.join(file);
        if let Err(error) = write_parts_atomically(&path, &[heading(digest, content).as_bytes(), content])
            && let Ok(mut trouble) = self.trouble.lock()
        {
            *trouble = Some(format!("{}: {error}", path.display()));
        }
    }
}

fn release_file(digest: &Digest) -> PathBuf {
    Path::new("releases").join(format!("{}-{}.json", digest.algorithm().as_str(), digest.hex()))
}

fn payload_file(digest: &Digest, arch: &str) -> PathBuf {
    Path::new(PAYLOADS).join(format!("{}-{}-{arch}", digest.algorithm().as_str(), digest.hex()))
}

fn graph_data_file(name: &str) -> PathBuf {
    Path::new("graph-data").join(format!("{}.tar", Digest::sha256(name.as_bytes()).hex()))
}

fn heading(digest: &Digest, content: &[u8]) -> String {
    format!("{FORM} {digest} {}\n", Digest::sha256(content))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn release() -> Release {
        Release {
            version: "4.5.0".parse().unwrap(),
            arch: "amd64".parse().ok(),
            previous: vec!["4.4.0".to_owned()],
            next: Vec::new(),
            metadata: [("url".to_owned(), "x".to_owned())].into(),
        }
    }

    async fn find(cache: &Cache, digest: &Digest) -> Option<Result<Release, SkipReason>> {
        cache.releases([digest.clone()].into(), 1 << 20).await.remove(digest)
    }

    fn only_file(directory: &Path) -> PathBuf {
        let files: Vec<_> =
            fs::read_dir(directory.join("releases")).unwrap().map(|file| file.unwrap().path()).collect();
        assert_eq!(files.len(), 1, "{files:?}");
        files[0].clone()
    }

    #[tokio::test]
    async fn what_is_certain_is_kept_and_what_is_not_is_not() {
        let directory = tempfile::tempdir().unwrap();
        let cache = Cache::directory(directory.path()).unwrap();
        let digest = |name: &str| Digest::sha256(name.as_bytes());
        for (name, outcome, kept) in [
            ("release", Ok(release()), true),
            ("none", Err(SkipReason::NoRelease), true),
            ("shard", Err(SkipReason::Shard { arch: "arm64".to_owned() }), true),
            ("schema 1", Err(SkipReason::Unsupported { what: "a".to_owned() }), true),
            ("broken", Err(SkipReason::Broken { what: "a".to_owned() }), false),
            ("gone", Err(SkipReason::Vanished), false),
        ] {
            cache.store_release(&digest(name), &outcome).await;
            assert_eq!(find(&cache, &digest(name)).await, kept.then_some(outcome), "{name}");
        }
        assert_eq!(find(&Cache::none(), &digest("release")).await, None);
        assert_eq!(cache.last_error(), None);
    }

    #[tokio::test]
    async fn a_spoiled_file_is_passed_over_and_written_anew() {
        let directory = tempfile::tempdir().unwrap();
        let cache = Cache::directory(directory.path()).unwrap();
        let digest = Digest::sha256(b"x");
        let outcome = Ok(release());
        cache.store_release(&digest, &outcome).await;
        let file = only_file(directory.path());
        let good = fs::read(&file).unwrap();
        let mut flipped = good.clone();
        *flipped.last_mut().unwrap() ^= 1;
        for spoiled in [&b""[..], b"\n", &good[..good.len() - 1], &flipped, b"clearway-cache-1 x y\n{}"] {
            fs::write(&file, spoiled).unwrap();
            assert_eq!(find(&cache, &digest).await, None);
            cache.store_release(&digest, &outcome).await;
            assert_eq!(find(&cache, &digest).await, Some(outcome.clone()));
        }
        assert_eq!(fs::read(only_file(directory.path())).unwrap(), good);
        // The file of one digest does not answer for another.
        fs::rename(&file, directory.path().join(release_file(&Digest::sha256(b"y")))).unwrap();
        assert_eq!(find(&cache, &Digest::sha256(b"y")).await, None);
    }

    #[tokio::test]
    async fn of_many_payloads_the_last_ones_are_kept() {
        let directory = tempfile::tempdir().unwrap();
        let cache = Cache::directory(directory.path()).unwrap();
        let digests: Vec<Digest> = (0..MOST_PAYLOADS + 4).map(|number| Digest::sha256(&number.to_le_bytes())).collect();
        for digest in &digests {
            cache.store_payload(digest, "any", digest.hex().as_bytes().to_vec()).await;
        }
        assert_eq!(fs::read_dir(directory.path().join(PAYLOADS)).unwrap().count(), MOST_PAYLOADS);
        let (first, last) = (&digests[0], &digests[digests.len() - 1]);
        assert_eq!(cache.payload(first, "any").await, None);
        assert_eq!(cache.payload(last, "any").await, Some(last.hex().as_bytes().to_vec()));
        assert_eq!(cache.payload(last, "amd64").await, None);
    }

    #[tokio::test]
    async fn a_cache_that_cannot_be_written_says_so_and_fails_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let cache = Cache::directory(directory.path().join("cache")).unwrap();
        fs::remove_dir_all(directory.path()).unwrap();
        cache.store_release(&Digest::sha256(b"x"), &Ok(release())).await;
        assert!(cache.last_error().unwrap().contains("No such file"), "{:?}", cache.last_error());
        let file = tempfile::NamedTempFile::new().unwrap();
        let error = Cache::directory(file.path()).unwrap_err().to_string();
        assert!(error.contains("cannot use this directory as a cache"), "{error}");
    }
}
