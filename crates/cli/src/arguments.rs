//! The command line: arguments and help texts. Completions and manual pages are generated from it.

mod assess;
mod bundle;
mod catalog;
mod cel;
mod demo;
mod explain;
mod fleet;
mod gateway;
mod graph;
mod install;
mod operator;
mod policy;
mod policy_enforcement;
mod promql;
mod release;
mod risk;
mod serve;
mod shared;
mod snapshot;
mod status;
mod upgrade;
mod usage_hint;
mod version;

use std::path::PathBuf;

use clap::{Parser, Subcommand};

pub(crate) use assess::*;
pub(crate) use bundle::*;
pub(crate) use catalog::*;
pub(crate) use cel::*;
pub(crate) use demo::*;
pub(crate) use explain::*;
pub(crate) use fleet::*;
pub(crate) use gateway::*;
pub(crate) use graph::*;
pub(crate) use install::*;
pub(crate) use operator::*;
pub(crate) use policy::*;
pub(crate) use policy_enforcement::*;
pub(crate) use promql::*;
pub(crate) use release::*;
pub(crate) use risk::*;
pub(crate) use serve::*;
pub(crate) use shared::*;
pub(crate) use snapshot::*;
pub(crate) use status::*;
pub(crate) use upgrade::*;
pub(crate) use usage_hint::*;
pub(crate) use version::*;

/// Update advice for Kubernetes clusters: is this update safe for this cluster, and why?
#[derive(Debug, Parser)]
#[command(name = "clearway", version, propagate_version = true, max_term_width = 110)]
#[command(after_help = "\
Exit codes, for every command:
  0  yes, clean, current
  1  no, findings, failed
  2  unknown, or not yet
  3  could not run: bad usage, bad input, unreachable

Start with `clearway demo`, which needs no cluster.")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
    #[command(flatten)]
    pub(crate) terminal: TerminalOptions,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a demo on sample data, without a cluster
    #[command(after_help = DEMO_EXAMPLES)]
    Demo(Demo),
    /// Evaluate which updates are recommended for a cluster, and why
    #[command(after_help = ASSESS_EXAMPLES, disable_version_flag = true)]
    Assess(Box<Assess>),
    /// Compare bundles of CRDs: which change may ship at which version
    #[command(subcommand)]
    Bundle(Box<Bundle>),
    /// List, show and publish the catalogue: products that clusters run, with their known risks
    #[command(subcommand)]
    Catalog(Catalog),
    /// Check, evaluate and test CEL expressions as Kubernetes does
    #[command(subcommand)]
    Cel(Cel),
    /// Test, check and explain policies of Gatekeeper: templates and constraints
    #[command(subcommand)]
    Policy(Policy),
    /// Explain a code of a finding, a reason of a condition or an exit code
    #[command(after_help = EXPLAIN_EXAMPLES)]
    Explain(Explain),
    /// Show the update status of many clusters, and the effect of a graph change
    #[command(subcommand)]
    Fleet(Fleet),
    /// Compute, audit and compare the status of Gateway API objects
    #[command(subcommand)]
    Gateway(Box<Gateway>),
    /// Build, lint, show and compare update graphs
    #[command(subcommand)]
    Graph(Graph),
    /// Install the operator, its CRDs and RBAC; or the update service
    #[command(after_help = INSTALL_EXAMPLES, args_conflicts_with_subcommands = true)]
    Install(Box<Install>),
    /// Run the operator: report recommended updates, and apply requested ones
    #[command(after_help = OPERATOR_EXAMPLES)]
    Operator(Box<Operator>),
    /// Check, evaluate and test PromQL queries without a Prometheus
    #[command(subcommand)]
    Promql(Promql),
    /// Pack, show, verify and render releases
    #[command(subcommand)]
    Release(Release),
    /// Explain and test the risks of graph-data
    #[command(subcommand)]
    Risk(Risk),
    /// Run the update service (Cincinnati protocol)
    #[command(after_help = SERVE_EXAMPLES)]
    Serve(Serve),
    /// Collect a cluster's evidence, to assess it elsewhere or later
    #[command(subcommand)]
    Snapshot(Snapshot),
    /// Show, lint and wait for the status of Kubernetes objects
    #[command(subcommand)]
    Status(Status),
    /// Uninstall the operator; CRDs and their objects are kept by default
    #[command(after_help = UNINSTALL_EXAMPLES, args_conflicts_with_subcommands = true)]
    Uninstall(Uninstall),
    /// List, request and watch updates of a cluster or an add-on
    #[command(after_help = UPGRADE_EXAMPLES)]
    Upgrade(Box<Upgrade>),
    /// Evaluate policies for `clearway operator --policies`, which starts it
    #[command(hide = true)]
    PolicyEvaluator,
    /// Show the versions of this program and of the installed operator
    #[command(after_help = VERSION_EXAMPLES, disable_version_flag = true)]
    Version(ShowVersion),
    /// Print a shell completion script
    #[command(after_help = "Example:\n  source <(clearway completions bash)")]
    Completions {
        /// Shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page, or write all pages to a directory
    #[command(after_help = "Example:\n  clearway man --output-dir ~/.local/share/man/man1")]
    Man {
        /// Output directory: write one page per command there
        #[arg(long, value_name = "DIR")]
        output_dir: Option<PathBuf>,
    },
}

#[cfg(test)]
mod tests;
