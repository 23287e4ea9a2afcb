//! A question that a rule asks about Kubernetes objects, and the tally of their answers.
//!
//! The same [`Tally`] counts objects of a snapshot and of a live cluster, one after the other, so that both give the same
//! answer, and nobody has to hold all objects of a cluster in memory.

use std::sync::Arc;

use clearway_bundle::{FieldPath, FieldUse};
use clearway_conditions::{ObjectStatus, Status};
use clearway_core::{Observed, split_api_version};
use serde_json::Value;

use super::bundle_answer::CrdRecords;
use super::object_answer::{ObjectAnswer, ObjectError, ObjectOutcome, ObjectResult, short_name, short_text};
use super::selector::Selector;
use super::{Failure, FailureClass, ObjectExplanation, ObjectRequest, ReleaseConstraint, ViolationAnswer};
use crate::expression::{Expression, Steps, is_removed};

/// Steps for each condition that an object has.
const CONDITION: u64 = 100;
/// Steps for each value on the way to a field.
const FIELD: u64 = 10;
/// Steps for each byte that is kept of a CRD. So the CRDs that all rules of an assessment keep take some 30 MiB at most.
const RECORD: u64 = 100;

/// Bytes of memory for each byte of the text: `"a",` is a value of a label selector.
const PART: usize = 32;

/// A question about objects. Cheap to clone.
#[derive(Debug, Clone)]
pub struct ObjectQuestion(Arc<Parts>);

#[derive(Debug)]
struct Parts {
    selector: Selector,
    asked: ObjectTest,
    text: String,
}

/// What is asked of each object.
#[derive(Debug)]
pub(crate) enum ObjectTest {
    /// Whether a condition has a status.
    Condition {
        /// The type of the condition.
        type_: String,
        /// The status.
        status: Status,
    },
    /// Whether a CEL expression is true.
    Expression(Box<Expression>),
    /// Which bundle the CRDs make up that have annotations of a domain.
    Bundle {
        /// The domain of the annotations.
        domain: String,
    },
    /// Whether a field is used.
    Field {
        /// The version in which the objects must have been read.
        version: String,
        /// The field.
        path: FieldPath,
    },
    /// How many violations a constraint has.
    Violations,
    /// How many violations a constraint would have by the objects of a release.
    ReleaseViolations(ReleaseConstraint),
}

/// Counts what objects say to a question.
#[derive(Debug)]
pub struct Tally {
    question: ObjectQuestion,
    /// What expressions may still take.
    steps: Steps,
    /// What selecting objects and reading their conditions may still take.
    looking: u64,
    exhausted: bool,
    answer: ObjectAnswer,
    /// Why the result that an object holds is none.
    failure: Option<Failure>,
    /// The CRDs, where the question is about a bundle.
    crds: CrdRecords,
}

impl ObjectQuestion {
    pub(crate) fn new(selector: Selector, asked: ObjectTest, text: String) -> Self {
        ObjectQuestion(Arc::new(Parts { selector, asked, text }))
    }

    /// What tells questions apart: the rule type and its parameters in one form.
    pub fn text(&self) -> &str {
        &self.0.text
    }

    /// The constraint and the release, where the question is about the objects of a release: no object of the cluster
    /// answers it, and somebody has to evaluate the constraint.
    pub fn release_constraint(&self) -> Option<&ReleaseConstraint> {
        match &self.0.asked {
            ObjectTest::ReleaseViolations(constraint) => Some(constraint),
            _ => None,
        }
    }

    /// The objects that have to be read.
    pub fn request(&self) -> &ObjectRequest {
        &self.0.selector.request
    }

    /// Whether the answer names the CRDs of a bundle: it may be larger than others.
    pub(crate) fn is_about_bundle(&self) -> bool {
        matches!(self.0.asked, ObjectTest::Bundle { .. })
    }

    /// Bytes of memory that it takes, at most. What its selector and its test hold stands in its text, and is more than
    /// that only for an expression.
    pub(crate) fn memory(&self) -> usize {
        let expression = match &self.0.asked {
            ObjectTest::Expression(expression) => expression.memory(),
            ObjectTest::ReleaseViolations(constraint) => constraint.release.payload.len().saturating_mul(2),
            _ => 0,
        };
        let text = self.0.text.len().saturating_mul(PART).saturating_add(size_of::<Parts>());
        text.saturating_add(expression)
    }

    pub(crate) fn selector(&self) -> &Selector {
        &self.0.selector
    }

    /// Starts counting. For all objects together, finding those that are meant and evaluating the question may take so many
    /// steps each, which are [`crate::EvaluationBudget::steps`].
    pub fn tally(&self, steps: u64) -> Tally {
        Tally {
            question: self.clone(),
            steps: Steps::new(steps),
            looking: steps,
            exhausted: false,
            answer: ObjectAnswer::default(),
            failure: None,
            crds: CrdRecords::default(),
        }
    }
}

impl ObjectQuestion {
    /// What each part of the expression gives for an object; nothing if the question is about a condition, or not about
    /// this object.
    pub(crate) fn explain(&self, object: &Value) -> Option<ObjectExplanation> {
        match &self.0.asked {
            ObjectTest::Expression(expression) if self.0.selector.selects(object) => {
                Some(ObjectExplanation { name: short_name(object), parts: expression.explain(object) })
            }
            _ => None,
        }
    }
}

