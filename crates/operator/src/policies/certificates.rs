//! The certificates of the webhook: made and renewed here, shared by all replicas through a Secret.
//!
//! [`CertificateKeeper::maintain`] reads the Secret, renews what is due ([`rotation`]) and shows the certificate to
//! clients from then on. Two replicas that write at the same time cannot overwrite each other: the second one reads what
//! the first has written. The authorities go into the webhook configuration; each is there before it signs and stays after
//! it was replaced, so that no request fails while certificates change.

pub mod rotation;

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use clearway_core::{GroupVersionKind, Timestamp};
use clearway_sources::kubernetes::{Cluster, ClusterError, Part, Resource};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use serde_json::{Value, json};

use self::rotation::{CertificateSet, RotationError};
use super::NAME;
use super::webhook_configuration::WebhookConfiguration;

/// The name of the Secret.
pub const SECRET: &str = "clearway-policies-webhook-certificate";
/// The field of the Secret with everything; the other fields are for people and tools.
const STATE: &str = "certificates.json";
/// How often certificates and the webhook configuration are looked at.
const INTERVAL: Duration = Duration::from_mins(1);
/// How soon it is tried again after a failure.
const RETRY: Duration = Duration::from_secs(2);
/// How often another replica may be faster before it is left for later.
const ATTEMPTS: u32 = 8;

/// Why certificates are not current.
#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    /// The API server did not give or take the Secret or the configuration.
    #[error("{0}")]
    Cluster(#[from] ClusterError),
    /// A certificate cannot be made.
    #[error("cannot make a certificate for the webhook: {0}")]
    Rotation(#[from] RotationError),
    /// The certificate of the Secret cannot be used.
    #[error("the certificate in Secret {SECRET} cannot be used: {0}; delete the Secret to have another one made")]
    Unusable(String),
    /// Other replicas were faster again and again.
    #[error("Secret {SECRET} was changed by others {ATTEMPTS} times in a row")]
    Conflicts,
}

/// The certificate that is shown to clients; cheap to clone.
#[derive(Clone, Default)]
pub struct ServerCertificates {
    current: Arc<RwLock<Option<Arc<CertifiedKey>>>>,
}

impl fmt::Debug for ServerCertificates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ServerCertificates")
    }
}

impl ServerCertificates {
    /// Whether there is a certificate.
    pub fn is_ready(&self) -> bool {
        self.current.read().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// Shows another certificate from now on.
    pub(super) fn set(&self, certificate: &str, key: &str) -> Result<(), CertificateError> {
        let unusable = |error: &dyn fmt::Display| CertificateError::Unusable(error.to_string());
        let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(certificate.as_bytes())
            .collect::<Result<_, _>>()
            .map_err(|error| unusable(&error))?;
        let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).map_err(|error| unusable(&error))?;
        let key = CertifiedKey::from_der(chain, key, &rustls::crypto::ring::default_provider());
        let key = Arc::new(key.map_err(|error| unusable(&error))?);
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = Some(key);
        Ok(())
    }
}

impl ResolvesServerCert for ServerCertificates {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        self.current.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Keeps certificates and the webhook configuration current.
pub struct CertificateKeeper {
    cluster: Cluster,
    namespace: String,
    configuration: WebhookConfiguration,
    served: ServerCertificates,
    clock: fn() -> Timestamp,
}

impl CertificateKeeper {
    /// Keeps the Secret of a namespace, for the addresses of a webhook configuration.
    pub fn new(
        cluster: Cluster,
        namespace: &str,
        configuration: WebhookConfiguration,
        clock: fn() -> Timestamp,
    ) -> Self {
        let served = ServerCertificates::default();
        CertificateKeeper { cluster, namespace: namespace.to_owned(), configuration, served, clock }
    }

    /// The certificate that is shown to clients.
    pub fn certificates(&self) -> ServerCertificates {
        self.served.clone()
    }

    /// Keeps everything current until it is dropped. The webhook configuration is made once `is_ready` says so, so that no
    /// request comes before it can be answered.
    pub async fn run(&self, is_ready: impl Fn() -> bool) {
        loop {
            let pause = match self.keep(&is_ready).await {
                Ok(true) => INTERVAL,
                Ok(false) => RETRY,
                Err(error) => {
                    tracing::error!("the certificates of the webhook are not current: {error}");
                    RETRY
                }
            };
            tokio::time::sleep(pause).await;
        }
    }

    async fn keep(&self, is_ready: &impl Fn() -> bool) -> Result<bool, CertificateError> {
        let bundle = self.maintain((self.clock)()).await?;
        if !is_ready() {
            return Ok(false);
        }
        self.configuration.publish(&self.cluster, &bundle).await?;
        Ok(true)
    }

    /// Renews what is due at a time, shows the certificate, and returns the authorities for the webhook configuration.
    pub async fn maintain(&self, now: Timestamp) -> Result<String, CertificateError> {
        for _ in 0..ATTEMPTS {
            let secret = match self.cluster.get(&secrets(), &self.namespace, SECRET).await {
                Ok(secret) => Some(secret),
                Err(ClusterError::NotFound { .. }) => None,
                Err(error) => return Err(error.into()),
            };
            let known = secret.as_ref().and_then(read);
            let names = self.configuration.server_names();
            let Some(renewed) = CertificateSet::renewed(known.as_ref(), &names, now)? else {
                let set = known.unwrap_or_default();
                self.served.set(&set.server.certificate, &set.server.key)?;
                return Ok(set.bundle());
            };
            let written = match secret {
                Some(secret) => self.cluster.replace(&secrets(), Part::Main, &with_data(secret, &renewed)).await,
                None => self.cluster.create(&secrets(), &with_data(self.new_secret(), &renewed)).await,
            };
            match written {
                Ok(_) => {
                    tracing::info!("wrote the certificates of the webhook to Secret {}/{SECRET}", self.namespace);
                    self.served.set(&renewed.server.certificate, &renewed.server.key)?;
                    return Ok(renewed.bundle());
                }
                // Another replica was faster, or somebody deleted the Secret.
                Err(ClusterError::Conflict { .. } | ClusterError::NotFound { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(CertificateError::Conflicts)
    }

    fn new_secret(&self) -> Value {
        json!({
            "apiVersion": "v1", "kind": "Secret", "type": "Opaque",
            "metadata": {
                "name": SECRET, "namespace": self.namespace,
                "labels": {"app.kubernetes.io/name": NAME, "app.kubernetes.io/managed-by": NAME},
            },
        })
    }
}

fn secrets() -> Resource {
    Resource::new(GroupVersionKind::new("v1", "Secret"), "secrets", true)
}

/// The certificates of a Secret; nothing if they cannot be read, so that others are made.
fn read(secret: &Value) -> Option<CertificateSet> {
    let bytes = STANDARD.decode(secret["data"][STATE].as_str()?).ok()?;
    serde_json::from_slice(&bytes).ok()
}

fn with_data(mut secret: Value, set: &CertificateSet) -> Value {
    let state = serde_json::to_string(set).unwrap_or_default();
    let encoded = |text: &str| Value::String(STANDARD.encode(text));
    secret["data"] = json!({
        STATE: encoded(&state), "ca.crt": encoded(&set.bundle()), "tls.crt": encoded(&set.server.certificate),
    });
    secret
}
