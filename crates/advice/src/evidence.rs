//! Evidence: what is known of a cluster, when it was seen, and where.
//!
//! Assessing asks an [`Evidence`] and takes what it says as a value: an answer with its time and source, a failure in
//! one sentence, or that the answer is still to come. [`Snapshot`] answers queries from series in memory;
//! [`RecordedEvidence`] repeats answers that somebody else got. Both also hold Kubernetes objects ([`Objects`]) and the
//! cluster's id.

mod bundle_answer;
mod explanation;
mod object_answer;
mod object_question;
mod object_request;
mod objects;
mod question;
mod recorded;
mod release_violations;
mod selector;
mod snapshot;
pub mod stored_answers;
mod violation_answer;

pub use bundle_answer::{BundleAnswer, BundleFault, CrdVersions};
pub use explanation::{ObjectExplanation, PartValue};
pub use object_answer::{ObjectAnswer, ObjectError, ObjectOutcome, ObjectResult};
pub(crate) use object_question::ObjectTest;
pub use object_question::{ObjectQuestion, Tally};
pub use object_request::ObjectRequest;
pub use objects::Objects;
pub use question::Question;
pub use recorded::{Record, RecordedEvidence};
pub use release_violations::{ReleaseConstraint, ReleaseEvaluation, TargetRelease, UnevaluatedReason};
pub(crate) use selector::Selector;
pub use snapshot::Snapshot;
pub use violation_answer::ViolationAnswer;

use clearway_core::{ObjectName, Timestamp};
use clearway_promql::Labels;
use clearway_promql::eval::{Row, Sample, Value};
use serde::{Deserialize, Serialize};

/// What stands in evidence in place of a value that was removed. An expression whose result depends on such a value has none.
pub const REMOVED: &str = "(removed)";

/// Fields and annotations that are in no evidence, as if objects did not have them: what the API server and clients keep for
/// themselves. An expression that names one is refused, because its result would be wrong.
pub const UNREADABLE_FIELDS: [&str; 2] = ["managedFields", "kubectl.kubernetes.io/last-applied-configuration"];

/// Whatever rules ask about a cluster.
pub trait Evidence {
    /// What a query gives, evaluated over so many samples at most where it is evaluated here.
    fn promql(&self, question: &Question, samples: u64) -> Reply<Value>;

    /// The same for who shows no proof: source, warnings and the command that shows it again may be left out, and so may
    /// the words of a failure.
    fn promql_unshown(&self, question: &Question, samples: u64) -> Reply<Value> {
        self.promql(question, samples)
    }

    /// What objects say to a question, evaluated within so many steps. An answer of no objects says that there are none;
    /// that nobody looked is not an answer.
    fn objects(&self, question: &ObjectQuestion, steps: u64) -> Reply<ObjectAnswer>;

    /// What each part of a question's expression gives for an object. Values of the object are in it, so only evidence
    /// answers whose objects belong to whoever sees the proof: files that they named, never a live cluster.
    fn explain(&self, _question: &ObjectQuestion, _object: &ObjectName) -> Option<ObjectExplanation> {
        None
    }

    /// Whether names of objects were replaced, so that one that is not found may be there under another name.
    fn names_replaced(&self) -> bool {
        false
    }

    /// The cluster's id.
    fn cluster_id(&self) -> Option<&str>;

    /// The cluster's id in a metrics store that holds several clusters: it takes the place of `_id=""` in queries.
    /// Nothing if the store holds this cluster only.
    fn store_id(&self) -> Option<&str> {
        None
    }
}

/// What evidence says to a question.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply<T> {
    /// It is known.
    Answered(Observation<T>),
    /// It could not be found out.
    Failed(Failure),
    /// It will be found out; that is no failure.
    Pending {
        /// When, if that is known.
        due: Option<Timestamp>,
    },
    /// There is nobody to ask. For the walk over rules this is a failure like any other (U2).
    NotConfigured,
}

/// Something seen: the value, when, and where.
#[derive(Debug, Clone, PartialEq)]
pub struct Observation<T> {
    /// What was seen.
    pub value: T,
    /// When.
    pub observed_at: Timestamp,
    /// Where, for people: a URL, or the name of a snapshot.
    pub source: String,
    /// The command that shows it again.
    pub reproduce: Option<String>,
    /// What should be known about it.
    pub warnings: Vec<String>,
}

