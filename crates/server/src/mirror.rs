//! Answers of an upstream service: kept current for the channels that are configured, asked for when somebody asks for
//! them for the others, and served with their age while upstream is away.

use std::collections::HashMap;
use std::str::FromStr;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use bytes::Bytes;
use clearway_core::{Arch, Digest, Limits, Timestamp};
use clearway_graph::{Graph, wire};
use clearway_sources::service::{self, Validator};
use http::HeaderValue;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;

use crate::body::Body;
use crate::kept_answers::{Kept, KeptAnswers};
use crate::metrics::Metrics;
use crate::publication::header;
use crate::query::Field;

/// Answers that are kept. Channels that nobody configured make room for each other.
const MAX_ANSWERS: usize = 1024;
/// Requests to upstream at one time.
const AT_ONCE: usize = 8;
/// How long upstream is left alone after it failed.
const PAUSE: Duration = Duration::from_secs(10);

/// How long a client that could have an older answer waits for a newer one.
const PATIENCE: Duration = Duration::from_secs(2);

/// A channel and an architecture.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Scope {
    /// The channel.
    pub channel: String,
    /// The architecture.
    pub arch: Arch,
}

/// Why a text names no channel and architecture.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no channel; write CHANNEL or CHANNEL/ARCH, such as stable-1.5 or stable-1.5/arm64")]
pub struct ScopeError(String);

/// `CHANNEL`, or `CHANNEL/ARCH`.
impl FromStr for Scope {
    type Err = ScopeError;

    fn from_str(text: &str) -> Result<Self, ScopeError> {
        let failed = || ScopeError(text.to_owned());
        let (channel, arch) = text.split_once('/').unwrap_or((text, Arch::DEFAULT));
        if !Field::Channel.admits(channel) {
            return Err(failed());
        }
        Ok(Scope { channel: channel.to_owned(), arch: arch.parse().map_err(|_| failed())? })
    }
}

/// An upstream service and what is known of its answers.
#[derive(Debug)]
pub struct Mirror {
    shared: Arc<Shared>,
    configured: Vec<Scope>,
    entries: Mutex<HashMap<Scope, Arc<Entry>>>,
    /// The answer for an architecture that none can have.
    nobody: Arc<Mirrored>,
    /// Where requests to upstream are made, whichever thread waits for them.
    runtime: Handle,
}

#[derive(Debug)]
struct Shared {
    upstream: service::Service,
    /// How long an answer is not asked for again.
    fresh: Duration,
    kept: Option<KeptAnswers>,
    metrics: Metrics,
    clock: fn() -> Timestamp,
    at_once: Semaphore,
}

/// How an upstream service is mirrored.
#[derive(Debug)]
pub struct MirrorOptions {
    /// The service.
    pub upstream: service::Service,
    /// What is kept current whether or not somebody asks for it.
    pub configured: Vec<Scope>,
    /// How long an answer is not asked for again.
    pub fresh: Duration,
    /// Where answers survive a restart.
    pub kept: Option<KeptAnswers>,
}

/// What is known of one answer.
#[derive(Debug, Default)]
struct Entry {
    answer: ArcSwapOption<Mirrored>,
    /// Held while upstream is asked, so that it is asked once.
    attempt: tokio::sync::Mutex<Attempt>,
    used: AtomicI64,
}

#[derive(Debug, Default)]
struct Attempt {
    /// Not before this; set by a failure.
    not_before: Option<Timestamp>,
    failure: String,
}

/// An answer of the upstream service.
#[derive(Debug)]
pub(crate) struct Mirrored {
    pub(crate) body: Arc<Body>,
    pub(crate) revision: HeaderValue,
    confirmed: AtomicI64,
    /// When upstream last said so. What it says may itself be old, and asking more often makes it no newer.
    asked: AtomicI64,
    validator: Option<Validator>,
}

impl Mirrored {
    fn new(graph: &Graph, validator: Option<Validator>, confirmed: Timestamp, asked: Timestamp) -> Self {
        let body = Bytes::from(wire::write(graph));
        let digest = Digest::sha256(&body);
        Mirrored {
            body: Arc::new(Body::compressed(&body, &digest)),
            revision: header(&digest),
            confirmed: AtomicI64::new(confirmed.as_seconds()),
            asked: AtomicI64::new(asked.as_seconds()),
            validator,
        }
    }

