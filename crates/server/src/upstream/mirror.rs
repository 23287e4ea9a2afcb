//! Answers of an upstream service: kept current for the channels that are configured, asked for when somebody asks for
//! them for the others, and served with their age while upstream is away.
//!
//! All answers together take no more than the cap `mirror_bytes`; channels that nobody configured make room for the
//! others. What is configured and what clients ask for have requests of their own, each with its own deadline, so that
//! neither waits for the other, and channels that answer wait for none that does not (`turns`). Large answers come one
//! at a time, and those of slow channels beside them.

use std::collections::HashMap;
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use bytes::Bytes;
use clearway_core::{Arch, CapExceeded, Digest, EntityTag, GraphLimits, Limits, Timestamp};
use clearway_graph::{Graph, wire};
use clearway_sources::service::{self, ServiceError};
use http::HeaderValue;
use tokio::runtime::Handle;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::{Instant, timeout, timeout_at};

use crate::data::body::Body;
use crate::data::publication::header;
use crate::metrics::Metrics;
use crate::request::query::Field;
use crate::upstream::stored_answers::{StoredAnswer, StoredAnswers};
use crate::upstream::turns::{NoTurn, Pace, Turns, wait_for};

/// Answers that are kept. Channels that nobody configured make room for each other.
const MAX_ANSWERS: usize = 1024;
/// Channels without an answer that clients wait for at one time.
const WAITED_FOR: usize = 1024;
/// How long a request that a client asked for waits for its turn.
const TURN: Duration = Duration::from_secs(10);
/// How long a client waits for the first answer of a channel.
const FIRST_ANSWER: Duration = Duration::from_mins(1);
/// How long configured channels are waited for before those that answered are asked again.
const ROUND: Duration = Duration::from_mins(1);
/// Bytes of an answer up to which it comes and is read beside others. The largest public one has half of it.
const SMALL: u64 = 1 << 20;
/// Small answers that are read at one time.
const READ_AT_ONCE: usize = 2;
/// How long upstream is left alone after it failed.
const PAUSE: Duration = Duration::from_secs(10);

/// Findings about one answer that are told one by one.
const MOST_TOLD: usize = 20;

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
#[error("`{0}` is not a channel; write CHANNEL or CHANNEL/ARCH, such as stable-1.5 or stable-1.5/arm64")]
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
    /// The answer for an architecture that none can have.
    nobody: Arc<Mirrored>,
    /// Where requests to upstream are made, whichever thread waits for them.
    runtime: Handle,
}

#[derive(Debug)]
struct Shared {
    upstream: service::Service,
    configured: Vec<Scope>,
    entries: Mutex<HashMap<Scope, Arc<Entry>>>,
    caps: GraphLimits,
    /// How long an answer is not asked for again.
    fresh: Duration,
    kept: Option<StoredAnswers>,
    metrics: Metrics,
    clock: fn() -> Timestamp,
    patience: Duration,
    for_configured: Turns,
    for_others: Turns,
    waited_for: Arc<Semaphore>,
    /// Held while a large answer comes and is read, of a channel that answers in time.
    large: Semaphore,
    /// Held while one comes and is read of another channel.
    slow_large: Semaphore,
    /// Held while a small answer is read.
    reading: Semaphore,
    /// Held while a large answer is read, or a revision of our own is prepared.
    heavy: Arc<Semaphore>,
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
    pub kept: Option<StoredAnswers>,
    /// How much of an answer is read, and how many bytes all of them may take.
    pub limits: GraphLimits,
    /// How long a client that could have an older answer waits for a newer one. A channel that takes longer is slow, and
    /// no other waits for it.
    pub patience: Duration,
}

impl MirrorOptions {
    /// The usual patience.
    pub const PATIENCE: Duration = Duration::from_secs(2);
}