/// Why something could not be found out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Failure {
    /// The kind of failure, for machines.
    pub class: FailureClass,
    /// What failed, in one sentence.
    pub message: String,
    /// When it was tried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_at: Option<Timestamp>,
    /// Where it was tried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The command that tries it again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reproduce: Option<String>,
    /// When it is tried again, where somebody will.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<Timestamp>,
}

/// Kinds of failures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum FailureClass {
    /// The rule's parameters make no sense.
    Malformed,
    /// The fence does not let the query through (U18).
    Refused,
    /// The rule asks for something that rules cannot ask for: another kind of expression, or an object that is never read.
    Unsupported,
    /// There is nobody to ask.
    NotConfigured,
    /// Nobody answers.
    Unreachable,
    /// Who answers does not let us ask.
    Unauthorized,
    /// The answer took too long.
    Timeout,
    /// The evaluation took more than its budget.
    Budget,
    /// The evaluation failed.
    Evaluation,
    /// The answer leaves something out.
    Partial,
    /// The answer is too old, or from the future.
    Stale,
    /// There is an answer, but it does not say match or no match.
    Ambiguous,
    /// What the rule asks about is not there.
    Absent,
}

/// Series of an answer that are counted: a rule asks for one, and of more it is said that there are more.
pub const MAX_SERIES: usize = 100;

/// A value without the labels and texts in it: rules ask for numbers and how many there are, and what else a cluster's
/// metrics hold is not kept or shown. Of more than [`MAX_SERIES`] series only that is kept.
pub fn numbers_only(value: Value) -> Value {
    match value {
        Value::Vector(samples) => Value::Vector(
            samples
                .iter()
                .take(MAX_SERIES + 1)
                .map(|sample| Sample { labels: Labels::default(), value: sample.value })
                .collect(),
        ),
        Value::Matrix(rows) => {
            let row = |_| Row { labels: Labels::default(), samples: Vec::new() };
            Value::Matrix(rows.iter().take(MAX_SERIES + 1).map(row).collect())
        }
        Value::String(_) => Value::String(String::new()),
        Value::Scalar(number) => Value::Scalar(number),
    }
}

impl<T> Reply<T> {
    /// The same reply about something made of the value.
    pub fn map<U>(self, make: impl FnOnce(T) -> U) -> Reply<U> {
        match self {
            Reply::Answered(observation) => Reply::Answered(observation.map(make)),
            Reply::Failed(failure) => Reply::Failed(failure),
            Reply::Pending { due } => Reply::Pending { due },
            Reply::NotConfigured => Reply::NotConfigured,
        }
    }
}

impl<T> Observation<T> {
    /// The same observation of something made of the value.
    pub fn map<U>(self, make: impl FnOnce(T) -> U) -> Observation<U> {
        let Observation { value, observed_at, source, reproduce, warnings } = self;
        Observation { value: make(value), observed_at, source, reproduce, warnings }
    }
}

impl Failure {
    /// A failure with nothing but its kind and sentence.
    pub fn new(class: FailureClass, message: impl Into<String>) -> Self {
        Failure { class, message: message.into(), observed_at: None, source: None, reproduce: None, retry: None }
    }

    /// The failure of a query's evaluation, wherever that is done. What the evaluator says may quote labels, so it is not
    /// repeated.
    pub fn of_evaluation(class: FailureClass) -> Self {
        let message = match class {
            FailureClass::Budget => "The query exceeds its evaluation budget.",
            FailureClass::Timeout => "The evaluation of the query timed out.",
            _ => "The evaluation of the query failed.",
        };
        Failure::new(class, message)
    }
}

impl FailureClass {
    /// Whether it is the source that cannot be reached, does not let us ask or does not answer in time: what was asked
    /// is not at fault.
    pub const fn is_of_source(self) -> bool {
        matches!(self, FailureClass::Unreachable | FailureClass::Unauthorized | FailureClass::Timeout)
    }

    /// The word for it, as in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            FailureClass::Malformed => "malformed",
            FailureClass::Refused => "refused",
            FailureClass::Unsupported => "unsupported",
            FailureClass::NotConfigured => "notConfigured",
            FailureClass::Unreachable => "unreachable",
            FailureClass::Unauthorized => "unauthorized",
            FailureClass::Timeout => "timeout",
            FailureClass::Budget => "budget",
            FailureClass::Evaluation => "evaluation",
            FailureClass::Partial => "partial",
            FailureClass::Stale => "stale",
            FailureClass::Ambiguous => "ambiguous",
            FailureClass::Absent => "absent",
        }
    }
}
