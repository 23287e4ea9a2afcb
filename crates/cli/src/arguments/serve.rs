//! `clearway serve` on the command line.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use clearway_core::Address;
use clearway_server::Scope;

use super::{RegistryAccess, parse_duration};

pub(crate) const SERVE_EXAMPLES: &str = "\
Examples:
  clearway serve --graph-data graph-data
  clearway serve --graph-data oci://registry.example.com/graph-data --registry registry.example.com/releases
  clearway serve --upstream https://updates.example.com/api/upgrades_info --mirror stable-1.5 --cache /var/cache/clearway

  curl 'http://127.0.0.1:8080/api/upgrades_info/graph?channel=stable-1.5&arch=amd64'

The graph-data is read again when a file changes, every --refresh, and on SIGHUP. Graph-data that is refused changes
nothing: the last good revision goes on being served, and its age shows in the `Age` header and the metrics.
SIGTERM and Ctrl-C end it after the requests that were begun; a second one ends it at once.
Exit code 0: ended on request; 3: could not start.";

/// Options of `clearway serve`.
#[derive(Debug, Args)]
pub(crate) struct Serve {
    /// The graph-data: a directory, or an image or artifact in a registry that holds one
    #[arg(long, value_name = "DIR|oci://IMAGE", required_unless_present = "upstream")]
    pub(crate) graph_data: Option<String>,
    /// A repository whose release images are releases of the graph besides those of the graph-data
    #[arg(long, value_name = "HOST/PATH", requires = "graph_data")]
    pub(crate) registry: Vec<String>,
    #[command(flatten)]
    pub(crate) registries: RegistryAccess,
    /// An update service whose answers are handed on, for channels that the graph-data does not have
    #[arg(long, value_name = "URL")]
    pub(crate) upstream: Option<Address>,
    /// A channel of upstream that is kept current; others are asked for when a client asks for them
    #[arg(long, value_name = "CHANNEL[/ARCH]", requires = "upstream")]
    pub(crate) mirror: Vec<Scope>,
    /// Follow redirects of upstream to this host too, and not only to itself
    #[arg(long, value_name = "HOST", requires = "upstream")]
    pub(crate) allow_redirects_to: Vec<String>,
    /// Where clients reach the service
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080")]
    pub(crate) listen: SocketAddr,
    /// Where /livez, /readyz and /metrics are
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:9080")]
    pub(crate) status_listen: SocketAddr,
    /// What comes before /graph in an address
    #[arg(long, value_name = "PATH", default_value = "/api/upgrades_info")]
    pub(crate) prefix: String,
    /// How often the sources are looked at
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = parse_duration)]
    pub(crate) refresh: Duration,
    /// How long a client or a cache may use an answer after it was sent (max-age is this and the answer's Age)
    #[arg(long, value_name = "DURATION", default_value = "1m", value_parser = parse_duration)]
    pub(crate) max_age: Duration,
    /// Keep the last good data here, to serve it after a restart while its source is away
    #[arg(long, value_name = "DIR")]
    pub(crate) cache: Option<PathBuf>,
    /// Certificates (PEM) that are trusted besides those of the system
    #[arg(long, value_name = "FILE")]
    pub(crate) ca_file: Option<PathBuf>,
    /// Connections at one time; more of them wait
    #[arg(long, value_name = "NUMBER", default_value_t = 4096)]
    pub(crate) connections: usize,
    /// How long a request may take to arrive, and a connection may be idle
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = parse_duration)]
    pub(crate) read_timeout: Duration,
    /// How long a client may take no byte of its answer
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = parse_duration)]
    pub(crate) write_timeout: Duration,
    /// How long requests that were begun may take to end when the service stops
    #[arg(long, value_name = "DURATION", default_value = "20s", value_parser = parse_duration)]
    pub(crate) drain: Duration,
    #[command(flatten)]
    pub(crate) logging: Logging,
}

/// What a process that runs for long logs, and how.
#[derive(Debug, Clone, Args)]
pub(crate) struct Logging {
    /// How the log is written
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) log_format: LogFormat,
    /// What is logged: error, warn, info, debug, or a filter such as `info,clearway_server=debug`
    #[arg(long, value_name = "FILTER", default_value = "info")]
    pub(crate) log: String,
}

/// How the log is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// For a person
    Text,
    /// One JSON object per line
    Json,
}