/// What is known of one answer.
#[derive(Debug, Default)]
struct Entry {
    answer: ArcSwapOption<Mirrored>,
    /// Held while upstream is asked, so that it is asked once.
    attempt: tokio::sync::Mutex<Attempt>,
    used: AtomicI64,
    /// Whether the last answer was a large one.
    large: AtomicBool,
}

#[derive(Debug, Default)]
struct Attempt {
    pace: Pace,
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
    validator: Option<EntityTag>,
}

impl Mirrored {
    /// An answer as it is served: with `room`, in every coding.
    fn new(graph: &Graph, validator: Option<EntityTag>, confirmed: Timestamp, asked: Timestamp, room: bool) -> Self {
        let bytes = wire::write(graph);
        let digest = Digest::sha256(&bytes);
        let packed = Body::packed(bytes, &digest);
        Mirrored {
            body: Arc::new(if room { packed.unfolded(&digest, &|_| true) } else { packed }),
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
        let MirrorOptions { upstream, configured, fresh, kept, limits, patience } = options;
        let nobody = Arc::new(Mirrored::new(&Graph::default(), None, clock(), clock(), true));
        let shared = Shared {
            upstream,
            entries: Mutex::new(configured.iter().map(|scope| (scope.clone(), Arc::default())).collect()),
            configured,
            caps: limits,
            fresh,
            kept,
            metrics,
            clock,
            patience,
            // Nobody waits for a request of the loop: each configured channel has its turn at last.
            for_configured: Turns::new(patience, None),
            for_others: Turns::new(patience, Some(TURN)),
            waited_for: Arc::new(Semaphore::new(WAITED_FOR)),
            large: Semaphore::new(1),
            slow_large: Semaphore::new(1),
            reading: Semaphore::new(READ_AT_ONCE),
            heavy: Arc::new(Semaphore::new(1)),
        };
        shared.load();
        Mirror { shared: Arc::new(shared), nobody, runtime }
    }

    /// What whoever prepares much of anything holds meanwhile.
    pub(crate) fn preparation_limit(&self) -> Arc<Semaphore> {
        Arc::clone(&self.shared.heavy)
    }

    /// Whether every configured answer is known; without configured ones there is nothing to wait for.
    pub(crate) fn is_ready(&self) -> bool {
        let entries = self.shared.entries();
        self.shared.configured.iter().all(|scope| entries.get(scope).is_some_and(|entry| entry.answer.load().is_some()))
    }

    /// Asks upstream for every configured answer; says how many are now current. Requests that take long go on, and are
    /// not made twice.
    pub async fn refresh(&self) -> (usize, usize) {
        let asked = self.shared.configured.iter().filter_map(|scope| {
            let (entry, shared, scope) = (self.shared.entry(scope), Arc::clone(&self.shared), scope.clone());
            let under_way = entry.attempt.try_lock().is_err();
            (!under_way).then(|| self.runtime.spawn(async move { shared.ask(&scope, &entry, false).await }))
        });
        let (asked, end) = (asked.collect::<Vec<_>>(), Instant::now() + ROUND);
        let mut current = 0;
        for asked in asked {
            current += usize::from(matches!(timeout_at(end, asked).await, Ok(Ok(Ok(())))));
        }
        (current, self.shared.configured.len())
    }

    /// The answer for a channel and an architecture; why there is none.
    pub(crate) async fn answer(&self, channel: &str, arch: &str) -> Result<Arc<Mirrored>, String> {
        let Ok(arch) = arch.parse::<Arch>() else { return Ok(Arc::clone(&self.nobody)) };
        let scope = Scope { channel: channel.to_owned(), arch };
        let entry = self.shared.entry(&scope);
        let now = (self.shared.clock)();
        entry.used.store(now.as_seconds(), Ordering::Relaxed);
        let known = entry.answer.load_full();
        if let Some(known) = &known {
            let fresh = known.is_fresh(now, self.shared.fresh);
            // Whoever keeps the answer current is at work already, or will be: nobody waits for that.
            if fresh || self.shared.configured.contains(&scope) || entry.attempt.try_lock().is_err() {
                return Ok(Arc::clone(known));
            }
        }
        let Some(known) = known else {
            let first = timeout(FIRST_ANSWER, self.first_answer(scope, &entry)).await;
            return first.unwrap_or_else(|_| Err("no answer within a minute".to_owned()));
        };
        let shared = Arc::clone(&self.shared);
        let asked = self.runtime.spawn({
            let entry = Arc::clone(&entry);
            async move { shared.ask(&scope, &entry, true).await }
        });
        // The request goes on without the client, for the next one.
        let _ = timeout(self.shared.patience, asked).await;
        Ok(entry.answer.load_full().unwrap_or(known))
    }

    /// The answer for what has none yet.
    async fn first_answer(&self, scope: Scope, entry: &Arc<Entry>) -> Result<Arc<Mirrored>, String> {
        // A request that is under way is waited for here, and not in one more task for each client.
        drop(entry.attempt.lock().await);
        if let Some(answer) = entry.answer.load_full() {
            return Ok(answer);
        }
        let waited_for = Arc::clone(&self.shared.waited_for).try_acquire_owned().map_err(|_| NoTurn)?;
        let asked = self.runtime.spawn({
            let (shared, entry) = (Arc::clone(&self.shared), Arc::clone(entry));
            async move {
                let _waited_for = waited_for;
                shared.ask(&scope, &entry, true).await
            }
        });
        let outcome = asked.await.unwrap_or_else(|error| Err(error.to_string()));
        entry.answer.load_full().ok_or_else(|| outcome.err().unwrap_or_default())
    }
}

impl Shared {
    fn entries(&self) -> MutexGuard<'_, HashMap<Scope, Arc<Entry>>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes in what was kept before the restart, one answer at a time.
    fn load(&self) {
        let Some(kept) = &self.kept else { return };
        for scope in kept.list() {
            let full = {
                let entries = self.entries();
                entries.len() >= MAX_ANSWERS && !entries.contains_key(&scope)
            };
            let now = (self.clock)();
            let answer = if full { None } else { kept.read(&scope, self.caps.answer_bytes, now) };
            let prepared = answer.and_then(|StoredAnswer { bytes, validator, confirmed }| {
                prepare(&self.caps, &bytes, validator, (confirmed, Timestamp::EPOCH), self.has_room()).ok()
            });
            let stored = prepared.is_some_and(|mirrored| {
                let entry = self.entry(&scope);
                // Upstream has answered for it once.
                if let Ok(mut attempt) = entry.attempt.try_lock() {
                    attempt.pace = Pace::Answered;
                }
                self.store(&scope, &entry, mirrored).is_ok()
            });
            if !stored {
                kept.forget(&scope);
            }
        }
        self.metrics.record_mirrored(self.entries().len());
    }

