//! Arguments of `clearway status`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use clearway_conditions::lint::Profile;

use super::{
    ClusterConnection, DataOutput, FindingOutput, LintOptions, ReferenceTime, parse_bytes, parse_duration,
    parse_selector, suppressions_help,
};

#[derive(Debug, Subcommand)]
pub(crate) enum Status {
    /// Show the health of objects, with the reason, the time and the basis
    #[command(after_help = "\
Examples:
  clearway status show deploy -n shop             the Deployments of a namespace
  clearway status show deploy web --tree          one, with everything it owns
  clearway status show -f dump.yaml               objects in a file
  kubectl get pods -A -o json | clearway status show -f -

Exit code 0: all current; 1: at least one failed; 2: none failed, but not all are current; 3: could not run.")]
    Show(Show),
    /// Lint status conditions with the rules SC001 to SC025
    #[command(after_help = concat!("\
Examples:
  clearway status lint -f objects/                all manifests in a directory
  clearway status lint httproute -n shop          live objects
  clearway status lint --all                      every object of the cluster
  clearway status lint --history -f 1.yaml -f 2.yaml -f 3.yaml
  clearway status lint deploy web --watch 2m      watch an object and check how its status changes
  clearway status lint -f . --severity error --ignore SC018
  clearway status lint -f . -o sarif > findings.sarif

", suppressions_help!(), "

Exit code 0: clean (notes are allowed); 1: warnings or errors; 3: some input is unreadable."))]
    Lint(Lint),
    /// Wait until objects are current or failed, or a time limit passes
    #[command(after_help = "\
Examples:
  clearway status wait deploy/web -n shop --timeout 5m
  clearway status wait -f release.yaml --no-progress 2m
  clearway status wait deploy/web job/migrate -o json

Exit code 0: all current; 1: at least one failed; 2: a time limit passed; 3: could not run.")]
    Wait(Wait),
    /// Explain a lint rule, or list all rules
    #[command(after_help = "Example:\n  clearway status explain SC011")]
    Explain {
        /// Rule, such as SC011
        code: Option<String>,
        #[command(flatten)]
        output: DataOutput,
    },
}

/// The objects of a command.
#[derive(Debug, Args)]
pub(crate) struct Selection {
    /// Live objects: KIND, KIND NAME... or KIND/NAME..., with the plural, singular or short name of the kind
    #[arg(value_name = "KIND[/NAME]", conflicts_with = "files")]
    pub(crate) targets: Vec<String>,
    /// File with objects, directory with .yaml, .yml and .json files, or standard input (-); repeatable
    #[arg(short = 'f', long = "file", value_name = "FILE|DIR|-")]
    pub(crate) files: Vec<PathBuf>,
    /// Namespace: that of live objects
    #[arg(short, long, value_name = "NAME", conflicts_with = "files")]
    pub(crate) namespace: Option<String>,
    /// Live objects in all namespaces
    #[arg(short = 'A', long, conflicts_with_all = ["files", "namespace"])]
    pub(crate) all_namespaces: bool,
    /// Label selector for live objects
    #[arg(short = 'l', long, value_name = "LABELS", conflicts_with = "files", value_parser = parse_selector)]
    pub(crate) selector: Option<String>,
    #[command(flatten)]
    pub(crate) connection: ClusterConnection,
    /// Maximum size of a file
    #[arg(long, value_name = "BYTES", default_value = "1G", value_parser = parse_bytes)]
    pub(crate) max_file_size: u64,
}

/// Arguments of `clearway status show`.
#[derive(Debug, Args)]
pub(crate) struct Show {
    #[command(flatten)]
    pub(crate) selection: Selection,
    /// Show objects below their owners; for live objects, all objects that they own
    #[arg(long)]
    pub(crate) tree: bool,
    #[command(flatten)]
    pub(crate) output: DataOutput,
    #[command(flatten)]
    pub(crate) time: ReferenceTime,
}

/// Arguments of `clearway status lint`.
#[derive(Debug, Args)]
pub(crate) struct Lint {
    #[command(flatten)]
    pub(crate) selection: Selection,
    /// Lint every object in the cluster
    #[arg(long, conflicts_with_all = ["targets", "files"])]
    pub(crate) all: bool,
    /// Conventions to apply: metav1, knative, gateway, kstatus, openshift, native, or auto (by API group)
    #[arg(long, value_name = "PROFILE", default_value = "auto", value_parser = parse_profile)]
    pub(crate) profile: ProfileChoice,
    /// The files are successive states of the same objects: check their changes, too
    #[arg(long, requires = "files", conflicts_with_all = ["targets", "all"])]
    pub(crate) history: bool,
    /// Watch live objects for this long and check their changes, such as 90s or 5m
    #[arg(long, value_name = "DURATION", conflicts_with = "files", value_parser = parse_duration)]
    pub(crate) watch: Option<Duration>,
    #[command(flatten)]
    pub(crate) output: FindingOutput,
    #[command(flatten)]
    pub(crate) findings: LintOptions,
    #[command(flatten)]
    pub(crate) time: ReferenceTime,
}

/// Arguments of `clearway status wait`.
#[derive(Debug, Args)]
pub(crate) struct Wait {
    #[command(flatten)]
    pub(crate) selection: Selection,
    /// Time limit
    #[arg(long, value_name = "DURATION", default_value = "10m", value_parser = parse_duration)]
    pub(crate) timeout: Duration,
    /// Time limit for each object to become current
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub(crate) per_object: Option<Duration>,
    /// Time limit without any change
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub(crate) no_progress: Option<Duration>,
    /// How long an object must stay current before it counts as current
    #[arg(long, value_name = "DURATION", default_value = "5s", value_parser = parse_duration)]
    pub(crate) settle: Duration,
    /// How long a recoverable failure must last before it counts as a failure [default: 2m]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub(crate) patience: Option<Duration>,
    /// Exit at the first failure
    #[arg(long)]
    pub(crate) fail_fast: bool,
    #[command(flatten)]
    pub(crate) output: DataOutput,
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
