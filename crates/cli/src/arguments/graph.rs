//! `clearway graph` on the command line.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use clearway_core::{Arch, Version};

use super::{DataFormat, FindingFormat, GraphName, QueryLimits, RegistryAccess};

#[derive(Debug, Subcommand)]
pub(crate) enum Graph {
    /// Write the answers an update service gives: one on standard output, or all into a directory
    #[command(after_help = "\
Examples:
  clearway graph build --graph graph-data --channel stable-4.16 > stable.json
  clearway graph build --graph graph-data --output-dir answers
  clearway graph build --graph https://example.com/api/upgrades_info --channel stable-4.16 > stable.json")]
    Build(GraphBuild),
    /// List the releases of a channel and where each may go
    #[command(after_help = "\
Examples:
  clearway graph show stable-4.16 --graph graph-data
  clearway graph show stable-4.16 --rev HEAD~1 -o json
  clearway graph show stable-4.16 --graph https://example.com/api/upgrades_info
  clearway graph show --graph stable.json                          an answer that was kept")]
    Show(GraphShow),
    /// Explain why an update is offered, conditional, blocked or missing, and name every file that had a say
    #[command(after_help = "\
Examples:
  clearway graph explain 4.15.9 4.16.3 --graph graph-data
  clearway graph explain 4.15.9 4.16.3 --channel stable-4.16 --graph https://example.com/api/upgrades_info

Exit code 0: offered to every cluster; 1: not offered to any cluster; 2: it depends on the cluster; 3: could not tell.")]
    Explain(GraphExplain),
    /// Check graph-data: expressions that match too much or nothing, queries that cannot answer, risks with holes
    #[command(after_help = "\
Examples:
  clearway graph lint --graph graph-data
  clearway graph lint --new-since origin/master       only what a change brings in
  clearway graph lint --graph graph-data.tar.gz
  clearway graph lint -o sarif > findings.sarif
  clearway graph lint --explain GD102                 what a code means

Exit code 0: clean (there may be notes); 1: warnings or errors; 3: refused as a whole, or unreadable.")]
    Lint(GraphLint),
    /// Show what a change of graph-data does to each channel, and which files are the reason
    #[command(after_help = "\
Examples:
  clearway graph diff HEAD~1 HEAD --graph graph-data    two git revisions of the directory
  clearway graph diff main-checkout my-checkout         two directories
  clearway graph diff stable.json https://example.com/api/upgrades_info --channel stable-4.16

Exit code 0: every answer is the same; 1: some differ; 3: could not tell.")]
    Diff(GraphDiff),
    /// Find the ways from one version to another: the shortest, and those with the fewest risks
    #[command(after_help = "\
Examples:
  clearway graph paths 4.13.19 4.16.3 --channel eus-4.16 --graph graph-data

Exit code 0: there is a way without a risk; 2: every way carries risks; 1: there is no way; 3: could not tell.")]
    Paths(GraphPaths),
    /// Find versions that only a risk leads out of, or nothing at all
    #[command(after_help = "\
Examples:
  clearway graph stranded --graph graph-data                       all channels
  clearway graph stranded stable-4.16 --oldest 4.15.0

A version is stranded if without conditional updates it reaches neither the newest patch of its minor nor, or not, a later
minor. The newest patches, which wait for the next minor, are left out unless asked for.
Exit code 0: none; 1: some; 3: could not tell.")]
    Stranded(GraphStranded),
    /// Draw a channel
    #[command(after_help = "\
Examples:
  clearway graph render stable-4.16 --graph graph-data > stable.svg
  clearway graph render stable-4.16 --from 4.15.9 --format mermaid")]
    Render(GraphRender),
    /// Declare each risk once in place of its many copies, or write the copies again
    #[command(after_help = "\
Examples:
  clearway graph convert --to risks --graph graph-data                     only say what would become of the files
  clearway graph convert --to blocks --graph graph-data --output-dir out   for services that do not read risks/
  clearway graph convert --to blocks --keep --output-dir graph-data        for both kinds of services

Nothing is written unless every answer stays the same, byte for byte.")]
    Convert(GraphConvert),
}

