//! Options that every command has: how it prints, and how much.

use clap::{ArgAction, Args, ValueEnum};

/// Colours, the pager, and how much is printed on standard error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct TerminalOptions {
    /// Use colours [default: auto: on a terminal, unless `NO_COLOR` is set]
    #[arg(long, value_name = "WHEN", global = true, default_value = "auto", hide_default_value = true)]
    pub(crate) color: ColorWhen,
    /// Print tables without the line of column names
    #[arg(long, global = true)]
    pub(crate) no_headers: bool,
    /// Do not show long output in a pager: `$CLEARWAY_PAGER`, `$PAGER` or less; none is used outside of a terminal
    #[arg(long, global = true)]
    pub(crate) no_pager: bool,
    /// Print only the result, warnings and errors, without notes and progress
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// Log requests and retries on standard error, and show what a command leaves out by default; twice for more
    #[arg(short, long, global = true, action = ArgAction::Count)]
    pub(crate) verbose: u8,
}

/// When colours are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorWhen {
    /// On a terminal, unless `NO_COLOR` is set
    Auto,
    /// Also in files and pipes
    Always,
    /// Never
    Never,
}
