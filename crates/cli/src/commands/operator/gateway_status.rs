//! `clearway operator --gateway-class`: the status of Gateway API objects, by the replica that holds the lease.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use anyhow::Result;
use clearway_gateway::model::Name;
use clearway_operator::gateway_status::metrics::Counters;
use clearway_operator::gateway_status::{self, NAME, Options};
use clearway_operator::heartbeat::Heartbeat;
use clearway_operator::lease::Candidate;
use clearway_server::HealthProbe;
use clearway_sources::clock;
use clearway_sources::kubernetes::Cluster;
use clearway_sources::store::ClusterStore;

use super::listeners::{ClusterGuard, Listeners};
use super::{SILENCE, hangs, identity, lease_terms};
use crate::arguments::Operator;
use crate::commands::gateway::settings::address;
use crate::exit::Exit;
use crate::signals::stop_signal;

/// What is shown of it.
struct Health {
    counters: Arc<Counters>,
    heartbeat: Heartbeat,
}

impl HealthProbe for Health {
    fn not_live(&self) -> Option<String> {
        hangs(&self.heartbeat)
    }

    fn not_ready(&self) -> Option<String> {
        // A replica that waits for its turn is ready for it.
        None
    }

    fn metrics_text(&self) -> String {
        self.counters.text()
    }

    fn assessments(&self) -> Option<String> {
        None
    }
}

/// Runs until a stop signal.
pub(super) async fn run(options: &Operator, class: &str) -> Result<Exit> {
    let connection = options.connection.connection();
    let store = |cluster: Cluster| ClusterStore::new(cluster, NAME).with_silence(SILENCE);
    // The lease has a connection of its own, which nothing else can clog.
    let own = store(Cluster::connect(&connection).await?);
    gateway_status::check_class(&own, class).await?;
    let guard = options.metrics_authentication.then(|| ClusterGuard::new(own.cluster().clone()));
    let counters = Arc::new(Counters::default());
    let mut stop = std::pin::pin!(stop_signal()?);
    let heartbeat = Heartbeat::default();
    let health = Health { counters: counters.clone(), heartbeat: heartbeat.clone() };
    let listeners = Listeners::start(options, &Arc::new(health), guard)?;
    let terms = lease_terms(options)?;
    let mut candidate = Candidate::new(own, &options.namespace, NAME, identity(), terms, clock::now);
    let refused = loop {
        tokio::select! {
            () = candidate.acquire() => {}
            () = &mut stop => break None,
        }
        tracing::info!("leading");
        counters.leads.store(true, Ordering::Relaxed);
        let cluster = Cluster::connect(&connection).await?;
        let (objects, wanted) = (store(cluster.clone()), wanted(options, class));
        let work = gateway_status::run(cluster, objects, wanted, clock::now, counters.clone(), heartbeat.clone());
        let ended = tokio::select! {
            Err(error) = work => Some(Some(error)),
            () = candidate.keep_renewing() => None,
            () = &mut stop => Some(None),
        };
        counters.leads.store(false, Ordering::Relaxed);
        if let Some(ended) = ended {
            break ended;
        }
    };
    tracing::info!("stopping; another signal exits immediately");
    let _ = tokio::time::timeout(Duration::from_secs(2), candidate.release()).await;
    tokio::task::spawn_blocking(move || listeners.drain(Duration::from_secs(1))).await?;
    match refused {
        Some(error) => Err(error.into()),
        None => Ok(Exit::Yes),
    }
}

fn wanted(options: &Operator, class: &str) -> Options {
    let names = |texts: &[String]| texts.iter().map(|text| Name::from(text.as_str())).collect();
    Options {
        class: class.to_owned(),
        assume_programmed: options.gateway.assume_programmed,
        addresses: options.gateway.address.iter().map(|value| address(value)).collect(),
        unusable_addresses: names(&options.gateway.unusable_address),
        features: names(&options.gateway.supported_features),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[test]
    fn a_step_that_does_not_end_is_not_live() {
        let heartbeat = Heartbeat::default();
        let health = Health { counters: Arc::default(), heartbeat: heartbeat.clone() };
        assert_eq!(health.not_live(), None);
        let step = heartbeat.begin("a step", Instant::now().checked_sub(Duration::from_mins(4)).unwrap());
        assert_eq!(health.not_live().as_deref(), Some("a step has been running for 4m"));
        drop(step);
        assert_eq!(health.not_live(), None);
    }
}
