//! What is kept over a restart: the last answer of the update service, and the last answers of the metrics store, each
//! with the time it was given. An outage after a restart then costs nothing but age.

use std::collections::BTreeMap;
use std::time::Duration;

use clearway_advice::evidence::{Observation, kept};
use clearway_core::Timestamp;
use clearway_promql::eval::Value;
use clearway_sources::service::Validator;
use serde::{Deserialize, Serialize};

use crate::ask::Ask;
use crate::knowledge::Knowledge;

/// What is kept, as texts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Kept {
    upstream: String,
    channel: String,
    arch: String,
    id: String,
    version: String,
    at: Timestamp,
    #[serde(default)]
    validator: Option<String>,
    graph: String,
    answers: String,
}

impl Kept {
    /// What is to be kept.
    pub(crate) fn new(
        ask: &Ask,
        knowledge: &Knowledge,
        validator: Option<&Validator>,
        answers: BTreeMap<String, Observation<Value>>,
    ) -> Self {
        Kept {
            upstream: ask.upstream.clone(),
            channel: ask.channel.clone(),
            arch: ask.arch.as_str().to_owned(),
            id: ask.id.clone(),
            version: ask.version.to_string(),
            at: knowledge.at,
            validator: validator.map(|validator| validator.as_str().to_owned()),
            graph: String::from_utf8_lossy(knowledge.answer()).into_owned(),
            answers: kept::write(&answers),
        }
    }

    /// What was kept, as it is worked with; nothing if it cannot be read any more.
    pub(crate) fn recall(
        &self,
        settings: &clearway_advice::Settings,
    ) -> Option<(Ask, Knowledge, BTreeMap<String, Observation<Value>>)> {
        let ask = Ask {
            upstream: self.upstream.clone(),
            channel: self.channel.clone(),
            arch: self.arch.parse().ok()?,
            id: self.id.clone(),
            version: self.version.parse().ok()?,
        };
        let knowledge = Knowledge::read(self.graph.as_bytes(), &ask.version, self.at, settings).ok()?;
        let answers = kept::read(&self.answers).unwrap_or_default();
        Some((ask, knowledge, answers))
    }

    /// What the update service knows its answer by.
    pub(crate) fn validator(&self) -> Option<Validator> {
        self.validator.as_deref().and_then(Validator::new)
    }

    /// Whether another is so much better that it is worth a write: it says something else, or this one is getting old.
    pub(crate) fn is_worth_replacing(&self, other: &Kept, now: Timestamp, max_age: Duration) -> bool {
        let timeless =
            |kept: &Kept| Kept { at: Timestamp::EPOCH, answers: without_times(&kept.answers), ..kept.clone() };
        timeless(self) != timeless(other) || (self != other && now.since(self.at) > max_age.mul_f64(0.75))
    }
}

/// The answers without the times they were given.
fn without_times(answers: &str) -> String {
    let Ok(answers) = kept::read(answers) else { return String::new() };
    let timeless = |mut observation: Observation<Value>| {
        observation.observed_at = Timestamp::EPOCH;
        observation.reproduce = None;
        observation
    };
    kept::write(&answers.into_iter().map(|(query, observation)| (query, timeless(observation))).collect())
}
