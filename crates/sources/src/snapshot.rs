//! A snapshot: evidence taken from a cluster, to be judged again without it (U16).
//!
//! # The form
//!
//! A directory, or the same as a tar archive, packed with gzip or not:
//!
//! | file | content |
//! |---|---|
//! | `snapshot.json` | the manifest: what follows |
//! | `series.snap` | series with their samples, in the form of `clearway_promql::read::write_snapshot` |
//! | `objects/KIND.GROUP.json` | objects of one kind (`objects/KIND.json` in the core group), as `{"items": […]}` |
//! | `crds.json` | names and versions of custom resource definitions, as `{"items": […]}` |
//!
//! The manifest says `schema` (`MAJOR.MINOR`, now 1.0), `takenAt`, `redacted`, `cluster` (`id`, `version`, `arch`,
//! `channel`, `kubernetesVersion`), `sources` (who was asked, in words), and for each part what it holds and the digest of its file:
//! `series` with the `windows` that are complete (or `whole`, if there are no other series), `objects` with `group`, `kind` and what was selected, `crds`.
//! `bundles` names the bundles whose CRDs are among the objects. `leftOut` lists what is not there, and why. A part that was not collected has `notCollected` with the reason.
//!
//! # What may be concluded from it
//!
//! A part that is not listed, whose file is missing, or whose file is damaged is *not collected*, which is a reason to
//! know nothing, and never empty, which would be a fact about the cluster (U3). A reader takes a newer minor schema and
//! says so; it refuses another major one. Digests are optional, so that a snapshot can be written by hand.
//!
//! # What is never in it
//!
//! Secrets and tokens as objects, `data` of any object but a `ConfigMap`, passwords and tokens in fields, environments and addresses,
//! `managedFields` and the last applied configuration: [`write()`] and [`to_files`] remove them whatever they are given.
//! [`redact`] also replaces names. Of `ConfigMap`s only those are collected that a rule names, and of their data what looks
//! like a secret is removed.

mod budget;
mod collect;
mod evidence;
mod manifest;
mod read;
mod redact;
mod strip;
mod write;

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use clearway_core::{Arch, GroupKind, Timestamp, Version};
use clearway_promql::{Millis, Series};
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub(crate) use budget::Budget;
pub use budget::{COLLECTED_BYTES, COLLECTED_MEMORY, SNAPSHOT_CAPS};
pub use collect::crds;
pub use evidence::object_evidence;
pub use manifest::MANIFEST;
pub use read::{Files, LoadedSnapshot, assemble, read, read_archive, read_below};
pub use redact::{RedactOptions, redact};
pub use strip::strip;
pub use write::{to_archive, to_files, write};

use crate::collector::UnreadReason;
use crate::files::confined::READS;
use crate::prometheus::{CollectedSeries, QueryWindow, QueryWindows, SkippedWindow, Window};

/// The schema that is written: its first number, and the second.
pub const SCHEMA: (u32, u32) = (1, 0);

/// Evidence of a cluster. Plain data: what is decided from it is decided elsewhere.
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// When it was taken; evidence is as old as this.
    pub taken_at: Timestamp,
    /// Which cluster it is of.
    pub cluster: ClusterFacts,
    /// Who was asked, in words and without credentials.
    pub sources: Vec<String>,
    /// Whether names were replaced. The cluster id is another one then.
    pub redacted: bool,
    /// Series with their samples.
    pub series: Part<SeriesEvidence>,
    /// Objects by their kind. A kind that is not among them was not collected.
    pub objects: BTreeMap<GroupKind, Part<Objects>>,
    /// Custom resource definitions.
    pub crds: Part<Vec<Crd>>,
    /// Bundles whose CRDs are all among the objects, by the domain of their annotations. One without any is not installed.
    pub bundles: Vec<String>,
    /// What is not in it although it was wanted.
    pub left_out: Vec<Omission>,
}

impl Snapshot {
    /// A snapshot in which nothing was collected yet.
    pub fn new(taken_at: Timestamp) -> Self {
        Snapshot {
            taken_at,
            cluster: ClusterFacts::default(),
            sources: Vec::new(),
            redacted: false,
            series: Part::unasked(),
            objects: BTreeMap::new(),
            crds: Part::unasked(),
            bundles: Vec::new(),
            left_out: Vec::new(),
        }
    }