/// Where the graph comes from.
#[derive(Debug, Args)]
pub(crate) struct GraphSource {
    /// A graph-data directory, an archive of one, an answer of an update service in a file (- reads standard input),
    /// the URL of an update service, or an image or artifact in a registry that holds graph-data (`oci://HOST/PATH:TAG`)
    #[arg(long, value_name = "GRAPH", default_value = ".")]
    pub(crate) graph: GraphName,
    /// The directory as it was at this git revision
    #[arg(long, value_name = "REV")]
    pub(crate) rev: Option<String>,
    #[command(flatten)]
    pub(crate) trust: Trust,
    #[command(flatten)]
    pub(crate) registries: Registries,
}

/// Registries of images, and how they are spoken to.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Registries {
    /// A repository whose release images are releases of the graph besides those of the graph-data
    #[arg(long, value_name = "HOST/PATH")]
    pub(crate) registry: Vec<String>,
    #[command(flatten)]
    pub(crate) access: RegistryAccess,
}

/// Whom to believe to be the service of a URL.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Trust {
    /// Trust the certificates in this file too, where GRAPH is a URL or in a registry
    #[arg(long, value_name = "FILE")]
    pub(crate) ca_file: Option<PathBuf>,
    /// Follow redirects of the service to this host too, and not only to itself
    #[arg(long, value_name = "HOST")]
    pub(crate) allow_redirects_to: Vec<String>,
}

/// Which architecture is meant.
#[derive(Debug, Args)]
pub(crate) struct OfArch {
    /// The architecture [default: amd64, or what the URL names]
    #[arg(long, value_name = "ARCH")]
    pub(crate) arch: Option<Arch>,
}

/// How data is printed.
#[derive(Debug, Args)]
pub(crate) struct AsData {
    /// How to print
    #[arg(short = 'o', long = "output", value_name = "FORMAT", default_value = "table")]
    pub(crate) format: DataFormat,
}

/// Options of `clearway graph build`.
#[derive(Debug, Args)]
pub(crate) struct GraphBuild {
    #[command(flatten)]
    pub(crate) source: GraphSource,
    /// Print the answer for this channel
    #[arg(long, value_name = "CHANNEL")]
    pub(crate) channel: Option<String>,
    #[command(flatten)]
    pub(crate) arch: OfArch,
    /// Write a file `CHANNEL_ARCH.json` for every channel and architecture here
    #[arg(long, value_name = "DIR", conflicts_with = "channel")]
    pub(crate) output_dir: Option<PathBuf>,
}

/// Options of `clearway graph show`.
#[derive(Debug, Args)]
pub(crate) struct GraphShow {
    /// The channel; only for an answer, or a URL that names one, it may be left out
    pub(crate) channel: Option<String>,
    #[command(flatten)]
    pub(crate) source: GraphSource,
    #[command(flatten)]
    pub(crate) arch: OfArch,
    #[command(flatten)]
    pub(crate) output: AsData,
}

/// Options of `clearway graph explain`.
#[derive(Debug, Args)]
pub(crate) struct GraphExplain {
    /// The version to update from
    pub(crate) from: Version,
    /// The version to update to
    pub(crate) to: Version,
    /// As this channel has it
    #[arg(long, value_name = "CHANNEL")]
    pub(crate) channel: Option<String>,
    #[command(flatten)]
    pub(crate) source: GraphSource,
    #[command(flatten)]
    pub(crate) arch: OfArch,
    #[command(flatten)]
    pub(crate) output: AsData,
}

/// Options of `clearway graph lint`.
#[derive(Debug, Args)]
pub(crate) struct GraphLint {
    #[command(flatten)]
    pub(crate) source: GraphSource,
    /// Only findings that this git revision of the directory does not have
    #[arg(long, value_name = "REV")]
    pub(crate) new_since: Option<String>,
    /// Explain a code instead
    #[arg(long, value_name = "CODE", conflicts_with_all = ["rev", "new_since"])]
    pub(crate) explain: Option<String>,
    /// How to print
    #[arg(short, long, value_name = "FORMAT", default_value = "table")]
    pub(crate) output: FindingFormat,
    #[command(flatten)]
    pub(crate) queries: QueryLimits,
}

