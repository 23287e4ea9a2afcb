//! Answers of Prometheus' HTTP API: `/api/v1/query` and `/api/v1/query_range`.

use std::collections::BTreeMap;

use serde::Deserialize;
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
    /// What it warns of; with Thanos, that the answer is partial.
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
}

#[derive(Deserialize)]
struct Data<'b> {
    #[serde(rename = "resultType")]
    kind: String,
    #[serde(borrow)]
    result: &'b RawValue,
}

/// A series of a vector or matrix: one value or several.
#[derive(Deserialize)]
struct Item {
    #[serde(default)]
    metric: BTreeMap<String, String>,
    value: Option<Pair>,
    values: Option<Vec<Pair>>,
    histogram: Option<Point>,
    histograms: Option<Vec<Point>>,
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
        "vector" => vector(within.parse(result)?, limits)?,
        "matrix" => (Value::Matrix(matrix(within.parse(result)?, limits)?), None),
        kind => return Err(ReadError::whole(format!("The result has the type `{kind}`, which is unknown.")).into()),
    };
    Ok(ApiAnswer { value, time, warnings: body.warnings, infos: body.infos })
}

/// All samples of a vector have the time of the query; the first one says which.
fn vector(items: Vec<Item>, limits: &ReadLimits) -> Result<(Value, Option<i64>), ReadError> {
    counted(items.len(), limits.capacity.series, "series")?;
    let mut at = None;
    let mut samples = Vec::with_capacity(items.len());
    for item in items {
        let (seconds, value) = match (item.value, item.histogram) {
            (Some(pair), _) => (pair.0, number(&pair.1)?),
            (None, Some(point)) => (point.0, HISTOGRAM),
            (None, None) => return Err(ReadError::whole("A series of the answer has no value.")),
        };
        at = Some(time(seconds)?);
        samples.push(Sample { labels: Labels::new(item.metric), value });
    }
    Ok((Value::Vector(samples), at))
}

fn matrix(items: Vec<Item>, limits: &ReadLimits) -> Result<Vec<Row>, ReadError> {
    counted(items.len(), limits.capacity.series, "series")?;
    let mut total: usize = 0;
    let mut rows = Vec::with_capacity(items.len());
    for item in items {
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
        rows.push(Row { labels: Labels::new(item.metric), samples });
    }
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

    fn located(&self, error: &serde_json::Error) -> ReadError {
        let text = error.to_string();
        let message = text.split(" at line ").next().unwrap_or_default();
        let start = ReadError::at(self.text, self.start, "");
        let (line, column) = (error.line().max(1), error.column().max(1));
        ReadError {
            line: start.line.saturating_add(line.saturating_sub(1)),
            column: if line == 1 { start.column.saturating_add(column.saturating_sub(1)) } else { column },
            message: format!("The answer is not what the API sends: {message}."),
        }
    }
}

fn number(text: &str) -> Result<f64, ReadError> {
    super::cursor::number(text).ok_or_else(|| ReadError::whole(format!("`{text}` is no value of a sample.")))
}

fn time(seconds: f64) -> Result<i64, ReadError> {
    millis(seconds).ok_or_else(|| ReadError::whole(format!("{seconds} is no time of a sample.")))
}
