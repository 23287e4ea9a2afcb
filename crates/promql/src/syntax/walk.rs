//! Going through a tree. Recursion is safe here: no tree is deeper than [`crate::Limits::DEEPEST`].

use crate::syntax::ast::{Expr, ExprKind, Selector};

/// The expressions directly below `expr`, in the order of the text.
pub fn children(expr: &Expr) -> Vec<&Expr> {
    match &expr.kind {
        ExprKind::Number(_) | ExprKind::String(_) | ExprKind::Selector(_) | ExprKind::Range(_) => Vec::new(),
        ExprKind::Subquery(subquery) => vec![&subquery.expr],
        ExprKind::Paren(inner) | ExprKind::Unary(_, inner) => vec![inner],
        ExprKind::Binary(binary) => vec![&binary.left, &binary.right],
        ExprKind::Aggregate(aggregate) => aggregate.parameter.iter().chain([&aggregate.expr]).collect(),
        ExprKind::Call(call) => call.arguments.iter().collect(),
    }
}

/// Shows every expression of a tree with its level, which is 1 for the whole.
pub fn visit<'q>(expr: &'q Expr, see: &mut dyn FnMut(&'q Expr, usize)) {
    fn go<'q>(expr: &'q Expr, level: usize, see: &mut dyn FnMut(&'q Expr, usize)) {
        see(expr, level);
        for child in children(expr) {
            go(child, level.saturating_add(1), see);
        }
    }
    go(expr, 1, see);
}

/// The selector of an expression that is one, with a range or without.
pub(crate) fn selector_of(expr: &Expr) -> Option<&Selector> {
    match &expr.kind {
        ExprKind::Selector(selector) => Some(selector),
        ExprKind::Range(range) => Some(&range.selector),
        _ => None,
    }
}

/// Shows every selector of a tree, to be changed.
pub(crate) fn selectors_mut(expr: &mut Expr, change: &mut dyn FnMut(&mut Selector)) {
    match &mut expr.kind {
        ExprKind::Number(_) | ExprKind::String(_) => {}
        ExprKind::Selector(selector) => change(selector),
        ExprKind::Range(range) => change(&mut range.selector),
        ExprKind::Subquery(subquery) => selectors_mut(&mut subquery.expr, change),
        ExprKind::Paren(inner) | ExprKind::Unary(_, inner) => selectors_mut(inner, change),
        ExprKind::Binary(binary) => {
            selectors_mut(&mut binary.left, change);
            selectors_mut(&mut binary.right, change);
        }
        ExprKind::Aggregate(aggregate) => {
            if let Some(parameter) = &mut aggregate.parameter {
                selectors_mut(parameter, change);
            }
            selectors_mut(&mut aggregate.expr, change);
        }
        ExprKind::Call(call) => call.arguments.iter_mut().for_each(|argument| selectors_mut(argument, change)),
    }
}
