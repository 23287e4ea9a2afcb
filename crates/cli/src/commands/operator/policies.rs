//! `clearway operator --policies`: Gatekeeper's policies, loaded by every replica and audited by the one that leads.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use clearway_operator::gatekeeper_installation;
use clearway_operator::heartbeat::Heartbeat;
use clearway_operator::lease::Candidate;
use clearway_operator::policies::admission::AdmissionSettings;
use clearway_operator::policies::evaluation::{EvaluatorSettings, default_processes};
use clearway_operator::policies::excluded_namespaces::Exemptions;
use clearway_operator::policies::metrics::Metrics;
use clearway_operator::policies::webhook_configuration::{WebhookAddress, WebhookConfiguration};
use clearway_operator::policies::{self, AuditSettings, NAME, Options, Shared, Webhook};
use clearway_server::HealthProbe;
use clearway_sources::clock;
use clearway_sources::kubernetes::Cluster;
use clearway_sources::store::ClusterStore;
use tokio::sync::watch;

use super::listeners::{ClusterGuard, Listeners};
use super::{SILENCE, hangs, identity, lease_terms};
use crate::arguments::Operator;
use crate::exit::Exit;
use crate::program_name::own_program;
use crate::runtime;
use crate::signals::stop_signal;

/// Threads on which policies are loaded and results collected; they are evaluated in other processes.
const THREADS: usize = 2;
/// Threads for what blocks.
const BLOCKING_THREADS: usize = 4;
/// How long an admission request may take, if the API server does not say.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(3);
/// How long requests in flight may take at the end, besides the delay of the shutdown.
const DRAIN: Duration = Duration::from_secs(15);

/// What is shown of it.
struct Health {
    not_ready: watch::Receiver<Option<String>>,
    stops: watch::Receiver<bool>,
    metrics: Arc<Metrics>,
    heartbeat: Heartbeat,
}

impl HealthProbe for Health {
    fn not_live(&self) -> Option<String> {
        hangs(&self.heartbeat)
    }

    fn not_ready(&self) -> Option<String> {
        if *self.stops.borrow() { Some("stopping".to_owned()) } else { self.not_ready.borrow().clone() }
    }

    fn metrics_text(&self) -> String {
        self.metrics.text()
    }
}

/// Runs until a stop signal.
pub(super) async fn run(options: &Operator) -> Result<Exit> {
    let connection = options.connection.connection();
    // The lease has a connection of its own, which nothing else can clog.
    let own = ClusterStore::new(Cluster::connect(&connection).await?, NAME).with_silence(SILENCE);
    let guard = options.metrics_authentication.then(|| ClusterGuard::new(own.cluster().clone()));
    let metrics = Arc::new(Metrics::default());
    let (not_ready, shown) = watch::channel(Some("looking for Gatekeeper".to_owned()));
    let (stop, stops) = watch::channel(false);
    let heartbeat = Heartbeat::default();
    let health =
        Health { not_ready: shown, stops: stops.clone(), metrics: Arc::clone(&metrics), heartbeat: heartbeat.clone() };
    let signaled = stop_signal()?;
    let listeners = Listeners::start(options, &Arc::new(health), guard)?;
    let mut candidate = Candidate::new(own, &options.namespace, NAME, identity(), lease_terms(options)?, clock::now);
    let (leading, leads) = watch::channel(false);
    let shared = Shared { leads, stops, not_ready, metrics: Arc::clone(&metrics), heartbeat };
    let wanted = wanted(options)?;
    let workers = runtime::with_named_workers("policies", THREADS, BLOCKING_THREADS)?;
    let mut work = workers.spawn(async move {
        let cluster = Cluster::connect(&connection).await?;
        let store = ClusterStore::new(cluster.clone(), NAME).with_silence(SILENCE);
        Ok::<_, anyhow::Error>(Box::pin(policies::run(cluster, store, wanted, shared, clock::now)).await)
    });
    let lead = async {
        loop {
            candidate.acquire().await;
            tracing::info!("leading");
            metrics.set_leads(true);
            leading.send_replace(true);
            candidate.keep_renewing().await;
            leading.send_replace(false);
            metrics.set_leads(false);
        }
    };
    let ended = tokio::select! {
        () = lead => None,
        ended = &mut work => Some(ended),
        () = signaled => None,
    };
    tracing::info!("stopping; another signal exits immediately");
    stop.send_replace(true);
    // Another replica may audit at once; requests are answered until nobody sends any.
    leading.send_replace(false);
    let _ = tokio::time::timeout(Duration::from_secs(2), candidate.release()).await;
    let limit = options.enforcement.shutdown_delay + DRAIN;
    let ended = match ended {
        Some(ended) => Some(ended),
        None => tokio::time::timeout(limit, &mut work).await.ok(),
    };
    tokio::task::spawn_blocking(move || listeners.drain(Duration::from_secs(1))).await?;
    workers.shutdown_background();
    if let Some(ended) = ended {
        ended.context("the work stopped")???;
    } else {
        tracing::warn!("requests in flight were not answered in time");
    }
    Ok(Exit::Yes)
}

