//! Operators between two numbers.

use crate::syntax::ast::BinaryOp;

/// What an operator makes of two numbers; a comparison answers 0 or 1.
pub(in crate::eval) fn scalars(op: BinaryOp, left: f64, right: f64) -> f64 {
    match op {
        BinaryOp::Add => left + right,
        BinaryOp::Subtract => left - right,
        BinaryOp::Multiply => left * right,
        BinaryOp::Divide => left / right,
        BinaryOp::Modulo => left % right,
        BinaryOp::Power => left.powf(right),
        BinaryOp::Atan2 => left.atan2(right),
        // Set operators never stand between numbers.
        BinaryOp::Or | BinaryOp::And | BinaryOp::Unless => f64::NAN,
        comparison => f64::from(u8::from(compares(comparison, left, right))),
    }
}

/// Whether a comparison holds.
#[expect(clippy::float_cmp, reason = "PromQL compares exactly")]
pub(in crate::eval) fn compares(op: BinaryOp, left: f64, right: f64) -> bool {
    match op {
        BinaryOp::Equal => left == right,
        BinaryOp::NotEqual => left != right,
        BinaryOp::Less => left < right,
        BinaryOp::LessEqual => left <= right,
        BinaryOp::Greater => left > right,
        BinaryOp::GreaterEqual => left >= right,
        _ => false,
    }
}

/// The larger of two numbers: infinity before NaN, NaN before all others.
pub(in crate::eval) fn larger(one: f64, other: f64) -> f64 {
    if one == f64::INFINITY || other == f64::INFINITY {
        f64::INFINITY
    } else if one.is_nan() || other.is_nan() {
        f64::NAN
    } else {
        one.max(other)
    }
}

/// The smaller of two numbers: infinity below zero before NaN, NaN before all others.
pub(in crate::eval) fn smaller(one: f64, other: f64) -> f64 {
    -larger(-one, -other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extremes_are_those_of_go() {
        assert!(larger(f64::NAN, 1.0).is_nan() && smaller(1.0, f64::NAN).is_nan());
        assert!(larger(f64::NAN, f64::INFINITY).is_infinite() && smaller(f64::NAN, f64::NEG_INFINITY).is_infinite());
        assert!(larger(f64::NAN, f64::NEG_INFINITY).is_nan());
    }

    #[test]
    fn comparisons_with_nan_hold_for_difference_only() {
        for op in [BinaryOp::Equal, BinaryOp::Less, BinaryOp::GreaterEqual] {
            assert!(!compares(op, f64::NAN, f64::NAN));
        }
        assert!(compares(BinaryOp::NotEqual, f64::NAN, f64::NAN));
    }
}
