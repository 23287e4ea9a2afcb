//! Gathers the raw samples that queries look at, so that they can be evaluated later without the Prometheus.
//!
//! A range selector gives the samples as they were scraped, but leaves out the markers by which Prometheus knows that a
//! series ended. So where a query evaluates the selector as an instant vector, that is asked for too, and a series
//! that has samples but no value gets such a marker: without it, a pod that is gone would seem to be there for another
//! five minutes.

use std::collections::{BTreeMap, BTreeSet};

use clearway_promql::eval::Value;
use clearway_promql::series::{BuildError, Builder, Capacity, STALE};
use clearway_promql::{Labels, Millis, Series};

use super::{Measure, Prometheus, PrometheusError, Window};

/// How much is gathered before the rest is left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CollectLimits {
    /// Series of all windows.
    pub series: usize,
    /// Samples of all windows.
    pub samples: usize,
    /// Bytes of all answers.
    pub bytes: u64,
}

impl Default for CollectLimits {
    /// 100,000 series with 2,000,000 samples in 256 MiB: several times what the rules of a real graph need of a large
    /// cluster.
    fn default() -> Self {
        CollectLimits { series: 100_000, samples: 2_000_000, bytes: 256 << 20 }
    }
}

/// What was gathered.
#[derive(Debug)]
pub struct CollectedSeries {
    /// The series, with a marker where one ended.
    pub series: Series,
    /// The windows that are whole. A selector that is in none of them is not known to have no series.
    pub complete: Vec<Window>,
    /// The windows of which nothing is kept, and why.
    pub left_out: Vec<SkippedWindow>,
}

/// A window of which nothing is kept.
#[derive(Debug)]
pub struct SkippedWindow {
    /// Which.
    pub window: Window,
    /// Why.
    pub why: PrometheusError,
}

type Samples = BTreeMap<Labels, BTreeMap<i64, f64>>;

impl Prometheus {
    /// The raw samples of some windows, within limits; see [`windows`](super::windows). What fails or is too large is
    /// left out by name and does not keep the others from being gathered. `progress` is told how many windows of how
    /// many are done. Fails only if the labels of all together have more text than a store takes.
    pub async fn series_of(
        &self,
        windows: &[Window],
        limits: &CollectLimits,
        progress: &(dyn Fn(usize, usize) + Sync),
    ) -> Result<CollectedSeries, PrometheusError> {
        let (mut all, mut samples, mut bytes) = (Samples::new(), 0, 0);
        let (mut complete, mut left_out) = (Vec::new(), Vec::new());
        for (done, window) in windows.iter().enumerate() {
            progress(done, windows.len());
            let found = self.window(window, limits.bytes, &mut bytes).await;
            match found.and_then(|found| self.merged(&mut all, &mut samples, found, limits)) {
                Ok(()) => complete.push(window.clone()),
                Err(why) => left_out.push(SkippedWindow { window: window.clone(), why }),
            }
        }
        progress(windows.len(), windows.len());
        // All else was counted, and no label stands twice in what came as a set.
        let text = |_| self.too_large(Measure::Bytes, Capacity::default().bytes as u64);
        Ok(CollectedSeries { series: built(&all).map_err(text)?, complete, left_out })
    }

    async fn window(&self, window: &Window, limit: u64, bytes: &mut u64) -> Result<Samples, PrometheusError> {
        let query = format!("{}[{}]", window.selector, Millis(window.width));
        let Value::Matrix(rows) = self.counted(&query, window.end, limit, bytes).await? else {
            return Err(self.not("the answer to a range query is not a matrix"));
        };
        let times = rows.iter().flat_map(|row| row.samples.iter().map(|(time, _)| *time));
        if !self.are_within(window, times) {
            return Err(self.not("the answer has samples outside of the time that was requested"));
        }
        let mut found: Samples = rows.into_iter().map(|row| (row.labels, row.samples.into_iter().collect())).collect();
        if window.instant {
            let Value::Vector(alive) = self.counted(&window.selector, window.end, limit, bytes).await? else {
                return Err(self.not("the answer to a selector is not a vector"));
            };
            let alive: BTreeSet<Labels> = alive.into_iter().map(|sample| sample.labels).collect();
            for (_, samples) in found.iter_mut().filter(|(labels, _)| !alive.contains(labels)) {
                samples.entry(window.end).or_insert(STALE);
            }
        }
        Ok(found)
    }

    /// Whether samples are of a window: none is newer, and none is older by more than the times of answers may differ.
    /// `VictoriaMetrics` ends a window half a minute before now, and begins it as much earlier.
    fn are_within(&self, window: &Window, mut times: impl Iterator<Item = i64>) -> bool {
        let tolerance = i64::try_from(self.options.time_difference.as_millis()).unwrap_or(i64::MAX);
        let begin = window.end.saturating_sub(window.width).saturating_sub(tolerance);
        times.all(|time| (begin..=window.end).contains(&time))
    }

    async fn counted(&self, query: &str, at: i64, limit: u64, bytes: &mut u64) -> Result<Value, PrometheusError> {
        let left = limit.saturating_sub(*bytes);
        match self.instant_at(query, at, left).await {
            Ok((answered, size)) => {
                *bytes = bytes.saturating_add(size);
                Ok(answered.value)
            }
            // The limit that counts is that of all answers.
            Err(PrometheusError::TooLarge { url, measure: Measure::Bytes, limit: reached }) if reached == left => {
                Err(PrometheusError::TooLarge { url, measure: Measure::Bytes, limit })
            }
            Err(error) => Err(error),
        }
    }

    /// Adds a window to the others, wholly or not at all.
    fn merged(
        &self,
        all: &mut Samples,
        total: &mut usize,
        found: Samples,
        limits: &CollectLimits,
    ) -> Result<(), PrometheusError> {
        let new = found.keys().filter(|labels| !all.contains_key(*labels)).count();
        if all.len().saturating_add(new) > limits.series {
            return Err(self.too_large(Measure::Series, limits.series as u64));
        }
        // Samples that are known already count twice: a limit need not be exact, but must hold.
        let added: usize = found.values().map(BTreeMap::len).sum();
        if total.saturating_add(added) > limits.samples {
            return Err(self.too_large(Measure::Samples, limits.samples as u64));
        }
        *total = total.saturating_add(added);
        for (labels, samples) in found {
            let known = all.entry(labels).or_default();
            for (time, value) in samples {
                let kept = known.entry(time).or_insert(value);
                // A sample says more than the marker of another window.
                if clearway_promql::series::is_stale(*kept) {
                    *kept = value;
                }
            }
        }
        Ok(())
    }

    fn not(&self, why: &str) -> PrometheusError {
        PrometheusError::NotAnAnswer { url: self.url.clone(), why: why.to_owned() }
    }
}

fn built(all: &Samples) -> Result<Series, BuildError> {
    let mut builder = Builder::new(Capacity::default());
    for (labels, samples) in all {
        for (name, value) in labels.iter() {
            builder.label(name, value)?;
        }
        let series = builder.series()?;
        samples.iter().try_for_each(|(time, value)| builder.sample(series, *time, *value))?;
    }
    builder.finish()
}
