//! Reads a snapshot from a directory, an archive, or files in memory. What is wrong with one part makes that part
//! unknown and is said; only what is wrong with the whole is an error.

use std::collections::BTreeMap;
use std::path::Path;
use std::{fs, io};

use clearway_core::{Diagnostic, GroupKind, Limits, Place, Severity, is_secret_kind};
use clearway_promql::read::{ReadLimits, snapshot as read_series};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::budget::{self, BYTES, Budget};
use super::manifest::{self, CRDS, Entry, MANIFEST, OBJECTS, SERIES};
use super::{Objects, Part, SeriesEvidence, Snapshot, SnapshotError};
use crate::files::archive::{ArchiveDefect, Kind, WalkControl};
use crate::files::confined::{ConfinedDirectory, DirectoryError, Pauses, ReadHooks, read_settled_by};
use crate::files::file_tree::{FileTree as _, ReadError, Target, names_of, printable, resolve, split_last};
use crate::graph_data::{ArchiveError, OpenedArchive};

/// Bytes of the names in an archive that are kept.
const NAMES_BYTES: usize = 8 << 20;

/// The files of a snapshot by their names in it.
pub type Files = BTreeMap<String, Vec<u8>>;

/// A snapshot, and what is to be said about it.
#[derive(Debug)]
pub struct LoadedSnapshot {
    /// The snapshot.
    pub snapshot: Snapshot,
    /// What was odd: a newer schema, parts that are damaged or missing, files that nothing lists.
    pub diagnostics: Vec<Diagnostic>,
}

/// What a directory or archive holds of a snapshot.
#[derive(Debug, Default)]
struct Found {
    files: Files,
    /// What is there and cannot be read, with the reason.
    unreadable: BTreeMap<String, String>,
}

/// Reads a snapshot from a directory or an archive. A directory that changes meanwhile is read again, a few times.
pub fn read(path: &Path, limits: &Limits) -> Result<LoadedSnapshot, SnapshotError> {
    let failed = |error| SnapshotError::Io { path: path.to_owned(), error };
    if fs::metadata(path).map_err(failed)?.is_dir() {
        return read_directory(path, || ConfinedDirectory::open(path), limits, &mut Pauses);
    }
    read_archive(fs::File::open(path).map_err(failed)?, limits)
}

pub(super) fn read_directory(
    path: &Path,
    open: impl FnMut() -> io::Result<ConfinedDirectory>,
    limits: &Limits,
    hooks: &mut dyn ReadHooks,
) -> Result<LoadedSnapshot, SnapshotError> {
    let read = read_settled_by(open, hooks, |directory| from_directory(directory, limits));
    let found = read.map_err(|error| match error {
        DirectoryError::Open(error) => SnapshotError::Io { path: path.to_owned(), error },
        DirectoryError::Changing => SnapshotError::Changing { path: path.to_owned() },
        DirectoryError::Read(error) => error,
    })?;
    assemble_found(found, limits)
}

/// Reads a snapshot that something in a stranger's directory refers to, inside of that directory. `base` is the directory
/// below it that `path` is relative to.
pub fn read_below(
    directory: &mut ConfinedDirectory,
    base: &Path,
    path: &Path,
    limits: &Limits,
) -> Result<LoadedSnapshot, SnapshotError> {
    let failed = |error| SnapshotError::Io { path: base.join(path), error };
    match directory.find(base, path).map_err(failed)? {
        Target::Missing => Err(failed(io::ErrorKind::NotFound.into())),
        Target::Directory(place) => read_directory(&base.join(path), || directory.below(&place), limits, &mut Pauses),
        Target::File(place) => read_archive(directory.open_file(&place).map_err(failed)?, limits),
    }
}

/// Reads a snapshot from an archive: tar, packed with gzip or zstd or not. It may stand in a directory of the archive, the
/// outermost if there are several. Nothing is written to disk.
pub fn read_archive(stream: impl io::Read, limits: &Limits) -> Result<LoadedSnapshot, SnapshotError> {
    let bytes = limits.file_bytes.min(BYTES);
    let mut opened = OpenedArchive::new(stream, bytes).map_err(archive_error)?;
    if !opened.is_archive().map_err(archive_error)? {
        return Err(SnapshotError::NotAnArchive);
    }
    let mut all: BTreeMap<Vec<u8>, Found> = BTreeMap::new();
    let (mut names, mut left) = (NAMES_BYTES, bytes);
    let walked = opened.walk(&mut |entry| {
        let Some((root, name)) = split(entry.path) else { return Ok(WalkControl::Continue) };
        names =
            names.checked_sub(entry.path.len()).ok_or(ArchiveDefect::TooMany("bytes in names", NAMES_BYTES as u64))?;
        let found = all.entry(root.to_vec()).or_default();
        if found.files.contains_key(&name) || found.unreadable.contains_key(&name) {
            // Which of the two is meant cannot be told.
            return Err(ArchiveDefect::Broken(format!("it contains {} twice", printable(entry.path))));
        }
        match entry.kind {
            Kind::File => {
                let content = entry.content(left)?.ok_or(ArchiveDefect::TooLarge(bytes))?;
                left = left.saturating_sub(content.len() as u64);
                found.files.insert(name, content);
            }
            Kind::Directory => _ = found.unreadable.insert(name, "it is a directory, not a file".to_owned()),
            Kind::Other(what) => _ = found.unreadable.insert(name, format!("it is {what}, not a file")),
        }
        Ok(WalkControl::Continue)
    });
    walked.map_err(archive_error)?;
    let is_root = |found: &Found| found.files.contains_key(MANIFEST) || found.unreadable.contains_key(MANIFEST);
    let roots = all.into_iter().filter(|(_, found)| is_root(found));
    let outermost = roots.min_by_key(|(root, _)| names_of(root).count());
    outermost.map_or(Err(SnapshotError::NotASnapshot), |(_, found)| assemble_found(found, limits))
}

