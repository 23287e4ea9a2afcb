//! Reads a snapshot from a directory, an archive, or files in memory. What is wrong with one part makes that part
//! unknown and is said; only what is wrong with the whole is an error.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::path::{Component, Path};

use clearway_core::{Diagnostic, Limits, Place, Severity};
use clearway_promql::read::{ReadLimits, snapshot as read_series};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::manifest::{self, CRDS, Entry, MANIFEST, OBJECTS, SERIES};
use super::{GroupKind, Objects, Part, SeriesEvidence, Snapshot, SnapshotError};
use crate::graph_data::{ArchiveError, Opened, damaged};

/// Values of all objects of a file; a cluster of fifty thousand pods has some ten million.
const VALUES: usize = 40_000_000;

/// Bytes of a file that are made room for before they are read.
const LARGE: u64 = 16 << 20;

/// The files of a snapshot by their names in it.
pub type Files = BTreeMap<String, Vec<u8>>;

/// A snapshot, and what is to be said about it.
#[derive(Debug)]
pub struct Loaded {
    /// The snapshot.
    pub snapshot: Snapshot,
    /// What was odd: a newer schema, parts that are damaged or missing, files that nothing lists.
    pub diagnostics: Vec<Diagnostic>,
}

/// Reads a snapshot from a directory or an archive.
pub fn read(path: &Path, limits: &Limits) -> Result<Loaded, SnapshotError> {
    let failed = |error| SnapshotError::Io { path: path.to_owned(), error };
    if fs::metadata(path).map_err(failed)?.is_dir() {
        return assemble(directory(path, limits)?, limits);
    }
    read_archive(fs::File::open(path).map_err(failed)?, limits)
}

/// Reads a snapshot from an archive: tar, packed with gzip or not. It may stand in a directory of the archive. Nothing
/// is written to disk, so a path that leads out of the archive leads nowhere; such entries are passed over.
pub fn read_archive(stream: impl std::io::Read, limits: &Limits) -> Result<Loaded, SnapshotError> {
    let opened = Opened::new(stream, limits).map_err(archive_error)?;
    if !opened.is_archive() {
        return Err(SnapshotError::NotAnArchive);
    }
    let failed = |error: std::io::Error| archive_error(damaged(&error, limits.file_bytes));
    let mut archive = tar::Archive::new(opened.bytes());
    let mut found: BTreeMap<Vec<String>, Files> = BTreeMap::new();
    for entry in archive.entries().map_err(failed)? {
        let mut entry = entry.map_err(failed)?;
        if !entry.header().entry_type().is_file() {
            continue;
        }
        let path = entry.path().map_err(failed)?.into_owned();
        let Some((root, name)) = split(&path) else { continue };
        let mut content = Vec::new();
        entry.read_to_end(&mut content).map_err(failed)?;
        if let Some(_twice) = found.entry(root).or_default().insert(name, content) {
            // Which of the two is meant cannot be told.
            return Err(SnapshotError::Damaged { why: format!("{} stands in it twice", path.display()) });
        }
    }
    let roots = found.into_iter().filter(|(_, files)| files.contains_key(MANIFEST));
    let outermost = roots.min_by_key(|(root, _)| root.len());
    outermost.map_or(Err(SnapshotError::NotASnapshot), |(_, files)| assemble(files, limits))
}

fn archive_error(error: ArchiveError) -> SnapshotError {
    match error {
        ArchiveError::NotAnArchive | ArchiveError::NoGraphData => SnapshotError::NotAnArchive,
        ArchiveError::Damaged { why } => SnapshotError::Damaged { why },
        ArchiveError::TooLarge { limit } => SnapshotError::TooLarge { limit },
    }
}

/// A path as the directory it would be a snapshot in, and its name there; nothing for files of no interest.
fn split(path: &Path) -> Option<(Vec<String>, String)> {
    let mut parts = Vec::new();
    for part in path.components() {
        match part {
            Component::Normal(part) => parts.push(part.to_str()?.to_owned()),
            Component::CurDir | Component::RootDir => {}
            Component::ParentDir | Component::Prefix(_) => return None,
        }
    }
    let name = parts.pop()?;
    if matches!(name.as_str(), MANIFEST | SERIES | CRDS) {
        return Some((parts, name));
    }
    let in_objects = parts.pop()? == OBJECTS && name.strip_suffix(".json").is_some();
    in_objects.then(|| (parts, format!("{OBJECTS}/{name}")))
}

