//! A second opinion: what is PromQL here is PromQL for `promql-parser`, and the other way round.
//!
//! That parser is right about nearly everything. Where it is not, [`DIFFERENCES`] says so with the reason; a difference
//! that goes away makes the test fail, so that the list stays true.

use clearway_promql::functions::FUNCTIONS;
use clearway_promql::{Limits, Query, ValueType};
use proptest::prelude::*;

fn ours(text: &str) -> bool {
    Query::parse(text, &Limits::default()).is_ok()
}

fn theirs(text: &str) -> bool {
    promql_parser::parser::parse(text).is_ok()
}

/// Queries both must agree on, and whether they are ones.
const AGREED: &[(&str, bool)] = &[
    ("1", true),
    ("+Inf", true),
    ("0x1F", true),
    ("1e3", true),
    ("017", true),
    ("5m", true),
    ("\"a\" # comment", true),
    ("'a\\'b'", true),
    ("\"a\\q\"", false),
    ("up", true),
    ("a:b:c", true),
    ("up{}", true),
    ("{}", false),
    ("{a=\"\"}", false),
    ("{a=~\".*\"}", false),
    ("{a=~\".+\"}", true),
    ("{a!=\"\"}", true),
    ("up{a=\"b\",}", true),
    ("up{a=\"b\",,}", false),
    ("up{,}", false),
    ("{\"my.metric\"}", true),
    ("{\"my.metric\", \"label.x\"=\"y\"}", true),
    ("up{__name__=\"x\"}", false),
    ("up{a=~\"(\"}", false),
    ("sum", true),
    ("sum{by=\"a\"}", true),
    ("offset", true),
    ("bool", false),
    ("on", false),
    ("up offset 5m", true),
    ("up offset -5m", true),
    ("up offset 5m offset 5m", false),
    ("up @ 100", true),
    ("up @ -1.5", true),
    ("up @ start()", true),
    ("up @ end() offset 1h", true),
    ("up @ Inf", false),
    ("up[5m]", true),
    ("up[5m] offset 1h", true),
    ("up offset 1h [5m]", false),
    ("(up)[5m]", false),
    ("(up)[5m:]", true),
    ("up[1h:5m]", true),
    ("up[5m:][5m:]", false),
    ("up[5m]5m", false),
    ("up[5m:1m:1m]", false),
    ("-up", true),
    ("--1", true),
    ("-\"a\"", false),
    ("-up[5m]", false),
    ("1 == 1", false),
    ("1 == bool 1", true),
    ("up == 1", true),
    ("up + bool 1", false),
    ("up and 1", false),
    ("1 or 1", false),
    ("a and b or c unless d", true),
    ("a * on (b) c", true),
    ("a * on (b) group_left c", true),
    ("a * on (b) group_left (d) c", true),
    ("a * on (b) group_left (b) c", false),
    ("a * ignoring (b) group_right (d) c", true),
    ("a * group_left (d) c", false),
    ("a or on (b) group_left c", false),
    ("a * on (b) 1", false),
    ("a atan2 b", true),
    ("sum(a)", true),
    ("sum by (b) (a)", true),
    ("sum(a) without (b, c,)", true),
    ("sum by (b) (a) by (c)", false),
    ("sum by b (a)", false),
    ("sum()", false),
    ("sum(a,)", false),
    ("sum(a[5m])", false),
    ("sum(1)", false),
    ("topk(1, a)", true),
    ("topk(a)", false),
    ("topk(\"1\", a)", false),
    ("count_values(\"l\", a)", true),
    ("count_values(l, a)", false),
    ("limitk(1, a)", true),
    ("limit_ratio(0.5, a)", true),
    ("quantile(0.9, a)", true),
    ("rate(a[5m])", true),
    ("rate(a)", false),
    ("rate(a[5m], 1)", false),
    ("Rate(a[5m])", false),
    ("hour()", true),
    ("round(a, 1)", true),
    ("round(a, 1, 2)", false),
    ("label_join(a, \"b\", \"c\")", true),
    ("label_join(a, \"b\")", false),
    ("label_replace(a, \"b\", \"$1\", \"c\", \"(.*)\")", true),
    ("time() - 5", true),
    ("sum(((a)))", true),
    ("sum(((a))", false),
    ("a)", false),
    ("a b", false),
    ("a +", false),
    ("", false),
    ("a {b=\"c\"}", true),
    ("a{b='c'} # }", true),
    ("a[5m:1m] @ end()", true),
    ("absent(a{b=\"c\"})", true),
    ("histogram_quantile(0.9, sum by (le) (rate(a[5m])))", true),
];

