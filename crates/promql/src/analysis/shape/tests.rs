//! The idioms of update graphs pass, and what they must not be is found (U3, U20).

use clearway_core::Severity::{self, Error, Info, Warning};
use proptest::prelude::*;

use super::{Cause, Finding, FindingKind, findings};
use crate::query::Query;
use crate::syntax::limits::Limits;

/// Severity, code and place of everything found.
fn found(text: &str) -> Vec<(Severity, &'static str, &str)> {
    let query = Query::parse(text, &Limits::default()).unwrap_or_else(|errors| panic!("{text}: {errors}"));
    let place = |finding: &Finding| text.get(finding.span.start..finding.span.end).unwrap_or_default();
    findings(&query).iter().map(|finding| (finding.severity, finding.code().as_str(), place(finding))).collect()
}

#[test]
fn the_idioms_are_in_order() {
    for text in [
        // One or zero, or nothing where there is no data.
        r#"group(x{bad="yes"}) or 0 * group(x)"#,
        "group(x > 0) or 0 * group(x)",
        "max(x)",
        "1 - max(x)",
        r#"max(x{type=~"https?"})"#,
        // One of several series.
        r#"topk(1, group by (vendor, family) (x{vendor="A",family="25"}) or 0 * group by (vendor, family) (x))"#,
        r#"bottomk(1, 0 * group by (deployment) (x{deployment="a"} > 0) or group(x))"#,
        r#"topk(1, label_replace(group(x), "ceph", "yes", "", "") or label_replace(0 * group(y), "ceph", "no", "", ""))"#,
        // Both, keeping a label to read.
        r#"topk(1, x{_id="",type="AWS"} or 0 * x{_id=""}) * on () group_left (pod) topk(1, y{_id="",a=~"b.*"} or on () 0 * topk(1, y{_id=""}))"#,
        r#"max(x{type=~"A|B"} or 0 * x) * (group(topk by (node) (1, y{config!~"|c-.*"})) or 0 * group(y))"#,
        // Branches that exclude each other by `on`.
        r#"0 * group by (role) (x{role="control"}) or on () 1 * group by (role) (x{role="master"}) or on () 0 * topk(1, count by (role) (x))"#,
        r#"(
          group by (ipsec) (label_replace(max_over_time(x{_id=""}[1h]), "ipsec", "enabled", "", "") == 1)
          or on (_id)
          0 * group by (ipsec) (label_replace(max_over_time(x{_id=""}[1h]), "ipsec", "disabled", "", "") == 0)
        ) and on (_id) (
          group by (resource) (max_over_time(y{_id="",resource="nodes"}[1h]) > 120)
        )
        or on (_id)
        0 * group(max_over_time(y{_id=""}[1h]))"#,
        // A group that can be only one, because its label is fixed.
        r#"group by (type) (x{type="Azure"}) or on () 0 * group(x)"#,
        "max by (_id) (x{_id=\"\"})",
        "topk by (_id) (1, x{_id=\"\"})",
        "vector(1) == bool on () group(x)",
        "absent(x) or 0 * group(x)",
    ] {
        assert_eq!(found(text), [], "{text}");
    }
}

