//! Which values an expression can have.
//!
//! A set of values is either a short list, or anything except what is known to be excluded of 0 and 1. Both may hold
//! too much, never too little, with one exception made on purpose: a product with zero is zero, although a metric may
//! be infinite.

use crate::analysis::types::{ValueType, type_of};
use crate::syntax::ast::{AggregateOp, Binary, BinaryOp, Call, Expr, ExprKind, Sign};

/// Which values an expression can have.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Values {
    /// These and no others.
    Known(Vec<f64>),
    /// Anything, but 0 and 1 only if it is so said.
    Any { zero: bool, one: bool },
}

use Values::{Any, Known};

const ANYTHING: Values = Any { zero: true, one: true };

/// Longer lists are not worth their while.
const LONGEST: usize = 16;

impl Values {
    /// The values of an expression.
    pub(crate) fn of(expr: &Expr) -> Values {
        match &expr.kind {
            ExprKind::Number(number) => Known(vec![*number]),
            ExprKind::String(_) | ExprKind::Selector(_) | ExprKind::Range(_) => ANYTHING,
            ExprKind::Subquery(subquery) => Values::of(&subquery.expr),
            ExprKind::Paren(inner) | ExprKind::Unary(Sign::Plus, inner) => Values::of(inner),
            ExprKind::Unary(Sign::Minus, inner) => Values::of(inner).map(|value| -value, Any { zero: true, one: true }),
            ExprKind::Binary(binary) => Values::of_binary(binary),
            ExprKind::Aggregate(aggregate) => Values::of(&aggregate.expr).aggregated(aggregate.op),
            ExprKind::Call(call) => Values::of_call(call),
        }
    }

    /// Whether the value is possible.
    pub(crate) fn may_be(&self, value: f64) -> bool {
        match self {
            Known(values) => values.iter().any(|known| same(*known, value)),
            Any { zero, .. } if same(value, 0.0) => *zero,
            Any { one, .. } if same(value, 1.0) => *one,
            Any { .. } => true,
        }
    }

    /// The value, if there is only one.
    pub(crate) fn only(&self) -> Option<f64> {
        match self {
            Known(values) => values.first().copied().filter(|_| values.len() == 1),
            Any { .. } => None,
        }
    }

    fn is(&self, value: f64) -> bool {
        self.only().is_some_and(|only| same(only, value))
    }

    fn known(mut values: Vec<f64>) -> Values {
        values.sort_by(f64::total_cmp);
        values.dedup_by(|a, b| same(*a, *b));
        let known = Known(values);
        match &known {
            Known(values) if values.len() > LONGEST => Any { zero: known.may_be(0.0), one: known.may_be(1.0) },
            _ => known,
        }
    }

    fn map(self, change: impl Fn(f64) -> f64, otherwise: Values) -> Values {
        match self {
            Known(values) => Values::known(values.into_iter().map(change).collect()),
            Any { .. } => otherwise,
        }
    }

    fn or(self, other: Values) -> Values {
        match (self, other) {
            (Known(mut left), Known(right)) => {
                left.extend(right);
                Values::known(left)
            }
            (left, right) => {
                Any { zero: left.may_be(0.0) || right.may_be(0.0), one: left.may_be(1.0) || right.may_be(1.0) }
            }
        }
    }

    fn aggregated(self, op: AggregateOp) -> Values {
        match op {
            AggregateOp::Group => Known(vec![1.0]),
            // What is counted is there.
            AggregateOp::Count | AggregateOp::CountValues => Any { zero: false, one: true },
            _ if keeps_values(op) => self,
            AggregateOp::Sum if self.is(0.0) => self,
            AggregateOp::Avg if self.only().is_some() => self,
            _ => ANYTHING,
        }
    }

    fn of_binary(binary: &Binary) -> Values {
        let (left, right) = (Values::of(&binary.left), Values::of(&binary.right));
        match binary.op {
            BinaryOp::Or => left.or(right),
            BinaryOp::And | BinaryOp::Unless => left,
            op if op.is_comparison() && binary.returns_bool => Known(vec![0.0, 1.0]),
            op if op.is_comparison() => Values::filtered(binary, op, left, right),
            op => Values::computed(op, left, right),
        }
    }

