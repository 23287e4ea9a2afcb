//! Arguments of `clearway promql`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};

use super::{DataOutput, FindingOutput, QueryLimits, SeriesFormat, TestReport, TextOutput, parse_duration};

#[derive(Debug, Subcommand)]
pub(crate) enum Promql {
    /// Evaluate a query over series in files
    #[command(after_help = "\
Examples:
  clearway promql query 'group(up == 0)' --series metrics.txt
  clearway promql query 'sum by (job) (up)' --series cluster.series --explain
  clearway promql query 'rate(requests_total[5m])' --series answer.json --time 2026-05-04T09:00:00Z -o json
  curl -s localhost:9090/metrics | clearway promql query up --series -

A file has text exposition, OpenMetrics, a response of Prometheus' HTTP API, or series of `clearway snapshot collect`; an
archive or directory is a snapshot, and a directory may also have *.prom files. A query may start with a minus (-up); put
options with an attached value (-ojson) after it.

Exit code 0: evaluated; 1: the evaluation fails, as in Prometheus; 3: the query or a file is invalid, or the query is
unsupported (native histograms).")]
    Query(PromqlQuery),
    /// Check the syntax, types and limits of a query, and whether its result is one series of 0 or 1
    #[command(after_help = "\
Examples:
  clearway promql check 'group(up == 0) or 0 * group(up)'
  clearway promql check - < query.promql
  clearway promql check 'sum(rate(x[5m]))' -o json

Exit code 0: clean (notes are allowed); 1: findings; 3: could not run.")]
    Check(PromqlCheck),
    /// Run test scripts in Prometheus' promqltest language
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

Exit code 0: all passed (unsupported tests are listed); 1: at least one failed; 3: a script is invalid.")]
    Test(PromqlTest),
}

/// Arguments of `clearway promql query`.
#[derive(Debug, Args)]
pub(crate) struct PromqlQuery {
    /// Query
    // One may begin with a minus: `-up`.
    #[arg(value_name = "EXPR", allow_hyphen_values = true)]
    pub(crate) query: String,
    /// Series: a file, a directory, or standard input (-)
    #[arg(short, long, value_name = "FILE|DIR|-", required = true)]
    pub(crate) series: PathBuf,
    /// Format of the series
    #[arg(long, value_name = "FORMAT", default_value = "auto")]
    pub(crate) series_format: SeriesFormat,
    /// Evaluation time: seconds since 1970 or RFC 3339 [default: that of the newest sample]
    #[arg(short, long, value_name = "TIME", value_parser = parse_time)]
    pub(crate) time: Option<i64>,
    /// Lookback: the maximum age of a sample
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = parse_duration)]
    pub(crate) lookback: Duration,
    /// Show the value of every part
    #[arg(long)]
    pub(crate) explain: bool,
    #[command(flatten)]
    pub(crate) output: DataOutput,
}

/// Arguments of `clearway promql check`.
#[derive(Debug, Args)]
pub(crate) struct PromqlCheck {
    /// Query, or - for standard input
    #[arg(value_name = "EXPR|-", allow_hyphen_values = true)]
    pub(crate) query: String,
    #[command(flatten)]
    pub(crate) output: FindingOutput,
    #[command(flatten)]
    pub(crate) queries: QueryLimits,
}

/// Arguments of `clearway promql test`.
#[derive(Debug, Args)]
pub(crate) struct PromqlTest {
    /// Test scripts
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) report: TestReport,
    #[command(flatten)]
    pub(crate) output: TextOutput,
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
