//! Range vectors: the samples of selectors within a window of time, and subqueries.

use super::invariant::unwrapped;
use super::{EvalTime, Evaluator, Line, Point, Row, Val, Value, misplaced, no_room, same_labels};
use crate::error::Error;
use crate::series::hash::IdMap;
use crate::series::sets::SetId;
use crate::series::{is_histogram, is_stale};
use crate::syntax::ast::{Expr, ExprKind, Range, Span, Subquery};

/// A window of time: later than `after`, up to `until`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Frame {
    pub(super) after: i64,
    pub(super) until: i64,
}

/// The samples of one series within a frame; at least one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Window<'w> {
    pub(super) times: &'w [i64],
    pub(super) values: &'w [f64],
}

impl Window<'_> {
    /// How many samples there are.
    #[expect(clippy::cast_precision_loss, reason = "all numbers of PromQL are floats")]
    pub(super) fn count(&self) -> f64 {
        self.values.len() as f64
    }
}

impl<'a> Evaluator<'a> {
    /// Calls `of` with every series of a range vector that has samples, and keeps what it gives.
    pub(super) fn over(
        &mut self,
        expr: &'a Expr,
        at: EvalTime,
        mut of: impl FnMut(Window<'_>, Frame) -> Option<f64>,
    ) -> Result<Vec<Point>, Error> {
        let mut points = Vec::new();
        let inner = unwrapped(expr);
        match &inner.kind {
            ExprKind::Range(range) => {
                if self.explanation.is_some() {
                    self.matrix(inner, at)?;
                }
                let frame = self.frame_of(range, at);
                self.each_selected(range, frame, |set, window| {
                    if let Some(value) = of(window, frame) {
                        points.push(Point { set, drop_name: false, value });
                    }
                })?;
            }
            ExprKind::Subquery(subquery) => {
                let until = self.shifted(subquery.shift, at);
                let frame = Frame { after: until.saturating_sub(subquery.range.0), until };
                for line in self.subquery(subquery, inner, at)? {
                    let window = Window { times: &line.times, values: &line.values };
                    if let Some(value) = of(window, frame) {
                        points.push(Point { set: line.set, drop_name: line.drop_name, value });
                    }
                }
            }
            _ => return Err(misplaced(inner)),
        }
        Ok(points)
    }

    fn frame_of(&self, range: &Range, at: EvalTime) -> Frame {
        let until = self.shifted(range.selector.shift, at);
        Frame { after: until.saturating_sub(range.range.0), until }
    }

    /// Calls `each` with the samples of every selected series that has some within the frame.
    fn each_selected(
        &mut self,
        range: &'a Range,
        frame: Frame,
        mut each: impl FnMut(SetId, Window<'_>),
    ) -> Result<(), Error> {
        let selector = &range.selector;
        let selected = self.selected(selector)?;
        // Series that share their times share the place of the window in them.
        let mut shared: (*const i64, usize) = (std::ptr::null(), 0);
        let (mut from, mut to) = (0, 0);
        let mut kept: (Vec<i64>, Vec<f64>) = (Vec::new(), Vec::new());
        for set in selected.iter() {
            let samples = self.series.samples_of(*set);
            if (samples.times.as_ptr(), samples.times.len()) != shared {
                shared = (samples.times.as_ptr(), samples.times.len());
                from = samples.times.partition_point(|time| *time <= frame.after);
                to = samples.times.partition_point(|time| *time <= frame.until);
            }
            let times = samples.times.get(from..to).unwrap_or_default();
            let values = samples.values.get(from..to).unwrap_or_default();
            self.budget.charge(times.len(), selector.span)?;
            if !samples.special {
                if !times.is_empty() {
                    each(*set, Window { times, values });
                }
                continue;
            }
            kept.0.clear();
            kept.1.clear();
            for (time, value) in times.iter().zip(values) {
                if is_histogram(*value) {
                    return Err(self.native_histogram(*set, selector.span));
                }
                if !is_stale(*value) {
                    kept.0.push(*time);
                    kept.1.push(*value);
                }
            }
            if !kept.0.is_empty() {
                each(*set, Window { times: &kept.0, values: &kept.1 });
            }
        }
        Ok(())
    }

    /// A range vector as such.
    pub(super) fn matrix(&mut self, expr: &'a Expr, at: EvalTime) -> Result<Vec<Line>, Error> {
        let inner = unwrapped(expr);
        let lines = match &inner.kind {
            ExprKind::Range(range) => {
                let frame = self.frame_of(range, at);
                let mut lines = Vec::new();
                self.each_selected(range, frame, |set, window| {
                    let Window { times, values } = window;
                    lines.push(Line { set, drop_name: false, times: times.to_vec(), values: values.to_vec() });
                })?;
                self.explain_lines(inner, &lines)?;
                lines
            }
            ExprKind::Subquery(subquery) => self.subquery(subquery, inner, at)?,
            _ => return Err(misplaced(inner)),
        };
        Ok(lines)
    }

    fn subquery(&mut self, subquery: &'a Subquery, expr: &'a Expr, at: EvalTime) -> Result<Vec<Line>, Error> {
        let until = self.shifted(subquery.shift, at);
        let after = until.saturating_sub(subquery.range.0);
        let step = subquery.step.map_or(self.settings.subquery_step.0, |step| step.0).max(1);
        // The steps of a subquery stand at multiples of its step, wherever its window begins.
        let mut start = after.checked_div(step).unwrap_or_default().wrapping_mul(step);
        if start <= after {
            start = start.saturating_add(step);
        }
        let lines = self.steps(&subquery.expr, start, until, step)?;
        self.explain_lines(expr, &lines)?;
        Ok(lines)
    }

    /// The values of an expression from one time to another.
    pub(super) fn steps(&mut self, expr: &'a Expr, start: i64, end: i64, step: i64) -> Result<Vec<Line>, Error> {
        let mut lines: Vec<Line> = Vec::new();
        let mut by_set: IdMap<SetId, usize> = IdMap::default();
        let ranged = end.checked_sub(start).is_some_and(|width| width >= step);
        let mut time = start;
        while time <= end {
            let at = EvalTime { time, first: start, ranged };
            let points = match self.eval(expr, at)? {
                Val::Scalar(value) => vec![Point { set: self.space.empty, drop_name: false, value }],
                Val::Vector(points) => points,
                Val::Text(_) => return Err(misplaced(expr)),
            };
            for point in points {
                let index = *by_set.entry(point.set).or_insert_with(|| {
                    lines.push(Line {
                        set: point.set,
                        drop_name: point.drop_name,
                        times: Vec::new(),
                        values: Vec::new(),
                    });
                    lines.len().saturating_sub(1)
                });
                let Some(line) = lines.get_mut(index) else { continue };
                if line.times.last() == Some(&time) {
                    return Err(same_labels(expr.span));
                }
                line.times.push(time);
                line.values.push(point.value);
            }
            let Some(next) = time.checked_add(step) else { break };
            time = next;
        }
        Ok(lines)
    }

    /// A range vector as a value: names gone, series that became one merged, in the order of their labels.
    pub(super) fn matrix_value(&mut self, lines: Vec<Line>, span: Span) -> Result<Value, Error> {
        Ok(Value::Matrix(self.rows(lines, span)?))
    }

    pub(super) fn rows(&mut self, mut lines: Vec<Line>, span: Span) -> Result<Vec<Row>, Error> {
        for line in &mut lines {
            if line.drop_name {
                line.set = self.space.without_metric_name(line.set).map_err(|full| no_room(full, span))?;
            }
        }
        lines.sort_by(|one, other| self.space.compare(one.set, other.set));
        let mut rows = Vec::with_capacity(lines.len());
        for same in lines.chunk_by(|one, other| one.set == other.set) {
            let Some(first) = same.first() else { continue };
            let mut samples: Vec<(i64, f64)> = Vec::new();
            for line in same {
                samples.extend(line.times.iter().copied().zip(line.values.iter().copied()));
            }
            if same.len() > 1 {
                samples.sort_by_key(|(time, _)| *time);
                if samples.array_windows().any(|[one, other]| one.0 == other.0) {
                    return Err(same_labels(span));
                }
            }
            rows.push(Row { labels: self.space.labels(first.set), samples });
        }
        Ok(rows)
    }
}
