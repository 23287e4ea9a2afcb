//! The real Prometheus: values, errors, and samples from which the same values come without it.

use std::fmt::Write as _;

use clearway_advice::evidence::FailureClass;
use clearway_promql::eval::{self, Value};
use clearway_promql::{Limits, Millis, Query};
use clearway_sources::prometheus::{CollectLimits, Measure, PrometheusError, windows};
use clearway_sources::snapshot::{RedactOptions, Snapshot, read, redact, write};
use clearway_testbed::{prometheus, seconds_ago, wait_until};

use crate::at;

fn one(value: Value) -> f64 {
    let Value::Vector(samples) = value else { panic!("{value:?}") };
    assert_eq!(samples.len(), 1);
    samples[0].value
}

#[tokio::test]
async fn values_and_errors_come_as_they_are() {
    let series = format!("a 1\nb{{x=\"y\"}} 2\nc 1 {}\nc 2 {}\n", seconds_ago(120), seconds_ago(60));
    let Some(real) = prometheus(&series).await else { return };
    let client = at(&real.base_url());
    let answered = client.instant("a + on () b", None).await.unwrap();
    assert!(answered.time.is_some());
    assert!((one(answered.value) - 3.0).abs() < f64::EPSILON);
    assert_eq!(client.instant("nothing", None).await.unwrap().value, Value::Vector(vec![]));
    // A long question fits where no address would hold it.
    let long = format!("a{{x!~\"{}\"}}", "y".repeat(50_000));
    assert!((one(client.instant(&long, None).await.unwrap().value) - 1.0).abs() < f64::EPSILON);
    for (query, code, kind) in [("a +", 400, "bad_data"), ("a * on (z) {__name__=~\"a|b\"}", 422, "execution")] {
        let error = client.instant(query, None).await.unwrap_err();
        let PrometheusError::Refused { status, error_type, why, .. } = &error else { panic!("{error}") };
        assert!((*status, error_type.as_str()) == (code, kind) && !why.is_empty(), "{error}");
        assert_eq!(error.class(), FailureClass::Evaluation);
    }
    let then = clearway_core::Timestamp::from_seconds(1_000).unwrap();
    assert_eq!(client.instant("a", Some(then)).await.unwrap().value, Value::Vector(vec![]));
    // Prometheus' own remarks are no warnings.
    assert!(!client.instant("rate(c[5m])", None).await.unwrap().infos.is_empty());

    real.process().kill();
    let error = client.instant("a", None).await.unwrap_err();
    assert!(error.kind() == "unreachable" && error.class() == FailureClass::Unreachable, "{error}");
}

#[tokio::test]
async fn what_was_gathered_gives_the_same_values() {
    let mut series = String::from("live 1\ngone 1\nmore{x=\"first\"} 3\nmore{x=\"other\"} 4\n");
    for age in (0..60).rev() {
        let time = seconds_ago(60 * age + 5);
        let _ = write!(series, "past{{x=\"first\"}} {age} {time}\npast{{x=\"other\"}} 7 {time}\n");
    }
    let Some(real) = prometheus(&series).await else { return };
    real.replace("live 1\nmore{x=\"first\"} 3\nmore{x=\"other\"} 4\n").await.unwrap();
    wait_until(clearway_testbed::IN_TIME, "the series ends", async || {
        real.query("gone").await.is_ok_and(|data| data["result"].as_array().is_some_and(Vec::is_empty))
    })
    .await
    .unwrap();
    let client = at(&real.base_url());
    let texts = [
        "group(gone) or 0 * group(live)",
        "count(gone) or vector(0)",
        "max_over_time(past[1h])",
        "past offset 30m",
        "max_over_time(rate(past{x=\"first\"}[10m])[20m:1m] offset 5m)",
        "sum by (x) (more) * on (x) group_left () past",
        "timestamp(past)",
    ];
    let queries: Vec<Query> = texts.iter().map(|text| Query::parse(text, &Limits::default()).unwrap()).collect();
    let now = clearway_sources::clock::now();
    let wanted = windows(&queries, now.as_seconds() * 1000);
    let steps = std::sync::Mutex::new(Vec::new());
    let progress = |done, of| steps.lock().unwrap().push((done, of));
    let collected = client.series_of(&wanted, &CollectLimits::default(), &progress).await.unwrap();
    assert!(collected.left_out.is_empty() && collected.complete == wanted, "{:?}", collected.left_out);
    assert_eq!(steps.into_inner().unwrap().last(), Some(&(wanted.len(), wanted.len())));
    // As a snapshot on disk, which gives the same values; with names replaced, as many of the same.
    let mut taken = Snapshot::new(now);
    taken.set_series(collected);
    let root = tempfile::tempdir().unwrap();
    let hidden = redact(&taken, &RedactOptions::default()).unwrap();
    let read_back = |snapshot: &Snapshot, name: &str| {
        write(snapshot, &root.path().join(name)).unwrap();
        let loaded = read(&root.path().join(name), &clearway_core::Limits::default()).unwrap();
        loaded.snapshot.series.collected().unwrap().clone()
    };
    let (plain, hidden) = (read_back(&taken, "plain"), read_back(&hidden, "hidden"));
    assert!(wanted.iter().all(|window| plain.covers(window)));
    for query in &queries {
        let online = client.instant(query.text(), Some(now)).await.unwrap().value;
        let time = Millis(now.as_seconds() * 1000);
        let replay = |series| eval::instant(query, series, time, &eval::Settings::default()).unwrap().value;
        assert_eq!(sorted(&online), sorted(&replay(&plain.series)), "{}", query.text());
        assert_eq!(values(&online), values(&replay(&hidden.series)), "{}", query.text());
    }

    let few = CollectLimits { series: 2, ..CollectLimits::default() };
    let cut = client.series_of(&wanted, &few, &|_, _| {}).await.unwrap();
    assert!(cut.series.len() <= 2 && !cut.left_out.is_empty());
    let measured = |why: &PrometheusError| matches!(why, PrometheusError::TooLarge { measure: Measure::Series, .. });
    assert!(cut.left_out.iter().all(|left| measured(&left.why)));
}

fn values(value: &Value) -> Vec<String> {
    let Value::Vector(samples) = value else { panic!("{value:?}") };
    let mut values: Vec<String> = samples.iter().map(|sample| sample.value.to_string()).collect();
    values.sort();
    values
}

fn sorted(value: &Value) -> Vec<String> {
    let Value::Vector(samples) = value else { panic!("{value:?}") };
    let mut lines: Vec<String> = samples.iter().map(|sample| format!("{} {}", sample.labels, sample.value)).collect();
    lines.sort();
    lines
}
