//! `clearway operator` on the command line.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgGroup, Args, ValueEnum};
use clearway_core::Arch;

use super::{ClusterConnection, Logging, PrometheusAccess, QueryLimits, RegistryAccess, parse_duration};

pub(crate) const OPERATOR_EXAMPLES: &str = "\
Examples:
  clearway operator --upstream https://updates.example.com/api/upgrades_info --prometheus http://prometheus:9090
  clearway operator --kubeconfig ~/.kube/config --apply-updates --release-key release.pub
  clearway operator --state /var/lib/clearway --upstream http://127.0.0.1:8080/api/upgrades_info

It keeps the ClusterVersion `version` and every ComponentVersion current: which updates there are, which of them are
recommended to this cluster and why. With --apply-updates it also applies the update that spec.desiredUpdate asks for.
`clearway install` runs it in a cluster, with the roles it needs: there it reads evidence and applies updates as two
other service accounts (--evidence-as, --apply-as), and its own account can do neither. Several replicas may run: one leads.
With --state a directory takes the place of the cluster, and its metrics/*.prom that of a Prometheus.
SIGTERM and Ctrl-C end it; another replica takes over at once.
Exit code 0: ended on request; 3: could not start.";

/// Options of `clearway operator`.
#[derive(Debug, Args)]
// Updates are applied here or handed over as files, and not both.
#[group(skip)]
#[command(group = ArgGroup::new("carry_out").args(["apply_updates", "render"]))]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct Operator {
    #[command(flatten)]
    pub(crate) connection: ClusterConnection,
    /// A directory in place of a cluster
    #[arg(long, value_name = "DIR", env = "CLEARWAY_STATE", conflicts_with_all = ["kubeconfig", "context"])]
    pub(crate) state: Option<PathBuf>,
    /// The update service to ask where spec.upstream names none
    #[arg(long, value_name = "URL")]
    pub(crate) upstream: Option<String>,
    #[command(flatten)]
    pub(crate) prometheus: PrometheusAccess,
    /// The metrics are of many clusters: the cluster's id takes the place of `_id=""` in queries
    #[arg(long, requires = "prometheus")]
    pub(crate) shared_store: bool,
    /// Certificates (PEM) that are trusted besides those of the system
    #[arg(long, value_name = "FILE")]
    pub(crate) ca_file: Option<PathBuf>,
    /// The architecture of the cluster's releases [default: that of this machine]
    #[arg(long, value_name = "ARCH")]
    pub(crate) arch: Option<Arch>,
    /// Apply the update that spec.desiredUpdate asks for [default: only advise]
    #[arg(long)]
    pub(crate) apply_updates: bool,
    /// Read the objects that rules look at as this service account: NAME (in --namespace) or NAMESPACE:NAME
    #[arg(long, value_name = "SERVICEACCOUNT", conflicts_with = "state")]
    pub(crate) evidence_as: Option<String>,
    /// Apply updates as this service account: NAME (in --namespace) or NAMESPACE:NAME
    #[arg(long, value_name = "SERVICEACCOUNT", conflicts_with = "state", requires = "carry_out")]
    pub(crate) apply_as: Option<String>,
    /// A public key (PEM) one of which must have signed a release; may be given several times
    #[arg(long, value_name = "FILE")]
    pub(crate) release_key: Vec<PathBuf>,
    /// Keep releases here, so that an update that was begun can go on without a registry
    #[arg(long, value_name = "DIR")]
    pub(crate) cache: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) registry: RegistryAccess,
    /// Let blocking findings of the preflight hold updates up, unless they are forced
    #[arg(long)]
    pub(crate) preflight_veto: bool,
    /// Write releases as files into this directory instead of applying them, and wait until something else has
    #[arg(long, value_name = "DIR")]
    pub(crate) render: Option<PathBuf>,
    /// The namespace of the lease and of what is kept over a restart
    #[arg(long, value_name = "NAME", default_value = "clearway")]
    pub(crate) namespace: String,
    /// How long others wait after the last sign of life of the one that leads
    #[arg(long, value_name = "DURATION", default_value = "60s", value_parser = parse_duration)]
    pub(crate) lease_duration: Duration,
    /// How often the one that leads renews the lease [default: a third of --lease-duration]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub(crate) lease_renewal: Option<Duration>,
    /// Where /livez and /readyz are, and /metrics unless --metrics-listen names another address
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:9080")]
    pub(crate) status_listen: SocketAddr,
    /// Serve /metrics on this address, and not beside /livez and /readyz
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) metrics_listen: Option<SocketAddr>,
    /// Show /metrics only to bearer tokens that the cluster accepts, of users that may get the URL /metrics
    #[arg(long, conflicts_with = "state")]
    pub(crate) metrics_authentication: bool,
    #[command(flatten)]
    pub(crate) rounds: OperatorPace,
    #[command(flatten)]
    pub(crate) queries: QueryLimits,
    #[command(flatten)]
    pub(crate) logging: Logging,
}

/// How often the operator asks the update service and the metrics store (U9).
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Pace")]
pub(crate) struct OperatorPace {
    /// How often the update service is asked, give or take a third
    #[arg(long, value_name = "DURATION", default_value = "3m", value_parser = parse_duration)]
    pub(crate) fetch_every: Duration,
    /// Delay between two rounds of queries
    #[arg(long, value_name = "DURATION", default_value = "10m", value_parser = parse_duration)]
    pub(crate) between_rounds: Duration,
    /// Delay before a query that gave an answer is run again
    #[arg(long, value_name = "DURATION", default_value = "1h", value_parser = parse_duration)]
    pub(crate) between_answers: Duration,
    /// How many queries are run in one round
    #[arg(long, value_name = "PACE", default_value = "batch")]
    pub(crate) pace: QueryPace,
}

/// How many queries are asked before the rest between two rounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum QueryPace {
    /// All that are due, some at a time
    Batch,
    /// One; then the rest between rounds, before any other
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
        assert_eq!(terms, clearway_operator::lease::Terms::default());
        assert_eq!(terms.renew, Duration::from_secs(20));
    }
}
