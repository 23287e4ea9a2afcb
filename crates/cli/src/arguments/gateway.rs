//! Arguments of `clearway gateway`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use clearway_gateway::settings::BundleVersion;

use super::{ClusterConnection, DataOutput, FindingOutput, ReferenceTime, TextOutput, parse_bytes};

#[derive(Debug, Subcommand)]
pub(crate) enum Gateway {
    /// Compute the status that Gateway API objects will have, before they are applied
    #[command(after_help = "\
Examples:
  clearway gateway status -f manifests/                   what each object will report
  clearway gateway status -f manifests/ --tree            with the causes of what is wrong
  clearway gateway status -f manifests/ -o yaml           as a List of objects with full status
  clearway gateway status                                 of a live cluster
  clearway gateway status -f . --bundle-version v1.5.1 --spec gep-1364

Exit code 0: everything is accepted; 1: something is not; 3: could not run, or some input is unreadable.")]
    Status(GatewayStatus),
    /// Compare the published status of Gateway API objects with the computed one, and lint it
    #[command(after_help = "\
Examples:
  clearway gateway audit                                  a live cluster
  clearway gateway audit -f dump.yaml                     objects with their status, from `kubectl get -o yaml`
  clearway gateway audit --snapshot snapshot/             a snapshot; it has no Secrets, so TLS is not judged
  clearway gateway audit -o sarif > findings.sarif

Exit code 0: clean (notes are allowed); 1: warnings or errors; 3: some input is unreadable.")]
    Audit(GatewayAudit),
    /// Show what a change does: which routes stop or start being accepted, and what becomes of traffic
    #[command(after_help = "\
Examples:
  clearway gateway diff -f change.yaml                    a change of a live cluster
  clearway gateway diff --base manifests/ -f change.yaml  a change of objects in files
  clearway gateway diff --base old/ --whole -f new/       two directories, each of them complete

Exit code 0: nothing stops being accepted, and no traffic fails that did not fail before; 1: something does; 3: could not
run.")]
    Diff(GatewayDiff),
    /// Explain a condition, one of its reasons, or the choices where the specification is silent
    #[command(after_help = "\
Examples:
  clearway gateway explain
  clearway gateway explain Accepted/NotAllowedByListeners
  clearway gateway explain choices

Exit code 0: explained; 3: there is no such condition or reason.")]
    Explain(GatewayExplain),
    /// Draw classes, Gateways, listeners, routes and Services, coloured by state (SVG)
    #[command(after_help = "Example:\n  clearway gateway render -f manifests/ > gateways.svg")]
    Render(GatewayRender),
}

/// Objects of Gateway API, from files or from a cluster.
#[derive(Debug, Args)]
pub(crate) struct GatewayInput {
    /// File with objects, directory with .yaml, .yml and .json files, or standard input (-); repeatable [default: the cluster]
    #[arg(short = 'f', long = "file", value_name = "FILE|DIR|-")]
    pub(crate) files: Vec<PathBuf>,
    /// Maximum size of a file
    #[arg(long, value_name = "BYTES", default_value = "1G", value_parser = parse_bytes)]
    pub(crate) max_file_size: u64,
    #[command(flatten)]
    pub(crate) connection: ClusterConnection,
}

