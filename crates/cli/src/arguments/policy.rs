//! Arguments of `clearway policy`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use clearway_core::Arch;
use clearway_policy::audit::VIOLATIONS_LIMIT;

use super::{
    ClusterConnection, DataOutput, FindingOutput, LintOptions, RegistryConnection, TestReport, TextOutput,
    suppressions_help,
};

#[derive(Debug, Subcommand)]
pub(crate) enum Policy {
    /// Run test suites of gator
    #[command(after_help = "\
Examples:
  clearway policy verify library/general/requiredlabels
  clearway policy verify library/... --run 'required-labels//missing'
  clearway policy verify suite.yaml -v --junit results.xml

A directory is searched for suites, and with /... at its end, the directories below it as well.

Exit code 0: all tests pass; 1: a test fails or a suite cannot be read.")]
    Verify(PolicyVerify),
    /// Evaluate objects in files against the templates and constraints beside them
    #[command(after_help = "\
Examples:
  clearway policy test -f policies/ -f deployment.yaml
  kustomize build . | clearway policy test -f policies/ -f -
  clearway policy test -f policies/ -f objects/ -o json --deny-only

Exit code 0: no violation of a constraint that denies; 1: at least one, or a file cannot be read.")]
    Test(PolicyTest),
    /// Check templates and constraints
    #[command(after_help = concat!("\
Examples:
  clearway policy lint -f policies/
  clearway policy lint -f policies/ --ignore PO004
  clearway policy lint -f template.yaml -f constraint.yaml -o sarif

", suppressions_help!(), "

Exit code 0: clean (notes are allowed); 1: warnings or errors; 3: could not run."))]
    Lint(PolicyLint),
    /// Explain which constraints match an object, and what they evaluate to
    #[command(after_help = "\
Examples:
  clearway policy explain deployment.yaml -f policies/
  clearway policy explain review.yaml -f policies/ --inventory cluster.yaml -o json

Exit code 0: no violation; 1: at least one; 3: could not run.")]
    Explain(PolicyExplain),
    /// Measure how long constraints take to evaluate objects
    #[command(after_help = "\
Examples:
  clearway policy bench -f policies/ -f objects/
  clearway policy bench -f policies/ -f objects/ --iterations 10000 -o json

Exit code 0: measured; 3: could not run.")]
    Bench(PolicyBench),
    /// Report which objects of a cluster, or of a snapshot of one, violate constraints
    #[command(after_help = "\
Examples:
  clearway policy audit                                   the cluster, by its own constraints
  clearway policy audit -f policies/                      the cluster, by templates and constraints in files
  clearway policy audit --snapshot snapshot/ -f policies/
  clearway policy audit --write-status                    as Gatekeeper's audit does, where it is not installed
  clearway policy audit -o policyreport | kubectl apply -f -

Objects are listed kind by kind, only kinds that a constraint is about, and evaluated while the next ones are read. Constraints
are those of the enforcement point audit.gatekeeper.sh; namespaces that Gatekeeper's Config excludes are left out.
Templates see the kinds that Config and SyncSet name as data.inventory; with a snapshot and neither, all of its objects.

Exit code 0: no violation of a constraint that denies (violations of warn and dryrun are reported); 1: at least one;
2: none, but something could not be read or evaluated; 3: could not run.")]
    Audit(PolicyAudit),
    /// Report which objects of a release would violate the constraints of a cluster
    #[command(after_help = "\
Examples:
  clearway policy preview --release releases/1.5.0
  clearway policy preview --release oci://registry.example.com/platform:1.5.0 -o json
  clearway policy preview --release releases/1.5.0 -f policies/     without a cluster

Objects are evaluated as new ones (operation CREATE) at the enforcement point validation.gatekeeper.sh, in the namespaces of
the release and of the cluster. Namespaces that Gatekeeper's Config excludes from the webhook are left out. With -f nothing
is read from a cluster; namespaces and data.inventory are those of the files and of the release.

Exit code 0: no violation of a constraint that denies (violations of warn and dryrun are reported); 1: at least one;
2: none, but something could not be read or evaluated; 3: could not run.")]
    Preview(PolicyPreview),
    /// Evaluate what the operator sends on standard input
    #[command(hide = true)]
    Evaluate(PolicyEvaluate),
}

