//! `clearway demo` on the command line.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

pub(crate) const DEMO_EXAMPLES: &str = "\
Examples:
  clearway demo
  clearway demo story
  clearway demo outage --once       to its end, for a script
  clearway demo --keep samples      the same as files, to try the commands on
  clearway demo --list

At a terminal the demo goes on until Ctrl-C, so that commands in a second terminal have something to
work on; it prints them. Intervals are shorter than in a cluster, and rollouts are simulated.";

/// Options of `clearway demo`.
#[derive(Debug, Args)]
pub(crate) struct Demo {
    /// What is shown
    #[arg(default_value = "tour")]
    pub(crate) scenario: Scenario,
    /// List what there is to be shown
    #[arg(long, conflicts_with_all = ["scenario", "keep", "once", "stay"])]
    pub(crate) list: bool,
    /// Keep everything in this directory: the samples, and the state of the cluster
    #[arg(long, value_name = "DIR")]
    pub(crate) keep: Option<PathBuf>,
    /// Stop after the last step instead of serving on; the default without a terminal
    #[arg(long)]
    pub(crate) once: bool,
    /// Serve until Ctrl-C, also without a terminal
    #[arg(long, conflicts_with = "once")]
    pub(crate) stay: bool,
}

/// What there is to be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Scenario {
    /// Everything there is: objects, a graph, updates of a cluster, the service, the operator
    Tour,
    /// One cluster on vSphere, with three risks on its way from 4.6.23 to 4.7.4
    Story,
    /// The metrics go away and come back: advice turns unknown, and recovers
    Outage,
    /// A risk is published: an update is recommended no longer
    Publish,
    /// Two updates are carried out and recorded
    Update,
}
