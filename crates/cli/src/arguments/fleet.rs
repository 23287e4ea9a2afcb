//! `clearway fleet` on the command line.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};

use super::assess::parse_as_of;
use super::{AsData, AsOf, GraphName, GraphSource, OfArch, PrometheusAccess, QueryLimits, parse_duration};

/// What can be asked about many clusters.
#[derive(Debug, Subcommand)]
pub(crate) enum Fleet {
    /// Show the update status of clusters: what is recommended to each, and how many each risk applies to
    #[command(
        disable_version_flag = true,
        after_help = "\
Examples:
  clearway fleet assess --graph graph-data --snapshots snapshots/
  clearway fleet assess --graph https://updates.example.com/api/upgrades_info --snapshots a b.tar.gz -o json
  clearway fleet assess --graph graph-data --channel stable-1.5 --prometheus https://thanos.example.com

Snapshots are judged at the current time; --as-of snapshot judges each as of the time it was taken. --prometheus is a
store with the metrics of many clusters: each distinct rule is asked once, for all of them.
A cluster is `recommended` (an update is), `newest` (its channel holds no later version), `unknown` (no update is
recommended, one might be), `stranded` (none is) or `absent` (its version or channel is not in the graph).
A version is stranded if only a risk leads on from it; see `clearway graph stranded`.

Exit code 0: every cluster is recommended an update or at the newest version; 1: some cluster is stranded or absent;
2: none is, but some are unknown or their evidence could not be used, or the store could not be reached for some of it;
3: could not run."
    )]
    Assess(Box<FleetAssess>),
    /// Show what a proposed graph does to clusters, beside the one that is published
    #[command(
        disable_version_flag = true,
        after_help = "\
Examples:
  clearway fleet diff --graph graph-data --against HEAD~1 --snapshots snapshots/
  clearway fleet diff --graph proposed/ --against https://updates.example.com/api/upgrades_info --snapshots snapshots/
  clearway fleet diff --graph graph-data --against main --channel stable-1.5 --prometheus https://thanos.example.com -o json

--graph is the proposed graph, --against the published one; everything is said of going from the published to the
proposed one. An update is newly blocked if it was recommended and is not recommended or not offered any more, newly
unknown if it was recommended and is unknown now, newly recommended if it is now and was not. A cluster is newly stranded
if it has no way on any more.

Exit code 0: nothing gets worse; 1: some cluster is newly blocked or stranded; 2: none is, but some update is newly
unknown or some evidence could not be used, or the store could not be reached for some of it; 3: could not run."
    )]
    Diff(Box<FleetDiff>),
}

/// Which clusters are meant, and what is known of them.
#[derive(Debug, Args)]
pub(crate) struct FleetEvidence {
    /// Snapshots: directories of `clearway snapshot collect`, archives of them, or directories that hold several
    #[arg(long, value_name = "DIR|FILE", num_args = 1.., required_unless_present = "prometheus", conflicts_with = "prometheus")]
    pub(crate) snapshots: Vec<PathBuf>,
    /// The series of the snapshots carry their cluster's id: it takes the place of `_id=""` in queries
    #[arg(long, requires = "snapshots")]
    pub(crate) shared_store: bool,
    /// How many snapshots are read at one time [default: one per processor]
    #[arg(long, value_name = "NUMBER", requires = "snapshots")]
    pub(crate) threads: Option<NonZeroUsize>,
    #[command(flatten)]
    pub(crate) prometheus: PrometheusAccess,
    /// The label that tells the clusters of the store apart; on every series, and nowhere else in queries than as `_id=""`
    #[arg(long, value_name = "LABEL", default_value = "_id", value_parser = label)]
    pub(crate) cluster_label: String,
    /// The query that lists the clusters: one series for each, whose labels say `version`, and `channel` and `arch` if they
    /// are known [default: the current version and the channel by `cluster_version` and
    /// `cluster_version_available_updates`]
    #[arg(long, value_name = "PROMQL", requires = "prometheus", conflicts_with = "clusters")]
    pub(crate) clusters_query: Option<String>,
    /// A file that lists the clusters instead: YAML or JSON, a list of {id, version, channel, arch}
    #[arg(long, value_name = "FILE", requires = "prometheus")]
    pub(crate) clusters: Option<PathBuf>,
    /// The channel of all clusters [default: what each says]
    #[arg(long, value_name = "CHANNEL")]
    pub(crate) channel: Option<String>,
    #[command(flatten)]
    pub(crate) arch: OfArch,
    /// How old evidence may be; what is older is Unknown
    #[arg(long, value_name = "DURATION", default_value = "2h", value_parser = parse_duration)]
    pub(crate) max_age: Duration,
    /// Judge the evidence as of this time (RFC 3339), or `snapshot`: the time when each snapshot was taken [default: now]
    #[arg(long, value_name = "TIME|snapshot", value_parser = parse_as_of)]
    pub(crate) as_of: Option<AsOf>,
    #[command(flatten)]
    pub(crate) queries: QueryLimits,
}

/// Reads the name of a label that tells clusters apart.
fn label(text: &str) -> Result<String, String> {
    let letters = |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let starts = text.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '_');
    if starts && letters(text) && text != "__name__" {
        return Ok(text.to_owned());
    }
    Err(format!("`{text}` is no label that tells clusters apart, such as _id or cluster"))
}

/// Options of `clearway fleet assess`.
#[derive(Debug, Args)]
pub(crate) struct FleetAssess {
    #[command(flatten)]
    pub(crate) source: GraphSource,
    #[command(flatten)]
    pub(crate) evidence: FleetEvidence,
    #[command(flatten)]
    pub(crate) output: AsData,
}

/// Options of `clearway fleet diff`.
#[derive(Debug, Args)]
pub(crate) struct FleetDiff {
    #[command(flatten)]
    pub(crate) source: GraphSource,
    /// The graph that is published today: whatever --graph takes, or a git revision of the directory that it names
    #[arg(long, value_name = "GRAPH|REV")]
    pub(crate) against: GraphName,
    #[command(flatten)]
    pub(crate) evidence: FleetEvidence,
    #[command(flatten)]
    pub(crate) output: AsData,
}
