//! Trends: straight lines through samples, and smoothing.

use super::super::kahan::Kahan;
use super::super::windows::Window;
use super::super::{EvalTime, Evaluator, Point, failed};
use super::seconds;
use crate::error::Error;
use crate::syntax::ast::Expr;

/// The slope of the line through the samples.
pub(super) fn slope(window: Window<'_>) -> Option<f64> {
    // A time close to the samples keeps the sums small.
    let near = *window.times.first()?;
    line(window, near).map(|(slope, _)| slope)
}

/// What the line through the samples says for so many seconds after `now`.
pub(super) fn predicted(window: Window<'_>, now: i64, ahead: f64) -> Option<f64> {
    line(window, now).map(|(slope, value)| slope * ahead + value)
}

/// The line through at least two samples, by least squares: its slope, and its value at a time.
fn line(window: Window<'_>, time: i64) -> Option<(f64, f64)> {
    let (first, rest) = window.values.split_first()?;
    if rest.is_empty() {
        return None;
    }
    #[expect(clippy::float_cmp, reason = "only the very same value makes a level line")]
    if rest.iter().all(|value| value == first) {
        return Some(if first.is_infinite() { (f64::NAN, f64::NAN) } else { (0.0, *first) });
    }
    let count = window.count();
    let (mut x, mut y) = (Kahan::default(), Kahan::default());
    let (mut xy, mut xx) = (Kahan::default(), Kahan::default());
    for (sampled, value) in window.times.iter().zip(window.values) {
        let distance = seconds(sampled.saturating_sub(time));
        x = x.plus(distance);
        y = y.plus(*value);
        xy = xy.plus(distance * value);
        xx = xx.plus(distance * distance);
    }
    let (x, y, xy, xx) = (x.total(), y.total(), xy.total(), xx.total());
    let slope = (xy - x * y / count) / (xx - x * x / count);
    Some((slope, y / count - slope * x / count))
}

impl<'a> Evaluator<'a> {
    /// `double_exponential_smoothing`.
    pub(super) fn smoothed(
        &mut self,
        range: &'a Expr,
        smoothing_expr: &'a Expr,
        trend_expr: &'a Expr,
        at: EvalTime,
    ) -> Result<Vec<Point>, Error> {
        let smoothing = self.scalar(smoothing_expr, at)?;
        let trend = self.scalar(trend_expr, at)?;
        let mut called = false;
        let mut points = self.over(range, at, |window, _| {
            called = true;
            smooth(window.values, smoothing, trend)
        })?;
        // Prometheus looks at the factors when there is something to smooth.
        if called {
            for (name, short, factor, expr) in
                [("smoothing", "sf", smoothing, smoothing_expr), ("trend", "tf", trend, trend_expr)]
            {
                if factor <= 0.0 || factor >= 1.0 {
                    let message = format!("invalid {name} factor. Expected: 0 < {short} < 1, got: {factor:.6}");
                    return Err(failed(expr.span, message, "Give a number between 0 and 1."));
                }
            }
        }
        for point in &mut points {
            point.drop_name = true;
        }
        Ok(points)
    }
}

fn smooth(values: &[f64], smoothing: f64, factor: f64) -> Option<f64> {
    let [first, second, ..] = values else { return None };
    let (mut before, mut smoothed) = (0.0, *first);
    let mut trend = second - first;
    for (index, value) in values.iter().enumerate().skip(1) {
        if index > 1 {
            trend = factor * (smoothed - before) + (1.0 - factor) * trend;
        }
        let next = smoothing * value + (1.0 - smoothing) * (smoothed + trend);
        before = smoothed;
        smoothed = next;
    }
    Some(smoothed)
}