/// What is assumed of the implementation.
#[derive(Debug, Clone, Args)]
pub(crate) struct Implementation {
    /// Text that decides where the first design and the specification differ
    #[arg(long = "spec", value_enum, value_name = "TEXT", default_value = "current")]
    pub(crate) specification: SpecificationChoice,
    /// Bundle version to judge by [default: that of the CRDs among the objects, else the newest known]
    #[arg(long, value_name = "VERSION")]
    pub(crate) bundle_version: Option<BundleVersion>,
    /// Supported features, separated by commas [default: all]
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    pub(crate) supported_features: Vec<String>,
    /// The implementation has the Ready condition
    #[arg(long)]
    pub(crate) ready: bool,
    /// Gateways that fit into the infrastructure of a controller [default: any number]
    #[arg(long, value_name = "NUMBER")]
    pub(crate) max_gateways: Option<usize>,
    /// Listeners that a Gateway can serve, those of ListenerSets included [default: any number]
    #[arg(long, value_name = "NUMBER")]
    pub(crate) max_listeners: Option<usize>,
    /// Address that is assigned to Gateways; repeatable
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) address: Vec<String>,
    /// Address that cannot be used; repeatable
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) unusable_address: Vec<String>,
    /// Kind besides Service that backends may have, as GROUP/KIND; repeatable
    #[arg(long, value_name = "GROUP/KIND")]
    pub(crate) backend_kind: Vec<String>,
    /// Kind that filters may refer to, as GROUP/KIND; repeatable
    #[arg(long, value_name = "GROUP/KIND")]
    pub(crate) extension_kind: Vec<String>,
    /// Only Gateways of this controller [default: of every controller]
    #[arg(long, value_name = "NAME")]
    pub(crate) controller: Option<String>,
    /// Decision where the specification is silent (see `gateway explain choices`); repeatable
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) choice: Vec<String>,
}

/// A text to judge by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SpecificationChoice {
    /// The specification of the bundle version
    Current,
    /// GEP-1364
    #[value(name = "gep-1364")]
    Gep1364,
}

/// Arguments of `clearway gateway status`.
#[derive(Debug, Args)]
pub(crate) struct GatewayStatus {
    #[command(flatten)]
    pub(crate) input: GatewayInput,
    #[command(flatten)]
    pub(crate) implementation: Implementation,
    /// Show each condition with its causes
    #[arg(long)]
    pub(crate) tree: bool,
    #[command(flatten)]
    pub(crate) output: DataOutput,
    #[command(flatten)]
    pub(crate) time: ReferenceTime,
}

/// Arguments of `clearway gateway audit`.
#[derive(Debug, Args)]
pub(crate) struct GatewayAudit {
    #[command(flatten)]
    pub(crate) input: GatewayInput,
    /// Snapshot: a directory written by `clearway snapshot collect`, or an archive of one
    #[arg(long, value_name = "DIR|FILE", conflicts_with_all = ["files", "kubeconfig", "context"])]
    pub(crate) snapshot: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) implementation: Implementation,
    #[command(flatten)]
    pub(crate) output: FindingOutput,
    #[command(flatten)]
    pub(crate) time: ReferenceTime,
}

/// Arguments of `clearway gateway diff`.
#[derive(Debug, Args)]
pub(crate) struct GatewayDiff {
    /// File with objects, directory with .yaml, .yml and .json files, or standard input (-); repeatable: those that are new or different
    #[arg(short = 'f', long = "file", value_name = "FILE|DIR|-", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Objects as they are: a file or a directory; repeatable [default: the cluster]
    #[arg(long, value_name = "FILE|DIR")]
    pub(crate) base: Vec<PathBuf>,
    /// The new objects are all there are: those that are missing are deleted
    #[arg(long, requires = "base")]
    pub(crate) whole: bool,
    /// Maximum size of a file
    #[arg(long, value_name = "BYTES", default_value = "1G", value_parser = parse_bytes)]
    pub(crate) max_file_size: u64,
    #[command(flatten)]
    pub(crate) connection: ClusterConnection,
    #[command(flatten)]
    pub(crate) implementation: Implementation,
    #[command(flatten)]
    pub(crate) output: TextOutput,
}

/// Arguments of `clearway gateway explain`.
#[derive(Debug, Args)]
pub(crate) struct GatewayExplain {
    /// Condition, CONDITION/REASON, or `choices`; without any, all conditions are listed
    #[arg(value_name = "CONDITION[/REASON]")]
    pub(crate) what: Option<String>,
    #[command(flatten)]
    pub(crate) output: DataOutput,
}

/// Arguments of `clearway gateway render`.
#[derive(Debug, Args)]
pub(crate) struct GatewayRender {
    #[command(flatten)]
    pub(crate) input: GatewayInput,
    #[command(flatten)]
    pub(crate) implementation: Implementation,
}
