//! Which series a selector means, and their values at a time.

use std::borrow::Cow;
use std::rc::Rc;

use super::{At, Evaluator, Point};
use crate::error::{Code, Error};
use crate::matching::{Pattern, PatternError};
use crate::series::sets::SetId;
use crate::series::symbols::Symbol;
use crate::series::{Samples, is_histogram, is_stale, value_in};
use crate::syntax::ast::{MatchOp, Selector, Shift, Span};
use crate::syntax::parser::METRIC_NAME;

/// A condition on a label, prepared for this store.
enum Condition {
    /// The label has this value; or any other, if `negated`.
    Is { label: Symbol, value: Symbol, negated: bool },
    /// The label has one of these values: one flag for every symbol.
    Among { label: Symbol, values: Vec<bool> },
}

/// The series of a selector, in the order of their labels.
#[derive(Debug, Clone)]
pub(super) enum Selected<'a> {
    /// All of a metric.
    All(&'a [SetId]),
    /// Those that fit.
    Some(Rc<[SetId]>),
}

impl std::ops::Deref for Selected<'_> {
    type Target = [SetId];

    fn deref(&self) -> &[SetId] {
        match self {
            Selected::All(sets) => sets,
            Selected::Some(sets) => sets,
        }
    }
}

impl<'a> Evaluator<'a> {
    /// The time a selector or subquery means.
    pub(super) fn shifted(&self, shift: Shift, at: At) -> i64 {
        use crate::syntax::ast::At as Fixed;
        let time = match shift.at {
            None => at.time,
            Some(Fixed::Time(time)) => time.0,
            Some(Fixed::Start) => self.bounds.start,
            Some(Fixed::End) => self.bounds.end,
        };
        time.saturating_sub(shift.offset.map_or(0, |offset| offset.0))
    }

    /// From when to when a sample may be to be the value at a time.
    pub(super) fn recent(&self, time: i64) -> (i64, i64) {
        (time.saturating_sub(self.settings.lookback.0), time)
    }

