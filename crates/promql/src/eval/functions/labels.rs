//! Functions that change labels.

use super::super::space::LONGEST_VALUE;
use super::super::{At, Evaluator, Point, failed, no_duplicates, no_room};
use crate::ast::{Expr, Span};
use crate::error::{Code, Error};
use crate::matching::{PatternError, Replacement};
use crate::parser::METRIC_NAME;
use crate::series::hash::IdMap;
use crate::series::symbols::Symbol;

impl<'a> Evaluator<'a> {
    pub(super) fn label_replace(
        &mut self,
        vector: &'a Expr,
        rest: &'a [Expr],
        expr: &'a Expr,
        at: At,
    ) -> Result<Vec<Point>, Error> {
        let [target_expr, with_expr, source_expr, pattern_expr] = rest else { return Err(super::misplaced(expr)) };
        let target = self.text(target_expr, at)?;
        let with = self.text(with_expr, at)?;
        let source = self.text(source_expr, at)?;
        let pattern_text = self.text(pattern_expr, at)?;
        let pattern = match self.pattern(pattern_text) {
            Ok(pattern) => pattern,
            Err(PatternError::Syntax(_)) => {
                let message = format!("invalid regular expression in label_replace(): {pattern_text}");
                return Err(failed(pattern_expr.span, message, "Patterns are RE2; see the manual."));
            }
            Err(error) => return Err(Error::new(Code::Regex, pattern_expr.span, error.to_string(), error.help())),
        };
        let pattern = Replacement::new(&pattern, with);
        if target.is_empty() {
            let message = format!("invalid destination label name in label_replace(): {target}");
            return Err(failed(target_expr.span, message, "Name a label."));
        }
        let mut points = self.vector(vector, at)?;
        let full = |full| no_room(full, expr.span);
        let name = self.space.intern(target).map_err(full)?;
        let source = self.space.find(source);
        // Values repeat, so each is matched once.
        let mut made: IdMap<Symbol, Option<Symbol>> = IdMap::default();
        for point in &mut points {
            let value = source.map_or(crate::series::symbols::EMPTY, |source| self.space.value(point.set, source));
            let replaced = if let Some(replaced) = made.get(&value) {
                *replaced
            } else {
                let text = pattern.replace(self.space.text(value), LONGEST_VALUE);
                let replaced = match text.map_err(|_| too_long(expr.span))? {
                    Some(text) => Some(self.space.intern(&text).map_err(full)?),
                    None => None,
                };
                self.budget.charge(1, expr.span)?;
                made.insert(value, replaced);
                replaced
            };
            if let Some(replaced) = replaced {
                point.set = self.space.labelled(point.set, name, replaced).map_err(full)?;
                point.drop_name &= target != METRIC_NAME;
            }
        }
        // Series that became one by a change of labels are refused at once.
        no_duplicates(&points, expr.span)?;
        Ok(points)
    }

    pub(super) fn label_join(
        &mut self,
        vector: &'a Expr,
        rest: &'a [Expr],
        expr: &'a Expr,
        at: At,
    ) -> Result<Vec<Point>, Error> {
        let [target_expr, separator, sources @ ..] = rest else { return Err(super::misplaced(expr)) };
        let target = self.text(target_expr, at)?;
        let separator = self.text(separator, at)?;
        let mut names = Vec::with_capacity(sources.len());
        for source in sources {
            let name = self.text(source, at)?;
            if name.is_empty() {
                let message = format!("invalid source label name in label_join(): {name}");
                return Err(failed(source.span, message, "Name a label."));
            }
            names.push(name);
        }
        if target.is_empty() {
            let message = format!("invalid destination label name in label_join(): {target}");
            return Err(failed(target_expr.span, message, "Name a label."));
        }
        let mut points = self.vector(vector, at)?;
        let full = |full| no_room(full, expr.span);
        let name = self.space.intern(target).map_err(full)?;
        let names: Vec<Option<Symbol>> = names.into_iter().map(|name| self.space.find(name)).collect();
        let mut joined = String::new();
        for point in &mut points {
            joined.clear();
            for (index, name) in names.iter().enumerate() {
                if index > 0 {
                    joined.push_str(separator);
                }
                if let Some(name) = name {
                    joined.push_str(self.space.text(self.space.value(point.set, *name)));
                }
                if joined.len() > LONGEST_VALUE {
                    return Err(too_long(expr.span));
                }
            }
            self.budget.charge(names.len(), expr.span)?;
            let value = self.space.intern(&joined).map_err(full)?;
            point.set = self.space.labelled(point.set, name, value).map_err(full)?;
            point.drop_name &= target != METRIC_NAME;
        }
        // Series that became one by a change of labels are refused at once.
        no_duplicates(&points, expr.span)?;
        Ok(points)
    }
}

fn too_long(span: Span) -> Error {
    let message = format!("The value of a label is longer than {LONGEST_VALUE} bytes.");
    Error::new(Code::Budget, span, message, "Make shorter values.")
}
