//! `clearway assess` on the command line.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use clearway_core::{Timestamp, Version};

use super::{
    AsData, ClusterConnection, GraphSource, OfArch, PrometheusAccess, QueryLimits, SeriesFormat, parse_duration,
};

pub(crate) const ASSESS_EXAMPLES: &str = "\
Examples:
  clearway assess --graph graph-data --prometheus https://prometheus.example.com
  clearway assess --graph graph-data --channel stable-1.5 --version 1.4.2 --series metrics.prom
  clearway assess --graph https://updates.example.com/api/upgrades_info --channel stable-1.5 --version 1.4.2 --to 1.5.0
  clearway assess --graph graph-data --channel stable-1.5 --version 1.4.2 --prometheus https://prometheus.example.com --why
  clearway assess --graph graph-data --snapshot snapshot --why
  clearway assess --graph graph-data --snapshot snapshot --as-of snapshot
  clearway assess --graph oci://registry.example.com/graph-data --channel stable-1.5 --version 1.4.2 --to 1.6.0

The cluster is found as kubectl finds it; with --snapshot or --series none is needed. Evidence is judged at the current
time: what is older than --max-age is Unknown. --as-of snapshot replays a snapshot as of the time it was taken.

A version that is several updates away (--to) is shown with the ways there: the shortest, and the one with the fewest
risks. Only the first update starts from the cluster as it is; later ones are judged with today's evidence.

Exit code 0: at least one update is recommended (with --to: this one, or every update of a way); 1: none is, or there is
no way; 2: none is, but some are unknown, or a needed source of evidence cannot be reached; 3: could not run.";

/// Which cluster is meant, and how it is asked.
#[derive(Debug, Args)]
pub(crate) struct ClusterAccess {
    /// The channel the cluster follows [default: what the cluster says]
    #[arg(long, value_name = "CHANNEL")]
    pub(crate) channel: Option<String>,
    #[command(flatten)]
    pub(crate) arch: OfArch,
    /// The version the cluster runs [default: what the cluster says]
    #[arg(long, value_name = "VERSION")]
    pub(crate) version: Option<Version>,
    #[command(flatten)]
    pub(crate) prometheus: PrometheusAccess,
    #[command(flatten)]
    pub(crate) connection: ClusterConnection,
    /// The cluster's id, for rules that go by it [default: what the cluster says]
    #[arg(long, value_name = "ID")]
    pub(crate) cluster_id: Option<String>,
    /// The metrics are of many clusters: the cluster's id takes the place of `_id=""` in queries
    #[arg(long)]
    pub(crate) shared_store: bool,
    #[command(flatten)]
    pub(crate) queries: QueryLimits,
}

/// What is known of the cluster, and as of when.
#[derive(Debug, Args)]
pub(crate) struct EvidenceSource {
    #[command(flatten)]
    pub(crate) cluster: ClusterAccess,
    /// The cluster's metrics: a file, or standard input (-); text exposition, `OpenMetrics`, an answer of Prometheus'
    /// HTTP API, or a snapshot of series; or a directory with files *.prom. Samples without a time count as seen now
    #[arg(short, long, value_name = "FILE|DIR|-", conflicts_with = "prometheus")]
    pub(crate) series: Option<PathBuf>,
    /// What kind of file it is
    #[arg(long, value_name = "FORMAT", default_value = "auto", requires = "series")]
    pub(crate) series_format: SeriesFormat,
    /// What `clearway snapshot collect` wrote: a directory, or an archive of one
    #[arg(long, value_name = "DIR|FILE", conflicts_with_all = ["series", "prometheus", "kubeconfig", "context"])]
    pub(crate) snapshot: Option<PathBuf>,
    /// How old evidence may be; what is older is Unknown
    #[arg(long, value_name = "DURATION", default_value = "2h", value_parser = parse_duration)]
    pub(crate) max_age: Duration,
    /// Judge the evidence as of this time (RFC 3339), or `snapshot`: the time when the snapshot was taken, or that of the
    /// newest sample of --series [default: now]
    #[arg(long, value_name = "TIME|snapshot", value_parser = parse_as_of)]
    pub(crate) as_of: Option<AsOf>,
}

/// The time that evidence is judged at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AsOf {
    /// When it was captured.
    Capture,
    /// At this time.
    Time(Timestamp),
}

impl AsOf {
    /// The time, if the options name one that is the same for all evidence.
    pub(crate) fn named(as_of: Option<Self>) -> Option<Timestamp> {
        match as_of {
            Some(AsOf::Time(time)) => Some(time),
            Some(AsOf::Capture) | None => None,
        }
    }

    /// The time that evidence which was captured at a time is judged at.
    pub(crate) fn time(as_of: Option<Self>, captured: Timestamp, now: Timestamp) -> Timestamp {
        match as_of {
            Some(AsOf::Time(time)) => time,
            Some(AsOf::Capture) => captured,
            None => now,
        }
    }
}

pub(super) fn parse_as_of(text: &str) -> Result<AsOf, String> {
    if text == "snapshot" {
        return Ok(AsOf::Capture);
    }
    let help = || format!("`{text}` is neither `snapshot` nor a time such as 2026-05-04T09:00:00Z");
    text.parse().map(AsOf::Time).map_err(|_| help())
}

/// Options of `clearway assess`.
#[derive(Debug, Args)]
pub(crate) struct Assess {
    #[command(flatten)]
    pub(crate) source: GraphSource,
    #[command(flatten)]
    pub(crate) evidence: EvidenceSource,
    /// Only this update, with the whole proof; the ways there, if it takes several updates
    #[arg(long, value_name = "VERSION")]
    pub(crate) to: Option<Version>,
    /// Every update with the whole proof; for objects of a snapshot with the value of each part of an expression
    #[arg(long, conflicts_with = "to")]
    pub(crate) why: bool,
    #[command(flatten)]
    pub(crate) output: AsData,
}
