//! Arguments of `clearway graph`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use clearway_core::Version;

use super::{
    ArchOption, ChannelArgument, DataOutput, FindingOutput, GraphName, GraphSource, LintOptions, QueryLimits,
    Registries, RegistryConnection, ServiceTrust, TextOutput, suppressions_help,
};

#[derive(Debug, Subcommand)]
pub(crate) enum Graph {
    /// Build the answers of an update service: one on standard output, or all in a directory
    #[command(after_help = "\
Examples:
  clearway graph build --graph graph-data --channel stable-4.16 > stable.json
  clearway graph build --graph graph-data --output-dir answers
  clearway graph build --graph https://example.com/api/upgrades_info --channel stable-4.16 > stable.json")]
    Build(GraphBuild),
    /// Create a graph-data directory to start from: releases, a channel, and a risk with a unit test
    #[command(after_help = "\
Example:
  clearway graph init graph-data

Exit code 0: created; 3: the directory is not empty, or cannot be written.")]
    Init(GraphInit),
    /// List the channels of a graph, with the number of their releases and updates
    #[command(after_help = "\
Examples:
  clearway graph list --graph graph-data
  clearway graph list --graph graph-data --arch arm64
  clearway graph list --graph https://example.com/api/upgrades_info -o json")]
    List(GraphList),
    /// List the releases of a channel and their updates
    #[command(after_help = "\
Examples:
  clearway graph show stable-4.16 --graph graph-data
  clearway graph show stable-4.16 --rev HEAD~1 -o json
  clearway graph show stable-4.16 --graph https://example.com/api/upgrades_info
  clearway graph show --graph stable.json                          an answer in a file")]
    Show(GraphShow),
    /// Explain why an update is offered, conditional, blocked or missing, and list the files involved
    #[command(after_help = "\
Examples:
  clearway graph explain 4.15.9 4.16.3 --graph graph-data
  clearway graph explain 4.15.9 4.16.3 --channel stable-4.16 --graph https://example.com/api/upgrades_info

Exit code 0: offered to every cluster; 1: not offered to any cluster; 2: it depends on the cluster; 3: could not run.")]
    Explain(GraphExplain),
    /// Lint graph-data: version expressions, queries, risks and channels
    #[command(after_help = concat!("\
Examples:
  clearway graph lint --graph graph-data
  clearway graph lint --new-since origin/master       only new findings
  clearway graph lint --select GD1 --ignore GD131     some codes
  clearway graph lint --severity info -o wide         everything, with source lines
  clearway graph lint --graph graph-data.tar.gz
  clearway graph lint -o sarif > findings.sarif
  clearway graph lint --explain GD102                 what a code means

", suppressions_help!(), "

Exit code 0: clean (notes are allowed); 1: warnings or errors; 3: the graph-data is refused or unreadable."))]
    Lint(GraphLint),
    /// Compare two graphs by channel, with the files that cause each difference
    #[command(after_help = "\
Examples:
  clearway graph diff HEAD~1 HEAD --graph graph-data    two git revisions of the directory
  clearway graph diff main-checkout my-checkout         two directories
  clearway graph diff stable.json https://example.com/api/upgrades_info --channel stable-4.16

Exit code 0: every answer is the same; 1: some differ; 3: could not run.")]
    Diff(GraphDiff),
    /// Find update paths between two versions: the shortest, and those with the fewest risks
    #[command(after_help = "\
Examples:
  clearway graph paths 4.13.19 4.16.3 --channel eus-4.16 --graph graph-data

Exit code 0: there is a path without risks; 1: there is no path; 2: every path has risks; 3: could not run.")]
    Paths(GraphPaths),
    /// Find versions that have no update without a risk
    #[command(after_help = "\
Examples:
  clearway graph stranded --graph graph-data                       all channels
  clearway graph stranded stable-4.16 --oldest 4.15.0

A version is stranded if, without conditional updates, it cannot reach a later minor version, or not even the newest patch
of its own minor version. The newest patches are listed only with --newest-patches.
Exit code 0: none; 1: some; 3: could not run.")]
    Stranded(GraphStranded),
    /// Draw the graph of a channel
    #[command(after_help = "\
Examples:
  clearway graph render stable-4.16 --graph graph-data --output stable.svg
  clearway graph render stable-4.16 --show all --blocked --output stable.dot
  clearway graph render stable-4.16 --from 4.15.9 -o mermaid")]
    Render(GraphRender),
    /// Convert graph-data: each risk declared once, or one blocked-edges file per update
    #[command(after_help = "\
Examples:
  clearway graph convert -o risks --graph graph-data                     only report what would change
  clearway graph convert -o blocks --graph graph-data --output-dir out   for services that do not read risks/
  clearway graph convert -o blocks --keep --output-dir graph-data        for both kinds of services

Files are written only if every answer stays the same, byte for byte.")]
    Convert(GraphConvert),
    /// Publish graph-data to a registry, as a signed artifact
    #[command(after_help = "\
Examples:
  clearway graph publish oci://registry.example.com/graph-data --graph graph-data --sign-key key.pem
  clearway graph publish oci://registry.example.com/graph-data:v7 --graph graph-data --rev HEAD --sign-key key.pem
  clearway serve --graph oci://registry.example.com/graph-data --graph-key key.pub

The digest is printed on standard output; the same files have the same digest. The signature is where `cosign verify --key`
looks for it. Without a tag it is `latest`. Graph-data that is refused is not published.
Exit code 0: published; 3: could not run.")]
    Publish(GraphPublish),
}

