//! The command line, as `--help` shows it. Completions and manual pages come from the same definition.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clearway_conditions::lint::Profile;
use clearway_core::{Arch, Timestamp, Version};

/// Is this update safe for this cluster, and why?
#[derive(Debug, Parser)]
#[command(name = "clearway", version, propagate_version = true, max_term_width = 110)]
#[command(after_help = "\
Exit codes, for every command:
  0  yes, clean, current
  1  no, findings, failed
  2  not known, or not yet
  3  could not run: bad usage, bad input, unreachable

Begin with `clearway demo`: it needs nothing and shows what there is.")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show what Clearway does, on sample objects, with nothing to set up
    Demo(Demo),
    /// Build, check, show and explain the update graph of graph-data
    #[command(subcommand)]
    Graph(Graph),
    /// Read, check and wait for the status of any Kubernetes objects
    #[command(subcommand)]
    Status(Status),
    /// Print a completion script for a shell
    #[command(after_help = "Example:\n  source <(clearway completions bash)")]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page, or write all of them into a directory
    #[command(after_help = "Example:\n  clearway man --dir ~/.local/share/man/man1")]
    Man {
        /// Write one page per command here
        #[arg(long, value_name = "DIR")]
        dir: Option<PathBuf>,
    },
}

/// Options of `clearway demo`.
#[derive(Debug, Args)]
pub(crate) struct Demo {
    /// Write the sample objects into this directory too, to try the commands on them
    #[arg(long, value_name = "DIR")]
    pub(crate) keep: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Graph {
    /// Write the answers an update service gives: one on standard output, or all into a directory
    #[command(after_help = "\
Examples:
  clearway graph build --graph graph-data --channel stable-4.16 > stable.json
  clearway graph build --graph graph-data --dir answers")]
    Build(GraphBuild),
    /// List the releases of a channel and where each may go
    #[command(after_help = "\
Examples:
  clearway graph show stable-4.16 --graph graph-data
  clearway graph show stable-4.16 --rev HEAD~1 -o json")]
    Show(GraphShow),
    /// Explain why an update is offered, conditional, blocked or missing, and name every file that had a say
    #[command(after_help = "\
Examples:
  clearway graph explain 4.15.9 4.16.3 --graph graph-data

Exit code 0: offered to every cluster; 1: offered to nobody; 2: it depends on the cluster; 3: could not tell.")]
    Explain(GraphExplain),
    /// Check graph-data: expressions that match too much or nothing, queries that cannot answer, risks with holes
    #[command(after_help = "\
Examples:
  clearway graph lint --graph graph-data
  clearway graph lint --new-since origin/master       only what a change brings in
  clearway graph lint -o sarif > findings.sarif
  clearway graph lint --explain GD102                 what a code means

Exit code 0: clean (there may be notes); 1: warnings or errors; 3: refused as a whole, or unreadable.")]
    Lint(GraphLint),
    /// Show what a change of graph-data does to each channel, and which files are the reason
    #[command(after_help = "\
Examples:
  clearway graph diff HEAD~1 HEAD --graph graph-data    two git revisions of the directory
  clearway graph diff main-checkout my-checkout         two directories

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
  clearway graph convert --to risks --graph graph-data              only say what would become of the files
  clearway graph convert --to blocks --graph graph-data --dir out   for services that do not read risks/

Nothing is written unless every answer stays the same, byte for byte.")]
    Convert(GraphConvert),
}

/// Where the graph comes from.
#[derive(Debug, Args)]
pub(crate) struct GraphSource {
    /// The graph-data directory
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) graph: PathBuf,
    /// The directory as it was at this git revision
    #[arg(long, value_name = "REV")]
    pub(crate) rev: Option<String>,
}

/// Options of `clearway graph build`.
#[derive(Debug, Args)]
pub(crate) struct GraphBuild {
    #[command(flatten)]
    pub(crate) source: GraphSource,
    /// Print the answer for this channel
    #[arg(long, value_name = "CHANNEL")]
    pub(crate) channel: Option<String>,
    /// The architecture of that answer
    #[arg(long, value_name = "ARCH", default_value = Arch::DEFAULT)]
    pub(crate) arch: Arch,
    /// Write a file `CHANNEL_ARCH.json` for every channel and architecture here
    #[arg(long, value_name = "DIR", conflicts_with = "channel")]
    pub(crate) dir: Option<PathBuf>,
}

