//! `clearway upgrade` on the command line.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use clearway_core::{Timestamp, Version};

use super::{ClusterConnection, DataFormat, GraphName, OfArch, QueryLimits, Registries, Trust, parse_duration};

pub(crate) const UPGRADE_EXAMPLES: &str = "\
Examples:
  clearway upgrade                                    what there is, and what is recommended
  clearway upgrade --include-not-recommended          the others as well, and why they are not
  clearway upgrade --to 4.6.43 --watch                ask for an update and follow it
  clearway upgrade --to 4.7.4 --allow-not-recommended
  clearway upgrade --to-image registry.example.com/release@sha256:2b8e... --allow-explicit-upgrade
  clearway upgrade --to 4.6.41 --allow-explicit-upgrade    roll back to the release before the present one
  clearway upgrade --to-multi-arch                    change to the release for several architectures
  clearway upgrade --clear                            take a request back
  clearway upgrade --state demo                       a state directory in place of a cluster
  clearway upgrade --component mesh                   an add-on in place of the platform

Exit code 0: shown, asked for, or there already; 1: not asked for, because it is not recommended or
something speaks against it; 2: not known (what is recommended, or whether this is); 3: could not run.
With --watch 0: completed; 1: failed; 2: not yet.";

/// Options of `clearway upgrade`.
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
    /// Show the channel that updates are taken from, or set it
    #[command(after_help = "\
Examples:
  clearway upgrade channel                            the channel, and those that have the present version
  clearway upgrade channel stable-4.7
  clearway upgrade channel my-own --allow-explicit-channel
  clearway upgrade channel \"\" --allow-explicit-channel    clear it: no updates are looked for any more

Exit code 0: shown or set; 1: not set, because it is not one of the available channels; 3: could not run.")]
    Channel(UpgradeChannel),
    /// Accept risks by name, so that updates with them are recommended; or list what is accepted
    #[command(after_help = "\
Examples:
  clearway upgrade accept                             what is accepted
  clearway upgrade accept ProxyTimeouts --reason 'no proxy since May' --until 30d
  clearway upgrade accept ProxyTimeouts,SlowNodes --reason 'known here' --until 2027-01-01T00:00:00Z
  clearway upgrade accept ProxyTimeouts-              not any more

It is kept in spec.acceptedRisks, which the experimental channel of Clearway's CRDs has.
Exit code 0: shown or changed; 3: could not run, or this cluster cannot keep it.")]
    Accept(UpgradeAccept),
    /// Tell what is happening now, how it is going, and what to do
    #[command(after_help = "\
Examples:
  clearway upgrade status
  clearway upgrade status --watch --timeout 1h        follow it to its end
  clearway upgrade status -o json

Exit code 0: at rest and well; 1: something keeps it from going on; 2: on its way, or not known; 3: could not look.")]
    Status(UpgradeStatus),
    /// List the updates there were
    #[command(after_help = "\
Examples:
  clearway upgrade history
  clearway upgrade history --details                  with the risks that were accepted
  clearway upgrade history -o json")]
    History(UpgradeHistory),
    /// Show the way to a version over several updates, with the risks of each
    #[command(after_help = "\
Examples:
  clearway upgrade plan --to 4.8.12
  clearway upgrade plan --to 4.8.12 --channel stable-4.8
  clearway upgrade plan --to 1.5.2 --graph graph-data

The graph is that of the ClusterVersion's upstream. Whether a risk applies is taken from what the ClusterVersion says about
the next update; `clearway assess --to V` evaluates the risks of every hop.
Exit code 0: there is a way that is recommended; 1: there is no such way; 2: that is not known; 3: could not look.")]
    Plan(Box<UpgradePlan>),
}

/// Which object is meant, where it is, and how to print.
#[derive(Debug, Args)]
pub(crate) struct UpgradeAccess {
    /// Work on the add-on with this name (`ComponentVersion`), in place of the platform (`ClusterVersion`)
    #[arg(long, value_name = "NAME", global = true)]
    pub(crate) component: Option<String>,
    /// Work on this state directory, in place of a cluster
    #[arg(long, value_name = "DIR", env = "CLEARWAY_STATE", global = true)]
    pub(crate) state: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) connection: ClusterConnection,
    /// How to print
    #[arg(short = 'o', long = "output", value_name = "FORMAT", default_value = "table", global = true)]
    pub(crate) format: DataFormat,
}

