//! The evidence that was named on the command line: a snapshot, a live cluster and its Prometheus, or metrics in a file.

use anyhow::Result;
use clearway_advice::Plan;
use clearway_advice::evidence::{Evidence, Objects, Recorded, Snapshot};
use clearway_core::Timestamp;
use clearway_promql::{Millis, Series};
use clearway_sources::clock;
use clearway_sources::snapshot::Part;

use super::cluster::{About, Connected};
use super::kept::{self, Kept};
use super::{live, objects};
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
        let objects = self.connected.as_ref().and_then(|connected| look(plan, connected));
        if let Some(url) = &options.cluster.prometheus {
            let evidence = Recorded { objects, ..live::ask(plan, url, options, self.trust, id)? };
            return Ok(work(&evidence, options.now.unwrap_or_else(clock::now)));
        }
        let metrics = Metrics::read(options)?;
        // What is kept is assessed as of then, unless a cluster that lives now has a say.
        let present = if objects.is_some() { clock::now() } else { metrics.taken_at };
        let evidence = Snapshot {
            series: metrics.series.as_ref(),
            objects: objects.as_ref(),
            cluster_id: id,
            store_id: id.filter(|_| options.cluster.shared_store),
            ..Snapshot::empty(metrics.taken_at, &metrics.name)
        };
        Ok(work(&evidence, options.now.unwrap_or(present)))
    }
}

/// The objects of a live cluster; nothing if no rule looks at any. What may not be seen is told on standard error.
fn look(plan: &Plan, connected: &Connected) -> Option<Objects> {
    let parts = objects::take(plan, connected);
    for (kind, part) in &parts {
        if let Part::NotCollected { why } = part {
            anstream::eprintln!("rules about {kind} are not evaluated: {}", output::printable(why));
        }
    }
    (!parts.is_empty()).then(|| objects::evidence(&parts, clock::now(), "the cluster", true))
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