#[test]
fn what_depends_on_the_metrics_is_only_mentioned() {
    for (text, expected) in [
        // The commonest shape: in order as long as there is one type.
        (
            r#"group by (type) (x{_id="",type="A"}) or 0 * group by (type) (x{_id=""})"#,
            (Info, "PQ034", r#"group by (type) (x{_id=""})"#),
        ),
        (r#"0 * group by (a) (x{a="b"}) or on () group by (a) (x)"#, (Info, "PQ034", "group by (a) (x)")),
        // Opposites of one label: only one branch has data, if there is one series.
        (
            r#"label_replace(group(x{v=~"4[.].*"}), "born", "old", "", "") or label_replace(0 * group(x{v!~"4[.].*"}), "born", "new", "", "")"#,
            (
                Info,
                "PQ034",
                r#"label_replace(group(x{v=~"4[.].*"}), "born", "old", "", "") or label_replace(0 * group(x{v!~"4[.].*"}), "born", "new", "", "")"#,
            ),
        ),
        // A value that is no answer says "unknown" on purpose.
        (r#"group(x{bad="yes"}) or 0 * group(x) or -1 * group(y)"#, (Info, "PQ033", "-1 * group(y)")),
    ] {
        assert_eq!(found(text), [expected], "{text}");
    }
}

#[test]
fn what_cannot_answer_is_found() {
    for (text, expected) in [
        ("group(x)", (Warning, "PQ031", "group(x)")),
        ("max(x > 0)", (Warning, "PQ031", "max(x > 0)")),
        ("count(x)", (Warning, "PQ031", "count(x)")),
        ("absent(x)", (Warning, "PQ031", "absent(x)")),
        ("group(x{a=\"b\"}) and on () group(y)", (Warning, "PQ031", "group(x{a=\"b\"}) and on () group(y)")),
        ("group(x) or 1 * group(y)", (Warning, "PQ031", "group(x) or 1 * group(y)")),
        ("0 * group(x)", (Warning, "PQ032", "0 * group(x)")),
        ("max(0 * x)", (Warning, "PQ032", "max(0 * x)")),
        ("2 * group(x)", (Error, "PQ033", "2 * group(x)")),
        ("vector(5)", (Error, "PQ033", "vector(5)")),
        ("max(x > 1)", (Error, "PQ033", "max(x > 1)")),
        ("1", (Error, "PQ030", "1")),
        ("\"a\"", (Error, "PQ030", "\"a\"")),
        ("x[5m]", (Error, "PQ030", "x[5m]")),
        ("scalar(max(x))", (Error, "PQ030", "scalar(max(x))")),
        ("x", (Warning, "PQ034", "x")),
        ("1 - x", (Warning, "PQ034", "x")),
        ("max without (a) (x)", (Warning, "PQ034", "x")),
        ("x * on (a) y", (Warning, "PQ034", "x")),
        ("topk(2, x)", (Warning, "PQ034", "x")),
        ("topk by (a) (1, x)", (Info, "PQ034", "topk by (a) (1, x)")),
        ("max by (a) (x)", (Info, "PQ034", "max by (a) (x)")),
        // Both branches are kept, and the second has data whenever the first has.
        (r#"group by (a) (x{a="1"}) or 0 * group(x)"#, (Error, "PQ034", r#"group by (a) (x{a="1"}) or 0 * group(x)"#)),
        // Both branches are kept if both have data.
        (
            r#"group by (a) (x{a="1"}) or 0 * group by (b) (y{b="2"})"#,
            (Warning, "PQ034", r#"group by (a) (x{a="1"}) or 0 * group by (b) (y{b="2"})"#),
        ),
        ("group by (a) (x) or 0 * group by (b) (y)", (Warning, "PQ034", "group by (a) (x) or 0 * group by (b) (y)")),
        (r#"max(x{a="b|c"})"#, (Warning, "PQ035", r#"a="b|c""#)),
        (r#"max(x{a!="b.*"})"#, (Warning, "PQ035", r#"a!="b.*""#)),
        (r#"max(x{a="4[.]1"})"#, (Warning, "PQ035", r#"a="4[.]1""#)),
    ] {
        assert_eq!(found(text), [expected], "{text}");
    }
}

#[test]
fn plain_values_are_no_regular_expressions() {
    for value in
        ["", "openshift-image-registry", "4.18.3", "a(b)", "https://example.com:443/a?b=c", "a+b", "$", "system:node"]
    {
        assert_eq!(found(&format!("max(x{{a=\"{value}\"}})")), [], "{value}");
    }
}

#[test]
fn a_finding_says_what_to_do() {
    let text = "max by (a, b) (x)";
    let query = Query::parse(text, &Limits::default()).unwrap();
    let all = findings(&query);
    let FindingKind::Unaggregated(Cause::Groups(labels)) = &all[0].kind else { panic!("{all:?}") };
    assert_eq!(labels, &["a", "b"]);
    let diagnostic = all[0].diagnostic(text);
    assert_eq!(diagnostic.message, "The query returns one series for each value of a, b.");
    assert!(diagnostic.help.is_some() && diagnostic.excerpt.is_some());
}

proptest! {
    #[test]
    fn every_query_has_findings_with_places(text in crate::syntax::print::queries()) {
        if let Ok(query) = Query::parse(&text, &Limits::default()) {
            for finding in findings(&query) {
                prop_assert!(text.get(finding.span.start..finding.span.end).is_some());
                prop_assert!(finding.message().ends_with('.'));
            }
        }
    }
}
