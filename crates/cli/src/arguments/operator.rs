//! Arguments of `clearway operator`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgGroup, Args, ValueEnum};
use clearway_core::{Address, Arch};

use super::{
    CaFile, ClusterConnection, Logging, PolicyEnforcement, PrometheusAccess, QueryLimits, RegistryAccess,
    WebhookAddressOptions, parse_duration, parse_listen,
};

pub(crate) const OPERATOR_EXAMPLES: &str = "\
Examples:
  clearway operator --upstream https://updates.example.com/api/upgrades_info --prometheus http://prometheus:9090
  clearway operator --kubeconfig ~/.kube/config --apply-updates --release-key release.pub
  clearway operator --state /var/lib/clearway --upstream http://127.0.0.1:8080/api/upgrades_info
  clearway operator --console-listen 127.0.0.1:9081   also show the updates and their proofs in a browser
  clearway operator --console-listen 127.0.0.1:9081 --console-changes   and let people start updates there
  clearway operator --gateway-class clearway       write the status of Gateway API objects, and do nothing else
  clearway operator --policies                     enforce Gatekeeper's policies, and do nothing else

The operator updates the status of the ClusterVersion `version` and of every ComponentVersion: the available updates, which
of them are recommended for this cluster, and why. With --apply-updates it also applies the update in spec.desiredUpdate.
`clearway install` runs it in a cluster with the roles it needs: it reads evidence and applies updates as two other service
accounts (--evidence-as, --apply-as), and its own account can do neither. With several replicas, one is the leader.
With --state, a directory is used instead of a cluster, and its metrics/*.prom instead of a Prometheus.
With --gateway-class it does another task: it writes the status of Gateway API objects whose class has the controllerName
clearway.dev/gateway-status. No traffic is routed, so Programmed is Unknown unless --assume-programmed is set.
With --policies it loads Gatekeeper's templates and constraints, reports in their status, and audits what exists; where
Gatekeeper is installed it writes nothing. Its entries in statuses have the name in POD_NAME or HOSTNAME.
SIGTERM and Ctrl-C stop it, and another replica becomes the leader immediately.
Exit code 0: stopped by a signal; 3: could not start.";

/// Arguments of `clearway operator`.
#[derive(Debug, Args)]
// Updates are applied here or handed over as files, and not both.
#[group(skip)]
#[command(group = ArgGroup::new("apply_or_render").args(["apply_updates", "render"]))]
// Gateway API status and policies are tasks of their own, which need other rights.
#[command(group = ArgGroup::new("updates")
    .args(["state", "upstream", "prometheus", "evidence_as", "apply_updates", "render", "console_listen", "console_changes"])
    .multiple(true)
    .conflicts_with_all(["gateway_class", "policies"]))]
#[command(group = ArgGroup::new("task").args(["gateway_class", "policies"]))]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct Operator {
    #[command(flatten)]
    pub(crate) connection: ClusterConnection,
    /// State directory: used instead of a cluster
    #[arg(long, value_name = "DIR", env = "CLEARWAY_STATE", conflicts_with_all = ["kubeconfig", "context"])]
    pub(crate) state: Option<PathBuf>,
    /// Update service: used where spec.upstream is empty
    #[arg(long, value_name = "URL")]
    pub(crate) upstream: Option<Address>,
    #[command(flatten)]
    pub(crate) prometheus: PrometheusAccess,
    /// The metrics store holds many clusters: replace `_id=""` in queries by the cluster id
    #[arg(long, requires = "prometheus")]
    pub(crate) shared_store: bool,
    #[command(flatten)]
    pub(crate) ca: CaFile,
    /// Architecture [default: that of this machine]
    #[arg(long, value_name = "ARCH", value_parser = Arch::from_person)]
    pub(crate) arch: Option<Arch>,
    /// Apply the updates that are requested in spec.desiredUpdate [default: only report recommendations]
    #[arg(long)]
    pub(crate) apply_updates: bool,
    /// Service account for reading the objects of rules: NAME (in --namespace) or NAMESPACE:NAME
    #[arg(long, value_name = "SERVICEACCOUNT", conflicts_with = "state")]
    pub(crate) evidence_as: Option<String>,
    /// Service account for applying updates: NAME (in --namespace) or NAMESPACE:NAME
    #[arg(long, value_name = "SERVICEACCOUNT", conflicts_with = "state", requires = "apply_or_render")]
    pub(crate) apply_as: Option<String>,
    /// Public keys (PEM): one of them must have signed a release; repeatable
    #[arg(long, value_name = "FILE")]
    pub(crate) release_key: Vec<PathBuf>,
    /// Cache directory: for releases, so that a started update can continue without the registry
    #[arg(long, value_name = "DIR")]
    pub(crate) cache: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) registry: RegistryAccess,
    /// Do not start an update while a preflight check has a blocking finding, unless the update is forced
    #[arg(long)]
    pub(crate) preflight_veto: bool,
    /// Write releases to files in this directory, and wait until another tool has applied them
    #[arg(long, value_name = "DIR")]
    pub(crate) render: Option<PathBuf>,
    /// Namespace: that of the operator's lease and cached state
    #[arg(long, value_name = "NAME", default_value = "clearway")]
    pub(crate) namespace: String,
    /// Lease duration: how long other replicas wait for a leader that does not renew
    #[arg(long, value_name = "DURATION", default_value = "60s", value_parser = parse_duration)]
    pub(crate) lease_duration: Duration,
    /// Interval between lease renewals of the leader [default: a third of --lease-duration]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub(crate) lease_renewal: Option<Duration>,
    /// Address of /livez, /readyz and /metrics: see also --metrics-listen
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:9080", value_parser = parse_listen)]
    pub(crate) status_listen: SocketAddr,
    /// Address of /metrics, if it differs from --status-listen
    #[arg(long, value_name = "ADDRESS", value_parser = parse_listen)]
    pub(crate) metrics_listen: Option<SocketAddr>,
    /// Require a bearer token for /metrics, of a user that is allowed to `get` the URL /metrics
    #[arg(long, conflicts_with = "state")]
    pub(crate) metrics_authentication: bool,
    /// Address of the web console, a read-only view for people [default: no console]: the updates of this cluster
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) console_listen: Option<SocketAddr>,
    /// Let people start updates and accept risks in the web console, with their own Kubernetes tokens
    #[arg(long, requires = "console_listen")]
    pub(crate) console_changes: bool,
    #[command(flatten)]
    pub(crate) gateway: GatewayStatusOptions,
    #[command(flatten)]
    pub(crate) enforcement: PolicyEnforcement,
    #[command(flatten)]
    pub(crate) webhook: WebhookAddressOptions,
    #[command(flatten)]
    pub(crate) rounds: OperatorPace,
    #[command(flatten)]
    pub(crate) queries: QueryLimits,
    #[command(flatten)]
    pub(crate) logging: Logging,
}

/// Options of the status-only implementation of Gateway API.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Gateway API status")]
pub(crate) struct GatewayStatusOptions {
    /// Write the status of Gateway API objects; NAME is a GatewayClass with controllerName clearway.dev/gateway-status
    #[arg(long, value_name = "NAME")]
    pub(crate) gateway_class: Option<String>,
    /// Report valid Gateways and listeners as programmed: another program is their data plane [default: Unknown]
    #[arg(long, requires = "gateway_class")]
    pub(crate) assume_programmed: bool,
    /// Address that is assigned to Gateways; repeatable
    #[arg(long, value_name = "ADDRESS", requires = "gateway_class")]
    pub(crate) address: Vec<String>,
    /// Address that cannot be used; repeatable
    #[arg(long, value_name = "ADDRESS", requires = "gateway_class")]
    pub(crate) unusable_address: Vec<String>,
    /// Supported features, separated by commas [default: all]
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', requires = "gateway_class")]
    pub(crate) supported_features: Vec<String>,
}

/// Intervals of the operator's requests to the update service and the metrics store (U9).
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Pace")]
pub(crate) struct OperatorPace {
    /// Interval between requests to the update service, with a jitter of a third
    #[arg(long, value_name = "DURATION", default_value = "3m", value_parser = parse_duration)]
    pub(crate) fetch_every: Duration,
    /// Delay between two rounds of queries
    #[arg(long, value_name = "DURATION", default_value = "10m", value_parser = parse_duration)]
    pub(crate) between_rounds: Duration,
    /// Delay before a successful query is run again
    #[arg(long, value_name = "DURATION", default_value = "1h", value_parser = parse_duration)]
    pub(crate) between_answers: Duration,
    /// Number of queries per round
    #[arg(long, value_name = "PACE", default_value = "batch")]
    pub(crate) pace: QueryPace,
}

/// The number of queries in one round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum QueryPace {
    /// All queries that are due, several at a time
    Batch,
    /// One query
    Single,
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::arguments::{Arguments, Command};

    /// As OpenShift's operator: a lease of a minute that is renewed three times in it (15 writes in five minutes).
    #[test]
    fn the_lease_lasts_a_minute_by_default_and_is_renewed_every_20_seconds() {
        let parsed = Arguments::try_parse_from(["clearway", "operator"]).unwrap();
        let Command::Operator(operator) = parsed.command else { panic!() };
        assert_eq!((operator.lease_duration, operator.lease_renewal), (Duration::from_mins(1), None));
        let terms = crate::commands::operator::lease_terms(&operator).unwrap();
        assert_eq!(terms, clearway_operator::lease::LeaseTerms::default());
        assert_eq!(terms.renew, Duration::from_secs(20));
    }
}
