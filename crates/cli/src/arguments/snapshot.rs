//! `clearway snapshot` on the command line.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use clearway_core::Version;

use super::{AsData, ClusterAccess, GraphSource};

#[derive(Debug, Subcommand)]
pub(crate) enum Snapshot {
    /// Take from a cluster what the graph's rules need to know, and nothing else
    #[command(
        disable_version_flag = true,
        after_help = "\
Examples:
  clearway snapshot collect --graph graph-data --prometheus https://prometheus.example.com --output-dir snapshot
  clearway snapshot collect --graph graph-data --channel stable-1.5 --version 1.4.2 --prometheus http://localhost:9090 --output-dir snapshot
  clearway assess --graph graph-data --snapshot snapshot

The cluster is found as kubectl finds it.

Secrets and tokens are never taken, and of ConfigMaps only those that a rule names, without what looks like a secret in
them; --redact also replaces names of objects and namespaces by hashes.
Exit code 0: everything was taken; 2: something is left out, and the snapshot says what; 3: could not run."
    )]
    Collect(Box<SnapshotCollect>),
    /// Show what a snapshot holds, and what was left out
    #[command(after_help = "\
Example:
  clearway snapshot show snapshot")]
    Show(SnapshotShow),
}

/// Options of `clearway snapshot collect`.
#[derive(Debug, Args)]
pub(crate) struct SnapshotCollect {
    #[command(flatten)]
    pub(crate) source: GraphSource,
    #[command(flatten)]
    pub(crate) cluster: ClusterAccess,
    /// The directory to write, which must not be there yet
    #[arg(long, value_name = "DIR")]
    pub(crate) output_dir: PathBuf,
    /// Also what the ways to this version need to know, if it is several updates away
    #[arg(long, value_name = "VERSION")]
    pub(crate) to: Option<Version>,
    /// Replace names by hashes
    #[arg(long)]
    pub(crate) redact: bool,
}

/// Options of `clearway snapshot show`.
#[derive(Debug, Args)]
pub(crate) struct SnapshotShow {
    /// A directory, or an archive of one
    #[arg(value_name = "DIR|FILE")]
    pub(crate) snapshot: PathBuf,
    #[command(flatten)]
    pub(crate) output: AsData,
}
