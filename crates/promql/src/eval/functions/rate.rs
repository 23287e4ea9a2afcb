//! How fast counters and gauges change.

use super::super::windows::{Frame, Window};
use super::seconds;

/// `rate`, `increase` and `delta`: the change within the window, carried on to its ends.
///
/// Samples rarely stand at the very ends of a window. If they end closer to an end than samples usually stand apart,
/// the change is carried on to that end; else half the usual distance. A counter is not carried on below zero.
pub(super) fn extrapolated(name: &str) -> impl FnMut(Window<'_>, Frame) -> Option<f64> + use<> {
    let counter = name != "delta";
    let per_second = name == "rate";
    move |window, frame| {
        let (first, last) = (*window.values.first()?, *window.values.last()?);
        let (first_time, last_time) = (*window.times.first()?, *window.times.last()?);
        let gaps = window.count() - 1.0;
        if gaps < 1.0 {
            return None;
        }
        let mut change = last - first;
        if counter {
            for [before, value] in window.values.array_windows() {
                if value < before {
                    change += before;
                }
            }
        }
        let mut to_start = seconds(first_time.saturating_sub(frame.after));
        let mut to_end = seconds(frame.until.saturating_sub(last_time));
        let sampled = seconds(last_time.saturating_sub(first_time));
        let usual = sampled / gaps;
        let far = usual * 1.1;
        if to_start >= far {
            to_start = usual / 2.0;
        }
        if counter {
            let to_zero = if change > 0.0 && first >= 0.0 { sampled * (first / change) } else { to_start };
            if to_zero < to_start {
                to_start = to_zero;
            }
        }
        if to_end >= far {
            to_end = usual / 2.0;
        }
        let mut factor = 1.0;
        if sampled != 0.0 {
            factor = (sampled + to_start + to_end) / sampled;
        }
        if per_second {
            factor /= seconds(frame.until.saturating_sub(frame.after));
        }
        Some(change * factor)
    }
}

/// `irate` and `idelta`: the change between the last two samples.
pub(super) fn last_two(per_second: bool) -> impl FnMut(Window<'_>, Frame) -> Option<f64> + use<> {
    move |window, _| {
        let ([.., before, value], [.., start, end]) = (window.values, window.times) else { return None };
        let between = end.saturating_sub(*start);
        if between == 0 {
            return None;
        }
        // A counter that fell has started again from zero.
        let change = if per_second && value < before { *value } else { value - before };
        Some(if per_second { change / seconds(between) } else { change })
    }
}
