//! Arguments of `clearway install` and `clearway uninstall`.

use std::path::PathBuf;

use clap::{ArgGroup, Args, Subcommand, ValueEnum};
use clearway_core::{Address, Version, form};
use clearway_operator::install::{NAMESPACE, SETTINGS, update_service};

use super::{
    ClusterConnection, DataOutput, GatewayStatusOptions, GraphName, OperatorSettings, PolicySettings, ServeSettings,
    is_operator_option,
};

pub(crate) const INSTALL_EXAMPLES: &str = "\
Examples:
  clearway install --adopt 1.4.2 --upstream https://updates.example.com/api/upgrades_info --prometheus http://prometheus.monitoring:9090
  clearway install --dry-run                       print the manifests; needs no cluster
  clearway install --diff                          show what would change in the cluster
  clearway install --apply-updates --release-key release.pub
  clearway install --metrics authenticated         also scraping and alerts, if the Prometheus operator is installed
  clearway install --channel experimental          with rule types and fields that may still change
  clearway install --pace single --deny-metrics 'tenant_.*'
  clearway install --gateway-class clearway        also write the status of Gateway API objects, as a service account of its own
  clearway install --policies                      also enforce Gatekeeper's policies, as a service account of its own
  clearway install --unset prometheus              keep every other setting
  clearway install update-service --graph oci://registry.example.com/graph-data:stable

Without --apply-updates the operator only reports recommendations, and none of its service accounts can change other objects.

Run again to change settings: an omitted option keeps its value in the cluster, --unset NAME resets it to its default, and
every changed setting is listed with its old and new value. An image without a digest is replaced by the image of this
version. --dry-run reads no cluster, so it uses only the options on the command line.

Nothing is changed if a CRD of the same name does not belong to Clearway (see --skip-foreign-crds), or if --adopt is not
possible. The directory `deploy` has the same objects for kustomize, and a Helm chart of them (deploy/helm/clearway); where one
of these installed the operator, --adopt-only adopts the cluster and changes nothing else.
Exit code 0: installed; 1: refused (data would be lost, or a CRD does not belong to Clearway), nothing was changed; 3: could
not run.";

pub(crate) const UNINSTALL_EXAMPLES: &str = "\
Examples:
  clearway uninstall --dry-run
  clearway uninstall                               keep the CRDs and their objects
  clearway uninstall --delete-crds                 delete the CRDs and their objects, too

Only objects that `clearway install` created are deleted. The update service is uninstalled on its own:
  clearway uninstall update-service";

pub(crate) const INSTALL_SERVICE_EXAMPLES: &str = "\
Examples:
  clearway install update-service --graph oci://registry.example.com/graph-data:stable
  clearway install update-service --graph-config-map graph-data
  clearway install update-service --upstream https://updates.example.com/api/upgrades_info --mirror stable-1.5
  clearway install update-service --graph oci://registry.example.com/graph-data --registry-secret pull-secret
  clearway install update-service --graph oci://registry.example.com/graph-data --dry-run

Installs two replicas of `clearway serve` with a Service, a PodDisruptionBudget and a NetworkPolicy. It needs no operator, and its
service account has no rights. Operators in the same cluster use it with
  clearway install --upstream http://clearway-update-service.clearway-update-service.svc/api/upgrades_info

The ConfigMap of --graph-config-map has graph-data in the file graph-data.tar.gz:
  tar -czf graph-data.tar.gz -C graph-data .
  kubectl -n clearway-update-service create configmap graph-data --from-file=graph-data.tar.gz

Run again to change settings: an omitted option keeps its value in the cluster, and --unset NAME resets it to its default.
Exit code 0: installed; 3: could not run.";

pub(crate) const UNINSTALL_SERVICE_EXAMPLES: &str = "\
Examples:
  clearway uninstall update-service --dry-run
  clearway uninstall update-service

Only objects that `clearway install update-service` created are deleted.";

/// The value of `--unset` for every setting.
pub(crate) const UNSET_ALL: &str = "all";

