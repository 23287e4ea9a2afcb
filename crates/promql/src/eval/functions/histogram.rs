//! Classic histograms: series that count what is at most `le`.

use super::super::{EvalTime, Evaluator, Level, Point, no_room, short_number};
use crate::error::Error;
use crate::series::hash::IdMap;
use crate::series::sets::SetId;
use crate::syntax::ast::Expr;

/// How many are at most `upper`.
#[derive(Debug, Clone, Copy)]
struct Bucket {
    upper: f64,
    count: f64,
}

/// Differences of this share are errors of rounding.
const TOLERANCE: f64 = 1e-12;

/// A histogram: its labels without `le`, and its buckets.
type Histogram = (SetId, Vec<Bucket>);

impl<'a> Evaluator<'a> {
    pub(super) fn histogram_quantile(
        &mut self,
        scalar: &'a Expr,
        vector: &'a Expr,
        at: EvalTime,
    ) -> Result<Vec<Point>, Error> {
        let q = self.scalar(scalar, at)?;
        let points = self.vector(vector, at)?;
        self.note_quantile(q, scalar);
        let mut results = Vec::new();
        for (set, mut buckets) in self.histograms(&points, vector)? {
            let value = self.quantile_noted(q, set, &mut buckets, vector);
            results.push(Point { set, drop_name: true, value });
        }
        Ok(results)
    }

    pub(super) fn histogram_quantiles(
        &mut self,
        vector: &'a Expr,
        label: &'a Expr,
        scalars: &'a [Expr],
        at: EvalTime,
    ) -> Result<Vec<Point>, Error> {
        let points = self.vector(vector, at)?;
        let label_text = self.text(label, at)?;
        let mut quantiles = Vec::with_capacity(scalars.len());
        for scalar in scalars {
            let q = self.scalar(scalar, at)?;
            self.note_quantile(q, scalar);
            quantiles.push(q);
        }
        let histograms = self.histograms(&points, vector)?;
        let full = |full| no_room(full, label.span);
        let name = self.space.intern(label_text).map_err(full)?;
        let mut results = Vec::new();
        for q in quantiles {
            let text = self.space.intern(&open_metrics(q)).map_err(full)?;
            for (set, buckets) in &histograms {
                let value = self.quantile_noted(q, *set, &mut buckets.clone(), vector);
                let set = self.space.labelled(*set, name, text).map_err(full)?;
                results.push(Point { set, drop_name: true, value });
            }
        }
        Ok(results)
    }

    pub(super) fn histogram_fraction(
        &mut self,
        lower: &'a Expr,
        upper: &'a Expr,
        vector: &'a Expr,
        at: EvalTime,
    ) -> Result<Vec<Point>, Error> {
        let (lower, upper) = (self.scalar(lower, at)?, self.scalar(upper, at)?);
        let points = self.vector(vector, at)?;
        let histograms = self.histograms(&points, vector)?;
        let result =
            |(set, mut buckets): Histogram| Point { set, drop_name: true, value: fraction(lower, upper, &mut buckets) };
        Ok(histograms.into_iter().map(result).collect())
    }

    /// The buckets of every histogram in a vector.
    fn histograms(&mut self, points: &[Point], vector: &Expr) -> Result<Vec<Histogram>, Error> {
        let full = |full| no_room(full, vector.span);
        let le = self.space.intern("le").map_err(full)?;
        let mut histograms: Vec<Histogram> = Vec::new();
        let mut index: IdMap<SetId, usize> = IdMap::default();
        for point in points {
            let text = self.space.text(self.space.value(point.set, le));
            let Some(upper) = bound(text) else {
                let metric = self.space.metric(point.set);
                let of = if metric.is_empty() { String::new() } else { format!(" for metric name {metric:?}") };
                let message = format!("bucket label \"le\" is missing or has a malformed value of {text:?}{of}");
                self.note(Level::Warning, super::unwrapped(vector).span, message);
                continue;
            };
            let set = self.space.unlabelled(point.set, le).map_err(full)?;
            let bucket = Bucket { upper, count: point.value };
            if let Some((_, buckets)) = index.get(&set).and_then(|known| histograms.get_mut(*known)) {
                buckets.push(bucket);
            } else {
                index.insert(set, histograms.len());
                histograms.push((set, vec![bucket]));
            }
        }
        Ok(histograms)
    }

    fn quantile_noted(&mut self, q: f64, set: SetId, buckets: &mut Vec<Bucket>, vector: &Expr) -> f64 {
        let (value, forced) = quantile(q, buckets);
        if let Some(forced) = forced {
            let metric = self.space.metric(set);
            let of = if metric.is_empty() { String::new() } else { format!(" for metric name {metric:?}") };
            let message = format!(
                "input to histogram_quantile needed to be fixed for monotonicity (see \
                 https://prometheus.io/docs/prometheus/latest/querying/functions/#histogram_quantile){of}, \
                 from buckets {} to {}, with a max diff of {}",
                short_number(forced.from),
                short_number(forced.to),
                two_digits(forced.most),
            );
            self.note(Level::Info, super::unwrapped(vector).span, message);
        }
        value
    }
}

/// The bound of a bucket.
fn bound(text: &str) -> Option<f64> {
    if text.is_empty() { None } else { text.parse().ok() }
}

