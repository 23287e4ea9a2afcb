//! What a query for all clusters looks like, that it says of each what its own store would, and what is refused.

use super::*;
use crate::eval::{self, Settings, Value};
use crate::read::{self, ReadLimits};
use crate::{Millis, Series};

fn parse(text: &str) -> Query {
    Query::parse(text, &Limits::default()).unwrap()
}

fn grouped(text: &str) -> Result<Grouped, NotGroupable> {
    parse(text).grouped_by("_id", &Limits::default())
}

#[test]
fn the_label_is_kept_on_every_vector() {
    for (text, want) in [
        (r#"x{_id="",a="b"}"#, r#"x{_id!="",a="b"}"#),
        ("x", r#"x{_id!=""}"#),
        ("max(x)", r#"max by (_id) (x{_id!=""})"#),
        ("max by (a) (x)", r#"max by (_id,a) (x{_id!=""})"#),
        ("max by (_id, a) (x)", r#"max by (_id,a) (x{_id!=""})"#),
        ("max without (_id, a) (x)", r#"max without (a) (x{_id!=""})"#),
        ("topk(1, x)", r#"topk by (_id) (1, x{_id!=""})"#),
        ("a or b", r#"a{_id!=""} or b{_id!=""}"#),
        ("a or on () b", r#"a{_id!=""} or on (_id) b{_id!=""}"#),
        ("a * on (n) group_left (_id, c) b", r#"a{_id!=""} * on (_id,n) group_left (c) b{_id!=""}"#),
        ("a and ignoring (_id, c) b", r#"a{_id!=""} and ignoring (c) b{_id!=""}"#),
        ("-rate(a[5m] offset 1m) > bool 2", r#"-rate(a{_id!=""}[5m] offset 1m) > bool 2"#),
        ("max_over_time(sum(a)[1h:5m])", r#"max_over_time(sum by (_id) (a{_id!=""})[1h:5m])"#),
        ("clamp_max(a, time())", r#"clamp_max(a{_id!=""}, time())"#),
    ] {
        assert_eq!(grouped(text).unwrap().query().to_string().replace(", ", ","), want.replace(", ", ","), "{text}");
    }
    // The placeholder stands for the cluster, whatever the store calls its label.
    let other = parse(r#"sum by (_id) (a{_id=""}) or on (_id) b"#).grouped_by("cluster", &Limits::default()).unwrap();
    assert_eq!(other.query().to_string(), r#"sum by (cluster) (a{cluster!=""}) or on (cluster) b{cluster!=""}"#);
}

#[test]
fn what_cannot_be_kept_apart_is_refused_by_name() {
    for (text, said) in [
        ("absent(x)", "`absent` returns a series for clusters without data"),
        ("absent_over_time(x[5m])", "`absent_over_time` returns"),
        ("x or vector(0)", "`vector` returns"),
        ("month()", "`month` returns"),
        ("x > scalar(y)", "`scalar` merges the series of all clusters"),
        ("topk(scalar(y), x)", "`scalar` merges the series of all clusters"),
        ("1 + 1", "the query returns a scalar"),
        (r#"label_replace(x, "_id", "a", "", "")"#, "`label_replace` reads or sets the label `_id`"),
        (r#"label_join(x, "a", "-", "_id")"#, "`label_join` reads or sets"),
        (r#"count_values("_id", x)"#, "`count_values` reads or sets"),
        (r#"x{_id=~".+"}"#, "a matcher reads or sets"),
        (r#"x{_id="7"}"#, "a matcher reads or sets"),
        ("limitk(1, x)", "`limitk` depends on more"),
    ] {
        let why = grouped(text).unwrap_err().to_string();
        assert!(why.starts_with(said), "{text}: {why}");
    }
    for label in ["", "__name__"] {
        assert!(matches!(parse("x").grouped_by(label, &Limits::default()), Err(NotGroupable::Label(_))));
    }
}

/// The series of three clusters: in one store, and those of each in a store of its own.
fn stores() -> (Series, Vec<(&'static str, Series)>) {
    let clusters: [(&str, &[&str]); 3] = [
        ("a.b", &["x{n=\"1\"} 1", "x{n=\"2\"} 2", "y{n=\"1\",m=\"p\"} 3"]),
        ("c|d", &["x{n=\"1\"} 5", "y{n=\"2\",m=\"q\"} 0"]),
        ("e", &["y{n=\"1\",m=\"p\"} 7", "y{n=\"1\",m=\"q\"} 7"]),
    ];
    let read = |text: &str| read::text(text.as_bytes(), Millis(0), &ReadLimits::default()).unwrap();
    let text = |lines: &[&str]| lines.join("\n") + "\n";
    let all: String = clusters
        .iter()
        .flat_map(|(id, lines)| lines.iter().map(move |line| line.replacen('{', &format!("{{_id=\"{id}\","), 1) + "\n"))
        .collect();
    let own = clusters.iter().map(|(id, lines)| (*id, read(&text(lines)))).collect();
    (read(&(all + "x 9\n")), own)
}

fn vector(query: &Query, series: &Series) -> Vec<Sample> {
    match eval::instant(query, series, Millis(0), &Settings::default()).unwrap().value {
        Value::Vector(mut samples) => {
            samples.sort_by(|one, other| one.labels.cmp(&other.labels));
            samples
        }
        other => unreachable!("{other}"),
    }
}

#[test]
fn every_cluster_is_answered_as_by_its_own_store() {
    let (all, own) = stores();
    for text in [
        "x",
        "max(x)",
        "count by (n) (x) or on () 0 * group(y)",
        "max(x) + on (_id) sum(y)",
        "topk(1, x or 0 * y)",
        "sum without (m) (y) / on (n) group_left () x",
        "x and on () (y > 2)",
        "label_replace(group(x), \"k\", \"yes\", \"\", \"\") or label_replace(0 * group(y), \"k\", \"no\", \"\", \"\")",
        "count_values(\"v\", y)",
    ] {
        let grouped = grouped(text).unwrap();
        let mut answers = grouped.split(vector(grouped.query(), &all));
        for (id, series) in &own {
            let mut answer = answers.remove(*id).unwrap_or_default();
            answer.sort_by(|one, other| one.labels.cmp(&other.labels));
            assert_eq!(answer, vector(&parse(text), series), "{text} for {id}");
        }
        assert!(answers.is_empty(), "{text}: {answers:?}");
    }
}

#[test]
fn some_clusters_can_be_asked_for_by_their_names() {
    let (all, _) = stores();
    let grouped = grouped("max(y)").unwrap();
    for wanted in [vec!["c|d"], vec!["a.b", "e"], vec!["a", "nobody"]] {
        let query = grouped.narrowed(&wanted, &Limits::default()).unwrap();
        let found: Vec<String> = grouped.split(vector(&query, &all)).into_keys().collect();
        let there: Vec<&&str> = wanted.iter().filter(|id| ["c|d", "a.b", "e"].contains(id)).collect();
        assert_eq!(
            found.iter().map(String::as_str).collect::<Vec<_>>(),
            there.into_iter().copied().collect::<Vec<_>>()
        );
    }
}
