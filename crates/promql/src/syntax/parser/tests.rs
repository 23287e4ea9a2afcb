//! What is read, how it binds, and what is refused where.

use proptest::prelude::*;

use super::parse;
use crate::error::Code;
use crate::syntax::limits::Limits;

/// The tree with every operator in parentheses.
fn bound(text: &str) -> String {
    use crate::syntax::ast::{Expr, ExprKind};
    fn go(expr: &Expr) -> String {
        match &expr.kind {
            ExprKind::Binary(binary) => format!("({} {} {})", go(&binary.left), binary.op.as_str(), go(&binary.right)),
            ExprKind::Unary(_, inner) => format!("(- {})", go(inner)),
            ExprKind::Paren(inner) => go(inner),
            _ => expr.to_string(),
        }
    }
    go(&parse(text, &Limits::default()).unwrap_or_else(|error| panic!("{text}: {error}")))
}

#[test]
fn operators_bind_as_in_prometheus() {
    for (text, expected) in [
        ("1 + 2 * 3 ^ 4", "(1 + (2 * (3 ^ 4)))"),
        ("2 ^ 3 ^ 4", "(2 ^ (3 ^ 4))"),
        ("1 - 2 - 3", "((1 - 2) - 3)"),
        ("a or b and c unless d", "(a or ((b and c) unless d))"),
        ("a == b + c > d", "((a == (b + c)) > d)"),
        ("-x ^ 2", "(- (x ^ 2))"),
        ("-x * 2", "((- x) * 2)"),
        ("-1 ^ 2", "(- (1 ^ 2))"),
        ("x ^ -1 * 2", "((x ^ -1) * 2)"),
        ("x ^ -y ^ 2", "(x ^ (- (y ^ 2)))"),
        ("--1", "1"),
        ("1 - -1", "(1 - -1)"),
        ("a atan2 b % c", "((a atan2 b) % c)"),
        ("-x offset 5m + y", "((- x offset 5m) + y)"),
        ("a AND b OR c", "((a and b) or c)"),
    ] {
        assert_eq!(bound(text), expected, "{text}");
    }
}

#[test]
fn every_node_knows_where_it_stands() {
    let text = "sum by (a) (x{b=\"c\"}[5m:1m] offset 1h) + -rate(y[5m]) ";
    let mut seen = Vec::new();
    let expr = parse(text, &Limits::default()).unwrap();
    crate::syntax::walk::visit(&expr, &mut |expr, _| seen.push(&text[expr.span.start..expr.span.end]));
    assert_eq!(
        seen,
        [
            "sum by (a) (x{b=\"c\"}[5m:1m] offset 1h) + -rate(y[5m])",
            "sum by (a) (x{b=\"c\"}[5m:1m] offset 1h)",
            "x{b=\"c\"}[5m:1m] offset 1h",
            "x{b=\"c\"}",
            "-rate(y[5m])",
            "rate(y[5m])",
            "y[5m]",
        ]
    );
}