/// Limits on what templates may do.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct PolicyLimits {
    /// Memory that evaluating policies may use, in MiB
    #[arg(long, value_name = "MIB", default_value_t = 4096)]
    pub(crate) memory_limit: u64,
    /// Seconds that the evaluation of one object may take: CPU time, so that a busy machine changes no answer
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    pub(crate) evaluation_timeout: u64,
    /// Steps that one evaluation of a template in Rego may take
    #[arg(long, value_name = "STEPS", default_value_t = 10_000_000)]
    pub(crate) max_steps: u64,
}

/// Arguments of `clearway policy verify`.
#[derive(Debug, Args)]
pub(crate) struct PolicyVerify {
    /// Suites, or directories with suites; DIR/... for all directories below
    #[arg(value_name = "PATH", required = true)]
    pub(crate) paths: Vec<String>,
    /// Regular expression for names of tests or cases; TEST//CASE for cases of tests
    #[arg(short = 'r', long, value_name = "REGEX", default_value = "", hide_default_value = true)]
    pub(crate) run: String,
    #[command(flatten)]
    pub(crate) report: TestReport,
    #[command(flatten)]
    pub(crate) limits: PolicyLimits,
}

/// Arguments of `clearway policy test`.
#[derive(Debug, Args)]
pub(crate) struct PolicyTest {
    /// File with objects, directory with .yaml, .yml and .json files, or standard input (-); repeatable: also templates and constraints
    #[arg(short = 'f', long = "file", alias = "filename", value_name = "FILE|DIR|-", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Show violations of constraints that deny only
    #[arg(long)]
    pub(crate) deny_only: bool,
    /// Refuse constraints with an unknown enforcement action, instead of warning
    #[arg(long)]
    pub(crate) reject_unknown_actions: bool,
    #[command(flatten)]
    pub(crate) output: TextOutput,
    #[command(flatten)]
    pub(crate) limits: PolicyLimits,
}

/// Arguments of `clearway policy lint`.
#[derive(Debug, Args)]
pub(crate) struct PolicyLint {
    /// File with objects, directory with .yaml, .yml and .json files, or standard input (-); repeatable: templates and constraints
    #[arg(short = 'f', long = "file", alias = "filename", value_name = "FILE|DIR|-", required = true)]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) output: FindingOutput,
    #[command(flatten)]
    pub(crate) lint: LintOptions,
    #[command(flatten)]
    pub(crate) limits: PolicyLimits,
}

/// Arguments of `clearway policy explain`.
#[derive(Debug, Args)]
pub(crate) struct PolicyExplain {
    /// Object or admission review: a file, or standard input (-)
    #[arg(value_name = "OBJECT|-")]
    pub(crate) object: PathBuf,
    /// File with objects, directory with .yaml, .yml and .json files, or standard input (-); repeatable: templates and constraints
    #[arg(short = 'f', long = "file", alias = "filename", value_name = "FILE|DIR|-", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// File or directory of objects for data.inventory; repeatable
    #[arg(long, value_name = "PATH")]
    pub(crate) inventory: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) output: TextOutput,
    #[command(flatten)]
    pub(crate) limits: PolicyLimits,
}

/// Arguments of `clearway policy bench`.
#[derive(Debug, Args)]
pub(crate) struct PolicyBench {
    /// File with objects, directory with .yaml, .yml and .json files, or standard input (-); repeatable: also templates and constraints
    #[arg(short = 'f', long = "file", alias = "filename", value_name = "FILE|DIR|-", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Evaluations of each object
    #[arg(long, value_name = "COUNT", default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    pub(crate) iterations: u32,
    /// Evaluations of each object that are not measured
    #[arg(long, value_name = "COUNT", default_value_t = 10)]
    pub(crate) warmup: u32,
    #[command(flatten)]
    pub(crate) output: DataOutput,
    #[command(flatten)]
    pub(crate) limits: PolicyLimits,
}

