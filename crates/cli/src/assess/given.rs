//! The evidence that was named on the command line: a snapshot, a live cluster and its Prometheus, or metrics in a file.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use clearway_advice::Plan;
use clearway_advice::evidence::{Evidence, ObjectAnswer, ObjectQuestion, Question, Record, Recorded, Reply, Snapshot};
use clearway_core::Timestamp;
use clearway_promql::eval::Value;
use clearway_promql::{Millis, Series};
use clearway_sources::clock;
use clearway_sources::collector::{ObjectLimits, object_answers};

use super::cluster::{About, CLUSTER, Connected};
use super::kept::{self, Kept};
use super::live;
use crate::arguments::{EvidenceSource, Trust};
use crate::output;
use crate::promql::series;

/// Where the evidence is.
pub(crate) struct Given<'o> {
    options: &'o EvidenceSource,
    trust: &'o Trust,
    kept: Option<Kept>,
    connected: Option<Connected>,
}

impl<'o> Given<'o> {
    /// Opens what the options name.
    pub(crate) fn open(options: &'o EvidenceSource, trust: &'o Trust) -> Result<Self> {
        let access = &options.cluster;
        let kept = options.snapshot.as_deref().map(|path| kept::read(path, access.shared_store)).transpose()?;
        Ok(Given { options, trust, kept, connected: Connected::open(access)? })
    }

    /// The same evidence, with the values of objects that the user owns in proofs; those of a live cluster are never shown.
    pub(crate) fn showing_values(self) -> Self {
        Given { kept: self.kept.map(Kept::showing_values), ..self }
    }

    /// Whether anything is named that could say something about a cluster.
    pub(crate) fn is_any(&self) -> bool {
        let EvidenceSource { cluster, series, .. } = self.options;
        self.kept.is_some()
            || self.connected.is_some()
            || series.is_some()
            || cluster.prometheus.is_some()
            || cluster.cluster_id.is_some()
    }

    /// What the cluster says about itself.
    pub(crate) fn about(&self) -> Result<About> {
        match (&self.kept, &self.connected) {
            (Some(kept), _) => Ok(kept.about()),
            (None, Some(connected)) => connected.about(),
            (None, None) => Ok(About::default()),
        }
    }

    /// Finds out what a plan has to know, and works with it; the time is that of the assessment.
    pub(crate) fn judge<T>(
        &self,
        plan: &Plan,
        id: Option<&str>,
        work: impl FnOnce(&dyn Evidence, Timestamp) -> T,
    ) -> Result<T> {
        let options = self.options;
        if let Some(kept) = &self.kept {
            return Ok(work(kept, options.now.unwrap_or(kept.taken_at())));
        }
        let objects = self.connected.as_ref().map(|connected| look(plan, connected));
        if let Some(url) = &options.cluster.prometheus {
            let evidence = Recorded { objects, ..live::ask(plan, url, options, self.trust, id)? };
            return Ok(work(&evidence, options.now.unwrap_or_else(clock::now)));
        }
        let metrics = Metrics::read(options)?;
        // What is kept is assessed as of then, unless a cluster that lives now has a say.
        let present = if objects.is_some() { clock::now() } else { metrics.taken_at };
        let series = Snapshot {
            series: metrics.series.as_ref(),
            cluster_id: id,
            store_id: id.filter(|_| options.cluster.shared_store),
            ..Snapshot::empty(metrics.taken_at, &metrics.name)
        };
        let objects = Recorded { objects, ..Recorded::default() };
        Ok(work(&FileAndCluster { series, objects }, options.now.unwrap_or(present)))
    }
}

/// Metrics of a file beside the objects of a live cluster.
struct FileAndCluster<'s> {
    series: Snapshot<'s>,
    objects: Recorded,
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

/// What the objects of a live cluster say. Why some could not be read is said on standard error too.
fn look(plan: &Plan, connected: &Connected) -> BTreeMap<String, Record<ObjectAnswer>> {
    let questions = plan.object_questions();
    let questions = questions.into_iter().map(|(question, steps)| (question.clone(), steps)).collect();
    let (store, limits) = (connected.store(), ObjectLimits::default());
    let answers = connected.runtime.block_on(object_answers(&store, questions, &limits, clock::now, CLUSTER, || ()));
    let failures = answers.values().filter_map(|record| match record {
        Record::Failed(failure) => Some(failure.message.as_str()),
        _ => None,
    });
    for message in failures.collect::<BTreeSet<_>>() {
        output::print_note!("{}", output::printable(message));
    }
    answers
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
        let now = options.now.unwrap_or_else(clock::now);
        let Some(path) = &options.series else {
            return Ok(Metrics { series: None, taken_at: now, name: String::new() });
        };
        let name = path.display().to_string();
        let bytes = series::input(path)?;
        let at = Millis(now.as_seconds().saturating_mul(1_000));
        let series =
            series::read(&bytes, options.series_format, at).map_err(|error| anyhow::anyhow!("{name}: {error}"))?;
        let newest = series.iter().filter_map(|(_, samples)| samples.times.last().copied()).max();
        let taken_at = newest.and_then(|millis| Timestamp::from_seconds(millis.div_euclid(1_000)).ok()).unwrap_or(now);
        Ok(Metrics { series: Some(series), taken_at, name })
    }
}
