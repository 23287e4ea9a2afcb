//! The canonical text of a tree: one line, one space, double quotes.
//!
//! It reads back as the same tree, so that two queries that differ only in layout, quotes or the spelling of numbers
//! have one text. Names are quoted only where they must be: older Prometheus does not read quoted names.

use std::fmt::{self, Write};

use crate::syntax::ast::{AtModifier, Expr, ExprKind, Grouping, MatchOp, Selector, Shift, Sign};
use crate::syntax::ast::{Binary, ManySide};
use crate::syntax::parser::METRIC_NAME;
use crate::syntax::strings;
use crate::syntax::token::Keyword;

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = String::new();
        print(self, &mut out);
        f.write_str(&out)
    }
}

/// Writing to a string cannot fail, so that its results are left alone throughout.
fn print(expr: &Expr, out: &mut String) {
    match &expr.kind {
        ExprKind::Number(number) => out.push_str(&number_text(*number)),
        ExprKind::String(text) => strings::quote(text, out),
        ExprKind::Selector(selector) => {
            print_selector(selector, out);
            print_shift(selector.shift, out);
        }
        ExprKind::Range(range) => {
            print_selector(&range.selector, out);
            let _ = write!(out, "[{}]", range.range);
            print_shift(range.selector.shift, out);
        }
        ExprKind::Subquery(subquery) => {
            print(&subquery.expr, out);
            let _ = write!(out, "[{}:", subquery.range);
            if let Some(step) = subquery.step {
                out.push_str(&step.to_string());
            }
            out.push(']');
            print_shift(subquery.shift, out);
        }
        ExprKind::Paren(inner) => {
            out.push('(');
            print(inner, out);
            out.push(')');
        }
        ExprKind::Unary(sign, inner) => {
            out.push(if *sign == Sign::Minus { '-' } else { '+' });
            print(inner, out);
        }
        ExprKind::Binary(binary) => print_binary(binary, out),
        ExprKind::Aggregate(aggregate) => {
            out.push_str(aggregate.op.as_str());
            if let Some(grouping) = &aggregate.grouping {
                print_grouping(if grouping.only { " by " } else { " without " }, grouping, out);
                out.push(' ');
            }
            print_list(aggregate.parameter.iter().chain([&aggregate.expr]), out);
        }
        ExprKind::Call(call) => {
            out.push_str(call.function.name);
            print_list(call.arguments.iter(), out);
        }
    }
}

fn print_list<'q>(exprs: impl Iterator<Item = &'q Expr>, out: &mut String) {
    out.push('(');
    for (index, expr) in exprs.enumerate() {
        if index > 0 {
            out.push_str(", ");
        }
        print(expr, out);
    }
    out.push(')');
}

fn print_binary(binary: &Binary, out: &mut String) {
    print(&binary.left, out);
    out.push(' ');
    out.push_str(binary.op.as_str());
    if binary.returns_bool {
        out.push_str(" bool");
    }
    if let Some(matching) = &binary.matching {
        print_grouping(if matching.labels.only { " on " } else { " ignoring " }, &matching.labels, out);
        if let Some((many, include)) = &matching.many {
            // The parentheses always: without them, those of the right side would be taken for the labels.
            let include = Grouping { only: true, labels: include.clone() };
            print_grouping(if *many == ManySide::Left { " group_left " } else { " group_right " }, &include, out);
        }
    }
    for (word, value) in [("fill_left", binary.fill.left), ("fill_right", binary.fill.right)] {
        if let Some(value) = value {
            for part in [" ", word, " (", &number_text(value), ")"] {
                out.push_str(part);
            }
        }
    }
    out.push(' ');
    print(&binary.right, out);
}

fn print_grouping(word: &str, grouping: &Grouping, out: &mut String) {
    out.push_str(word);
    out.push('(');
    for (index, label) in grouping.labels.iter().enumerate() {
        if index > 0 {
            out.push_str(", ");
        }
        let reserved = Keyword::of(&label.text).is_some_and(|keyword| !keyword.may_be_label())
            || ["inf", "nan"].iter().any(|number| label.text.eq_ignore_ascii_case(number));
        if is_plain_label(&label.text) && !reserved {
            out.push_str(&label.text);
        } else {
            strings::quote(&label.text, out);
        }
    }
    out.push(')');
}

fn print_selector(selector: &Selector, out: &mut String) {
    let mut parts = Vec::new();
    match &selector.metric {
        Some(metric) if metric.in_braces => {
            let mut part = String::new();
            if is_plain_metric(&metric.name.text) {
                part.push_str(METRIC_NAME);
                part.push('=');
            }
            strings::quote(&metric.name.text, &mut part);
            parts.push(part);
        }
        Some(metric) => out.push_str(&metric.name.text),
        None => {}
    }
    for matcher in &selector.matchers {
        let mut part = String::new();
        if is_plain_label(&matcher.label.text) {
            part.push_str(&matcher.label.text);
        } else {
            strings::quote(&matcher.label.text, &mut part);
        }
        part.push_str(match matcher.op {
            MatchOp::Equal => "=",
            MatchOp::NotEqual => "!=",
            MatchOp::Matches => "=~",
            MatchOp::NotMatches => "!~",
        });
        strings::quote(&matcher.value.text, &mut part);
        parts.push(part);
    }
    if !parts.is_empty() || selector.metric.is_none() {
        out.push('{');
        out.push_str(&parts.join(","));
        out.push('}');
    }
}

fn print_shift(shift: Shift, out: &mut String) {
    match shift.at {
        Some(AtModifier::Start) => out.push_str(" @ start()"),
        Some(AtModifier::End) => out.push_str(" @ end()"),
        Some(AtModifier::Time(time)) => {
            let millis = time.0.unsigned_abs();
            let sign = if time.0 < 0 { "-" } else { "" };
            let (seconds, rest) = (millis.checked_div(1_000).unwrap_or(0), millis.checked_rem(1_000).unwrap_or(0));
            let _ = write!(out, " @ {sign}{seconds}.{rest:03}");
        }
        None => {}
    }
    if let Some(offset) = shift.offset {
        let _ = write!(out, " offset {}{offset}", if offset.0 < 0 { "-" } else { "" });
    }
}

/// A number that reads back as itself. Very large and very small ones have an exponent.
fn number_text(number: f64) -> String {
    let size = number.abs();
    if number.is_nan() {
        "NaN".to_owned()
    } else if number.is_infinite() {
        if number > 0.0 { "Inf".to_owned() } else { "-Inf".to_owned() }
    } else if size != 0.0 && !(1e-6..1e21).contains(&size) {
        format!("{number:e}")
    } else {
        number.to_string()
    }
}

pub(crate) fn is_plain_label(text: &str) -> bool {
    let letter = |c: char| c.is_ascii_alphabetic() || c == '_';
    text.starts_with(letter) && text.chars().all(|c| letter(c) || c.is_ascii_digit())
}

pub(crate) fn is_plain_metric(text: &str) -> bool {
    let letter = |c: char| c.is_ascii_alphabetic() || matches!(c, '_' | ':');
    text.starts_with(letter) && text.chars().all(|c| letter(c) || c.is_ascii_digit())
}

#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) use tests::queries;