/// The results of an audit or a preview.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct PolicyReportOutput {
    /// Output format
    #[arg(short = 'o', long = "output", value_name = "FORMAT", default_value = "table")]
    pub(crate) format: PolicyReportFormat,
    /// Violations that are listed for each constraint: the first by group, version, kind, namespace and name. All are counted
    #[arg(long, value_name = "COUNT", default_value_t = VIOLATIONS_LIMIT)]
    pub(crate) constraint_violations_limit: usize,
}

/// A format for violations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PolicyReportFormat {
    /// Text for people
    Table,
    /// Text with everything, however long
    Wide,
    /// JSON
    Json,
    /// YAML
    Yaml,
    /// Only names, one a line
    Name,
    /// SARIF 2.1.0, for code hosting
    Sarif,
    /// PolicyReport and ClusterPolicyReport objects (wgpolicyk8s.io/v1alpha2)
    Policyreport,
}

/// Arguments of `clearway policy audit`.
#[derive(Debug, Args)]
pub(crate) struct PolicyAudit {
    /// File with objects, directory with .yaml, .yml and .json files, or standard input (-); repeatable: templates, constraints, Config, SyncSets and ExpansionTemplates [default: those of the cluster]
    #[arg(short = 'f', long = "file", alias = "filename", value_name = "FILE|DIR|-")]
    pub(crate) files: Vec<PathBuf>,
    /// Snapshot: a directory written by `clearway snapshot collect`, or an archive of one
    #[arg(long, value_name = "DIR|FILE", conflicts_with_all = ["kubeconfig", "context", "write_status"])]
    pub(crate) snapshot: Option<PathBuf>,
    /// Write the results into the status of the cluster's constraints; refused where Gatekeeper is installed
    #[arg(long, conflicts_with = "files")]
    pub(crate) write_status: bool,
    #[command(flatten)]
    pub(crate) output: PolicyReportOutput,
    #[command(flatten)]
    pub(crate) limits: PolicyLimits,
    #[command(flatten)]
    pub(crate) connection: ClusterConnection,
}

/// Arguments of `clearway policy preview`.
#[derive(Debug, Args)]
pub(crate) struct PolicyPreview {
    /// Release: a directory with release-manifests, or an image
    #[arg(long, value_name = "DIR|oci://IMAGE")]
    pub(crate) release: String,
    /// Architecture: that of a multi-architecture image to read [default: amd64, or the only one]
    #[arg(long, value_name = "ARCH", value_parser = Arch::from_person)]
    pub(crate) arch: Option<Arch>,
    #[command(flatten)]
    pub(crate) registry: RegistryConnection,
    /// File with objects, directory with .yaml, .yml and .json files, or standard input (-); repeatable: templates, constraints, Config, SyncSets and ExpansionTemplates, and objects for namespaces and the inventory [default: those of the cluster]
    #[arg(short = 'f', long = "file", alias = "filename", value_name = "FILE|DIR|-", conflicts_with_all = ["kubeconfig", "context"])]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) output: PolicyReportOutput,
    #[command(flatten)]
    pub(crate) limits: PolicyLimits,
    #[command(flatten)]
    pub(crate) connection: ClusterConnection,
}

/// Arguments of `clearway policy evaluate`, which the operator runs.
#[derive(Debug, Args)]
pub(crate) struct PolicyEvaluate {
    /// Seconds of CPU time that everything may take
    #[arg(long, value_name = "SECONDS")]
    pub(crate) cpu_limit: Option<u64>,
    #[command(flatten)]
    pub(crate) limits: PolicyLimits,
}
