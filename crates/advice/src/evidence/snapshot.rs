//! Evidence from series in memory, evaluated at the time they were taken.

use clearway_core::{ObjectName, Timestamp};
use clearway_promql::eval::{self, Level, Value};
use clearway_promql::{Code, Millis, Series};

use super::{
    Evidence, Failure, FailureClass, ObjectAnswer, ObjectExplanation, ObjectQuestion, Objects, Observation, Question,
    Reply,
};
use crate::reproduce;

/// A cluster's series and objects, as they were at one time.
#[derive(Clone, Copy)]
pub struct Snapshot<'a> {
    /// The series, if there are any to ask.
    pub series: Option<&'a Series>,
    /// When they were taken; queries are evaluated at this time.
    pub taken_at: Timestamp,
    /// The file they stand in, for people and for the commands that show an answer again; `-` for standard input, which
    /// no command can read again.
    pub name: &'a str,
    /// The kind of that file, where it was named.
    pub format: Option<&'a str>,
    /// Objects, if somebody looked.
    pub objects: Option<&'a Objects>,
    /// The cluster's id.
    pub cluster_id: Option<&'a str>,
    /// See [`Evidence::store_id`].
    pub store_id: Option<&'a str>,
    /// How queries are evaluated, and what they may cost.
    pub evaluation: eval::Settings<'a>,
}

impl<'a> Snapshot<'a> {
    /// A snapshot with nothing but series.
    pub fn new(series: &'a Series, taken_at: Timestamp, name: &'a str) -> Self {
        Snapshot { series: Some(series), ..Snapshot::empty(taken_at, name) }
    }

    /// A snapshot with nothing.
    pub fn empty(taken_at: Timestamp, name: &'a str) -> Self {
        Snapshot {
            series: None,
            taken_at,
            name,
            format: None,
            objects: None,
            cluster_id: None,
            store_id: None,
            evaluation: eval::Settings::default(),
        }
    }

    /// The evaluation of a query that may look at so many samples, unless fewer are allowed anyway.
    fn within(&self, samples: u64) -> eval::Settings<'a> {
        eval::Settings { samples: samples.min(self.evaluation.samples), ..self.evaluation }
    }

    fn time(&self) -> Millis {
        Millis(self.taken_at.as_seconds().saturating_mul(1_000))
    }
}

/// How many warnings an evaluation gave; their texts may quote labels.
fn warnings(count: usize) -> Vec<String> {
    if count == 0 { Vec::new() } else { vec![format!("The evaluation returned {count} warning(s).")] }
}

impl Evidence for Snapshot<'_> {
    fn promql(&self, question: &Question, samples: u64) -> Reply<Value> {
        let Some(series) = self.series else { return Reply::NotConfigured };
        let again = || reproduce::promql(question.text(), self.name, self.format, self.taken_at);
        let reproduce = (self.name != "-").then(again);
        match eval::instant(question.query(), series, self.time(), &self.within(samples)) {
            Ok(answer) => {
                let notable = answer.notes.iter().filter(|note| note.level == Level::Warning).count();
                Reply::Answered(Observation {
                    warnings: warnings(notable),
                    value: answer.value,
                    observed_at: self.taken_at,
                    source: self.name.to_owned(),
                    reproduce,
                })
            }
            Err(error) => {
                let class = match error.code {
                    Code::Budget => FailureClass::Budget,
                    Code::Stopped => FailureClass::Timeout,
                    _ => FailureClass::Evaluation,
                };
                Reply::Failed(Failure {
                    observed_at: Some(self.taken_at),
                    source: Some(self.name.to_owned()),
                    reproduce,
                    ..Failure::of_evaluation(class)
                })
            }
        }
    }

    fn promql_unshown(&self, question: &Question, samples: u64) -> Reply<Value> {
        let Some(series) = self.series else { return Reply::NotConfigured };
        match eval::instant(question.query(), series, self.time(), &self.within(samples)) {
            Ok(answer) => Reply::Answered(Observation {
                value: answer.value,
                observed_at: self.taken_at,
                source: String::new(),
                reproduce: None,
                warnings: Vec::new(),
            }),
            Err(_) => Reply::Failed(Failure::new(FailureClass::Evaluation, String::new())),
        }
    }

    fn objects(&self, question: &ObjectQuestion, steps: u64) -> Reply<ObjectAnswer> {
        self.objects.map_or(Reply::NotConfigured, |objects| objects.answer(question, steps))
    }

    fn explain(&self, question: &ObjectQuestion, object: &ObjectName) -> Option<ObjectExplanation> {
        self.objects.and_then(|objects| objects.explain(question, object))
    }

    fn cluster_id(&self) -> Option<&str> {
        self.cluster_id
    }

    fn store_id(&self) -> Option<&str> {
        self.store_id
    }
}
