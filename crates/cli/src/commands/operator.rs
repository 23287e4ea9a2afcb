//! `clearway operator`: starts the controllers, and stops them on a signal.

pub(crate) mod console;
mod console_changes;
pub(crate) mod console_objects;
mod gateway_status;
mod listeners;
mod policies;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result};
use clearway_advice::rounds::{Pace, RoundSettings};
use clearway_core::terminal_text::escape_json;
use clearway_core::{Arch, humanize};
use clearway_operator::apply_update::{self, PolicyProgram};
use clearway_operator::driver::{AnswerMemory, CrashGuard, MemoryPermit, ObjectReport, Tools};
use clearway_operator::heartbeat::Heartbeat;
use clearway_operator::lease::{Candidate, LeaseTerms};
use clearway_operator::metrics;
use clearway_operator::metrics_store::MetricsStore;
use clearway_operator::operator::{LatestReports, operate};
use clearway_server::HealthProbe;
use clearway_sources::clock;
use clearway_sources::http::HttpOptions;
use clearway_sources::kubernetes::{Cluster, Connection, ServiceAccountName};
use clearway_sources::oci::{Cache, Registry};
use clearway_sources::release::Key;
use clearway_sources::store::{ClusterStore, StateDirectory, Store};
use clearway_update::api::Kind;
use clearway_update::reconciler::{Settings, UpdateMode};
use clearway_update::task::Veto;
use futures::TryFutureExt as _;
use serde_json::json;
use tokio::sync::watch;

use self::console::OperatorReports;
use self::console_changes::CallerChanges;
use self::console_objects::ObjectReader;
use self::listeners::{ClusterGuard, Listeners};
use crate::arguments::{Operator, QueryPace};
use crate::commands::graph::source::registry;
use crate::exit::Exit;
use crate::log;
use crate::program_name::own_program;
use crate::runtime;
use crate::signals::stop_signal;

/// The name in events and of the lease.
const NAME: &str = "clearway-operator";
/// After how much silence the API server is asked whether anything was missed: watches break without a word, but seldom.
const SILENCE: Duration = Duration::from_mins(1);
/// Bytes of an answer of the update service: the largest in practice is below 2 MB.
const ANSWER_BYTES: u64 = 32 << 20;

/// How long a process that stops waits for what it still writes.
const LAST_WRITES: Duration = Duration::from_secs(2);
/// Threads on which objects are reconciled and rules evaluated.
const THREADS: usize = 2;
/// Threads for what computes for long: reading answers, evaluating rules.
const BLOCKING_THREADS: usize = 4;

/// Runs until a stop signal.
///
/// Two runtimes share the work: one thread renews the lease and waits for signals, and never computes; objects are
/// reconciled and rules evaluated on threads of their own. Whatever a rule costs, the lease is renewed in time.
pub(crate) fn run(options: &Operator) -> Result<Exit> {
    log::start(&options.logging)?;
    // Before anything is connected: what is wrong with the options is known already.
    CallerChanges::of(options)?;
    let runtime = runtime::on_this_thread()?;
    if let Some(class) = &options.gateway.gateway_class {
        return runtime.block_on(Box::pin(gateway_status::run(options, class)));
    }
    if options.enforcement.policies {
        return runtime.block_on(Box::pin(policies::run(options)));
    }
    runtime.block_on(async {
        if let Some(directory) = &options.state {
            let state = StateDirectory::open(directory)?;
            for finding in state.check() {
                let file = finding.place.file.unwrap_or_default();
                tracing::warn!(code = %finding.code, %file, "{}", finding.message);
            }
            let feed = MetricsStore::Directory(state.metrics());
            let metrics = prometheus(options)?.unwrap_or(feed);
            let stores = Stores { own: state.clone(), evidence: state.clone(), updates: state.clone() };
            let connect = move || std::future::ready(Ok(stores.clone()));
            return Box::pin(work(options, state, connect, Some(metrics), None)).await;
        }
        // The lease has a connection of its own, which nothing else can clog.
        let own = connect(&access(options)?.own).await?;
        let guard = options.metrics_authentication.then(|| ClusterGuard::new(own.cluster().clone()));
        let access = access(options)?;
        let connect = move || connect_all(access.clone());
        Box::pin(work(options, own, connect, prometheus(options)?, guard)).await
    })
}

