//! `clearway promql query`: the value of a query over series in a file.

use std::fmt::Write as _;

use anyhow::Result;
use clearway_core::Timestamp;
use clearway_promql::eval::{self, Answer, ExpressionValue, Level, Settings, Value};
use clearway_promql::{Code, Error, Limits, Millis, Query};
use serde_json::{Value as Json, json};

use super::series;
use crate::arguments::PromqlQuery;
use crate::exit::Exit;
use crate::output::{self, Document};

/// Runs the command.
pub(super) fn run(options: &PromqlQuery) -> Result<Exit> {
    let query = match Query::parse(&options.query, &Limits::default()) {
        Ok(query) => query,
        Err(errors) => {
            errors.0.iter().for_each(|error| print_error(error, &options.query));
            return Ok(Exit::CouldNotRun);
        }
    };
    let now = Timestamp::from_seconds(options.time.unwrap_or_default().div_euclid(1_000)).unwrap_or(Timestamp::EPOCH);
    let series = series::open(&options.series, options.series_format, now)?;
    let newest = series.iter().filter_map(|(_, samples)| samples.times.last().copied()).max();
    let time = Millis(options.time.or(newest).unwrap_or_default());
    let lookback = Millis(i64::try_from(options.lookback.as_millis()).unwrap_or(i64::MAX));
    let settings = Settings { lookback, explain: options.explain, ..Settings::default() };
    let answer = match eval::instant(&query, &series, time, &settings) {
        Ok(answer) => answer,
        Err(error) => {
            print_error(&error, query.text());
            return Ok(if error.code == Code::Evaluation { Exit::No } else { Exit::CouldNotRun });
        }
    };
    for note in &answer.notes {
        output::print_note!("{}", note.describe(query.text()));
    }
    output::print_data(options.output.format, &data(&answer, time, &query), || table(&answer, &query))?;
    Ok(Exit::Yes)
}

/// Tells what is wrong with a query, at its place.
fn print_error(error: &Error, source: &str) {
    output::print_diagnostic(&error.diagnostic(source));
}

/// One line per series; with an explanation, the parts of the query before.
fn table(answer: &Answer, query: &Query) -> Document {
    let mut text = Document::default();
    for part in &answer.explained {
        text.push_text(&explained(part, query));
    }
    if !answer.explained.is_empty() {
        text.push_text("\n");
    }
    match &answer.value {
        Value::Scalar(_) | Value::String(_) => text.push_text(&format!("{}\n", answer.value)),
        Value::Vector(samples) if samples.is_empty() => text.push_text("no series\n"),
        Value::Vector(samples) => {
            let row = |sample: &eval::Sample| vec![sample.labels.to_string(), number(sample.value)];
            text.push_table(output::table(&["SERIES", "VALUE"], samples.iter().map(row)));
        }
        Value::Matrix(rows) if rows.is_empty() => text.push_text("no series\n"),
        Value::Matrix(rows) => {
            let samples = rows.iter().flat_map(|row| row.samples.iter().map(move |sample| (row, sample)));
            let row = |(row, (time, value)): (&eval::Row, &(i64, f64))| {
                vec![row.labels.to_string(), time.to_string(), number(*value)]
            };
            text.push_table(output::table(&["SERIES", "TIME", "VALUE"], samples.map(row)));
        }
    }
    text
}

/// A part of the query with its value; of many series the first.
fn explained(part: &ExpressionValue, query: &Query) -> String {
    const SHOWN: usize = 5;
    let indent = "  ".repeat(part.level.saturating_sub(1));
    let source = query.text().get(part.span.start..part.span.end).unwrap_or_default();
    let source: String = source.split_whitespace().collect::<Vec<_>>().join(" ");
    let times = if part.times > 1 { format!(" (the last of {} times)", part.times) } else { String::new() };
    let value = part.value.to_string();
    let lines: Vec<&str> = value.lines().collect();
    let mut text = format!("{indent}{}{times}\n", output::printable(&source));
    if lines.is_empty() {
        let _ = writeln!(text, "{indent}  = no series");
    }
    for line in lines.iter().take(SHOWN) {
        let _ = writeln!(text, "{indent}  = {}", output::printable(line));
    }
    if lines.len() > SHOWN {
        let _ = writeln!(text, "{indent}  and {} more", lines.len() - SHOWN);
    }
    text
}

/// Numbers are text, because JSON has no infinity.
fn number(value: f64) -> String {
    Value::Scalar(value).to_string()
}

fn data(answer: &Answer, time: Millis, query: &Query) -> Json {
    let notes: Vec<Json> = answer
        .notes
        .iter()
        .map(|note| {
            let level = if note.level == Level::Warning { "warning" } else { "info" };
            json!({"level": level, "message": note.message, "from": note.span.start, "to": note.span.end})
        })
        .collect();
    let explained: Vec<Json> = answer
        .explained
        .iter()
        .map(|part| {
            let source = query.text().get(part.span.start..part.span.end).unwrap_or_default();
            let mut data = json!({"expression": source, "from": part.span.start, "to": part.span.end, "level": part.level, "times": part.times});
            merge(&mut data, value(&part.value));
            data
        })
        .collect();
    let mut data = json!({"time": time.0, "notes": notes});
    merge(&mut data, value(&answer.value));
    if !explained.is_empty() {
        merge(&mut data, json!({"explained": explained}));
    }
    data
}

fn merge(data: &mut Json, more: Json) {
    if let (Some(data), Json::Object(more)) = (data.as_object_mut(), more) {
        data.extend(more);
    }
}

fn value(value: &Value) -> Json {
    let labels = |labels: &clearway_promql::Labels| {
        labels.iter().map(|(name, value)| (name.to_owned(), Json::from(value))).collect::<serde_json::Map<_, _>>()
    };
    match value {
        Value::Scalar(scalar) => json!({"type": "scalar", "result": number(*scalar)}),
        Value::String(text) => json!({"type": "string", "result": text}),
        Value::Vector(samples) => {
            let result: Vec<Json> = samples
                .iter()
                .map(|sample| json!({"labels": labels(&sample.labels), "value": number(sample.value)}))
                .collect();
            json!({"type": "vector", "result": result})
        }
        Value::Matrix(rows) => {
            let result: Vec<Json> = rows
                .iter()
                .map(|row| {
                    let samples: Vec<Json> =
                        row.samples.iter().map(|(time, value)| json!([time, number(*value)])).collect();
                    json!({"labels": labels(&row.labels), "samples": samples})
                })
                .collect();
            json!({"type": "matrix", "result": result})
        }
    }
}