    /// When upstream was last known to give this answer.
    pub(crate) fn confirmed(&self) -> Timestamp {
        Timestamp::from_seconds(self.confirmed.load(Ordering::Relaxed)).unwrap_or(Timestamp::EPOCH)
    }

    fn is_fresh(&self, now: Timestamp, fresh: Duration) -> bool {
        let asked = Timestamp::from_seconds(self.asked.load(Ordering::Relaxed)).unwrap_or(Timestamp::EPOCH);
        now.since(asked) < fresh
    }
}

impl Mirror {
    /// A mirror that knows what was kept, and asks in this runtime for the rest.
    pub fn new(options: MirrorOptions, metrics: Metrics, clock: fn() -> Timestamp, runtime: Handle) -> Self {
        let MirrorOptions { upstream, configured, fresh, kept } = options;
        let mut entries: HashMap<Scope, Arc<Entry>> = HashMap::new();
        for scope in &configured {
            entries.entry(scope.clone()).or_default();
        }
        for (scope, answer) in kept.as_ref().map(KeptAnswers::load).unwrap_or_default() {
            if entries.len() >= MAX_ANSWERS && !entries.contains_key(&scope) {
                if let Some(kept) = &kept {
                    kept.forget(&scope);
                }
                continue;
            }
            if let Ok(mirrored) = prepare(&answer.bytes, answer.validator, answer.confirmed, Timestamp::EPOCH) {
                entries.entry(scope).or_default().answer.store(Some(Arc::new(mirrored)));
            }
        }
        metrics.mirrored(entries.len());
        let nobody = Arc::new(Mirrored::new(&Graph::default(), None, clock(), clock()));
        let shared = Shared { upstream, fresh, kept, metrics, clock, at_once: Semaphore::new(AT_ONCE) };
        Mirror { shared: Arc::new(shared), configured, entries: Mutex::new(entries), nobody, runtime }
    }

    /// Whether every configured answer is known; without configured ones there is nothing to wait for.
    pub(crate) fn is_ready(&self) -> bool {
        let entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        self.configured.iter().all(|scope| entries.get(scope).is_some_and(|entry| entry.answer.load().is_some()))
    }

    /// Asks upstream for every configured answer; says how many are now current.
    pub async fn refresh(&self) -> (usize, usize) {
        let asked = self.configured.iter().map(|scope| {
            let (entry, shared, scope) = (self.entry(scope), Arc::clone(&self.shared), scope.clone());
            self.runtime.spawn(async move { shared.ask(&scope, &entry, false).await })
        });
        let mut current = 0;
        for asked in asked.collect::<Vec<_>>() {
            current += usize::from(asked.await.is_ok_and(|outcome| outcome.is_ok()));
        }
        (current, self.configured.len())
    }

    /// The answer for a channel and an architecture; why there is none.
    pub(crate) async fn answer(&self, channel: &str, arch: &str) -> Result<Arc<Mirrored>, String> {
        let Ok(arch) = arch.parse::<Arch>() else { return Ok(Arc::clone(&self.nobody)) };
        let scope = Scope { channel: channel.to_owned(), arch };
        let entry = self.entry(&scope);
        let now = (self.shared.clock)();
        entry.used.store(now.as_seconds(), Ordering::Relaxed);
        let known = entry.answer.load_full();
        if let Some(known) = &known {
            let fresh = known.is_fresh(now, self.shared.fresh);
            // Whoever keeps the answer current is at work already, or will be: nobody waits for that.
            if fresh || self.configured.contains(&scope) || entry.attempt.try_lock().is_err() {
                return Ok(Arc::clone(known));
            }
        }
        let shared = Arc::clone(&self.shared);
        let asked = self.runtime.spawn({
            let entry = Arc::clone(&entry);
            async move { shared.ask(&scope, &entry, true).await }
        });
        let Some(known) = known else {
            let outcome = asked.await.unwrap_or_else(|error| Err(error.to_string()));
            return entry.answer.load_full().ok_or_else(|| outcome.err().unwrap_or_default());
        };
        // The request goes on without the client, for the next one.
        let _ = tokio::time::timeout(PATIENCE, asked).await;
        Ok(entry.answer.load_full().unwrap_or(known))
    }