/// Options of `clearway graph show`.
#[derive(Debug, Args)]
pub(crate) struct GraphShow {
    /// The channel
    pub(crate) channel: String,
    #[command(flatten)]
    pub(crate) source: GraphSource,
    /// The architecture
    #[arg(long, value_name = "ARCH", default_value = Arch::DEFAULT)]
    pub(crate) arch: Arch,
    /// How to print
    #[arg(short, long, value_name = "FORMAT", default_value = "table")]
    pub(crate) output: DataFormat,
}

/// Options of `clearway graph explain`.
#[derive(Debug, Args)]
pub(crate) struct GraphExplain {
    /// The version to update from
    pub(crate) from: Version,
    /// The version to update to
    pub(crate) to: Version,
    #[command(flatten)]
    pub(crate) source: GraphSource,
    /// The architecture
    #[arg(long, value_name = "ARCH", default_value = Arch::DEFAULT)]
    pub(crate) arch: Arch,
    /// How to print
    #[arg(short, long, value_name = "FORMAT", default_value = "table")]
    pub(crate) output: DataFormat,
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
}

/// Options of `clearway graph diff`.
#[derive(Debug, Args)]
pub(crate) struct GraphDiff {
    /// What was: a graph-data directory, or a git revision of the one that --graph names
    pub(crate) before: String,
    /// What is: likewise
    pub(crate) after: String,
    /// The graph-data directory that git revisions are of
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) graph: PathBuf,
    /// Only these channels
    #[arg(long = "channel", value_name = "CHANNEL")]
    pub(crate) channels: Vec<String>,
    /// The architecture
    #[arg(long, value_name = "ARCH", default_value = Arch::DEFAULT)]
    pub(crate) arch: Arch,
    /// How to print
    #[arg(short, long, value_name = "FORMAT", default_value = "table")]
    pub(crate) output: DataFormat,
}

/// Options of `clearway graph paths`.
#[derive(Debug, Args)]
pub(crate) struct GraphPaths {
    /// The version to start from
    pub(crate) from: Version,
    /// The version to arrive at
    pub(crate) to: Version,
    /// The channel
    #[arg(long, value_name = "CHANNEL")]
    pub(crate) channel: String,
    #[command(flatten)]
    pub(crate) source: GraphSource,
    /// The architecture
    #[arg(long, value_name = "ARCH", default_value = Arch::DEFAULT)]
    pub(crate) arch: Arch,
    /// How to print
    #[arg(short, long, value_name = "FORMAT", default_value = "table")]
    pub(crate) output: DataFormat,
}

/// Options of `clearway graph stranded`.
#[derive(Debug, Args)]
pub(crate) struct GraphStranded {
    /// Only these channels
    #[arg(value_name = "CHANNEL")]
    pub(crate) channels: Vec<String>,
    #[command(flatten)]
    pub(crate) source: GraphSource,
    /// The architecture
    #[arg(long, value_name = "ARCH", default_value = Arch::DEFAULT)]
    pub(crate) arch: Arch,
    /// Only versions from this one on
    #[arg(long, value_name = "VERSION")]
    pub(crate) oldest: Option<Version>,
    /// Only versions up to this one
    #[arg(long, value_name = "VERSION")]
    pub(crate) newest: Option<Version>,
    /// Newest patches as well, which wait for an update into the next minor
    #[arg(long)]
    pub(crate) newest_patches: bool,
    /// How to print
    #[arg(short, long, value_name = "FORMAT", default_value = "table")]
    pub(crate) output: DataFormat,
}

/// Options of `clearway graph render`.
#[derive(Debug, Args)]
pub(crate) struct GraphRender {
    /// The channel
    pub(crate) channel: String,
    #[command(flatten)]
    pub(crate) source: GraphSource,
    /// The architecture
    #[arg(long, value_name = "ARCH", default_value = Arch::DEFAULT)]
    pub(crate) arch: Arch,
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
    /// Updates that are offered to nobody as well
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
    pub(crate) dir: Option<PathBuf>,
}

