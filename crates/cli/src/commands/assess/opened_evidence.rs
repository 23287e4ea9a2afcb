//! The evidence that the command line names: a snapshot, a live cluster and its Prometheus, or metrics in a file.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Result, bail};
use clearway_advice::evidence::{
    Evidence, FailureClass, ObjectAnswer, ObjectQuestion, Question, Record, RecordedEvidence, Reply, Snapshot,
};
use clearway_advice::{Plan, RiskProof, Verdict};
use clearway_catalog::{Detection, Product};
use clearway_core::{Timestamp, humanize};
use clearway_operator::release_violations::constraints_of;
use clearway_promql::Series;
use clearway_promql::eval::Value;
use clearway_sources::clock;
use clearway_sources::collector::{ObjectLimits, object_answers};
use clearway_sources::kubernetes::ClusterError;

use super::cluster::{CLUSTER, ClusterClient, ClusterInfo};
use super::prometheus_evidence;
use super::release_reader::ReleaseReader;
use super::snapshot_evidence::{self, SnapshotEvidence};
use crate::arguments::{AsOf, EvidenceSource, EvidenceTime, ServiceTrust};
use crate::commands::promql::series;
use crate::output;

/// Where the evidence is.
pub(crate) struct OpenedEvidence<'o> {
    options: &'o EvidenceSource,
    trust: &'o ServiceTrust,
    kept: Option<SnapshotEvidence>,
    connected: Option<ClusterClient>,
    /// Why the cluster cannot be reached, where the rest can be assessed without it.
    unreachable_cluster: Option<String>,
    /// The way to releases, where the command has one.
    releases: Option<ReleaseReader>,
}

impl<'o> OpenedEvidence<'o> {
    /// Opens what the options name, and finds the cluster as `kubectl` does unless a file takes its place.
    pub(crate) fn open(options: &'o EvidenceSource, trust: &'o ServiceTrust) -> Result<Self> {
        let is_file = options.snapshot.is_some() || options.series.is_some();
        OpenedEvidence::connected(options, trust, !is_file || options.cluster.connection.is_named())
    }

    /// Opens what the options name, and nothing else.
    pub(crate) fn named(options: &'o EvidenceSource, trust: &'o ServiceTrust) -> Result<Self> {
        OpenedEvidence::connected(options, trust, options.cluster.connection.is_named())
    }

    /// Opens what the options name, and finds the cluster as `kubectl` does unless a snapshot takes its place: the versions of
    /// products are found in its objects, also where metrics are read from a file.
    pub(crate) fn for_products(options: &'o EvidenceSource, trust: &'o ServiceTrust) -> Result<Self> {
        OpenedEvidence::connected(options, trust, options.snapshot.is_none())
    }

    /// Which versions of products the cluster runs.
    pub(crate) fn installed(&self, products: &[&Product]) -> Result<Vec<Detection>> {
        if let Some(kept) = &self.kept {
            return Ok(kept.installed(products));
        }
        match self.cluster() {
            Ok(connected) => Ok(connected.installed(products)),
            Err(reason) => bail!("the versions of products are found in a cluster or a snapshot: {reason}"),
        }
    }

