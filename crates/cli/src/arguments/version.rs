//! Arguments of `clearway version`.

use std::path::PathBuf;

use clap::Args;
use clearway_operator::install::NAMESPACE;

use super::{ClusterConnection, DataOutput};

pub(crate) const VERSION_EXAMPLES: &str = "\
Examples:
  clearway version
  clearway version --client -o json                only this program; connects to nothing
  clearway version --state /var/lib/clearway       the operator of a state directory

Without --client the version of the operator is read from the cluster, if a kubeconfig names one.
Exit code 0: shown; 2: the operator's version is unknown, because the cluster did not answer; 3: could not run.";

/// Arguments of `clearway version`.
#[derive(Debug, Args)]
pub(crate) struct ShowVersion {
    /// Show only the version of this program
    #[arg(long, conflicts_with_all = ["kubeconfig", "context", "namespace"])]
    pub(crate) client: bool,
    #[command(flatten)]
    pub(crate) connection: ClusterConnection,
    /// State directory: used instead of a cluster
    #[arg(long, value_name = "DIR", env = "CLEARWAY_STATE", conflicts_with_all = ["kubeconfig", "context"])]
    pub(crate) state: Option<PathBuf>,
    /// Namespace: that of the operator
    #[arg(long, value_name = "NAME", default_value = NAMESPACE)]
    pub(crate) namespace: String,
    #[command(flatten)]
    pub(crate) output: DataOutput,
}
