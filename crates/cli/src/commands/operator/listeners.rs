//! The addresses of the operator's probes and metrics.

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use clearway_operator::metrics_access::{Access, MetricsAccess};
use clearway_server::{
    Admission, HealthProbe, ListenOptions, Listener, Metrics, MetricsGuard, Status, StatusEndpoints,
};
use clearway_sources::clock;
use clearway_sources::kubernetes::Cluster;
use futures::future::BoxFuture;

use crate::arguments::Operator;

/// Asks the cluster who may read the metrics.
pub(super) struct ClusterGuard(MetricsAccess<Cluster>);

impl ClusterGuard {
    /// Asks this cluster, with the operator's own rights.
    pub(super) fn new(cluster: Cluster) -> Self {
        ClusterGuard(MetricsAccess::new(cluster, clock::now))
    }
}

impl MetricsGuard for ClusterGuard {
    fn admit<'a>(&'a self, token: Option<&'a str>) -> BoxFuture<'a, Admission> {
        Box::pin(async move {
            match self.0.check(token).await {
                Access::Allowed => Admission::Admitted,
                Access::Unauthenticated => Admission::Unauthenticated,
                Access::Forbidden => Admission::Forbidden,
                Access::TooMany => Admission::TooMany,
                Access::Unknown(_) => Admission::Unknown,
            }
        })
    }
}

/// The listeners at work.
pub(super) struct Listeners(Vec<Listener>);

impl Listeners {
    /// Binds the addresses and begins to answer.
    pub(super) fn start<P: HealthProbe>(
        options: &Operator,
        probed: &Arc<P>,
        guard: Option<ClusterGuard>,
    ) -> Result<Self> {
        let metrics = options.metrics_listen.unwrap_or(options.status_listen);
        if guard.is_none() && !metrics.ip().is_loopback() {
            tracing::warn!(
                "everyone who can reach {metrics} can read the metrics; use --metrics-authentication, or a loopback \
                 address with --metrics-listen"
            );
        }
        let guard = guard.map(|guard| Box::new(guard) as Box<dyn MetricsGuard>);
        let status = || Status::new(Arc::clone(probed));
        let Some(address) = options.metrics_listen else {
            let listener = answer(options.status_listen, status().guarded(guard))?;
            tracing::info!("probes and metrics on http://{}/readyz and /metrics", listener.address());
            return Ok(Listeners(vec![listener]));
        };
        let health = answer(options.status_listen, status().showing(StatusEndpoints::Probes))?;
        let metrics = answer(address, status().showing(StatusEndpoints::Metrics).guarded(guard))?;
        tracing::info!("probes on http://{}/readyz, metrics on http://{}/metrics", health.address(), metrics.address());
        Ok(Listeners(vec![health, metrics]))
    }

    /// Accepts nothing new, and lets what was begun end within a time.
    pub(super) fn drain(self, within: Duration) {
        for listener in self.0 {
            listener.drain(within);
        }
    }
}

fn answer<P: HealthProbe>(address: SocketAddr, status: Status<P>) -> Result<Listener> {
    let socket = TcpListener::bind(address).with_context(|| format!("cannot listen on {address}"))?;
    Listener::start(socket, &Arc::new(status), &ListenOptions::for_probes(), &Metrics::default())
        .context("cannot answer probes")
}
