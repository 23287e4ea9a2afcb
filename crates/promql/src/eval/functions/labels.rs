//! Functions that change labels.
//!
//! What is to be done is prepared before the vector is evaluated, and done behind it: so little is on the stack while
//! the vector, which may be such a function again, is evaluated.

use std::borrow::Cow;

use super::super::space::LONGEST_VALUE;
use super::super::{EvalTime, Evaluator, Point, failed, no_duplicates, no_room};
use crate::error::{Code, Error};
use crate::matching::{Pattern, PatternError, Replacement};
use crate::series::hash::IdMap;
use crate::series::symbols::{EMPTY, Symbol};
use crate::syntax::ast::{Expr, Span};
use crate::syntax::parser::METRIC_NAME;

/// What `label_replace` does.
struct Replace<'a> {
    target: &'a str,
    with: &'a str,
    source: &'a str,
    pattern: Cow<'a, Pattern>,
}

/// What `label_join` does.
struct Join<'a> {
    target: &'a str,
    separator: &'a str,
    sources: Vec<&'a str>,
}

impl<'a> Evaluator<'a> {
    pub(super) fn label_replace(
        &mut self,
        vector: &'a Expr,
        rest: &'a [Expr],
        expr: &'a Expr,
        at: EvalTime,
    ) -> Result<Vec<Point>, Error> {
        let plan = self.replace_plan(rest, expr, at)?;
        let points = self.vector(vector, at)?;
        self.replaced(&plan, points, expr.span)
    }

    fn replace_plan(&mut self, rest: &'a [Expr], expr: &'a Expr, at: EvalTime) -> Result<Box<Replace<'a>>, Error> {
        let [target_expr, with, source, pattern_expr] = rest else { return Err(super::misplaced(expr)) };
        let target = self.text(target_expr, at)?;
        let with = self.text(with, at)?;
        let source = self.text(source, at)?;
        let pattern_text = self.text(pattern_expr, at)?;
        let pattern = match self.pattern(pattern_text) {
            Ok(pattern) => pattern,
            Err(PatternError::Syntax(_)) => {
                let message = format!("invalid regular expression in label_replace(): {pattern_text}");
                return Err(failed(pattern_expr.span, message, "Patterns are RE2; see the manual."));
            }
            Err(error) => return Err(Error::new(Code::Regex, pattern_expr.span, error.to_string(), error.help())),
        };
        if target.is_empty() {
            let message = format!("invalid destination label name in label_replace(): {target}");
            return Err(failed(target_expr.span, message, "Name a label."));
        }
        Ok(Box::new(Replace { target, with, source, pattern }))
    }

    fn replaced(&mut self, plan: &Replace<'_>, mut points: Vec<Point>, span: Span) -> Result<Vec<Point>, Error> {
        let full = |full| no_room(full, span);
        let replacement = Replacement::new(&plan.pattern, plan.with);
        let name = self.space.intern(plan.target).map_err(full)?;
        let source = self.space.find(plan.source);
        // Values repeat, so each is matched once.
        let mut made: IdMap<Symbol, Option<Symbol>> = IdMap::default();
        for point in &mut points {
            let value = source.map_or(EMPTY, |source| self.space.value(point.set, source));
            let replaced = if let Some(replaced) = made.get(&value) {
                *replaced
            } else {
                let text = replacement.replace(self.space.text(value), LONGEST_VALUE);
                let replaced = match text.map_err(|_| too_long(span))? {
                    Some(text) => Some(self.space.intern(&text).map_err(full)?),
                    None => None,
                };
                self.budget.charge(1, span)?;
                made.insert(value, replaced);
                replaced
            };
            if let Some(replaced) = replaced {
                point.set = self.space.labelled(point.set, name, replaced).map_err(full)?;
                point.drop_name &= plan.target != METRIC_NAME;
            }
        }
        // Series that became one by a change of labels are refused at once.
        no_duplicates(&points, span)?;
        Ok(points)
    }

    pub(super) fn label_join(
        &mut self,
        vector: &'a Expr,
        rest: &'a [Expr],
        expr: &'a Expr,
        at: EvalTime,
    ) -> Result<Vec<Point>, Error> {
        let plan = self.join_plan(rest, expr, at)?;
        let points = self.vector(vector, at)?;
        self.joined(&plan, points, expr.span)
    }

    fn join_plan(&mut self, rest: &'a [Expr], expr: &'a Expr, at: EvalTime) -> Result<Box<Join<'a>>, Error> {
        let [target_expr, separator, source_exprs @ ..] = rest else { return Err(super::misplaced(expr)) };
        let target = self.text(target_expr, at)?;
        let separator = self.text(separator, at)?;
        let mut sources = Vec::with_capacity(source_exprs.len());
        for source in source_exprs {
            let name = self.text(source, at)?;
            if name.is_empty() {
                let message = format!("invalid source label name in label_join(): {name}");
                return Err(failed(source.span, message, "Name a label."));
            }
            sources.push(name);
        }
        if target.is_empty() {
            let message = format!("invalid destination label name in label_join(): {target}");
            return Err(failed(target_expr.span, message, "Name a label."));
        }
        Ok(Box::new(Join { target, separator, sources }))
    }

    fn joined(&mut self, plan: &Join<'_>, mut points: Vec<Point>, span: Span) -> Result<Vec<Point>, Error> {
        let full = |full| no_room(full, span);
        let name = self.space.intern(plan.target).map_err(full)?;
        let sources: Vec<Option<Symbol>> = plan.sources.iter().map(|source| self.space.find(source)).collect();
        let mut joined = String::new();
        for point in &mut points {
            joined.clear();
            for (index, source) in sources.iter().enumerate() {
                if index > 0 {
                    joined.push_str(plan.separator);
                }
                if let Some(source) = source {
                    joined.push_str(self.space.text(self.space.value(point.set, *source)));
                }
                if joined.len() > LONGEST_VALUE {
                    return Err(too_long(span));
                }
            }
            self.budget.charge(sources.len(), span)?;
            let value = self.space.intern(&joined).map_err(full)?;
            point.set = self.space.labelled(point.set, name, value).map_err(full)?;
            point.drop_name &= plan.target != METRIC_NAME;
        }
        no_duplicates(&points, span)?;
        Ok(points)
    }
}

fn too_long(span: Span) -> Error {
    let message = format!("The value of a label is longer than {LONGEST_VALUE} bytes.");
    Error::new(Code::Budget, span, message, "Make shorter values.")
}
