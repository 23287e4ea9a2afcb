//! `clearway risk` on the command line.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::AsData;

#[derive(Debug, Subcommand)]
pub(crate) enum Risk {
    /// Run the unit tests of the risks of a graph-data directory
    #[command(after_help = "\
Example of a file below risk-tests/ in the directory:
  risk: ProxyTimeouts
  cases:
  - name: a cluster behind a proxy
    series: |
      cluster_proxy_enabled{type=\"https\"} 1
    expect: match             # or: no match, unknown

Examples:
  clearway risk test --graph graph-data
  clearway risk test --graph graph-data --junit results.xml

Beside what is written, every risk with a query is tried with a metrics store that is away, and with answers of no
series, of two, and of the value 2: none of them may be taken for `does not apply`.

Exit code 0: all passed; 1: at least one failed; 3: could not run.")]
    Test(RiskTest),
}

/// Options of `clearway risk test`.
#[derive(Debug, Args)]
pub(crate) struct RiskTest {
    /// The graph-data directory
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) graph: PathBuf,
    /// Only the tests that stand in files
    #[arg(long)]
    pub(crate) only_written: bool,
    /// Write the results in `JUnit`'s form here
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) output: AsData,
}
