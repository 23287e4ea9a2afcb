//! Arguments of `clearway assess`.

use clap::Args;
use clearway_core::Version;

use super::{DataOutput, EvidenceSource, GraphSource};

pub(crate) const ASSESS_EXAMPLES: &str = "\
Examples:
  clearway assess --graph graph-data --prometheus https://prometheus.example.com
  clearway assess --graph graph-data --channel stable-1.5 --version 1.4.2 --series metrics.prom
  clearway assess --graph https://updates.example.com/api/upgrades_info --channel stable-1.5 --version 1.4.2 --to 1.5.0
  clearway assess --graph graph-data --channel stable-1.5 --version 1.4.2 --prometheus https://prometheus.example.com --why
  clearway assess --graph graph-data --snapshot snapshot --why
  clearway assess --graph graph-data --snapshot snapshot --as-of snapshot
  clearway assess --graph oci://registry.example.com/graph-data --channel stable-1.5 --version 1.4.2 --to 1.6.0

The cluster is that of the kubeconfig, as for kubectl; --snapshot and --series need no cluster. Evidence is evaluated at
the current time: evidence older than --max-age is Unknown. --as-of snapshot evaluates a snapshot at the time it was taken.

If --to is several updates away, the shortest path and the path with the fewest risks are shown. Only the first update
starts from the cluster as it is; later ones are evaluated with today's evidence.

Exit code 0: at least one update is recommended (with --to: this one, or every update of a path); 1: none is recommended,
or there is no path; 2: none is recommended, but some are Unknown, or a required source of evidence is unreachable; 3:
could not run.";

/// Arguments of `clearway assess`.
#[derive(Debug, Args)]
pub(crate) struct Assess {
    #[command(flatten)]
    pub(crate) source: GraphSource,
    #[command(flatten)]
    pub(crate) evidence: EvidenceSource,
    /// Target version: show only this update with its proof, or the paths to it if it is several updates away
    #[arg(long, value_name = "VERSION")]
    pub(crate) to: Option<Version>,
    /// Show the proof of every update; for objects of a snapshot also the value of each part of an expression
    #[arg(long, conflicts_with = "to")]
    pub(crate) why: bool,
    #[command(flatten)]
    pub(crate) output: DataOutput,
}