/// A channel of the CRDs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Channel {
    /// Stable fields only
    Standard,
    /// Also fields that may still change
    Experimental,
}

/// Access to the operator's metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Metrics {
    /// Only from the pod itself, or with `kubectl port-forward`
    Loopback,
    /// With a bearer token of a user that is allowed to `get` the URL /metrics (ClusterRole clearway-metrics-reader)
    Authenticated,
}

/// Arguments of `clearway install`.
#[derive(Debug, Args)]
#[group(skip)]
#[command(group = ArgGroup::new("signatures").args(["release_key", "allow_unsigned_releases"]))]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct Install {
    #[command(subcommand)]
    pub(crate) part: Option<InstallPart>,
    #[command(flatten)]
    pub(crate) connection: ClusterConnection,
    /// Channel of the CRDs [default: standard]
    #[arg(long, value_name = "CHANNEL")]
    pub(crate) channel: Option<Channel>,
    /// Create the ClusterVersion for a cluster that runs this version, with a new cluster id
    #[arg(long, value_name = "VERSION")]
    pub(crate) adopt: Option<Version>,
    /// Only adopt the cluster, for an operator that Helm or kustomize installed
    #[arg(long, requires = "adopt", conflicts_with = "dry_run")]
    pub(crate) adopt_only: bool,
    /// Apply the updates that are requested in spec.desiredUpdate [default: only report recommendations]; adds a service
    /// account with cluster-admin rights
    #[arg(long)]
    pub(crate) apply_updates: bool,
    /// Public keys (PEM): one of them must have signed a release; repeatable
    #[arg(long, value_name = "FILE")]
    pub(crate) release_key: Vec<PathBuf>,
    /// Apply releases without checking their signatures
    #[arg(long)]
    pub(crate) allow_unsigned_releases: bool,
    /// Access to the operator's metrics [default: loopback]
    #[arg(long, value_name = "ACCESS")]
    pub(crate) metrics: Option<Metrics>,
    /// Namespace: that of the operator
    #[arg(long, value_name = "NAME", default_value = NAMESPACE, value_parser = dns_label)]
    pub(crate) namespace: String,
    /// Image, preferably with a digest (NAME@sha256:...) [default: that of this version]
    #[arg(long, value_name = "IMAGE")]
    pub(crate) image: Option<String>,
    /// Update service: used where spec.upstream is empty
    #[arg(long, value_name = "URL")]
    pub(crate) upstream: Option<Address>,
    /// Prometheus URL: reachable from the operator's pod, for rules with queries
    #[arg(long, value_name = "URL")]
    pub(crate) prometheus: Option<Address>,
    /// Reset an installed setting to its default, by the name of its option, such as `upstream`, or `all`; repeatable
    #[arg(long, value_name = "NAME", value_parser = setting_name)]
    pub(crate) unset: Vec<String>,
    /// Keep a CRD of the same name that does not belong to Clearway (OpenShift's ClusterVersion), and install the rest
    #[arg(long)]
    pub(crate) skip_foreign_crds: bool,
    /// Change to the standard channel even if fields or objects of the experimental channel are lost
    #[arg(long)]
    pub(crate) discard_experimental: bool,
    /// Change nothing: print the manifests as YAML, or with -o json as a List; needs no cluster
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Change nothing: show the differences to the objects in the cluster
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) diff: bool,
    #[command(flatten)]
    pub(crate) output: DataOutput,
    #[command(flatten)]
    pub(crate) gateway: GatewayStatusOptions,
    #[command(flatten)]
    pub(crate) policies: PolicySettings,
    #[command(flatten)]
    pub(crate) operator: OperatorSettings,
}

/// What `clearway install` installs besides the operator.
#[derive(Debug, Subcommand)]
pub(crate) enum InstallPart {
    /// Install the update service: two replicas of `clearway serve`
    #[command(after_help = INSTALL_SERVICE_EXAMPLES)]
    UpdateService(Box<InstallUpdateService>),
}

