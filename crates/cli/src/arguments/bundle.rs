//! `clearway bundle` on the command line.

use std::num::NonZeroU32;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::{ClusterConnection, DataOutput, RegistryConnection};

#[derive(Debug, Subcommand)]
pub(crate) enum Bundle {
    /// Check whether a new bundle of CRDs may be released under its version
    #[command(after_help = "\
Examples:
  clearway bundle check v1.2.0/standard-install.yaml v1.2.1/standard-install.yaml
  clearway bundle check v1.2.0:config/crd/standard config/crd/standard
  clearway bundle check old.yaml new.yaml --level minor --waivers waivers.yaml -o sarif
  clearway bundle check old/standard new/standard --experimental old/experimental new/experimental

Exit code 0: every change is allowed; 1: at least one violation; 2: no violation, but something needs review; 3: could
not run.")]
    Check(BundleCheck),
    /// Convert objects to another API version of their CRDs, and name what is lost
    #[command(after_help = "\
Examples:
  clearway bundle convert objects.yaml --to v1
  clearway bundle convert objects.yaml --to v1 --crds standard-install.yaml -o table
  kubectl get things -o yaml | clearway bundle convert - --to v1 -o json

Objects are converted as the API server converts them without a webhook: apiVersion is rewritten, fields that the schema of
the new version does not have are dropped, and values that it does not accept are refused.

Exit code 0: nothing is lost; 1: at least one value is dropped or refused; 2: nothing is lost, but something could not be
checked (no CRD for the kind, a conversion webhook, a version that is not served); 3: could not run.")]
    Convert(BundleConvert),
    /// List every change between two bundles of CRDs, with the version level that each needs
    #[command(after_help = "\
Examples:
  clearway bundle diff v1.2.0:config/crd/standard v1.3.0:config/crd/standard
  clearway bundle diff old.yaml new.yaml -o json

Exit code 0: no change; 1: changes; 3: could not run.")]
    Diff(BundleDiff),
    /// Explain a rule of `bundle check`, with an example that breaks it and one that does not
    #[command(after_help = "\
Examples:
  clearway bundle explain
  clearway bundle explain R12
  clearway bundle explain R12 -o json

Exit code 0: the rule exists; 1: it does not.")]
    Explain(BundleExplain),
    /// Print an admission policy that refuses rollbacks and experimental CRDs over standard ones
    #[command(after_help = "\
Examples:
  clearway bundle guard standard-install.yaml | kubectl apply -f -
  clearway bundle guard oci://registry.example.com/gateway-api:v1.4.0

Exit code 0: printed; 3: the bundle cannot be read, or says no version.")]
    Guard(BundleName),
    /// Print the ledger of every field name that was ever released, from bundles in order of release
    #[command(after_help = "\
Examples:
  clearway bundle ledger v1.0.yaml v1.1.yaml v1.2.yaml > names.txt
  clearway bundle ledger v1.3.yaml --ledger names.txt > names-new.txt
  clearway bundle check old.yaml new.yaml --ledger names.txt

Exit code 0: printed; 1: a bundle uses a name again that was removed; 3: could not run.")]
    Ledger(BundleLedger),
    /// Show the CRDs, admission policies and webhooks of a bundle, with its version and channel
    #[command(after_help = "\
Examples:
  clearway bundle show standard-install.yaml
  clearway bundle show v1.2.0:config/crd/standard
  kubectl get crds -o yaml | clearway bundle show - --annotation-domain gateway.networking.k8s.io

Exit code 0: read completely; 2: something could not be read; 3: could not run.")]
    Show(BundleShow),
    /// List the bundles of a cluster: version and channel of their CRDs, and what does not fit together
    #[command(after_help = "\
Examples:
  clearway bundle installed
  clearway bundle installed --expect standard-install.yaml
  clearway bundle installed --context production -o json

Exit code 0: every bundle is whole; 1: partial, mixed, modified or unknown CRDs; 3: could not run.")]
    Installed(BundleInstalled),
    /// Check what installing a bundle would do to a cluster and its stored objects, before any write
    #[command(after_help = "\
Examples:
  clearway bundle preflight v1.5.0/standard-install.yaml
  clearway bundle preflight oci://registry.example.com/gateway-api:v1.5.0 -o json

Exit code 0: no problem found; 1: data would be lost, or something would be refused; 2: warnings only; 3: could
not run.")]
    Preflight(BundlePreflight),
    /// Rewrite stored objects in the storage version of their CRD, then remove older versions from its status
    #[command(after_help = "\
Examples:
  clearway bundle migrate --dry-run
  clearway bundle migrate referencegrants.gateway.networking.k8s.io
  clearway bundle migrate --rate 20 -o json

Needs the rights to list and patch the objects, and to patch the status of CRDs. It can be stopped and run again.

Exit code 0: every object is stored in the storage version (with --dry-run: counted); 1: some could not be rewritten; 3:
could not run.")]
    Migrate(BundleMigrate),
    /// Print the CRDs of Clearway itself, as its types define them
    #[command(after_help = "\
Examples:
  clearway bundle build --channel standard | kubectl apply --server-side -f -
  clearway bundle build --channel experimental --output-dir crds/experimental

Exit code 0: written; 3: could not run.")]
    Build(BundleBuild),
}

