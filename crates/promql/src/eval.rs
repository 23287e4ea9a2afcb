//! Evaluates queries over a [`Series`] store, as Prometheus does (U3).
//!
//! [`instant`] gives the value at one time, [`range`] the values at several. The semantics are those of Prometheus 3
//! for float samples with its experimental functions and with delayed name removal: an operation that takes the name
//! of the metric away only marks the series, and the name goes at the very end. Native histograms are refused with a
//! place. Nothing runs away (U18): what is looked at and what is made counts against a budget, and somebody may say
//! stop at any time; there is no clock here.

mod aggregate;
mod binary;
mod budget;
mod explain;
mod functions;
mod invariant;
mod kahan;
mod select;
mod space;
mod value;
mod windows;

pub use value::{Answer, Explained, Level, Note, Row, Sample, Value};
pub(crate) use value::{plain_number, short_number};

use std::collections::BTreeSet;

use crate::analysis::types::ValueType;
use crate::error::{Code, Error};
use crate::matching::Patterns;
use crate::query::Query;
use crate::series::Series;
use crate::series::hash::{IdMap, IdSet};
use crate::series::sets::SetId;
use crate::syntax::ast::{Expr, ExprKind, Sign, Span};
use crate::syntax::duration::Millis;
use budget::Budget;
use explain::Explanation;
use space::{Full, Space};

/// How an evaluation goes.
#[derive(Clone, Copy)]
pub struct Settings<'a> {
    /// How old a sample may be and still be a series' value.
    pub lookback: Millis,
    /// The step of a subquery that names none.
    pub subquery_step: Millis,
    /// How many samples are looked at and made before the evaluation is refused.
    pub samples: u64,
    /// Bytes of one compiled regular expression.
    pub pattern_bytes: usize,
    /// Asked now and then; the evaluation ends when it says true.
    pub stop: Option<&'a dyn Fn() -> bool>,
    /// Whether the value of every expression is kept.
    pub explain: bool,
}

impl Default for Settings<'_> {
    /// As Prometheus has it: five minutes, one minute, fifty million samples.
    fn default() -> Self {
        Settings {
            lookback: Millis(300_000),
            subquery_step: Millis(60_000),
            samples: 50_000_000,
            pattern_bytes: 256 << 10,
            stop: None,
            explain: false,
        }
    }
}

/// The value of a query at a time.
///
/// ```
/// use clearway_promql::eval::{self, Settings, Value};
/// use clearway_promql::{Limits, Millis, Query, read};
///
/// let series = read::text(b"up{job=\"a\"} 1\nup{job=\"b\"} 0\n", Millis(0), &Default::default())?;
/// let query = Query::parse("sum(up)", &Limits::default())?;
/// let answer = eval::instant(&query, &series, Millis(0), &Settings::default())?;
/// assert_eq!(answer.value.to_string(), "{} 1");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn instant(query: &Query, series: &Series, time: Millis, settings: &Settings<'_>) -> Result<Answer, Error> {
    let bounds = Bounds { start: time.0, end: time.0, step: 0 };
    let mut evaluator = Evaluator::new(query, series, bounds, settings);
    let at = At { time: time.0, first: time.0, ranged: false };
    let value = evaluator.whole(query.expr(), query.result(), at)?;
    Ok(evaluator.answer(query.expr(), value))
}

/// The values of a query from one time to another, in steps. The query gives a scalar or an instant vector.
pub fn range(
    query: &Query,
    series: &Series,
    (start, end): (Millis, Millis),
    step: Millis,
    settings: &Settings<'_>,
) -> Result<Answer, Error> {
    let expr = query.expr();
    if !matches!(query.result(), ValueType::Scalar | ValueType::Vector) {
        let message =
            format!("invalid expression type \"{}\" for range query, must be Scalar or instant Vector", query.result());
        return Err(Error::new(Code::Type, expr.span, message, "Leave the range out, or use a function over it."));
    }
    if step.0 <= 0 {
        return Err(Error::new(Code::Number, expr.span, "The step must be greater than zero.", "Give a longer step."));
    }
    if !query.fits(start.0, end.0, step.0) {
        let message = "A duration of the query depends on the range, but was computed for another range.";
        return Err(Error::new(Code::Unsupported, expr.span, message, "Read the query for this range."));
    }
    let bounds = Bounds { start: start.0, end: end.0, step: step.0 };
    let mut evaluator = Evaluator::new(query, series, bounds, settings);
    let matrix = evaluator.steps(expr, start.0, end.0, step.0)?;
    let value = evaluator.matrix_value(matrix, expr.span)?;
    Ok(evaluator.answer(expr, value))
}

