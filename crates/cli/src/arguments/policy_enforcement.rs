//! Options of `clearway operator --policies`, which `clearway install` passes on.

use std::time::Duration;

use clap::Args;

use super::parse_duration;

/// Options of enforcing Gatekeeper's policies.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Policies")]
pub(crate) struct PolicyEnforcement {
    /// Enforce Gatekeeper's templates and constraints, where Gatekeeper is not installed
    #[arg(long)]
    pub(crate) policies: bool,
    /// Interval between audits, and before the first one; 0 for no audits
    #[arg(long, value_name = "DURATION", default_value = "60s", value_parser = parse_duration, requires = "policies")]
    pub(crate) audit_interval: Duration,
    /// Number of violations that the status of a constraint lists
    #[arg(long, value_name = "NUMBER", default_value_t = 20, requires = "policies")]
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
    /// Time that the evaluation of one object may take
    #[arg(long, value_name = "DURATION", default_value = "2s", value_parser = parse_duration, requires = "policies")]
    pub(crate) evaluation_timeout: Duration,
    /// Steps that one evaluation of a template in Rego may take
    #[arg(long, value_name = "STEPS", default_value_t = 10_000_000, requires = "policies")]
    pub(crate) max_steps: u64,
}
