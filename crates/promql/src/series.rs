//! The store: series with their samples, found by metric and labels.
//!
//! Texts and label sets are stored once and known by numbers, samples stand in columns, and series that were scraped
//! together share the column of their times. Series stand in the order of their labels whatever the order they came
//! in, so that a result does not depend on how its input was written. Fill a [`Builder`], then [`Builder::finish`].

mod builder;
pub(crate) mod hash;
mod labels;
pub(crate) mod sets;
pub(crate) mod symbols;

pub(crate) use builder::KnownLabel;
pub use builder::{BuildError, Builder, Capacity, SeriesId};
pub use labels::Labels;
pub(crate) use labels::push_label;

use std::ops::Range;

use hash::IdMap;
use sets::{Pair, SetId, Sets};
use symbols::{NAME, Symbol, Symbols};

/// The value that says that a series ended: a NaN with bits of its own.
pub const STALE: f64 = f64::from_bits(0x7FF0_0000_0000_0002);
/// Stands where a sample is a native histogram, which is not evaluated: a NaN with bits of its own.
pub const HISTOGRAM: f64 = f64::from_bits(0x7FF0_0000_0000_4C15);

/// Whether a value says that the series ended.
pub fn is_stale(value: f64) -> bool {
    value.to_bits() == STALE.to_bits()
}

/// Whether a value stands for a native histogram.
pub fn is_histogram(value: f64) -> bool {
    value.to_bits() == HISTOGRAM.to_bits()
}

/// Where the samples of a series stand.
#[derive(Debug, Clone, Copy, Default)]
struct Column {
    times: usize,
    values: usize,
    length: usize,
    /// Whether some value is [`STALE`] or [`HISTOGRAM`].
    special: bool,
}

/// The series of each metric, in the order of their labels.
#[derive(Debug, Clone, Default)]
struct Metrics {
    /// Metrics whose series stand together in the order of all, and where.
    together: IdMap<Symbol, Range<usize>>,
    /// The others: some label of theirs comes before the name.
    scattered: IdMap<Symbol, Vec<SetId>>,
}

impl Metrics {
    /// The metrics of series that stand in the order of their labels.
    fn new(order: &[SetId], name_of: impl Fn(SetId) -> Symbol) -> Self {
        let mut metrics = Metrics::default();
        metrics.together.reserve(order.len().min(64));
        let mut start: usize = 0;
        for same in order.chunk_by(|one, other| name_of(*one) == name_of(*other)) {
            let end = start.saturating_add(same.len());
            let Some(name) = same.first().map(|set| name_of(*set)) else { continue };
            if let Some(before) = metrics.together.remove(&name) {
                metrics.scattered.insert(name, order.get(before).unwrap_or_default().to_vec());
            }
            match metrics.scattered.get_mut(&name) {
                Some(list) => list.extend_from_slice(same),
                None => drop(metrics.together.insert(name, start..end)),
            }
            start = end;
        }
        metrics
    }
}

/// The samples of a series in the order of time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Samples<'s> {
    /// Milliseconds since 1970, rising.
    pub times: &'s [i64],
    /// The value at each time; see [`STALE`] and [`HISTOGRAM`].
    pub values: &'s [f64],
    pub(crate) special: bool,
}

/// Series with their samples.
#[derive(Debug, Clone)]
pub struct Series {
    pub(crate) symbols: Symbols,
    pub(crate) sets: Sets,
    columns: Vec<Column>,
    times: Vec<i64>,
    values: Vec<f64>,
    /// All series in the order of their labels.
    order: Vec<SetId>,
    metrics: Metrics,
    /// Whether some series has no name.
    pub(crate) nameless: bool,
}

impl Series {
    /// How many series there are.
    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// How many samples there are.
    pub fn samples(&self) -> usize {
        self.values.len()
    }

    /// Every series with its samples, in the order of the labels.
    pub fn iter(&self) -> impl Iterator<Item = (Labels, Samples<'_>)> {
        self.order.iter().map(|set| (self.labels(*set), self.samples_of(*set)))
    }

    /// The names of all metrics, sorted.
    pub fn metrics(&self) -> Vec<&str> {
        let known = self.metrics.together.keys().chain(self.metrics.scattered.keys());
        let mut names: Vec<&str> = known.map(|name| self.symbols.text(*name)).filter(|name| !name.is_empty()).collect();
        names.sort_unstable();
        names
    }

    /// Every series with its labels borrowed, in the order of the labels.
    pub(crate) fn rows(&self) -> impl Iterator<Item = (&[Pair], Samples<'_>)> {
        self.order.iter().map(|set| (self.sets.pairs(*set), self.samples_of(*set)))
    }

    fn labels(&self, set: SetId) -> Labels {
        let text = |symbol| self.symbols.text(symbol).to_owned();
        Labels::sorted(self.sets.pairs(set).iter().map(|pair| (text(pair.name), text(pair.value))).collect())
    }

    /// The series of a metric in the order of their labels; all of them if no metric is named.
    pub(crate) fn of_metric(&self, metric: Option<&str>) -> &[SetId] {
        match metric {
            None => &self.order,
            Some(name) => {
                let Some(name) = self.symbols.find(name).filter(|name| *name != symbols::EMPTY) else { return &[] };
                match self.metrics.together.get(&name) {
                    Some(range) => self.order.get(range.clone()).unwrap_or_default(),
                    None => self.metrics.scattered.get(&name).map_or(&[], Vec::as_slice),
                }
            }
        }
    }

    pub(crate) fn samples_of(&self, set: SetId) -> Samples<'_> {
        let column = self.columns.get(set as usize).copied().unwrap_or_default();
        let times = self.times.get(column.times..column.times.saturating_add(column.length)).unwrap_or_default();
        let values = self.values.get(column.values..column.values.saturating_add(column.length)).unwrap_or_default();
        Samples { times, values, special: column.special }
    }
}

/// The value of a label in a set.
pub(crate) fn value_in(pairs: &[Pair], name: Symbol) -> Symbol {
    pairs.iter().find(|pair| pair.name == name).map_or(symbols::EMPTY, |pair| pair.value)
}

/// The name of the metric in a set.
pub(crate) fn metric_in(pairs: &[Pair]) -> Symbol {
    value_in(pairs, NAME)
}

#[cfg(test)]
mod tests;
