//! Asks both for a query and compares what they say.

use std::collections::{BTreeMap, BTreeSet};

use clearway_promql::eval::{self, Level, Settings, Value};
use clearway_promql::read::{self, ApiError, ReadLimits};
use clearway_promql::{Code, Labels, Limits, Millis, Query, Series};
use clearway_testbed::{Prometheus, http};

/// When a query is asked, in milliseconds since 1970.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Kind {
    Instant(i64),
    Range { start: i64, end: i64, step: i64 },
}

/// What was compared.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// Queries with a result that is not empty.
    pub(crate) values: usize,
    /// Queries without a result.
    pub(crate) empty: usize,
    /// Queries that fail.
    pub(crate) errors: usize,
    /// Values that are the same to the last bit, and all values.
    pub(crate) exact: (usize, usize),
    /// Queries of which only the values were compared.
    pub(crate) ties: usize,
    different: Vec<String>,
}

impl Tally {
    pub(crate) fn finish(&self, what: &str) {
        println!(
            "{what}: {} with values ({} of {} numbers the same to the last bit, {} queries by value only), {} empty, \
             {} failing",
            self.values, self.exact.0, self.exact.1, self.ties, self.empty, self.errors
        );
        let shown: Vec<&String> = self.different.iter().take(20).collect();
        assert!(
            self.different.is_empty(),
            "{} queries differ:\n{}",
            self.different.len(),
            shown.iter().map(|s| s.as_str()).collect::<Vec<_>>().join("\n\n")
        );
    }
}

/// Series with their samples, in the order of the labels.
type Rows = BTreeMap<Labels, Vec<(i64, f64)>>;

fn rows(value: Value) -> Rows {
    match value {
        Value::Scalar(number) => [(Labels::default(), vec![(0, number)])].into(),
        Value::String(text) => [(Labels::new([("text".to_owned(), text)]), Vec::new())].into(),
        Value::Vector(samples) => samples.into_iter().map(|sample| (sample.labels, vec![(0, sample.value)])).collect(),
        Value::Matrix(rows) => rows.into_iter().map(|row| (row.labels, row.samples)).collect(),
    }
}

/// How much numbers may differ: by the last bits. Libraries of mathematics differ in them, and over a range they sum in
/// any order; a difference of such numbers differs in more bits.
fn tolerance(text: &str, kind: Kind) -> f64 {
    let rounded = ["log", "ln", "exp", "sin", "cos", "tan", "^"].iter().any(|function| text.contains(function));
    if rounded || matches!(kind, Kind::Range { .. }) { 1e-7 } else { 1e-11 }
}

#[expect(clippy::float_cmp, reason = "zeros of both signs are the same")]
fn same(one: f64, other: f64, tolerance: f64) -> bool {
    one.to_bits() == other.to_bits()
        || one.is_nan() && other.is_nan()
        || one == other
        || (one - other).abs() <= tolerance * one.abs().max(other.abs())
}

/// Values alone, sorted.
fn values(rows: &Rows) -> Vec<f64> {
    let mut values: Vec<f64> = rows.values().flatten().map(|(_, value)| *value).collect();
    values.sort_by(f64::total_cmp);
    values
}

