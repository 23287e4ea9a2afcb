//! `clearway promql` on the command line.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};

use super::{DataFormat, FindingFormat, QueryLimits, parse_duration};

#[derive(Debug, Subcommand)]
pub(crate) enum Promql {
    /// Evaluate a query over series in files, without a Prometheus
    #[command(after_help = "\
Examples:
  clearway promql query 'group(up == 0)' --series metrics.txt
  clearway promql query 'sum by (job) (up)' --series cluster.series --explain
  clearway promql query 'rate(requests_total[5m])' --series answer.json --time 2026-05-04T09:00:00Z -o json
  curl -s localhost:9090/metrics | clearway promql query up --series -

A file may be text exposition, OpenMetrics, an answer of Prometheus' HTTP API, a snapshot of series, or an archive of what
`clearway snapshot collect` wrote; a directory may be what it wrote, or have files *.prom in it. A query may begin with a
minus (-up); options whose value is attached (-ojson) go behind it.

Exit code 0: the query was evaluated; 1: the evaluation fails, as it does in Prometheus; 3: the query or a file cannot
be read, or the query asks for what is not evaluated (native histograms).")]
    Query(PromqlQuery),
    /// Check a query: its words, its types, the fence, and whether it can answer with one series of 0 or 1
    #[command(after_help = "\
Examples:
  clearway promql check 'group(up == 0) or 0 * group(up)'
  clearway promql check - < query.promql
  clearway promql check 'sum(rate(x[5m]))' -o json

Exit code 0: clean (there may be notes); 1: findings; 3: could not run.")]
    Check(PromqlCheck),
    /// Run test scripts for queries, in the language in which Prometheus tests its own engine
    #[command(after_help = "\
Example of a script:
  load 5m
    up{job=\"api\"} 1 1 0

  eval instant at 10m group(up == 0)
    {} 1

Examples:
  clearway promql test tests/*.test
  clearway promql test risk.test -o json
  clearway promql test risk.test --junit results.xml

Exit code 0: all passed (what is not supported is named); 1: at least one failed; 3: a script cannot be read.")]
    Test(PromqlTest),
}

/// Options of `clearway promql query`.
#[derive(Debug, Args)]
pub(crate) struct PromqlQuery {
    /// The query
    // One may begin with a minus: `-up`.
    #[arg(value_name = "EXPR", allow_hyphen_values = true)]
    pub(crate) query: String,
    /// Series: a file, a directory, or standard input (-)
    #[arg(short, long, value_name = "FILE|DIR|-", required = true)]
    pub(crate) series: PathBuf,
    /// What kind of file it is
    #[arg(long, value_name = "FORMAT", default_value = "auto")]
    pub(crate) series_format: SeriesFormat,
    /// When to evaluate: seconds since 1970 or RFC 3339; by default the time of the newest sample
    #[arg(short, long, value_name = "TIME", value_parser = parse_time)]
    pub(crate) time: Option<i64>,
    /// How old a sample may be
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = parse_duration)]
    pub(crate) lookback: Duration,
    /// Show the value of every part of the query
    #[arg(long)]
    pub(crate) explain: bool,
    /// How to print
    #[arg(short, long, value_name = "FORMAT", default_value = "table")]
    pub(crate) output: DataFormat,
}

/// Options of `clearway promql check`.
#[derive(Debug, Args)]
pub(crate) struct PromqlCheck {
    /// The query, or - for standard input
    #[arg(value_name = "EXPR|-", allow_hyphen_values = true)]
    pub(crate) query: String,
    /// How to print
    #[arg(short, long, value_name = "FORMAT", default_value = "table")]
    pub(crate) output: FindingFormat,
    #[command(flatten)]
    pub(crate) queries: QueryLimits,
}

/// Options of `clearway promql test`.
#[derive(Debug, Args)]
pub(crate) struct PromqlTest {
    /// The scripts
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Write a report for continuous integration here too, in the form of `JUnit`
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
    /// How to print
    #[arg(short, long, value_name = "FORMAT", default_value = "table")]
    pub(crate) output: DataFormat,
}

/// What kind of file series stand in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SeriesFormat {
    /// By what it looks like
    Auto,
    /// Text exposition
    Text,
    /// `OpenMetrics`
    Openmetrics,
    /// An answer of Prometheus' HTTP API
    Api,
    /// A snapshot of series
    Snapshot,
}

impl SeriesFormat {
    /// The word for it on the command line, unless it is found out from the file.
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

/// Reads seconds since 1970 or RFC 3339, as milliseconds.
fn parse_time(text: &str) -> Result<i64, String> {
    if let Ok(time) = text.parse::<clearway_core::Timestamp>() {
        return Ok(time.as_seconds().saturating_mul(1_000));
    }
    let seconds: Option<f64> = text.parse().ok().filter(|seconds: &f64| seconds.abs() < 1e12);
    #[expect(clippy::cast_possible_truncation, reason = "the range was just checked")]
    let millis = seconds.map(|seconds| (seconds * 1_000.0).round() as i64);
    millis.ok_or_else(|| format!("`{text}` is neither seconds since 1970 nor a time such as 2026-05-04T09:00:00Z"))
}
