//! How much memory the tree of a query takes. A query of a few letters can have a tree of a hundred times as many bytes, and
//! whoever keeps queries of strangers has to know it.

use super::ast::{Aggregate, Binary, Expr, ExprKind, Grouping, Matcher, Name, Selector, Subquery};
use super::walk::visit;

/// What an allocation takes beside its bytes.
const ALLOCATION: usize = 32;

/// Bytes of memory that a tree takes, its root included.
pub(crate) fn memory(tree: &Expr) -> usize {
    let mut bytes = size_of::<Expr>();
    visit(tree, &mut |expr, _| bytes = bytes.saturating_add(below(expr)));
    bytes
}

/// What an expression has allocated itself, with the places of those directly below it.
fn below(expr: &Expr) -> usize {
    match &expr.kind {
        ExprKind::Number(_) => 0,
        ExprKind::String(text) => bytes(text),
        ExprKind::Selector(one) => selector(one),
        ExprKind::Range(range) => selector(&range.selector),
        ExprKind::Subquery(_) => boxed::<Subquery>(),
        ExprKind::Paren(_) | ExprKind::Unary(..) => boxed::<Expr>(),
        ExprKind::Binary(binary) => {
            let labels = binary.matching.as_ref().map_or(0, |matching| {
                let many = matching.many.as_ref().map_or(0, |(_, labels)| names(labels));
                grouping(&matching.labels).saturating_add(many)
            });
            boxed::<Binary>().saturating_add(labels)
        }
        ExprKind::Aggregate(aggregate) => {
            boxed::<Aggregate>().saturating_add(aggregate.grouping.as_ref().map_or(0, grouping))
        }
        ExprKind::Call(call) => list(&call.arguments),
    }
}

fn selector(Selector { metric, matchers, .. }: &Selector) -> usize {
    let name = metric.as_ref().map_or(0, |metric| bytes(&metric.name.text));
    let texts = |Matcher { label, value, .. }: &Matcher| bytes(&label.text).saturating_add(bytes(&value.text));
    matchers.iter().map(texts).fold(list(matchers).saturating_add(name), usize::saturating_add)
}

fn grouping(Grouping { labels, .. }: &Grouping) -> usize {
    names(labels)
}

fn names(names: &Vec<Name>) -> usize {
    names.iter().map(|name| bytes(&name.text)).fold(list(names), usize::saturating_add)
}

fn boxed<T>() -> usize {
    size_of::<T>().saturating_add(ALLOCATION)
}

fn list<T>(list: &Vec<T>) -> usize {
    list.capacity().saturating_mul(size_of::<T>()).saturating_add(ALLOCATION)
}

fn bytes(text: &String) -> usize {
    text.capacity().saturating_add(ALLOCATION)
}
