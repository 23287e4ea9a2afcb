//! Options that name a graph: a directory, an archive, an answer, an update service or an image.

use std::path::PathBuf;

use clap::Args;
use clearway_core::Arch;
use clearway_sources::oci::Repository;

use super::{CaFile, GraphName, RegistryAccess};

/// A graph, and the options for reading it.
#[derive(Debug, Args)]
pub(crate) struct GraphSource {
    /// Graph: a graph-data directory, an archive of one, a file with an answer of an update service (- for standard
    /// input), the URL of an update service, or an image or artifact with graph-data (`oci://HOST/PATH:TAG`)
    #[arg(long, value_name = "GRAPH", default_value = ".")]
    pub(crate) graph: GraphName,
    /// Read the graph-data directory at this git revision
    #[arg(long, value_name = "REV")]
    pub(crate) rev: Option<String>,
    #[command(flatten)]
    pub(crate) trust: ServiceTrust,
    #[command(flatten)]
    pub(crate) registries: Registries,
}

/// Repositories with release images, and the keys for graph-data in a registry.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Registries {
    /// Repository whose release images are added to the releases of the graph-data; repeatable
    #[arg(long, value_name = "HOST/PATH")]
    pub(crate) registry: Vec<String>,
    #[command(flatten)]
    pub(crate) keys: GraphKeys,
    #[command(flatten)]
    pub(crate) access: RegistryAccess,
}

/// Keys of which one must have signed graph-data or a catalogue in a registry.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct GraphKeys {
    /// Public keys (PEM): one of them must have signed the graph-data or catalogue that is read from a registry; repeatable
    #[arg(long = "graph-key", value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
}

/// Certificates and redirects that are trusted when an update service is read.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct ServiceTrust {
    #[command(flatten)]
    pub(crate) ca: CaFile,
    /// Follow redirects of the update service to this host as well; repeatable [default: only to itself]
    #[arg(long, value_name = "HOST")]
    pub(crate) allow_redirects_to: Vec<String>,
}

/// Registries of releases that rules ask about. Publishers of graphs name registries as they like, so no other is contacted.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct ReleaseHosts {
    /// Fetch releases that rules of the graph ask about from this registry as well; repeatable [default: only from the
    /// registries of the cluster's release, of the graph and of --registry]
    #[arg(long, value_name = "HOST", value_parser = parse_registry_host)]
    pub(crate) allow_releases_from: Vec<String>,
}

/// Reads the host of a registry, with a port if it has one.
fn parse_registry_host(text: &str) -> Result<String, String> {
    let repository = format!("{text}/path").parse::<Repository>().ok();
    let host = repository.filter(|found| found.path() == "path").map(|found| found.host().to_owned());
    host.ok_or_else(|| format!("`{text}` is not the host of a registry such as quay.io or localhost:5000"))
}

/// The channel that a command is about: as an argument, or with the option that other commands have.
#[derive(Debug, Args)]
pub(crate) struct ChannelArgument {
    /// Channel; optional for an answer in a file, or a URL with a channel
    #[arg(value_name = "CHANNEL", conflicts_with = "channel_option")]
    name: Option<String>,
    /// Channel: the same as CHANNEL
    #[arg(id = "channel_option", long = "channel", value_name = "CHANNEL")]
    option: Option<String>,
}

impl ChannelArgument {
    /// The channel, if one is named.
    pub(crate) fn name(&self) -> Option<&str> {
        self.name.as_deref().or(self.option.as_deref())
    }
}

/// The architecture of releases.
#[derive(Debug, Args)]
pub(crate) struct ArchOption {
    /// Architecture [default: amd64, or the one in the URL]
    #[arg(long, value_name = "ARCH", value_parser = Arch::from_person)]
    pub(crate) arch: Option<Arch>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_registry_is_a_host_with_or_without_a_port() {
        for (text, host) in [
            ("quay.io", Some("quay.io")),
            ("Registry.Example.com:5000", Some("registry.example.com:5000")),
            ("localhost:5000", Some("localhost:5000")),
            ("[::1]:5000", Some("[::1]:5000")),
            ("quay.io/platform", None),
            ("https://quay.io", None),
            ("platform", None),
            ("", None),
        ] {
            assert_eq!(parse_registry_host(text).ok().as_deref(), host, "{text}");
        }
    }
}
