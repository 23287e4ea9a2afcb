//! Answers of Prometheus' HTTP API: `/api/v1/query` and `/api/v1/query_range`.

use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::exposition::millis;
use super::{ReadError, ReadLimits, checked};
use crate::eval::{Row, Sample, Value};
use crate::series::{BuildError, Builder, Capacity, HISTOGRAM, Labels, Series, is_histogram};

/// What Prometheus answered.
#[derive(Debug, Clone, PartialEq)]
pub struct ApiAnswer {
    /// The value. Where a sample is a native histogram there is [`HISTOGRAM`].
    pub value: Value,
    /// The time of an instant vector, a scalar or a string, in milliseconds since 1970.
    pub time: Option<i64>,
    /// What it warns of; with Thanos and `VictoriaMetrics`, that the answer is partial.
    pub warnings: Vec<String>,
    /// What it remarks.
    pub infos: Vec<String>,
}

impl ApiAnswer {
    /// The series of a vector or matrix as a store, to be queried on.
    pub fn into_series(self, capacity: Capacity) -> Result<Series, BuildError> {
        let mut builder = Builder::new(capacity);
        let mut add = |labels: &Labels, samples: &[(i64, f64)]| -> Result<(), BuildError> {
            for (name, value) in labels.iter() {
                builder.label(name, value)?;
            }
            let series = builder.series()?;
            samples.iter().try_for_each(|(time, value)| builder.sample(series, *time, *value))
        };
        match &self.value {
            Value::Vector(samples) => {
                let time = self.time.unwrap_or_default();
                samples.iter().try_for_each(|sample| add(&sample.labels, &[(time, sample.value)]))?;
            }
            Value::Matrix(rows) => rows.iter().try_for_each(|row| add(&row.labels, &row.samples))?,
            Value::Scalar(_) | Value::String(_) => {}
        }
        builder.finish()
    }

    /// Whether some sample is a native histogram.
    pub fn has_histograms(&self) -> bool {
        match &self.value {
            Value::Vector(samples) => samples.iter().any(|sample| is_histogram(sample.value)),
            Value::Matrix(rows) => rows.iter().flat_map(|row| &row.samples).any(|(_, value)| is_histogram(*value)),
            Value::Scalar(_) | Value::String(_) => false,
        }
    }
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ApiError {
    /// The body is not what the API sends.
    #[error(transparent)]
    Form(#[from] ReadError),
    /// Prometheus says that it failed.
    #[error("Prometheus answered with an error ({kind}): {message}")]
    Refused {
        /// Its kind, such as `bad_data`, `execution` or `timeout`.
        kind: String,
        /// Its words.
        message: String,
    },
}

#[derive(Deserialize)]
struct Body<'b> {
    status: String,
    #[serde(borrow)]
    data: Option<Data<'b>>,
    #[serde(rename = "errorType", default)]
    error_type: String,
    #[serde(default)]
    error: String,
    #[serde(default)]
    warnings: Vec<String>,
    #[serde(default)]
    infos: Vec<String>,
    /// How `VictoriaMetrics` says that some of its stores did not answer.
    #[serde(rename = "isPartial", default)]
    is_partial: bool,
}

#[derive(Deserialize)]
struct Data<'b> {
    #[serde(rename = "resultType")]
    kind: String,
    #[serde(borrow)]
    result: &'b RawValue,
}

/// Labels of one series. Prometheus itself takes far fewer.
const LABELS: usize = 1_000;

/// A series of a vector or matrix: one value or several.
#[derive(Deserialize)]
struct Item {
    #[serde(default)]
    metric: Metric,
    value: Option<Pair>,
    values: Option<Vec<Pair>>,
    histogram: Option<Point>,
    histograms: Option<Vec<Point>>,
}

/// The labels of a series: a list, because the smallest map takes many times the memory.
#[derive(Default)]
struct Metric(Vec<(String, String)>);

impl<'de> Deserialize<'de> for Metric {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(MetricVisitor)
    }
}

struct MetricVisitor;

impl<'de> Visitor<'de> for MetricVisitor {
    type Value = Metric;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("labels")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Metric, A::Error> {
        let mut labels = Vec::new();
        while let Some(label) = map.next_entry()? {
            if labels.len() >= LABELS {
                return Err(A::Error::custom("a series has too many labels"));
            }
            labels.push(label);
        }
        Ok(Metric(labels))
    }
}

/// Hands on the series of a list one by one, so that memory is that of what is made of them.
struct Items<'f> {
    take: &'f mut dyn FnMut(Item) -> Result<(), ReadError>,
    /// Why one of them was not taken.
    failed: Option<ReadError>,
}

impl<'de> DeserializeSeed<'de> for &mut Items<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for &mut Items<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of series")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while let Some(item) = list.next_element()? {
            if let Err(error) = (self.take)(item) {
                self.failed = Some(error);
                return Err(A::Error::custom("a series cannot be stored"));
            }
        }
        Ok(())
    }
}

/// A time in seconds and a value as text.
#[derive(Deserialize)]
struct Pair(f64, String);

/// A time in seconds and something else.
#[derive(Deserialize)]
struct Point(f64, serde::de::IgnoredAny);

