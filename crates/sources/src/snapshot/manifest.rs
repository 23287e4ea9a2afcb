//! `snapshot.json`, and the names of the files beside it.

use clearway_core::{Digest, GroupKind, Timestamp};
use serde::{Deserialize, Serialize};

use super::{ClusterFacts, Omission, SCHEMA, Selection, SnapshotError};
use crate::prometheus::Window;

/// The file that makes a directory a snapshot.
pub const MANIFEST: &str = "snapshot.json";
pub(super) const SERIES: &str = "series.snap";
pub(super) const CRDS: &str = "crds.json";
pub(super) const OBJECTS: &str = "objects";

/// The manifest as it stands in the file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Manifest {
    pub(super) schema: String,
    pub(super) taken_at: Timestamp,
    #[serde(default)]
    pub(super) redacted: bool,
    #[serde(default)]
    pub(super) cluster: ClusterFacts,
    #[serde(default)]
    pub(super) sources: Vec<String>,
    #[serde(default)]
    pub(super) series: Option<SeriesEntry>,
    #[serde(default)]
    pub(super) objects: Vec<ObjectsEntry>,
    #[serde(default)]
    pub(super) crds: Option<Entry>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) bundles: Vec<String>,
    #[serde(default)]
    pub(super) left_out: Vec<Omission>,
}

/// What is said of every part.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Entry {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) not_collected: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) digest: Option<Digest>,
}

/// What is said of the series: an [`Entry`], and which stretches of time they are whole of. Its fields stand here as
/// they are, because to flatten them costs more than all the rest of reading a manifest.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SeriesEntry {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) not_collected: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) digest: Option<Digest>,
    #[serde(default)]
    pub(super) windows: Vec<WindowEntry>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) whole: bool,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ObjectsEntry {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) group: String,
    pub(super) kind: String,
    #[serde(flatten)]
    pub(super) entry: Entry,
    #[serde(default)]
    pub(super) selection: Selection,
    #[serde(default, rename = "notServed", skip_serializing_if = "std::ops::Not::not")]
    pub(super) not_served: bool,
}

impl ObjectsEntry {
    /// The kind of the objects.
    pub(super) fn group_kind(&self) -> GroupKind {
        GroupKind { group: self.group.clone(), kind: self.kind.clone() }
    }
}

/// A window; times are in milliseconds.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct WindowEntry {
    selector: String,
    end: i64,
    width: i64,
    #[serde(default)]
    instant: bool,
}

impl From<&Window> for WindowEntry {
    fn from(window: &Window) -> Self {
        let Window { selector, end, width, instant } = window.clone();
        WindowEntry { selector, end, width, instant }
    }
}

impl From<WindowEntry> for Window {
    fn from(entry: WindowEntry) -> Self {
        let WindowEntry { selector, end, width, instant } = entry;
        Window { selector, end, width, instant }
    }
}

/// The name of the file with the objects of a kind. It is made from the kind and never read from a manifest, so that
/// no manifest names a file elsewhere.
pub(super) fn file_of(kind: &GroupKind) -> Result<String, SnapshotError> {
    let plain = |text: &str| {
        text.len() <= 200
            && !text.starts_with(['.', '-'])
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-'))
    };
    // A dot in the kind would make two kinds of one name.
    if kind.kind.is_empty() || kind.kind.contains('.') || !plain(&kind.kind) || !plain(&kind.group) {
        return Err(SnapshotError::Kind { kind: kind.to_string().chars().take(100).collect() });
    }
    Ok(format!("{OBJECTS}/{kind}.json"))
}

/// Reads a manifest, and says whether its schema is newer than what is known here.
pub(super) fn parse(bytes: &[u8]) -> Result<(Manifest, bool), SnapshotError> {
    #[derive(Deserialize)]
    struct Head {
        schema: String,
    }
    let wrong = |error: serde_json::Error| SnapshotError::Manifest { why: error.to_string() };
    let read: Result<Manifest, _> = serde_json::from_slice(bytes);
    // What another schema has may not be readable, and then that it is another one is the reason.
    let schema = match &read {
        Ok(manifest) => manifest.schema.clone(),
        Err(_) => serde_json::from_slice::<Head>(bytes).map_err(wrong)?.schema,
    };
    let numbers = schema.split_once('.').and_then(|(major, minor)| Some((number(major)?, number(minor)?)));
    match numbers {
        Some((major, minor)) if major == SCHEMA.0 => Ok((read.map_err(wrong)?, minor > SCHEMA.1)),
        _ => Err(SnapshotError::Schema { schema: schema.chars().take(40).collect() }),
    }
}

fn number(text: &str) -> Option<u32> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}
