//! Functions over the samples of a range.

use super::super::kahan::{Kahan, Mean, quantile};
use super::super::windows::{Frame, Window};
use super::super::{EvalTime, Evaluator, Level, Point, short_number};
use super::{rate, seconds, trend};
use crate::error::Error;
use crate::syntax::ast::Expr;

impl<'a> Evaluator<'a> {
    /// Functions of a range vector, and of numbers beside it.
    pub(super) fn range_function(
        &mut self,
        name: &str,
        arguments: &'a [Expr],
        at: EvalTime,
    ) -> Result<Option<Vec<Point>>, Error> {
        let mut keeps_name = false;
        let mut points =
            match (name, arguments) {
                ("rate" | "increase" | "delta", [range]) => {
                    let of = rate::extrapolated(name);
                    let points = self.over(range, at, of)?;
                    self.note_no_counter(name, range, &points);
                    points
                }
                ("irate" | "idelta", [range]) => self.over(range, at, rate::last_two(name == "irate"))?,
                ("quantile_over_time", [q, range]) => {
                    let q_value = self.scalar(q, at)?;
                    let mut buffer = Vec::new();
                    let points = self.over(range, at, |window, _| {
                        buffer.clear();
                        buffer.extend_from_slice(window.values);
                        Some(quantile(q_value, &mut buffer))
                    })?;
                    if !points.is_empty() {
                        self.note_quantile(q_value, q);
                    }
                    points
                }
                ("predict_linear", [range, ahead]) => {
                    let ahead = self.scalar(ahead, at)?;
                    self.over(range, at, |window, _| trend::predicted(window, at.time, ahead))?
                }
                ("double_exponential_smoothing", [range, smoothing, trend]) => {
                    return self.smoothed(range, smoothing, trend, at).map(Some);
                }
                ("absent_over_time", [range]) => {
                    let present = self.over(range, at, |_, _| Some(1.0))?;
                    return self.absence(range, !present.is_empty()).map(Some);
                }
                ("last_over_time" | "first_over_time", [range]) => {
                    keeps_name = true;
                    let last = name == "last_over_time";
                    self.over(range, at, |window, _| {
                        if last { window.values.last().copied() } else { window.values.first().copied() }
                    })?
                }
                (_, [range]) => match function(name) {
                    Some(function) => self.over(range, at, |window, _: Frame| function(window))?,
                    None => return Ok(None),
                },
                _ => return Ok(None),
            };
        if !keeps_name {
            for point in &mut points {
                point.drop_name = true;
            }
        }
        Ok(Some(points))
    }

    /// Remarks on a quantile that is none.
    pub(super) fn note_quantile(&mut self, q: f64, expr: &Expr) {
        if !(0.0..=1.0).contains(&q) {
            let got = short_number(q);
            self.note(Level::Warning, expr.span, format!("quantile value should be between 0 and 1, got {got}"));
        }
    }

    /// Remarks on a rate of what has not the name of a counter.
    fn note_no_counter(&mut self, name: &str, range: &Expr, points: &[Point]) {
        if name == "delta" {
            return;
        }
        let mut last = None;
        for point in points {
            let metric = self.space.value(point.set, crate::series::symbols::NAME);
            if last.replace(metric) == Some(metric) {
                continue;
            }
            let metric = self.space.text(metric);
            let counter = ["_total", "_sum", "_count", "_bucket"].iter().any(|suffix| metric.ends_with(suffix));
            if !counter && !metric.is_empty() {
                let message = format!(
                    "metric might not be a counter, name does not end in _total/_sum/_count/_bucket: {metric:?}"
                );
                self.note(Level::Info, super::unwrapped(range).span, message);
            }
        }
    }
}

/// The function of this name, if it needs the samples only.
fn function(name: &str) -> Option<fn(Window<'_>) -> Option<f64>> {
    Some(match name {
        "avg_over_time" => |window| {
            let (first, rest) = window.values.split_first()?;
            let mut mean = Mean::of(*first);
            for value in rest {
                mean.add(*value);
            }
            Some(mean.value())
        },
        "sum_over_time" => |window| {
            let sum = window.values.iter().copied().fold(Kahan::default(), Kahan::plus);
            Some(if sum.sum.is_infinite() { sum.sum } else { sum.total() })
        },
        "count_over_time" => |window| Some(window.count()),
        "present_over_time" => |_| Some(1.0),
        "max_over_time" => |window| extreme(window, |value, most| value > most).map(|(value, _)| value),
        "min_over_time" => |window| extreme(window, |value, least| value < least).map(|(value, _)| value),
        "ts_of_max_over_time" => |window| extreme(window, |value, most| value >= most).map(|(_, time)| seconds(time)),
        "ts_of_min_over_time" => |window| extreme(window, |value, least| value <= least).map(|(_, time)| seconds(time)),
        "ts_of_first_over_time" => |window| window.times.first().map(|time| seconds(*time)),
        "ts_of_last_over_time" => |window| window.times.last().map(|time| seconds(*time)),
        "stdvar_over_time" => |window| Some(variance(window)),
        "stddev_over_time" => |window| Some(variance(window).sqrt()),
        "mad_over_time" => |window| Some(deviation(window)),
        "changes" => |window| Some(count_pairs(window, changed)),
        "resets" => |window| Some(count_pairs(window, |one, other| other < one)),
        "deriv" => trend::slope,
        _ => return None,
    })
}

/// Whether two values differ; not-a-number does not differ from itself.
#[expect(clippy::float_cmp, reason = "any change counts")]
fn changed(one: f64, other: f64) -> bool {
    one != other && !(one.is_nan() && other.is_nan())
}

/// The value that beats all others, and when it was; the first one counts, and any number beats NaN.
fn extreme(window: Window<'_>, beats: impl Fn(f64, f64) -> bool) -> Option<(f64, i64)> {
    let mut samples = window.values.iter().copied().zip(window.times.iter().copied());
    let first = samples.next()?;
    let better = |best: (f64, i64), sample: (f64, i64)| {
        if beats(sample.0, best.0) || best.0.is_nan() { sample } else { best }
    };
    Some(samples.fold(first, better))
}

fn variance(window: Window<'_>) -> f64 {
    let (mut count, mut mean, mut squares) = (0.0, Kahan::default(), Kahan::default());
    for value in window.values {
        count += 1.0;
        let distance = value - mean.total();
        mean = mean.plus(distance / count);
        squares = squares.plus(distance * (value - mean.total()));
    }
    squares.total() / count
}

/// The median of the distances from the median; not a number if any sample is none.
fn deviation(window: Window<'_>) -> f64 {
    let mut values = window.values.to_vec();
    if values.iter().any(|value| value.is_nan()) {
        return f64::NAN;
    }
    let median = quantile(0.5, &mut values);
    for value in &mut values {
        *value = (*value - median).abs();
    }
    quantile(0.5, &mut values)
}

/// How many neighbours differ in the way that is asked for.
fn count_pairs(window: Window<'_>, differ: impl Fn(f64, f64) -> bool) -> f64 {
    window
        .values
        .array_windows()
        .fold(0.0, |count, [one, other]| if differ(*one, *other) { count + 1.0 } else { count })
}
