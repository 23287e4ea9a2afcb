//! Options of `clearway operator --policies`, which `clearway install` passes on.

use std::net::SocketAddr;
use std::time::Duration;

use clap::Args;
use clearway_policy::audit::VIOLATIONS_LIMIT;

use super::{parse_duration, parse_listen};

/// Where the admission webhook is; in an installation it is behind its Service.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Policies")]
pub(crate) struct WebhookAddressOptions {
    /// Address of the admission webhook (HTTPS), such as 0.0.0.0:8443 [default: no webhook]
    #[arg(long, value_name = "ADDRESS", requires = "policies", value_parser = parse_listen)]
    pub(crate) webhook_listen: Option<SocketAddr>,
    /// URL under which the API server reaches the webhook [default: the Service clearway-policies in --namespace]
    #[arg(long, value_name = "URL", requires = "webhook_listen")]
    pub(crate) webhook_url: Option<String>,
}

/// Options of enforcing Gatekeeper's policies.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Policies")]
#[expect(clippy::struct_excessive_bools, reason = "each is a separate option")]
pub(crate) struct PolicyEnforcement {
    /// Enforce Gatekeeper's templates and constraints, where Gatekeeper is not installed
    #[arg(long)]
    pub(crate) policies: bool,
    /// Operations that the webhook reviews, separated by commas; used when its configuration is created
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', default_value = "CREATE,UPDATE", requires = "policies",
          value_parser = ["CREATE", "UPDATE", "DELETE", "CONNECT"])]
    pub(crate) webhook_operations: Vec<String>,
    /// Write a log line for each violation of an admission request
    #[arg(long, requires = "policies")]
    pub(crate) log_denies: bool,
    /// Write an Event for each violation of an admission request, in the namespace of the operator
    #[arg(long, requires = "policies")]
    pub(crate) emit_admission_events: bool,
    /// Write an Event for each violation that an audit finds, in the namespace of the operator
    #[arg(long, requires = "policies")]
    pub(crate) emit_audit_events: bool,
    /// How long requests are accepted after a stop signal
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = parse_duration, requires = "policies")]
    pub(crate) shutdown_delay: Duration,
    /// Interval between audits, and before the first one; 0 for no audits
    #[arg(long, value_name = "DURATION", default_value = "60s", value_parser = parse_duration, requires = "policies")]
    pub(crate) audit_interval: Duration,
    /// Violations that are listed for each constraint: the first by group, version, kind, namespace and name. All are counted
    #[arg(long, value_name = "COUNT", default_value_t = VIOLATIONS_LIMIT, requires = "policies")]
    pub(crate) constraint_violations_limit: usize,
    /// Number of objects that an audit reads at a time
    #[arg(long, value_name = "NUMBER", default_value_t = 500, value_parser = clap::value_parser!(u32).range(1..), requires = "policies")]
    pub(crate) audit_chunk_size: u32,
    /// Namespace that may have the label admission.gatekeeper.sh/ignore; repeatable
    #[arg(long, value_name = "NAME", requires = "policies")]
    pub(crate) exempt_namespace: Vec<String>,
    /// Beginning of names of namespaces that may have the label admission.gatekeeper.sh/ignore; repeatable
    #[arg(long, value_name = "TEXT", requires = "policies")]
    pub(crate) exempt_namespace_prefix: Vec<String>,
    /// End of names of namespaces that may have the label admission.gatekeeper.sh/ignore; repeatable
    #[arg(long, value_name = "TEXT", requires = "policies")]
    pub(crate) exempt_namespace_suffix: Vec<String>,
    /// Refuse constraints with an unknown enforcement action, instead of warning
    #[arg(long, requires = "policies")]
    pub(crate) reject_unknown_actions: bool,
    /// Size of the objects that templates see as data.inventory, in MiB; a kind that does not fit is left out
    #[arg(long, value_name = "MIB", default_value_t = 64, requires = "policies")]
    pub(crate) inventory_limit: usize,
    /// Number of processes that evaluate policies [default: one for each core, from 2 to 4]
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u16).range(1..=64), requires = "policies")]
    pub(crate) evaluators: Option<u16>,
    /// Memory that templates and the inventory may use in each of these processes, in MiB
    #[arg(long, value_name = "MIB", default_value_t = 512, requires = "policies")]
    pub(crate) evaluator_memory: u64,
    /// Seconds that the evaluation of one object may take: of CPU, for one template; the API server waits for 3 seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 1, requires = "policies")]
    pub(crate) evaluation_timeout: u64,
    /// Steps that one evaluation of a template in Rego may take
    #[arg(long, value_name = "STEPS", default_value_t = 10_000_000, requires = "policies")]
    pub(crate) max_steps: u64,
}
