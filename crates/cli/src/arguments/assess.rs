//! Arguments of `clearway assess`.

use clap::Args;
use clearway_core::Version;

use super::{DataOutput, EvidenceSource, GraphSource, ProductSelection, ReleaseHosts};

pub(crate) const ASSESS_EXAMPLES: &str = "\
Examples:
  clearway assess --graph graph-data --prometheus https://prometheus.example.com
  clearway assess --graph graph-data --channel stable-1.5 --version 1.4.2 --series metrics.prom
  clearway assess --graph https://updates.example.com/api/upgrades_info --channel stable-1.5 --version 1.4.2 --to 1.5.0
  clearway assess --graph graph-data --channel stable-1.5 --version 1.4.2 --prometheus https://prometheus.example.com --why
  clearway assess --graph graph-data --snapshot snapshot --why
  clearway assess --graph graph-data --snapshot snapshot --as-of snapshot
  clearway assess --graph graph-data --release releases/1.5.0
  clearway assess --graph graph-data --release oci://registry.example.com/release:1.5.0 -o json
  clearway assess --graph oci://registry.example.com/graph-data --channel stable-1.5 --version 1.4.2 --to 1.6.0
  clearway assess --all-products --prometheus https://prometheus.example.com
  clearway assess --product cert-manager,istio --why

The cluster is that of the kubeconfig, as for kubectl; --snapshot and --series need no cluster. Evidence is evaluated at
the current time: evidence older than --max-age is Unknown. --as-of snapshot evaluates a snapshot at the time it was taken.

If --to is several updates away, the shortest path and the path with the fewest risks are shown. Only the first update
starts from the cluster as it is; later ones are evaluated with today's evidence.

With --release the CRDs of the release are compared with those of the cluster, and the stored objects are checked: objects
that would lose fields or fail validation, stored versions that the new CRD does not have, rollbacks, channel switches and
skipped minor versions, as `clearway bundle preflight` finds them. Without a cluster, or a snapshot that holds the CRDs
(`clearway snapshot collect --bundle NAME`), they are Unknown.

With --product or --all-products the graph is that of the catalogue, and the installed version of each product is detected in
the cluster or the snapshot. Exit code 0: every installed product has a recommended update or no newer listed version; 1: one
has updates, and none is recommended, or no product is installed; 2: a version or what it takes to judge is Unknown.

Exit code 0: at least one update is recommended (with --to: this one, or every update of a path); 1: none is recommended,
or there is no path; 2: none is recommended, but some are Unknown, or a required source of evidence is unreachable; 3:
could not run. With --release also 1: data would be lost, or the API server would refuse something; 2: that could not be
found out.";

/// Arguments of `clearway assess`.
#[derive(Debug, Args)]
pub(crate) struct Assess {
    #[command(flatten)]
    pub(crate) source: GraphSource,
    #[command(flatten)]
    pub(crate) release_hosts: ReleaseHosts,
    #[command(flatten)]
    pub(crate) products: ProductSelection,
    #[command(flatten)]
    pub(crate) evidence: EvidenceSource,
    /// Target version: show only this update with its proof, or the paths to it if it is several updates away
    #[arg(long, value_name = "VERSION")]
    pub(crate) to: Option<Version>,
    /// Release: a directory with release-manifests, or an image. Show only the update to its version, and what its CRDs
    /// would do to those of the cluster and to their stored objects
    #[arg(long, value_name = "DIR|oci://IMAGE", conflicts_with_all = ["to", "product", "all_products"])]
    pub(crate) release: Option<String>,
    /// Show the proof of every update; for objects of a snapshot also the value of each part of an expression
    #[arg(long, conflicts_with_all = ["to", "release"])]
    pub(crate) why: bool,
    #[command(flatten)]
    pub(crate) output: DataOutput,
}