/// Arguments of `clearway install update-service`.
#[derive(Debug, Args)]
pub(crate) struct InstallUpdateService {
    /// Graph: an image or artifact with graph-data (`oci://HOST/PATH:TAG`)
    #[arg(long, value_name = "GRAPH", conflicts_with = "graph_config_map")]
    pub(crate) graph: Option<GraphName>,
    /// `ConfigMap` with graph-data in the file graph-data.tar.gz, in the same namespace
    #[arg(long, value_name = "NAME")]
    pub(crate) graph_config_map: Option<String>,
    /// Secret with credentials for registries (type kubernetes.io/dockerconfigjson), in the same namespace
    #[arg(long, value_name = "NAME")]
    pub(crate) registry_secret: Option<String>,
    /// Namespace: that of the update service
    #[arg(long, value_name = "NAME", default_value = update_service::NAMESPACE, value_parser = dns_label)]
    pub(crate) namespace: String,
    /// Image, preferably with a digest (NAME@sha256:...) [default: that of this version]
    #[arg(long, value_name = "IMAGE")]
    pub(crate) image: Option<String>,
    /// Reset an installed setting to its default, by the name of its option, such as `upstream`, or `all`; repeatable
    #[arg(long, value_name = "NAME", value_parser = service_setting_name)]
    pub(crate) unset: Vec<String>,
    /// Change nothing: print the manifests as YAML, or with -o json as a List; needs no cluster
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Change nothing: show the differences to the objects in the cluster
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) diff: bool,
    #[command(flatten)]
    pub(crate) output: DataOutput,
    #[command(flatten)]
    pub(crate) service: ServeSettings,
}

/// What `clearway uninstall` uninstalls besides the operator.
#[derive(Debug, Subcommand)]
pub(crate) enum UninstallPart {
    /// Uninstall the update service
    #[command(after_help = UNINSTALL_SERVICE_EXAMPLES)]
    UpdateService(UninstallUpdateService),
}

/// Arguments of `clearway uninstall update-service`.
#[derive(Debug, Args)]
pub(crate) struct UninstallUpdateService {
    /// Namespace: that of the update service
    #[arg(long, value_name = "NAME", default_value = update_service::NAMESPACE, value_parser = dns_label)]
    pub(crate) namespace: String,
    /// Change nothing: list the objects that would be deleted
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) output: DataOutput,
}

/// Arguments of `clearway uninstall`.
#[derive(Debug, Args)]
pub(crate) struct Uninstall {
    #[command(subcommand)]
    pub(crate) part: Option<UninstallPart>,
    #[command(flatten)]
    pub(crate) connection: ClusterConnection,
    /// Namespace: that of the operator
    #[arg(long, value_name = "NAME", default_value = NAMESPACE, value_parser = dns_label)]
    pub(crate) namespace: String,
    /// Also delete the CRDs, and with them every ClusterVersion and ComponentVersion
    #[arg(long)]
    pub(crate) delete_crds: bool,
    /// Change nothing: list the objects that would be deleted
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) output: DataOutput,
}

/// The name of a namespace: what the API server takes, so that a typo is found before anything is made.
fn dns_label(text: &str) -> Result<String, String> {
    if form::is_dns_label(text) {
        Ok(text.to_owned())
    } else {
        Err(format!("`{text}` is not a valid namespace name, such as {NAMESPACE}"))
    }
}

/// The name of a setting that can be unset. Any option of the operator may be in its Deployment.
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

/// The name of a setting of the update service that can be unset.
fn service_setting_name(text: &str) -> Result<String, String> {
    let mut names = update_service::SETTINGS.into_iter().chain(update_service::OPTIONS);
    if text == UNSET_ALL || names.any(|name| name == text) {
        Ok(text.to_owned())
    } else {
        Err(format!(
            "`{text}` is not the name of a setting; name an option, such as {}, or {UNSET_ALL}",
            update_service::SETTINGS.join(", ")
        ))
    }
}
