//! `clearway operator`: from the command line to controllers at work, and to their end.

mod listeners;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result};
use clearway_advice::rounds::RoundSettings;
use clearway_core::Arch;
use clearway_operator::carry_out::{self, Veto};
use clearway_operator::driver::{Shown, Tools};
use clearway_operator::lease::{Candidate, Terms};
use clearway_operator::metrics;
use clearway_operator::metrics_store::MetricsStore;
use clearway_operator::operator::{Watched, operate};
use clearway_operator::reconciler::{CarryOut, Settings};
use clearway_server::Probed;
use clearway_sources::clock;
use clearway_sources::http::HttpOptions;
use clearway_sources::kubernetes::{Cluster, Connection, ServiceAccountName};
use clearway_sources::oci::{Cache, Registry};
use clearway_sources::prometheus::{ClientIdentity, Prometheus, PrometheusOptions};
use clearway_sources::release::Key;
use clearway_sources::store::{ClusterStore, StateDirectory, Store};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use self::listeners::{ClusterGuard, Listeners};
use crate::arguments::Operator;
use crate::exit::Exit;
use crate::graph::registry;
use crate::log;

/// The name in events and of the lease.
const NAME: &str = "clearway-operator";
/// After how much silence the API server is asked whether anything was missed: watches break without a word, but seldom.
const SILENCE: Duration = Duration::from_mins(1);
/// Bytes of an answer of the update service: the largest in practice is below 2 MB.
const ANSWER_BYTES: u64 = 32 << 20;

/// Works until it is told to stop.
pub(crate) fn run(options: &Operator) -> Result<Exit> {
    log::start(options.log_format, &options.log)?;
    // Everything it does is waiting; one thread does that with the least memory.
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().context("cannot start a runtime")?;
    runtime.block_on(async {
        if let Some(directory) = &options.state {
            let state = StateDirectory::open(directory)?;
            let feed = MetricsStore::Directory(state.metrics());
            let metrics = prometheus(options)?.unwrap_or(feed);
            let stores = Stores { own: state.clone(), evidence: state.clone(), updates: state };
            return work(options, stores, Some(metrics), None).await;
        }
        let stores = connect(options).await?;
        let guard = options.metrics_authentication.then(|| ClusterGuard::new(stores.own.cluster().clone()));
        Box::pin(work(options, stores, prometheus(options)?, guard)).await
    })
}

/// One cluster, with the rights of three identities.
struct Stores<S> {
    /// For the operator's own objects.
    own: S,
    /// For the objects that rules look at.
    evidence: S,
    /// For applying updates.
    updates: S,
}

/// Connects once for each identity; an identity that is not named is the operator's own.
async fn connect(options: &Operator) -> Result<Stores<ClusterStore>> {
    let store = async |account: Option<&String>| {
        let account = account.map(|text| ServiceAccountName::read(text, &options.namespace)).transpose()?;
        let connection = Connection {
            kubeconfig: options.kubeconfig.clone(),
            context: options.context.clone(),
            impersonate: account,
        };
        let cluster = Cluster::connect(&connection).await?;
        Ok::<_, anyhow::Error>(ClusterStore::new(cluster, NAME).with_silence(SILENCE))
    };
    let own = store(None).await?;
    let evidence = match &options.evidence_as {
        Some(account) => store(Some(account)).await?,
        None => own.clone(),
    };
    let updates = match &options.apply_as {
        Some(account) => store(Some(account)).await?,
        None => own.clone(),
    };
    Ok(Stores { own, evidence, updates })
}

fn prometheus(options: &Operator) -> Result<Option<MetricsStore>> {
    let Some(url) = &options.prometheus else { return Ok(None) };
    let identity = options.client_certificate.clone().zip(options.client_key.clone());
    let access = PrometheusOptions {
        token_file: options.token_file.clone(),
        ca_file: options.ca_file.clone(),
        identity: identity.map(|(certificate, key)| ClientIdentity { certificate, key }),
        ..PrometheusOptions::default()
    };
    Ok(Some(MetricsStore::Prometheus(Arc::new(Prometheus::new(url, &access)?))))
}

