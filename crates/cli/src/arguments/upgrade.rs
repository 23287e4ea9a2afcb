//! Arguments of `clearway upgrade`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use clearway_core::{Timestamp, Version};

use super::{
    ArchOption, CaFile, ClusterConnection, DataFormat, GraphName, PrometheusAccess, QueryLimits, ReferenceTime,
    Registries, ServiceTrust, parse_duration,
};

pub(crate) const UPGRADE_EXAMPLES: &str = "\
Examples:
  clearway upgrade                                    list the recommended updates
  clearway upgrade recommend                          whether to update now, and to which version
  clearway upgrade --include-not-recommended          list the other updates, too, with the reasons
  clearway upgrade --to 4.6.43 --watch                request an update and watch it
  clearway upgrade --to 4.7.4 --allow-not-recommended
  clearway upgrade --to-image registry.example.com/release@sha256:2b8e... --allow-explicit-upgrade
  clearway upgrade --to 4.6.41 --allow-explicit-upgrade    roll back to the previous release
  clearway upgrade --to-multi-arch                    change to the multi-architecture release
  clearway upgrade --clear                            cancel a request
  clearway upgrade --state demo                       use a state directory instead of a cluster
  clearway upgrade --component mesh                   update an add-on

Exit code 0: listed, requested, or already at this version; 1: not requested: not recommended, or
blocked by a condition; 2: recommendations are unknown; 3: could not run.
With --watch 0: completed; 1: failed; 2: not completed yet.";

/// Arguments of `clearway upgrade`.
#[derive(Debug, Args)]
pub(crate) struct Upgrade {
    #[command(subcommand)]
    pub(crate) command: Option<UpgradeCommand>,
    #[command(flatten)]
    pub(crate) request: UpgradeRequest,
    #[command(flatten)]
    pub(crate) access: UpgradeAccess,
}

#[derive(Debug, Subcommand)]
pub(crate) enum UpgradeCommand {
    /// Show or set the update channel
    #[command(after_help = "\
Examples:
  clearway upgrade channel                            the current channel, and those with the current version
  clearway upgrade channel stable-4.7
  clearway upgrade channel my-own --allow-explicit-channel
  clearway upgrade channel \"\" --allow-explicit-channel    clear it: no more updates are retrieved

Exit code 0: shown or set; 1: not set: not one of the available channels; 3: could not run.")]
    Channel(UpgradeChannel),
    /// Accept risks by name, so that they no longer block updates; or list accepted risks
    #[command(after_help = "\
Examples:
  clearway upgrade accept                             list accepted risks
  clearway upgrade accept ProxyTimeouts --reason 'no proxy since May' --until 30d
  clearway upgrade accept ProxyTimeouts,SlowNodes --reason 'known here' --until 2027-01-01T00:00:00Z
  clearway upgrade accept ProxyTimeouts-              no longer accept it

Accepted risks are stored in spec.acceptedRisks, a field of the experimental channel of Clearway's CRDs.
Exit code 0: shown or changed; 3: could not run, or the CRD does not have this field.")]
    Accept(UpgradeAccept),
    /// Show the state of the current update, and what to do
    #[command(after_help = "\
Examples:
  clearway upgrade status
  clearway upgrade status --watch --timeout 1h        watch until the update ends
  clearway upgrade status -o json

Exit code 0: up to date, no problems; 1: failing or stopped; 2: updating, or unknown; 3: could not run.")]
    Status(UpgradeStatus),
    /// List past updates
    #[command(after_help = "\
Examples:
  clearway upgrade history
  clearway upgrade history --details                  with the accepted risks
  clearway upgrade history -o json")]
    History(UpgradeHistory),
    /// Show whether to update now, and to which version: checks of the cluster, and the issues of each update
    #[command(
        disable_version_flag = true,
        after_help = "\
Examples:
  clearway upgrade recommend                                 the newest updates of each minor version
  clearway upgrade recommend --show-outdated-releases        all updates
  clearway upgrade recommend --version 4.7.4                 everything that is known about one update
  clearway upgrade recommend --version 4.7.4 --accept SlowEtcd,Progressing
  clearway upgrade recommend --prometheus http://localhost:9090    check alerts, too

--accept takes names of risks, of alerts and of checks; nothing is written. `ConditionalUpdateRisk` means all risks that
apply. A risk that could not be evaluated cannot be accepted.
Exit code 0: an update is recommended (with --version: this one), or there are none; 1: none is recommended, or a check is a
reason not to update; 2: unknown; 3: could not run."
    )]
    Recommend(Box<UpgradeRecommend>),
    /// Show the update path to a version, with the risks of each update
    #[command(after_help = "\
