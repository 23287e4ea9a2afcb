//! `clearway assess` on the command line.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use clearway_core::{Timestamp, Version};

use super::{AsData, GraphSource, OfArch, QueryLimits, SeriesFormat, parse_duration};

pub(crate) const ASSESS_EXAMPLES: &str = "\
Examples:
  clearway assess --graph graph-data --channel stable-1.5 --version 1.4.2 --series metrics.prom
  clearway assess --graph https://updates.example.com/api/upgrades_info --channel stable-1.5 --version 1.4.2 --to 1.5.0
  clearway assess --graph graph-data --channel stable-1.5 --version 1.4.2 --prometheus https://prometheus.example.com --why
  clearway assess --graph graph-data --snapshot snapshot --why
  clearway assess --graph oci://registry.example.com/graph-data --channel stable-1.5 --version 1.4.2 --to 1.6.0

A version that is several updates away (--to) is shown with the ways there: the shortest, and the one with the fewest
risks. Only the first update starts from the cluster as it is; later ones are judged with today's evidence.

Exit code 0: at least one update is recommended (with --to: this one, or every update of a way); 2: none is, but some
cannot be told; 1: none is, or there is no way; 3: could not run.";

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
    /// The cluster's Prometheus, or whatever answers as one does (Thanos, Mimir, `VictoriaMetrics`)
    #[arg(long, value_name = "URL")]
    pub(crate) prometheus: Option<String>,
    /// A file with the bearer token for it
    #[arg(long, value_name = "FILE", requires = "prometheus")]
    pub(crate) token_file: Option<PathBuf>,
    /// A certificate that proves to it who asks (PEM)
    #[arg(long, value_name = "FILE", requires_all = ["prometheus", "client_key"])]
    pub(crate) client_certificate: Option<PathBuf>,
    /// The key of that certificate (PEM)
    #[arg(long, value_name = "FILE", requires_all = ["prometheus", "client_certificate"])]
    pub(crate) client_key: Option<PathBuf>,
    /// The cluster, for its version and channel, and for rules that look at its objects: the kubeconfig file
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// The same: the context in the kubeconfig
    #[arg(long, value_name = "NAME")]
    pub(crate) context: Option<String>,
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
    /// HTTP API, or a snapshot of series
    #[arg(short, long, value_name = "FILE|-", conflicts_with = "prometheus")]
    pub(crate) series: Option<PathBuf>,
    /// What kind of file it is
    #[arg(long, value_name = "FORMAT", default_value = "auto", requires = "series")]
    pub(crate) series_format: SeriesFormat,
    /// What `clearway snapshot collect` wrote: a directory, or an archive of one
    #[arg(long, value_name = "DIR|FILE", conflicts_with_all = ["series", "prometheus", "kubeconfig", "context"])]
    pub(crate) snapshot: Option<PathBuf>,
    /// How old evidence may be
    #[arg(long, value_name = "DURATION", default_value = "2h", value_parser = parse_duration)]
    pub(crate) max_age: Duration,
    /// Assess as of this time (RFC 3339); by default that of the snapshot or the newest sample, or the present
    #[arg(long, value_name = "TIME")]
    pub(crate) now: Option<Timestamp>,
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
