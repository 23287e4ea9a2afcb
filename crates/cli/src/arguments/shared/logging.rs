//! Options for the log of commands that run for long.

use clap::{Args, ValueEnum};

/// What is logged, and in which format.
#[derive(Debug, Clone, Args)]
pub(crate) struct Logging {
    /// Log format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) log_format: LogFormat,
    /// Log level (error, warn, info, debug), or a filter such as `info,clearway_server=debug` [default: info; -q: warn; -v:
    /// debug]
    #[arg(long, value_name = "FILTER")]
    pub(crate) log: Option<String>,
}

/// The format of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// Text
    Text,
    /// One JSON object per line
    Json,
}