/// The time range of a whole query.
#[derive(Debug, Clone, Copy)]
struct Bounds {
    start: i64,
    end: i64,
    /// Nothing for an instant query.
    step: i64,
}

/// When an expression is evaluated.
#[derive(Debug, Clone, Copy)]
struct At {
    time: i64,
    /// The first time of the range or subquery around.
    first: i64,
    /// Whether that has more times than one.
    ranged: bool,
}

/// A series with a value, within an evaluation.
#[derive(Debug, Clone, Copy)]
struct Point {
    set: SetId,
    /// Whether the name of the metric goes at the end.
    drop_name: bool,
    value: f64,
}

/// The value of an expression that is no range vector.
#[derive(Debug, Clone)]
enum Val<'a> {
    Scalar(f64),
    Text(&'a str),
    Vector(Vec<Point>),
}

/// A series made by a range or subquery.
#[derive(Debug, Clone)]
struct Line {
    set: SetId,
    drop_name: bool,
    times: Vec<i64>,
    values: Vec<f64>,
}

struct Evaluator<'a> {
    series: &'a Series,
    patterns: &'a Patterns,
    space: Space<'a>,
    settings: &'a Settings<'a>,
    budget: Budget<'a>,
    bounds: Bounds,
    notes: BTreeSet<Note>,
    /// The series of selectors, by the place of the selector in memory.
    selections: IdMap<usize, select::Selected<'a>>,
    /// Whether expressions are evaluated more than once.
    repeats: bool,
    /// The expressions that are evaluated at the first time of a range only.
    invariant: IdSet<usize>,
    explanation: Option<Explanation>,
    /// The bytes of text that were charged.
    charged_bytes: usize,
}

impl<'a> Evaluator<'a> {
    fn new(query: &'a Query, series: &'a Series, bounds: Bounds, settings: &'a Settings<'a>) -> Self {
        let repeats = bounds.step > 0 || query.has_subquery();
        let invariant = if repeats { invariant::find(query.expr()) } else { IdSet::default() };
        Evaluator {
            series,
            patterns: query.patterns(),
            space: Space::new(series),
            settings,
            budget: Budget::new(settings.samples, settings.stop),
            bounds,
            notes: BTreeSet::new(),
            selections: IdMap::default(),
            invariant,
            repeats,
            explanation: settings.explain.then(Explanation::default),
            charged_bytes: 0,
        }
    }

    /// The value of the whole query.
    fn whole(&mut self, expr: &'a Expr, result: ValueType, at: At) -> Result<Value, Error> {
        if result == ValueType::Matrix {
            let matrix = self.matrix(expr, at)?;
            return self.matrix_value(matrix, expr.span);
        }
        Ok(match self.eval(expr, at)? {
            Val::Scalar(number) => Value::Scalar(number),
            Val::Text(text) => Value::String(text.to_owned()),
            Val::Vector(points) => {
                let points = self.named(points, expr.span)?;
                no_duplicates(&points, expr.span)?;
                Value::Vector(self.samples(&points))
            }
        })
    }

    fn answer(self, expr: &'a Expr, value: Value) -> Answer {
        let explained = self.explanation.map(|explanation| explanation.of(expr)).unwrap_or_default();
        Answer { value, notes: self.notes.into_iter().collect(), explained }
    }