/// Options of `clearway graph diff`.
#[derive(Debug, Args)]
pub(crate) struct GraphDiff {
    /// What was: a directory, an archive, an answer in a file, a URL, an image (oci://…), or a git revision of what
    /// --graph names
    pub(crate) before: GraphName,
    /// New graph (same forms as BEFORE)
    pub(crate) after: GraphName,
    /// The graph-data directory that git revisions are of
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) graph: PathBuf,
    #[command(flatten)]
    pub(crate) trust: Trust,
    #[command(flatten)]
    pub(crate) registries: Registries,
    /// Only these channels
    #[arg(long = "channel", value_name = "CHANNEL")]
    pub(crate) channels: Vec<String>,
    #[command(flatten)]
    pub(crate) arch: OfArch,
    #[command(flatten)]
    pub(crate) output: AsData,
}

/// Options of `clearway graph paths`.
#[derive(Debug, Args)]
pub(crate) struct GraphPaths {
    /// The version to start from
    pub(crate) from: Version,
    /// The version to arrive at
    pub(crate) to: Version,
    /// The channel; only for an answer, or a URL that names one, it may be left out
    #[arg(long, value_name = "CHANNEL")]
    pub(crate) channel: Option<String>,
    #[command(flatten)]
    pub(crate) source: GraphSource,
    #[command(flatten)]
    pub(crate) arch: OfArch,
    #[command(flatten)]
    pub(crate) output: AsData,
}

/// Options of `clearway graph stranded`.
#[derive(Debug, Args)]
pub(crate) struct GraphStranded {
    /// Only these channels
    #[arg(value_name = "CHANNEL")]
    pub(crate) channels: Vec<String>,
    #[command(flatten)]
    pub(crate) source: GraphSource,
    #[command(flatten)]
    pub(crate) arch: OfArch,
    /// Only versions from this one on
    #[arg(long, value_name = "VERSION")]
    pub(crate) oldest: Option<Version>,
    /// Only versions up to this one
    #[arg(long, value_name = "VERSION")]
    pub(crate) newest: Option<Version>,
    /// Newest patches as well, which wait for an update into the next minor
    #[arg(long)]
    pub(crate) newest_patches: bool,
    #[command(flatten)]
    pub(crate) output: AsData,
}

/// Options of `clearway graph render`.
#[derive(Debug, Args)]
pub(crate) struct GraphRender {
    /// The channel; only for an answer, or a URL that names one, it may be left out
    pub(crate) channel: Option<String>,
    #[command(flatten)]
    pub(crate) source: GraphSource,
    #[command(flatten)]
    pub(crate) arch: OfArch,
    /// The language of the drawing
    #[arg(long, value_name = "FORMAT", default_value = "svg")]
    pub(crate) format: DrawingFormat,
    /// Which updates to draw
    #[arg(long, value_name = "UPDATES", default_value = "essential")]
    pub(crate) show: DrawnUpdates,
    /// Every update from this version
    #[arg(long, value_name = "VERSION")]
    pub(crate) from: Option<Version>,
    /// Every update to this version
    #[arg(long, value_name = "VERSION")]
    pub(crate) to: Option<Version>,
    /// Include updates that no cluster is offered
    #[arg(long)]
    pub(crate) blocked: bool,
}

/// The language of a drawing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DrawingFormat {
    /// A picture
    Svg,
    /// Graphviz
    Dot,
    /// Mermaid, for Markdown
    Mermaid,
}

/// Which updates are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DrawnUpdates {
    /// The newest target in each minor, and risks that cannot be avoided
    Essential,
    /// Avoidable risks as well
    Risks,
    /// All
    All,
}

/// Options of `clearway graph convert`.
#[derive(Debug, Args)]
pub(crate) struct GraphConvert {
    #[command(flatten)]
    pub(crate) source: GraphSource,
    /// What the risks are to stand in
    #[arg(long, value_name = "FORM")]
    pub(crate) to: ConvertTo,
    /// Write the whole converted graph-data here
    #[arg(long, value_name = "DIR")]
    pub(crate) output_dir: Option<PathBuf>,
    /// Keep the declared risks beside their blocks, for services that read them
    #[arg(long)]
    pub(crate) keep: bool,
}

/// The two ways to write risks down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ConvertTo {
    /// One declaration in risks/ for each minor version
    Risks,
    /// One file in blocked-edges/ for each target
    Blocks,
}
