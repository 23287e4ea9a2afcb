//! Unit tests of risks: the files of `risk-tests/`.
//!
//! ```yaml
//! risk: SlowDisks                # the name of a risk
//! cases:
//! - name: a cluster with a slow disk
//!   series: |                    # metrics as text exposition; without them there is no metrics store
//!     disk_seconds{disk="a"} 2
//!   objects:                     # all objects of the kinds that rules read; without them they are unknown
//!   - {apiVersion: v1, kind: ConfigMap, metadata: {name: disks, namespace: kube-system}, data: {mode: slow}}
//!   - file: nodes.yaml           # or from a file of YAML or JSON, relative to this one
//!   conditions:                  # the same in short: objects with one condition about their present generation
//!   - {apiVersion: v1, kind: Node, name: n1, type: Ready, status: "True"}
//!   clusterId: 7c9e6679          # for rules that go by it
//!   now: 2026-05-04T09:00:00Z    # the time of metrics, objects and judgement; 1970 if nothing is said
//!   expect: match                # or: no match, unknown
//!   reason: disk a               # a part of what the proof says: why, value, what is missing, warnings
//! - name: a cluster that was seen
//!   snapshot: ../snapshots/seen  # what `clearway snapshot collect` wrote; judged as of then, or as of `now`
//!   expect: no match
//! ```
//!
//! Files and snapshots that a case refers to are inside the graph-data directory: the tests may be a stranger's.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use clearway_advice::Verdict;
use clearway_core::{Limits, Timestamp};
use clearway_sources::files::confined::ConfinedDirectory;
use clearway_yaml::ReadEvent;
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// Bytes of a file of tests, or of objects that one refers to.
const FILE_BYTES: u64 = 64 << 20;

/// The directory beside `risks/` and `blocked-edges/`; services pass over it.
pub(super) const DIRECTORY: &str = "risk-tests";

/// One file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    /// The name of a risk.
    pub(super) risk: String,
    pub(super) cases: Vec<Case>,
}

/// A cluster, and what is expected of the risk there.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Case {
    pub(super) name: String,
    pub(super) series: Option<String>,
    objects: Option<Vec<Map<String, Value>>>,
    conditions: Option<Vec<ConditionObject>>,
    pub(super) snapshot: Option<PathBuf>,
    pub(super) cluster_id: Option<String>,
    pub(super) now: Option<Timestamp>,
    pub(super) expect: Expected,
    pub(super) reason: Option<String>,
}

/// An object of which only a condition matters.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct ConditionObject {
    api_version: String,
    kind: String,
    namespace: Option<String>,
    name: String,
    #[serde(rename = "type")]
    type_: String,
    status: String,
}

/// What a case expects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(super) enum Expected {
    #[serde(rename = "match")]
    Match,
    #[serde(rename = "no match")]
    NoMatch,
    #[serde(rename = "unknown")]
    Unknown,
}

impl Expected {
    pub(super) fn word(self) -> &'static str {
        match self {
            Expected::Match => "match",
            Expected::NoMatch => "no match",
            Expected::Unknown => "unknown",
        }
    }

    /// What a verdict would have been expected as.
    pub(super) fn of(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Match => Expected::Match,
            Verdict::NoMatch => Expected::NoMatch,
            Verdict::Unknown | Verdict::Pending => Expected::Unknown,
        }
    }
}

impl Case {
    /// The objects of the case, those of files included, which are found beside the file of the case; nothing if the
    /// case does not speak of any.
    pub(super) fn all_objects(&self, graph_data: &mut ConfinedDirectory) -> Result<Option<Vec<Value>>> {
        if self.objects.is_none() && self.conditions.is_none() {
            return Ok(None);
        }
        let mut all = Vec::new();
        for object in self.objects.iter().flatten() {
            match object.get("file").and_then(Value::as_str) {
                Some(file) if object.len() == 1 => all.extend(read_objects(graph_data, Path::new(file))?),
                _ => all.push(Value::Object(object.clone())),
            }
        }
        all.extend(self.conditions.iter().flatten().map(ConditionObject::object));
        Ok(Some(all))
    }
}

impl ConditionObject {
    fn object(&self) -> Value {
        let condition = json!({"type": self.type_, "status": self.status, "observedGeneration": 1});
        let mut metadata = json!({"name": self.name, "generation": 1});
        if let (Some(namespace), Some(metadata)) = (&self.namespace, metadata.as_object_mut()) {
            metadata.insert("namespace".to_owned(), namespace.as_str().into());
        }
        let status = json!({"conditions": [condition]});
        json!({"apiVersion": self.api_version, "kind": self.kind, "metadata": metadata, "status": status})
    }
}

fn read_objects(graph_data: &mut ConfinedDirectory, path: &Path) -> Result<Vec<Value>> {
    let shown = path.display().to_string();
    let read = graph_data.read_file(Path::new(DIRECTORY), path, FILE_BYTES);
    let bytes = read.with_context(|| format!("cannot read {shown}"))?;
    let (mut objects, mut wrong) = (Vec::new(), None);
    clearway_yaml::read(bytes.as_slice(), &shown, &Limits::default(), |found| match found {
        ReadEvent::Object { root, .. } => objects.push(root.to_json()),
        ReadEvent::Problem(problem) => wrong = wrong.take().or(Some(problem)),
    });
    match wrong {
        Some(problem) => {
            let line = problem.place.position.map(|at| format!(":{}", at.line)).unwrap_or_default();
            bail!("{shown}{line}: {}", problem.message)
        }
        None => Ok(objects),
    }
}

/// The files of a graph-data directory's tests, by name; none if it has no tests.
pub(super) fn read(graph_data: &mut ConfinedDirectory) -> Result<Vec<(String, File)>> {
    let directory = Path::new(DIRECTORY);
    let listed = graph_data.list_names(directory).with_context(|| format!("cannot read {DIRECTORY}"))?;
    let mut names: Vec<PathBuf> = listed.into_iter().flatten().map(PathBuf::from).collect();
    names.retain(|path| path.extension().is_some_and(|extension| extension == "yaml" || extension == "yml"));
    let mut files = Vec::new();
    let mut left = FILE_BYTES;
    for path in &names {
        let name = directory.join(path).display().to_string();
        // All files together are as large as one may be.
        let read = graph_data.read_file(directory, path, left);
        let bytes = read.with_context(|| format!("cannot read {name}"))?;
        left = left.saturating_sub(bytes.len() as u64);
        let text = std::str::from_utf8(&bytes).with_context(|| format!("{name} is not UTF-8"))?;
        // Aliases repeat a text, so they count.
        let budget = serde_saphyr::budget! { max_total_scalar_bytes: text.len().saturating_mul(2) };
        let options = serde_saphyr::options! { budget: budget };
        let file: File =
            serde_saphyr::from_str_with_options(text, options).with_context(|| format!("{name} is not a risk test"))?;
        if file.cases.is_empty() {
            bail!("{name} has no cases");
        }
        for case in &file.cases {
            check(case).with_context(|| format!("{name}: the case `{}`", case.name))?;
        }
        files.push((name, file));
    }
    Ok(files)
}

/// A snapshot is a whole cluster, and nothing stands beside it.
fn check(case: &Case) -> Result<()> {
    let more =
        case.series.is_some() || case.objects.is_some() || case.conditions.is_some() || case.cluster_id.is_some();
    if case.snapshot.is_some() && more {
        bail!("a case with a snapshot cannot have series, objects, conditions or clusterId");
    }
    Ok(())
}
