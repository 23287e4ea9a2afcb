//! What is let through, and what is refused with which words (U18).

use super::{Fence, Limit, Names};
use crate::query::Query;
use crate::syntax::limits::Limits;

fn query(text: &str) -> Query {
    Query::parse(text, &Limits::default()).unwrap_or_else(|errors| panic!("{text}: {errors}"))
}

#[test]
fn queries_like_those_of_update_graphs_are_let_through() {
    for text in [
        r#"max(cluster_version_capability{name="Console"})"#,
        r#"topk(1, group by (type) (x{_id="",type="AWS"}) or 0 * group by (type) (x{_id=""})) * on () group_left (name) topk(1, y)"#,
        r#"group(max_over_time(apiserver_storage_objects{_id="",resource="nodes"}[1h]) > 120)"#,
        r#"group(x{image=~".*(?:[.]dkr[.]ecr(?:-fips)?[.].*[.]amazonaws[.]com(?:[.]cn)?|[.]dkr[.]ecr[.]us-isob?-east-1[.](?:c2s[.]ic|sc2s[.]sgov)[.]gov)[/@:].*"})"#,
        "max_over_time(group(x)[1d:1m])",
    ] {
        assert_eq!(Fence::default().check(&query(text)), Ok(()), "{text}");
    }
}

#[test]
fn every_limit_is_named_with_its_value_and_place() {
    let tight =
        Fence { max_length: 100, max_depth: 4, max_nodes: 6, max_selectors: 2, max_regexes: 1, ..Fence::default() };
    let named = Fence {
        allowed: Names::new(["cluster_.*", "up"]).unwrap(),
        denied: Names::new(["cluster_secret.*"]).unwrap(),
        ..Fence::default()
    };
    let open = Fence::default();
    let long = format!("x{{a=\"{}\"}}", "b".repeat(100));
    for (fence, text, limit, place, sentence) in [
        (&tight, long.as_str(), Limit::Length, long.as_str(), "The query has 107 bytes; the limit is 100."),
        (&tight, "((((x))))", Limit::Depth, "((((x))))", "The query has 5 levels; the limit is 4."),
        (&tight, "x + 1 + 1 + 1", Limit::Nodes, "x + 1 + 1 + 1", "The query has 7 nodes; the limit is 6."),
        (&tight, "x + x + x", Limit::Selectors, "x + x + x", "The query has 3 selectors; the limit is 2."),
        (
            &tight,
            "x{a=~\"b\",c!~\"d\"}",
            Limit::Regexes,
            "\"d\"",
            "The query has 2 regular expressions; the limit is 1.",
        ),
        (&open, "rate(x[25h])", Limit::Range, "25h", "The range reaches back 1d1h; the limit is 1d."),
        (&open, "x offset 8d", Limit::Offset, "x offset 8d", "The offset is 8d; the limit is 1w."),
        (&open, "x offset -8d", Limit::Offset, "x offset -8d", "The offset is 8d; the limit is 1w."),
        (&open, "max_over_time(x[2d:1h])", Limit::Subquery, "2d:1h", "The subquery reaches back 2d; the limit is 1d."),
        (
            &open,
            "max_over_time(x[1d:1s])",
            Limit::Steps,
            "1d:1s",
            "The subquery evaluates 86401 times; the limit is 1441.",
        ),
        (
            &open,
            "max_over_time(max_over_time(x[1h:])[1h:])",
            Limit::Steps,
            "1h:",
            "The subquery evaluates 3721 times; the limit is 1441.",
        ),
        (
            &open,
            "x{a=~\"(a{100}){100}\"}",
            Limit::RegexSize,
            "\"(a{100}){100}\"",
            "The regular expression is larger than 131072 bytes.",
        ),
        (
            &open,
            "{a=\"b\"}",
            Limit::MetricName,
            "{a=\"b\"}",
            "The selector names no metric; a metric name is required.",
        ),
        (
            &open,
            "{__name__=~\".+\"}",
            Limit::MetricName,
            "{__name__=~\".+\"}",
            "The selector names no metric; a metric name is required.",
        ),
        (
            &open,
            "mad_over_time(x[5m])",
            Limit::Experimental,
            "mad_over_time",
            "`mad_over_time` is experimental; only stable functions are allowed.",
        ),
        (
            &open,
            "limitk(1, x)",
            Limit::Experimental,
            "limitk(1, x)",
            "`limitk` is experimental; only stable functions are allowed.",
        ),
        (&named, "up + other", Limit::Allowed, "other", "The metric `other` is not allowed."),
        (
            &named,
            "{\"cluster_secrets\"}",
            Limit::Denied,
            "\"cluster_secrets\"",
            "The metric `cluster_secrets` is denied by the pattern `cluster_secret.*`.",
        ),
    ] {
        let limits = Limits { pattern_bytes: 1 << 20, pattern_positions: 1 << 20, ..Limits::default() };
        let query = Query::parse(text, &limits).unwrap_or_else(|errors| panic!("{text}: {errors}"));
        let refusal = fence.check(&query).expect_err(text);
        assert_eq!(refusal.limit, limit, "{text}");
        assert_eq!(refusal.to_string(), sentence, "{text}");
        assert_eq!(&text[refusal.span.start..refusal.span.end], place, "{text}");
        assert_eq!(refusal.diagnostic(text).code, "PQ020");
    }
}
