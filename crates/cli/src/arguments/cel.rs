//! `clearway cel` on the command line.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::{DataFormat, FindingFormat};

#[derive(Debug, Subcommand)]
pub(crate) enum Cel {
    /// Check an expression: its words, its types, and what it may cost
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

Exit code 0: the expression was evaluated; 1: the evaluation fails; 3: the expression is refused, or a file cannot be
read.")]
    Eval(CelEval),
    /// Run the tests of the CEL specification, or others in their form
    #[command(after_help = "\
Examples:
  clearway cel test tests/simple/testdata/*.textproto
  clearway cel test basic.textproto -o json
  clearway cel test basic.textproto --junit results.xml

Exit code 0: nothing failed (what needs Protocol Buffers is named as not supported); 1: at least one failed; 3: a file
cannot be read.")]
    Test(CelTest),
    /// Explain a function or macro: what it does, and how it is called
    #[command(after_help = "\
Examples:
  clearway cel explain exists
  clearway cel explain quantity -o json
  clearway cel explain --environment standard

Exit code 0: the function exists; 1: it does not; 3: could not run.")]
    Explain(CelExplain),
}

/// What an expression may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CelEnvironment {
    /// `object`, as resource rules of update graphs have it
    Resource,
    /// `self` and `oldSelf`, as validation rules of a CRD have them; needs --schema
    Crd,
    /// `object`, `oldObject`, `request` and so on, as admission policies have them
    Admission,
    /// `object`, with everything that the specification has
    Standard,
}

/// Which environment is meant.
#[derive(Debug, Args)]
pub(crate) struct CelScope {
    /// What the expression may use; by default `crd` with --schema, and `resource` without
    #[arg(long, value_name = "ENVIRONMENT")]
    pub(crate) environment: Option<CelEnvironment>,
    /// The CRD whose schema `self` has
    #[arg(long, value_name = "FILE|-")]
    pub(crate) schema: Option<PathBuf>,
    /// The version of the CRD; by default the one that is stored
    #[arg(long, value_name = "VERSION", requires = "schema")]
    pub(crate) crd_version: Option<String>,
    /// The place in the schema that the rule stands at, such as spec.items[] or spec.labels{}
    #[arg(long, value_name = "PATH", requires = "schema", default_value = "", hide_default_value = true)]
    pub(crate) at: String,
    /// The version of Kubernetes whose libraries are there
    #[arg(long, value_name = "1.N", value_parser = parse_minor, default_value = "1.36")]
    pub(crate) kubernetes: u32,
}

/// Options of `clearway cel check`.
#[derive(Debug, Args)]
pub(crate) struct CelCheck {
    /// The expression, or - for standard input
    #[arg(value_name = "EXPR|-")]
    pub(crate) expression: String,
    #[command(flatten)]
    pub(crate) scope: CelScope,
    /// How to print
    #[arg(short, long, value_name = "FORMAT", default_value = "table")]
    pub(crate) output: FindingFormat,
}

/// Options of `clearway cel eval`.
#[derive(Debug, Args)]
pub(crate) struct CelEval {
    /// The expression
    #[arg(value_name = "EXPR")]
    pub(crate) expression: String,
    /// The object: a file, or standard input (-)
    #[arg(long, value_name = "FILE|-")]
    pub(crate) object: PathBuf,
    /// The object as it was before, for `oldSelf` or `oldObject`
    #[arg(long, value_name = "FILE")]
    pub(crate) old: Option<PathBuf>,
    /// Parameters, for `params`
    #[arg(long, value_name = "FILE")]
    pub(crate) params: Option<PathBuf>,
    /// Show the value and cost of every part
    #[arg(long)]
    pub(crate) explain: bool,
    #[command(flatten)]
    pub(crate) scope: CelScope,
    /// How to print
    #[arg(short, long, value_name = "FORMAT", default_value = "table")]
    pub(crate) output: DataFormat,
}

/// Options of `clearway cel test`.
#[derive(Debug, Args)]
pub(crate) struct CelTest {
    /// The files
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Write a report for continuous integration here too, in the form of `JUnit`
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
    /// How to print
    #[arg(short, long, value_name = "FORMAT", default_value = "table")]
    pub(crate) output: DataFormat,
}

/// Options of `clearway cel explain`.
#[derive(Debug, Args)]
pub(crate) struct CelExplain {
    /// The function or macro; by default all of them are listed
    #[arg(value_name = "FUNCTION")]
    pub(crate) function: Option<String>,
    /// Where it is looked for
    #[arg(long, value_name = "ENVIRONMENT", default_value = "resource")]
    pub(crate) environment: CelEnvironment,
    /// How to print
    #[arg(short, long, value_name = "FORMAT", default_value = "table")]
    pub(crate) output: DataFormat,
}

fn parse_minor(text: &str) -> Result<u32, String> {
    let minor = text.strip_prefix("1.").and_then(|minor| minor.parse().ok());
    minor.ok_or_else(|| format!("`{text}` is no version of Kubernetes such as 1.36"))
}