/// How bundles are read.
#[derive(Debug, Args)]
pub(crate) struct BundleReading {
    /// Domain of the annotations DOMAIN/bundle-version and DOMAIN/channel; by default the one that the CRDs use
    #[arg(long, value_name = "DOMAIN")]
    pub(crate) annotation_domain: Option<String>,
    #[command(flatten)]
    pub(crate) registry: RegistryConnection,
}

/// Version level that is allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum BundleLevel {
    /// As the two versions say
    Auto,
    /// What a patch version allows
    Patch,
    /// What a minor version allows
    Minor,
    /// What a major version allows
    Major,
}

/// Output format of `clearway bundle check`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum BundleCheckFormat {
    /// Text for people
    Table,
    /// Text with everything, however long
    Wide,
    /// JSON
    Json,
    /// YAML
    Yaml,
    /// SARIF 2.1.0, for code hosting
    Sarif,
    /// XML in the form of JUnit, for continuous integration
    Junit,
}

/// One bundle.
#[derive(Debug, Args)]
pub(crate) struct BundleName {
    /// Bundle: a file, a directory, - for standard input, REVISION:PATH of git, or `oci://IMAGE`
    #[arg(value_name = "BUNDLE")]
    pub(crate) bundle: String,
    #[command(flatten)]
    pub(crate) reading: BundleReading,
}

/// A cluster, and how what was found there is printed.
#[derive(Debug, Args)]
pub(crate) struct ClusterReport {
    #[command(flatten)]
    pub(crate) connection: ClusterConnection,
    #[command(flatten)]
    pub(crate) output: DataOutput,
}

/// A ledger of released names.
#[derive(Debug, Args)]
pub(crate) struct LedgerFile {
    /// Ledger of released names: a file from `clearway bundle ledger`
    #[arg(long = "ledger", id = "ledger", value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
}

/// The bundle that is released and the one that is to be.
#[derive(Debug, Args)]
pub(crate) struct BundlePair {
    /// Released bundle: a file, a directory, - for standard input, REVISION:PATH of git, or `oci://IMAGE`
    #[arg(value_name = "OLD")]
    pub(crate) old: String,
    /// New bundle (same forms as OLD)
    #[arg(value_name = "NEW")]
    pub(crate) new: String,
    #[command(flatten)]
    pub(crate) reading: BundleReading,
}

/// Options of `clearway bundle check`.
#[derive(Debug, Args)]
pub(crate) struct BundleCheck {
    #[command(flatten)]
    pub(crate) pair: BundlePair,
    /// Experimental bundles of the same versions; then graduation and the channels are judged too
    #[arg(long, num_args = 2, value_names = ["OLD", "NEW"])]
    pub(crate) experimental: Vec<String>,
    /// Version level that is allowed
    #[arg(long, value_enum, default_value = "auto")]
    pub(crate) level: BundleLevel,
    /// File of waivers: rule, path, reason and expires of each
    #[arg(long, value_name = "FILE")]
    pub(crate) waivers: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) ledger: LedgerFile,
    /// Show allowed changes too
    #[arg(long)]
    pub(crate) show_allowed: bool,
    /// Output format
    #[arg(short, long, value_name = "FORMAT", value_enum, default_value = "table")]
    pub(crate) output: BundleCheckFormat,
}

/// Options of `clearway bundle diff`.
#[derive(Debug, Args)]
pub(crate) struct BundleDiff {
    #[command(flatten)]
    pub(crate) pair: BundlePair,
    #[command(flatten)]
    pub(crate) output: DataOutput,
}

