//! What we evaluate is what Prometheus evaluates: the same series and queries are shown to a real one (U3, U20).
//!
//! Values, labels, remarks and the class of errors must be the same. The real one runs with its experimental functions
//! and with delayed name removal. Where `topk` and its kin may choose between equal values, values are compared only.

mod clusters;
mod compare;
mod generate;
mod risks;

use clearway_promql::read::{self, ReadLimits};
use clearway_promql::{Limits, Millis, Query, Series};
use clearway_testbed::{Component, Prometheus, have};
use compare::{Kind, Tally, compare};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;

const FLAGS: [&str; 1] = ["--enable-feature=promql-experimental-functions,promql-delayed-name-removal"];

/// How many generated queries are shown, each at some time or over some range.
const QUERIES: usize = 5_000;

/// The same series here and there.
async fn both(text: &str) -> (Prometheus, Series) {
    let prometheus = Prometheus::start_with(text, &FLAGS).await.unwrap();
    let text = if text.ends_with("# EOF\n") { text.to_owned() } else { format!("{text}# EOF\n") };
    let series = read::open_metrics(text.as_bytes(), Millis(0), &ReadLimits::default()).unwrap();
    (prometheus, series)
}

#[tokio::test]
async fn generated_queries_give_the_same() {
    if !have(&[Component::Prometheus, Component::Promtool]) {
        return;
    }
    let (prometheus, series) = both(&generate::series()).await;
    let mut runner = TestRunner::deterministic();
    let (strategy, kinds) = (generate::queries(), generate::kinds());
    let mut tally = Tally::default();
    for _ in 0..QUERIES {
        let text = strategy.new_tree(&mut runner).unwrap().current();
        let kind = kinds.new_tree(&mut runner).unwrap().current();
        compare(&prometheus, &series, &text, kind, &mut tally).await;
    }
    tally.finish("generated queries");
    // Queries that fail or give nothing say little.
    assert!(tally.values > QUERIES / 3, "{tally:?}");
    assert!(tally.errors > 0, "{tally:?}");
}

#[tokio::test]
async fn written_queries_give_the_same() {
    if !have(&[Component::Prometheus, Component::Promtool]) {
        return;
    }
    let (prometheus, series) = both(&generate::series()).await;
    let mut tally = Tally::default();
    for text in generate::WRITTEN {
        for kind in [
            Kind::Instant(generate::END),
            Kind::Instant(generate::START + 1_234_000),
            Kind::Range { start: generate::START, end: generate::END, step: 411_000 },
        ] {
            compare(&prometheus, &series, text, kind, &mut tally).await;
        }
    }
    tally.finish("written queries");
}

/// The shapes of update risks, over the series of a few clusters; and the queries of a file, if one is given: texts with
/// lines of `---` between them.
#[tokio::test]
async fn queries_of_update_risks_give_the_same() {
    if !have(&[Component::Prometheus, Component::Promtool]) {
        return;
    }
    let given = std::env::var("CLEARWAY_PROMQL_QUERIES").ok().map(|file| std::fs::read_to_string(file).unwrap());
    let mut queries: Vec<&str> = risks::RISKS.to_vec();
    queries.extend(given.iter().flat_map(|text| text.split("\n---\n")));
    let parsed: Vec<Query> = queries.iter().map(|text| Query::parse(text, &Limits::default()).unwrap()).collect();
    for variant in 0..4 {
        let (prometheus, series) = both(&generate::risk_series(&parsed, variant)).await;
        let mut tally = Tally::default();
        for text in &queries {
            compare(&prometheus, &series, text, Kind::Instant(generate::END), &mut tally).await;
        }
        tally.finish("queries of update risks");
        assert!(tally.values > 0, "{tally:?}");
    }
}

/// The same shapes, asked for all clusters of a store at once; and the queries of the file.
#[tokio::test]
async fn queries_for_all_clusters_say_of_each_what_its_own_store_would() {
    if !have(&[Component::Prometheus, Component::Promtool]) {
        return;
    }
    let queries = [risks::RISKS, clusters::OTHERS].concat();
    let told = clusters::compare(&queries, &FLAGS).await;
    println!("{} answers, {} failures, {} otherwise with ids", told.values, told.failures, told.otherwise);
    assert_eq!((told.grouped, told.refused), (queries.len(), vec![]));
    assert!(told.values > queries.len() && told.failures > 0, "{} and {}", told.values, told.failures);
    let Some(file) = std::env::var_os("CLEARWAY_PROMQL_QUERIES") else { return };
    let text = std::fs::read_to_string(file).unwrap();
    let queries: Vec<&str> = text.split("\n---\n").collect();
    let told = clusters::compare(&queries, &FLAGS).await;
    println!(
        "{} of {} queries can be grouped: {} answers, {} failures, {} otherwise with ids; not: {:#?}",
        told.grouped,
        queries.len(),
        told.values,
        told.failures,
        told.otherwise,
        told.refused
    );
}