/// The two ways to write risks down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ConvertTo {
    /// One declaration in risks/ for each minor version
    Risks,
    /// One file in blocked-edges/ for each target
    Blocks,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Status {
    /// Show the health of objects: one line each, with the reason, since when, and on what basis
    #[command(after_help = "\
Examples:
  clearway status show deploy -n shop             the Deployments of a namespace
  clearway status show deploy web --tree          one, with everything it owns
  clearway status show -f dump.yaml               objects in a file
  kubectl get pods -A -o json | clearway status show -f -

Exit code 0: all current; 1: at least one failed; 2: none failed, but not all are current; 3: could not look.")]
    Show(Show),
    /// Check status conditions against the rules SC001 to SC025
    #[command(after_help = "\
Examples:
  clearway status lint -f objects/                every manifest below a directory
  clearway status lint httproute -n shop          live objects
  clearway status lint --all                      every object of the cluster
  clearway status lint --history -f 1.yaml -f 2.yaml -f 3.yaml
  clearway status lint deploy web --watch 2m      follow an object and check how its status changes
  clearway status lint -f . -o sarif > findings.sarif

What is known and accepted is listed in a file for --suppressions, each with a reason and an end:
  - {rule: SC018, kind: Widget.example.com, type: Syncing, until: 2027-06-30, reason: renamed in v2}

Exit code 0: clean (there may be notes); 1: warnings or errors; 3: something could not be read, so nothing is proven.")]
    Lint(Lint),
    /// Wait until objects are current, failed, or a clock runs out
    #[command(after_help = "\
Examples:
  clearway status wait deploy/web -n shop --timeout 5m
  clearway status wait -f release.yaml --no-progress 2m
  clearway status wait deploy/web job/migrate -o json

Exit code 0: all current; 1: at least one failed; 2: a clock ran out first; 3: could not observe.")]
    Wait(Wait),
    /// Explain a rule, or list all of them
    #[command(after_help = "Example:\n  clearway status explain SC011")]
    Explain {
        /// The rule
        code: Option<String>,
        /// How to print it
        #[arg(short, long, value_name = "FORMAT", default_value = "table")]
        output: DataFormat,
    },
}

/// Which objects a command is about.
#[derive(Debug, Args)]
pub(crate) struct Selection {
    /// Live objects: KIND, KIND NAME... or KIND/NAME...; a kind goes by its plural, singular or short name
    #[arg(value_name = "KIND[/NAME]", conflicts_with = "files")]
    pub(crate) targets: Vec<String>,
    /// Read objects from a file, from every .yaml, .yml and .json below a directory, or from standard input (-)
    #[arg(short = 'f', long = "file", value_name = "FILE|DIR|-")]
    pub(crate) files: Vec<PathBuf>,
    /// The namespace of live objects
    #[arg(short, long, value_name = "NS", conflicts_with = "files")]
    pub(crate) namespace: Option<String>,
    /// Live objects of all namespaces
    #[arg(short = 'A', long, conflicts_with_all = ["files", "namespace"])]
    pub(crate) all_namespaces: bool,
    /// Only live objects with these labels
    #[arg(short = 'l', long, value_name = "LABELS", conflicts_with = "files")]
    pub(crate) selector: Option<String>,
    /// The kubeconfig file; by default KUBECONFIG, ~/.kube/config, or the service account of the pod
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// The context in the kubeconfig
    #[arg(long, value_name = "NAME")]
    pub(crate) context: Option<String>,
    /// Refuse files above this size
    #[arg(long, value_name = "BYTES", default_value = "1G", value_parser = parse_bytes)]
    pub(crate) max_file_size: u64,
}

/// Options of `clearway status show`.
#[derive(Debug, Args)]
pub(crate) struct Show {
    #[command(flatten)]
    pub(crate) selection: Selection,
    /// Show owners with what they own below them; of live objects, also what was not named
    #[arg(long)]
    pub(crate) tree: bool,
    /// How to print
    #[arg(short, long, value_name = "FORMAT", default_value = "table")]
    pub(crate) output: DataFormat,
    /// Judge as of this time, for objects that were stored earlier (RFC 3339)
    #[arg(long, value_name = "TIME")]
    pub(crate) now: Option<Timestamp>,
}

/// Options of `clearway status lint`.
#[derive(Debug, Args)]
pub(crate) struct Lint {
    #[command(flatten)]
    pub(crate) selection: Selection,
    /// Every object of every kind in the cluster
    #[arg(long, conflicts_with_all = ["targets", "files"])]
    pub(crate) all: bool,
    /// Whose conventions apply: metav1, knative, gateway, kstatus, openshift, native, or auto (by API group)
    #[arg(long, value_name = "PROFILE", default_value = "auto", value_parser = parse_profile)]
    pub(crate) profile: ProfileChoice,
    /// The files are snapshots of the same objects, in order: check how they changed as well
    #[arg(long, requires = "files", conflicts_with_all = ["targets", "all"])]
    pub(crate) history: bool,
    /// Follow live objects for this long and check how they change, such as 90s or 5m
    #[arg(long, value_name = "DURATION", conflicts_with = "files", value_parser = parse_duration)]
    pub(crate) watch: Option<Duration>,
    /// Findings to pass over, each with a reason and an end
    #[arg(long, value_name = "FILE")]
    pub(crate) suppressions: Option<PathBuf>,
    /// How to print
    #[arg(short, long, value_name = "FORMAT", default_value = "table")]
    pub(crate) output: FindingFormat,
    /// Judge as of this time, for objects that were stored earlier (RFC 3339)
    #[arg(long, value_name = "TIME")]
    pub(crate) now: Option<Timestamp>,
}

