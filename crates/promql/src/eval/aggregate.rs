//! Aggregations over series.

use super::kahan::{Kahan, Mean, nan_first, quantile};
use super::space::{Key, LONGEST_VALUE};
use super::{
    EvalTime, Evaluator, Level, Point, Val, failed, misplaced, no_duplicates, no_room, plain_number, short_number,
};
use crate::error::Error;
use crate::series::hash::IdMap;
use crate::series::sets::SetId;
use crate::syntax::ast::{Aggregate, AggregateOp, Expr};

/// The points of one group, by their places.
type Members = Vec<usize>;

impl<'a> Evaluator<'a> {
    pub(super) fn aggregate(
        &mut self,
        aggregate: &'a Aggregate,
        expr: &'a Expr,
        at: EvalTime,
    ) -> Result<Vec<Point>, Error> {
        match aggregate.op {
            AggregateOp::CountValues => return self.count_values(aggregate, at),
            AggregateOp::Topk | AggregateOp::Bottomk | AggregateOp::Limitk => return self.some(aggregate, at),
            AggregateOp::LimitRatio => return self.ratio(aggregate, at),
            _ => {}
        }
        let parameter = match &aggregate.parameter {
            Some(parameter) => self.scalar(parameter, at)?,
            None => 0.0,
        };
        let points = self.vector(&aggregate.expr, at)?;
        if aggregate.op == AggregateOp::Quantile && !(0.0..=1.0).contains(&parameter) {
            let span = aggregate.parameter.as_ref().map_or(expr.span, |parameter| parameter.span);
            let got = short_number(parameter);
            self.note(Level::Warning, span, format!("quantile value should be between 0 and 1, got {got}"));
        }
        let key = self.grouping(aggregate)?;
        let mut groups: Vec<(SetId, bool, State)> = Vec::new();
        let mut index: IdMap<SetId, usize> = IdMap::default();
        for point in &points {
            let set = self.reduced(point.set, &key, expr)?;
            let known = match key {
                Key::Nothing if !groups.is_empty() => Some(0),
                Key::Nothing => None,
                _ => index.get(&set).copied(),
            };
            if let Some((_, drop_name, state)) = known.and_then(|known| groups.get_mut(known)) {
                *drop_name |= point.drop_name;
                state.add(point.value);
            } else {
                if !matches!(key, Key::Nothing) {
                    index.insert(set, groups.len());
                }
                groups.push((set, point.drop_name, State::new(aggregate.op, point.value)));
            }
        }
        let result =
            |(set, drop_name, state): (SetId, bool, State)| Point { set, drop_name, value: state.value(parameter) };
        Ok(groups.into_iter().map(result).collect())
    }

    fn grouping(&mut self, aggregate: &Aggregate) -> Result<Key, Error> {
        match &aggregate.grouping {
            None => Ok(Key::Nothing),
            some => self.key_of(some.as_ref()),
        }
    }

    fn reduced(&mut self, set: SetId, key: &Key, expr: &Expr) -> Result<SetId, Error> {
        self.space.reduce(set, key).map_err(|full| no_room(full, expr.span))
    }

    /// The points in groups, in the order in which groups come up.
    fn groups(&mut self, aggregate: &Aggregate, points: &[Point]) -> Result<Vec<Members>, Error> {
        let key = self.grouping(aggregate)?;
        if matches!(key, Key::Nothing) && !points.is_empty() {
            return Ok(vec![(0..points.len()).collect()]);
        }
        let mut groups: Vec<Members> = Vec::new();
        let mut index: IdMap<SetId, usize> = IdMap::default();
        for (member, point) in points.iter().enumerate() {
            let set = self.reduced(point.set, &key, &aggregate.expr)?;
            let at = *index.entry(set).or_insert_with(|| {
                groups.push(Vec::new());
                groups.len().saturating_sub(1)
            });
            if let Some(group) = groups.get_mut(at) {
                group.push(member);
            }
        }
        Ok(groups)
    }

    fn parameter(&mut self, aggregate: &'a Aggregate, at: EvalTime) -> Result<(f64, &'a Expr), Error> {
        let Some(parameter) = &aggregate.parameter else { return Err(misplaced(&aggregate.expr)) };
        Ok((self.scalar(parameter, at)?, parameter))
    }