/// Reads an answer.
pub fn api(bytes: &[u8], limits: &ReadLimits) -> Result<ApiAnswer, ApiError> {
    let text = checked(bytes, limits)?;
    let body: Body<'_> = serde_json::from_str(text).map_err(|error| Within::new(text, text).located(&error))?;
    if body.status != "success" {
        return Err(ApiError::Refused { kind: body.error_type, message: body.error });
    }
    if !body.error_type.is_empty() || !body.error.is_empty() {
        return Err(ReadError::whole("The answer is a success and has an error.").into());
    }
    let mut warnings = body.warnings;
    if body.is_partial {
        warnings.push("the answer is marked as partial".to_owned());
    }
    let Some(data) = body.data else { return Err(ReadError::whole("The answer has no data.").into()) };
    let result = data.result.get();
    let within = Within::new(text, result);
    let (value, time) = match data.kind.as_str() {
        "scalar" => {
            let pair: Pair = within.parse(result)?;
            (Value::Scalar(number(&pair.1)?), Some(time(pair.0)?))
        }
        "string" => {
            let pair: Pair = within.parse(result)?;
            (Value::String(pair.1), Some(time(pair.0)?))
        }
        "vector" => vector(&within, result, limits)?,
        "matrix" => (Value::Matrix(matrix(&within, result, limits)?), None),
        kind => return Err(ReadError::whole(format!("The result has the type `{kind}`, which is unknown.")).into()),
    };
    Ok(ApiAnswer { value, time, warnings, infos: body.infos })
}

/// All samples of a vector have the time of the query. Others may be of any time, so they are refused: one of now among them
/// would make all the others current.
fn vector(within: &Within<'_>, result: &str, limits: &ReadLimits) -> Result<(Value, Option<i64>), ReadError> {
    let mut at = None;
    let mut samples = Vec::new();
    within.items(result, &mut |item| {
        counted(samples.len().saturating_add(1), limits.capacity.series, "series")?;
        let (seconds, value) = match (item.value, item.histogram) {
            (Some(pair), None) => (pair.0, number(&pair.1)?),
            (None, Some(point)) => (point.0, HISTOGRAM),
            (Some(_), Some(_)) => return Err(ReadError::whole("A series of the answer has two values.")),
            (None, None) => return Err(ReadError::whole("A series of the answer has no value.")),
        };
        let seconds = time(seconds)?;
        if at.is_some_and(|at| at != seconds) {
            return Err(ReadError::whole("The samples of the answer have different times."));
        }
        at = Some(seconds);
        samples.push(Sample { labels: Labels::new(item.metric.0), value });
        Ok(())
    })?;
    Ok((Value::Vector(samples), at))
}

fn matrix(within: &Within<'_>, result: &str, limits: &ReadLimits) -> Result<Vec<Row>, ReadError> {
    let mut total: usize = 0;
    let mut rows = Vec::new();
    within.items(result, &mut |item| {
        counted(rows.len().saturating_add(1), limits.capacity.series, "series")?;
        let mut samples = Vec::new();
        for pair in item.values.unwrap_or_default() {
            samples.push((time(pair.0)?, number(&pair.1)?));
        }
        for point in item.histograms.unwrap_or_default() {
            samples.push((time(point.0)?, HISTOGRAM));
        }
        samples.sort_by_key(|(time, _)| *time);
        total = total.saturating_add(samples.len());
        counted(total, limits.capacity.samples, "samples")?;
        rows.push(Row { labels: Labels::new(item.metric.0), samples });
        Ok(())
    })?;
    Ok(rows)
}

fn counted(count: usize, most: usize, what: &str) -> Result<(), ReadError> {
    if count > most {
        return Err(ReadError::whole(format!("The answer has more than {most} {what}.")));
    }
    Ok(())
}

/// A part of the body, for places in the whole.
struct Within<'b> {
    text: &'b str,
    start: usize,
}

impl<'b> Within<'b> {
    /// The part `part` of `text`; the whole if it is none.
    fn new(text: &'b str, part: &str) -> Self {
        let start = (part.as_ptr() as usize).checked_sub(text.as_ptr() as usize);
        Within { text, start: start.filter(|start| *start < text.len()).unwrap_or_default() }
    }

    fn parse<'r, T: Deserialize<'r>>(&self, part: &'r str) -> Result<T, ReadError> {
        serde_json::from_str(part).map_err(|error| self.located(&error))
    }

    /// Hands on each series of a list.
    fn items(&self, part: &str, take: &mut dyn FnMut(Item) -> Result<(), ReadError>) -> Result<(), ReadError> {
        let mut items = Items { take, failed: None };
        let mut deserializer = serde_json::Deserializer::from_str(part);
        let read = items.deserialize(&mut deserializer).and_then(|()| deserializer.end());
        match (items.failed, read) {
            (Some(failed), _) => Err(failed),
            (None, Err(error)) => Err(self.located(&error)),
            (None, Ok(())) => Ok(()),
        }
    }

    fn located(&self, error: &serde_json::Error) -> ReadError {
        let text = error.to_string();
        let message = text.split(" at line ").next().unwrap_or_default();
        let start = ReadError::at(self.text, self.start, "");
        let (line, column) = (error.line().max(1), error.column().max(1));
        ReadError {
            line: start.line.saturating_add(line.saturating_sub(1)),
            column: if line == 1 { start.column.saturating_add(column.saturating_sub(1)) } else { column },
            message: format!("The answer is not a valid Prometheus API response: {message}."),
        }
    }
}

fn number(text: &str) -> Result<f64, ReadError> {
    super::cursor::number(text).ok_or_else(|| ReadError::whole(format!("`{text}` is not a valid sample value.")))
}

fn time(seconds: f64) -> Result<i64, ReadError> {
    millis(seconds).ok_or_else(|| ReadError::whole(format!("{seconds} is not a valid sample time.")))
}
