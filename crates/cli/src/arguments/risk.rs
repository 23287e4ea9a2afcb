//! Arguments of `clearway risk`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{ArchOption, DataOutput, EvidenceSource, GraphSource, QueryLimits, TestReport, TextOutput};

#[derive(Debug, Subcommand)]
#[expect(clippy::large_enum_variant, reason = "there is one value of it in a process")]
pub(crate) enum Risk {
    /// List the risks of a graph: updates, channels, rule types, and whether they have a unit test
    #[command(after_help = "\
Examples:
  clearway risk list --graph graph-data
  clearway risk list --graph graph-data --channel stable-1.5 -o json
  clearway risk list --graph https://updates.example.com/api/upgrades_info --channel stable-1.5")]
    List(RiskList),
    /// Explain a risk: its files, updates and rules, and with evidence whether it applies
    #[command(
        disable_version_flag = true,
        after_help = "\
Examples:
  clearway risk explain ProxyTimeouts --graph graph-data
  clearway risk explain ProxyTimeouts --graph https://updates.example.com/api/upgrades_info --channel stable-1.5
  clearway risk explain ProxyTimeouts --graph graph-data --snapshot snapshot
  clearway risk explain ProxyTimeouts --graph graph-data --prometheus http://localhost:9090

Exit code 0: explained, and with evidence: it does not apply; 1: it applies; 2: unknown; 3: could not run."
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
    reason: gave 1            # a part of the text of the proof
  - name: a cluster with a broken node, in March
    objects:                  # or `file: nodes.yaml`; all objects of the kinds that rules read
    - {apiVersion: v1, kind: ConfigMap, metadata: {name: proxy, namespace: kube-system}, data: {mode: none}}
    conditions:               # short form of objects
    - {apiVersion: v1, kind: Node, name: n1, type: Ready, status: \"False\"}
    clusterId: 7c9e6679
    now: 2026-03-01T12:00:00Z
    expect: no match
  - name: a snapshot of a cluster
    snapshot: cluster-1       # a directory of `clearway snapshot collect`
    expect: unknown

Examples:
  clearway risk test --graph graph-data
  clearway risk test --graph graph-data --junit results.xml

In addition, every risk is tested with broken evidence, for which `does not apply` is a failure: for queries an unreachable
metrics store, missing metrics, duplicate series, and the value 2; for rules about objects an unreachable API server,
missing objects, missing fields, conditions with an old generation or status Unknown, and bundles of CRDs with two versions or
without annotations; for staged rollouts a time before their start, and an unknown cluster id.

Exit code 0: all passed; 1: at least one failed; 3: could not run.")]
    Test(Box<RiskTest>),
}

/// Arguments of `clearway risk list`.
#[derive(Debug, Args)]
pub(crate) struct RiskList {
    #[command(flatten)]
    pub(crate) source: GraphSource,
    /// Channel [default: all channels]
    #[arg(long, value_name = "CHANNEL")]
    pub(crate) channel: Option<String>,
    #[command(flatten)]
    pub(crate) arch: ArchOption,
    #[command(flatten)]
    pub(crate) output: DataOutput,
}

/// Arguments of `clearway risk explain`.
#[derive(Debug, Args)]
pub(crate) struct RiskExplain {
    /// Name of the risk
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) source: GraphSource,
    #[command(flatten)]
    pub(crate) evidence: EvidenceSource,
    #[command(flatten)]
    pub(crate) output: TextOutput,
}

/// Arguments of `clearway risk test`.
#[derive(Debug, Args)]
pub(crate) struct RiskTest {
    /// Graph: a graph-data directory
    #[arg(long, value_name = "GRAPH", default_value = ".")]
    pub(crate) graph: PathBuf,
    /// Run only the tests in files, and none with broken evidence
    #[arg(long)]
    pub(crate) only_written: bool,
    #[command(flatten)]
    pub(crate) report: TestReport,
    #[command(flatten)]
    pub(crate) output: TextOutput,
    #[command(flatten)]
    pub(crate) queries: QueryLimits,
}