/// Where counts fell and were made to rise.
struct Forced {
    from: f64,
    to: f64,
    most: f64,
}

fn quantile(q: f64, buckets: &mut Vec<Bucket>) -> (f64, Option<Forced>) {
    if q.is_nan() {
        return (f64::NAN, None);
    }
    if !(0.0..=1.0).contains(&q) {
        return (if q < 0.0 { f64::NEG_INFINITY } else { f64::INFINITY }, None);
    }
    if !prepare(buckets) {
        return (f64::NAN, None);
    }
    let forced = rising(buckets);
    let [inner @ .., last] = buckets.as_slice() else { return (f64::NAN, forced) };
    let Some(before_last) = inner.last() else { return (f64::NAN, forced) };
    if last.count == 0.0 {
        return (f64::NAN, forced);
    }
    let rank = q * last.count;
    let at = inner.partition_point(|bucket| bucket.count.is_nan() || bucket.count < rank);
    let Some(bucket) = inner.get(at) else { return (before_last.upper, forced) };
    let value = match at.checked_sub(1).and_then(|before| inner.get(before)) {
        None if bucket.upper <= 0.0 => bucket.upper,
        None => bucket.upper * (rank / bucket.count),
        Some(before) => {
            let share = (rank - before.count) / (bucket.count - before.count);
            before.upper + (bucket.upper - before.upper) * share
        }
    };
    (value, forced)
}

/// Sorts buckets and adds those with one bound. They are of no use without one that holds everything.
fn prepare(buckets: &mut Vec<Bucket>) -> bool {
    buckets.sort_by(|one, other| one.upper.partial_cmp(&other.upper).unwrap_or(std::cmp::Ordering::Equal));
    if buckets.last().is_none_or(|last| last.upper != f64::INFINITY) {
        return false;
    }
    #[expect(clippy::float_cmp, reason = "bounds are the same or they are not")]
    buckets.dedup_by(|later, kept| {
        let same = later.upper == kept.upper;
        if same {
            kept.count += later.count;
        }
        same
    });
    true
}

/// Makes counts rise: what falls by rounding silently, what falls by more with a remark.
fn rising(buckets: &mut [Bucket]) -> Option<Forced> {
    let mut forced: Option<Forced> = None;
    let mut before = buckets.first()?.count;
    for bucket in buckets.iter_mut().skip(1) {
        let count = bucket.count;
        #[expect(clippy::float_cmp, reason = "the very same count needs no change")]
        if count == before {
            continue;
        }
        if almost(before, count) {
            bucket.count = before;
        } else if count < before {
            bucket.count = before;
            let known = forced.get_or_insert(Forced { from: bucket.upper, to: bucket.upper, most: 0.0 });
            known.from = known.from.min(bucket.upper);
            known.to = known.to.max(bucket.upper);
            known.most = known.most.max(before - count);
        } else {
            before = count;
        }
    }
    forced
}

fn almost(one: f64, other: f64) -> bool {
    if one.is_nan() && other.is_nan() {
        return true;
    }
    let (sum, difference) = (one.abs() + other.abs(), (one - other).abs());
    if one == 0.0 || other == 0.0 || sum < f64::MIN_POSITIVE {
        return difference < TOLERANCE * f64::MIN_POSITIVE;
    }
    difference / sum.min(f64::MAX) < TOLERANCE
}

/// The share of what lies between two values.
fn fraction(lower: f64, upper: f64, buckets: &mut Vec<Bucket>) -> f64 {
    if !prepare(buckets) {
        return f64::NAN;
    }
    let count = buckets.last().map_or(0.0, |last| last.count);
    if count == 0.0 || lower.is_nan() || upper.is_nan() {
        return f64::NAN;
    }
    if lower >= upper {
        return 0.0;
    }
    let rank = |value: f64| {
        // Without a negative bound there is nothing below zero.
        let mut low = if buckets.first().is_some_and(|first| first.upper <= 0.0) { f64::NEG_INFINITY } else { 0.0 };
        let mut rank = 0.0;
        for bucket in buckets.iter() {
            if low >= value {
                return rank;
            }
            if low < value && bucket.upper > value {
                // No meaning lies in a share of a bucket that is open below.
                return if low == f64::NEG_INFINITY {
                    bucket.count
                } else {
                    rank + (bucket.count - rank) * (value - low) / (bucket.upper - low)
                };
            }
            rank = bucket.count;
            low = bucket.upper;
        }
        count
    };
    let capped = |rank: f64| if rank > count { count } else { rank };
    (capped(rank(upper)) - capped(rank(lower))) / count
}

/// A quantile as the value of a label.
fn open_metrics(q: f64) -> String {
    let text = short_number(q);
    if q.is_finite() && !text.contains(['.', 'e']) { text + ".0" } else { text }
}

/// A number with two digits, as Go's `%.2g` prints it.
fn two_digits(number: f64) -> String {
    let text = format!("{number:.1e}");
    let rounded: f64 = text.parse().unwrap_or(number);
    let exponent: i32 = text.split_once('e').and_then(|(_, exponent)| exponent.parse().ok()).unwrap_or_default();
    if (-4..2).contains(&exponent) {
        return super::super::plain_number(rounded);
    }
    let digits = text.split_once('e').map_or("", |(digits, _)| digits).trim_end_matches('0').trim_end_matches('.');
    format!("{digits}e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.unsigned_abs())
}
