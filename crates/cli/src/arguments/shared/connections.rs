//! Options for the connections to a cluster, a Prometheus and registries.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use clearway_core::Address;
use clearway_sources::kubernetes::Connection;
use clearway_sources::prometheus::{ClientIdentity, Prometheus, PrometheusOptions};

/// The Kubernetes cluster. Without options it is the one that `kubectl` uses.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct ClusterConnection {
    /// Kubeconfig file [default: `KUBECONFIG`, ~/.kube/config, or the pod's service account]
    #[arg(long, value_name = "FILE", global = true)]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// Context in the kubeconfig [default: its current context]
    #[arg(long, value_name = "NAME", global = true)]
    pub(crate) context: Option<String>,
}

impl ClusterConnection {
    /// Whether an option names a cluster.
    pub(crate) fn is_named(&self) -> bool {
        self.kubeconfig.is_some() || self.context.is_some()
    }

    /// The settings of the connection; nothing is opened yet.
    pub(crate) fn connection(&self) -> Connection {
        Connection { kubeconfig: self.kubeconfig.clone(), context: self.context.clone(), ..Connection::default() }
    }
}

/// A metrics store, and the client's credentials for it.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct PrometheusAccess {
    /// Prometheus URL: any Prometheus-compatible API (Thanos, Mimir, VictoriaMetrics)
    #[arg(long = "prometheus", id = "prometheus", value_name = "URL")]
    pub(crate) url: Option<Address>,
    /// File with the bearer token for Prometheus
    #[arg(long, value_name = "FILE", requires = "prometheus")]
    pub(crate) token_file: Option<PathBuf>,
    /// Client certificate for Prometheus (PEM)
    #[arg(long, value_name = "FILE", requires_all = ["prometheus", "client_key"])]
    pub(crate) client_certificate: Option<PathBuf>,
    /// Private key of the client certificate (PEM)
    #[arg(long, value_name = "FILE", requires_all = ["prometheus", "client_certificate"])]
    pub(crate) client_key: Option<PathBuf>,
}

impl PrometheusAccess {
    /// The client, if a Prometheus is named; nothing is sent yet. `ca_file` is trusted besides the system's authorities.
    pub(crate) fn client(&self, ca_file: Option<PathBuf>) -> Result<Option<Prometheus>> {
        let Some(url) = &self.url else { return Ok(None) };
        let identity = self.client_certificate.clone().zip(self.client_key.clone());
        let options = PrometheusOptions {
            token_file: self.token_file.clone(),
            ca_file,
            identity: identity.map(|(certificate, key)| ClientIdentity { certificate, key }),
            ..PrometheusOptions::default()
        };
        Ok(Some(Prometheus::new(url.expose(), &options)?))
    }
}

/// Credentials for registries, and whether TLS is used.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct RegistryAccess {
    /// Registry credentials, as `docker login` and `podman login` write them
    #[arg(long, value_name = "FILE")]
    pub(crate) registry_config: Option<PathBuf>,
    /// Use HTTP without TLS for every registry [default: only for registries on this machine]
    #[arg(long)]
    pub(crate) plain_http: bool,
}

/// Certificate authorities besides those of the system, for every TLS connection of a command but that to the cluster.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct CaFile {
    /// Trust the CA certificates (PEM) in this file, in addition to those of the system
    #[arg(long = "ca-file", id = "ca_file", value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
}