/// One cluster, with the rights of three identities.
#[derive(Clone)]
struct Stores<S> {
    /// For the operator's own objects.
    own: S,
    /// For the objects that rules look at.
    evidence: S,
    /// For applying updates.
    updates: S,
}

/// How long the lease lasts, and how often it is renewed; in time for a second attempt if the first one fails.
pub(crate) fn lease_terms(options: &Operator) -> Result<LeaseTerms> {
    let duration = options.lease_duration;
    let renew = options.lease_renewal.unwrap_or(duration / 3);
    anyhow::ensure!(
        renew >= Duration::from_millis(100) && renew <= duration / 2,
        "--lease-renewal {renew:?} does not fit --lease-duration {duration:?}: at least 100ms, and at most half of it"
    );
    Ok(LeaseTerms { duration, renew })
}

/// How the cluster is reached as each of the three; an identity that is not named is the operator's own.
fn access(options: &Operator) -> Result<Stores<Connection>> {
    let connection = |account: Option<&String>| {
        let account = account.map(|text| ServiceAccountName::read(text, &options.namespace)).transpose()?;
        Ok::<_, anyhow::Error>(Connection { impersonate: account, ..options.connection.connection() })
    };
    Ok(Stores {
        own: connection(None)?,
        evidence: connection(options.evidence_as.as_ref())?,
        updates: connection(options.apply_as.as_ref())?,
    })
}

async fn connect(connection: &Connection) -> Result<ClusterStore> {
    Ok(ClusterStore::new(Cluster::connect(connection).await?, NAME).with_silence(SILENCE))
}

async fn connect_all(access: Stores<Connection>) -> Result<Stores<ClusterStore>> {
    Ok(Stores {
        own: connect(&access.own).await?,
        evidence: connect(&access.evidence).await?,
        updates: connect(&access.updates).await?,
    })
}

fn prometheus(options: &Operator) -> Result<Option<MetricsStore>> {
    let client = options.prometheus.client(options.ca.file.clone())?;
    Ok(client.map(|client| MetricsStore::Prometheus(Arc::new(client))))
}