pub(crate) async fn compare(prometheus: &Prometheus, series: &Series, text: &str, kind: Kind, tally: &mut Tally) {
    let query = text.bytes().fold(String::new(), |encoded, byte| encoded + &format!("%{byte:02X}"));
    let seconds = |millis: i64| format!("{}.{:03}", millis.div_euclid(1000), millis.rem_euclid(1000));
    let path = match kind {
        Kind::Instant(time) => format!("/api/v1/query?query={query}&time={}", seconds(time)),
        Kind::Range { start, end, step } => {
            let (start, end, step) = (seconds(start), seconds(end), seconds(step));
            format!("/api/v1/query_range?query={query}&start={start}&end={end}&step={step}")
        }
    };
    let body = http::get(prometheus.port(), &path).await.unwrap().body;
    let theirs = read::api(body.as_bytes(), &ReadLimits::default());
    let parsed = Query::parse(text, &Limits::default());
    let settings = Settings::default();
    let tolerance = tolerance(text, kind);
    let ours = match (&parsed, kind) {
        (Err(errors), _) => Err(errors.0[0].clone()),
        (Ok(query), Kind::Instant(time)) => eval::instant(query, series, Millis(time), &settings),
        (Ok(query), Kind::Range { start, end, step }) => {
            eval::range(query, series, (Millis(start), Millis(end)), Millis(step), &settings)
        }
    };
    let mut differ = |what: String| tally.different.push(format!("{text}\n  {kind:?}: {what}"));
    match (ours, theirs) {
        (Err(ours), Err(ApiError::Refused { kind, message })) => {
            let execution = ours.code == Code::Evaluation;
            if execution != (kind == "execution") {
                differ(format!("we say {ours:?}, they say {kind}: {message}"));
            } else if execution && shortened(&ours.message) != shortened(&message) {
                differ(format!("we say {}, they say {message}", ours.message));
            }
            tally.errors += 1;
        }
        (Ok(ours), Ok(theirs)) => {
            let notes = |level: Level| -> BTreeSet<String> {
                ours.notes.iter().filter(|note| note.level == level).map(|note| note.describe(text)).collect()
            };
            for (level, said) in [(Level::Warning, &theirs.warnings), (Level::Info, &theirs.infos)] {
                // More than ten are not shown. Over a range they name some of the numbers they met, we name all; and
                // they evaluate subqueries between the windows that count, too.
                let said: BTreeSet<String> = said.iter().map(|note| shortened(note)).collect();
                let ours: BTreeSet<String> = notes(level).iter().map(|note| shortened(note)).collect();
                let ranged = matches!(kind, Kind::Range { .. });
                if said.len() < 10 && ours != said && !(ranged && (text.contains(':') || ours.is_superset(&said))) {
                    differ(format!("we remark {ours:?}, they remark {said:?}"));
                }
            }
            let (ours, theirs) = (rows(ours.value), rows(theirs.value));
            let keys = ours.len() == theirs.len() && ours.keys().zip(theirs.keys()).all(|(one, other)| one == other);
            let pairs = ours.values().flatten().zip(theirs.values().flatten());
            let equal = keys
                && ours.values().zip(theirs.values()).all(|(one, other)| one.len() == other.len())
                && pairs.clone().all(|(one, other)| one.0 == other.0 && same(one.1, other.1, tolerance));
            // `count_values` makes labels of numbers, of which the last bits may differ.
            let ties = ["topk", "bottomk", "limitk", "count_values"].iter().any(|op| text.contains(op));
            if !equal
                && ties
                && values(&ours).iter().zip(&values(&theirs)).all(|(one, other)| same(*one, *other, tolerance))
            {
                tally.ties += 1;
            } else if !equal {
                differ(format!("\n  ours: {ours:?}\n  theirs: {theirs:?}"));
            } else {
                let exact = pairs.clone().filter(|(one, other)| one.1.to_bits() == other.1.to_bits() || one.1.is_nan());
                tally.exact.0 += exact.count();
                tally.exact.1 += pairs.count();
            }
            if theirs.is_empty() {
                tally.empty += 1;
            } else {
                tally.values += 1;
            }
        }
        (ours, theirs) => differ(format!("\n  ours: {ours:?}\n  theirs: {theirs:?}")),
    }
}

/// A message without what differs by design: the place of a remark (of equal ones they keep one place, we keep all), what
/// histograms were made to rise, and which two of several series are named (they take any).
fn shortened(message: &str) -> String {
    let message = message.split(", from buckets").next().unwrap_or_default();
    let message = message.split(" for the match group").next().unwrap_or_default();
    let place = message.strip_suffix(')').and_then(|message| message.rsplit_once(" ("));
    place.map_or(message, |(message, _)| message).to_owned()
}
