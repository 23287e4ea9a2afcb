//! Gatekeeper's policies in a cluster: templates and constraints are loaded, requests are admitted or denied, objects that
//! exist are audited, and statuses, log lines and metrics are those of Gatekeeper (P2, P6).
//!
//! Every replica loads what the cluster has ([`Evaluators`] hold it), reports that in the status of templates and
//! constraints, and answers admission requests. The replica that leads audits. Where Gatekeeper itself is installed nothing is
//! loaded and nothing is written; it is looked for again from time to time, so that Clearway takes over once it is gone, and
//! stops when it comes.

pub mod admission;
mod audit_loop;
pub mod certificates;
mod controller;
pub mod evaluation;
pub mod events;
pub mod excluded_namespaces;
mod kinds;
pub mod log_lines;
pub mod metrics;
mod status;
pub mod webhook_configuration;

use std::sync::Arc;
use std::time::Duration;

use clearway_core::Timestamp;
use clearway_sources::kubernetes::{Cluster, ClusterError};
use clearway_sources::store::{ClusterStore, Store};
use tokio::sync::watch;

use self::admission::{AdmissionError, AdmissionParts, AdmissionServer, AdmissionSettings};
pub use self::audit_loop::AuditSettings;
use self::audit_loop::Auditor;
use self::certificates::{CertificateKeeper, ServerCertificates};
use self::controller::{Controller, ControllerSettings, LoadedPolicies, Published};
use self::evaluation::{EvaluatorError, EvaluatorSettings, Evaluators};
use self::events::EventRecorder;
use self::excluded_namespaces::Exemptions;
use self::metrics::Metrics;
use self::status::Reporter;
use self::webhook_configuration::WebhookConfiguration;
use crate::gatekeeper_installation::{self, GatekeeperInstallation};
use crate::heartbeat::Heartbeat;

/// The name of the lease, of whoever manages fields, and in the installation.
pub const NAME: &str = "clearway-policies";
/// The most bytes of the objects of the inventory, unless something else is wanted.
pub const INVENTORY_BYTES: usize = 64 << 20;

/// How often Gatekeeper is looked for.
const LOOK_FOR_GATEKEEPER: Duration = Duration::from_secs(10);
/// How often it is looked for while it cannot be found out whether it is there.
const LOOK_AGAIN: Duration = Duration::from_secs(2);
/// How often it is looked whether the certificate of the webhook is there.
const LOOK_FOR_CERTIFICATE: Duration = Duration::from_millis(100);

/// How policies are enforced.
#[derive(Debug, Clone)]
pub struct Options {
    /// The namespace of this pod.
    pub namespace: String,
    /// The name of this pod, by which its entries in statuses are known.
    pub pod: String,
    /// How templates are evaluated.
    pub evaluators: EvaluatorSettings,
    /// The admission webhook; nothing for audits alone.
    pub webhook: Option<Webhook>,
    /// How objects that exist are audited.
    pub audit: AuditSettings,
    /// The most bytes of the objects of the inventory.
    pub inventory_bytes: usize,
    /// Namespaces that may switch the webhook off.
    pub exemptions: Exemptions,
    /// Whether violations that audits find are written as Events.
    pub emit_audit_events: bool,
    /// Whether violations of requests are written as Events.
    pub emit_admission_events: bool,
}

/// The admission webhook.
#[derive(Debug, Clone)]
pub struct Webhook {
    /// How requests are answered.
    pub admission: AdmissionSettings,
    /// Which requests the API server sends, and where to.
    pub configuration: WebhookConfiguration,
}