fn directory(root: &Path, limits: &Limits) -> Result<Files, SnapshotError> {
    let mut names: Vec<String> = [MANIFEST, SERIES, CRDS].map(str::to_owned).to_vec();
    let objects = root.join(OBJECTS);
    if objects.is_dir() {
        let failed = |error| SnapshotError::Io { path: objects.clone(), error };
        for entry in fs::read_dir(&objects).map_err(failed)? {
            let name = entry.map_err(failed)?.file_name();
            if let Some(name) =
                name.to_str().filter(|name| name.strip_suffix(".json").is_some() && !name.starts_with('.'))
            {
                names.push(format!("{OBJECTS}/{name}"));
            }
        }
    }
    let (mut files, mut left) = (Files::new(), limits.file_bytes);
    for name in names {
        let path = root.join(&name);
        // What is no file may be a pipe that nobody writes to.
        let Some(found) = fs::metadata(&path).ok().filter(fs::Metadata::is_file) else { continue };
        let failed = |error| SnapshotError::Io { path: path.clone(), error };
        // What it says of its size saves steps, and is not believed.
        let mut content = Vec::with_capacity(usize::try_from(found.len().min(LARGE)).unwrap_or_default());
        let file = fs::File::open(&path).map_err(failed)?;
        file.take(left.saturating_add(1)).read_to_end(&mut content).map_err(failed)?;
        let too_large = SnapshotError::TooLarge { limit: limits.file_bytes };
        left = left.checked_sub(content.len() as u64).ok_or(too_large)?;
        files.insert(name, content);
    }
    if files.contains_key(MANIFEST) { Ok(files) } else { Err(SnapshotError::NotASnapshot) }
}

/// Makes a snapshot of its files.
pub fn assemble(mut files: Files, limits: &Limits) -> Result<Loaded, SnapshotError> {
    let manifest = files.remove(MANIFEST).ok_or(SnapshotError::NotASnapshot)?;
    let (manifest, newer) = manifest::parse(&manifest)?;
    let mut reader = Reader { files, limits, diagnostics: Vec::new() };
    if newer {
        let message = format!("The schema is {}, which is newer than what is known here.", manifest.schema);
        let found =
            Diagnostic::new("SN001", Severity::Warning, message).with_help("Use a newer version to read all of it.");
        reader.diagnostics.push(found.at(place(MANIFEST)));
    }
    let mut snapshot = Snapshot::new(manifest.taken_at);
    snapshot.cluster = manifest.cluster;
    snapshot.sources = manifest.sources;
    snapshot.redacted = manifest.redacted;
    snapshot.left_out = manifest.left_out;
    if let Some(listed) = manifest.series {
        let windows = listed.windows.into_iter().map(Into::into).collect();
        let entry = Entry { not_collected: listed.not_collected, digest: listed.digest };
        snapshot.series = reader.part(SERIES, &entry, |bytes, limits| {
            let limits = ReadLimits { bytes: limits.document_bytes, ..ReadLimits::default() };
            let series = read_series(bytes, &limits).map_err(|error| error.to_string())?;
            Ok(SeriesEvidence { series, windows, whole: listed.whole })
        });
    }
    for listed in manifest.objects {
        let (file, kind) = (manifest::file_of(&listed.kind)?, listed.kind);
        let part = reader.part(&file, &listed.entry, |bytes, limits| {
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
            let items = items(bytes, limits)?;
            items.into_iter().map(|item| serde_json::from_value(item).map_err(|error| error.to_string())).collect()
        });
    }
    for name in reader.files.keys() {
        let message = "The manifest does not list this file, so it is not read.";
        reader.diagnostics.push(Diagnostic::new("SN004", Severity::Warning, message).at(place(name)));
    }
    Ok(Loaded { snapshot, diagnostics: reader.diagnostics })
}

struct Reader<'l> {
    files: Files,
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
            return self.unknown("SN003", file, "the file is missing");
        };
        if bytes.len() > self.limits.document_bytes {
            let why = format!("it is larger than {} bytes", self.limits.document_bytes);
            return self.unknown("SN002", file, &why);
        }
        if entry.digest.as_ref().is_some_and(|digest| !digest.matches(&bytes)) {
            return self.unknown("SN002", file, "it is not what the manifest says: its digest is another");
        }
        match parse(&bytes, self.limits) {
            Ok(value) => Part::Collected(value),
            Err(why) => self.unknown("SN002", file, &why),
        }
    }

    fn unknown<T>(&mut self, code: &'static str, file: &str, why: &str) -> Part<T> {
        let message = format!("{file} is not used: {why}.");
        let help = "What it would say is taken as not known; take the snapshot again.";
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
    let mut total: usize = 0;
    let mut items = Vec::with_capacity(list.items.len());
    for item in list.items {
        // Every value but the first of a list or map has a comma before it; those in texts count too, which is
        // on the safe side. This is known before memory is taken.
        let values = item.get().bytes().filter(|byte| matches!(byte, b',' | b'[' | b'{')).count();
        total = total.saturating_add(values);
        if values > limits.nodes || total > VALUES {
            return Err(format!(
                "it holds more than {} values",
                if values > limits.nodes { limits.nodes } else { VALUES }
            ));
        }
        items.push(serde_json::from_str(item.get()).map_err(|error| error.to_string())?);
    }
    Ok(items)
}

/// Whether an object is of the kind it stands under, and may be in a snapshot at all.
fn belongs(item: &Value, kind: &GroupKind) -> Result<(), String> {
    let group = item["apiVersion"].as_str().map(|version| version.rsplit_once('/').map_or("", |(group, _)| group));
    let found = item["kind"].as_str();
    if group != Some(&kind.group) || found != Some(&kind.kind) {
        return Err(format!("it holds an object that is no {kind}"));
    }
    if kind.object_kind().is_secret() {
        return Err("it holds secrets, which are not read".to_owned());
    }
    Ok(())
}
