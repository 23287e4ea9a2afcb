//! A query on several lines, so that its branches can be read one by one.

use clearway_promql::ast::ExprKind;
use clearway_promql::{Expr, children};

/// Columns that are filled before an expression is broken up.
const WIDTH: usize = 72;
/// Columns of a left side that stays on the line of its operator.
const SHORT: usize = 8;

/// The query: branches of a set operator below each other, and whatever is too wide broken up and indented.
pub(super) fn format_query(expr: &Expr) -> String {
    let text = expr.to_string();
    if let ExprKind::Binary(binary) = &expr.kind
        && (binary.op.is_set() || text.len() > WIDTH)
    {
        let (left, right) = (binary.left.to_string(), binary.right.to_string());
        // What stands between both sides is the operator with its modifiers.
        if let Some(operator) = text.strip_prefix(&left).and_then(|rest| rest.strip_suffix(&right)) {
            // `0 * …` is no branch of its own.
            if left.len() <= SHORT && !binary.op.is_set() {
                return format!("{left}{operator}{}", format_query(&binary.right));
            }
            return format!("{}\n{}\n{}", format_query(&binary.left), operator.trim(), format_query(&binary.right));
        }
    }
    if text.len() <= WIDTH { text } else { broken(expr, &text).unwrap_or(text) }
}

/// Brackets with each argument on lines of its own; nothing for what has no brackets around its parts.
fn broken(expr: &Expr, text: &str) -> Option<String> {
    if !matches!(expr.kind, ExprKind::Paren(_) | ExprKind::Aggregate(_) | ExprKind::Call(_)) {
        return None;
    }
    let mut rest = text.strip_suffix(')')?;
    let mut arguments = Vec::new();
    for (at, part) in children(expr).into_iter().rev().enumerate() {
        if at > 0 {
            rest = rest.strip_suffix(", ")?;
        }
        rest = rest.strip_suffix(&part.to_string())?;
        arguments.push(format_query(part).lines().map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n"));
    }
    arguments.reverse();
    Some(format!("{rest}\n{}\n)", arguments.join(",\n")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clearway_promql::{Limits, Query};

    #[test]
    fn a_query_is_the_same_on_several_lines() {
        let long = "namespace=\"somewhere-that-is-far-away-and-has-a-long-name\"";
        for (text, lines) in [
            ("max(a)".to_owned(), 1),
            ("max(a) or 0 * group(b)".to_owned(), 3),
            ("max(a) or on (x) 0 * group(b) or 1 * group(c)".to_owned(), 5),
            ("-1 * (a unless b)".to_owned(), 1),
            (format!("topk(1, max by (x) (a{{{long}}}) or label_replace(0 * group(b), \"x\", \"\", \"\", \"\"))"), 8),
            (format!("0 * group by (a, b, c, d) (a{{{long}}})"), 3),
            (format!("max((a{{{long}}} > bool 3) + on (x) group_left (y) (b{{{long}}}))"), 5),
        ] {
            let query = Query::parse(&text, &Limits::default()).unwrap();
            let shown = format_query(query.expr());
            let again = Query::parse(&shown, &Limits::default()).unwrap();
            assert_eq!(again.to_string(), query.to_string(), "{shown}");
            assert_eq!(shown.lines().count(), lines, "{shown}");
        }
    }
}
