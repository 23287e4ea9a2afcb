//! What goes into a reconciler and what comes out of it.

use std::collections::BTreeMap;

use clearway_advice::Plan;
use clearway_advice::evidence::{Failure, FailureClass, ObjectAnswer, ObjectQuestion, Observation, Record};
use clearway_advice::rounds::Round;
use clearway_core::{Digest, EntityTag, Event, Timestamp};
use clearway_promql::eval;
use serde_json::Value;

use crate::rollout::{PreparedRelease, Rollout, UpdateRequest};
use crate::status::shape::Shape;
use crate::upstream::CachedState;
use crate::upstream::Knowledge;
use crate::upstream::{RetrievalError, UpstreamRequest};

/// Something that happened.
#[derive(Debug)]
pub enum Input {
    /// The state of an earlier process. The object is the next input; otherwise the state is not used.
    Cached {
        /// The state.
        state: Box<CachedState>,
        /// Bytes of memory that it may take ([`Knowledge::memory`]).
        room: usize,
    },
    /// What the CRD of the object keeps.
    Shape(Box<Shape>),
    /// The object as it is now.
    Object(Box<Value>),
    /// There is no such object (any more).
    Gone,
    /// What came of asking the update service.
    Fetched {
        /// What was asked.
        ask: UpstreamRequest,
        /// What it said.
        outcome: Result<UpstreamAnswer, RetrievalError>,
    },
    /// What came of a query of the open round.
    Evidence {
        /// The query.
        query: String,
        /// Its value, or why there is none.
        result: Result<Observation<eval::Value>, Failure>,
    },
    /// What objects say to the questions of rules.
    Looked {
        /// The number of the look.
        number: u64,
        /// What they say.
        objects: ObjectRecords,
    },
    /// How far an update is.
    Rollout(Rollout),
    /// What came of storing a status: the object, or why it failed.
    Stored(Result<Box<Value>, String>),
    /// A status was not stored because somebody else had changed the object; this is what it is now.
    Overtaken(Box<Value>),
    /// Nothing but time.
    Tick,
}

/// What objects said, and when they were asked.
#[derive(Debug, Clone, PartialEq)]
pub struct ObjectRecords {
    /// When.
    pub at: Timestamp,
    /// By the text of the question.
    pub records: BTreeMap<String, Record<ObjectAnswer>>,
}

impl ObjectRecords {
    /// Leaves out answers to questions that the plan does not have, and lets those fail that there is no memory for.
    pub(super) fn limit(&mut self, plan: Option<&Plan>) {
        let Some(plan) = plan else { return self.records.clear() };
        let mut memory = plan.object_answer_memory();
        self.records.retain(|question, _| memory.is_for(question));
        for (question, record) in &mut self.records {
            let Record::Answered(Observation { value, observed_at, source, reproduce, .. }) = record else { continue };
            if !memory.take(question, value.memory()) {
                let message =
                    format!("The answers of objects take more than {} bytes of memory.", plan.object_answers_memory());
                *record = Record::Failed(Failure {
                    observed_at: Some(*observed_at),
                    source: Some(std::mem::take(source)),
                    reproduce: reproduce.take(),
                    ..Failure::new(FailureClass::Budget, message)
                });
            }
        }
    }
}

/// What an update service said.
#[derive(Debug)]
pub enum UpstreamAnswer {
    /// What is known is still right.
    NotModified,
    /// A new answer.
    Knowledge(Box<Knowledge>, Option<EntityTag>),
}

/// Something to be done.
#[derive(Debug)]
pub enum Effect {
    /// Ask the update service.
    Fetch {
        /// What.
        ask: UpstreamRequest,
        /// What is known already.
        known: Option<EntityTag>,
        /// The digest of the answer that this process works with already.
        digest: Option<Digest>,
        /// Whether an answer that was set aside is to be assessed again.
        again: bool,
    },
    /// Record that an answer of the update service was assessed.
    Assessed(Digest),
    /// Ask the metrics store.
    Evaluate(Round),
    /// Ask the objects of the cluster. A look that is under way is not needed any more.
    Look {
        /// Larger than that of earlier looks.
        number: u64,
        /// The questions, each within so many steps.
        questions: Vec<(ObjectQuestion, u64)>,
    },
    /// Store the object with this status.
    Store(Box<Value>),
    /// Look at a release.
    Prepare(UpdateRequest),
    /// Apply a release that was looked at.
    Apply(UpdateRequest, PreparedRelease),
    /// Stop what is being prepared or applied.
    Stop,
    /// Record an event about the object.
    Record(Event),
    /// Cache what is known for the next process.
    Cache(Box<CachedState>),
}