fn archive_error(error: ArchiveError) -> SnapshotError {
    match error {
        ArchiveError::NotAnArchive | ArchiveError::NoGraphData | ArchiveError::SeveralGraphData { .. } => {
            SnapshotError::NotAnArchive
        }
        ArchiveError::Damaged { why } => SnapshotError::Damaged { why },
        ArchiveError::TooLarge { limit } => SnapshotError::TooLarge { limit },
        ArchiveError::TooMany { what, limit } => SnapshotError::TooMany { what, limit },
    }
}

/// A path as the directory it would be a snapshot in, and its name there; nothing for files of no interest.
fn split(path: &[u8]) -> Option<(&[u8], String)> {
    let (above, name) = split_last(path);
    let name = str::from_utf8(name).ok()?;
    if matches!(name, MANIFEST | SERIES | CRDS) {
        return Some((above, name.to_owned()));
    }
    let (root, directory) = split_last(above);
    let in_objects = directory == OBJECTS.as_bytes() && name.strip_suffix(".json").is_some();
    in_objects.then(|| (root, format!("{OBJECTS}/{name}")))
}

/// The files of a directory. What is no file inside of it is noted, and makes its part unknown.
fn from_directory(directory: &mut ConfinedDirectory, limits: &Limits) -> Result<Found, SnapshotError> {
    let mut names: Vec<String> = [MANIFEST, SERIES, CRDS].map(str::to_owned).to_vec();
    let mut found = Found::default();
    match resolve(directory, b"", OBJECTS.as_bytes()) {
        Ok(Target::Directory(objects)) => match directory.names(&objects) {
            Ok(listed) => names.extend(listed.into_iter().filter_map(|name| {
                let name = String::from_utf8(name).ok()?;
                let is_listed = name.strip_suffix(".json").is_some() && !name.starts_with('.');
                is_listed.then(|| format!("{OBJECTS}/{name}"))
            })),
            Err(why) => _ = found.unreadable.insert(OBJECTS.to_owned(), why),
        },
        Ok(Target::Missing) => {}
        Ok(Target::File(_)) => _ = found.unreadable.insert(OBJECTS.to_owned(), "it is a file".to_owned()),
        Err(refusal) => _ = found.unreadable.insert(OBJECTS.to_owned(), refusal.to_string()),
    }
    let limit = limits.file_bytes.min(BYTES);
    let mut left = limit;
    for name in names {
        match directory.content(name.as_bytes(), left) {
            Ok(Some(content)) => {
                left = left.saturating_sub(content.len() as u64);
                found.files.insert(name, content);
            }
            Ok(None) => {}
            Err(ReadError::TooLarge) => return Err(SnapshotError::TooLarge { limit }),
            Err(ReadError::Refused(why)) => _ = found.unreadable.insert(name, why),
        }
    }
    let is_snapshot = found.files.contains_key(MANIFEST) || found.unreadable.contains_key(MANIFEST);
    if is_snapshot { Ok(found) } else { Err(SnapshotError::NotASnapshot) }
}

/// Makes a snapshot of its files.
pub fn assemble(files: Files, limits: &Limits) -> Result<LoadedSnapshot, SnapshotError> {
    assemble_found(Found { files, unreadable: BTreeMap::new() }, limits)
}