/// Arguments of `clearway graph build`.
#[derive(Debug, Args)]
pub(crate) struct GraphBuild {
    #[command(flatten)]
    pub(crate) source: GraphSource,
    /// Channel: print its answer
    #[arg(long, value_name = "CHANNEL")]
    pub(crate) channel: Option<String>,
    #[command(flatten)]
    pub(crate) arch: ArchOption,
    /// Output directory: write a file `CHANNEL_ARCH.json` for every channel and architecture
    #[arg(long, value_name = "DIR", conflicts_with = "channel")]
    pub(crate) output_dir: Option<PathBuf>,
}

/// Arguments of `clearway graph init`.
#[derive(Debug, Args)]
pub(crate) struct GraphInit {
    /// Directory to create; it must be empty or not exist
    #[arg(value_name = "DIR")]
    pub(crate) directory: PathBuf,
}

/// Arguments of `clearway graph list`.
#[derive(Debug, Args)]
pub(crate) struct GraphList {
    #[command(flatten)]
    pub(crate) source: GraphSource,
    #[command(flatten)]
    pub(crate) arch: ArchOption,
    #[command(flatten)]
    pub(crate) output: DataOutput,
}

/// Arguments of `clearway graph show`.
#[derive(Debug, Args)]
pub(crate) struct GraphShow {
    #[command(flatten)]
    pub(crate) channel: ChannelArgument,
    #[command(flatten)]
    pub(crate) source: GraphSource,
    #[command(flatten)]
    pub(crate) arch: ArchOption,
    #[command(flatten)]
    pub(crate) output: DataOutput,
}

/// Arguments of `clearway graph explain`.
#[derive(Debug, Args)]
pub(crate) struct GraphExplain {
    /// Version to update from
    pub(crate) from: Version,
    /// Version to update to
    pub(crate) to: Version,
    /// Channel [default: all channels]
    #[arg(long, value_name = "CHANNEL")]
    pub(crate) channel: Option<String>,
    #[command(flatten)]
    pub(crate) source: GraphSource,
    #[command(flatten)]
    pub(crate) arch: ArchOption,
    #[command(flatten)]
    pub(crate) output: TextOutput,
}

