//! Answers as JSON, to be kept over a restart or replayed elsewhere: the same answers give the same bytes.
//!
//! ```json
//! {"version":1,"answers":[{
//!   "query":"max(up)","observedAt":"2026-05-04T09:00:00Z","source":"https://prometheus.example.com",
//!   "value":{"vector":[{"labels":{"job":"api"},"value":"1"}]}
//! }]}
//! ```
//!
//! A value is `vector`, `scalar` or `string`; numbers are texts, as in Prometheus' own API, because JSON has neither NaN nor
//! infinity. A range vector answers no rule and is not kept.

use std::collections::BTreeMap;

use clearway_core::Timestamp;
use clearway_promql::Labels;
use clearway_promql::eval::{Sample, Value};
use serde::{Deserialize, Serialize};

use super::Observation;

/// The version of the form.
const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
struct File {
    version: u32,
    answers: Vec<Answer>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
    query: String,
    observed_at: Timestamp,
    source: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reproduce: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
    value: Kept,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Kept {
    Vector(Vec<Series>),
    Scalar(String),
    String(String),
}

#[derive(Serialize, Deserialize)]
struct Series {
    #[serde(default)]
    labels: BTreeMap<String, String>,
    value: String,
}

/// Why kept answers cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeptError {
    /// The text is not of this form.
    #[error("cannot read the stored answers: {0}")]
    Form(String),
    /// The form is of a later version.
    #[error("the stored answers have format version {found}; this program reads version {VERSION}")]
    Version {
        /// Which version.
        found: u32,
    },
    /// A number is none.
    #[error("the stored answer to `{query}` has the value `{value}`, which is not a number")]
    Number {
        /// The query.
        query: String,
        /// The text.
        value: String,
    },
}

/// Writes answers, by query.
pub fn write(answers: &BTreeMap<String, Observation<Value>>) -> String {
    let kept = |(query, answer): (&String, &Observation<Value>)| {
        let value = match &answer.value {
            Value::Scalar(number) => Kept::Scalar(text(*number)),
            Value::String(text) => Kept::String(text.clone()),
            Value::Vector(samples) => {
                let mut samples: Vec<&Sample> = samples.iter().collect();
                samples.sort_by(|one, other| one.labels.cmp(&other.labels));
                let labels =
                    |sample: &Sample| sample.labels.iter().map(|(k, v)| (k.to_owned(), v.to_owned())).collect();
                let one = |sample: &Sample| Series { labels: labels(sample), value: text(sample.value) };
                Kept::Vector(samples.into_iter().map(one).collect())
            }
            Value::Matrix(_) => return None,
        };
        Some(Answer {
            query: query.clone(),
            observed_at: answer.observed_at,
            source: answer.source.clone(),
            reproduce: answer.reproduce.clone(),
            warnings: answer.warnings.clone(),
            value,
        })
    };
    let file = File { version: VERSION, answers: answers.iter().filter_map(kept).collect() };
    // Texts and lists can always be written.
    serde_json::to_string(&file).unwrap_or_default()
}

/// Reads answers, by query.
pub fn read(json: &str) -> Result<BTreeMap<String, Observation<Value>>, KeptError> {
    let file: File = serde_json::from_str(json).map_err(|error| KeptError::Form(error.to_string()))?;
    if file.version != VERSION {
        return Err(KeptError::Version { found: file.version });
    }
    let mut answers = BTreeMap::new();
    for Answer { query, observed_at, source, reproduce, warnings, value } in file.answers {
        let number = |text: &str| {
            let wrong = || KeptError::Number { query: query.clone(), value: text.chars().take(64).collect() };
            text.parse::<f64>().map_err(|_| wrong())
        };
        let value = match value {
            Kept::Scalar(text) => Value::Scalar(number(&text)?),
            Kept::String(text) => Value::String(text),
            Kept::Vector(series) => {
                let one = |Series { labels, value }: Series| {
                    Ok(Sample { labels: Labels::new(labels), value: number(&value)? })
                };
                Value::Vector(series.into_iter().map(one).collect::<Result<_, _>>()?)
            }
        };
        answers.insert(query, Observation { value, observed_at, source, reproduce, warnings });
    }
    Ok(answers)
}

/// A number as results of PromQL print it.
fn text(number: f64) -> String {
    Value::Scalar(number).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(value: Value) -> BTreeMap<String, Observation<Value>> {
        let observed_at = Timestamp::from_seconds(1_777_885_200).unwrap();
        let answer = Observation { value, observed_at, source: "p".to_owned(), reproduce: None, warnings: Vec::new() };
        [("max(a)".to_owned(), answer)].into()
    }

    fn sample(name: &str, value: f64) -> Sample {
        Sample { labels: Labels::new([("n".to_owned(), name.to_owned())]), value }
    }

    #[test]
    fn what_is_written_is_read_back() {
        for value in [
            Value::Vector(vec![]),
            Value::Vector(vec![sample("a", 1.0), sample("b", f64::NEG_INFINITY), sample("c", 1e300)]),
            Value::Scalar(0.1),
            Value::String("é\"".to_owned()),
        ] {
            let answers = kept(value);
            assert_eq!(read(&write(&answers)), Ok(answers));
        }
        let strange = read(&write(&kept(Value::Scalar(f64::NAN)))).unwrap();
        assert!(matches!(strange["max(a)"].value, Value::Scalar(number) if number.is_nan()));
        assert_eq!(
            write(&kept(Value::Vector(vec![sample("b", 0.0), sample("a", 1.0)]))),
            r#"{"version":1,"answers":[{"query":"max(a)","observedAt":"2026-05-04T09:00:00Z","source":"p","value":{"vector":[{"labels":{"n":"a"},"value":"1"},{"labels":{"n":"b"},"value":"0"}]}}]}"#
        );
    }

    #[test]
    fn what_cannot_be_read_is_said() {
        assert!(matches!(read("{"), Err(KeptError::Form(_))));
        assert_eq!(read(r#"{"version":2,"answers":[]}"#), Err(KeptError::Version { found: 2 }));
        let number = write(&kept(Value::Scalar(1.0))).replace("\"scalar\":\"1\"", "\"scalar\":\"one\"");
        assert_eq!(
            read(&number).unwrap_err().to_string(),
            "the stored answer to `max(a)` has the value `one`, which is not a number"
        );
    }
}