    fn entry(&self, scope: &Scope) -> Arc<Entry> {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(entry) = entries.get(scope) {
            return Arc::clone(entry);
        }
        if entries.len() >= MAX_ANSWERS {
            let oldest = entries
                .iter()
                .filter(|(scope, _)| !self.configured.contains(scope))
                .min_by_key(|(scope, entry)| (entry.used.load(Ordering::Relaxed), (*scope).clone()))
                .map(|(scope, _)| scope.clone());
            if let Some(oldest) = oldest {
                entries.remove(&oldest);
                if let Some(kept) = &self.shared.kept {
                    kept.forget(&oldest);
                }
            }
        }
        let entry: Arc<Entry> = Arc::default();
        entries.insert(scope.clone(), Arc::clone(&entry));
        self.shared.metrics.mirrored(entries.len());
        entry
    }
}

impl Shared {
    /// Asks upstream, unless somebody just did. With `patient`, a failure of a moment ago counts as an answer.
    async fn ask(&self, scope: &Scope, entry: &Entry, patient: bool) -> Result<(), String> {
        let mut attempt = entry.attempt.lock().await;
        let now = (self.clock)();
        let known = entry.answer.load_full();
        if patient {
            if known.as_ref().is_some_and(|known| known.is_fresh(now, self.fresh)) {
                return Ok(());
            }
            if attempt.not_before.is_some_and(|not_before| now < not_before) {
                return Err(attempt.failure.clone());
            }
        }
        let outcome = self.fetch(scope, entry, known.as_deref()).await;
        self.metrics.asked_upstream(if outcome.is_ok() { "answered" } else { "failed" });
        match &outcome {
            Ok(()) => *attempt = Attempt::default(),
            Err(failure) => {
                tracing::warn!(channel = scope.channel, arch = scope.arch.as_str(), failure, "upstream did not answer");
                *attempt = Attempt { not_before: Some((self.clock)().plus(PAUSE)), failure: failure.clone() };
            }
        }
        outcome
    }

    async fn fetch(&self, scope: &Scope, entry: &Entry, known: Option<&Mirrored>) -> Result<(), String> {
        let _permit = self.at_once.acquire().await.map_err(|error| error.to_string())?;
        let validator = known.and_then(|known| known.validator.as_ref());
        let answer = self.upstream.answer(&scope.channel, &scope.arch, validator).await;
        let now = (self.clock)();
        match answer.map_err(|error| error.to_string())? {
            service::Answer::NotModified { age } => {
                let Some(known) = known else { return Ok(()) };
                let confirmed = now.minus(age.unwrap_or_default());
                // What was known to be current once stays known.
                let before = known.confirmed.fetch_max(confirmed.as_seconds(), Ordering::Relaxed);
                known.asked.store(now.as_seconds(), Ordering::Relaxed);
                if before < confirmed.as_seconds() {
                    self.keep(|answers| answers.confirm(scope, confirmed));
                }
            }
            service::Answer::Body { bytes, validator, age } => {
                let confirmed = now.minus(age.unwrap_or_default());
                let kept = Kept { bytes, validator, confirmed };
                let unpacked = tokio::task::spawn_blocking({
                    let kept = kept.clone();
                    move || prepare(&kept.bytes, kept.validator, kept.confirmed, now)
                });
                let mirrored = unpacked.await.map_err(|error| error.to_string())??;
                entry.answer.store(Some(Arc::new(mirrored)));
                self.keep(|answers| answers.save(scope, &kept));
            }
        }
        Ok(())
    }

    fn keep(&self, write: impl FnOnce(&KeptAnswers) -> std::io::Result<()>) {
        if let Some(Err(error)) = self.kept.as_ref().map(write) {
            tracing::warn!(%error, "an answer of upstream could not be kept for the next start");
        }
    }
}

/// Reads an answer and makes our own of it: what cannot be read in it is left out or made impossible to recommend, and
/// everybody below gets it in the same order and the same words.
fn prepare(
    bytes: &Bytes,
    validator: Option<Validator>,
    confirmed: Timestamp,
    asked: Timestamp,
) -> Result<Mirrored, String> {
    let reading = wire::read(bytes, &Limits::default());
    let Some(graph) = reading.graph else {
        let why = reading.diagnostics.first().map_or("it is no graph", |diagnostic| &diagnostic.message);
        return Err(format!("the answer cannot be read: {why}"));
    };
    for diagnostic in &reading.diagnostics {
        tracing::warn!(code = %diagnostic.code, path = diagnostic.place.path, "in upstream's answer: {}", diagnostic.message);
    }
    Ok(Mirrored::new(&graph, validator, confirmed, asked))
}
