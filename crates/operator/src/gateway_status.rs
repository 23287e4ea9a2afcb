//! A status-only implementation of Gateway API: it writes the status that `clearway-gateway` computes, and moves no traffic.
//!
//! `watch` reports the objects of a cluster, [`Controller`] puts them into the engine and writes what is different
//! ([`write`](mod@write)). Secrets and ConfigMaps are watched as metadata; those that something refers to are read by name
//! (`named_objects`), and only whether they hold PEM is kept.

mod controller;
mod kinds;
pub mod metrics;
mod named_objects;
#[cfg(test)]
mod tests;
mod watch;
pub mod write;

use std::sync::Arc;

use clearway_core::{GroupVersionKind, ObjectReference, Timestamp};
use clearway_gateway::model::{Address, Name};
use clearway_gateway::settings::{DataPlane, Knowledge};
use clearway_sources::kubernetes::Cluster;
use clearway_sources::store::{Store, StoreError};

use tokio::sync::mpsc;

pub use controller::Controller;
use metrics::Counters;
use watch::KindReport;

use crate::heartbeat::Heartbeat;

/// The controller whose classes are served.
pub const CONTROLLER: &str = "clearway.dev/gateway-status";
/// The name of the lease, and in the installation.
pub const NAME: &str = "clearway-gateway-status";

/// What is assumed of the data plane that somebody else may attach.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// A GatewayClass that must be of this controller.
    pub class: String,
    /// Whether what is valid counts as programmed; without, `Programmed` stays Unknown.
    pub assume_programmed: bool,
    /// Addresses that are assigned to Gateways.
    pub addresses: Vec<Address>,
    /// Addresses that cannot be used.
    pub unusable_addresses: Vec<Name>,
    /// The supported features, which the status of the class lists; none for all, which no class lists.
    pub features: Vec<Name>,
}

/// Why the status of a class cannot be written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GatewayStatusError {
    /// The class is of another controller.
    #[error(
        "GatewayClass {class} belongs to controller {controller}, so its status is not written here; name a class with \
         spec.controllerName {CONTROLLER}"
    )]
    OtherController {
        /// The class.
        class: String,
        /// Its controller.
        controller: String,
    },
    /// No kind of objects is reported any more.
    #[error("the watches of the API server ended")]
    WatchesEnded,
}

impl Options {
    /// The settings of the engine.
    pub(crate) fn settings(&self) -> clearway_gateway::Settings {
        clearway_gateway::Settings {
            features: (!self.features.is_empty()).then(|| self.features.iter().cloned().collect()),
            data_plane: if self.assume_programmed { DataPlane::Assumed } else { DataPlane::Absent },
            addresses: self.addresses.clone(),
            unusable_addresses: self.unusable_addresses.iter().cloned().collect(),
            controller: Some(CONTROLLER.into()),
            // Endpoints decide about traffic, and never about status; they are not watched.
            endpoints: Knowledge::Unknown,
            ..clearway_gateway::Settings::default()
        }
    }
}

/// Refuses a class of another controller. A class that does not exist yet is waited for, and so is its CRD.
pub async fn check_class<S: Store>(store: &S, class: &str) -> Result<(), GatewayStatusError> {
    let kind = GroupVersionKind::new("gateway.networking.k8s.io/v1", "GatewayClass");
    let key = ObjectReference { kind, namespace: String::new(), name: class.to_owned() };
    match store.get(&key).await {
        Ok(Some(object)) => refuse_other(class, object["spec"]["controllerName"].as_str().unwrap_or_default()),
        Ok(None) => {
            tracing::info!("GatewayClass {class} does not exist yet");
            Ok(())
        }
        Err(StoreError::NoSuchKind { .. }) => {
            tracing::info!("the cluster has no CRD of GatewayClass yet");
            Ok(())
        }
        Err(error) => {
            tracing::warn!(%error, "cannot read GatewayClass {class}");
            Ok(())
        }
    }
}

fn refuse_other(class: &str, controller: &str) -> Result<(), GatewayStatusError> {
    if controller == CONTROLLER {
        return Ok(());
    }
    Err(GatewayStatusError::OtherController { class: class.to_owned(), controller: controller.to_owned() })
}

/// Keeps the status of all objects of the controller's classes until the future is dropped.
pub async fn run<S: Store>(
    cluster: Cluster,
    store: S,
    options: Options,
    clock: fn() -> Timestamp,
    counters: Arc<Counters>,
    heartbeat: Heartbeat,
) -> Result<(), GatewayStatusError> {
    follow(watch::start(&cluster), Controller::new(store, options, clock, counters), heartbeat).await
}

/// Keeps the status of what is reported.
async fn follow<S: Store>(
    mut seen: mpsc::Receiver<KindReport>,
    mut controller: Controller<S>,
    heartbeat: Heartbeat,
) -> Result<(), GatewayStatusError> {
    let work = async {
        loop {
            // What arrived together is computed together.
            let Some(first) = controller.next(&mut seen).await? else { continue };
            controller.observe(first);
            while let Ok(more) = seen.try_recv() {
                controller.observe(more);
            }
            controller.settle().await?;
        }
    };
    heartbeat.steps_of("a step of the status of Gateway API objects", work).await
}