/// Options of `clearway status wait`.
#[derive(Debug, Args)]
pub(crate) struct Wait {
    #[command(flatten)]
    pub(crate) selection: Selection,
    /// Give up after this long
    #[arg(long, value_name = "DURATION", default_value = "10m", value_parser = parse_duration)]
    pub(crate) timeout: Duration,
    /// Give up when one object is not current this long after the start
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub(crate) per_object: Option<Duration>,
    /// Give up when nothing changed for this long
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub(crate) no_progress: Option<Duration>,
    /// Believe "current" only after it held for this long
    #[arg(long, value_name = "DURATION", default_value = "5s", value_parser = parse_duration)]
    pub(crate) settle: Duration,
    /// Believe a failure that may heal by itself, such as a crash loop, only after it held for this long [default: 2m]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub(crate) patience: Option<Duration>,
    /// Stop at the first failure instead of hearing the others out
    #[arg(long)]
    pub(crate) fail_fast: bool,
    /// How to print
    #[arg(short, long, value_name = "FORMAT", default_value = "table")]
    pub(crate) output: DataFormat,
}

/// How data is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DataFormat {
    /// For a person
    Table,
    /// JSON
    Json,
    /// YAML
    Yaml,
}

/// How findings are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FindingFormat {
    /// For a person, with the source line
    Table,
    /// A JSON array
    Json,
    /// YAML
    Yaml,
    /// SARIF 2.1.0, for code hosting
    Sarif,
}

/// A profile, or the one that fits each object.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ProfileChoice(pub(crate) Option<Profile>);

fn parse_profile(text: &str) -> Result<ProfileChoice, String> {
    match text {
        "auto" => Ok(ProfileChoice(None)),
        name => name.parse().map(|profile| ProfileChoice(Some(profile))).map_err(|_| {
            let known: Vec<String> = Profile::ALL.iter().map(ToString::to_string).collect();
            format!("must be auto, {}", known.join(", "))
        }),
    }
}

/// Reads `90s`, `5m`, `1h30m`; a bare number is seconds.
fn parse_duration(text: &str) -> Result<Duration, String> {
    let help = || format!("`{text}` is not a duration such as 90s, 5m or 1h30m");
    let mut total = 0_u64;
    let mut rest = text;
    while !rest.is_empty() {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let (number, behind) = rest.split_at(digits);
        let number: u64 = number.parse().map_err(|_| help())?;
        let mut unit = behind.chars();
        let factor = match unit.next() {
            Some('s') | None => 1,
            Some('m') => 60,
            Some('h') => 3_600,
            Some('d') => 86_400,
            Some(_) => return Err(help()),
        };
        total = number.checked_mul(factor).and_then(|seconds| total.checked_add(seconds)).ok_or_else(help)?;
        rest = unit.as_str();
    }
    if text.is_empty() { Err(help()) } else { Ok(Duration::from_secs(total)) }
}

/// Reads `512`, `64K`, `10M`, `1G` (powers of 1024).
fn parse_bytes(text: &str) -> Result<u64, String> {
    let help = || format!("`{text}` is not a size such as 512K, 10M or 1G");
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let number: u64 = digits.parse().map_err(|_| help())?;
    let shift = match text.get(digits.len()..).unwrap_or_default().to_ascii_uppercase().as_str() {
        "" | "B" => 0,
        "K" | "KB" | "KIB" => 10,
        "M" | "MB" | "MIB" => 20,
        "G" | "GB" | "GIB" => 30,
        _ => return Err(help()),
    };
    number.checked_mul(1 << shift).ok_or_else(help)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn the_definition_is_sound() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn durations_and_sizes_are_read_as_people_write_them() {
        for (text, seconds) in [("90s", 90), ("5m", 300), ("1h30m", 5_400), ("2d", 172_800), ("45", 45)] {
            assert_eq!(parse_duration(text), Ok(Duration::from_secs(seconds)), "{text}");
        }
        for text in ["", "m", "5x", "-1s", "99999999999999999999s", "9999999999999999d"] {
            assert!(parse_duration(text).is_err(), "{text}");
        }
        for (text, bytes) in [("512", 512), ("64K", 65_536), ("1MiB", 1 << 20), ("1g", 1 << 30)] {
            assert_eq!(parse_bytes(text), Ok(bytes), "{text}");
        }
        for text in ["", "K", "1T", "-1", "99999999999G"] {
            assert!(parse_bytes(text).is_err(), "{text}");
        }
    }
}
