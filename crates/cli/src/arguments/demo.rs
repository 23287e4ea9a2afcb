//! Arguments of `clearway demo`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

pub(crate) const DEMO_EXAMPLES: &str = "\
Examples:
  clearway demo
  clearway demo story
  clearway demo outage --once             run to the end, for a script
  clearway demo --output-dir samples      also keep the files, to try the commands on
  clearway demo --list

At a terminal the demo runs until Ctrl-C, opens its web console in your browser if there is a graphical session, and prints
commands to try in a second terminal. Intervals are shorter than in a cluster, and rollouts are simulated.";

/// Arguments of `clearway demo`.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct Demo {
    /// Scenario
    #[arg(default_value = "tour")]
    pub(crate) scenario: Scenario,
    /// List the scenarios
    #[arg(long, conflicts_with_all = ["scenario", "output_dir", "once", "stay", "no_browser"])]
    pub(crate) list: bool,
    /// Output directory: keep the samples and the state of the simulated cluster there
    #[arg(long, alias = "keep", value_name = "DIR")]
    pub(crate) output_dir: Option<PathBuf>,
    /// Exit after the last step; the default without a terminal
    #[arg(long)]
    pub(crate) once: bool,
    /// Run until Ctrl-C; the default at a terminal
    #[arg(long, conflicts_with = "once")]
    pub(crate) stay: bool,
    /// Do not open the web console in a browser; its address is printed
    #[arg(long)]
    pub(crate) no_browser: bool,
}

/// A scenario.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Scenario {
    /// All features: object health, a graph, updates of a cluster, bundles of CRDs, the update service, the operator
    Tour,
    /// A cluster on vSphere, with three risks between 4.6.23 and 4.7.4
    Story,
    /// Metrics are lost and restored: recommendations become Unknown, then recover
    Outage,
    /// A risk is published: an update is no longer recommended
    Publish,
    /// Two updates are applied and recorded in the history
    Update,
}