    fn connected(options: &'o EvidenceSource, trust: &'o ServiceTrust, needs_cluster: bool) -> Result<Self> {
        let access = &options.cluster;
        if options.time.as_of == Some(AsOf::Capture) && options.snapshot.is_none() && options.series.is_none() {
            bail!("--as-of snapshot needs --snapshot or --series");
        }
        let kept =
            options.snapshot.as_deref().map(|path| snapshot_evidence::read(path, access.shared_store)).transpose()?;
        let mut given =
            OpenedEvidence { options, trust, kept, connected: None, unreachable_cluster: None, releases: None };
        if needs_cluster {
            match ClusterClient::open(&access.connection) {
                Ok(connected) => given.connected = connected,
                // Without the cluster only its objects are not known, if its version was named.
                Err(error) if access.version.is_some() && is_unreachable(&error) => {
                    let sentence = format!("{error}.");
                    output::print_problem!("{}", output::printable(&sentence));
                    given.unreachable_cluster = Some(sentence);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(given)
    }

    /// The same evidence, with the values of objects that the user owns in proofs; those of a live cluster are never shown.
    pub(crate) fn showing_values(self) -> Self {
        OpenedEvidence { kept: self.kept.map(SnapshotEvidence::showing_values), ..self }
    }

    /// The same evidence, which also fetches releases that rules ask about.
    pub(crate) fn with_releases(self, releases: ReleaseReader) -> Self {
        OpenedEvidence { releases: Some(releases), ..self }
    }

    /// Whether anything is named that could say something about a cluster.
    pub(crate) fn is_any(&self) -> bool {
        let EvidenceSource { cluster, series, .. } = self.options;
        self.kept.is_some()
            || self.connected.is_some()
            || self.unreachable_cluster.is_some()
            || series.is_some()
            || cluster.prometheus.url.is_some()
            || cluster.cluster_id.is_some()
    }

    /// What the cluster says about itself.
    pub(crate) fn about(&self) -> Result<ClusterInfo> {
        match (&self.kept, &self.connected) {
            (Some(kept), _) => Ok(kept.about()),
            (None, Some(connected)) => connected.about(),
            (None, None) => Ok(ClusterInfo::default()),
        }
    }

    /// The snapshot that takes the place of a cluster.
    pub(crate) fn snapshot(&self) -> Option<&Path> {
        self.options.snapshot.as_deref()
    }

    /// Why evidence of this time cannot be used: it is too old (U16).
    pub(crate) fn stale(&self, captured: Timestamp) -> Option<String> {
        let EvidenceTime { as_of, max_age } = self.options.time;
        let age = AsOf::time(as_of, captured, clock::now()).since(captured);
        (age > max_age).then(|| format!("the snapshot is {} old, more than --max-age allows", humanize(age)))
    }

    /// The cluster, to look at things that no rule asks about; or why it cannot be looked at.
    pub(crate) fn cluster(&self) -> Result<&ClusterClient, String> {
        match (&self.connected, &self.unreachable_cluster) {
            (Some(connected), _) => Ok(connected),
            (None, Some(reason)) => Err(reason.clone()),
            (None, None) => Err("no cluster is configured; pass --kubeconfig".to_owned()),
        }
    }

    /// Finds out what a plan has to know, and works with it; the time is that of the assessment.
    pub(crate) fn evaluate<T>(
        &self,
        plan: &Plan,
        id: Option<&str>,
        work: impl FnOnce(&dyn Evidence, Timestamp) -> T,
    ) -> Result<T> {
        let (options, access) = (self.options, &self.options.cluster);
        if let Some(kept) = &self.kept {
            let now = self.time(kept.taken_at(), clock::now());
            return Ok(work(kept, now));
        }
        let objects = self.objects(plan);
        let store_id = id.filter(|_| access.shared_store);
        if let Some(prometheus) = access.prometheus.client(self.trust.ca.file.clone())? {
            let at = AsOf::named(options.time.as_of);
            let evidence =
                RecordedEvidence { objects, ..prometheus_evidence::run_queries(plan, &prometheus, at, id, store_id)? };
            return Ok(work(&evidence, at.unwrap_or_else(clock::now)));
        }
        let metrics = Metrics::read(options)?;
        let series = Snapshot {
            series: metrics.series.as_ref(),
            cluster_id: id,
            store_id,
            format: options.series_format.named(),
            ..Snapshot::empty(metrics.taken_at, &metrics.name)
        };
        let objects = RecordedEvidence { objects, ..RecordedEvidence::default() };
        let now = self.time(metrics.taken_at, clock::now());
        Ok(work(&FileAndCluster { series, objects }, now))
    }

    /// The time that evidence of a time is judged at. Where that makes it too old, it is said how to replay it.
    fn time(&self, captured: Timestamp, now: Timestamp) -> Timestamp {
        let (as_of, max_age) = (self.options.time.as_of, self.options.time.max_age);
        let time = AsOf::time(as_of, captured, now);
        if as_of.is_none() && time.since(captured) > max_age {
            output::print_note!(
                "the evidence is {} old, more than --max-age {}; --as-of snapshot evaluates it at {captured}",
                humanize(time.since(captured)),
                humanize(max_age),
            );
        }
        time
    }

    /// What the objects of the cluster say, if there is one.
    fn objects(&self, plan: &Plan) -> Option<BTreeMap<String, Record<ObjectAnswer>>> {
        if let Some(connected) = &self.connected {
            return Some(look(plan, connected, self.releases.as_ref()));
        }
        let why = self.unreachable_cluster.as_ref()?;
        let questions = plan.object_questions().into_iter().chain(plan.release_questions());
        let failed = |text: &str| (text.to_owned(), Record::failed(FailureClass::Unreachable, why));
        Some(questions.map(|(question, _)| failed(question.text())).collect())
    }

    /// Says on standard error which sources could not be reached, and why. True if a risk is not known because of that.
    pub(crate) fn report_unreachable<'p>(&self, risks: impl IntoIterator<Item = &'p RiskProof>) -> bool {
        let (mut sentences, mut is_needed) = (BTreeSet::new(), false);
        for risk in risks {
            for rule in risk.unreachable() {
                is_needed |= risk.verdict == Verdict::Unknown;
                sentences.extend(rule.why.as_deref());
            }
        }
        // That of the cluster was said when it was connected to.
        for sentence in sentences.into_iter().filter(|said| Some(*said) != self.unreachable_cluster.as_deref()) {
            output::print_problem!("{}", output::printable(sentence));
        }
        is_needed
    }
}

/// Whether a cluster is configured that does not answer.
fn is_unreachable(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(ClusterError::Unreachable { .. }))
}

/// Metrics of a file beside the objects of a live cluster.
struct FileAndCluster<'s> {
    series: Snapshot<'s>,
    objects: RecordedEvidence,
}