/// Why policies are not enforced any more.
#[derive(Debug, thiserror::Error)]
pub enum PoliciesError {
    /// Templates cannot be evaluated.
    #[error(transparent)]
    Evaluators(#[from] EvaluatorError),
    /// The webhook cannot answer.
    #[error(transparent)]
    Admission(#[from] AdmissionError),
    /// No kind of objects is reported any more.
    #[error("the watches of the API server ended")]
    WatchesEnded,
}

/// What a replica shares with its listeners and its lease.
#[derive(Debug, Clone)]
pub struct Shared {
    /// Whether this replica leads.
    pub leads: watch::Receiver<bool>,
    /// Whether this replica is to stop.
    pub stops: watch::Receiver<bool>,
    /// Why this replica is not ready; nothing if it is.
    pub not_ready: watch::Sender<Option<String>>,
    /// What is counted.
    pub metrics: Arc<Metrics>,
    /// What is being computed.
    pub heartbeat: Heartbeat,
}

impl Shared {
    /// Waits until this replica is to stop.
    async fn stopped(&self) {
        let mut stops = self.stops.clone();
        // Who cannot say so any more has ended.
        let _ = stops.wait_for(|stops| *stops).await;
    }
}

/// Enforces policies whenever Gatekeeper is not installed, until this replica is to stop and requests in flight are answered.
pub async fn run(
    cluster: Cluster,
    store: ClusterStore,
    options: Options,
    shared: Shared,
    clock: fn() -> Timestamp,
) -> Result<(), PoliciesError> {
    loop {
        tokio::select! {
            () = wait_until_absent(&store, &shared) => {}
            () = shared.stopped() => return Ok(()),
        }
        let stand_aside = async {
            let found = wait_until_present(&store).await;
            report(&found, &shared);
            // The API server must not ask for what is not answered any more.
            match webhook_configuration::remove(&cluster).await {
                Ok(()) | Err(ClusterError::NotFound { .. }) => {}
                Err(error) => tracing::error!(%error, "cannot remove the webhook configuration"),
            }
        };
        tokio::select! {
            ended = work(&cluster, &store, &options, &shared, clock) => return ended,
            () = stand_aside => {}
        }
    }
}

/// Waits until it is certain that Gatekeeper is not installed.
async fn wait_until_absent<S: Store>(store: &S, shared: &Shared) {
    let mut reported = None;
    loop {
        let pause = match gatekeeper_installation::find(store).await {
            Ok(None) => {
                shared.metrics.set_gatekeeper(false);
                return;
            }
            Ok(found) => {
                if let Some(found) = found.as_ref().filter(|found| reported.as_ref() != Some(*found)) {
                    report(found, shared);
                }
                reported = found;
                LOOK_FOR_GATEKEEPER
            }
            Err(error) => {
                tracing::warn!(%error, "cannot find out whether Gatekeeper is installed, so nothing is written yet");
                LOOK_AGAIN
            }
        };
        tokio::time::sleep(pause).await;
    }
}

/// Waits until Gatekeeper is installed. While that cannot be found out nothing changes.
async fn wait_until_present<S: Store>(store: &S) -> GatekeeperInstallation {
    loop {
        tokio::time::sleep(LOOK_FOR_GATEKEEPER).await;
        if let Ok(Some(found)) = gatekeeper_installation::find(store).await {
            return found;
        }
    }
}

fn report(found: &GatekeeperInstallation, shared: &Shared) {
    tracing::warn!("{found}; Clearway enforces no policies and writes nothing while it is there");
    shared.metrics.set_gatekeeper(true);
    // There is nothing to wait for, and a rollout must not hang.
    shared.not_ready.send_replace(None);
}

/// Loads, reports, audits and answers until this replica is to stop.
async fn work(
    cluster: &Cluster,
    store: &ClusterStore,
    options: &Options,
    shared: &Shared,
    clock: fn() -> Timestamp,
) -> Result<(), PoliciesError> {
    shared.not_ready.send_replace(Some("the evaluators are starting".to_owned()));
    let evaluators = Evaluators::start(options.evaluators.clone()).await?;
    let (policies, seen_policies) = watch::channel(Arc::new(LoadedPolicies::default()));
    let (exemptions, seen_exemptions) = watch::channel(options.exemptions.clone());
    let (not_loaded, seen_not_loaded) = watch::channel(Some("nothing is loaded yet".to_owned()));
    let published = Published { policies, exemptions, not_loaded };
    let operations =
        if options.webhook.is_some() { vec!["audit", "status", "webhook"] } else { vec!["audit", "status"] };
    let settings = ControllerSettings {
        namespace: options.namespace.clone(),
        gatekeeper_namespace: gatekeeper_installation::NAMESPACE.to_owned(),
        reporter: Reporter { id: options.pod.clone(), operations },
        inventory_bytes: options.inventory_bytes,
        exemptions: options.exemptions.clone(),
    };
    let metrics = Arc::clone(&shared.metrics);
    let controller = Controller::new(cluster.clone(), evaluators.clone(), settings, Arc::clone(&metrics), published);
    let recorder = || EventRecorder::start(cluster.clone(), options.namespace.clone(), clock);
    let auditor = Auditor {
        events: options.emit_audit_events.then(recorder),
        store: store.clone(),
        evaluators: evaluators.clone(),
        policies: seen_policies,
        metrics: Arc::clone(&metrics),
        settings: options.audit.clone(),
        clock,
    };
    let answer = async {
        let Some(webhook) = &options.webhook else {
            let ready = publish_readiness(seen_not_loaded, None, &shared.not_ready);
            tokio::select! {
                () = ready => {}
                () = shared.stopped() => {}
            }
            return Ok(());
        };
        let keeper = CertificateKeeper::new(cluster.clone(), &options.namespace, webhook.configuration.clone(), clock);
        let parts = AdmissionParts {
            evaluators,
            cluster: cluster.clone(),
            exemptions: seen_exemptions,
            not_ready: seen_not_loaded.clone(),
            certificates: keeper.certificates(),
            metrics,
            events: options.emit_admission_events.then(recorder),
            heartbeat: shared.heartbeat.clone(),
        };
        let server = AdmissionServer::bind(webhook.admission.clone(), parts).await?;
        tracing::info!("admission requests on https://{}", server.address()?);
        let ready = publish_readiness(seen_not_loaded, Some(keeper.certificates()), &shared.not_ready);
        let is_ready = || shared.not_ready.borrow().is_none();
        tokio::select! {
            () = server.run(shared.stopped()) => {}
            () = keeper.run(is_ready) => {}
            () = ready => {}
        }
        Ok(())
    };
    let load = shared.heartbeat.steps_of("a step of loading policies", controller.run());
    tokio::select! {
        () = load => Err(PoliciesError::WatchesEnded),
        () = audit_while_leading(&auditor, shared.leads.clone(), &shared.heartbeat) => Ok(()),
        answered = answer => answered,
    }
}

/// Says that this replica is ready once everything is loaded and the webhook has a certificate.
async fn publish_readiness(
    mut not_loaded: watch::Receiver<Option<String>>,
    certificates: Option<ServerCertificates>,
    not_ready: &watch::Sender<Option<String>>,
) {
    loop {
        let has_certificate = certificates.as_ref().is_none_or(ServerCertificates::is_ready);
        let missing = (!has_certificate).then(|| "the webhook has no certificate yet".to_owned());
        let reason = not_loaded.borrow_and_update().clone().or(missing);
        not_ready.send_if_modified(|current| std::mem::replace(current, reason.clone()) != reason);
        let changed = not_loaded.changed();
        let is_over = if has_certificate {
            changed.await.is_err()
        } else {
            tokio::time::timeout(LOOK_FOR_CERTIFICATE, changed).await.is_ok_and(|changed| changed.is_err())
        };
        if is_over {
            return;
        }
    }
}

/// Audits whenever this replica leads; ends when it cannot lead any more.
async fn audit_while_leading<S: Store>(auditor: &Auditor<S>, mut leads: watch::Receiver<bool>, heartbeat: &Heartbeat) {
    let mut stops = leads.clone();
    while leads.wait_for(|leads| *leads).await.is_ok() {
        tokio::select! {
            () = heartbeat.steps_of("a step of an audit", auditor.run()) => {}
            _ = stops.wait_for(|leads| !*leads) => {}
        }
    }
}

#[cfg(test)]
mod tests;
