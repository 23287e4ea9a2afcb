//! Options that every linter has: which findings are shown, left out or accepted.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use clearway_core::Severity;

/// Which findings are shown.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Findings")]
pub(crate) struct LintOptions {
    /// Minimum severity of findings that are shown; the others are counted [default: warning; for -o json, yaml and
    /// sarif: info]
    #[arg(long, value_name = "SEVERITY")]
    pub(crate) severity: Option<MinimumSeverity>,
    /// Only findings of these codes, or whose codes begin so (GD1), separated by commas [default: all]
    #[arg(long, value_name = "CODE,...", value_delimiter = ',')]
    pub(crate) select: Vec<String>,
    /// No findings of these codes, or whose codes begin so, separated by commas; the longer of --select and --ignore counts
    #[arg(long, value_name = "CODE,...", value_delimiter = ',')]
    pub(crate) ignore: Vec<String>,
    /// File with accepted findings [default: .clearway-lint.yaml in each linted directory]
    #[arg(long, value_name = "FILE")]
    pub(crate) suppressions: Option<PathBuf>,
}

/// What the help of every linter says about accepted findings.
macro_rules! suppressions_help {
    () => {
        "\
A file .clearway-lint.yaml in a linted directory (or --suppressions FILE) lists accepted findings,
each with a reason and an end. file, object and path are optional; * matches any text.
Expired and unused ones are findings themselves:
  suppressions:
  - {code: GD102, file: blocked-edges/4.1*.yaml, reason: ticket 7, expires: 2027-06-30}"
    };
}
pub(crate) use suppressions_help;

/// The least severity that is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum MinimumSeverity {
    /// Errors, warnings and notes
    #[value(alias = "note")]
    Info,
    /// Errors and warnings
    Warning,
    /// Errors
    Error,
}

impl From<MinimumSeverity> for Severity {
    fn from(minimum: MinimumSeverity) -> Self {
        match minimum {
            MinimumSeverity::Info => Severity::Info,
            MinimumSeverity::Warning => Severity::Warning,
            MinimumSeverity::Error => Severity::Error,
        }
    }
}
