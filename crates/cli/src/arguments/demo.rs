//! `clearway demo` on the command line.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

pub(crate) const DEMO_EXAMPLES: &str = "\
Examples:
  clearway demo
  clearway demo story
  clearway demo --keep samples      the same as files, to try the commands on
  clearway demo --list";

/// Options of `clearway demo`.
#[derive(Debug, Args)]
pub(crate) struct Demo {
    /// What is shown
    #[arg(default_value = "tour")]
    pub(crate) scenario: Scenario,
    /// List what there is to be shown
    #[arg(long, conflicts_with_all = ["scenario", "keep", "once"])]
    pub(crate) list: bool,
    /// Keep the samples in this directory, to try the commands on them
    #[arg(long, value_name = "DIR")]
    pub(crate) keep: Option<PathBuf>,
    /// End at the end, and do not go on serving; so it is anyway when nobody is at a terminal
    #[arg(long)]
    pub(crate) once: bool,
}

/// What there is to be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Scenario {
    /// Everything there is: objects, the graph of a sample product, updates of a sample cluster, the service
    Tour,
    /// One cluster: on vSphere and behind a proxy, with three risks on its way from 4.6.23 to 4.7.4
    Story,
}
