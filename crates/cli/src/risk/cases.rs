//! Unit tests of risks: the files of `risk-tests/`, and the cases that every risk has.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use clearway_advice::Verdict;
use serde::Deserialize;

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
    /// The cluster's metrics as text exposition; without them there is nobody to ask.
    pub(super) series: Option<String>,
    /// The cluster's id, for rules that go by it.
    pub(super) cluster_id: Option<String>,
    pub(super) expect: Expected,
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

/// The files of a graph-data directory's tests, by name; none if it has no tests.
pub(super) fn read(graph_data: &Path) -> Result<Vec<(String, File)>> {
    let directory = graph_data.join(DIRECTORY);
    if !directory.is_dir() {
        return Ok(Vec::new());
    }
    let entries = std::fs::read_dir(&directory).with_context(|| format!("{} cannot be read", directory.display()))?;
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "yaml" || extension == "yml"));
    paths.sort();
    paths
        .iter()
        .map(|path| {
            let name = path.strip_prefix(graph_data).unwrap_or(path).display().to_string();
            let text = std::fs::read_to_string(path).with_context(|| format!("{name} cannot be read"))?;
            let file: File = serde_saphyr::from_str(&text).with_context(|| format!("{name} is no test of a risk"))?;
            if file.cases.is_empty() {
                bail!("{name} has no cases");
            }
            Ok((name, file))
        })
        .collect()
}
