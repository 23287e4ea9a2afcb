//! Which queries are well-typed, and what is said about the others.

use crate::analysis::types::ValueType::{self, Matrix, Scalar, String, Vector};
use crate::error::Code;
use crate::query::Query;
use crate::syntax::limits::Limits;

#[test]
fn queries_have_the_type_of_their_result() {
    let cases: &[(&str, ValueType)] = &[
        ("1", Scalar),
        ("5m", Scalar),
        ("\"a\"", String),
        ("x", Vector),
        ("x[5m]", Matrix),
        ("x[5m:]", Matrix),
        ("1 + 1", Scalar),
        ("1 < bool 2", Scalar),
        ("x < 2", Vector),
        ("x < bool 2", Vector),
        ("scalar(x) + time()", Scalar),
        ("-(x)", Vector),
        ("vector(1)", Vector),
        ("sum(x)", Vector),
        ("count_values(\"l\", x)", Vector),
        ("quantile_over_time(0.5, x[5m])", Vector),
        ("label_join(x, \"a\", \"b\", \"c\", \"d\", \"e\")", Vector),
        ("hour()", Vector),
        ("hour(x)", Vector),
        ("a * on (b) group_left (c) d", Vector),
        ("a and ignoring (b) c", Vector),
        ("{a=~\".+\"}", Vector),
        ("{\"my.metric\", \"label.x\"=\"y\"}", Vector),
        ("{__name__=~\"a.*\"}", Vector),
        // Prometheus lets both pass, and leaves the matching out.
        ("x + on () 1", Vector),
        ("x + on () group_left 1", Vector),
        ("info(x, {a=~\".*\"})", Vector),
        ("info(x, {__name__=\"build_info\"})", Vector),
        ("limitk(1, x)", Vector),
        ("sum", Vector),
        ("start + end", Vector),
        ("sum{by=\"x\",on=\"y\"}", Vector),
        ("sum by (on, group, bool, start) (x)", Vector),
        ("sum by (\"a.b\") (x)", Vector),
        ("x @ start() offset -5m", Vector),
        ("rate(x[5m] offset 1h @ 100)", Vector),
    ];
    for (text, expected) in cases {
        let query = Query::parse(text, &Limits::default()).unwrap_or_else(|errors| panic!("{text}: {errors}"));
        assert_eq!(query.result(), *expected, "{text}");
    }
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    for (text, code, place) in [
        ("1 < 2", Code::Matching, "<"),
        ("x + bool 1", Code::Matching, "+ bool"),
        ("1 or x", Code::Type, "1 or x"),
        ("x and 1", Code::Type, "x and 1"),
        ("x + \"a\"", Code::Type, "\"a\""),
        ("x + y[5m]", Code::Type, "y[5m]"),
        ("-\"a\"", Code::Type, "\"a\""),
        ("-x[5m]", Code::Type, "x[5m]"),
        ("sum(x[5m])", Code::Type, "x[5m]"),
        ("sum(1)", Code::Type, "1"),
        ("topk(\"a\", x)", Code::Type, "\"a\""),
        ("topk(y, x)", Code::Type, "y"),
        ("count_values(1, x)", Code::Type, "1"),
        ("rate(x)", Code::Type, "x"),
        ("abs(x[5m])", Code::Type, "x[5m]"),
        ("label_replace(x, a, \"\", \"\", \"\")", Code::Type, "a"),
        ("x[5m:][5m:]", Code::Type, "x[5m:]"),
        ("1[5m:]", Code::Type, "1"),
        ("x + on (a) 1", Code::Matching, "+ on (a)"),
        ("a or on (b) group_left c", Code::Matching, "or on (b) group_left"),
        ("a * on (b) group_left (b) c", Code::Matching, "b"),
        ("{}", Code::Selector, "{}"),
        ("{a=\"\"}", Code::Selector, "{a=\"\"}"),
        ("{a=~\".*\"}", Code::Selector, "{a=~\".*\"}"),
        ("{a!=\"b\"}", Code::Selector, "{a!=\"b\"}"),
        ("x{__name__=\"y\"}", Code::Selector, "__name__=\"y\""),
        ("x{\"y\"}", Code::Selector, "\"y\""),
        ("x{a=~\"(\"}", Code::Regex, "\"(\""),
        ("info(x, y)", Code::Type, "y"),
    ] {
        let errors = Query::parse(text, &Limits::default()).expect_err(text).0;
        let found: Vec<_> = errors.iter().map(|error| (error.code, &text[error.span.start..error.span.end])).collect();
        assert_eq!(found, [(code, place)], "{text}: {errors:?}");
    }
}

#[test]
fn everything_that_is_wrong_is_said_at_once() {
    let errors = Query::parse("rate(x) + sum(y[5m])", &Limits::default()).unwrap_err();
    assert_eq!(
        errors.to_string(),
        "The first argument of `rate` is a range vector, not an instant vector. `sum` aggregates an instant vector, not a range vector."
    );
}

#[test]
fn more_patterns_than_allowed_are_not_compiled() {
    let matchers = vec!["a=~\"b\""; 65].join(",");
    let errors = Query::parse(&format!("x{{{matchers}}}"), &Limits::default()).unwrap_err();
    assert_eq!(errors.0[0].code, Code::Regex);
}