    fn entry(&self, scope: &Scope) -> Arc<Entry> {
        let mut entries = self.entries();
        if let Some(entry) = entries.get(scope) {
            return Arc::clone(entry);
        }
        if entries.len() >= MAX_ANSWERS {
            self.make_room(&mut entries, scope, |_| true);
        }
        let entry: Arc<Entry> = Arc::default();
        entries.insert(scope.clone(), Arc::clone(&entry));
        self.metrics.record_mirrored(entries.len());
        entry
    }

    /// Takes away the answer that was not used for the longest time, of those that nobody configured; false if there is
    /// none.
    fn make_room(
        &self,
        entries: &mut HashMap<Scope, Arc<Entry>>,
        for_scope: &Scope,
        counts: impl Fn(&Entry) -> bool,
    ) -> bool {
        let oldest = entries
            .iter()
            .filter(|(scope, entry)| *scope != for_scope && !self.configured.contains(scope) && counts(entry))
            .min_by_key(|(scope, entry)| (entry.used.load(Ordering::Relaxed), *scope))
            .map(|(scope, _)| scope.clone());
        let Some(oldest) = oldest else { return false };
        entries.remove(&oldest);
        if let Some(kept) = &self.kept {
            kept.forget(&oldest);
        }
        true
    }

    /// The bytes of all answers but that of a scope.
    fn size_without(entries: &HashMap<Scope, Arc<Entry>>, scope: &Scope) -> u64 {
        let size = |entry: &Entry| entry.answer.load().as_ref().map_or(0, |answer| answer.body.size() as u64);
        entries.iter().filter(|(other, _)| *other != scope).map(|(_, entry)| size(entry)).sum()
    }