/// What is asked for; nothing is a list.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "they are the flags that `oc adm upgrade` has")]
pub(crate) struct UpgradeRequest {
    /// Updates that are not recommended as well, or where that is not known
    #[arg(long, conflicts_with_all = ["target", "clear"])]
    pub(crate) include_not_recommended: bool,
    /// Update to this version
    #[arg(long, value_name = "VERSION", group = "target")]
    pub(crate) to: Option<Version>,
    /// Update to the newest version that is recommended
    #[arg(long, group = "target")]
    pub(crate) to_latest: bool,
    /// Update to this release image, by digest
    #[arg(long, value_name = "PULLSPEC", group = "target")]
    pub(crate) to_image: Option<String>,
    /// Change to the multi-architecture release of the present version
    #[arg(long, group = "target")]
    pub(crate) to_multi_arch: bool,
    /// Take a requested update back
    #[arg(long, conflicts_with_all = ["target", "watch"])]
    pub(crate) clear: bool,
    /// Take a target although it is not recommended, or although that is not known; it is recorded in the history
    #[arg(long, requires = "target")]
    pub(crate) allow_not_recommended: bool,
    /// Take an image that is not among the known updates, or a version from the history
    #[arg(long, requires = "target")]
    pub(crate) allow_explicit_upgrade: bool,
    /// Ask although another update is being carried out, fails, or the object is invalid
    #[arg(long, requires = "target")]
    pub(crate) allow_upgrade_with_warnings: bool,
    /// Waive the operator's own checks of the release, its signature and that it is no downgrade among them; it is recorded
    /// in the history
    #[arg(long, requires = "target")]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) following: Following,
}

/// How long an update is followed.
#[derive(Debug, Args)]
pub(crate) struct Following {
    /// Follow the update, with progress, until it is completed or has failed
    #[arg(long)]
    pub(crate) watch: bool,
    /// Stop following after this long; the update goes on
    #[arg(long, value_name = "DURATION", default_value = "2h", value_parser = parse_duration, requires = "watch")]
    pub(crate) timeout: Duration,
    /// Believe a failure, which may heal by itself, only after it held for this long
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = parse_duration, requires = "watch")]
    pub(crate) patience: Duration,
}

/// Options of `clearway upgrade channel`.
#[derive(Debug, Args)]
pub(crate) struct UpgradeChannel {
    /// The channel; an empty text clears it
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Take a channel that is not one of the available ones
    #[arg(long, requires = "name")]
    pub(crate) allow_explicit_channel: bool,
}

/// Options of `clearway upgrade accept`.
#[derive(Debug, Args)]
pub(crate) struct UpgradeAccept {
    /// The names of risks, with commas between them; a minus behind a name takes it back
    #[arg(value_name = "RISK[-]", value_delimiter = ',')]
    pub(crate) risks: Vec<String>,
    /// Why they are accepted
    #[arg(long, value_name = "TEXT", requires = "risks")]
    pub(crate) reason: Option<String>,
    /// When that ends: a time (RFC 3339), or how long from now, such as 30d
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

fn parse_end(text: &str) -> Result<End, String> {
    let duration = parse_duration(text).ok().map(End::After);
    duration
        .or_else(|| text.parse().ok().map(End::At))
        .ok_or_else(|| format!("`{text}` is neither a time such as 2027-01-01T00:00:00Z nor a duration such as 30d"))
}

/// Options of `clearway upgrade status`.
#[derive(Debug, Args)]
pub(crate) struct UpgradeStatus {
    #[command(flatten)]
    pub(crate) following: Following,
    /// Tell ages as of this time, for an object that was stored earlier (RFC 3339)
    #[arg(long, value_name = "TIME", conflicts_with = "watch")]
    pub(crate) now: Option<Timestamp>,
}

/// Options of `clearway upgrade history`.
#[derive(Debug, Args)]
pub(crate) struct UpgradeHistory {
    /// With the risks that were accepted
    #[arg(long)]
    pub(crate) details: bool,
}

/// Options of `clearway upgrade plan`.
#[derive(Debug, Args)]
pub(crate) struct UpgradePlan {
    /// The version to arrive at
    #[arg(long, value_name = "VERSION")]
    pub(crate) to: Version,
    /// The channel [default: that of the object]
    #[arg(long, value_name = "CHANNEL")]
    pub(crate) channel: Option<String>,
    /// The graph: whatever --graph of `clearway graph` takes [default: the upstream of the object]
    #[arg(long, value_name = "GRAPH")]
    pub(crate) graph: Option<GraphName>,
    #[command(flatten)]
    pub(crate) trust: Trust,
    #[command(flatten)]
    pub(crate) registries: Registries,
    #[command(flatten)]
    pub(crate) arch: OfArch,
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
