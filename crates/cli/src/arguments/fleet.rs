//! Arguments of `clearway fleet`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{ArchOption, DataOutput, EvidenceTime, GraphName, GraphSource, PrometheusAccess, QueryLimits};

#[derive(Debug, Subcommand)]
pub(crate) enum Fleet {
    /// Show the recommended updates of each cluster, and the number of clusters per risk
    #[command(
        disable_version_flag = true,
        after_help = "\
Examples:
  clearway fleet assess --graph graph-data --snapshots snapshots/
  clearway fleet assess --graph https://updates.example.com/api/upgrades_info --snapshots a b.tar.gz -o json
  clearway fleet assess --graph graph-data --channel stable-1.5 --prometheus https://thanos.example.com

Snapshots are evaluated at the current time; --as-of snapshot evaluates each at the time it was taken. --prometheus is a
store with the metrics of many clusters: each distinct rule is queried once for all of them.
The state of a cluster is `recommended` (it has a recommended update), `newest` (its channel has no later version),
`unknown` (no update is recommended, but some are Unknown), `stranded` (no update is recommended) or `absent` (its version
or channel is not in the graph). `clearway graph stranded` lists stranded versions.

Exit code 0: every cluster is `recommended` or `newest`; 1: some cluster is `stranded` or `absent`; 2: none is, but some are
`unknown`, or some evidence is invalid or unreachable; 3: could not run."
    )]
    Assess(Box<FleetAssess>),
    /// Compare the effect of a proposed graph and the published graph on clusters
    #[command(
        disable_version_flag = true,
        after_help = "\
Examples:
  clearway fleet diff --graph graph-data --against HEAD~1 --snapshots snapshots/
  clearway fleet diff --graph proposed/ --against https://updates.example.com/api/upgrades_info --snapshots snapshots/
  clearway fleet diff --graph graph-data --against main --channel stable-1.5 --prometheus https://thanos.example.com -o json

--graph is the proposed graph, --against the published graph. An update is newly blocked if it was recommended and is not
recommended or not offered any more, newly unknown if it was recommended and is Unknown now, and newly recommended if it is
recommended now and was not. A cluster is newly stranded if it has no recommended update any more.

Exit code 0: nothing gets worse; 1: some cluster is newly blocked or stranded; 2: none is, but some update is newly
unknown, or some evidence is invalid or unreachable; 3: could not run."
    )]
    Diff(Box<FleetDiff>),
}

/// Clusters and evidence about them.
#[derive(Debug, Args)]
pub(crate) struct FleetEvidence {
    /// Snapshots: directories of `clearway snapshot collect`, archives of them, or directories with several of either
    #[arg(long, value_name = "DIR|FILE", num_args = 1.., required_unless_present = "prometheus", conflicts_with = "prometheus")]
    pub(crate) snapshots: Vec<PathBuf>,
    /// The metrics store holds many clusters: replace `_id=""` in queries by the cluster id
    #[arg(long, requires = "snapshots")]
    pub(crate) shared_store: bool,
    /// Number of snapshots to read in parallel [default: one per processor]
    #[arg(long, value_name = "NUMBER", requires = "snapshots")]
    pub(crate) threads: Option<NonZeroUsize>,
    #[command(flatten)]
    pub(crate) prometheus: PrometheusAccess,
    /// Label with the cluster id, on every series of the store; queries use it only as `_id=""`
    #[arg(long, value_name = "LABEL", default_value = "_id", value_parser = label)]
    pub(crate) cluster_label: String,
    /// Query that lists the clusters: one series per cluster, with the label `version` and optionally `channel` and `arch`
    /// [default: a query of `cluster_version` and `cluster_version_available_updates`]
    #[arg(long, value_name = "PROMQL", requires = "prometheus", conflicts_with = "clusters")]
    pub(crate) clusters_query: Option<String>,
    /// File that lists the clusters: YAML or JSON, a list of {id, version, channel, arch}
    #[arg(long, value_name = "FILE", requires = "prometheus")]
    pub(crate) clusters: Option<PathBuf>,
    /// Channel [default: that of each cluster]
    #[arg(long, value_name = "CHANNEL")]
    pub(crate) channel: Option<String>,
    #[command(flatten)]
    pub(crate) arch: ArchOption,
    #[command(flatten)]
    pub(crate) time: EvidenceTime,
    #[command(flatten)]
    pub(crate) queries: QueryLimits,
}

/// Reads the name of a label.
fn label(text: &str) -> Result<String, String> {
    let letters = |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let starts = text.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '_');
    if starts && letters(text) && text != "__name__" {
        return Ok(text.to_owned());
    }
    Err(format!("`{text}` is not a label name such as _id or cluster"))
}

/// Arguments of `clearway fleet assess`.
#[derive(Debug, Args)]
pub(crate) struct FleetAssess {
    #[command(flatten)]
    pub(crate) source: GraphSource,
    #[command(flatten)]
    pub(crate) evidence: FleetEvidence,
    #[command(flatten)]
    pub(crate) output: DataOutput,
}

/// Arguments of `clearway fleet diff`.
#[derive(Debug, Args)]
pub(crate) struct FleetDiff {
    #[command(flatten)]
    pub(crate) source: GraphSource,
    /// Published graph: the same forms as --graph, or a git revision of the directory in --graph
    #[arg(long, value_name = "GRAPH|REV")]
    pub(crate) against: GraphName,
    #[command(flatten)]
    pub(crate) evidence: FleetEvidence,
    #[command(flatten)]
    pub(crate) output: DataOutput,
}