    /// Whether answers are kept in every coding: as long as they take less than half of what they may.
    fn has_room(&self) -> bool {
        let entries = self.entries();
        let nobody = Scope { channel: String::new(), arch: Arch::default() };
        Self::size_without(&entries, &nobody) < self.caps.mirror_bytes / 2
    }

    /// Serves an answer from now on. Others make room for it; if that is not enough, why it is not served.
    fn store(&self, scope: &Scope, entry: &Entry, mut mirrored: Mirrored) -> Result<(), CapExceeded> {
        let limit = self.caps.mirror_bytes;
        let mut entries = self.entries();
        if Self::size_without(&entries, scope).saturating_add(mirrored.body.size() as u64) > limit {
            mirrored.body = Arc::new(mirrored.body.folded());
        }
        let size = mirrored.body.size() as u64;
        let has_answer = |entry: &Entry| entry.answer.load().is_some();
        while Self::size_without(&entries, scope).saturating_add(size) > limit {
            if !self.make_room(&mut entries, scope, has_answer) {
                return Err(CapExceeded { cap: "mirror_bytes", limit, what: "bytes in all mirrored answers" });
            }
        }
        entry.answer.store(Some(Arc::new(mirrored)));
        self.metrics.record_mirrored(entries.len());
        Ok(())
    }

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
        let turns = if patient { &self.for_others } else { &self.for_configured };
        let mut pace = attempt.pace;
        let request = self.fetch(scope, entry, known.as_deref(), (pace, turns.wait()));
        let outcome = match turns.take(&mut pace, request).await {
            Ok(((answer, _large), _turn)) => self.take_in(scope, entry, known.as_deref(), answer).await,
            Err(failure) => Err(failure),
        };
        self.metrics.record_upstream_request(if outcome.is_ok() { "answered" } else { "failed" });
        match &outcome {
            Ok(()) => *attempt = Attempt { pace, ..Attempt::default() },
            Err(failure) => {
                tracing::warn!(channel = scope.channel, arch = scope.arch.as_str(), failure, "upstream did not answer");
                *attempt = Attempt { pace, not_before: Some((self.clock)().plus(PAUSE)), failure: failure.clone() };
            }
        }
        outcome
    }

    /// Has an answer sent; with it comes what is held until a large one is read.
    async fn fetch(
        &self,
        scope: &Scope,
        entry: &Entry,
        known: Option<&Mirrored>,
        (pace, wait): (Pace, Option<Duration>),
    ) -> Result<(service::Answer, Option<SemaphorePermit<'_>>), String> {
        let validator = known.and_then(|known| known.validator.as_ref());
        let ask = |most: u64| self.upstream.answer_within(&scope.channel, &scope.arch, validator, most);
        let was_large = entry.large.load(Ordering::Relaxed);
        let small = if was_large { None } else { Some(ask(SMALL).await) };
        // A large answer is asked for again when it is its turn: so one at a time is held.
        let (answer, large) = match small {
            Some(answer) if !matches!(answer, Err(ServiceError::TooLarge { .. })) => (answer, None),
            _ => {
                let ask = || ask(self.caps.answer_bytes as u64);
                let (answer, turn) = self.ask_for_large(ask, pace, wait).await?;
                (answer, Some(turn))
            }
        };
        Ok((answer.map_err(|error| error.to_string())?, large))
    }

