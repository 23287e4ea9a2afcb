//! Arguments of `clearway cel`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::{DataOutput, FindingOutput, TestReport, TextOutput};

#[derive(Debug, Subcommand)]
pub(crate) enum Cel {
    /// Check the syntax, types and estimated cost of an expression
    #[command(after_help = "\
Examples:
  clearway cel check 'object.spec.replicas > 1'
  clearway cel check 'self.spec.minReplicas <= self.spec.maxReplicas' --schema crd.yaml
  clearway cel check 'self.all(x, x.size() < 10)' --schema crd.yaml --at 'spec.names'
  clearway cel check \"request.userInfo.username != ''\" --environment admission -o json

Exit code 0: clean; 1: findings; 3: could not run.")]
    Check(CelCheck),
    /// Evaluate an expression over an object in a file
    #[command(after_help = "\
Examples:
  clearway cel eval 'object.spec.replicas > 1' --object deployment.yaml
  clearway cel eval \"self.spec.names.exists(x, x == 'a')\" --object widget.yaml --schema crd.yaml --explain
  kubectl get deployment web -o json | clearway cel eval 'object.status.readyReplicas' --object - -o json

Exit code 0: evaluated; 1: the evaluation fails; 3: the expression or a file is invalid.")]
    Eval(CelEval),
    /// Run tests in the format of the CEL specification
    #[command(after_help = "\
Examples:
  clearway cel test tests/simple/testdata/*.textproto
  clearway cel test basic.textproto -o json
  clearway cel test basic.textproto --junit results.xml

Exit code 0: none failed (tests that need Protocol Buffers are listed as unsupported); 1: at least one failed; 3: a file is
invalid.")]
    Test(CelTest),
    /// Explain a function or macro
    #[command(after_help = "\
Examples:
  clearway cel explain exists
  clearway cel explain quantity -o json
  clearway cel explain --environment standard

Exit code 0: the function exists; 1: it does not; 3: could not run.")]
    Explain(CelExplain),
}

/// The variables and functions of an expression.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CelEnvironment {
    /// `object`, as in rules of update graphs
    Resource,
    /// `self` and `oldSelf`, as in validation rules of a CRD; needs --schema
    Crd,
    /// `object`, `oldObject`, `request` and so on, as in admission policies
    Admission,
    /// `object`, with all functions of the CEL specification
    Standard,
}

/// An environment, and the schema of its variables.
#[derive(Debug, Args)]
pub(crate) struct CelScope {
    /// Environment: the variables and functions of expressions [default: `crd` with --schema, else `resource`]
    #[arg(long, value_name = "ENVIRONMENT")]
    pub(crate) environment: Option<CelEnvironment>,
    /// CRD with the schema of `self`
    #[arg(long, value_name = "FILE|-")]
    pub(crate) schema: Option<PathBuf>,
    /// Version of the CRD [default: the storage version]
    #[arg(long, value_name = "VERSION", requires = "schema")]
    pub(crate) crd_version: Option<String>,
    /// Path of the rule in the schema, such as spec.items[] or spec.labels{}
    #[arg(long, value_name = "PATH", requires = "schema", default_value = "", hide_default_value = true)]
    pub(crate) at: String,
    /// Kubernetes version that defines the available CEL libraries
    #[arg(long, value_name = "1.N", value_parser = parse_minor, default_value = "1.36")]
    pub(crate) kubernetes: u32,
}

/// Arguments of `clearway cel check`.
#[derive(Debug, Args)]
pub(crate) struct CelCheck {
    /// Expression, or - for standard input
    #[arg(value_name = "EXPR|-")]
    pub(crate) expression: String,
    #[command(flatten)]
    pub(crate) scope: CelScope,
    #[command(flatten)]
    pub(crate) output: FindingOutput,
}

/// Arguments of `clearway cel eval`.
#[derive(Debug, Args)]
pub(crate) struct CelEval {
    /// Expression
    #[arg(value_name = "EXPR")]
    pub(crate) expression: String,
    /// Object: a file, or standard input (-)
    #[arg(long, value_name = "FILE|-")]
    pub(crate) object: PathBuf,
    /// Previous state of the object, for `oldSelf` or `oldObject`
    #[arg(long, value_name = "FILE")]
    pub(crate) old: Option<PathBuf>,
    /// Parameters, for `params`
    #[arg(long, value_name = "FILE")]
    pub(crate) params: Option<PathBuf>,
    /// Show the value of every part: with its cost
    #[arg(long)]
    pub(crate) explain: bool,
    #[command(flatten)]
    pub(crate) scope: CelScope,
    #[command(flatten)]
    pub(crate) output: TextOutput,
}

/// Arguments of `clearway cel test`.
#[derive(Debug, Args)]
pub(crate) struct CelTest {
    /// Test files
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) report: TestReport,
    #[command(flatten)]
    pub(crate) output: TextOutput,
}

/// Arguments of `clearway cel explain`.
#[derive(Debug, Args)]
pub(crate) struct CelExplain {
    /// Function or macro [default: list all]
    #[arg(value_name = "FUNCTION")]
    pub(crate) function: Option<String>,
    /// Environment: the variables and functions of expressions
    #[arg(long, value_name = "ENVIRONMENT", default_value = "resource")]
    pub(crate) environment: CelEnvironment,
    #[command(flatten)]
    pub(crate) output: DataOutput,
}

fn parse_minor(text: &str) -> Result<u32, String> {
    let minor = text.strip_prefix("1.").and_then(|minor| minor.parse().ok());
    minor.ok_or_else(|| format!("`{text}` is not a Kubernetes version such as 1.36"))
}
