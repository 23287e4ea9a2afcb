//! `clearway install` and `clearway uninstall` on the command line.

use std::path::PathBuf;

use clap::{ArgGroup, Args, ValueEnum};
use clearway_core::Version;
use clearway_operator::install::{NAMESPACE, SETTINGS};

use super::{AsData, OperatorSettings, is_operator_option};

pub(crate) const INSTALL_EXAMPLES: &str = "\
Examples:
  clearway install --adopt 1.4.2 --upstream https://updates.example.com/api/upgrades_info --prometheus http://prometheus.monitoring:9090
  clearway install --dry-run                       print every manifest; no cluster is needed
  clearway install --diff                          show what would change in the cluster
  clearway install --apply-updates --release-key release.pub
  clearway install --metrics authenticated         and scraping and alerts, where there is a Prometheus operator
  clearway install --channel experimental          with rule types and fields that may still change
  clearway install --pace single --deny-metrics 'tenant_.*'
  clearway install --unset prometheus              run again: everything else stays as it is

The operator only advises, and no account it can use may change anything else, unless --apply-updates is given.

Run again, an option that is not given keeps the value it has in the cluster, --unset NAME returns one to its default, and
each setting that changes is listed with its old and its new value. An image that names a version of Clearway without a
digest is not kept: this version's takes its place. With --dry-run no cluster is read, so nothing is kept.

It stops before it changes anything where a CRD of the same name is not Clearway's (see --skip-foreign-crds), and where
--adopt is not possible. The same objects are in the directory `deploy`, for kustomize.
Exit code 0: everything is there; 1: refused (data would be lost, or a CRD is not Clearway's), so nothing was done; 3: could not
run.";

pub(crate) const UNINSTALL_EXAMPLES: &str = "\
Examples:
  clearway uninstall --dry-run
  clearway uninstall                               the CRDs stay, and the versions and histories in them
  clearway uninstall --delete-crds                 and these go, too

Only what `clearway install` made is deleted.";

/// The word that unsets every setting.
pub(crate) const UNSET_ALL: &str = "all";

/// The two channels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Channel {
    /// What stays
    Standard,
    /// And what may still change
    Experimental,
}

/// Who can reach the operator's metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Metrics {
    /// Only the pod itself, and `kubectl port-forward`
    Loopback,
    /// Tokens that the cluster accepts, of users that may get the URL /metrics (ClusterRole clearway-metrics-reader)
    Authenticated,
}

/// Which cluster.
#[derive(Debug, Args)]
pub(crate) struct ThisCluster {
    /// The kubeconfig file; by default KUBECONFIG, ~/.kube/config, or the service account of the pod
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// The context in the kubeconfig
    #[arg(long, value_name = "NAME")]
    pub(crate) context: Option<String>,
}

/// Options of `clearway install`.
#[derive(Debug, Args)]
#[group(skip)]
#[command(group = ArgGroup::new("signatures").args(["release_key", "allow_unsigned_releases"]))]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct Install {
    #[command(flatten)]
    pub(crate) cluster: ThisCluster,
    /// The channel of the CRDs [default: standard]
    #[arg(long, value_name = "CHANNEL")]
    pub(crate) channel: Option<Channel>,
    /// Make the `ClusterVersion`: the cluster is at this version, gets an id, and its history begins here
    #[arg(long, value_name = "VERSION")]
    pub(crate) adopt: Option<Version>,
    /// Have the operator apply updates, with an account that may do everything [default: it only advises]
    #[arg(long)]
    pub(crate) apply_updates: bool,
    /// A file of public keys (PEM), one of which must have signed a release; may be given several times, for all keys
    #[arg(long, value_name = "FILE")]
    pub(crate) release_key: Vec<PathBuf>,
    /// Apply releases without checking who signed them
    #[arg(long)]
    pub(crate) allow_unsigned_releases: bool,
    /// Who can reach the operator's metrics [default: loopback]
    #[arg(long, value_name = "WHO")]
    pub(crate) metrics: Option<Metrics>,
    /// Where the operator lives
    #[arg(long, value_name = "NAME", default_value = NAMESPACE, value_parser = dns_label)]
    pub(crate) namespace: String,
    /// The operator's image; name it by digest (NAME@sha256:...) [default: that of this version]
    #[arg(long, value_name = "IMAGE")]
    pub(crate) image: Option<String>,
    /// The update service the operator asks where spec.upstream names none
    #[arg(long, value_name = "URL")]
    pub(crate) upstream: Option<String>,
    /// The cluster's Prometheus, as the operator reaches it, for rules with queries
    #[arg(long, value_name = "URL")]
    pub(crate) prometheus: Option<String>,
    /// Return a setting of the present installation to its default, by the name of its option, such as `upstream`; `all` for
    /// every one; may be given several times
    #[arg(long, value_name = "NAME", value_parser = setting_name)]
    pub(crate) unset: Vec<String>,
    /// Install although a CRD of the same name is not Clearway's (OpenShift's ClusterVersion); that CRD is left alone
    #[arg(long)]
    pub(crate) skip_foreign_crds: bool,
    /// Go back to the standard channel although fields or objects are lost that only the experimental one has
    #[arg(long)]
    pub(crate) discard_experimental: bool,
    /// Print the manifests (YAML, or a List with -o json), and do nothing; no cluster is needed
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Show what would change in the cluster, and change nothing
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) diff: bool,
    #[command(flatten)]
    pub(crate) output: AsData,
    #[command(flatten)]
    pub(crate) operator: OperatorSettings,
}

/// Options of `clearway uninstall`.
#[derive(Debug, Args)]
pub(crate) struct Uninstall {
    #[command(flatten)]
    pub(crate) cluster: ThisCluster,
    /// Where the operator lives
    #[arg(long, value_name = "NAME", default_value = NAMESPACE, value_parser = dns_label)]
    pub(crate) namespace: String,
    /// Also delete the CRDs, and with them every `ClusterVersion` and `ComponentVersion`
    #[arg(long)]
    pub(crate) delete_crds: bool,
    /// Only say what would be done
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) output: AsData,
}

/// The name of a namespace: what the API server takes, so that a typo is found before anything is made.
fn dns_label(text: &str) -> Result<String, String> {
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let good =
        (1..=63).contains(&text.len()) && text.bytes().all(inner) && !text.starts_with('-') && !text.ends_with('-');
    if good {
        Ok(text.to_owned())
    } else {
        Err(format!("`{text}` is not the name of a namespace, such as {NAMESPACE}"))
    }
}

/// The name of a setting that can be unset. Any option of the operator may stand in its Deployment.
fn setting_name(text: &str) -> Result<String, String> {
    if text == UNSET_ALL || SETTINGS.contains(&text) || is_operator_option(text) {
        Ok(text.to_owned())
    } else {
        Err(format!(
            "`{text}` is not the name of a setting; name an option, such as {}, or {UNSET_ALL}",
            SETTINGS.join(", ")
        ))
    }
}