    /// The series of a selector, in the order of their labels. They are found once per query.
    pub(super) fn selected(&mut self, selector: &'a Selector) -> Result<Selected<'a>, Error> {
        let key = std::ptr::from_ref(selector) as usize;
        if let Some(known) = self.selections.get(&key) {
            return Ok(known.clone());
        }
        let found = self.find_series(selector)?;
        if self.repeats {
            self.selections.insert(key, found.clone());
        }
        Ok(found)
    }

    fn find_series(&mut self, selector: &'a Selector) -> Result<Selected<'a>, Error> {
        let metric = selector.metric.as_ref().map(|metric| metric.name.text.as_str());
        let candidates = self.series.of_metric(metric);
        self.budget.charge(candidates.len(), selector.span)?;
        let mut conditions = Vec::new();
        for matcher in &selector.matchers {
            // A label no series has is empty in all of them.
            let label = self.series.symbols.find(&matcher.label.text);
            let value = &matcher.value;
            let wanted = match matcher.op {
                MatchOp::Equal | MatchOp::NotEqual => {
                    let negated = matcher.op == MatchOp::NotEqual;
                    match (label, self.series.symbols.find(&value.text)) {
                        (Some(label), Some(value)) => Some(Condition::Is { label, value, negated }),
                        // One of both texts is unknown: equal only if there is no label and it is to be empty.
                        (None, _) if value.text.is_empty() != negated => None,
                        (Some(_), None) if negated => None,
                        _ => return Ok(Selected::All(&[])),
                    }
                }
                MatchOp::Matches | MatchOp::NotMatches => {
                    let wanted = matcher.op == MatchOp::Matches;
                    let wrong =
                        |error: PatternError| Error::new(Code::Regex, value.span, error.to_string(), error.help());
                    let pattern = self.pattern(&value.text).map_err(wrong)?;
                    match label {
                        None if pattern.matches("") == wanted => None,
                        None => return Ok(Selected::All(&[])),
                        Some(label) => Some(self.among(label, &pattern, wanted, candidates)),
                    }
                }
            };
            conditions.extend(wanted);
        }
        if conditions.is_empty() {
            return Ok(Selected::All(candidates));
        }
        let passes = |set: &SetId| {
            let pairs = self.series.sets.pairs(*set);
            conditions.iter().all(|condition| match condition {
                Condition::Is { label, value, negated } => (value_in(pairs, *label) == *value) != *negated,
                Condition::Among { label, values } => {
                    values.get(value_in(pairs, *label) as usize).copied().unwrap_or_default()
                }
            })
        };
        Ok(Selected::Some(candidates.iter().copied().filter(passes).collect()))
    }

    /// Asks a pattern once for every value that the candidates have.
    fn among(&self, label: Symbol, pattern: &Pattern, wanted: bool, candidates: &[SetId]) -> Condition {
        let mut asked = vec![false; self.series.symbols.len()];
        let mut values = vec![false; self.series.symbols.len()];
        for set in candidates {
            let value = value_in(self.series.sets.pairs(*set), label);
            let index = value as usize;
            if let (Some(asked), Some(passes)) = (asked.get_mut(index), values.get_mut(index))
                && !std::mem::replace(asked, true)
            {
                *passes = pattern.matches(self.series.symbols.text(value)) == wanted;
            }
        }
        Condition::Among { label, values }
    }

    /// A compiled pattern. The parser has compiled those of matchers, so this fails only for those of functions.
    pub(super) fn pattern(&self, text: &str) -> Result<Cow<'a, Pattern>, PatternError> {
        match self.patterns.get(text) {
            Some(pattern) => Ok(Cow::Borrowed(pattern)),
            None => Pattern::new(text, self.settings.pattern_bytes).map(Cow::Owned),
        }
    }

    /// The value of every selected series, as an instant vector has them.
    pub(super) fn points(&mut self, selector: &'a Selector, at: At) -> Result<Vec<Point>, Error> {
        let time = self.shifted(selector.shift, at);
        let selected = self.selected(selector)?;
        let mut points = Vec::with_capacity(selected.len());
        self.latest_of(&selected, selector.span, self.recent(time), |point, _| points.push(point))?;
        Ok(points)
    }

    /// The value of every selected series at a time, and when it was sampled: later than `oldest`.
    pub(super) fn latest(
        &mut self,
        selector: &'a Selector,
        times: (i64, i64),
        each: impl FnMut(Point, i64),
    ) -> Result<(), Error> {
        let selected = self.selected(selector)?;
        self.latest_of(&selected, selector.span, times, each)
    }

    /// The same of series that are known.
    pub(super) fn latest_of(
        &mut self,
        selected: &[SetId],
        span: Span,
        (oldest, time): (i64, i64),
        mut each: impl FnMut(Point, i64),
    ) -> Result<(), Error> {
        self.budget.charge(selected.len(), span)?;
        for set in selected {
            let Samples { times, values, .. } = self.series.samples_of(*set);
            // Most often the last sample is the one.
            let index = match times.last() {
                None => continue,
                Some(last) if *last <= time => times.len().saturating_sub(1),
                Some(_) => match times.partition_point(|sampled| *sampled <= time).checked_sub(1) {
                    Some(index) => index,
                    None => continue,
                },
            };
            let (Some(sampled), Some(value)) = (times.get(index), values.get(index)) else { continue };
            if *sampled <= oldest || is_stale(*value) {
                continue;
            }
            if is_histogram(*value) {
                return Err(self.native_histogram(*set, span));
            }
            each(Point { set: *set, drop_name: false, value: *value }, *sampled);
        }
        Ok(())
    }

    /// The error that a sample is a native histogram.
    pub(super) fn native_histogram(&self, set: SetId, span: Span) -> Error {
        let message = format!("{} has native histograms, which are not supported.", self.space.labels(set));
        let help = "Use a Prometheus server, or the classic histogram: the series that end in _bucket.";
        Error::new(Code::NativeHistogram, span, message, help)
    }
}

/// The labels that a selector gives to what is absent: those it compares for equality, each with one value only.
pub(super) fn exact_labels(selector: &Selector) -> Vec<(&str, &str)> {
    let mut labels: Vec<(&str, &str)> = Vec::new();
    let mut seen: Vec<&str> = Vec::new();
    for matcher in &selector.matchers {
        let name = matcher.label.text.as_str();
        if name == METRIC_NAME {
            continue;
        }
        if matcher.op == MatchOp::Equal && !seen.contains(&name) {
            labels.push((name, &matcher.value.text));
            seen.push(name);
        } else {
            labels.retain(|(known, _)| *known != name);
        }
    }
    labels
}
