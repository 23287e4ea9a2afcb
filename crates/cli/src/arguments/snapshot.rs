//! Arguments of `clearway snapshot`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use clearway_core::Version;

use super::{ClusterAccess, DataOutput, GraphSource, ProductSelection, ReleaseHosts};

#[derive(Debug, Subcommand)]
pub(crate) enum Snapshot {
    /// Collect the metrics and objects that the graph's rules read, and nothing else
    #[command(
        disable_version_flag = true,
        after_help = "\
Examples:
  clearway snapshot collect --graph graph-data --prometheus https://prometheus.example.com --output-dir snapshot
  clearway snapshot collect --graph graph-data --channel stable-1.5 --version 1.4.2 --prometheus http://localhost:9090 --output-dir snapshot
  clearway assess --graph graph-data --snapshot snapshot
  clearway snapshot collect --no-graph --bundle gateway.networking.k8s.io --output-dir snapshot
  clearway bundle preflight standard-install.yaml --snapshot snapshot
  clearway snapshot collect --all-products --prometheus http://localhost:9090 --output-dir snapshot
  clearway assess --all-products --snapshot snapshot

The cluster is that of the kubeconfig, as for kubectl.

Secrets and tokens are never collected. ConfigMaps are collected only if a rule names them, without values that look like
secrets; --redact also replaces the names of objects and namespaces by hashes.
Exit code 0: complete; 2: something is missing, and the snapshot lists it; 3: could not run."
    )]
    Collect(Box<SnapshotCollect>),
    /// Show the content of a snapshot, and what could not be collected
    #[command(after_help = "\
Example:
  clearway snapshot show snapshot")]
    Show(SnapshotShow),
}

/// Arguments of `clearway snapshot collect`.
#[derive(Debug, Args)]
pub(crate) struct SnapshotCollect {
    #[command(flatten)]
    pub(crate) source: GraphSource,
    #[command(flatten)]
    pub(crate) release_hosts: ReleaseHosts,
    #[command(flatten)]
    pub(crate) products: ProductSelection,
    #[command(flatten)]
    pub(crate) cluster: ClusterAccess,
    /// Output directory: it must not exist yet
    #[arg(long, value_name = "DIR")]
    pub(crate) output_dir: PathBuf,
    /// Target version: also collect evidence for the paths to it, if it is several updates away
    #[arg(long, value_name = "VERSION")]
    pub(crate) to: Option<Version>,
    /// Bundle of CRDs, by the domain of its annotations such as gateway.networking.k8s.io: also collect its CRDs and their
    /// objects, for `bundle preflight --snapshot`; repeatable
    #[arg(long, value_name = "NAME")]
    pub(crate) bundle: Vec<String>,
    /// Collect only the bundles, and nothing for the rules of a graph
    #[arg(long, requires = "bundle", conflicts_with_all = ["graph", "rev", "to", "prometheus", "product", "all_products"])]
    pub(crate) no_graph: bool,
    /// Replace names by hashes
    #[arg(long)]
    pub(crate) redact: bool,
}

/// Arguments of `clearway snapshot show`.
#[derive(Debug, Args)]
pub(crate) struct SnapshotShow {
    /// Snapshot: a directory, or an archive of one
    #[arg(value_name = "DIR|FILE")]
    pub(crate) snapshot: PathBuf,
    #[command(flatten)]
    pub(crate) output: DataOutput,
}
