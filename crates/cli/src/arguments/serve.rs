//! Arguments of `clearway serve`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use clearway_core::Address;
use clearway_server::Scope;

use super::{GraphName, Logging, Registries, ServiceTrust, parse_duration, parse_listen};

pub(crate) const SERVE_EXAMPLES: &str = "\
Examples:
  clearway serve --graph graph-data
  clearway serve --graph graph-data --console-listen 127.0.0.1:8081
  clearway serve --graph oci://registry.example.com/graph-data --registry registry.example.com/releases
  clearway serve --upstream https://updates.example.com/api/upgrades_info --mirror stable-1.5 --cache /var/cache/clearway

  curl 'http://127.0.0.1:8080/api/upgrades_info/graph?channel=stable-1.5&arch=amd64'

The graph is read again when a file changes, every --refresh, and on SIGHUP. If it is refused, the last good revision is
served, and its age is in the `Age` header and the metrics. SIGTERM and Ctrl-C stop the service after the current requests;
a second signal stops it immediately.
Exit code 0: stopped by a signal; 3: could not start.";

/// Arguments of `clearway serve`.
#[derive(Debug, Args)]
pub(crate) struct Serve {
    /// Graph: a graph-data directory, an archive of one (tar, tar.gz), or an image or artifact with graph-data
    /// (`oci://HOST/PATH:TAG`)
    #[arg(long, alias = "graph-data", value_name = "GRAPH", required_unless_present = "upstream")]
    pub(crate) graph: Option<GraphName>,
    #[command(flatten)]
    pub(crate) registries: Registries,
    #[command(flatten)]
    pub(crate) trust: ServiceTrust,
    /// Update service: mirrored for channels that the graph does not contain
    #[arg(long, value_name = "URL")]
    pub(crate) upstream: Option<Address>,
    /// Channel of the update service to keep up to date; others are fetched when a client requests them. Repeatable
    #[arg(long, value_name = "CHANNEL[/ARCH]", requires = "upstream")]
    pub(crate) mirror: Vec<Scope>,
    /// Address for clients
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080", value_parser = parse_listen)]
    pub(crate) listen: SocketAddr,
    /// Address of /livez, /readyz and /metrics
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:9080", value_parser = parse_listen)]
    pub(crate) status_listen: SocketAddr,
    /// Address of the web console, a read-only view for people [default: no console]: the graph, its risks and revisions
    #[arg(long, value_name = "ADDRESS", requires = "graph")]
    pub(crate) console_listen: Option<SocketAddr>,
    /// Path before /graph
    #[arg(long, value_name = "PATH", default_value = "/api/upgrades_info")]
    pub(crate) prefix: String,
    /// Interval between checks of the sources
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = parse_duration)]
    pub(crate) refresh: Duration,
    /// How long clients and caches may use an answer (`max-age` of Cache-Control, plus the answer's Age)
    #[arg(long, value_name = "DURATION", default_value = "1m", value_parser = parse_duration)]
    pub(crate) max_age: Duration,
    /// Cache directory: for the last good data, served after a restart while the source is unreachable
    #[arg(long, value_name = "DIR")]
    pub(crate) cache: Option<PathBuf>,
    /// Maximum number of concurrent connections; more of them wait
    #[arg(long, value_name = "NUMBER", default_value_t = 4096)]
    pub(crate) connections: usize,
    /// Timeout for receiving a request, and for idle connections
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = parse_duration)]
    pub(crate) read_timeout: Duration,
    /// Timeout for a client that stops reading its answer
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = parse_duration)]
    pub(crate) write_timeout: Duration,
    /// Time for current requests to complete when the service stops
    #[arg(long, value_name = "DURATION", default_value = "20s", value_parser = parse_duration)]
    pub(crate) drain: Duration,
    #[command(flatten)]
    pub(crate) logging: Logging,
}