    /// Reads an answer, and serves it from now on.
    async fn take_in(
        &self,
        scope: &Scope,
        entry: &Entry,
        known: Option<&Mirrored>,
        answer: service::Answer,
    ) -> Result<(), String> {
        let now = (self.clock)();
        match answer {
            service::Answer::NotModified { age } => {
                let Some(known) = known else { return Ok(()) };
                let confirmed = now.minus(age.unwrap_or_default());
                // What was known to be current once stays known.
                let before = known.confirmed.fetch_max(confirmed.as_seconds(), Ordering::Relaxed);
                known.asked.store(now.as_seconds(), Ordering::Relaxed);
                if before < confirmed.as_seconds() {
                    self.keep(|answers| answers.confirm(scope, confirmed, self.caps.answer_bytes));
                }
            }
            service::Answer::Body { bytes, validator, age } => {
                let is_large = bytes.len() as u64 > SMALL;
                entry.large.store(is_large, Ordering::Relaxed);
                let turns = if is_large { &*self.heavy } else { &self.reading };
                let _turn = turns.acquire().await.map_err(|error| error.to_string())?;
                let confirmed = now.minus(age.unwrap_or_default());
                let kept = StoredAnswer { bytes, validator, confirmed };
                let prepared = tokio::task::spawn_blocking({
                    let (caps, kept, room) = (self.caps.clone(), kept.clone(), self.has_room());
                    move || prepare(&caps, &kept.bytes, kept.validator, (kept.confirmed, now), room)
                });
                let mirrored = prepared.await.map_err(|error| error.to_string())??;
                self.store(scope, entry, mirrored).map_err(|above| above.to_string())?;
                self.keep(|answers| answers.save(scope, &kept));
            }
        }
        Ok(())
    }

    /// Asks for a large answer when it is its turn. A channel that has answered in time waits for no other; if it takes
    /// long now, it is asked again with the others.
    async fn ask_for_large<F: Future>(
        &self,
        ask: impl Fn() -> F,
        pace: Pace,
        wait: Option<Duration>,
    ) -> Result<(F::Output, SemaphorePermit<'_>), NoTurn> {
        if pace == Pace::Answered {
            let turn = wait_for(&self.large, wait).await?;
            if let Ok(answer) = timeout(self.patience, ask()).await {
                return Ok((answer, turn));
            }
        }
        let turn = wait_for(&self.slow_large, wait).await?;
        Ok((ask().await, turn))
    }

    fn keep(&self, write: impl FnOnce(&StoredAnswers) -> std::io::Result<()>) {
        if let Some(Err(error)) = self.kept.as_ref().map(write) {
            tracing::warn!(%error, "cannot save an answer of upstream for the next start");
        }
    }
}

/// Reads an answer and makes our own of it: what cannot be read in it is left out or made impossible to recommend, and
/// everybody below gets it in the same order and the same words.
///
/// The times are when upstream was last known to give it, and when it was last asked.
fn prepare(
    caps: &GraphLimits,
    bytes: &Bytes,
    validator: Option<EntityTag>,
    (confirmed, asked): (Timestamp, Timestamp),
    room: bool,
) -> Result<Mirrored, String> {
    let reading = wire::read(bytes, &Limits { graph: caps.clone(), ..Limits::default() });
    let Some(graph) = reading.graph else {
        let why = reading.diagnostics.first().map_or("it is not a graph", |diagnostic| &diagnostic.message);
        return Err(format!("the answer cannot be read: {why}"));
    };
    for diagnostic in reading.diagnostics.iter().take(MOST_TOLD) {
        tracing::warn!(code = %diagnostic.code, path = diagnostic.place.path, "in upstream's answer: {}", diagnostic.message);
    }
    let more = reading.diagnostics.len().saturating_sub(MOST_TOLD);
    if more > 0 {
        tracing::warn!("in upstream's answer: {more} more findings");
    }
    Ok(Mirrored::new(&graph, validator, confirmed, asked, room))
}

#[cfg(test)]
mod tests;
