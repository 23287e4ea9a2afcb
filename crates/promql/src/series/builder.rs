//! Fills a store: labels first, then samples, in any order.

use std::cmp::Ordering;

use super::sets::{Pair, SetId, Sets, hash_of};
use super::symbols::{EMPTY, Symbol, Symbols};
use super::{Column, Labels, Metrics, Series, is_histogram, is_stale, metric_in};

/// How much a store takes before it refuses more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capacity {
    /// Series.
    pub series: usize,
    /// Samples of all series.
    pub samples: usize,
    /// Bytes of all texts of labels, each counted once.
    pub bytes: usize,
}

impl Default for Capacity {
    /// A million series, fifty million samples, 256 MiB of labels.
    fn default() -> Self {
        Capacity { series: 1_000_000, samples: 50_000_000, bytes: 256 << 20 }
    }
}

/// Why a series or sample is not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// More series than the capacity.
    #[error("There are more than {0} series.")]
    TooManySeries(usize),
    /// More samples than the capacity.
    #[error("There are more than {0} samples.")]
    TooManySamples(usize),
    /// More text than the capacity.
    #[error("The labels have more than {0} bytes.")]
    TooMuchText(usize),
    /// A label stands twice in one series.
    #[error("The label `{0}` occurs twice in one series.")]
    LabelTwice(String),
    /// A series has two values at one time.
    #[error("{series} has two values at {time} ms.")]
    TwoValues {
        /// The series.
        series: Labels,
        /// The time.
        time: i64,
    },
}

/// Samples of one series that came one after the other.
#[derive(Debug, Clone, Copy)]
struct Run {
    set: SetId,
    times: usize,
    values: usize,
    length: usize,
}

/// Takes labels and samples and makes a [`Series`] of them.
#[derive(Debug)]
pub struct Builder {
    capacity: Capacity,
    symbols: Symbols,
    sets: Sets,
    labels: Vec<Pair>,
    /// The names of the labels of the series before, sorted: most series look like their neighbours.
    shape: Vec<Symbol>,
    times: Vec<i64>,
    values: Vec<f64>,
    runs: Vec<Run>,
}

impl Default for Builder {
    fn default() -> Self {
        Builder::new(Capacity::default())
    }
}

impl Builder {
    /// An empty one.
    pub fn new(capacity: Capacity) -> Self {
        Builder {
            capacity,
            symbols: Symbols::known(),
            sets: Sets::default(),
            labels: Vec::new(),
            shape: Vec::new(),
            times: Vec::new(),
            values: Vec::new(),
            runs: Vec::new(),
        }
    }

    /// An empty one with room for what a text of so many bytes is likely to hold.
    pub(crate) fn expecting(capacity: Capacity, bytes: usize) -> Self {
        // A series of a cluster has some 150 bytes, half of them texts that no other has, and some ten samples: one every
        // half minute for as long as one is believed.
        let bytes = bytes.min(16 << 20);
        let series = bytes.wrapping_div(150);
        let mut builder = Builder::new(capacity);
        builder.symbols = Symbols::expecting(series.saturating_mul(2), bytes.wrapping_div(2));
        builder.sets = Sets::expecting(series);
        builder.runs.reserve(series);
        builder.times.reserve(series);
        builder.values.reserve(series.saturating_mul(12));
        builder
    }

    /// Adds a label to the series that is about to come; a label with an empty value is none.
    pub fn label(&mut self, name: &str, value: &str) -> Result<(), BuildError> {
        if value.is_empty() {
            return Ok(());
        }
        let full = BuildError::TooMuchText(self.capacity.bytes);
        if self.symbols.bytes().saturating_add(name.len()).saturating_add(value.len()) > self.capacity.bytes {
            return Err(full);
        }
        let likely = self.shape.get(self.labels.len()).filter(|likely| self.symbols.text(**likely) == name);
        let name = likely.copied().or_else(|| self.symbols.intern(name));
        let (Some(name), Some(value)) = (name, self.symbols.intern(value)) else { return Err(full) };
        self.labels.push(Pair { name, value });
        Ok(())
    }

    /// Adds a label that an earlier series had as well.
    pub(crate) fn label_again(&mut self, label: KnownLabel) {
        self.labels.push(label.0);
    }

    /// The label that was added last.
    pub(crate) fn last_label(&self) -> Option<KnownLabel> {
        self.labels.last().copied().map(KnownLabel)
    }

