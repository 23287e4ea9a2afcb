//! What the rules read of an object, found once: spec, status, generations, conditions.
//!
//! Reading is lenient and total: what is missing or has another type than the API gives it reads as absent, never as an
//! error, because one odd object must not keep the health of all others from being told.

use clearway_core::Timestamp;
use clearway_yaml::{Node, Value};

use super::verdict::{Basis, Context, State, Verdict};
use crate::model::{ConditionSeverity, Status};
use crate::object::Object;

/// An object prepared for its judge.
pub(super) struct Facts<'a> {
    pub(super) object: Object<'a>,
    pub(super) context: &'a Context,
    pub(super) spec: Option<Node<'a>>,
    pub(super) status: Option<Node<'a>>,
    pub(super) generation: Option<i64>,
    /// `status.observedGeneration`.
    pub(super) observed: Option<i64>,
    conditions: Option<Node<'a>>,
}

/// One entry of `status.conditions`.
#[derive(Clone, Copy)]
pub(super) struct Condition<'a>(Node<'a>);

impl<'a> Facts<'a> {
    pub(super) fn new(object: &Object<'a>, context: &'a Context) -> Self {
        let status = object.root.get("status");
        Facts {
            object: *object,
            context,
            spec: object.root.get("spec"),
            status,
            generation: object.generation(),
            observed: status.and_then(|status| status.get("observedGeneration")).and_then(number),
            conditions: status.and_then(|status| status.get("conditions")),
        }
    }

    /// A whole number of the spec.
    pub(super) fn spec_int(&self, path: &[&str]) -> Option<i64> {
        self.spec?.at(path)?.as_int()
    }

    /// A text of the spec.
    pub(super) fn spec_text(&self, path: &[&str]) -> Option<&'a str> {
        self.spec?.at(path)?.as_text()
    }

    /// Whether a field of the spec is exactly `true`.
    pub(super) fn spec_true(&self, key: &str) -> bool {
        self.spec.and_then(|spec| spec.get(key)).and_then(Node::as_bool) == Some(true)
    }

    /// A counter of the status; an absent one is zero, as the API leaves zeros out.
    pub(super) fn count(&self, key: &str) -> i64 {
        self.status.and_then(|status| status.get(key)).and_then(Node::as_int).unwrap_or(0)
    }

    /// A text of the status, empty if absent.
    pub(super) fn status_text(&self, key: &str) -> &'a str {
        self.status.and_then(|status| status.get(key)).and_then(Node::as_text).unwrap_or("")
    }

    /// The conditions in the order of the list.
    pub(super) fn conditions(&self) -> impl Iterator<Item = Condition<'a>> + use<'a> {
        self.conditions.into_iter().flat_map(Node::items).map(Condition)
    }

    /// The condition of a type: the first, as every other reader of a list with duplicates has it.
    pub(super) fn condition(&self, name: &str) -> Option<Condition<'a>> {
        self.conditions().find(|condition| condition.name() == name)
    }

    /// Whether the status is known to be about the current generation. What has no generation cannot be behind it, and
    /// what is still at its first cannot be about an earlier one.
    pub(super) fn proven(&self) -> bool {
        match (self.generation, self.observed) {
            (None, _) => true,
            (Some(generation), Some(observed)) => observed >= generation,
            (Some(generation), None) => {
                generation <= 1 && self.status.is_some_and(|status| status.fields().next().is_some())
            }
        }
    }

    /// A verdict by the rule of the kind.
    pub(super) fn verdict(&self, state: State, reason: &str, message: impl Into<String>) -> Verdict {
        Verdict { proven: self.proven(), ..Verdict::new(state, reason, message, Basis::KindRule) }
    }

    /// [`State::Current`] by the rule of the kind.
    pub(super) fn current(&self, reason: &str, message: impl Into<String>) -> Verdict {
        self.verdict(State::Current, reason, message)
    }

    /// [`State::InProgress`] by the rule of the kind.
    pub(super) fn in_progress(&self, reason: &str, message: impl Into<String>) -> Verdict {
        self.verdict(State::InProgress, reason, message)
    }

    /// [`State::Failed`] by the rule of the kind.
    pub(super) fn failed(&self, reason: &str, message: impl Into<String>) -> Verdict {
        self.verdict(State::Failed, reason, message)
    }

    /// A verdict by one condition: its words, its time, and its own proof of the generation, if it has one.
    pub(super) fn by_condition(&self, state: State, condition: Condition<'a>, or_reason: &str) -> Verdict {
        let reason = if condition.reason().is_empty() { or_reason } else { condition.reason() };
        let observed = condition.observed();
        let proven = match (self.generation, observed) {
            (Some(generation), Some(observed)) => observed >= generation,
            // The default of a schema stands there before any controller has looked; it carries no time but 1970.
            _ if self.observed.is_none() && condition.since().is_none() => self.generation.is_none(),
            _ => self.proven(),
        };
        Verdict { proven, since: condition.since(), ..self.verdict(state, reason, condition.message()) }
    }

    /// The verdict that a condition is about an earlier generation, if it is.
    pub(super) fn outdated(&self, condition: Condition<'a>) -> Option<Verdict> {
        let (generation, observed) = (self.generation?, condition.observed()?);
        (observed < generation).then(|| {
            let message = format!(
                "{} generation is {generation}, but condition {} is about generation {observed}",
                self.object.kind(),
                condition.name()
            );
            Verdict {
                proven: false,
                basis: Basis::Explicit,
                ..self.in_progress("LatestGenerationNotObserved", message)
            }
        })
    }
}

impl<'a> Condition<'a> {
    /// An entry of any list of conditions.
    pub(super) fn new(node: Node<'a>) -> Self {
        Condition(node)
    }

    fn text(self, key: &str) -> &'a str {
        self.0.get(key).and_then(Node::as_text).unwrap_or("")
    }

    pub(super) fn name(self) -> &'a str {
        self.text("type")
    }

    /// The status; everything that is not exactly True or False is Unknown, an empty text too.
    pub(super) fn status(self) -> Status {
        Status::lenient(self.text("status"))
    }

    pub(super) fn reason(self) -> &'a str {
        self.text("reason")
    }

    pub(super) fn message(self) -> &'a str {
        self.text("message")
    }

    /// Whether a bad status of this condition may fail the object: a severity of Info or Warning says that it may not.
    pub(super) fn grave(self) -> bool {
        ConditionSeverity::lenient(self.text("severity")) == ConditionSeverity::Error
    }

    /// The condition's own `observedGeneration`. Zero is what Go writes for "not set".
    pub(super) fn observed(self) -> Option<i64> {
        self.0.get("observedGeneration").and_then(number).filter(|number| *number != 0)
    }

    /// When the status changed last. 1970 stands for "never": it is the default a CRD gives before any controller came.
    pub(super) fn since(self) -> Option<Timestamp> {
        self.text("lastTransitionTime").parse().ok().filter(|time| *time > Timestamp::EPOCH)
    }
}

/// A whole number, also where a controller wrote it as text (Argo Rollouts does).
fn number(node: Node<'_>) -> Option<i64> {
    match node.value() {
        Value::Int(number) => Some(number),
        Value::Text(text) => text.parse().ok(),
        _ => None,
    }
}
