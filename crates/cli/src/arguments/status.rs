//! `clearway status` on the command line.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use clearway_conditions::lint::Profile;
use clearway_core::Timestamp;

use super::{ClusterConnection, DataFormat, FindingFormat, parse_bytes, parse_duration};

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
    #[command(flatten)]
    pub(crate) connection: ClusterConnection,
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
