//! The service itself: what is served now, and since when that is known to be current.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use arc_swap::{ArcSwapOption, Guard};
use bytes::Bytes;
use clearway_core::{Digest, Timestamp};
use http::HeaderValue;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::console::graph_console::GraphConsole;
use crate::data::body::Body;
use crate::data::publication::Publication;
use crate::metrics::Metrics;
use crate::request::answer_body::AnswerBody;
use crate::request::openapi;
use crate::upstream::mirror::Mirror;

/// Everything a request may need. One value for all connections.
#[derive(Debug)]
pub struct Service {
    prefix: String,
    max_age: Duration,
    openapi: Body,
    publication: ArcSwapOption<Publication>,
    /// Seconds; when the publication was last known to be what its source holds.
    confirmed: AtomicI64,
    /// Whether there is a source of our own: then channels are only asked for upstream when it is known not to have them.
    has_feed: bool,
    mirror: Option<Mirror>,
    metrics: Metrics,
    clock: fn() -> Timestamp,
    console: Option<GraphConsole>,
    /// One for each body that may be unpacked at one time.
    unpacking: Arc<Semaphore>,
    /// Held while a revision or a large answer of upstream is prepared.
    heavy: Arc<Semaphore>,
}

/// Bodies that are unpacked at one time; more clients wait. Each takes about 100 KiB.
const UNPACKING: usize = 64;

/// How a service answers.
#[derive(Debug, Clone)]
pub struct ServiceOptions {
    /// What comes before `/graph` in an address.
    pub prefix: String,
    /// How long a client or a cache may use an answer before it asks again, counted from when the answer is sent.
    pub max_age: Duration,
    /// Whether graph-data will be published, so that nothing is served of upstream that it may have more to say about.
    pub has_feed: bool,
    /// Whether there is a console, which keeps the revision behind the answers in memory.
    pub console: bool,
}

impl Default for ServiceOptions {
    fn default() -> Self {
        ServiceOptions {
            prefix: "/api/upgrades_info".to_owned(),
            max_age: Duration::from_mins(1),
            has_feed: true,
            console: false,
        }
    }
}

impl Service {
    /// A service that has nothing to serve yet.
    pub fn new(options: &ServiceOptions, mirror: Option<Mirror>, metrics: Metrics, clock: fn() -> Timestamp) -> Self {
        let prefix = match options.prefix.trim_matches('/') {
            "" => String::new(),
            prefix => format!("/{prefix}"),
        };
        let heavy = mirror.as_ref().map_or_else(|| Arc::new(Semaphore::new(1)), Mirror::preparation_limit);
        let openapi = Bytes::from(openapi::description(&prefix));
        let digest = Digest::sha256(&openapi);
        Service {
            prefix,
            max_age: options.max_age,
            openapi: Body::compressed(&openapi, &digest),
            publication: ArcSwapOption::empty(),
            confirmed: AtomicI64::new(0),
            has_feed: options.has_feed,
            mirror,
            metrics,
            clock,
            console: options.console.then(GraphConsole::default),
            unpacking: Arc::new(Semaphore::new(UNPACKING)),
            heavy,
        }
    }

    /// Waits until nobody else prepares anything that takes much memory. Nothing only if the service is gone.
    pub(crate) async fn acquire_preparation(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.heavy).acquire_owned().await.ok()
    }

    /// A body that is unpacked while it is sent, as soon as it is its turn.
    pub(crate) async fn unpack(&self, gzip: Bytes, length: usize) -> AnswerBody {
        // The semaphore is never closed.
        match Arc::clone(&self.unpacking).acquire_owned().await {
            Ok(permit) => AnswerBody::unpacking(gzip, length, permit),
            Err(_) => AnswerBody::whole(""),
        }
    }

    /// Serves a publication from now on, in one step: a request sees the old one or the new one.
    pub fn publish(&self, publication: Arc<Publication>, confirmed: Timestamp) {
        self.metrics.record_publication(&publication);
        self.confirm(confirmed);
        self.publication.store(Some(publication));
    }

    /// Notes that what is served was seen to be what the source holds.
    pub fn confirm(&self, at: Timestamp) {
        self.confirmed.store(at.as_seconds(), Ordering::Relaxed);
        self.metrics.record_confirmation(at);
    }

    /// What is served now.
    pub fn publication(&self) -> Option<Arc<Publication>> {
        self.publication.load_full()
    }

    /// Whether there is anything to serve.
    pub fn is_ready(&self) -> bool {
        (!self.has_feed || self.publication.load().is_some()) && self.mirror.as_ref().is_none_or(Mirror::is_ready)
    }

    /// The counters and gauges.
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// The upstream service that is mirrored.
    pub fn mirror(&self) -> Option<&Mirror> {
        self.mirror.as_ref()
    }

    /// What comes before `/graph` in an address.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// What the console shows of the graph, if there is a console.
    pub(crate) fn console(&self) -> Option<&GraphConsole> {
        self.console.as_ref()
    }

    pub(crate) fn current(&self) -> Guard<Option<Arc<Publication>>> {
        self.publication.load()
    }

    pub(crate) fn confirmed(&self) -> Timestamp {
        Timestamp::from_seconds(self.confirmed.load(Ordering::Relaxed)).unwrap_or(Timestamp::EPOCH)
    }

    pub(crate) fn now(&self) -> Timestamp {
        (self.clock)()
    }

    pub(crate) fn has_feed(&self) -> bool {
        self.has_feed
    }

    pub(crate) fn openapi(&self) -> &Body {
        &self.openapi
    }

    /// `Cache-Control` of an answer with this `Age`. Caches count `max-age` from the same moment as `Age` (RFC 9111, section
    /// 4.2), so the age is added: every answer is fresh for the same time after it was sent, however old its data is.
    pub(crate) fn cache_control(&self, age: Duration) -> HeaderValue {
        let seconds = age.as_secs().saturating_add(self.max_age.as_secs());
        // Digits are always a header.
        HeaderValue::try_from(format!("public, max-age={seconds}"))
            .unwrap_or_else(|_| HeaderValue::from_static("no-cache"))
    }
}

/// As many threads as the machine has processors.
pub(crate) fn processors() -> NonZeroUsize {
    std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN)
}
