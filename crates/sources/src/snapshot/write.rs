//! Writes a snapshot: the same snapshot is the same bytes.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;

use clearway_core::{Digest, is_secret_kind};
use clearway_promql::read::write_snapshot as write_series;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Map, Value, json};

use super::budget::{BYTES, Budget, MARGIN};
use super::manifest::{CRDS, Entry, MANIFEST, Manifest, ObjectsEntry, SERIES, SeriesEntry, file_of};
use super::strip::strip_text;
use crate::collector::UnreadReason;
use crate::files::file_tree::printable;

use super::{Files, Omission, Part, SCHEMA, Selection, Snapshot, SnapshotError, strip};

/// The files of a snapshot, without what is never kept. Objects that are more than a snapshot may hold are left out, and
/// said not to be collected: it could not be read again.
pub fn to_files(snapshot: &Snapshot) -> Result<Files, SnapshotError> {
    let bytes = usize::try_from(BYTES).unwrap_or(usize::MAX).saturating_sub(MARGIN);
    files_within(snapshot, bytes, Budget::new())
}

/// The files, with at most so many bytes of series and objects.
pub(super) fn files_within(snapshot: &Snapshot, bytes: usize, mut budget: Budget) -> Result<Files, SnapshotError> {
    let mut files = Files::new();
    let series =
        listed(&snapshot.series, |evidence| file(&mut files, SERIES, write_series(&evidence.series).into_bytes()));
    let mut windows: Vec<_> = snapshot.series.collected().map(|evidence| evidence.windows.clone()).unwrap_or_default();
    windows.sort();
    let whole = snapshot.series.collected().is_ok_and(|evidence| evidence.whole);
    let Entry { not_collected, digest } = series;
    let series = SeriesEntry { not_collected, digest, windows: windows.iter().map(Into::into).collect(), whole };
    let mut objects = Vec::new();
    let mut left = bytes.saturating_sub(files.values().map(Vec::len).sum());
    let mut unnamed = Vec::new();
    for (kind, part) in &snapshot.objects {
        let Ok(name) = file_of(kind) else {
            let why = "it is not a kind that an API server has".to_owned();
            unnamed.push(Omission { what: printable(kind.to_string().as_bytes()), why });
            continue;
        };
        let entry = if is_secret_kind(&kind.kind) {
            Entry { not_collected: Some(UnreadReason::Unsupported.to_string()), digest: None }
        } else {
            listed(part, |objects| {
                // One copy at a time: all objects together may take much of the memory there is.
                let stripped = objects.items.iter().cloned().filter_map(strip).map(sorted);
                let mut items: Vec<Line> = stripped.map(|item| Line::of(&item)).collect();
                items.sort();
                file(&mut files, &name, lines(items.iter().map(|line| line.text.as_str())))
            })
        };
        let size = files.get(&name).map_or(0, Vec::len);
        let too_large = || format!("the snapshot would be larger than {BYTES} bytes");
        let fits = left.checked_sub(size).ok_or_else(too_large).and_then(|rest| {
            files.get(&name).map_or(Ok(()), |content| budget.take(content))?;
            Ok(rest)
        });
        let entry = match fits {
            Ok(rest) => {
                left = rest;
                entry
            }
            Err(why) => {
                files.remove(&name);
                Entry { not_collected: Some(why), digest: None }
            }
        };
        let selection = part.collected().map_or_else(|_| Selection::default(), |objects| objects.selection.clone());
        let not_served = part.collected().is_ok_and(|objects| objects.not_served);
        objects.push(ObjectsEntry { group: kind.group.clone(), kind: kind.kind.clone(), entry, selection, not_served });
    }
    let crds = listed(&snapshot.crds, |crds| {
        let mut crds = crds.clone();
        crds.sort();
        let texts: Vec<String> = crds.iter().map(|crd| json!(crd).to_string()).collect();
        file(&mut files, CRDS, lines(texts.iter().map(String::as_str)))
    });
    let omission = |out: &Omission| Omission { what: strip_text(&out.what), why: strip_text(&out.why) };
    let mut left_out: Vec<Omission> = snapshot.left_out.iter().chain(&unnamed).map(omission).collect();
    left_out.sort();
    let manifest = Manifest {
        schema: format!("{}.{}", SCHEMA.0, SCHEMA.1),
        taken_at: snapshot.taken_at,
        redacted: snapshot.redacted,
        cluster: snapshot.cluster.clone(),
        sources: snapshot.sources.iter().map(|source| strip_text(source)).collect(),
        series: Some(series),
        objects,
        crds: Some(crds),
        bundles: snapshot.bundles.clone(),
        left_out,
    };
    let wrong = |error: serde_json::Error| SnapshotError::Manifest { why: error.to_string() };
    let mut text = serde_json::to_vec_pretty(&manifest).map_err(wrong)?;
    text.push(b'\n');
    files.insert(MANIFEST.to_owned(), text);
    Ok(files)
}