fn assemble_found(found: Found, limits: &Limits) -> Result<LoadedSnapshot, SnapshotError> {
    let Found { mut files, unreadable } = found;
    if let Some(why) = unreadable.get(MANIFEST) {
        return Err(SnapshotError::Manifest { why: format!("cannot be read: {why}") });
    }
    let manifest = files.remove(MANIFEST).ok_or(SnapshotError::NotASnapshot)?;
    let (manifest, newer) = manifest::parse(&manifest)?;
    let mut reader = Reader { files, unreadable, limits, diagnostics: Vec::new() };
    let mut budget = Budget::new();
    if newer {
        let message = format!("The schema is {}, which is newer than this version supports.", manifest.schema);
        let found =
            Diagnostic::new("SN001", Severity::Warning, message).with_help("Use a newer version to read all of it.");
        reader.diagnostics.push(found.at(place(MANIFEST)));
    }
    let mut snapshot = Snapshot::new(manifest.taken_at);
    snapshot.cluster = manifest.cluster;
    snapshot.sources = manifest.sources;
    snapshot.redacted = manifest.redacted;
    snapshot.bundles = manifest.bundles;
    snapshot.left_out = manifest.left_out;
    if let Some(listed) = manifest.series {
        let windows = listed.windows.into_iter().map(Into::into).collect();
        let entry = Entry { not_collected: listed.not_collected, digest: listed.digest };
        snapshot.series = reader.part(SERIES, &entry, |bytes, limits| {
            let most = budget::series();
            let most = ReadLimits { bytes: most.bytes.min(limits.document_bytes), ..most };
            let series = read_series(bytes, &most).map_err(|error| error.to_string())?;
            Ok(SeriesEvidence { series, windows, whole: listed.whole })
        });
    }
    for listed in manifest.objects {
        let kind = listed.group_kind();
        let file = manifest::file_of(&kind)?;
        let part = reader.part(&file, &listed.entry, |bytes, limits| {
            budget.take(bytes)?;
            let items = items(bytes, limits)?;
            items.iter().try_for_each(|item| belongs(item, &kind))?;
            Ok(Objects { selection: listed.selection, items, not_served: listed.not_served })
        });
        if snapshot.objects.insert(kind.clone(), part).is_some() {
            return Err(SnapshotError::Manifest { why: format!("{kind} is listed twice") });
        }
    }
    if let Some(entry) = manifest.crds {
        snapshot.crds = reader.part(CRDS, &entry, |bytes, limits| {
            budget.take(bytes)?;
            let items = items(bytes, limits)?;
            items.into_iter().map(|item| serde_json::from_value(item).map_err(|error| error.to_string())).collect()
        });
    }
    for name in reader.files.keys() {
        let message = "The manifest does not list this file, so it is not read.";
        reader.diagnostics.push(Diagnostic::new("SN004", Severity::Warning, message).at(place(name)));
    }
    Ok(LoadedSnapshot { snapshot, diagnostics: reader.diagnostics })
}

struct Reader<'l> {
    files: Files,
    unreadable: BTreeMap<String, String>,
    limits: &'l Limits,
    diagnostics: Vec<Diagnostic>,
}

impl Reader<'_> {
    /// A listed part, or why it is not known.
    fn part<T>(
        &mut self,
        file: &str,
        entry: &Entry,
        parse: impl FnOnce(&[u8], &Limits) -> Result<T, String>,
    ) -> Part<T> {
        let found = self.files.remove(file);
        if let Some(why) = &entry.not_collected {
            return Part::NotCollected { why: why.clone() };
        }
        let Some(bytes) = found else {
            let directory = file.split_once('/').map_or(file, |(directory, _)| directory);
            return match self.unreadable.get(file).or_else(|| self.unreadable.get(directory)).cloned() {
                Some(why) => self.unknown("SN002", file, &why),
                None => self.unknown("SN003", file, "the file is missing"),
            };
        };
        if bytes.len() > self.limits.document_bytes {
            let why = format!("it is larger than {} bytes", self.limits.document_bytes);
            return self.unknown("SN002", file, &why);
        }
        if entry.digest.as_ref().is_some_and(|digest| !digest.matches(&bytes)) {
            return self.unknown("SN002", file, "its digest differs from the one in the manifest");
        }
        match parse(&bytes, self.limits) {
            Ok(value) => Part::Collected(value),
            Err(why) => self.unknown("SN002", file, &why),
        }
    }

    fn unknown<T>(&mut self, code: &'static str, file: &str, why: &str) -> Part<T> {
        let message = format!("{file} is not used: {why}.");
        let help = "Its evidence counts as unknown; take the snapshot again.";
        self.diagnostics.push(Diagnostic::new(code, Severity::Error, message).with_help(help).at(place(file)));
        Part::NotCollected { why: format!("{file}: {why}") }
    }
}

fn place(file: &str) -> Place {
    Place { file: Some(file.to_owned()), ..Place::default() }
}

/// The values of `{"items": […]}`, each within the limits of one object.
fn items(bytes: &[u8], limits: &Limits) -> Result<Vec<Value>, String> {
    #[derive(Deserialize)]
    struct List<'b> {
        #[serde(borrow)]
        items: Vec<&'b RawValue>,
    }
    let list: List<'_> = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    let mut items = Vec::with_capacity(list.items.len());
    for item in list.items {
        // Every value but the first of a list or map has a comma before it; those in texts count too, which is
        // on the safe side. This is known before memory is taken.
        let values = item.get().bytes().filter(|byte| matches!(byte, b',' | b'[' | b'{')).count();
        if values > limits.nodes {
            return Err(format!("it holds more than {} values", limits.nodes));
        }
        items.push(serde_json::from_str(item.get()).map_err(|error| error.to_string())?);
    }
    Ok(items)
}

/// Whether an object is of the kind it stands under, and may be in a snapshot at all.
fn belongs(item: &Value, kind: &GroupKind) -> Result<(), String> {
    if !kind.is_kind_of(item) {
        return Err(format!("it contains an object that is not a {kind}"));
    }
    if is_secret_kind(&kind.kind) {
        return Err("it contains secrets, which are not read".to_owned());
    }
    Ok(())
}