    /// Puts in what a Prometheus gave. If it gave nothing of what was wanted, the series are not collected.
    pub fn set_series(&mut self, collected: CollectedSeries) {
        let CollectedSeries { series, complete, left_out } = collected;
        // A snapshot is handed to others, and what Prometheus says may quote values of the cluster.
        let why = |left: &SkippedWindow| left.why.failure().message;
        let first = left_out.first().map(why);
        self.left_out.extend(left_out.into_iter().map(|left| {
            let what = format!("{}[{}]", left.window.selector, Millis(left.window.width));
            Omission { what, why: why(&left) }
        }));
        self.series = match first {
            Some(why) if complete.is_empty() => Part::NotCollected { why },
            _ => Part::Collected(SeriesEvidence { series, windows: complete, whole: false }),
        };
    }

    /// The objects of a kind, or why they are not known.
    pub fn objects_of(&self, group: &str, kind: &str) -> Result<&Objects, &str> {
        let key = GroupKind { group: group.to_owned(), kind: kind.to_owned() };
        self.objects.get(&key).map_or(Err(UNASKED), Part::collected)
    }
}

/// A part of the evidence: there, or not known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part<T> {
    /// It was collected; if it is empty, then so is the cluster.
    Collected(T),
    /// It was not.
    NotCollected {
        /// Why, in a sentence.
        why: String,
    },
}

const UNASKED: &str = UnreadReason::NotInSnapshot.as_str();

impl<T> Part<T> {
    fn unasked() -> Self {
        Part::NotCollected { why: UNASKED.to_owned() }
    }

    /// What was collected, or why it was not.
    pub fn collected(&self) -> Result<&T, &str> {
        match self {
            Part::Collected(value) => Ok(value),
            Part::NotCollected { why } => Err(why),
        }
    }
}

/// What is said of a cluster itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ClusterFacts {
    /// Its id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The version it runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<Version>,
    /// Its architecture.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arch: Option<Arch>,
    /// The channel it follows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub channel: Option<String>,
    /// The version that its API server reports.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kubernetes_version: Option<String>,
}

/// Series, and of which stretches of time they are whole.
#[derive(Debug, Clone)]
pub struct SeriesEvidence {
    /// The series.
    pub series: Series,
    /// The windows that were collected. A selector in none of them is not known to have no series.
    pub windows: Vec<Window>,
    /// Whether there are no other series than these: whoever wrote the snapshot vouches for it, as for a test.
    pub whole: bool,
}

impl SeriesEvidence {
    /// Whether all samples of a window are there, so that what is not there was not in the cluster either.
    pub fn covers(&self, wanted: &Window) -> bool {
        self.has(&wanted.selector, wanted.end, wanted.width, wanted.instant)
    }

    /// The selector of a window that a query needs at a time, and of which not all samples are there; nothing if all are.
    pub fn missing_selector<'n>(&self, needs: &'n QueryWindows, at: i64) -> Option<&'n str> {
        let lacking = |need: &&QueryWindow| !self.has(&need.selector, need.end.at(at), need.width, need.instant);
        needs.iter().find(lacking).map(|need| need.selector.as_str())
    }

    fn has(&self, selector: &str, end: i64, width: i64, instant: bool) -> bool {
        let covers = |known: &Window| {
            known.end >= end
                && known.end.saturating_sub(known.width) <= end.saturating_sub(width)
                // Which series had ended is known for one time only.
                && (!instant || (known.instant && known.end == end))
                && known.selector == selector
        };
        self.whole || self.windows.iter().any(covers)
    }
}

/// Objects of one kind.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Objects {
    /// Which were asked for.
    pub selection: Selection,
    /// The objects as the API server gave them, without what is never kept.
    pub items: Vec<Value>,
    /// Whether the cluster does not serve the kind, which is why there are none.
    pub not_served: bool,
}

/// Which objects of a kind were asked for: all, unless something is said.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Selection {
    /// Only those in this namespace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Only this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Only those with these labels, as a label selector.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub labels: Option<String>,
    /// Only these, and of each it is known whether it is there.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub only: Vec<NameSelector>,
    /// Those that were asked for by name and could not be read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_read: Vec<UnreadName>,
}

/// An object that could not be read.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct UnreadName {
    /// Which one.
    #[serde(flatten)]
    pub name: NameSelector,
    /// Why, in the words of [`UnreadReason`].
    pub why: String,
}

/// Selects objects of a kind by their name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct NameSelector {
    /// The namespace; `None` for objects of that name in all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// The name.
    pub name: String,
}

impl fmt::Display for NameSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(namespace) = &self.namespace {
            write!(f, "{namespace}/")?;
        }
        f.write_str(&self.name)
    }
}

