//! The validating admission webhook: `/v1/admit` and `/v1/admitlabel`, with the order, codes, messages and warnings of
//! Gatekeeper.
//!
//! [`AdmissionServer`] answers on HTTPS until it is stopped. What a request violates is evaluated by [`Evaluators`]; requests are
//! bounded in size, number and time, and one that cannot be decided in time is refused with an error that says so. Before
//! everything that exists was loaded, requests are answered with 503, so that the API server goes by its failure policy
//! instead of by a part of the policies (P7).

mod body;
mod decision;
mod handler;
mod ignore_label;
mod messages;
mod namespaces;
mod own_resources;
mod review;
mod server;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use clearway_sources::kubernetes::Cluster;
use tokio::sync::watch;

use self::handler::Handler;
use super::certificates::ServerCertificates;
use super::evaluation::Evaluators;
use super::events::EventRecorder;
use super::excluded_namespaces::Exemptions;
use super::metrics::Metrics;
use crate::heartbeat::Heartbeat;

/// The path of requests that are reviewed.
pub const ADMIT: &str = "/v1/admit";
/// The path of requests about namespaces that may set the label that switches reviews off.
pub const ADMIT_LABEL: &str = "/v1/admitlabel";
/// The label of namespaces whose requests are not sent to the webhook.
pub const IGNORE_LABEL: &str = "admission.gatekeeper.sh/ignore";

/// The most bytes of a request. The API server takes objects of 3 MiB, sends two of them, and may write one character as
/// six.
pub const MAX_BODY_BYTES: u64 = 40 << 20;
/// The most bytes of all requests that are being answered; further ones wait.
pub const MAX_BODIES_BYTES: u64 = 64 << 20;
/// The most bytes of a usual request: an object of the size that the API server stores, and the one before it.
pub const USUAL_BODY_BYTES: u64 = 3 << 20;
/// The part of [`MAX_BODIES_BYTES`] that only usual requests use, which say before how long they are.
pub const USUAL_BODIES_BYTES: u64 = 24 << 20;
/// The most connections; for further ones those are closed that wait for their clients.
pub const MAX_CONNECTIONS: usize = 1_024;

/// What the webhook is told.
#[derive(Debug, Clone)]
pub struct AdmissionSettings {
    /// The address of HTTPS.
    pub listen: SocketAddr,
    /// The name of our own user, whose requests are not reviewed.
    pub own_user: String,
    /// How long requests are accepted after the stop signal: until nobody sends any.
    pub shutdown_delay: Duration,
    /// How long a request may take if the API server does not say.
    pub timeout: Duration,
    /// Whether each violation is written as a log line.
    pub log_denies: bool,
    /// Whether constraints with unknown enforcement actions are refused (P3).
    pub reject_unknown_actions: bool,
}

/// What the webhook works with.
#[derive(Clone)]
pub struct AdmissionParts {
    /// Evaluates requests.
    pub evaluators: Evaluators,
    /// Has the namespaces of objects, and templates that are not loaded yet.
    pub cluster: Cluster,
    /// The namespaces that are left out.
    pub exemptions: watch::Receiver<Exemptions>,
    /// Why requests cannot be reviewed; nothing once everything is loaded.
    pub not_ready: watch::Receiver<Option<String>>,
    /// The certificate that is shown, which may change.
    pub certificates: ServerCertificates,
    /// Where requests are counted.
    pub metrics: Arc<Metrics>,
    /// Writes violations as Events; nothing if that is not wanted.
    pub events: Option<EventRecorder>,
    /// What is being computed.
    pub heartbeat: Heartbeat,
}

/// Why the webhook cannot answer.
#[derive(Debug, thiserror::Error)]
pub enum AdmissionError {
    /// The address cannot be used.
    #[error("cannot listen on {address} for admission requests: {error}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why.
        error: std::io::Error,
    },
    /// TLS cannot be set up.
    #[error("cannot set up TLS for admission requests: {0}")]
    Tls(String),
}

/// A webhook that is bound to its address.
pub struct AdmissionServer {
    listener: tokio::net::TcpListener,
    tls: tokio_rustls::TlsAcceptor,
    handler: Arc<Handler>,
    shutdown_delay: Duration,
}

impl AdmissionServer {
    /// Binds the address. Connections wait until [`AdmissionServer::run`].
    pub async fn bind(settings: AdmissionSettings, parts: AdmissionParts) -> Result<Self, AdmissionError> {
        let failed = |error| AdmissionError::Listen { address: settings.listen, error };
        let listener = tokio::net::TcpListener::bind(settings.listen).await.map_err(failed)?;
        let tls = server::acceptor(&parts.certificates)?;
        let shutdown_delay = settings.shutdown_delay;
        Ok(AdmissionServer { listener, tls, handler: Arc::new(Handler::new(settings, parts)), shutdown_delay })
    }

    /// The address, with the port that the system chose if that was left to it.
    pub fn address(&self) -> Result<SocketAddr, AdmissionError> {
        self.listener.local_addr().map_err(|error| AdmissionError::Tls(error.to_string()))
    }

    /// Answers requests until `stop` is ready; then for as long as requests may still come, and until those in flight are
    /// answered.
    pub async fn run(self, stop: impl Future<Output = ()>) {
        server::run(self.listener, self.tls, self.handler, MAX_CONNECTIONS, stop, self.shutdown_delay).await;
    }
}
