//! Arguments of `clearway explain`.

use clap::Args;

use super::DataOutput;

pub(crate) const EXPLAIN_EXAMPLES: &str = "\
Examples:
  clearway explain                     all codes
  clearway explain GD021               a code of a finding
  clearway explain PromQLError         a reason of a recommendation or a condition
  clearway explain Accepted/Pending    a condition of Gateway API and its reason
  clearway explain GW4                 a requirement that a finding cites
  clearway explain 2                   an exit code

Exit code 0: explained; 3: there is no such code.";

/// Arguments of `clearway explain`.
#[derive(Debug, Args)]
pub(crate) struct Explain {
    /// Code, reason, requirement or exit code [default: list all]
    pub(crate) code: Option<String>,
    #[command(flatten)]
    pub(crate) output: DataOutput,
}
