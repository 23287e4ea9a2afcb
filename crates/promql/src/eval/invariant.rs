//! Which parts of a query give the same at every step: those whose selectors all have a fixed time.
//!
//! Prometheus evaluates the largest such parts once, at the first step, and so must we: the parameter of an
//! aggregation may vary although what is aggregated does not.

use crate::series::hash::IdSet;
use crate::syntax::ast::{Expr, ExprKind, Selector};

/// The expressions that are evaluated at the first step only, by their place in memory.
pub(super) fn find(expr: &Expr) -> IdSet<usize> {
    let mut found = IdSet::default();
    if check(expr, &mut found) {
        found.insert(std::ptr::from_ref(expr) as usize);
    }
    found
}

/// Functions whose result depends on the time of evaluation.
const UNSAFE: [&str; 11] = [
    "day_of_month",
    "day_of_week",
    "day_of_year",
    "days_in_month",
    "hour",
    "minute",
    "month",
    "predict_linear",
    "time",
    "timestamp",
    "year",
];

/// Whether an expression gives the same at every step. Parts of it that do, although it does not, go into `found`.
fn check(expr: &Expr, found: &mut IdSet<usize>) -> bool {
    let fixed = |selector: &Selector| selector.shift.at.is_some();
    match &expr.kind {
        ExprKind::Number(_) | ExprKind::String(_) => true,
        ExprKind::Selector(selector) => fixed(selector),
        ExprKind::Range(range) => fixed(&range.selector),
        ExprKind::Subquery(subquery) => {
            if check(&subquery.expr, found) {
                found.insert(std::ptr::from_ref(&subquery.expr) as usize);
            }
            subquery.shift.at.is_some()
        }
        ExprKind::Paren(inner) | ExprKind::Unary(_, inner) => check(inner, found),
        // The parameter is not asked.
        ExprKind::Aggregate(aggregate) => check(&aggregate.expr, found),
        ExprKind::Binary(binary) => together(&[&binary.left, &binary.right], true, found),
        ExprKind::Call(call) => {
            let name = call.function.name;
            let arguments: Vec<&Expr> = call.arguments.iter().collect();
            let timestamp = name == "timestamp"
                && arguments.first().is_some_and(|argument| match &unwrapped(argument).kind {
                    ExprKind::Selector(selector) => fixed(selector),
                    _ => false,
                });
            timestamp || together(&arguments, !UNSAFE.contains(&name), found)
        }
    }
}

/// Whether all parts are invariant and may be; if not, those that are stand for themselves.
fn together(parts: &[&Expr], may: bool, found: &mut IdSet<usize>) -> bool {
    let invariant: Vec<bool> = parts.iter().map(|part| check(part, found)).collect();
    if may && invariant.iter().all(|invariant| *invariant) {
        return true;
    }
    for (part, invariant) in parts.iter().zip(invariant) {
        if invariant {
            found.insert(std::ptr::from_ref(*part) as usize);
        }
    }
    false
}

/// An expression without the parentheses around it.
pub(super) fn unwrapped(mut expr: &Expr) -> &Expr {
    while let ExprKind::Paren(inner) = &expr.kind {
        expr = inner;
    }
    expr
}
