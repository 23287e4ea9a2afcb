//! What was found behind digests, kept in a directory, so that nothing is fetched twice.
//!
//! A digest names the same bytes for ever, so an entry is never out of date. Each file begins with a line that names the
//! form and the digest of the rest: a file that was cut off or changed is passed over, and written anew.
//!
//! That line is no proof: anybody who may write to the directory can compute it. So a file is used only if it and its
//! directory belong to the user of this process and nobody else may write to them. Where content has to be signed, only
//! what this process wrote is used ([`Cache::own_entries_only`]).

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use clearway_core::Digest;
use rustix::fs::{FileType, Mode, OFlags, Stat, fstat};

use super::OciError;
use super::release::{Release, SkipReason};
use crate::files::write_parts_atomically;

/// The first word of a file, and the form of what follows. A new form gets a new number, and old files are passed over.
const FORM: &str = "clearway-cache-1";
/// Bytes of one file, behind its first line. It is held while it is read and written, beside what is in it.
pub(super) const FILE_BYTES: u64 = 256 << 20;
/// Bytes of the first line.
const HEADING_BYTES: u64 = 512;

/// The directories of releases, graph-data and payloads.
const RELEASES: &str = "releases";
const GRAPH_DATA: &str = "graph-data";
const PAYLOADS: &str = "payloads";
/// How many files of payloads are kept: an update needs two releases, and each may have signatures.
const MOST_PAYLOADS: usize = 16;

/// A directory in which what was found behind digests is kept; or none. A clone is the same cache.
#[derive(Debug, Clone, Default)]
pub struct Cache {
    files: Option<Arc<Files>>,
    /// Whether files that another process wrote are passed over.
    own_only: bool,
}

#[derive(Debug)]
struct Files {
    directory: PathBuf,
    /// Why the last entry was not kept or not used.
    trouble: Mutex<Option<String>>,
    /// The first lines of the files that this process wrote, with the digests in them. Not of releases, which may be many
    /// and are never signed.
    written: Mutex<BTreeMap<PathBuf, String>>,
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
        for part in [RELEASES, GRAPH_DATA, PAYLOADS] {
            let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(path.join(part));
            made.map_err(|error| OciError::Cache { path: path.clone(), error })?;
        }
        let files = Files { directory: path, trouble: Mutex::default(), written: Mutex::default() };
        Ok(Cache { files: Some(Arc::new(files)), own_only: false })
    }

    /// The same cache, of which content is only taken if this process wrote it. For content that a key must have signed: a
    /// signature is of the digest in the registry, and of a file that was there before nobody knows what digest it has.
    #[must_use]
    pub fn own_entries_only(&self) -> Self {
        Cache { own_only: true, ..self.clone() }
    }

    /// The same cache, for what is checked after it was read.
    pub(super) fn all_entries(&self) -> Self {
        Cache { own_only: false, ..self.clone() }
    }

    /// Why something could not be kept or used, the last time that happened. What was asked for was given all the same; only the
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
        let (file, digest, own_only) = (graph_data_file(name), digest.clone(), self.own_only);
        self.work(move |files| files.read(&file, &digest, own_only)).await.flatten()
    }

    /// Keeps an archive of graph-data. One per name: it changes many times a day and has megabytes.
    pub(super) async fn store_graph_data(&self, name: &str, digest: &Digest, archive: Vec<u8>) {
        let (file, digest) = (graph_data_file(name), digest.clone());
        self.work(move |files| files.write(&file, &digest, &archive)).await;
    }

    /// The archive of a release that was read for an architecture.
    pub(super) async fn payload(&self, digest: &Digest, arch: &str) -> Option<Vec<u8>> {
        let (file, digest, own_only) = (payload_file(digest, arch), digest.clone(), self.own_only);
        self.work(move |files| files.read(&file, &digest, own_only)).await.flatten()
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
        match serde_json::from_slice(&self.read(&release_file(digest), digest, false)?).ok()? {
            Entry::Release(release) => Some(Ok(release)),
            Entry::Not(why) => Some(Err(why)),
        }
    }

    fn read(&self, file: &Path, digest: &Digest, own_only: bool) -> Option<Vec<u8>> {
        let opened = match open_own(&self.directory.join(file)) {
            Ok(opened) => opened?,
            Err(why) => {
                self.warn(why);
                return None;
            }
        };
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
        let heading = heading(digest, &content);
        let is_own = || self.written.lock().is_ok_and(|written| written.get(file) == Some(&heading));
        (first == heading.as_bytes() && (!own_only || is_own())).then_some(content)
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
        let heading = heading(digest, content);
        match write_parts_atomically(&path, &[heading.as_bytes(), content]) {
            Ok(()) if file.starts_with(RELEASES) => {}
            Ok(()) => {
                if let Ok(mut written) = self.written.lock() {
                    written.insert(file.to_owned(), heading);
                }
            }
            Err(error) => {
                if let Ok(mut trouble) = self.trouble.lock() {
                    *trouble = Some(format!("{}: {error}", path.display()));
                }
            }
        }
    }

    /// Notes why an entry is not used, and warns of it once.
    fn warn(&self, why: String) {
        if let Ok(mut trouble) = self.trouble.lock()
            && trouble.as_ref() != Some(&why)
        {
            tracing::warn!("{why}");
            *trouble = Some(why);
        }
    }
}

/// Opens a file that only the user of this process could write; none if there is no such file. What is looked at is what
/// was opened, so that nobody can put something else there in between.
fn open_own(path: &Path) -> Result<Option<File>, String> {
    let (Some(directory), Some(name)) = (path.parent(), path.file_name()) else { return Ok(None) };
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::NOCTTY | OFlags::CLOEXEC;
    let Ok(opened) = rustix::fs::open(directory, flags | OFlags::DIRECTORY, Mode::empty()) else { return Ok(None) };
    let refused = |path: &Path, why: &str| {
        let path = path.display();
        format!("the cache {path} is not used, because {why}; delete it, and it is created again for one user only")
    };
    match fstat(&opened).map(|stat| distrust(&stat)) {
        Ok(None) => {}
        Ok(Some(why)) => return Err(refused(directory, why)),
        Err(_) => return Ok(None),
    }
    let Ok(file) = rustix::fs::openat(&opened, name, flags, Mode::empty()) else { return Ok(None) };
    let Ok(stat) = fstat(&file) else { return Ok(None) };
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Ok(None);
    }
    distrust(&stat).map_or(Ok(Some(File::from(file))), |why| Err(refused(path, why)))
}

/// Why somebody else could have written something.
fn distrust(stat: &Stat) -> Option<&'static str> {
    if stat.st_uid != rustix::process::geteuid().as_raw() {
        Some("it belongs to another user")
    } else if Mode::from_raw_mode(stat.st_mode).intersects(Mode::WGRP | Mode::WOTH) {
        Some("other users may write to it")
    } else {
        None
    }
}

fn release_file(digest: &Digest) -> PathBuf {
    Path::new(RELEASES).join(format!("{}-{}.json", digest.algorithm().as_str(), digest.hex()))
}

fn payload_file(digest: &Digest, arch: &str) -> PathBuf {
    Path::new(PAYLOADS).join(format!("{}-{}-{arch}", digest.algorithm().as_str(), digest.hex()))
}

fn graph_data_file(name: &str) -> PathBuf {
    Path::new(GRAPH_DATA).join(format!("{}.tar", Digest::sha256(name.as_bytes()).hex()))
}

fn heading(digest: &Digest, content: &[u8]) -> String {
    format!("{FORM} {digest} {}\n", Digest::sha256(content))
}
