//! Evidence that was collected earlier: for each query what came of it, with its time.
//!
//! This is what a controller assesses from between two rounds, and what it keeps over a restart.

use std::collections::BTreeMap;

use clearway_core::Timestamp;
use clearway_promql::eval::Value;

use super::{Evidence, Failure, FailureClass, ObjectAnswer, ObjectQuestion, Observation, Question, Reply};

/// What came of a question: to a metrics store, or about objects.
#[derive(Debug, Clone, PartialEq)]
pub enum Record<T = Value> {
    /// It gave an answer.
    Answered(Observation<T>),
    /// It failed.
    Failed(Failure),
    /// It was not asked yet.
    Pending {
        /// When it will be, if that is known.
        due: Option<Timestamp>,
    },
}

/// Evidence from records.
#[derive(Debug, Clone, Default)]
pub struct RecordedEvidence {
    /// By the text of the query ([`Question::text`]).
    pub queries: BTreeMap<String, Record>,
    /// Whether there is a store to ask; without one, a query without a record is a failure, and else it is pending.
    pub configured: bool,
    /// What objects said, by the text of the question ([`ObjectQuestion::text`]), if somebody looks at objects; a question
    /// without a record is pending then.
    pub objects: Option<BTreeMap<String, Record<ObjectAnswer>>>,
    /// The cluster's id.
    pub cluster_id: Option<String>,
    /// See [`Evidence::store_id`].
    pub store_id: Option<String>,
}

impl RecordedEvidence {
    /// What some evidence says to these questions, to be assessed from elsewhere: it comes to the same.
    pub fn of<'q>(evidence: &dyn Evidence, questions: impl IntoIterator<Item = &'q Question>) -> Self {
        let mut recorded = RecordedEvidence {
            cluster_id: evidence.cluster_id().map(str::to_owned),
            store_id: evidence.store_id().map(str::to_owned),
            ..RecordedEvidence::default()
        };
        for question in questions {
            let record = match evidence.promql(question, u64::MAX) {
                Reply::Answered(observation) => Record::Answered(observation),
                Reply::Failed(failure) => Record::Failed(failure),
                Reply::Pending { due } => Record::Pending { due },
                Reply::NotConfigured => continue,
            };
            recorded.queries.insert(question.text().to_owned(), record);
        }
        recorded
    }
}

impl<T: Clone> Record<T> {
    fn reply(&self) -> Reply<T> {
        match self {
            Record::Answered(observation) => Reply::Answered(observation.clone()),
            Record::Failed(failure) => Reply::Failed(failure.clone()),
            Record::Pending { due } => Reply::Pending { due: *due },
        }
    }
}

impl Evidence for RecordedEvidence {
    fn promql(&self, question: &Question, _samples: u64) -> Reply<Value> {
        match self.queries.get(question.text()) {
            Some(record) => record.reply(),
            None if self.configured => Reply::Pending { due: None },
            None => Reply::NotConfigured,
        }
    }

    fn objects(&self, question: &ObjectQuestion, _steps: u64) -> Reply<ObjectAnswer> {
        let Some(objects) = &self.objects else { return Reply::NotConfigured };
        objects.get(question.text()).map_or(Reply::Pending { due: None }, Record::reply)
    }

    fn cluster_id(&self) -> Option<&str> {
        self.cluster_id.as_deref()
    }

    fn store_id(&self) -> Option<&str> {
        self.store_id.as_deref()
    }
}

impl<T> Record<T> {
    /// A failure with this sentence.
    pub fn failed(class: FailureClass, message: impl Into<String>) -> Self {
        Record::Failed(Failure::new(class, message))
    }
}