impl Evidence for FileAndCluster<'_> {
    fn promql(&self, question: &Question, samples: u64) -> Reply<Value> {
        self.series.promql(question, samples)
    }

    fn objects(&self, question: &ObjectQuestion, steps: u64) -> Reply<ObjectAnswer> {
        self.objects.objects(question, steps)
    }

    fn cluster_id(&self) -> Option<&str> {
        self.series.cluster_id()
    }

    fn store_id(&self) -> Option<&str> {
        self.series.store_id()
    }
}

/// What the objects of a live cluster say.
fn look(
    plan: &Plan,
    connected: &ClusterClient,
    releases: Option<&ReleaseReader>,
) -> BTreeMap<String, Record<ObjectAnswer>> {
    let owned = |questions: Vec<(&ObjectQuestion, u64)>| -> Vec<(ObjectQuestion, u64)> {
        questions.into_iter().map(|(question, steps)| (question.clone(), steps)).collect()
    };
    let (questions, about_releases) = (owned(plan.object_questions()), owned(plan.release_questions()));
    let (store, limits) = (connected.store(), ObjectLimits::default());
    connected.runtime.block_on(async {
        let reader = ReleaseReader::default();
        let evaluator = releases.unwrap_or(&reader).evaluator();
        // Before objects are read: a registry must not learn how long that takes.
        let fetched = evaluator.fetch(constraints_of(&about_releases)).await;
        let mut records = object_answers(&store, questions, &limits, clock::now, CLUSTER, || ()).await;
        if !about_releases.is_empty() {
            records.extend(evaluator.answers(&store, &about_releases, fetched, clock::now(), CLUSTER).await);
        }
        records
    })
}

/// The metrics that were given, if any were.
struct Metrics {
    series: Option<Series>,
    /// When the newest of them was seen; the present without any.
    taken_at: Timestamp,
    name: String,
}

impl Metrics {
    fn read(options: &EvidenceSource) -> Result<Self> {
        let now = AsOf::named(options.time.as_of).unwrap_or_else(clock::now);
        let Some(path) = &options.series else {
            return Ok(Metrics { series: None, taken_at: now, name: String::new() });
        };
        let name = path.display().to_string();
        let series = series::open(path, options.series_format, now)?;
        let newest = series.iter().filter_map(|(_, samples)| samples.times.last().copied()).max();
        let taken_at = newest.and_then(|millis| Timestamp::from_seconds(millis.div_euclid(1_000)).ok()).unwrap_or(now);
        Ok(Metrics { series: Some(series), taken_at, name })
    }
}