Examples:
  clearway upgrade plan --to 4.8.12
  clearway upgrade plan --to 4.8.12 --channel stable-4.8
  clearway upgrade plan --to 1.5.2 --graph graph-data

The graph is read from the ClusterVersion's upstream. Whether a risk applies is known only for the next update, from the
status of the ClusterVersion; `clearway assess --to V` evaluates the risks of every update.
Exit code 0: there is a recommended path; 1: no path is recommended; 2: unknown; 3: could not run.")]
    Plan(Box<UpgradePlan>),
}

/// The object, the store that has it, and the output format.
#[derive(Debug, Args)]
pub(crate) struct UpgradeAccess {
    /// Add-on (ComponentVersion) to update [default: the cluster (ClusterVersion)]
    #[arg(long, value_name = "NAME", global = true)]
    pub(crate) component: Option<String>,
    /// State directory: used instead of a cluster
    #[arg(long, value_name = "DIR", env = "CLEARWAY_STATE", global = true)]
    pub(crate) state: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) connection: ClusterConnection,
    /// Output format
    #[arg(short = 'o', long = "output", value_name = "FORMAT", default_value = "table", global = true)]
    pub(crate) format: DataFormat,
}

/// The request; without a target the updates are listed.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "they are the flags that `oc adm upgrade` has")]
pub(crate) struct UpgradeRequest {
    /// List updates that are not recommended or Unknown, too
    #[arg(long, conflicts_with_all = ["target", "clear"])]
    pub(crate) include_not_recommended: bool,
    /// Target version: request an update to it
    #[arg(long, value_name = "VERSION", group = "target")]
    pub(crate) to: Option<Version>,
    /// Request an update to the newest recommended version
    #[arg(long, group = "target")]
    pub(crate) to_latest: bool,
    /// Request an update to this release image, by digest
    #[arg(long, value_name = "PULLSPEC", group = "target")]
    pub(crate) to_image: Option<String>,
    /// Request the multi-architecture release of the current version
    #[arg(long, group = "target")]
    pub(crate) to_multi_arch: bool,
    /// Cancel the requested update
    #[arg(long, conflicts_with_all = ["target", "watch"])]
    pub(crate) clear: bool,
    /// Allow a target that is not recommended or Unknown; recorded in the history
    #[arg(long, requires = "target")]
    pub(crate) allow_not_recommended: bool,
    /// Allow an image that is not a known update, or a version from the history
    #[arg(long, requires = "target")]
    pub(crate) allow_explicit_upgrade: bool,
    /// Request the update even if another one is in progress or failing, or the object is invalid
    #[arg(long, requires = "target")]
    pub(crate) allow_upgrade_with_warnings: bool,
    /// Skip the operator's checks of the release (signature, downgrade, preconditions); recorded in the history
    #[arg(long, requires = "target")]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) following: WatchOptions,
}

/// Whether and how long an update is watched.
#[derive(Debug, Args)]
pub(crate) struct WatchOptions {
    /// Watch the update and show its progress until it completes or fails
    #[arg(long)]
    pub(crate) watch: bool,
    /// Time limit: the update continues after it
    #[arg(long, value_name = "DURATION", default_value = "2h", value_parser = parse_duration, requires = "watch")]
    pub(crate) timeout: Duration,
    /// How long a recoverable failure must last before it counts as a failure
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = parse_duration, requires = "watch")]
    pub(crate) patience: Duration,
}