impl PartialEq for ObjectQuestion {
    fn eq(&self, other: &Self) -> bool {
        self.0.text == other.0.text
    }
}

impl Tally {
    /// Counts an object of the requested kind if the question is about it.
    pub fn add(&mut self, object: &Value) {
        let Parts { selector, asked, .. } = self.question.0.as_ref();
        if self.exhausted {
            return;
        }
        if !spend(&mut self.looking, selector.steps()) {
            return self.exhausted = true;
        }
        if !selector.selects(object) {
            return;
        }
        if matches!(asked, ObjectTest::Condition { .. }) && !spend(&mut self.looking, condition_steps(object)) {
            return self.exhausted = true;
        }
        let looking = &mut self.looking;
        let (outcome, condition) = match asked {
            ObjectTest::Bundle { domain } => {
                let bytes = self.crds.add(object, domain) as u64;
                return self.exhausted = !spend(looking, RECORD.saturating_mul(bytes));
            }
            ObjectTest::Field { version, path } => {
                match field_use(object, version, path, &mut || spend(looking, FIELD)) {
                    None => return self.exhausted = true,
                    Some(ObjectOutcome::NoMatch) => return self.answer.add_unshown(),
                    Some(outcome) => (outcome, None),
                }
            }
            ObjectTest::Violations => {
                self.answer.violations = Some(ViolationAnswer::of(object));
                return;
            }
            ObjectTest::ReleaseViolations(constraint) => {
                match constraint.read(object) {
                    Ok(violations) => self.answer.violations = violations,
                    Err(failure) => self.failure = Some(failure),
                }
                return;
            }
            ObjectTest::Condition { type_, status } => condition_of(object, type_, *status),
            ObjectTest::Expression(expression) => match expression.holds(object, &mut self.steps) {
                Ok(true) => (ObjectOutcome::Match, None),
                Ok(false) => (ObjectOutcome::NoMatch, None),
                Err(Some(failure)) => (ObjectOutcome::Failed(failure), None),
                // Which objects are left over would depend on their order, so nothing is known of any.
                Err(None) => return self.exhausted = true,
            },
        };
        self.answer.add(ObjectResult { name: short_name(object), outcome, condition });
    }

    /// The answer of all objects that were added.
    pub fn finish(self) -> Result<ObjectAnswer, Failure> {
        if self.exhausted {
            let kind = &self.question.request().kind;
            let message = format!("The rule exceeds its evaluation budget over all {kind} objects.");
            return Err(Failure::new(FailureClass::Budget, message));
        }
        if let Some(failure) = self.failure {
            return Err(failure);
        }
        let bundle = match &self.question.0.asked {
            ObjectTest::Bundle { domain } => self.crds.finish(domain),
            _ => None,
        };
        Ok(ObjectAnswer { bundle, ..self.answer })
    }
}

/// Takes steps from what is left; false if there are not enough.
fn spend(left: &mut u64, steps: u64) -> bool {
    let rest = left.checked_sub(steps);
    *left = rest.unwrap_or(0);
    rest.is_some()
}

/// Whether an object uses a field; nothing if `visit` ends the search.
fn field_use(
    object: &Value,
    version: &str,
    path: &FieldPath,
    visit: &mut dyn FnMut() -> bool,
) -> Option<ObjectOutcome> {
    let api_version = object.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
    if split_api_version(api_version).1 != version {
        return Some(ObjectOutcome::Failed(ObjectError::OtherVersion));
    }
    Some(match path.find(object, &is_removed, visit)? {
        FieldUse::Used => ObjectOutcome::Match,
        FieldUse::Absent => ObjectOutcome::NoMatch,
        FieldUse::Removed => ObjectOutcome::Failed(ObjectError::Removed),
    })
}

/// The steps that reading the conditions of an object takes.
fn condition_steps(object: &Value) -> u64 {
    let conditions = object.get("status").and_then(|status| status.get("conditions")).and_then(Value::as_array);
    CONDITION.saturating_mul(conditions.map_or(1, Vec::len).max(1) as u64)
}

/// The condition of an object, if it is about the present generation of the object; else why it does not count.
fn condition_of(object: &Value, type_: &str, wanted: Status) -> (ObjectOutcome, Option<(Status, String)>) {
    let status = ObjectStatus::read(object);
    let generation = status.generation;
    let (condition, error) = match status.observe(type_) {
        Observed::Current(condition) => (condition, None),
        // What is still at its first generation cannot be about an earlier one.
        Observed::Unproven(condition) if generation.is_none_or(|number| number <= 1) => (condition, None),
        Observed::Stale { value: condition, .. } => (condition, Some(ObjectError::ConditionOutdated)),
        Observed::Unproven(condition) => (condition, Some(ObjectError::ConditionUndated)),
        Observed::Absent => return (ObjectOutcome::WithoutCondition, None),
    };
    let outcome = match (error, condition.status) {
        (Some(error), _) => ObjectOutcome::Failed(error),
        (None, status) if status == wanted => ObjectOutcome::Match,
        (None, Status::Unknown) => ObjectOutcome::Failed(ObjectError::ConditionUnknown),
        (None, _) => ObjectOutcome::NoMatch,
    };
    (outcome, Some((condition.status, short_text(condition.reason))))
}