    /// The value of an expression that is no range vector.
    fn eval(&mut self, expr: &'a Expr, mut at: At) -> Result<Val<'a>, Error> {
        if at.ranged && self.invariant.contains(&(std::ptr::from_ref(expr) as usize)) {
            at = At { time: at.first, first: at.first, ranged: false };
        }
        self.budget.charge(1, expr.span)?;
        let value = match &expr.kind {
            ExprKind::Number(number) => Val::Scalar(*number),
            ExprKind::String(text) => Val::Text(text),
            ExprKind::Paren(inner) => self.eval(inner, at)?,
            ExprKind::Selector(selector) => Val::Vector(self.points(selector, at)?),
            ExprKind::Unary(sign, inner) => match (self.eval(inner, at)?, sign) {
                (Val::Scalar(number), Sign::Minus) => Val::Scalar(-number),
                (Val::Vector(mut points), Sign::Minus) => {
                    for point in &mut points {
                        *point = Point { drop_name: true, value: -point.value, ..*point };
                    }
                    Val::Vector(points)
                }
                (value, _) => value,
            },
            ExprKind::Binary(binary) => self.binary(binary, expr, at)?,
            ExprKind::Aggregate(aggregate) => Val::Vector(self.aggregate(aggregate, expr, at)?),
            ExprKind::Call(call) => self.call(call, expr, at)?,
            ExprKind::Range(_) | ExprKind::Subquery(_) => return Err(misplaced(expr)),
        };
        if let Val::Vector(points) = &value {
            self.budget.charge(points.len(), expr.span)?;
            self.charge_text(expr.span)?;
        }
        self.explain(expr, &value)?;
        Ok(value)
    }

    /// The text that was made since this was asked last counts, too: eight bytes are a sample.
    fn charge_text(&mut self, span: Span) -> Result<(), Error> {
        let bytes = self.space.bytes();
        let more = bytes.saturating_sub(self.charged_bytes);
        self.charged_bytes = bytes;
        if more > 0 { self.budget.charge(more.wrapping_shr(3), span) } else { Ok(()) }
    }

    fn scalar(&mut self, expr: &'a Expr, at: At) -> Result<f64, Error> {
        match self.eval(expr, at)? {
            Val::Scalar(number) => Ok(number),
            _ => Err(misplaced(expr)),
        }
    }

    fn vector(&mut self, expr: &'a Expr, at: At) -> Result<Vec<Point>, Error> {
        match self.eval(expr, at)? {
            Val::Vector(points) => Ok(points),
            _ => Err(misplaced(expr)),
        }
    }

    fn note(&mut self, level: Level, span: Span, message: impl Into<String>) {
        // More remarks of one query help nobody; Prometheus shows ten.
        if self.notes.len() < 100 {
            self.notes.insert(Note { level, span, message: message.into() });
        }
    }

    /// Takes the names away that are marked.
    fn named(&mut self, mut points: Vec<Point>, span: Span) -> Result<Vec<Point>, Error> {
        for point in &mut points {
            if point.drop_name {
                point.set = self.space.nameless(point.set).map_err(|full| no_room(full, span))?;
                point.drop_name = false;
            }
        }
        Ok(points)
    }

    fn samples(&self, points: &[Point]) -> Vec<Sample> {
        points.iter().map(|point| Sample { labels: self.space.labels(point.set), value: point.value }).collect()
    }
}

/// Refuses two series with the same labels.
fn no_duplicates(points: &[Point], span: Span) -> Result<(), Error> {
    let mut seen = IdSet::default();
    if points.len() > 1 && !points.iter().all(|point| seen.insert(point.set)) {
        return Err(same_labels(span));
    }
    Ok(())
}

/// A value of another type than the checked tree says; never seen for a query that was parsed.
fn misplaced(expr: &Expr) -> Error {
    Error::new(Code::Type, expr.span, "The value has the wrong type here.", "Check the query.")
}

/// The series and the query do not fit together, in the words of Prometheus.
fn failed(span: Span, message: impl Into<String>, help: &str) -> Error {
    Error::new(Code::Evaluation, span, message, help)
}

fn same_labels(span: Span) -> Error {
    let help = "Keep a label that distinguishes the series, or aggregate them.";
    failed(span, "vector cannot contain metrics with the same labelset", help)
}

fn no_room(_: Full, span: Span) -> Error {
    Error::new(Code::Budget, span, "The evaluation creates too many labels.", "Select fewer series.")
}

#[cfg(test)]
mod tests;
