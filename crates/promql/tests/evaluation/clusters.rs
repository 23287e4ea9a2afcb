//! A query for all clusters of a store says of each what its own store would say (see `Query::grouped_by`).
//!
//! A real Prometheus holds the series of several clusters, told apart by `_id`. For every query and cluster three answers
//! are compared: that of the grouped query, that of the query with the cluster's id in place of `_id=""`, both from the
//! real one, and ours over the series of the cluster alone. The first and the last must be the same. The second may only
//! differ where the query lets it see other clusters (a selector without the placeholder), or tells series with the label
//! from series without (it names the label).

use std::collections::BTreeMap;

use clearway_promql::eval::{self, Sample, Settings, Value};
use clearway_promql::read::{self, ApiError, ReadLimits};
use clearway_promql::{GroupedQuery, Limits, Millis, Query, Series};
use clearway_testbed::{Prometheus, http};

use crate::generate::{self, END};

const CLUSTERS: u64 = 6;

/// Queries of other shapes, some of which fail for some of the clusters.
pub(crate) const OTHERS: &[&str] = &[
    "capability + on () proxy_enabled",
    "capability{name=\"Console\"} * on (node) group_right () proxy_enabled",
    "sum without (node) (provider) / ignoring (type) count(provider)",
    "provider unless on () attachments",
    "attachments and on (node) proxy_enabled",
    "max_over_time(count(provider)[10m:1m]) or on () group(cpu)",
    "count_values(\"value\", provider offset 5m)",
    "quantile(0.5, provider) >= bool 1",
    "stddev by (type) (rate(provider[10m]))",
    "sort_desc(abs(-provider)) % 2",
    "min(provider) == on () max(provider)",
    "avg(provider{_id=\"\"}) > 0 or on (_id) 0 * group by (_id) (provider{_id=\"\"})",
    "label_join(group by (type) (provider), \"of\", \"-\", \"type\")",
    "timestamp(capability) - ignoring (node) group_left () max(timestamp(capability))",
];

/// The label sets, printed and sorted, with their values; of queries that choose between equals the values only.
type Rows = Vec<(String, u64)>;

/// An answer, or that the evaluation fails.
type Answer = Result<Rows, ()>;

struct Clusters {
    prometheus: Prometheus,
    own: Vec<(String, Series)>,
}

impl Clusters {
    async fn start(queries: &[Query], flags: &[&str]) -> Self {
        let (mut text, mut own) = (String::new(), Vec::new());
        for number in 0..CLUSTERS {
            let id = format!("c-{number}.{number}");
            let series = generate::risk_series(queries, number);
            for line in series.lines() {
                text.push_str(&line.replacen('{', &format!("{{_id=\"{id}\","), 1));
                text.push('\n');
            }
            let series = read::open_metrics(format!("{series}# EOF\n").as_bytes(), Millis(0), &ReadLimits::default());
            own.push((id, series.unwrap()));
        }
        Clusters { prometheus: Prometheus::start_with(&text, flags).await.unwrap(), own }
    }

    async fn ask(&self, query: &Query) -> Result<Vec<Sample>, ()> {
        let text = query.to_string().bytes().fold(String::new(), |encoded, byte| encoded + &format!("%{byte:02X}"));
        let path = format!("/api/v1/query?query={text}&time={}", END / 1_000);
        let body = http::get(self.prometheus.port(), &path).await.unwrap().body;
        match read::api(body.as_bytes(), &ReadLimits::default()) {
            Ok(answer) => Ok(samples(answer.value)),
            Err(ApiError::Refused { kind, .. }) if kind == "execution" => Err(()),
            Err(error) => panic!("{query}: {error}"),
        }
    }

    /// What the grouped query says of each cluster. One that fails is asked for each cluster alone: for the others it is
    /// known then, and that is how it is done in life.
    async fn grouped(&self, grouped: &GroupedQuery) -> BTreeMap<&str, Result<Vec<Sample>, ()>> {
        let of = |mut split: BTreeMap<String, Vec<Sample>>, id: &str| split.remove(id).unwrap_or_default();
        let mut answers = BTreeMap::new();
        if let Ok(all) = self.ask(grouped.query()).await {
            let split = grouped.split(all);
            assert!(split.keys().all(|id| self.own.iter().any(|(known, _)| known == id)), "{split:?}");
            answers.extend(self.own.iter().map(|(id, _)| (id.as_str(), Ok(of(split.clone(), id)))));
        } else {
            for (id, _) in &self.own {
                let one = grouped.narrowed(&[id], &Limits::default()).unwrap();
                let answer = self.ask(&one).await.map(|samples| of(grouped.split(samples), id));
                answers.insert(id.as_str(), answer);
            }
        }
        answers
    }
}

fn samples(value: Value) -> Vec<Sample> {
    match value {
        Value::Vector(samples) => samples,
        other => panic!("{other}"),
    }
}

fn rows(text: &str, samples: &[Sample]) -> Rows {
    let chooses = text.contains("topk") || text.contains("bottomk");
    let labels = |sample: &Sample| -> String {
        let others = sample.labels.iter().filter(|(name, _)| *name != "_id");
        others.map(|(name, value)| format!("{name}={value:?}")).collect::<Vec<_>>().join(",")
    };
    let row = |sample: &Sample| {
        let value = if sample.value == 0.0 { 0 } else { sample.value.to_bits() };
        (if chooses { String::new() } else { labels(sample) }, value)
    };
    let mut rows: Rows = samples.iter().map(row).collect();
    rows.sort();
    rows
}

/// What was compared.
pub(crate) struct Told {
    pub(crate) grouped: usize,
    pub(crate) refused: Vec<String>,
    pub(crate) values: usize,
    pub(crate) failures: usize,
    /// Answers that differ with an id in place of the placeholder.
    pub(crate) otherwise: usize,
}

pub(crate) async fn compare(queries: &[&str], flags: &[&str]) -> Told {
    let limits = Limits::default();
    let parsed: Vec<Query> = queries.iter().map(|text| Query::parse(text, &limits).unwrap()).collect();
    let clusters = Clusters::start(&parsed, flags).await;
    let mut told = Told { grouped: 0, refused: Vec::new(), values: 0, failures: 0, otherwise: 0 };
    for (text, query) in queries.iter().zip(&parsed) {
        let grouped = match query.grouped_by("_id", &limits) {
            Ok(grouped) => grouped,
            Err(why) => {
                told.refused.push(format!("{text}: {why}"));
                continue;
            }
        };
        told.grouped += 1;
        let answers = clusters.grouped(&grouped).await;
        for (id, series) in &clusters.own {
            let answer: Answer = answers[id.as_str()].clone().map(|samples| rows(text, &samples));
            let own = eval::instant(query, series, Millis(END), &Settings::default());
            let own: Answer = own.map(|answer| rows(text, &samples(answer.value))).map_err(|_| ());
            assert_eq!(answer, own, "{text}\nfor {id}, as {}", grouped.query());
            let made = query.for_cluster(id, &limits).unwrap();
            let substituted: Answer = clusters.ask(&made.query).await.map(|samples| rows(text, &samples));
            if substituted != answer {
                assert!(
                    !made.lacking.is_empty() || text.contains("(_id"),
                    "{text}\nfor {id}: {substituted:?}, and {answer:?} for all"
                );
                told.otherwise += 1;
            }
            match answer {
                Ok(rows) => told.values += usize::from(!rows.is_empty()),
                Err(()) => told.failures += 1,
            }
        }
    }
    told
}