/// Arguments of `clearway graph lint`.
#[derive(Debug, Args)]
pub(crate) struct GraphLint {
    #[command(flatten)]
    pub(crate) source: GraphSource,
    /// Show only findings that this git revision of the directory does not have
    #[arg(long, value_name = "REV")]
    pub(crate) new_since: Option<String>,
    /// Explain a code, and lint nothing
    #[arg(long, value_name = "CODE", conflicts_with_all = ["rev", "new_since"])]
    pub(crate) explain: Option<String>,
    #[command(flatten)]
    pub(crate) output: FindingOutput,
    #[command(flatten)]
    pub(crate) lint: LintOptions,
    #[command(flatten)]
    pub(crate) queries: QueryLimits,
}

/// Arguments of `clearway graph diff`.
#[derive(Debug, Args)]
pub(crate) struct GraphDiff {
    /// Old graph: a directory, an archive, an answer in a file, a URL, an image (oci://…), or a git revision of the
    /// directory in --graph
    pub(crate) before: GraphName,
    /// New graph (same forms as BEFORE)
    pub(crate) after: GraphName,
    /// Graph: the directory that git revisions refer to
    #[arg(long, value_name = "GRAPH", default_value = ".")]
    pub(crate) graph: PathBuf,
    #[command(flatten)]
    pub(crate) trust: ServiceTrust,
    #[command(flatten)]
    pub(crate) registries: Registries,
    /// Channel: compare only this one; repeatable [default: all channels]
    #[arg(long = "channel", value_name = "CHANNEL")]
    pub(crate) channels: Vec<String>,
    #[command(flatten)]
    pub(crate) arch: ArchOption,
    #[command(flatten)]
    pub(crate) output: TextOutput,
}

/// Arguments of `clearway graph paths`.
#[derive(Debug, Args)]
pub(crate) struct GraphPaths {
    /// Version to start from
    pub(crate) from: Version,
    /// Target version
    pub(crate) to: Version,
    /// Channel: optional for an answer in a file, or a URL with a channel
    #[arg(long, value_name = "CHANNEL")]
    pub(crate) channel: Option<String>,
    #[command(flatten)]
    pub(crate) source: GraphSource,
    #[command(flatten)]
    pub(crate) arch: ArchOption,
    #[command(flatten)]
    pub(crate) output: TextOutput,
}

/// Arguments of `clearway graph stranded`.
#[derive(Debug, Args)]
pub(crate) struct GraphStranded {
    /// Channels [default: all channels]
    #[arg(value_name = "CHANNEL", conflicts_with = "channel_option")]
    channels: Vec<String>,
    /// Channel: the same as CHANNEL; repeatable
    #[arg(id = "channel_option", long = "channel", value_name = "CHANNEL")]
    channel_option: Vec<String>,
    #[command(flatten)]
    pub(crate) source: GraphSource,
    #[command(flatten)]
    pub(crate) arch: ArchOption,
    /// Oldest version to report
    #[arg(long, value_name = "VERSION")]
    pub(crate) oldest: Option<Version>,
    /// Newest version to report
    #[arg(long, value_name = "VERSION")]
    pub(crate) newest: Option<Version>,
    /// Report the newest patches too, which wait for an update to the next minor version
    #[arg(long)]
    pub(crate) newest_patches: bool,
    #[command(flatten)]
    pub(crate) output: DataOutput,
}

impl GraphStranded {
    /// The channels that are named.
    pub(crate) fn channels(&self) -> &[String] {
        if self.channels.is_empty() { &self.channel_option } else { &self.channels }
    }
}