fn wanted(options: &Operator) -> Result<Options> {
    let given = &options.enforcement;
    let processes = given.evaluators.map_or_else(default_processes, usize::from);
    Ok(Options {
        namespace: options.namespace.clone(),
        pod: pod_name(),
        evaluators: EvaluatorSettings {
            program: own_program()?,
            arguments: vec!["policy-evaluator".to_owned()],
            processes,
            memory: given.evaluator_memory.saturating_mul(1 << 20),
            time_limit: Duration::from_secs(given.evaluation_timeout),
            steps: given.max_steps,
            reject_unknown_actions: given.reject_unknown_actions,
        },
        webhook: options.webhook.webhook_listen.map(|listen| webhook(options, listen)),
        audit: AuditSettings {
            interval: given.audit_interval,
            violations_limit: given.constraint_violations_limit,
            chunk_size: given.audit_chunk_size,
            // One is left for the webhook.
            evaluators: processes.saturating_sub(1).max(1),
        },
        emit_audit_events: given.emit_audit_events,
        emit_admission_events: given.emit_admission_events,
        inventory_bytes: given.inventory_limit.saturating_mul(1 << 20),
        exemptions: Exemptions {
            exempt_namespaces: given.exempt_namespace.clone(),
            exempt_prefixes: given.exempt_namespace_prefix.clone(),
            exempt_suffixes: given.exempt_namespace_suffix.clone(),
            ..Exemptions::default()
        },
    })
}

fn webhook(options: &Operator, listen: SocketAddr) -> Webhook {
    let given = &options.enforcement;
    let namespace = options.namespace.clone();
    let address = match &options.webhook.webhook_url {
        Some(url) => WebhookAddress::Url(url.clone()),
        None => WebhookAddress::Service { namespace: namespace.clone(), name: NAME.to_owned() },
    };
    Webhook {
        admission: AdmissionSettings {
            listen,
            own_user: format!("system:serviceaccount:{namespace}:{NAME}"),
            shutdown_delay: given.shutdown_delay,
            timeout: REQUEST_TIMEOUT,
            log_denies: given.log_denies,
            reject_unknown_actions: given.reject_unknown_actions,
        },
        configuration: WebhookConfiguration {
            address,
            own_namespaces: vec![gatekeeper_installation::NAMESPACE.to_owned(), namespace],
            operations: given.webhook_operations.clone(),
        },
    }
}

/// The name of this pod; outside of a cluster that of the machine.
fn pod_name() -> String {
    let name = |variable: &str| std::env::var(variable).ok().filter(|name| !name.is_empty());
    name("POD_NAME").or_else(|| name("HOSTNAME")).unwrap_or_else(|| "localhost".to_owned())
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[test]
    fn a_step_that_does_not_end_is_not_live() {
        let ((_sender, not_ready), (_stop, stops)) = (watch::channel(None), watch::channel(false));
        let heartbeat = Heartbeat::default();
        let health = Health { not_ready, stops, metrics: Arc::default(), heartbeat: heartbeat.clone() };
        assert_eq!(health.not_live(), None);
        let step = heartbeat.begin("a step of an audit", Instant::now().checked_sub(Duration::from_mins(4)).unwrap());
        assert_eq!(health.not_live().as_deref(), Some("a step of an audit has been running for 4m"));
        drop(step);
        assert_eq!(health.not_live(), None);
    }
}
