//! What the service counts: requests by path and code, refusals by kind, and the state of the data behind it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use clearway_core::{Diagnostic, Timestamp};
use http::StatusCode;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};

use crate::data::publication::Publication;

/// From "looked up in memory" to "had to ask upstream".
const BUCKETS: [f64; 10] = [0.000_01, 0.000_1, 0.001, 0.005, 0.025, 0.1, 0.25, 1.0, 5.0, 30.0];

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Request {
    path: &'static str,
    code: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Refused {
    kind: &'static str,
    code: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Outcome {
    outcome: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, EncodeLabelSet)]
struct Finding {
    code: String,
    severity: &'static str,
}

/// How often there is what kind of fault in graph-data.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Findings(BTreeMap<Finding, i64>);

impl Findings {
    /// Counts diagnostics.
    pub fn of(diagnostics: &[Diagnostic]) -> Self {
        let mut findings = Findings::default();
        for diagnostic in diagnostics {
            let finding = Finding { code: diagnostic.code.to_string(), severity: diagnostic.severity.as_str() };
            *findings.0.entry(finding).or_default() += 1;
        }
        findings
    }
}

impl Findings {
    /// How many there are of a severity.
    pub(crate) fn count(&self, severity: clearway_core::Severity) -> i64 {
        self.0.iter().filter(|(finding, _)| finding.severity == severity.as_str()).map(|(_, count)| count).sum()
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Served {
    revision: String,
}

/// What came of looking at the source once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefreshResult {
    /// A new revision is served.
    Published,
    /// The source holds what is served.
    Unchanged,
    /// The source holds something that is not to be served.
    Refused,
    /// The source could not be read.
    Failed,
}

impl RefreshResult {
    const ALL: [RefreshResult; 4] =
        [RefreshResult::Published, RefreshResult::Unchanged, RefreshResult::Refused, RefreshResult::Failed];

    fn name(self) -> &'static str {
        match self {
            RefreshResult::Published => "published",
            RefreshResult::Unchanged => "unchanged",
            RefreshResult::Refused => "refused",
            RefreshResult::Failed => "failed",
        }
    }
}

/// Counters and gauges. A clone counts into the same ones.
#[derive(Debug, Clone)]
pub struct Metrics {
    registry: Arc<Registry>,
    requests: Family<Request, Counter>,
    refusals: Family<Refused, Counter>,
    duration: Histogram,
    connections: Gauge,
    refreshes: Family<Outcome, Counter>,
    stale: Gauge,
    findings: Family<Finding, Gauge>,
    revision: Family<Served, Gauge>,
    confirmed: Gauge<f64, AtomicU64>,
    releases: Gauge,
    channels: Gauge,
    bytes: Gauge,
    upstream: Family<Outcome, Counter>,
    mirrored: Gauge,
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl Metrics {
    /// All at zero.
    pub fn new() -> Self {
        let mut registry = Registry::with_prefix("clearway");
        registry.register("build", "Build information", Info::new([("version", env!("CARGO_PKG_VERSION"))]));
        let mut metrics = Metrics {
            registry: Arc::default(),
            requests: Family::default(),
            refusals: Family::default(),
            duration: Histogram::new(BUCKETS),
            connections: Gauge::default(),
            refreshes: Family::default(),
            stale: Gauge::default(),
            findings: Family::default(),
            revision: Family::default(),
            confirmed: Gauge::default(),
            releases: Gauge::default(),
            channels: Gauge::default(),
            bytes: Gauge::default(),
            upstream: Family::default(),
            mirrored: Gauge::default(),
        };
        let m = &metrics;
        registry.register("http_requests", "Requests answered", m.requests.clone());
        registry.register("http_errors", "Requests refused, by reason", m.refusals.clone());
        registry.register_with_unit(
            "http_request_duration",
            "Time to prepare an answer, without sending it",
            Unit::Seconds,
            m.duration.clone(),
        );
        registry.register("http_connections", "Open connections", m.connections.clone());
        registry.register("refreshes", "Reads of the source of graph-data, by outcome", m.refreshes.clone());
        registry.register(
            "graph_data_stale",
            "1 while the source is unreadable or its graph-data is refused, and the last good revision is served",
            m.stale.clone(),
        );
        registry.register(
            "graph_data_findings",
            "Findings in the graph-data that was read last, served or not",
            m.findings.clone(),
        );
        registry.register("revision", "The revision that is served", m.revision.clone());
        registry.register_with_unit(
            "revision_confirmed_timestamp",
            "When the served revision was last confirmed to be the one of the source",
            Unit::Seconds,
            m.confirmed.clone(),
        );
        registry.register("releases", "Releases in the served revision", m.releases.clone());
        registry.register("channels", "Channels in the served revision", m.channels.clone());
        registry.register_with_unit("bodies", "Size of all prepared bodies", Unit::Bytes, m.bytes.clone());
        registry.register("upstream_requests", "Requests to the upstream service, by outcome", m.upstream.clone());
        registry.register("upstream_answers", "Answers of the upstream service that are stored", m.mirrored.clone());
        // A counter that does not exist yet cannot be alerted on.
        for outcome in RefreshResult::ALL {
            drop(m.refreshes.get_or_create(&Outcome { outcome: outcome.name() }));
        }
        metrics.registry = Arc::new(registry);
        metrics
    }

    /// All of it in the text format that Prometheus reads.
    pub fn text(&self) -> String {
        let mut text = String::new();
        // Writing into a text cannot fail.
        let _ = encode(&mut text, &self.registry);
        text
    }

    /// Counts what came of a look at the source.
    pub fn record_refresh(&self, outcome: RefreshResult) {
        self.refreshes.get_or_create(&Outcome { outcome: outcome.name() }).inc();
        self.stale.set(i64::from(matches!(outcome, RefreshResult::Refused | RefreshResult::Failed)));
    }

    /// Notes what is wrong with the graph-data seen last.
    pub fn record_findings(&self, findings: &Findings) {
        self.findings.clear();
        for (finding, count) in &findings.0 {
            self.findings.get_or_create(finding).set(*count);
        }
    }

    pub(crate) fn record_answer(&self, path: &'static str, status: StatusCode, took: Duration) {
        self.requests.get_or_create(&Request { path, code: status.as_u16() }).inc();
        self.duration.observe(took.as_secs_f64());
    }

    pub(crate) fn record_refusal(&self, kind: &'static str, status: StatusCode) {
        self.refusals.get_or_create(&Refused { kind, code: status.as_u16() }).inc();
    }

    pub(crate) fn record_publication(&self, publication: &Publication) {
        let count = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
        self.revision.clear();
        self.revision.get_or_create(&Served { revision: publication.revision().to_string() }).set(1);
        self.releases.set(count(publication.releases()));
        self.channels.set(count(publication.channels()));
        self.bytes.set(count(publication.size()));
    }

    #[allow(clippy::cast_precision_loss, reason = "a date is far below 2^52 seconds")]
    pub(crate) fn record_confirmation(&self, at: Timestamp) {
        self.confirmed.set(at.as_seconds() as f64);
    }

    pub(crate) fn record_upstream_request(&self, outcome: &'static str) {
        self.upstream.get_or_create(&Outcome { outcome }).inc();
    }

    pub(crate) fn record_mirrored(&self, answers: usize) {
        self.mirrored.set(i64::try_from(answers).unwrap_or(i64::MAX));
    }

    pub(crate) fn connections(&self) -> &Gauge {
        &self.connections
    }
}