/// Arguments of `clearway graph render`.
#[derive(Debug, Args)]
pub(crate) struct GraphRender {
    /// Channel; optional for an answer in a file, or a URL with a channel
    pub(crate) channel: Option<String>,
    #[command(flatten)]
    pub(crate) source: GraphSource,
    #[command(flatten)]
    pub(crate) arch: ArchOption,
    /// Output format: svg, dot or mermaid, or a file to write, whose name ends in .svg, .dot, .gv, .mmd or .mermaid
    #[arg(short = 'o', long = "output", alias = "format", value_name = "FORMAT", default_value = "svg", value_parser = parse_drawing)]
    pub(crate) output: DrawingOutput,
    /// Updates to draw
    #[arg(long, value_name = "UPDATES", default_value = "risks")]
    pub(crate) show: DrawnUpdates,
    /// Draw every update from this version
    #[arg(long, value_name = "VERSION")]
    pub(crate) from: Option<Version>,
    /// Target version: draw every update to it
    #[arg(long, value_name = "VERSION")]
    pub(crate) to: Option<Version>,
    /// Draw blocked updates too
    #[arg(long)]
    pub(crate) blocked: bool,
}

/// The format of a drawing, and the file that it is written to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DrawingOutput {
    pub(crate) format: DrawingFormat,
    /// The default is standard output.
    pub(crate) file: Option<PathBuf>,
}

/// Reads a format, or the name of a file with the extension of one.
fn parse_drawing(text: &str) -> Result<DrawingOutput, String> {
    if let Ok(format) = DrawingFormat::from_str(text, true) {
        return Ok(DrawingOutput { format, file: None });
    }
    let file = PathBuf::from(text);
    let extension = file.extension().map(|extension| extension.to_string_lossy().to_ascii_lowercase());
    let format = match extension.as_deref() {
        Some("svg") => DrawingFormat::Svg,
        Some("dot" | "gv") => DrawingFormat::Dot,
        Some("mmd" | "mermaid") => DrawingFormat::Mermaid,
        _ => {
            return Err(format!(
                "`{text}` is neither svg, dot or mermaid, nor a file that ends in .svg, .dot, .gv, .mmd or .mermaid"
            ));
        }
    };
    Ok(DrawingOutput { format, file: Some(file) })
}

/// The format of a drawing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DrawingFormat {
    /// SVG image
    Svg,
    /// Graphviz
    Dot,
    /// Mermaid, for Markdown
    Mermaid,
}

/// The updates of a drawing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DrawnUpdates {
    /// The newest target in each minor, and conditional updates only where no other path leads as far
    Essential,
    /// The newest target in each minor, and the newest conditional update
    Risks,
    /// All updates
    All,
}

/// Arguments of `clearway graph convert`.
#[derive(Debug, Args)]
pub(crate) struct GraphConvert {
    #[command(flatten)]
    pub(crate) source: GraphSource,
    /// Output format
    #[arg(short = 'o', long = "output", alias = "to", value_name = "FORMAT")]
    pub(crate) format: RiskFormat,
    /// Output directory: write the converted graph-data there [default: only report what would change]
    #[arg(long, value_name = "DIR")]
    pub(crate) output_dir: Option<PathBuf>,
    /// Keep the files in risks/ beside the blocked-edges files, for services that read them
    #[arg(long)]
    pub(crate) keep: bool,
}

/// Arguments of `clearway graph publish`.
#[derive(Debug, Args)]
pub(crate) struct GraphPublish {
    /// Artifact to push
    #[arg(value_name = "oci://HOST/PATH:TAG")]
    pub(crate) target: String,
    /// Graph: a graph-data directory, or an archive of one
    #[arg(long, value_name = "GRAPH", default_value = ".")]
    pub(crate) graph: PathBuf,
    /// Read the graph-data directory at this git revision
    #[arg(long, value_name = "REV")]
    pub(crate) rev: Option<String>,
    #[command(flatten)]
    pub(crate) push: ArtifactPush,
}

/// How an artifact is pushed and signed.
#[derive(Debug, Args)]
pub(crate) struct ArtifactPush {
    /// Sign with this private key (PEM, unencrypted: ECDSA P-256, Ed25519 or RSA)
    #[arg(long, value_name = "FILE")]
    pub(crate) sign_key: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) registry: RegistryConnection,
}

/// How graph-data declares risks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RiskFormat {
    /// One declaration in risks/ per risk and minor version
    Risks,
    /// One file in blocked-edges/ per risk and target version
    Blocks,
}
