//! Which queries of risks are asked at all (U18).

use std::time::Duration;

use anyhow::{Context as _, Result};
use clap::Args;
use clearway_promql::fence::Names;
use clearway_promql::{Fence, Millis};

use crate::arguments::parse_duration;

/// Limits on queries that strangers wrote. A query above one of them is not asked, and its risk is Unknown.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Limits on queries of risks")]
pub(crate) struct QueryLimits {
    /// Bytes of a query [default: 16384]
    #[arg(long, value_name = "BYTES")]
    max_query_bytes: Option<usize>,
    /// Levels of nesting of a query [default: 40]
    #[arg(long, value_name = "NUMBER")]
    max_query_depth: Option<usize>,
    /// Parts (numbers, selectors, operators, calls) of a query [default: 1000]
    #[arg(long, value_name = "NUMBER")]
    max_query_nodes: Option<usize>,
    /// Selectors of a query [default: 80]
    #[arg(long, value_name = "NUMBER")]
    max_query_selectors: Option<usize>,
    /// Regular expressions of a query [default: 64]
    #[arg(long, value_name = "NUMBER")]
    max_query_regexes: Option<usize>,
    /// Bytes of one compiled regular expression of a query [default: 131072]
    #[arg(long, value_name = "BYTES")]
    max_query_regex_bytes: Option<usize>,
    /// How far back a range of a query reaches [default: 1d]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    max_query_range: Option<Duration>,
    /// How far back an offset of a query reaches [default: 7d]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    max_query_offset: Option<Duration>,
    /// How far back a subquery reaches [default: 1d]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    max_query_subquery: Option<Duration>,
    /// How often a subquery is evaluated, those around it multiplied [default: 1440]
    #[arg(long, value_name = "NUMBER")]
    max_query_steps: Option<u64>,
    /// The step that is assumed for a subquery that names none [default: 1m]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    default_query_step: Option<Duration>,
    /// Only metrics whose whole name this regular expression matches; may be given several times [default: all]
    #[arg(long, value_name = "PATTERN")]
    allow_metrics: Vec<String>,
    /// No metrics whose whole name this regular expression matches; may be given several times
    #[arg(long, value_name = "PATTERN")]
    deny_metrics: Vec<String>,
    /// Allow selectors that do not name their metric: one may read the whole store
    #[arg(long)]
    allow_unnamed_metrics: bool,
    /// Allow functions and aggregations that Prometheus has behind a feature flag
    #[arg(long)]
    allow_experimental_functions: bool,
}

impl QueryLimits {
    /// The fence that they make.
    pub(crate) fn fence(&self) -> Result<Fence> {
        let names = |option: &str, patterns: &[String]| {
            Names::new(patterns.iter().map(String::as_str))
                .with_context(|| format!("{option} is no regular expression"))
        };
        let millis = |duration: Duration| Millis(i64::try_from(duration.as_millis()).unwrap_or(i64::MAX));
        let usual = Fence::default();
        Ok(Fence {
            max_length: self.max_query_bytes.unwrap_or(usual.max_length),
            max_depth: self.max_query_depth.unwrap_or(usual.max_depth),
            max_nodes: self.max_query_nodes.unwrap_or(usual.max_nodes),
            max_selectors: self.max_query_selectors.unwrap_or(usual.max_selectors),
            max_regexes: self.max_query_regexes.unwrap_or(usual.max_regexes),
            max_regex_size: self.max_query_regex_bytes.unwrap_or(usual.max_regex_size),
            max_range: self.max_query_range.map_or(usual.max_range, millis),
            max_offset: self.max_query_offset.map_or(usual.max_offset, millis),
            max_subquery: self.max_query_subquery.map_or(usual.max_subquery, millis),
            max_steps: self.max_query_steps.unwrap_or(usual.max_steps),
            default_step: self.default_query_step.map_or(usual.default_step, millis),
            allowed: names("--allow-metrics", &self.allow_metrics)?,
            denied: names("--deny-metrics", &self.deny_metrics)?,
            require_metric: usual.require_metric && !self.allow_unnamed_metrics,
            allow_experimental: usual.allow_experimental || self.allow_experimental_functions,
        })
    }
}
