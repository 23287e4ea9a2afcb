//! The command line, as `--help` shows it. Completions and manual pages come from the same definition.

mod assess;
mod bundle;
mod cel;
mod demo;
mod fleet;
mod graph;
mod install;
mod operator;
mod promql;
mod release;
mod risk;
mod serve;
mod shared;
mod snapshot;
mod status;
mod upgrade;

use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, Subcommand, ValueEnum};

pub(crate) use assess::*;
pub(crate) use bundle::*;
pub(crate) use cel::*;
pub(crate) use demo::*;
pub(crate) use fleet::*;
pub(crate) use graph::*;
pub(crate) use install::*;
pub(crate) use operator::*;
pub(crate) use promql::*;
pub(crate) use release::*;
pub(crate) use risk::*;
pub(crate) use serve::*;
pub(crate) use shared::*;
pub(crate) use snapshot::*;
pub(crate) use status::*;
pub(crate) use upgrade::*;

/// Is this update safe for this cluster, and why?
#[derive(Debug, Parser)]
#[command(name = "clearway", version, propagate_version = true, max_term_width = 110)]
#[command(after_help = "\
Exit codes, for every command:
  0  yes, clean, current
  1  no, findings, failed
  2  not known, or not yet
  3  could not run: bad usage, bad input, unreachable

Begin with `clearway demo`: it needs nothing and shows what there is.")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show what Clearway does, on sample objects and a sample product, with nothing to set up
    #[command(after_help = DEMO_EXAMPLES)]
    Demo(Demo),
    /// Tell which updates are safe for a cluster, and why
    #[command(after_help = ASSESS_EXAMPLES, disable_version_flag = true)]
    Assess(Box<Assess>),
    /// Compare bundles of CRDs: which change may ship at which version
    #[command(subcommand)]
    Bundle(Box<Bundle>),
    /// Check, evaluate, test and explain CEL expressions as Kubernetes means them
    #[command(subcommand)]
    Cel(Cel),
    /// Show the update status of many clusters, and the effect of a graph change
    #[command(subcommand)]
    Fleet(Fleet),
    /// Build, check, show and explain the update graph of graph-data
    #[command(subcommand)]
    Graph(Graph),
    /// Bring the operator into a cluster: its CRDs, its rights, and what runs
    #[command(after_help = INSTALL_EXAMPLES)]
    Install(Box<Install>),
    /// Keep the cluster's advice current, and carry out the updates that are asked for
    #[command(after_help = OPERATOR_EXAMPLES)]
    Operator(Box<Operator>),
    /// Evaluate, check and test PromQL queries without a Prometheus
    #[command(subcommand)]
    Promql(Promql),
    /// Make, show and check releases: what a version is made of
    #[command(subcommand)]
    Release(Release),
    /// Explain the risks of graph-data, and test them before they are published
    #[command(subcommand)]
    Risk(Risk),
    /// Serve the update graph to clusters: Cincinnati's protocol, from one process
    #[command(after_help = SERVE_EXAMPLES)]
    Serve(Serve),
    /// Take a cluster's evidence, to assess it elsewhere or again
    #[command(subcommand)]
    Snapshot(Snapshot),
    /// Read, check and wait for the status of any Kubernetes objects
    #[command(subcommand)]
    Status(Status),
    /// Take the operator out of a cluster again; the CRDs and what they hold stay unless asked
    #[command(after_help = UNINSTALL_EXAMPLES)]
    Uninstall(Uninstall),
    /// Update a cluster or an add-on: what is recommended, asking for it, following it
    #[command(after_help = UPGRADE_EXAMPLES)]
    Upgrade(Box<Upgrade>),
    /// Print a completion script for a shell
    #[command(after_help = "Example:\n  source <(clearway completions bash)")]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page, or write all of them into a directory
    #[command(after_help = "Example:\n  clearway man --output-dir ~/.local/share/man/man1")]
    Man {
        /// Write one page per command here
        #[arg(long, value_name = "DIR")]
        output_dir: Option<PathBuf>,
    },
}

/// How data is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DataFormat {
    /// For a person
    Table,
    /// JSON
    Json,
    /// YAML
    Yaml,
}

/// How findings are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FindingFormat {
    /// For a person, with the source line
    Table,
    /// A JSON array
    Json,
    /// YAML
    Yaml,
    /// SARIF 2.1.0, for code hosting
    Sarif,
}

/// Reads `90s`, `5m`, `1h30m`; a bare number is seconds.
fn parse_duration(text: &str) -> Result<Duration, String> {
    let help = || format!("`{text}` is not a duration such as 90s, 5m or 1h30m");
    let mut total = 0_u64;
    let mut rest = text;
    while !rest.is_empty() {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let (number, behind) = rest.split_at(digits);
        let number: u64 = number.parse().map_err(|_| help())?;
        let mut unit = behind.chars();
        let factor = match unit.next() {
            Some('s') | None => 1,
            Some('m') => 60,
            Some('h') => 3_600,
            Some('d') => 86_400,
            Some(_) => return Err(help()),
        };
        total = number.checked_mul(factor).and_then(|seconds| total.checked_add(seconds)).ok_or_else(help)?;
        rest = unit.as_str();
    }
    if text.is_empty() { Err(help()) } else { Ok(Duration::from_secs(total)) }
}

/// Reads `512`, `64K`, `10M`, `1G` (powers of 1024).
fn parse_bytes(text: &str) -> Result<u64, String> {
    let help = || format!("`{text}` is not a size such as 512K, 10M or 1G");
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let number: u64 = digits.parse().map_err(|_| help())?;
    let shift = match text.get(digits.len()..).unwrap_or_default().to_ascii_uppercase().as_str() {
        "" | "B" => 0,
        "K" | "KB" | "KIB" => 10,
        "M" | "MB" | "MIB" => 20,
        "G" | "GB" | "GIB" => 30,
        _ => return Err(help()),
    };
    number.checked_mul(1 << shift).ok_or_else(help)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn the_definition_is_sound() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn durations_and_sizes_are_read_as_people_write_them() {
        for (text, seconds) in [("90s", 90), ("5m", 300), ("1h30m", 5_400), ("2d", 172_800), ("45", 45)] {
            assert_eq!(parse_duration(text), Ok(Duration::from_secs(seconds)), "{text}");
        }
        for text in ["", "m", "5x", "-1s", "99999999999999999999s", "9999999999999999d"] {
            assert!(parse_duration(text).is_err(), "{text}");
        }
        for (text, bytes) in [("512", 512), ("64K", 65_536), ("1MiB", 1 << 20), ("1g", 1 << 30)] {
            assert_eq!(parse_bytes(text), Ok(bytes), "{text}");
        }
        for text in ["", "K", "1T", "-1", "99999999999G"] {
            assert!(parse_bytes(text).is_err(), "{text}");
        }
    }
}