/// Arguments of `clearway upgrade channel`.
#[derive(Debug, Args)]
pub(crate) struct UpgradeChannel {
    /// Channel; an empty string clears it
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Allow a channel that is not one of the available channels
    #[arg(long, requires = "name")]
    pub(crate) allow_explicit_channel: bool,
}

/// Arguments of `clearway upgrade accept`.
#[derive(Debug, Args)]
pub(crate) struct UpgradeAccept {
    /// Names of risks, separated by commas; a minus after a name removes it
    #[arg(value_name = "RISK[-]", value_delimiter = ',')]
    pub(crate) risks: Vec<String>,
    /// Reason for accepting them
    #[arg(long, value_name = "TEXT", requires = "risks")]
    pub(crate) reason: Option<String>,
    /// Expiry: a time (RFC 3339), or a duration from now, such as 30d
    #[arg(long, value_name = "TIME|DURATION", requires = "reason", value_parser = parse_end)]
    pub(crate) until: Option<End>,
}

/// When something ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// At this time.
    At(Timestamp),
    /// This long from now.
    After(Duration),
}

/// Reads the end of an acceptance; an error says what can be written.
pub(crate) fn parse_end(text: &str) -> Result<End, String> {
    let duration = parse_duration(text).ok().map(End::After);
    duration
        .or_else(|| text.parse().ok().map(End::At))
        .ok_or_else(|| format!("`{text}` is neither a time such as 2027-01-01T00:00:00Z nor a duration such as 30d"))
}

/// Arguments of `clearway upgrade status`.
#[derive(Debug, Args)]
pub(crate) struct UpgradeStatus {
    #[command(flatten)]
    pub(crate) following: WatchOptions,
    #[command(flatten)]
    pub(crate) time: ReferenceTime,
}

/// Arguments of `clearway upgrade history`.
#[derive(Debug, Args)]
pub(crate) struct UpgradeHistory {
    /// Show the accepted risks
    #[arg(long)]
    pub(crate) details: bool,
}

/// Arguments of `clearway upgrade recommend`.
#[derive(Debug, Args)]
pub(crate) struct UpgradeRecommend {
    /// Version: show only the update to it, with everything that is known about it
    #[arg(long, value_name = "VERSION", conflicts_with = "show_outdated_releases")]
    pub(crate) version: Option<Version>,
    /// Show all updates [default: the two newest of each minor version]
    #[arg(long)]
    pub(crate) show_outdated_releases: bool,
    /// Accept these risks, alerts and checks, separated by commas; repeatable
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(crate) accept: Vec<String>,
    #[command(flatten)]
    pub(crate) prometheus: PrometheusAccess,
    #[command(flatten)]
    pub(crate) ca: CaFile,
}

/// Arguments of `clearway upgrade plan`.
#[derive(Debug, Args)]
pub(crate) struct UpgradePlan {
    /// Target version
    #[arg(long, value_name = "VERSION")]
    pub(crate) to: Version,
    /// Channel [default: that of the object]
    #[arg(long, value_name = "CHANNEL")]
    pub(crate) channel: Option<String>,
    /// Graph: the same forms as for `clearway graph` [default: the upstream of the object]
    #[arg(long, value_name = "GRAPH")]
    pub(crate) graph: Option<GraphName>,
    #[command(flatten)]
    pub(crate) trust: ServiceTrust,
    #[command(flatten)]
    pub(crate) registries: Registries,
    #[command(flatten)]
    pub(crate) arch: ArchOption,
    #[command(flatten)]
    pub(crate) queries: QueryLimits,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_is_a_time_or_a_duration() {
        assert_eq!(parse_end("30d"), Ok(End::After(Duration::from_hours(720))));
        assert_eq!(parse_end("2027-01-01T00:00:00Z"), Ok(End::At("2027-01-01T00:00:00Z".parse().unwrap())));
        for wrong in ["", "tomorrow", "2027-01-01", "-5m"] {
            assert!(parse_end(wrong).is_err(), "{wrong}");
        }
    }
}
