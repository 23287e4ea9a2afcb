//! Output formats: `-o` everywhere, and reports for continuous integration.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// The output format of data.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct DataOutput {
    /// Output format
    #[arg(short = 'o', long = "output", value_name = "FORMAT", default_value = "table")]
    pub(crate) format: DataFormat,
}

/// The output format of findings.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct FindingOutput {
    /// Output format
    #[arg(short = 'o', long = "output", value_name = "FORMAT", default_value = "table")]
    pub(crate) format: FindingFormat,
}

/// A format for data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DataFormat {
    /// Text for a terminal
    Table,
    /// JSON
    Json,
    /// YAML
    Yaml,
}

/// A format for findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FindingFormat {
    /// Text for a terminal, with the source line
    Table,
    /// A JSON array
    Json,
    /// YAML
    Yaml,
    /// SARIF 2.1.0, for code hosting
    Sarif,
}

/// The results of tests in a file.
#[derive(Debug, Clone, Args)]
pub(crate) struct TestReport {
    /// Also write the results to this file in JUnit format
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
}
