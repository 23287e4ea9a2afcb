//! `clearway risk` on the command line.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{AsData, EvidenceSource, GraphSource, QueryLimits};

#[derive(Debug, Subcommand)]
pub(crate) enum Risk {
    /// Explain a risk: where it stands, which updates it is on, what its rules ask; with evidence, whether it applies
    #[command(
        disable_version_flag = true,
        after_help = "\
Examples:
  clearway risk explain ProxyTimeouts --graph graph-data
  clearway risk explain ProxyTimeouts --graph https://updates.example.com/api/upgrades_info --channel stable-1.5
  clearway risk explain ProxyTimeouts --graph graph-data --snapshot snapshot
  clearway risk explain ProxyTimeouts --graph graph-data --prometheus http://localhost:9090

Exit code 0: explained, and with evidence: it does not apply; 1: it applies; 2: that is not known; 3: could not run."
    )]
    Explain(Box<RiskExplain>),
    /// Run the unit tests of the risks of a graph-data directory
    #[command(after_help = "\
Example of a file below risk-tests/ in the directory:
  risk: ProxyTimeouts
  cases:
  - name: a cluster behind a proxy
    series: |
      cluster_proxy_enabled{type=\"https\"} 1
    expect: match             # or: no match, unknown
    reason: gave 1            # a part of what the proof says
  - name: a cluster with a broken node, in March
    objects:                  # or `file: nodes.yaml`; all there is of the kinds that rules look at
    - {apiVersion: v1, kind: ConfigMap, metadata: {name: proxy, namespace: kube-system}, data: {mode: none}}
    conditions:               # objects in short
    - {apiVersion: v1, kind: Node, name: n1, type: Ready, status: \"False\"}
    clusterId: 7c9e6679
    now: 2026-03-01T12:00:00Z
    expect: no match
  - name: a cluster that was seen
    snapshot: seen            # what `clearway snapshot collect` wrote
    expect: unknown

Examples:
  clearway risk test graph-data
  clearway risk test graph-data --junit results.xml

Beside what is written, every risk is tried with evidence that is broken, which must not be taken for `does not apply`:
queries with a metrics store that is away, without their metrics, with two of each, and with the value 2; rules about
objects with an API server that is away, without the objects, without their fields, and with conditions that are of an
earlier generation or Unknown; staged rollouts before their start, and without the cluster's id.

Exit code 0: all passed; 1: at least one failed; 3: could not run.")]
    Test(Box<RiskTest>),
}

/// Options of `clearway risk explain`.
#[derive(Debug, Args)]
pub(crate) struct RiskExplain {
    /// The name of the risk
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) source: GraphSource,
    #[command(flatten)]
    pub(crate) evidence: EvidenceSource,
    #[command(flatten)]
    pub(crate) output: AsData,
}

/// Options of `clearway risk test`.
#[derive(Debug, Args)]
pub(crate) struct RiskTest {
    /// The graph-data directory [default: that of --graph]
    #[arg(value_name = "DIR", conflicts_with = "graph")]
    pub(crate) directory: Option<PathBuf>,
    /// The same
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) graph: PathBuf,
    /// Only the tests that stand in files
    #[arg(long)]
    pub(crate) only_written: bool,
    /// Write the results in `JUnit`'s form here
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) output: AsData,
    #[command(flatten)]
    pub(crate) queries: QueryLimits,
}