    /// The series with the labels that were added; further labels belong to the next one.
    pub fn series(&mut self) -> Result<SeriesId, BuildError> {
        let mut labels = std::mem::take(&mut self.labels);
        let known = self.set_of(&mut labels);
        labels.clear();
        self.labels = labels;
        known.map(SeriesId)
    }

    fn set_of(&mut self, labels: &mut [Pair]) -> Result<SetId, BuildError> {
        let before = |one: &Pair, other: &Pair| {
            one.name != other.name && self.symbols.text(one.name) < self.symbols.text(other.name)
        };
        let same_shape = labels.iter().map(|label| &label.name).eq(&self.shape);
        if !same_shape && !labels.is_sorted_by(before) {
            labels.sort_by(|one, other| self.symbols.text(one.name).cmp(self.symbols.text(other.name)));
            for pair in labels.windows(2) {
                if let [one, other] = pair
                    && one.name == other.name
                {
                    return Err(BuildError::LabelTwice(self.symbols.text(one.name).to_owned()));
                }
            }
        }
        if !same_shape {
            self.shape.clear();
            self.shape.extend(labels.iter().map(|label| label.name));
        }
        let hash = hash_of(labels);
        if let Some(known) = self.sets.find_hashed(labels, hash) {
            return Ok(known);
        }
        let full = BuildError::TooManySeries(self.capacity.series);
        if self.sets.len() >= self.capacity.series {
            return Err(full);
        }
        self.sets.add(labels, hash).ok_or(full)
    }

    /// Adds a sample, its time in milliseconds since 1970.
    pub fn sample(&mut self, series: SeriesId, time: i64, value: f64) -> Result<(), BuildError> {
        if self.values.len() >= self.capacity.samples {
            return Err(BuildError::TooManySamples(self.capacity.samples));
        }
        match self.runs.last_mut() {
            Some(run) if run.set == series.0 => run.length = run.length.saturating_add(1),
            _ => {
                self.share_times();
                self.runs.push(Run { set: series.0, times: self.times.len(), values: self.values.len(), length: 1 });
            }
        }
        self.times.push(time);
        self.values.push(value);
        Ok(())
    }

    /// Adds samples of one value, the first at `time` and the others in steps behind it.
    pub(crate) fn samples(
        &mut self,
        series: SeriesId,
        (time, step): (i64, i64),
        count: usize,
        value: f64,
    ) -> Result<(), BuildError> {
        let Some(more) = count.checked_sub(1) else { return Ok(()) };
        if self.values.len().saturating_add(count) > self.capacity.samples {
            return Err(BuildError::TooManySamples(self.capacity.samples));
        }
        self.sample(series, time, value)?;
        if let Some(run) = self.runs.last_mut() {
            run.length = run.length.saturating_add(more);
        }
        let mut last = time;
        self.times.extend(std::iter::repeat_n((), more).map(|()| {
            last = last.saturating_add(step);
            last
        }));
        self.values.extend(std::iter::repeat_n(value, more));
        Ok(())
    }

    /// Gives a series the very samples that were added last, if those are `count` samples of one other series. Says
    /// whether they are.
    pub(crate) fn same_samples(&mut self, series: SeriesId, count: usize) -> Result<bool, BuildError> {
        let last = self.runs.last().copied().filter(|last| last.set != series.0 && last.length == count);
        let Some(last) = last else { return Ok(false) };
        if self.values.len().saturating_add(last.length) > self.capacity.samples {
            return Err(BuildError::TooManySamples(self.capacity.samples));
        }
        // The last run may still lose its times to the one before, and then this one has them from there.
        self.share_times();
        let times = self.runs.last().map_or(last.times, |last| last.times);
        let values = self.values.len();
        self.values.extend_from_within(last.values..last.values.saturating_add(last.length));
        self.runs.push(Run { set: series.0, times, values, length: last.length });
        Ok(true)
    }

    /// Series that were scraped together have the same times: the last run forgets its own if the one before has them.
    fn share_times(&mut self) {
        let [.., before, last] = self.runs.as_mut_slice() else { return };
        let of = |run: &Run| self.times.get(run.times..run.times.saturating_add(run.length));
        if before.length == last.length && last.times != before.times && of(before) == of(last) {
            self.times.truncate(last.times);
            last.times = before.times;
        }
    }

