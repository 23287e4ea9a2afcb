//! Limits on the queries of risks (U18).

use std::time::Duration;

use anyhow::{Context as _, Result};
use clap::Args;
use clearway_promql::fence::Names;
use clearway_promql::{Fence, Millis};

use super::parse_duration;

/// Limits on queries from a publisher. A query above a limit is not run, and its risk is Unknown.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Limits on queries of risks")]
pub(crate) struct QueryLimits {
    /// Maximum size of a query [default: 16384]
    #[arg(long, value_name = "BYTES")]
    max_query_bytes: Option<usize>,
    /// Maximum nesting depth of a query [default: 40]
    #[arg(long, value_name = "NUMBER")]
    max_query_depth: Option<usize>,
    /// Maximum number of parts of a query: numbers, selectors, operators, calls [default: 1000]
    #[arg(long, value_name = "NUMBER")]
    max_query_nodes: Option<usize>,
    /// Maximum number of selectors of a query [default: 80]
    #[arg(long, value_name = "NUMBER")]
    max_query_selectors: Option<usize>,
    /// Maximum number of regular expressions of a query [default: 64]
    #[arg(long, value_name = "NUMBER")]
    max_query_regexes: Option<usize>,
    /// Maximum compiled size of a regular expression [default: 131072]
    #[arg(long, value_name = "BYTES")]
    max_query_regex_bytes: Option<usize>,
    /// Maximum range of a selector [default: 1d]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    max_query_range: Option<Duration>,
    /// Maximum offset of a selector [default: 7d]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    max_query_offset: Option<Duration>,
    /// Maximum range of a subquery [default: 1d]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    max_query_subquery: Option<Duration>,
    /// Maximum number of evaluations of a subquery, including nesting [default: 1440]
    #[arg(long, value_name = "NUMBER")]
    max_query_steps: Option<u64>,
    /// Step of a subquery without one [default: 1m]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    default_query_step: Option<Duration>,
    /// Allow only metrics whose name matches this regular expression (anchored); repeatable [default: all]
    #[arg(long, value_name = "PATTERN")]
    allow_metrics: Vec<String>,
    /// Deny metrics whose name matches this regular expression (anchored); repeatable
    #[arg(long, value_name = "PATTERN")]
    deny_metrics: Vec<String>,
    /// Allow selectors without a metric name, which may read the whole store
    #[arg(long)]
    allow_unnamed_metrics: bool,
    /// Allow experimental functions and aggregations of Prometheus
    #[arg(long)]
    allow_experimental_functions: bool,
}

impl QueryLimits {
    /// The limits as a fence.
    pub(crate) fn fence(&self) -> Result<Fence> {
        let names = |option: &str, patterns: &[String]| {
            Names::new(patterns.iter().map(String::as_str))
                .with_context(|| format!("{option} is not a regular expression"))
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
