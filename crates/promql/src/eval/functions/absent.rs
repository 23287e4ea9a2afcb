//! Whether there is anything at all.

use super::super::invariant::unwrapped;
use super::super::select::exact_labels;
use super::super::{EvalTime, Evaluator, Point, no_room};
use crate::error::Error;
use crate::syntax::ast::Expr;
use crate::syntax::walk::selector_of;

impl<'a> Evaluator<'a> {
    /// `absent`: one series if there is none, with the labels the selector names.
    pub(super) fn absent(&mut self, vector: &'a Expr, at: EvalTime) -> Result<Vec<Point>, Error> {
        let present = !self.vector(vector, at)?.is_empty();
        self.absence(vector, present)
    }

    /// The series that says that nothing is there.
    pub(super) fn absence(&mut self, expr: &'a Expr, present: bool) -> Result<Vec<Point>, Error> {
        if present {
            return Ok(Vec::new());
        }
        let mut set = self.space.empty;
        let full = |full| no_room(full, expr.span);
        for (name, value) in selector_of(unwrapped(expr)).map(exact_labels).unwrap_or_default() {
            let name = self.space.intern(name).map_err(full)?;
            let value = self.space.intern(value).map_err(full)?;
            set = self.space.labelled(set, name, value).map_err(full)?;
        }
        Ok(vec![Point { set, drop_name: false, value: 1.0 }])
    }
}
