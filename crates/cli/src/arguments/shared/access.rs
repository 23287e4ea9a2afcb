//! How a command reaches a cluster, a Prometheus and registries: the same options wherever they are needed.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use clearway_sources::kubernetes::Connection;
use clearway_sources::prometheus::{ClientIdentity, Prometheus, PrometheusOptions};

/// Which cluster is meant. Without options it is the one that `kubectl` talks to.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct ClusterConnection {
    /// The kubeconfig file of the cluster [default: `KUBECONFIG`, ~/.kube/config, or the pod's service account]
    #[arg(long, value_name = "FILE", global = true)]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// The context in the kubeconfig [default: its current context]
    #[arg(long, value_name = "NAME", global = true)]
    pub(crate) context: Option<String>,
}

impl ClusterConnection {
    /// Whether an option names a cluster.
    pub(crate) fn is_named(&self) -> bool {
        self.kubeconfig.is_some() || self.context.is_some()
    }

    /// The connection; nothing is opened yet.
    pub(crate) fn connection(&self) -> Connection {
        Connection { kubeconfig: self.kubeconfig.clone(), context: self.context.clone(), ..Connection::default() }
    }
}

/// A metrics store, and how a client proves to it who it is.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct PrometheusAccess {
    /// The Prometheus, or any Prometheus-compatible API (Thanos, Mimir, `VictoriaMetrics`)
    #[arg(long = "prometheus", id = "prometheus", value_name = "URL")]
    pub(crate) url: Option<String>,
    /// A file with the bearer token for the Prometheus
    #[arg(long, value_name = "FILE", requires = "prometheus")]
    pub(crate) token_file: Option<PathBuf>,
    /// The client certificate for the Prometheus (PEM)
    #[arg(long, value_name = "FILE", requires_all = ["prometheus", "client_key"])]
    pub(crate) client_certificate: Option<PathBuf>,
    /// The key of the client certificate (PEM)
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
        Ok(Some(Prometheus::new(url, &options)?))
    }
}

/// How registries of images are reached.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct RegistryAccess {
    /// The logins for registries, as `docker login` and `podman login` write them
    #[arg(long, value_name = "FILE")]
    pub(crate) registry_config: Option<PathBuf>,
    /// Speak to every registry without TLS, not only to those on this machine
    #[arg(long)]
    pub(crate) plain_http: bool,
}
