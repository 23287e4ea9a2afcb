//! Gatekeeper's policies in a cluster: templates and constraints are loaded, objects that exist are audited, and statuses,
//! log lines and metrics are those of Gatekeeper (P2, P6).
//!
//! Every replica loads what the cluster has ([`Evaluators`](evaluation::Evaluators) hold it) and reports that in the status of
//! templates and constraints. The replica that leads audits. Where Gatekeeper itself is installed nothing is loaded and nothing is
//! written; it is looked for again from time to time, so that Clearway takes over once it is gone, and stops when it
//! comes.

pub mod admission;
mod audit_loop;
pub mod certificates;
mod controller;
pub mod evaluation;
pub mod excluded_namespaces;
mod kinds;
pub mod log_lines;
pub mod metrics;
mod status;
pub mod webhook_configuration;

use std::sync::Arc;
use std::time::Duration;

use clearway_core::Timestamp;
use clearway_sources::kubernetes::Cluster;
use clearway_sources::store::{ClusterStore, Store};
use tokio::sync::watch;

pub use self::audit_loop::AuditSettings;
use self::audit_loop::Auditor;
use self::controller::{Controller, ControllerSettings, LoadedPolicies, Published};
use self::evaluation::{EvaluatorError, EvaluatorSettings, Evaluators};
use self::excluded_namespaces::Exemptions;
use self::metrics::Metrics;
use self::status::Reporter;
use crate::gatekeeper_installation::{self, GatekeeperInstallation};

/// The name of the lease, of whoever manages fields, and in the installation.
pub const NAME: &str = "clearway-policies";
/// The most bytes of the objects of the inventory, unless something else is wanted.
pub const INVENTORY_BYTES: usize = 64 << 20;

/// How often Gatekeeper is looked for.
const LOOK_FOR_GATEKEEPER: Duration = Duration::from_secs(10);
/// How often it is looked for while it cannot be found out whether it is there.
const LOOK_AGAIN: Duration = Duration::from_secs(2);

/// How policies are enforced.
#[derive(Debug, Clone)]
pub struct Options {
    /// The namespace of this pod.
    pub namespace: String,
    /// The name of this pod, by which its entries in statuses are known.
    pub pod: String,
    /// How templates are evaluated.
    pub evaluators: EvaluatorSettings,
    /// How objects that exist are audited.
    pub audit: AuditSettings,
    /// The most bytes of the objects of the inventory.
    pub inventory_bytes: usize,
    /// Namespaces that may switch the webhook off.
    pub exemptions: Exemptions,
}

/// Why policies are not enforced any more.
#[derive(Debug, thiserror::Error)]
pub enum PoliciesError {
    /// Templates cannot be evaluated.
    #[error(transparent)]
    Evaluators(#[from] EvaluatorError),
    /// No kind of objects is reported any more.
    #[error("the watches of the API server ended")]
    WatchesEnded,
}

/// What a replica shares with its listeners and its lease.
#[derive(Debug, Clone)]
pub struct Shared {
    /// Whether this replica leads.
    pub leads: watch::Receiver<bool>,
    /// Why this replica is not ready; nothing if it is.
    pub not_ready: watch::Sender<Option<String>>,
    /// What is counted.
    pub metrics: Arc<Metrics>,
}

/// Enforces policies until the future is dropped, whenever Gatekeeper is not installed.
pub async fn run(
    cluster: Cluster,
    store: ClusterStore,
    options: Options,
    shared: Shared,
    clock: fn() -> Timestamp,
) -> PoliciesError {
    loop {
        wait_until_absent(&store, &shared).await;
        tokio::select! {
            error = work(&cluster, &store, &options, &shared, clock) => return error,
            found = wait_until_present(&store) => report(&found, &shared),
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
                if reported != found {
                    found.iter().for_each(|found| report(found, shared));
                    reported = found;
                }
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

/// Loads, reports and audits until something ends that should not.
async fn work(
    cluster: &Cluster,
    store: &ClusterStore,
    options: &Options,
    shared: &Shared,
    clock: fn() -> Timestamp,
) -> PoliciesError {
    shared.not_ready.send_replace(Some("the evaluators are starting".to_owned()));
    let evaluators = match Evaluators::start(options.evaluators.clone()).await {
        Ok(evaluators) => evaluators,
        Err(error) => return error.into(),
    };
    let (policies, seen_policies) = watch::channel(Arc::new(LoadedPolicies::default()));
    let (exemptions, _) = watch::channel(options.exemptions.clone());
    let published = Published { policies, exemptions, not_ready: shared.not_ready.clone() };
    let settings = ControllerSettings {
        namespace: options.namespace.clone(),
        gatekeeper_namespace: gatekeeper_installation::NAMESPACE.to_owned(),
        reporter: Reporter { id: options.pod.clone(), operations: vec!["audit", "status"] },
        inventory_bytes: options.inventory_bytes,
        exemptions: options.exemptions.clone(),
    };
    let metrics = Arc::clone(&shared.metrics);
    let (controller, seen) =
        Controller::new(cluster.clone(), evaluators.clone(), settings, Arc::clone(&metrics), published);
    let auditor = Auditor {
        store: store.clone(),
        evaluators,
        policies: seen_policies,
        metrics,
        settings: options.audit.clone(),
        clock,
    };
    tokio::select! {
        () = controller.run(seen) => PoliciesError::WatchesEnded,
        () = audit_while_leading(&auditor, shared.leads.clone()) => PoliciesError::WatchesEnded,
    }
}

/// Audits whenever this replica leads; ends when it cannot lead any more.
async fn audit_while_leading<S: Store>(auditor: &Auditor<S>, mut leads: watch::Receiver<bool>) {
    let mut stops = leads.clone();
    while leads.wait_for(|leads| *leads).await.is_ok() {
        tokio::select! {
            () = auditor.run() => {}
            _ = stops.wait_for(|leads| !*leads) => {}
        }
    }
}