impl NameSelector {
    /// Whether an object has the name, and is in the namespace if one is given.
    pub fn selects(&self, object: &Value) -> bool {
        let meta = |key: &str| object["metadata"][key].as_str().unwrap_or_default();
        meta("name") == self.name && self.namespace.as_ref().is_none_or(|namespace| meta("namespace") == namespace)
    }
}

/// A custom resource definition, as far as rules ask for it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Crd {
    /// Its name, `gateways.gateway.networking.k8s.io`.
    pub name: String,
    /// The group it defines.
    pub group: String,
    /// The kind it defines.
    pub kind: String,
    /// Its versions in the order of the definition.
    pub versions: Vec<CrdVersion>,
    /// The versions in which objects may still be stored.
    #[serde(default)]
    pub stored_versions: Vec<String>,
    /// Its annotations whose names end in `/bundle-version` or `/channel`.
    #[serde(default)]
    pub annotations: BTreeMap<String, String>,
}

/// A version of a custom resource definition.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CrdVersion {
    /// Its name.
    pub name: String,
    /// Whether it is served.
    pub served: bool,
    /// Whether objects are stored in it.
    pub storage: bool,
}

impl Crd {
    /// What is kept of a definition; nothing if the object is none.
    pub fn of(object: &Value) -> Option<Crd> {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let version = |version: &Value| {
            let flag = |name: &str| version[name].as_bool();
            Some(CrdVersion { name: text(&version["name"])?, served: flag("served")?, storage: flag("storage")? })
        };
        let annotations = object["metadata"]["annotations"].as_object().into_iter().flatten();
        let kept = |name: &str| name.ends_with("/bundle-version") || name.ends_with("/channel");
        Some(Crd {
            name: text(&object["metadata"]["name"])?,
            group: text(&object["spec"]["group"])?,
            kind: text(&object["spec"]["names"]["kind"])?,
            versions: object["spec"]["versions"].as_array()?.iter().map(version).collect::<Option<_>>()?,
            stored_versions: object["status"]["storedVersions"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(text)
                .collect(),
            annotations: annotations
                .filter(|(name, _)| kept(name))
                .filter_map(|(name, value)| Some((name.clone(), text(value)?)))
                .collect(),
        })
    }
}

/// Something that was wanted and is not there.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Omission {
    /// What.
    pub what: String,
    /// Why.
    pub why: String,
}

/// Why a snapshot is not read or written. What is wrong with one part only is a diagnostic.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    /// The system does not give or take it.
    #[error("{}: {error}", path.display())]
    Io {
        /// Which file or directory.
        path: PathBuf,
        /// What the system said.
        error: std::io::Error,
    },
    /// The directory does not come to rest.
    #[error("{}: it changed during each of {} reads; wait until it is written", path.display(), READS)]
    Changing {
        /// Which directory.
        path: PathBuf,
    },
    /// It is something else.
    #[error("not a snapshot: it has no `snapshot.json`")]
    NotASnapshot,
    /// It is neither a directory nor an archive.
    #[error("not a snapshot: neither a directory nor a tar archive (optionally gzip-compressed)")]
    NotAnArchive,
    /// The archive ends too early, was changed on the way, or holds a file twice.
    #[error("the archive is damaged: {why}")]
    Damaged {
        /// What is wrong.
        why: String,
    },
    /// It is larger than is read.
    #[error("the snapshot is larger than {limit} bytes")]
    TooLarge {
        /// The limit.
        limit: u64,
    },
    /// It has more of something else than is read.
    #[error("the archive has more than {limit} {what}")]
    TooMany {
        /// Of what, such as `entries`.
        what: &'static str,
        /// The limit.
        limit: u64,
    },
    /// The manifest is none.
    #[error("snapshot.json: {why}")]
    Manifest {
        /// What is wrong with it.
        why: String,
    },
    /// Its schema is not known.
    #[error("snapshot.json: the schema is {schema}, but this version reads {}.x; use the version that wrote it", SCHEMA.0)]
    Schema {
        /// What it says.
        schema: String,
    },
    /// It would be written over something.
    #[error("{} exists; name a directory that does not exist", path.display())]
    Exists {
        /// The directory.
        path: PathBuf,
    },
    /// A kind whose name is no part of a file name.
    #[error("`{kind}` is not a kind of objects")]
    Kind {
        /// Its name.
        kind: String,
    },
    /// Series cannot be put together again.
    #[error("the series cannot be rewritten: {why}")]
    Series {
        /// What is wrong.
        why: String,
    },
}

#[cfg(test)]
mod tests;