async fn work<S: Store>(
    options: &Operator,
    stores: Stores<S>,
    metrics: Option<MetricsStore>,
    guard: Option<ClusterGuard>,
) -> Result<Exit> {
    let (shown, watched) = watch::channel(BTreeMap::new());
    let health = Arc::new(Health { watched, leads: AtomicBool::new(false) });
    let listeners = Listeners::start(options, &health, guard)?;
    let settings = settings(options, metrics.is_some())?;
    let tools = Tools {
        store: stores.own.clone(),
        evidence: stores.evidence,
        updates: stores.updates,
        metrics,
        http: HttpOptions { ca_file: options.ca_file.clone(), body_bytes: ANSWER_BYTES, ..HttpOptions::default() },
        carry_out: carry_out(options, settings.jitter)?,
        namespace: options.namespace.clone(),
        clock: clock::now,
    };
    let terms = Terms { duration: options.lease_duration, renew: options.lease_duration / 5 };
    let mut candidate = Candidate::new(stores.own, &options.namespace, NAME, identity(), terms, clock::now);
    let mut terminate = signal(SignalKind::terminate())?;
    let mut stop = std::pin::pin!(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = tokio::signal::ctrl_c() => {}
        }
    });
    loop {
        tokio::select! {
            () = candidate.win() => {}
            () = &mut stop => break,
        }
        tracing::info!("leading");
        health.leads.store(true, Ordering::Relaxed);
        let stopped = tokio::select! {
            () = operate(tools.clone(), settings.clone(), shown.clone()) => false,
            () = candidate.hold() => false,
            () = &mut stop => true,
        };
        health.leads.store(false, Ordering::Relaxed);
        shown.send_replace(BTreeMap::new());
        if stopped {
            break;
        }
    }
    tracing::info!("stopping");
    // Another need not wait until the lease has run out; if the store is away, that is how it goes.
    let _ = tokio::time::timeout(Duration::from_secs(2), candidate.give_back()).await;
    tokio::task::spawn_blocking(move || listeners.drain(Duration::from_secs(1))).await?;
    Ok(Exit::Yes)
}

fn settings(options: &Operator, has_metrics: bool) -> Result<Settings> {
    let arch = match &options.arch {
        Some(arch) => arch.clone(),
        None => machine()?,
    };
    Ok(Settings {
        upstream: options.upstream.clone(),
        has_metrics,
        shared_store: options.shared_store,
        fetch_every: options.fetch_every,
        look_again: options.between_rounds,
        jitter: drawn(),
        rounds: RoundSettings {
            between_rounds: options.between_rounds,
            between_answers: options.between_answers,
            ..RoundSettings::default()
        },
        carry_out: carries_out(options),
        ..Settings::new(arch)
    })
}

/// Whether updates are applied, or handed over as files.
fn carries_out(options: &Operator) -> CarryOut {
    if options.apply_updates || options.render.is_some() { CarryOut::WhenAsked } else { CarryOut::Never }
}

/// What updates are carried out with.
fn carry_out(options: &Operator, jitter: f64) -> Result<carry_out::Settings> {
    let access = registry::options(options.ca_file.clone(), options.registry_config.clone(), options.plain_http);
    let registry = Registry::new(access)?;
    let cache = match &options.cache {
        Some(cache) => {
            Cache::directory(cache.clone()).with_context(|| format!("cannot keep anything in {}", cache.display()))?
        }
        None => Cache::none(),
    };
    let mut keys = Vec::new();
    for file in &options.release_key {
        keys.extend(Key::file(file)?);
    }
    if keys.is_empty() && carries_out(options) == CarryOut::WhenAsked {
        tracing::warn!(
            "UNSIGNED RELEASES ARE APPLIED: no --release-key is given, so whoever controls the update service or a \
             registry decides what runs in this cluster; name the public keys of your releases with --release-key FILE"
        );
    }
    Ok(carry_out::Settings {
        arch: options.arch.clone(),
        keys,
        render: options.render.clone(),
        veto: if options.preflight_veto { Veto::WhenBlocking } else { Veto::Never },
        jitter,
        ..carry_out::Settings::new(registry, cache)
    })
}

/// The architecture of this machine, as releases call it.
fn machine() -> Result<Arch> {
    let name = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        "powerpc64" => "ppc64le",
        other => other,
    };
    name.parse()
        .with_context(|| format!("this machine's architecture {name} is none of releases; name one with --arch"))
}

/// A number from 0 to 1 that differs between machines and starts: the fraction of the second it is.
fn drawn() -> f64 {
    let nanoseconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.subsec_nanos());
    f64::from(nanoseconds) / 1e9
}

/// A name that no other replica has.
fn identity() -> String {
    let host = std::env::var("HOSTNAME").unwrap_or_else(|_| "localhost".to_owned());
    let nanoseconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
    format!("{host}_{}_{nanoseconds:x}", std::process::id())
}

/// What is shown of the operator.
struct Health {
    watched: Watched,
    leads: AtomicBool,
}

impl Probed for Health {
    fn not_ready(&self) -> Option<String> {
        // A replica that waits for its turn is ready for it.
        None
    }

    fn metrics_text(&self) -> String {
        let shown: Vec<Shown> = self.watched.borrow().values().filter_map(|told| told.borrow().clone()).collect();
        metrics::text(&shown, self.leads.load(Ordering::Relaxed))
    }
}