async fn work<S, F, C>(
    options: &Operator,
    own: S,
    connect: C,
    metrics: Option<MetricsStore>,
    guard: Option<ClusterGuard>,
) -> Result<Exit>
where
    S: Store,
    F: Future<Output = Result<Stores<S>>> + Send + 'static,
    C: Fn() -> F + Clone + Send + Sync + 'static,
{
    let (shown, watched) = watch::channel(BTreeMap::new());
    let health = Arc::new(Health { watched, leads: AtomicBool::new(false), heartbeat: Heartbeat::default() });
    let mut stop = std::pin::pin!(stop_signal()?);
    let listeners = Listeners::start(options, &health, guard)?;
    let (memory, answers) = (MemoryPermit::default(), AnswerMemory::default());
    let reports = |health: Arc<Health>| OperatorReports {
        reports: health.watched.clone(),
        is_leading: Box::new(move || health.leads.load(Ordering::Relaxed)),
        // With the rights of the identity that can only read.
        objects: Some(ObjectReader::new(memory.clone(), {
            let connect = connect.clone();
            move || connect().map_ok(|stores| stores.evidence)
        })),
    };
    let console = match options.console_listen {
        Some(address) => Some(console::start(address, reports(Arc::clone(&health)), CallerChanges::of(options)?)?),
        None => None,
    };
    let settings = settings(options, metrics.is_some())?;
    let apply_settings = apply_settings(options, settings.jitter)?;
    let tools = |stores: Stores<S>, guard: CrashGuard| Tools {
        store: stores.own,
        evidence: stores.evidence,
        updates: stores.updates,
        metrics: metrics.clone(),
        http: HttpOptions { ca_file: options.ca.file.clone(), body_bytes: ANSWER_BYTES, ..HttpOptions::default() },
        apply_update: apply_settings.clone(),
        namespace: options.namespace.clone(),
        clock: clock::now,
        heartbeat: health.heartbeat.clone(),
        memory: memory.clone(),
        answers: answers.clone(),
        guard,
    };
    let (terms, identity) = (lease_terms(options)?, identity());
    let mut candidate = Candidate::new(own.clone(), &options.namespace, NAME, identity.clone(), terms, clock::now);
    // What hangs is why the process is stopped, so the notes about it stay. A store that is away keeps them as well.
    let withdraw = async |guard: &CrashGuard, until: tokio::time::Instant| {
        if health.heartbeat.hanging(Instant::now()).is_none() {
            let _ = tokio::time::timeout_at(until, guard.withdraw(&own)).await;
        }
    };
    let stopping = || tracing::info!("stopping; another signal exits immediately");
    let last_write = || tokio::time::Instant::now() + LAST_WRITES;
    let until = loop {
        tokio::select! {
            () = candidate.acquire() => {}
            () = &mut stop => {
                stopping();
                break last_write();
            }
        }
        tracing::info!("leading");
        health.leads.store(true, Ordering::Relaxed);
        let reconcilers = runtime::with_named_workers("reconciler", THREADS, BLOCKING_THREADS)?;
        let guard = CrashGuard::new(&identity);
        let end = {
            let lead = async {
                let stores = reconcilers.spawn(connect()).await.context("cannot connect")??;
                let (tools, settings, shown) = (tools(stores, guard.clone()), settings.clone(), shown.clone());
                Ok::<_, anyhow::Error>(reconcilers.spawn(operate(tools, settings, shown)).await?)
            };
            tokio::select! {
                ended = lead => {
                    if let Err(error) = ended {
                        tracing::error!("the reconcilers stopped: {error:#}");
                    }
                    LeadershipEnd::Reconcilers
                }
                () = candidate.keep_renewing() => LeadershipEnd::Lease,
                () = &mut stop => LeadershipEnd::Stopped,
            }
        };
        let until = last_write();
        if end == LeadershipEnd::Stopped {
            stopping();
            // While the reconcilers are there: a note that one of them is writing is waited for.
            withdraw(&guard, until).await;
        }
        // What still computes ends with the process at the latest; nothing of it is written any more.
        reconcilers.shutdown_background();
        health.leads.store(false, Ordering::Relaxed);
        shown.send_replace(BTreeMap::new());
        match end {
            LeadershipEnd::Stopped => break until,
            LeadershipEnd::Lease => withdraw(&guard, until).await,
            // What ended them may be what was assessed.
            LeadershipEnd::Reconcilers => {}
        }
    };
    // Another need not wait until the lease has run out; if the store is away, that is how it goes.
    let _ = tokio::time::timeout_at(until, candidate.release()).await;
    tokio::task::spawn_blocking(move || {
        listeners.drain(Duration::from_secs(1));
        if let Some(console) = console {
            console.drain(Duration::ZERO);
        }
    })
    .await?;
    // A computation that never ends would be waited for.
    std::process::exit(0)
}

/// Why a process does not lead any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LeadershipEnd {
    /// It was asked to stop.
    Stopped,
    /// It could not renew the lease.
    Lease,
    /// The reconcilers ended, which they never do by themselves.
    Reconcilers,
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
        fetch_every: options.rounds.fetch_every,
        look_again: options.rounds.between_rounds,
        jitter: drawn(),
        rounds: RoundSettings {
            between_rounds: options.rounds.between_rounds,
            between_answers: options.rounds.between_answers,
            pace: match options.rounds.pace {
                QueryPace::Batch => Pace::Batch,
                QueryPace::Single => Pace::Single,
            },
            ..RoundSettings::default()
        },
        update_mode: update_mode(options),
        advice: clearway_advice::Settings { fence: options.queries.fence()?, ..clearway_advice::Settings::default() },
        ..Settings::new(arch)
    })
}

/// Whether updates are applied, or handed over as files.
fn update_mode(options: &Operator) -> UpdateMode {
    if options.apply_updates || options.render.is_some() { UpdateMode::OnRequest } else { UpdateMode::Never }
}