/// Options of `clearway bundle explain`.
#[derive(Debug, Args)]
pub(crate) struct BundleExplain {
    /// Rule, such as R12; without one, all rules are listed
    #[arg(value_name = "RULE")]
    pub(crate) rule: Option<String>,
    #[command(flatten)]
    pub(crate) output: DataOutput,
}

/// Options of `clearway bundle ledger`.
#[derive(Debug, Args)]
pub(crate) struct BundleLedger {
    /// Bundles in order of release, oldest first
    #[arg(value_name = "BUNDLE", required = true)]
    pub(crate) bundles: Vec<String>,
    #[command(flatten)]
    pub(crate) ledger: LedgerFile,
    #[command(flatten)]
    pub(crate) reading: BundleReading,
}

/// Options of `clearway bundle show`.
#[derive(Debug, Args)]
pub(crate) struct BundleShow {
    #[command(flatten)]
    pub(crate) name: BundleName,
    #[command(flatten)]
    pub(crate) output: DataOutput,
}

/// Options of `clearway bundle installed`.
#[derive(Debug, Args)]
pub(crate) struct BundleInstalled {
    /// Bundle that should be installed (same forms as for `bundle show`); missing and modified CRDs are named
    #[arg(long, value_name = "BUNDLE")]
    pub(crate) expect: Option<String>,
    #[command(flatten)]
    pub(crate) reading: BundleReading,
    #[command(flatten)]
    pub(crate) report: ClusterReport,
}

/// Options of `clearway bundle preflight`.
#[derive(Debug, Args)]
pub(crate) struct BundlePreflight {
    #[command(flatten)]
    pub(crate) name: BundleName,
    /// Snapshot: a directory or archive of `snapshot collect --bundle`, checked instead of the cluster
    #[arg(long, value_name = "DIR|FILE", conflicts_with_all = ["kubeconfig", "context"])]
    pub(crate) snapshot: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) report: ClusterReport,
}

/// Options of `clearway bundle migrate`.
#[derive(Debug, Args)]
pub(crate) struct BundleMigrate {
    /// CRDs to migrate; without any, all that have more than one stored version
    #[arg(value_name = "CRD")]
    pub(crate) crds: Vec<String>,
    /// Change nothing: only count the objects that would be rewritten
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Objects to rewrite in a second, at most
    #[arg(long, value_name = "NUMBER", default_value = "100")]
    pub(crate) rate: NonZeroU32,
    #[command(flatten)]
    pub(crate) report: ClusterReport,
}

/// Output format of `clearway bundle convert`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum BundleConvertFormat {
    /// The converted objects as YAML; what is lost goes to standard error
    Yaml,
    /// The converted objects and what is lost as JSON
    Json,
    /// What is lost, as text
    Table,
    /// What is lost, as text with every cell complete
    Wide,
}

/// Options of `clearway bundle convert`.
#[derive(Debug, Args)]
pub(crate) struct BundleConvert {
    /// Objects to convert: a file, a directory, - for standard input, REVISION:PATH of git, or `oci://IMAGE`
    #[arg(value_name = "FILE")]
    pub(crate) objects: String,
    /// Target version: an API version such as v1
    #[arg(long, value_name = "VERSION")]
    pub(crate) to: String,
    /// Bundle with the CRDs of the objects (same forms as FILE) [default: the CRDs of the cluster]
    #[arg(long, value_name = "BUNDLE", conflicts_with_all = ["kubeconfig", "context"])]
    pub(crate) crds: Option<String>,
    #[command(flatten)]
    pub(crate) reading: BundleReading,
    #[command(flatten)]
    pub(crate) connection: ClusterConnection,
    /// Output format
    #[arg(short, long, value_name = "FORMAT", value_enum, default_value = "yaml")]
    pub(crate) output: BundleConvertFormat,
}

/// Options of `clearway bundle build`.
#[derive(Debug, Args)]
pub(crate) struct BundleBuild {
    /// Release channel: standard or experimental
    #[arg(long, value_name = "CHANNEL", default_value = "standard")]
    pub(crate) channel: clearway_bundle::Channel,
    /// Output directory: one file per CRD, in place of standard output
    #[arg(long, value_name = "DIR")]
    pub(crate) output_dir: Option<PathBuf>,
}
