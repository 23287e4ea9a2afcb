//! A printed tree reads back as itself, and different spellings of one query print alike.

use proptest::prelude::*;

use crate::syntax::limits::Limits;
use crate::syntax::parser::parse;

#[test]
fn spellings_of_one_query_have_one_text() {
    for (text, expected) in [
        ("SUM( x )BY(a,b ,)", "sum by (a, b) (x)"),
        ("sum without() (x)", "sum without () (x)"),
        ("x{a='b',}", "x{a=\"b\"}"),
        ("x{a=`b\\c`}", "x{a=\"b\\\\c\"}"),
        ("x{}", "x"),
        ("{'x'}", "{__name__=\"x\"}"),
        ("{\"my.metric\",'label.x'=\"y\"}", "{\"my.metric\",\"label.x\"=\"y\"}"),
        ("x[60m]", "x[1h]"),
        ("x[90]", "x[1m30s]"),
        ("x[1d:300] offset -5m @ 1.5", "x[1d:5m] @ 1.500 offset -5m"),
        ("x[5m:]@end()", "x[5m:] @ end()"),
        ("0x10+1e3+5m+.5+1_000", "16 + 1000 + 300 + 0.5 + 1000"),
        ("-inf+NaN+1e30", "-Inf + NaN + 1e30"),
        ("a*on(b)group_left(c)(d)", "a * on (b) group_left (c) (d)"),
        ("a*ignoring(b)group_right d", "a * ignoring (b) group_right () d"),
        ("a==bool b", "a == bool b"),
        ("sum by ('a.b', \"inf\", on)(x)", "sum by (\"a.b\", \"inf\", on) (x)"),
        ("-x+ +y", "-x + +y"),
        ("topk by(a)(1,x) # comment", "topk by (a) (1, x)"),
        ("x{a=\"\\u00e9\\t\\x07\"}", "x{a=\"é\\t\\u0007\"}"),
    ] {
        let expr = parse(text, &Limits::default()).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(expr.to_string(), expected, "{text}");
        assert_eq!(parse(expected, &Limits::default()).unwrap().to_string(), expected);
    }
}

/// Texts that are well-formed queries, though not all well-typed.
pub(crate) fn queries() -> impl Strategy<Value = String> {
    let label = || prop::sample::select(vec!["a", "_id", "on", "\"l.m\"", "sum"]);
    let matcher = (
        label(),
        prop::sample::select(vec!["=", "!=", "=~", "!~"]),
        prop::sample::select(vec!["\"\"", "'b'", "`c|d`", "\"\\n\""]),
    )
        .prop_map(|(label, op, value)| format!("{label}{op}{value}"));
    let selector = (prop::sample::select(vec!["x", "a:b", "sum", "start", ""]), prop::collection::vec(matcher, 0..3))
        .prop_map(|(name, matchers)| match name {
            "" => format!("{{\"q.r\",{}}}", matchers.join(",")),
            _ => format!("{name}{{{}}}", matchers.join(",")),
        });
    let number = prop_oneof![
        any::<f64>().prop_filter("a number", |n| n.is_finite()).prop_map(|n| format!("{:e}", n.abs())),
        prop::sample::select(vec!["0", "1", "5m", "0x1F", "Inf", "NaN", "1e-7", "017"]).prop_map(str::to_owned)
    ];
    let shift = prop::sample::select(vec!["", " offset 5m", " offset -1h @ 3.25", " @ start()", " @ -1e9 offset 0s"]);
    let range = prop::sample::select(vec!["[5m]", "[1.5]", "[8d1ms]"]);
    let leaf = prop_oneof![
        number,
        Just("\"text\"".to_owned()),
        (selector.clone(), shift.clone()).prop_map(|(selector, shift)| format!("{selector}{shift}")),
        (selector, range, shift.clone()).prop_map(|(selector, range, shift)| format!("{selector}{range}{shift}")),
    ];
    leaf.prop_recursive(5, 40, 4, move |inner| {
        let op = prop::sample::select(vec![
            "+",
            "-",
            "*",
            "/",
            "%",
            "^",
            "atan2",
            "==",
            "!= bool",
            "<",
            "and",
            "or on (a, b)",
            "unless ignoring (on)",
            "* on (a) group_left (b)",
            "> bool ignoring () group_right ()",
        ]);
        let aggregate = prop::sample::select(vec!["sum", "group by (a)", "max without (a, \"b.c\")", "COUNT by ()"]);
        let step = prop::sample::select(vec!["[1h:5m]", "[1h:] offset 1d", "[30:1]"]);
        prop_oneof![
            (inner.clone(), op, inner.clone()).prop_map(|(left, op, right)| format!("{left} {op} {right}")),
            (aggregate, inner.clone()).prop_map(|(op, inner)| format!("{op} ({inner})")),
            inner.clone().prop_map(|inner| format!("topk(1, {inner}) by (a)")),
            inner.clone().prop_map(|inner| format!("({inner})")),
            inner.clone().prop_map(|inner| format!("-{inner}")),
            inner.clone().prop_map(|inner| format!("abs({inner})")),
            inner.clone().prop_map(|inner| format!("rate({inner})")),
            (inner, step).prop_map(|(inner, step)| format!("({inner}){step}")),
        ]
    })
}

proptest! {
    #[test]
    fn a_printed_tree_reads_back_as_itself(text in queries()) {
        let limits = Limits::default();
        let expr = parse(&text, &limits).map_err(|error| TestCaseError::fail(format!("{text}: {error}")))?;
        let printed = expr.to_string();
        let again = parse(&printed, &limits).map_err(|error| TestCaseError::fail(format!("{printed}: {error}")))?;
        prop_assert_eq!(without_spans(&expr), without_spans(&again), "{}", printed);
    }
}

/// The tree as text, without the places. Numbers are compared by their digits, so that NaN equals itself.
fn without_spans(expr: &crate::syntax::ast::Expr) -> String {
    let text = format!("{expr:?}");
    let mut out = String::new();
    let mut rest = text.as_str();
    while let Some(at) = rest.find("Span {") {
        out.push_str(&rest[..at]);
        rest = rest[at..].split_once('}').map_or("", |(_, rest)| rest);
    }
    out + rest
}