#[test]
fn what_is_no_query_is_refused_with_its_place() {
    for (text, code, place) in [
        ("", Code::Syntax, ""),
        ("  # nothing", Code::Syntax, ""),
        ("(x", Code::Syntax, "("),
        ("x)", Code::Syntax, ")"),
        ("sum(x", Code::Syntax, "("),
        ("x{a=\"b\"", Code::Syntax, "{"),
        ("x{a}", Code::Syntax, "}"),
        ("x{=\"b\"}", Code::Syntax, "="),
        ("x{a=b}", Code::Syntax, "b"),
        ("x{,}", Code::Syntax, ","),
        ("x y", Code::Syntax, "y"),
        ("x +", Code::Syntax, ""),
        ("* x", Code::Syntax, "*"),
        ("on + 1", Code::Syntax, "on"),
        ("sum(x,)", Code::Syntax, ","),
        ("sum by a (x)", Code::Syntax, "a"),
        ("sum by (without) (x)", Code::Syntax, "without"),
        ("sum()", Code::Function, "sum()"),
        ("topk(x)", Code::Function, "topk(x)"),
        ("max(1, x)", Code::Function, "max(1, x)"),
        ("nope(x)", Code::Function, "nope"),
        ("Rate(x[5m])", Code::Function, "Rate"),
        ("label_join(x, \"a\")", Code::Function, "label_join(x, \"a\")"),
        ("round(x, 1, 2)", Code::Function, "round(x, 1, 2)"),
        ("(x)[5m]", Code::Modifier, "[5m]"),
        ("x offset 5m [5m]", Code::Modifier, "[5m]"),
        ("x @ 1 [5m]", Code::Modifier, "[5m]"),
        ("1 offset 5m", Code::Modifier, "offset 5m"),
        ("(x) @ 5", Code::Modifier, "@ 5"),
        ("x offset 5m offset 3m", Code::Modifier, "offset 3m"),
        ("x @ 1 @ end()", Code::Modifier, "@ end()"),
        ("x[1e30]", Code::Number, "1e30"),
        ("x offset 1e30", Code::Number, "1e30"),
        ("x offset Inf", Code::Number, "Inf"),
        ("x @ NaN", Code::Number, "NaN"),
        ("x[0s]", Code::Number, "0s"),
        ("x[5m:0]", Code::Number, "0"),
        ("x[5m 3m]", Code::Syntax, "3m"),
        ("x[]", Code::Syntax, "]"),
        ("a * group_left b", Code::Matching, "* group_left"),
        ("a + fill(0) b", Code::Experimental, "fill"),
        ("rate(x[5m] anchored)", Code::Experimental, "anchored"),
        ("x[2 * 5m]", Code::Experimental, "*"),
        ("x offset step()", Code::Experimental, "step"),
        ("a ? b", Code::Character, "?"),
    ] {
        let error = parse(text, &Limits::default()).expect_err(text);
        let at = &text[error.span.start..error.span.end];
        assert_eq!((error.code, at), (code, place), "{text}: {error}");
        assert!(error.message.ends_with('.') && !error.help.is_empty(), "{text}: {error}");
    }
}

/// Half of what the smallest common thread has; debug builds need several times what release builds need.
const SMALL_STACK: usize = 1 << 20;

#[test]
fn nesting_is_refused_before_it_hurts() {
    let run = std::thread::Builder::new().stack_size(SMALL_STACK).spawn(nest).unwrap();
    run.join().unwrap();
}

fn nest() {
    let limits = Limits { bytes: 1 << 20, depth: usize::MAX, ..Limits::default() };
    let many = 100_000;
    for text in [
        "(".repeat(many),
        format!("{}x{}", "(".repeat(many), ")".repeat(many)),
        format!("{}x", "-".repeat(many)),
        format!("x{}", " + x".repeat(many)),
        format!("x{}", "^x".repeat(many)),
        format!("{}x", "sum(".repeat(many)),
        format!("x{}", "[1m:]".repeat(many)),
    ] {
        assert_eq!(parse(&text, &limits).unwrap_err().code, Code::TooDeep);
    }
    let deepest = Limits::DEEPEST - 1;
    for (open, close) in [("(", ")"), ("sum(", ")"), ("abs(", ")"), ("x + (-", ")")] {
        let deepest = if open.len() > 4 { deepest / 3 } else { deepest };
        let text = format!("{}x{}", open.repeat(deepest), close.repeat(deepest));
        let query = crate::Query::parse(&text, &limits).unwrap();
        assert_eq!(query.to_string(), text);
    }
}

#[test]
fn a_long_text_is_refused_unread() {
    let limits = Limits { bytes: 10, ..Limits::default() };
    assert_eq!(parse(&"x".repeat(11), &limits).unwrap_err().code, Code::TooLong);
}

proptest! {
    #[test]
    fn no_text_panics_and_every_error_has_a_place(text in "(?s).{0,200}") {
        if let Err(error) = parse(&text, &Limits::default()) {
            prop_assert!(text.get(error.span.start..error.span.end).is_some());
            error.diagnostic(&text);
        }
    }

    #[test]
    fn no_row_of_words_panics(words in prop::collection::vec(prop::sample::select(vec![
        "sum", "by", "(", ")", "{", "}", "[", "]", ":", ",", "x", "\"a\"", "'", "`", "5m", "1", "1e", "=", "=~", "==", "bool", "on",
        "group_left", "offset", "@", "-", "^", "or", "start", "rate", "label_replace", "inf", "#", "\n", "\\", "é", "0x", ".",
    ]), 0..40), glue in prop::sample::select(vec!["", " "])) {
        let text = words.join(glue);
        match parse(&text, &Limits::default()) {
            Err(error) => prop_assert!(text.get(error.span.start..error.span.end).is_some(), "{text}"),
            Ok(expr) => crate::syntax::walk::visit(&expr, &mut |expr, _| {
                assert!(text.get(expr.span.start..expr.span.end).is_some_and(|at| !at.is_empty()), "{text}");
            }),
        }
    }
}