    /// What a comparison leaves over: values of the vector, which is the left side unless that is a scalar.
    fn filtered(binary: &Binary, op: BinaryOp, left: Values, right: Values) -> Values {
        let mirrored = type_of(&binary.left) == ValueType::Scalar;
        let (vector, other) = if mirrored { (right, left) } else { (left, right) };
        let Some(bound) = other.only() else { return vector };
        let passes = |value: f64| if mirrored { holds(op, bound, value) } else { holds(op, value, bound) };
        match vector {
            Known(values) => Values::known(values.into_iter().filter(|value| passes(*value)).collect()),
            Any { .. } if op == BinaryOp::Equal => Known(vec![bound]),
            Any { zero, one } => Any { zero: zero && passes(0.0), one: one && passes(1.0) },
        }
    }

    fn computed(op: BinaryOp, left: Values, right: Values) -> Values {
        match (op, &left, &right) {
            (_, Known(first), Known(second)) if first.len().saturating_mul(second.len()) <= LONGEST => {
                let pairs = first.iter().flat_map(|a| second.iter().map(move |b| compute(op, *a, *b)));
                Values::known(pairs.collect())
            }
            (BinaryOp::Multiply, ..) if left.is(0.0) || right.is(0.0) => Known(vec![0.0]),
            (BinaryOp::Multiply | BinaryOp::Divide | BinaryOp::Power, ..) if right.is(1.0) => left,
            (BinaryOp::Add | BinaryOp::Subtract, ..) if right.is(0.0) => left,
            (BinaryOp::Multiply, ..) if left.is(1.0) => right,
            (BinaryOp::Add, ..) if left.is(0.0) => right,
            _ => ANYTHING,
        }
    }

    fn of_call(call: &Call) -> Values {
        let argument = |index: usize| call.arguments.get(index).map_or(ANYTHING, Values::of);
        match call.function.name {
            "absent" | "absent_over_time" | "present_over_time" => Known(vec![1.0]),
            "count_over_time" => Any { zero: false, one: true },
            // The scalar of what is not one series is NaN.
            "scalar" => argument(0).or(Known(vec![f64::NAN])),
            "vector" | "label_replace" | "label_join" | "sort" | "sort_desc" | "sort_by_label"
            | "sort_by_label_desc" | "max_over_time" | "min_over_time" | "last_over_time" | "first_over_time" => {
                argument(0)
            }
            "abs" => argument(0).map(f64::abs, ANYTHING),
            "sgn" => argument(0).map(sign, ANYTHING),
            "ceil" => argument(0).map(f64::ceil, ANYTHING),
            "floor" => argument(0).map(f64::floor, ANYTHING),
            "pi" => Known(vec![std::f64::consts::PI]),
            _ => ANYTHING,
        }
    }
}

/// Whether an aggregation picks values of its input, and computes none.
pub(super) fn keeps_values(op: AggregateOp) -> bool {
    matches!(
        op,
        AggregateOp::Max
            | AggregateOp::Min
            | AggregateOp::Topk
            | AggregateOp::Bottomk
            | AggregateOp::Limitk
            | AggregateOp::LimitRatio
    )
}

#[expect(clippy::float_cmp, reason = "a condition's answer is exactly 0 or 1")]
fn same(a: f64, b: f64) -> bool {
    a == b || (a.is_nan() && b.is_nan())
}

fn sign(value: f64) -> f64 {
    if value > 0.0 {
        1.0
    } else if value < 0.0 {
        -1.0
    } else {
        value
    }
}

fn holds(op: BinaryOp, left: f64, right: f64) -> bool {
    match op {
        BinaryOp::Equal => same(left, right),
        BinaryOp::NotEqual => !same(left, right),
        BinaryOp::Less => left < right,
        BinaryOp::LessEqual => left <= right,
        BinaryOp::Greater => left > right,
        BinaryOp::GreaterEqual => left >= right,
        _ => true,
    }
}

fn compute(op: BinaryOp, left: f64, right: f64) -> f64 {
    match op {
        BinaryOp::Add => left + right,
        BinaryOp::Subtract => left - right,
        BinaryOp::Multiply => left * right,
        BinaryOp::Divide => left / right,
        BinaryOp::Modulo => left % right,
        BinaryOp::Atan2 => left.atan2(right),
        BinaryOp::Power => left.powf(right),
        _ => f64::NAN,
    }
}