/// What updates are carried out with.
fn apply_settings(options: &Operator, jitter: f64) -> Result<apply_update::Settings> {
    let access = registry::options(options.ca.file.clone(), &options.registry);
    let registry = Registry::new(access)?;
    let cache = match &options.cache {
        Some(cache) => Cache::directory(cache.clone())
            .with_context(|| format!("cannot use the cache directory {}", cache.display()))?,
        None => Cache::none(),
    };
    let mut keys = Vec::new();
    for file in &options.release_key {
        keys.extend(Key::file(file)?);
    }
    // A file of the cache does not prove that it is the release that was signed.
    let cache = if keys.is_empty() { cache } else { cache.own_entries_only() };
    if keys.is_empty() && update_mode(options) == UpdateMode::OnRequest {
        tracing::warn!(
            "UNSIGNED RELEASES ARE APPLIED: --release-key is not set, so anyone who controls the update service or a registry decides what runs in this cluster; pass the public keys of your releases with --release-key FILE"
        );
    }
    Ok(apply_update::Settings {
        arch: options.arch.clone(),
        keys,
        render: options.render.clone(),
        // Without the program itself the check is left out; everything else goes on.
        policies: own_program().ok().map(PolicyProgram::new),
        veto: if options.preflight_veto { Veto::WhenBlocking } else { Veto::Never },
        jitter,
        ..apply_update::Settings::new(registry, cache)
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
    name.parse().with_context(|| format!("unsupported architecture {name}; pass --arch"))
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

/// Why a process with a computation that does not end should be started again.
fn hangs(heartbeat: &Heartbeat) -> Option<String> {
    let (what, since) = heartbeat.hanging(Instant::now())?;
    Some(format!("{what} has been running for {}", humanize(since)))
}

/// What is shown of the operator.
struct Health {
    watched: LatestReports,
    leads: AtomicBool,
    heartbeat: Heartbeat,
}

impl Health {
    fn shown(&self) -> Vec<((Kind, String), ObjectReport)> {
        let all = self.watched.borrow();
        all.iter().filter_map(|(id, told)| Some((id.clone(), told.borrow().clone()?))).collect()
    }
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
        let shown: Vec<ObjectReport> = self.shown().into_iter().map(|(_, shown)| shown).collect();
        metrics::text(&shown, self.leads.load(Ordering::Relaxed))
    }

    fn assessments(&self) -> Option<String> {
        let named = self.shown().into_iter().map(|((kind, name), shown)| {
            let assessment = shown.assessment.and_then(|assessment| serde_json::to_value(assessment.as_ref()).ok());
            json!({"kind": kind.as_str(), "name": name, "assessment": assessment})
        });
        let all = json!({"items": named.collect::<Vec<_>>()});
        Some(escape_json(&all.to_string()).into_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::{Arguments, Command};
    use clap::Parser as _;

    /// What hangs is named, so that the kubelet starts the process again and says why.
    #[test]
    fn a_process_whose_computation_hangs_is_not_live() {
        let (_reports, watched) = watch::channel(BTreeMap::new());
        let health = Health { watched, leads: AtomicBool::new(true), heartbeat: Heartbeat::default() };
        let begun = |minutes: u64| Instant::now().checked_sub(Duration::from_mins(minutes)).unwrap();
        let evaluation = health.heartbeat.begin("the evaluation of rules", begun(1));
        assert_eq!(health.not_live(), None);
        let step = health.heartbeat.begin("a step", begun(4));
        assert_eq!(health.not_live().as_deref(), Some("a step has been running for 4m"));
        drop(step);
        assert_eq!(health.not_live(), None);
        drop(evaluation);
    }

    /// U9: the literal reading of "wait ten minutes before evaluating any" is a setting.
    #[test]
    fn the_pace_of_queries_is_a_setting() {
        for (more, want) in
            [(&[][..], Pace::Batch), (&["--pace", "batch"], Pace::Batch), (&["--pace", "single"], Pace::Single)]
        {
            let line = [&["clearway", "operator", "--between-rounds", "7m"], more].concat();
            let Command::Operator(options) = Arguments::parse_from(line).command else { panic!("another command") };
            let rounds = settings(&options, true).unwrap().rounds;
            assert_eq!((rounds.pace, rounds.between_rounds), (want, Duration::from_mins(7)));
        }
    }
}
