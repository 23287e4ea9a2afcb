//! Operators between two expressions.

pub(super) mod arithmetic;
pub(super) mod matching;

use super::{EvalTime, Evaluator, Point, Val, misplaced, no_duplicates};
use crate::error::Error;
use crate::syntax::ast::{Binary, BinaryOp, Expr};
use arithmetic::{compares, scalars};

impl<'a> Evaluator<'a> {
    pub(super) fn binary(&mut self, binary: &'a Binary, expr: &'a Expr, at: EvalTime) -> Result<Val<'a>, Error> {
        let left = self.eval(&binary.left, at)?;
        let right = self.eval(&binary.right, at)?;
        let points = match (left, right) {
            (Val::Scalar(left), Val::Scalar(right)) => return Ok(Val::Scalar(scalars(binary.op, left, right))),
            (Val::Vector(left), Val::Scalar(right)) => with_scalar(binary, left, right, false),
            (Val::Scalar(left), Val::Vector(right)) => with_scalar(binary, right, left, true),
            (Val::Vector(left), Val::Vector(right)) if binary.op.is_set() => self.set_operator(binary, left, right)?,
            (Val::Vector(left), Val::Vector(right)) => self.matched(binary, expr, left, right)?,
            _ => return Err(misplaced(expr)),
        };
        if at.ranged {
            no_duplicates(&points, expr.span)?;
        }
        Ok(Val::Vector(points))
    }
}

/// Whether an operator makes something else of a metric, so that its name is wrong.
pub(super) fn changes_metric(op: BinaryOp) -> bool {
    !op.is_comparison() && !op.is_set()
}

/// A vector and a number; `swapped` if the number stands on the left.
fn with_scalar(binary: &Binary, mut points: Vec<Point>, scalar: f64, swapped: bool) -> Vec<Point> {
    let op = binary.op;
    let sides = |value: f64| if swapped { (scalar, value) } else { (value, scalar) };
    if op.is_comparison() && !binary.returns_bool {
        points.retain(|point| {
            let (left, right) = sides(point.value);
            compares(op, left, right)
        });
        return points;
    }
    for point in &mut points {
        let (left, right) = sides(point.value);
        *point = Point { drop_name: true, value: scalars(op, left, right), ..*point };
    }
    points
}
