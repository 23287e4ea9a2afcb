//! Keeps the value of every expression, for whoever wants to see how a result came about.

use super::{Evaluator, ExpressionValue, Line, Val, Value};
use crate::error::Error;
use crate::series::hash::IdMap;
use crate::syntax::ast::Expr;
use crate::syntax::walk::visit;

/// The values of expressions, by the place of the expression in memory.
#[derive(Debug, Default)]
pub(super) struct Explanation {
    values: IdMap<usize, (Value, u64)>,
}

impl Explanation {
    /// The value of every expression of a tree, in the order of the text.
    pub(super) fn of(mut self, expr: &Expr) -> Vec<ExpressionValue> {
        let mut explained = Vec::new();
        visit(expr, &mut |expr, level| {
            if let Some((value, times)) = self.values.remove(&(std::ptr::from_ref(expr) as usize)) {
                explained.push(ExpressionValue { span: expr.span, level, value, times });
            }
        });
        explained
    }

    fn keep(&mut self, expr: &Expr, value: Value) {
        let (last, times) = self.values.entry(std::ptr::from_ref(expr) as usize).or_insert((Value::Scalar(0.0), 0));
        *last = value;
        *times = times.saturating_add(1);
    }
}

impl Evaluator<'_> {
    /// Keeps the value of an expression, if that is wanted. The copy counts against the budget.
    pub(super) fn explain(&mut self, expr: &Expr, value: &Val<'_>) -> Result<(), Error> {
        if self.explanation.is_none() {
            return Ok(());
        }
        let value = match value {
            Val::Scalar(number) => Value::Scalar(*number),
            Val::Text(text) => Value::String((*text).to_owned()),
            Val::Vector(points) => {
                self.budget.charge(points.len(), expr.span)?;
                let points = self.named(points.clone(), expr.span)?;
                Value::Vector(self.samples(&points))
            }
        };
        if let Some(explanation) = &mut self.explanation {
            explanation.keep(expr, value);
        }
        Ok(())
    }

    /// The same for a range vector.
    pub(super) fn explain_lines(&mut self, expr: &Expr, lines: &[Line]) -> Result<(), Error> {
        if self.explanation.is_none() {
            return Ok(());
        }
        self.budget.charge(lines.iter().map(|line| line.times.len()).sum(), expr.span)?;
        let rows = self.rows(lines.to_vec(), expr.span)?;
        if let Some(explanation) = &mut self.explanation {
            explanation.keep(expr, Value::Matrix(rows));
        }
        Ok(())
    }
}
