//! Options that name evidence about a cluster: where it is read, and how old it may be.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use clearway_core::{Timestamp, Version};

use super::{ArchOption, ClusterConnection, PrometheusAccess, QueryLimits, parse_duration};

/// A cluster and its metrics store.
#[derive(Debug, Args)]
pub(crate) struct ClusterAccess {
    /// Channel [default: the one in the ClusterVersion]
    #[arg(long, value_name = "CHANNEL")]
    pub(crate) channel: Option<String>,
    #[command(flatten)]
    pub(crate) arch: ArchOption,
    /// Version: the one the cluster runs [default: the one in the ClusterVersion]
    #[arg(long, value_name = "VERSION")]
    pub(crate) version: Option<Version>,
    #[command(flatten)]
    pub(crate) prometheus: PrometheusAccess,
    #[command(flatten)]
    pub(crate) connection: ClusterConnection,
    /// Cluster id, for rules about it [default: the one in the ClusterVersion]
    #[arg(long, value_name = "ID")]
    pub(crate) cluster_id: Option<String>,
    /// The metrics store holds many clusters: replace `_id=""` in queries by the cluster id
    #[arg(long)]
    pub(crate) shared_store: bool,
    #[command(flatten)]
    pub(crate) queries: QueryLimits,
}

/// Evidence about one cluster, and the time it is evaluated at.
#[derive(Debug, Args)]
pub(crate) struct EvidenceSource {
    #[command(flatten)]
    pub(crate) cluster: ClusterAccess,
    /// Series: a file, a directory with *.prom files, or standard input (-), in the formats of --series-format. A sample
    /// without a timestamp has the current time
    #[arg(short, long, value_name = "FILE|DIR|-", conflicts_with = "prometheus")]
    pub(crate) series: Option<PathBuf>,
    /// Format of the series
    #[arg(long, value_name = "FORMAT", default_value = "auto", requires = "series")]
    pub(crate) series_format: SeriesFormat,
    /// Snapshot: a directory written by `clearway snapshot collect`, or an archive of one
    #[arg(long, value_name = "DIR|FILE", conflicts_with_all = ["series", "prometheus", "kubeconfig", "context"])]
    pub(crate) snapshot: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) time: EvidenceTime,
}

/// The time that evidence is evaluated at, and how old it may be.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct EvidenceTime {
    /// Maximum age of evidence; older evidence is Unknown
    #[arg(id = "max_age", long = "max-age", value_name = "DURATION", default_value = "2h", value_parser = parse_duration)]
    pub(crate) max_age: Duration,
    /// Evaluate evidence at this time (RFC 3339), or with `snapshot` at the time of the snapshot or the newest sample of
    /// --series [default: the current time]
    #[arg(long, value_name = "TIME|snapshot", value_parser = parse_as_of)]
    pub(crate) as_of: Option<AsOf>,
}

/// The time that evidence is evaluated at.
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

    /// The time at which evidence with this time of capture is evaluated.
    pub(crate) fn time(as_of: Option<Self>, captured: Timestamp, now: Timestamp) -> Timestamp {
        match as_of {
            Some(AsOf::Time(time)) => time,
            Some(AsOf::Capture) => captured,
            None => now,
        }
    }
}

fn parse_as_of(text: &str) -> Result<AsOf, String> {
    if text == "snapshot" {
        return Ok(AsOf::Capture);
    }
    let help = || format!("`{text}` is neither `snapshot` nor a time such as 2026-05-04T09:00:00Z");
    text.parse().map(AsOf::Time).map_err(|_| help())
}

/// The format of a file with series.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SeriesFormat {
    /// Detect it
    Auto,
    /// Text exposition
    Text,
    /// OpenMetrics
    Openmetrics,
    /// A response of Prometheus' HTTP API
    Api,
    /// Series of `clearway snapshot collect`
    Snapshot,
}

impl SeriesFormat {
    /// Its value on the command line; `None` if it is detected.
    pub(crate) fn named(self) -> Option<&'static str> {
        match self {
            SeriesFormat::Auto => None,
            SeriesFormat::Text => Some("text"),
            SeriesFormat::Openmetrics => Some("openmetrics"),
            SeriesFormat::Api => Some("api"),
            SeriesFormat::Snapshot => Some("snapshot"),
        }
    }
}