/// Writes a snapshot into a new directory, which is there whole or not at all.
pub fn write(snapshot: &Snapshot, directory: &Path) -> Result<(), SnapshotError> {
    let files = to_files(snapshot)?;
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |error| SnapshotError::Io { path, error }
    };
    // An empty directory is as good as none; anything else is somebody's.
    let empty = |path: &Path| fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none());
    if fs::symlink_metadata(directory).is_ok() && !empty(directory) {
        return Err(SnapshotError::Exists { path: directory.to_owned() });
    }
    let parent = directory.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::create_dir_all(parent).map_err(failed(parent))?;
    // On the same file system as the directory, and for nobody else to read.
    let scratch = tempfile::Builder::new().prefix(".snapshot-").tempdir_in(parent).map_err(failed(parent))?;
    for (name, content) in &files {
        let path = scratch.path().join(name);
        let written = path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| {
            let mut file = File::create(&path)?;
            file.write_all(content)?;
            file.sync_all()
        });
        written.map_err(failed(&directory.join(name)))?;
    }
    fs::rename(scratch.path(), directory).map_err(failed(directory))?;
    // It has another name now, and is not to be removed.
    let _ = scratch.keep();
    Ok(())
}

/// The files of a snapshot as a tar archive packed with gzip.
pub fn to_archive(snapshot: &Snapshot) -> Result<Vec<u8>, SnapshotError> {
    let failed = |error: io::Error| SnapshotError::Damaged { why: error.to_string() };
    // The header of gzip has no time and no name unless it is given them.
    let mut archive = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::default()));
    for (name, content) in to_files(snapshot)? {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(0o600);
        header.set_mtime(0);
        archive.append_data(&mut header, &name, content.as_slice()).map_err(failed)?;
    }
    archive.into_inner().and_then(GzEncoder::finish).map_err(failed)
}

/// What the manifest says of a part, whose file is written if it was collected.
fn listed<T>(part: &Part<T>, write: impl FnOnce(&T) -> Digest) -> Entry {
    match part {
        Part::Collected(value) => Entry { not_collected: None, digest: Some(write(value)) },
        Part::NotCollected { why } => Entry { not_collected: Some(strip_text(why)), digest: None },
    }
}

fn file(files: &mut Files, name: &str, content: Vec<u8>) -> Digest {
    let digest = Digest::sha256(&content);
    files.insert(name.to_owned(), content);
    digest
}

/// One item a line, so that two snapshots can be compared.
fn lines<'t>(items: impl Iterator<Item = &'t str>) -> Vec<u8> {
    let mut text = String::from("{\"items\":[");
    for (index, item) in items.enumerate() {
        text.push_str(if index == 0 { "\n" } else { ",\n" });
        text.push_str(item);
    }
    text.push_str("\n]}\n");
    text.into_bytes()
}

/// An object as it is written. Objects are in the order of namespace and name, and of all they say where that is not enough.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Line {
    namespace: String,
    name: String,
    text: String,
}

impl Line {
    fn of(item: &Value) -> Self {
        let text = |name: &str| item["metadata"][name].as_str().unwrap_or_default().to_owned();
        Line { namespace: text("namespace"), name: text("name"), text: item.to_string() }
    }
}

/// The same value with its fields in the order of their names, whatever order the reader of JSON keeps.
fn sorted(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<(String, Value)> =
                fields.into_iter().map(|(name, value)| (name, sorted(value))).collect();
            fields.sort_by(|(one, _), (other, _)| one.cmp(other));
            Value::Object(Map::from_iter(fields))
        }
        Value::Array(items) => Value::Array(items.into_iter().map(sorted).collect()),
        other => other,
    }
}