/// Where we answer otherwise (`true`: we accept), and why.
const DIFFERENCES: &[(&str, bool, &str)] = &[
    ("+\"s\"", false, "a sign before a string has no meaning, whichever sign it is"),
    ("`a\\`", true, "a backslash escapes nothing between backquotes"),
    ("a{b=~\"\\\\Qx.y\\\\E\"}", true, "RE2 quotes between `\\Q` and `\\E`"),
    ("\"\\xff\"", false, "a label is UTF-8 here; Prometheus takes the bytes and fails when it uses them"),
    ("a{b=~\"[[]\"}", true, "RE2 takes an opening bracket in a class as a character"),
    ("a{b=~\"(?x) a\"}", false, "RE2 has no flag `x`"),
    ("a + fill(0) b", false, "experimental syntax"),
];

#[test]
fn both_agree_on_the_table() {
    let wrong: Vec<_> = AGREED
        .iter()
        .map(|(text, expected)| (*text, *expected, ours(text), theirs(text)))
        .filter(|(_, expected, ours, theirs)| ours != expected || theirs != expected)
        .collect();
    assert!(wrong.is_empty(), "(text, expected, ours, theirs): {wrong:#?}");
}

#[test]
fn the_known_differences_are_still_there() {
    let wrong: Vec<_> = DIFFERENCES
        .iter()
        .map(|(text, expected, _)| (*text, *expected, ours(text), theirs(text)))
        .filter(|(_, expected, ours, theirs)| ours != expected || theirs == expected)
        .collect();
    assert!(wrong.is_empty(), "(text, expected, ours, theirs): {wrong:#?}");
}

/// An argument of each type, to call functions with.
const ARGUMENTS: [(ValueType, &str); 4] =
    [(ValueType::Scalar, "1"), (ValueType::String, "\"s\""), (ValueType::Vector, "x"), (ValueType::Matrix, "x[5m]")];

#[test]
fn both_know_the_same_functions_with_the_same_arguments() {
    for function in FUNCTIONS.iter().filter(|function| function.name != "info") {
        for count in 0..8 {
            let types = (0..count).filter_map(|at| function.arguments.get(at).or(function.arguments.last()));
            let arguments: Vec<&str> =
                types.filter_map(|of| Some(ARGUMENTS.iter().find(|(known, _)| known == of)?.1)).collect();
            let text = format!("{}({})", function.name, arguments.join(", "));
            assert_eq!(ours(&text), theirs(&text), "{text}");
            for (_, other) in ARGUMENTS {
                let text = format!("{}({})", function.name, vec![other; count].join(", "));
                assert_eq!(ours(&text), theirs(&text), "{text}");
            }
        }
    }
}

/// What the oracle cannot be asked at all: it panics, or overflows the stack.
#[test]
fn what_the_oracle_dies_of_is_an_error_here() {
    for text in ["x[1e30]".to_owned(), "x offset 1e30".to_owned(), "(".repeat(50_000)] {
        assert!(!ours(&text));
    }
}

fn words() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec![
        "sum",
        "topk",
        "by",
        "without",
        "(",
        ")",
        "(",
        ")",
        "{",
        "}",
        "[5m]",
        "[1h:5m]",
        ",",
        "x",
        "y",
        "a=\"b\"",
        "\"s\"",
        "1",
        "0.5",
        "==",
        "bool",
        "on",
        "ignoring",
        "group_left",
        "offset 5m",
        "@ 5",
        "-",
        "*",
        "^",
        "or",
        "and",
        "rate",
        "abs",
        "time",
    ]);
    prop::collection::vec(word, 1..9).prop_map(|words| words.join(" "))
}

fn queries() -> impl Strategy<Value = String> {
    let leaf = prop::sample::select(vec![
        "1",
        "x",
        "x{a=\"b\"}",
        "x[5m]",
        "x offset 5m",
        "\"s\"",
        "time()",
        "x[1h:5m]",
        "sum(x)",
    ]);
    leaf.prop_map(str::to_owned).prop_recursive(4, 16, 3, |inner| {
        let op = prop::sample::select(vec![
            "+",
            "^",
            "==",
            "== bool",
            "and",
            "or on (a)",
            "* on (a) group_left (b)",
            "unless",
            "+ bool",
        ]);
        let call = prop::sample::select(vec![
            "sum",
            "abs",
            "rate",
            "vector",
            "scalar",
            "topk by (a)",
            "group without (a)",
            "absent",
            "-",
        ]);
        prop_oneof![
            (inner.clone(), op, inner.clone()).prop_map(|(left, op, right)| format!("{left} {op} {right}")),
            (call, inner.clone()).prop_map(|(call, inner)| format!("{call}({inner})")),
            (inner.clone(), inner.clone()).prop_map(|(first, second)| format!("topk({first}, {second})")),
            inner.clone().prop_map(|inner| format!("({inner})[1h:]")),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn both_agree_on_rows_of_words(text in words()) {
        prop_assert_eq!(ours(&text), theirs(&text), "{}: {:?}", text, Query::parse(&text, &Limits::default()).err());
    }

    #[test]
    fn both_agree_on_queries_of_any_type(text in queries()) {
        prop_assert_eq!(ours(&text), theirs(&text), "{}: {:?}", text, Query::parse(&text, &Limits::default()).err());
    }
}
