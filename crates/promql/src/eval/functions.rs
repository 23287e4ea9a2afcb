//! Calls of functions: which code computes which function.

mod absent;
mod dates;
mod histogram;
mod labels;
mod math;
mod over_time;
mod rate;
mod sort;
mod trend;

use super::invariant::unwrapped;
use super::{At, Evaluator, Point, Val, misplaced, no_duplicates};
use crate::error::{Code, Error};
use crate::eval::binary::arithmetic::{larger, smaller};
use crate::syntax::ast::{Call, Expr, ExprKind};

impl<'a> Evaluator<'a> {
    pub(super) fn call(&mut self, call: &'a Call, expr: &'a Expr, at: At) -> Result<Val<'a>, Error> {
        let name = call.function.name;
        let arguments = call.arguments.as_slice();
        if let Some(number) = self.number(name, arguments, at)? {
            return Ok(Val::Scalar(number));
        }
        if let Some(points) = self.range_function(name, arguments, at)? {
            return Ok(Val::Vector(points));
        }
        let points = match (name, arguments) {
            ("label_replace", [vector, rest @ ..]) => {
                return self.label_replace(vector, rest, expr, at).map(Val::Vector);
            }
            ("label_join", [vector, rest @ ..]) => return self.label_join(vector, rest, expr, at).map(Val::Vector),
            ("vector", [scalar]) => {
                let value = self.scalar(scalar, at)?;
                vec![Point { set: self.space.empty, drop_name: false, value }]
            }
            ("absent", [vector]) => self.absent(vector, at)?,
            ("timestamp", [vector]) => self.timestamp(vector, at)?,
            ("sort" | "sort_desc" | "sort_by_label" | "sort_by_label_desc", _) => {
                self.sort(name, arguments, expr, at)?
            }
            ("clamp" | "clamp_min" | "clamp_max" | "round", [vector, rest @ ..]) => {
                self.bounded(name, vector, rest, at)?
            }
            ("histogram_quantile", [scalar, vector]) => self.histogram_quantile(scalar, vector, at)?,
            ("histogram_quantiles", [vector, label, scalars @ ..]) => {
                self.histogram_quantiles(vector, label, scalars, at)?
            }
            ("histogram_fraction", [lower, upper, vector]) => self.histogram_fraction(lower, upper, vector, at)?,
            (
                "histogram_avg" | "histogram_count" | "histogram_stddev" | "histogram_stdvar" | "histogram_sum",
                [vector],
            ) => {
                // They look at native histograms only, and a vector with one of those is refused before.
                self.vector(vector, at)?;
                Vec::new()
            }
            ("start_timestamp", [vector]) => {
                // Empty unless Prometheus keeps start timestamps, which is another feature.
                self.vector(vector, at)?;
                Vec::new()
            }
            (
                "days_in_month" | "day_of_month" | "day_of_week" | "day_of_year" | "hour" | "minute" | "month" | "year",
                _,
            ) => self.date(name, arguments.first(), at)?,
            (_, [vector]) => match math::function(name) {
                Some(function) => self.mapped(vector, at, function)?,
                None => return Err(unsupported(call, expr)),
            },
            _ => return Err(unsupported(call, expr)),
        };
        if at.ranged {
            no_duplicates(&points, expr.span)?;
        }
        Ok(Val::Vector(points))
    }

    /// Functions that give a number.
    fn number(&mut self, name: &str, arguments: &'a [Expr], at: At) -> Result<Option<f64>, Error> {
        let bounds = self.bounds;
        Ok(Some(match (name, arguments) {
            ("time", []) => seconds(at.time),
            ("pi", []) => std::f64::consts::PI,
            ("start", []) => seconds(bounds.start),
            ("end", []) => seconds(bounds.end),
            ("range", []) => seconds(bounds.end.saturating_sub(bounds.start)),
            ("step", []) if bounds.start == bounds.end => 0.0,
            ("step", []) => seconds(bounds.step),
            ("scalar", [vector]) => match self.vector(vector, at)?.as_slice() {
                [point] => point.value,
                _ => f64::NAN,
            },
            ("max_of", [one, other]) => larger(self.scalar(one, at)?, self.scalar(other, at)?),
            ("min_of", [one, other]) => smaller(self.scalar(one, at)?, self.scalar(other, at)?),
            _ => return Ok(None),
        }))
    }

    /// A function of every value on its own.
    fn mapped(&mut self, vector: &'a Expr, at: At, of: impl Fn(f64) -> f64) -> Result<Vec<Point>, Error> {
        let mut points = self.vector(vector, at)?;
        for point in &mut points {
            *point = Point { drop_name: true, value: of(point.value), ..*point };
        }
        Ok(points)
    }

    fn bounded(&mut self, name: &str, vector: &'a Expr, rest: &'a [Expr], at: At) -> Result<Vec<Point>, Error> {
        let mut numbers = Vec::with_capacity(2);
        let points_first = self.vector(vector, at)?;
        for scalar in rest {
            numbers.push(self.scalar(scalar, at)?);
        }
        let (low, high) = match (name, numbers.as_slice()) {
            ("clamp", [low, high]) => (*low, *high),
            ("clamp_min", [low]) => (*low, f64::INFINITY),
            ("clamp_max", [high]) => (f64::NEG_INFINITY, *high),
            (_, nearest) => {
                // The inverse costs less accuracy.
                let inverse = 1.0 / nearest.first().copied().unwrap_or(1.0);
                return Ok(renamed(points_first, |value| (value * inverse + 0.5).floor() / inverse));
            }
        };
        if high < low {
            return Ok(Vec::new());
        }
        Ok(renamed(points_first, |value| larger(low, smaller(high, value))))
    }

    /// When each series was sampled; the time of the evaluation for everything that is not a selector.
    fn timestamp(&mut self, vector: &'a Expr, at: At) -> Result<Vec<Point>, Error> {
        let inner = unwrapped(vector);
        let ExprKind::Selector(selector) = &inner.kind else {
            return Ok(renamed(self.vector(vector, at)?, |_| seconds(at.time)));
        };
        let mut recent = self.recent(self.shifted(selector.shift, at));
        if selector.shift.at.is_some() {
            // Prometheus leaves the offset out here, but has fetched no samples later than it says.
            let fixed = crate::syntax::ast::Shift { offset: None, ..selector.shift };
            let (oldest, time) = self.recent(self.shifted(fixed, at));
            recent = (oldest, recent.1.min(time));
        }
        let mut points = Vec::new();
        self.latest(selector, recent, |point, sampled| {
            points.push(Point { drop_name: true, value: seconds(sampled), ..point });
        })?;
        if self.explanation.is_some() {
            self.vector(inner, at)?;
        }
        Ok(points)
    }

    fn text(&mut self, expr: &'a Expr, at: At) -> Result<&'a str, Error> {
        match self.eval(expr, at)? {
            Val::Text(text) => Ok(text),
            _ => Err(misplaced(expr)),
        }
    }
}

/// Changed values, whose series lose their names.
fn renamed(mut points: Vec<Point>, of: impl Fn(f64) -> f64) -> Vec<Point> {
    for point in &mut points {
        *point = Point { drop_name: true, value: of(point.value), ..*point };
    }
    points
}

#[expect(clippy::cast_precision_loss, reason = "Prometheus counts seconds as a float, too")]
pub(super) fn seconds(millis: i64) -> f64 {
    millis as f64 / 1_000.0
}

fn unsupported(call: &Call, expr: &Expr) -> Error {
    let message = format!("The function `{}` is not supported by this evaluator.", call.function.name);
    Error::new(Code::Unsupported, expr.span, message, "Run this query on a Prometheus server.")
}