    /// The store.
    pub fn finish(mut self) -> Result<Series, BuildError> {
        self.share_times();
        let mut columns = vec![Column::default(); self.sets.len()];
        let mut scattered = false;
        for run in &self.runs {
            let Some(column) = columns.get_mut(run.set as usize) else { continue };
            scattered |= column.length > 0 || !self.is_rising(run);
            *column = Column { times: run.times, values: run.values, length: run.length, special: false };
        }
        if scattered {
            columns = self.gather()?;
        }
        for column in &mut columns {
            let values = self.values.get(column.values..column.values.saturating_add(column.length));
            column.special = values.is_some_and(|values| values.iter().any(|v| is_stale(*v) || is_histogram(*v)));
        }
        let (order, metrics, nameless) = self.index();
        let Builder { symbols, sets, times, values, .. } = self;
        Ok(Series { symbols, sets, columns, times, values, order, metrics, nameless })
    }

    fn is_rising(&self, run: &Run) -> bool {
        let times = self.times.get(run.times..run.times.saturating_add(run.length)).unwrap_or_default();
        times.is_sorted_by(|one, other| one < other)
    }

    /// Puts the samples of each series together and in the order of time.
    fn gather(&mut self) -> Result<Vec<Column>, BuildError> {
        let mut runs = std::mem::take(&mut self.runs);
        runs.sort_by_key(|run| run.set);
        let mut columns = vec![Column::default(); self.sets.len()];
        let mut times = Vec::with_capacity(self.values.len());
        let mut values = Vec::with_capacity(self.values.len());
        for same in runs.chunk_by(|one, other| one.set == other.set) {
            let start = values.len();
            let mut samples: Vec<(i64, f64)> = Vec::new();
            for run in same {
                let end = |start: usize| start.saturating_add(run.length);
                let of_times = self.times.get(run.times..end(run.times)).unwrap_or_default();
                let of_values = self.values.get(run.values..end(run.values)).unwrap_or_default();
                samples.extend(of_times.iter().copied().zip(of_values.iter().copied()));
            }
            samples.sort_by_key(|(time, _)| *time);
            // The same sample twice is no contradiction.
            samples.dedup_by(|later, kept| later.0 == kept.0 && later.1.to_bits() == kept.1.to_bits());
            let Some(set) = same.first().map(|run| run.set) else { continue };
            if let Some([one, _]) = samples.array_windows().find(|[one, other]| one.0 == other.0) {
                return Err(BuildError::TwoValues { series: self.labels_of(set), time: one.0 });
            }
            times.extend(samples.iter().map(|(time, _)| *time));
            values.extend(samples.iter().map(|(_, value)| *value));
            if let Some(column) = columns.get_mut(set as usize) {
                *column = Column { times: start, values: start, length: samples.len(), special: false };
            }
        }
        self.times = times;
        self.values = values;
        Ok(columns)
    }

    fn labels_of(&self, set: SetId) -> Labels {
        let text = |symbol| self.symbols.text(symbol).to_owned();
        Labels::sorted(self.sets.pairs(set).iter().map(|pair| (text(pair.name), text(pair.value))).collect())
    }

    /// All series in the order of their labels, those of each metric, and whether some have none.
    fn index(&self) -> (Vec<SetId>, Metrics, bool) {
        let count = u32::try_from(self.sets.len()).unwrap_or(u32::MAX);
        let mut order: Vec<SetId> = (0..count).collect();
        let compare =
            |one: &SetId, other: &SetId| compare(&self.symbols, self.sets.pairs(*one), self.sets.pairs(*other));
        if !order.is_sorted_by(|one, other| compare(one, other) == Ordering::Less) {
            order.sort_by(compare);
        }
        let metrics = Metrics::new(&order, |set| metric_in(self.sets.pairs(set)));
        let nameless = metrics.together.contains_key(&EMPTY) || metrics.scattered.contains_key(&EMPTY);
        (order, metrics, nameless)
    }
}

/// A label of a [`Builder`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct KnownLabel(Pair);

/// A series of a [`Builder`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SeriesId(pub(crate) SetId);

/// The order of label sets: label by label, the name of each before its value.
fn compare(symbols: &Symbols, one: &[Pair], other: &[Pair]) -> Ordering {
    for (one, other) in one.iter().zip(other) {
        if one.name != other.name {
            return symbols.text(one.name).cmp(symbols.text(other.name));
        }
        if one.value != other.value {
            return symbols.text(one.value).cmp(symbols.text(other.value));
        }
    }
    one.len().cmp(&other.len())
}