    /// `topk`, `bottomk`, `limitk`: some of the series of every group. Of equal values the first stay.
    fn some(&mut self, aggregate: &'a Aggregate, at: EvalTime) -> Result<Vec<Point>, Error> {
        let (parameter, parameter_expr) = self.parameter(aggregate, at)?;
        let points = self.vector(&aggregate.expr, at)?;
        let span = parameter_expr.span;
        // Prometheus looks at all steps of a range first: a number that is none at one step fails the whole.
        if parameter < 1.0 {
            return Ok(Vec::new());
        }
        if parameter.is_nan() {
            return Err(failed(span, "Parameter value is NaN", "Give a number."));
        }
        if parameter >= 9_223_372_036_854_775_808.0 {
            let message = format!("Scalar value {} overflows int64", short_number(parameter));
            return Err(failed(span, message, "Give a smaller number."));
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive, and cut to the length")]
        let count = (parameter as u64).min(points.len() as u64) as usize;
        let mut chosen = Vec::new();
        for mut members in self.groups(aggregate, &points)? {
            let value = |member: &usize| points.get(*member).map_or(f64::NAN, |point| point.value);
            match aggregate.op {
                // NaN loses against every number, from above and from below.
                AggregateOp::Topk => members.sort_by(|one, other| nan_first(value(other), value(one))),
                AggregateOp::Bottomk => members.sort_by(|one, other| nan_first(-value(other), -value(one))),
                _ => {}
            }
            chosen.extend(members.iter().take(count).filter_map(|member| points.get(*member).copied()));
        }
        Ok(chosen)
    }

    /// `limit_ratio`: a share of the series, chosen by the hash of their labels.
    fn ratio(&mut self, aggregate: &'a Aggregate, at: EvalTime) -> Result<Vec<Point>, Error> {
        let (parameter, parameter_expr) = self.parameter(aggregate, at)?;
        let points = self.vector(&aggregate.expr, at)?;
        let span = parameter_expr.span;
        if parameter == 0.0 {
            return Ok(Vec::new());
        }
        if parameter.is_nan() {
            return Err(failed(span, "Ratio value is NaN", "Give a number between -1 and 1."));
        }
        if !(-1.0..=1.0).contains(&parameter) {
            let (got, to) = (short_number(parameter), if parameter > 0.0 { "1" } else { "-1" });
            let message = format!("ratio value should be between -1 and 1, got {got}, capping to {to}");
            self.note(Level::Warning, span, message);
        }
        let ratio = parameter.clamp(-1.0, 1.0);
        // Groups do not change who is chosen, only the order.
        let groups = self.groups(aggregate, &points)?;
        let members = groups.iter().flatten().filter_map(|member| points.get(*member));
        let chosen = members.filter(|point| {
            let share = self.space.share_of(point.set);
            if ratio >= 0.0 { share < ratio } else { share >= 1.0 + ratio }
        });
        Ok(chosen.copied().collect())
    }

    /// `count_values`: how many series of every group have which value.
    fn count_values(&mut self, aggregate: &'a Aggregate, at: EvalTime) -> Result<Vec<Point>, Error> {
        let Some(parameter) = &aggregate.parameter else { return Err(misplaced(&aggregate.expr)) };
        let Val::Text(label) = self.eval(parameter, at)? else { return Err(misplaced(parameter)) };
        if label.is_empty() || label.len() > LONGEST_VALUE {
            let message = format!("invalid label name {label:?}");
            return Err(failed(parameter.span, message, "Name a label."));
        }
        let full = |full| no_room(full, parameter.span);
        let name = self.space.intern(label).map_err(full)?;
        let points = self.vector(&aggregate.expr, at)?;
        let key = match self.grouping(aggregate)? {
            Key::Nothing => Key::Only(vec![name]),
            Key::Only(mut names) => {
                names.push(name);
                Key::Only(names)
            }
            without @ Key::Without(_) => without,
        };
        let mut counts: Vec<Point> = Vec::new();
        let mut index: IdMap<SetId, usize> = IdMap::default();
        for point in &points {
            let value = self.space.intern(&plain_number(point.value)).map_err(full)?;
            let set = self.space.labelled(point.set, name, value).map_err(full)?;
            let set = self.space.reduce(set, &key).map_err(full)?;
            if let Some(count) = index.get(&set).and_then(|known| counts.get_mut(*known)) {
                count.value += 1.0;
            } else {
                index.insert(set, counts.len());
                counts.push(Point { set, drop_name: false, value: 1.0 });
            }
        }
        if at.ranged {
            no_duplicates(&counts, parameter.span)?;
        }
        Ok(counts)
    }
}

/// What is known of a group so far.
enum State {
    Sum(Kahan),
    Mean(Mean),
    Count(f64),
    Least(f64),
    Most(f64),
    Group,
    /// Count, mean and sum of squared distances, and whether the root is wanted.
    Spread {
        count: f64,
        mean: f64,
        squares: f64,
        root: bool,
    },
    All(Vec<f64>),
}

impl State {
    fn new(op: AggregateOp, first: f64) -> Self {
        match op {
            AggregateOp::Sum => State::Sum(Kahan::of(first)),
            AggregateOp::Avg => State::Mean(Mean::of(first)),
            AggregateOp::Count => State::Count(1.0),
            AggregateOp::Min => State::Least(first),
            AggregateOp::Max => State::Most(first),
            AggregateOp::Stddev | AggregateOp::Stdvar => State::Spread {
                count: 1.0,
                mean: first,
                squares: if first.is_finite() { 0.0 } else { f64::NAN },
                root: op == AggregateOp::Stddev,
            },
            AggregateOp::Quantile => State::All(vec![first]),
            _ => State::Group,
        }
    }

    fn add(&mut self, value: f64) {
        match self {
            State::Sum(sum) => *sum = sum.plus(value),
            State::Mean(mean) => mean.add(value),
            State::Count(count) => *count += 1.0,
            State::Least(least) => {
                if *least > value || least.is_nan() {
                    *least = value;
                }
            }
            State::Most(most) => {
                if *most < value || most.is_nan() {
                    *most = value;
                }
            }
            State::Group => {}
            State::Spread { count, mean, squares, .. } => {
                *count += 1.0;
                let distance = value - *mean;
                *mean += distance / *count;
                *squares += distance * (value - *mean);
            }
            State::All(values) => values.push(value),
        }
    }

    fn value(self, parameter: f64) -> f64 {
        match self {
            State::Sum(sum) => sum.total(),
            State::Mean(mean) => mean.value(),
            State::Count(count) => count,
            State::Least(value) | State::Most(value) => value,
            State::Group => 1.0,
            State::Spread { count, squares, root: true, .. } => (squares / count).sqrt(),
            State::Spread { count, squares, .. } => squares / count,
            State::All(mut values) => quantile(parameter, &mut values),
        }
    }
}
