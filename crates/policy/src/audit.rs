//! The audit of objects that exist: what violates which constraint, counted and kept as Gatekeeper keeps it (P2, P6).
//!
//! - [`review_object`] reviews one object and the objects that it implies.
//! - [`Audit`] collects the results of one run. Per constraint it counts all violations and keeps the smallest ones, so
//!   its memory depends on the number of constraints and not on the number of objects.
//! - [`ConstraintAudit::status`] is the status that a constraint gets. [`Audit::violation_line`] and its neighbours
//!   are the log lines.
//! - [`PolicySet::is_audited`] says which kinds have to be listed.

mod log_lines;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::sync::Arc;

use clearway_core::Timestamp;
use serde_json::{Map, Value, json};

use crate::constraint::Constraint;
use crate::enforcement::{EnforcementAction, EnforcementPoint};
use crate::expansion::{Expander, ExpansionError};
use crate::matching::Source;
use crate::policy_set::{Evaluator, PolicySet, ReviewResult, Reviewer};
use crate::rego::EvaluationError;
use crate::review::{ObjectKind, Review, metadata};

pub use log_lines::SemanticLine;

/// How many violations the status of a constraint lists, unless something else is wanted.
pub const VIOLATIONS_LIMIT: usize = 20;

/// The most bytes of a message in a status, a log line or a report.
pub const MESSAGE_BYTES: usize = 256;

/// What shortened messages end with.
const ELLIPSIS: &str = "...";

/// A message of at most [`MESSAGE_BYTES`] bytes. What is longer is cut to 253 bytes and three dots. Gatekeeper cuts
/// inside of characters, which become `U+FFFD` in JSON; here the character that does not fit is left out.
pub fn shorten_message(message: &str) -> String {
    if message.len() <= MESSAGE_BYTES {
        return message.to_owned();
    }
    let end = message.floor_char_boundary(MESSAGE_BYTES.saturating_sub(ELLIPSIS.len()));
    format!("{}{ELLIPSIS}", message.get(..end).unwrap_or_default())
}

/// A violation as the status of its constraint lists it. The order is Gatekeeper's: group, version, kind, namespace and
/// name of the object, then message and action.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct AuditedViolation {
    /// The group of the object, empty for the core.
    pub group: String,
    /// The version of the object.
    pub version: String,
    /// The kind of the object.
    pub kind: String,
    /// The namespace of the object, empty if it has none.
    pub namespace: String,
    /// The name of the object.
    pub name: String,
    /// The message, shortened by [`shorten_message`].
    pub message: String,
    /// The action of the constraint, or of the expansion template that replaces it.
    pub action: EnforcementAction,
    /// The actions at the enforcement point of audits, for the action `scoped`.
    pub scoped_actions: Vec<String>,
}

impl AuditedViolation {
    fn new(object: &Value, result: &ReviewResult) -> Self {
        let ObjectKind { group, version, kind } = ObjectKind::of(object);
        AuditedViolation {
            group,
            version,
            kind,
            namespace: metadata(object, "namespace").to_owned(),
            name: metadata(object, "name").to_owned(),
            message: shorten_message(&result.message),
            action: result.action.clone(),
            scoped_actions: result.scoped_actions.clone(),
        }
    }

    /// As it is written in `status.violations`.
    pub fn to_json(&self) -> Value {
        let mut fields = Map::new();
        let mut set = |name: &str, value: Value| fields.insert(name.to_owned(), value);
        set("group", json!(self.group));
        set("version", json!(self.version));
        set("kind", json!(self.kind));
        set("name", json!(self.name));
        if !self.namespace.is_empty() {
            set("namespace", json!(self.namespace));
        }
        set("message", json!(self.message));
        set("enforcementAction", json!(self.action.as_str()));
        if !self.scoped_actions.is_empty() {
            set("enforcementActions", json!(self.scoped_actions));
        }
        Value::Object(fields)
    }
}

/// What an audit found about one constraint.
#[derive(Debug, Clone)]
pub struct ConstraintAudit {
    constraint: Arc<Constraint>,
    started: Timestamp,
    total: u64,
    denying: u64,
    /// The largest is on top, so that it is the one that gives way.
    smallest: BinaryHeap<AuditedViolation>,
}

impl ConstraintAudit {
    /// The constraint.
    pub fn constraint(&self) -> &Constraint {
        &self.constraint
    }

    /// The number of all violations, listed or not.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// How many of them a webhook with the same actions would deny.
    pub fn denying(&self) -> u64 {
        self.denying
    }

    /// The smallest violations up to the limit of the audit, from the largest to the smallest as Gatekeeper lists them.
    pub fn violations(&self) -> Vec<&AuditedViolation> {
        let mut violations: Vec<&AuditedViolation> = self.smallest.iter().collect();
        violations.sort_by(|first, second| second.cmp(first));
        violations
    }

    /// The status of the constraint after the audit. Fields of other writers, such as `byPod`, are those of `existing`.
    pub fn status(&self, existing: Option<&Value>) -> Value {
        let mut status = existing.and_then(Value::as_object).cloned().unwrap_or_default();
        status.insert("auditTimestamp".to_owned(), json!(self.started.to_string()));
        status.insert("totalViolations".to_owned(), json!(self.total));
        let violations: Vec<Value> = self.violations().into_iter().map(AuditedViolation::to_json).collect();
        if violations.is_empty() {
            status.remove("violations");
        } else {
            status.insert("violations".to_owned(), Value::Array(violations));
        }
        Value::Object(status)
    }

    fn record(&mut self, violation: AuditedViolation, denies: bool, limit: usize) {
        self.total = self.total.saturating_add(1);
        self.denying = self.denying.saturating_add(u64::from(denies));
        // What would give way at once is not stored.
        let full = self.smallest.len() >= limit;
        if full && self.smallest.peek().is_none_or(|largest| violation >= *largest) {
            return;
        }
        if full {
            self.smallest.pop();
        }
        self.smallest.push(violation);
    }
}

/// The results of one audit.
#[derive(Debug, Clone)]
pub struct Audit {
    started: Timestamp,
    limit: usize,
    constraints: BTreeMap<(String, String), ConstraintAudit>,
    actions: BTreeMap<&'static str, u64>,
}

/// The values of the label `enforcement_action` of the metric `violations`.
const ACTIONS: [&str; 5] = ["deny", "dryrun", "scoped", "unrecognized", "warn"];

impl Audit {
    /// An audit of all constraints of a set, that starts now and lists at most `limit` violations per constraint.
    pub fn new(policies: &PolicySet, started: Timestamp, limit: usize) -> Audit {
        Audit::of_constraints(policies.constraints().cloned(), started, limit)
    }

    /// The same for constraints that are evaluated by another process.
    pub fn of_constraints(
        constraints: impl IntoIterator<Item = Arc<Constraint>>,
        started: Timestamp,
        limit: usize,
    ) -> Audit {
        let constraints = constraints.into_iter().map(|constraint| {
            let key = (constraint.kind.clone(), constraint.name.clone());
            let smallest = BinaryHeap::new();
            (key, ConstraintAudit { constraint, started, total: 0, denying: 0, smallest })
        });
        let actions = ACTIONS.into_iter().map(|action| (action, 0)).collect();
        Audit { started, limit, constraints: constraints.collect(), actions }
    }

    /// When it started, which is also its id in log lines and statuses.
    pub fn started(&self) -> Timestamp {
        self.started
    }

    /// Adds what an object violates. Results of constraints that the audit did not start with are left out.
    pub fn record(&mut self, object: &Value, results: &[ReviewResult]) {
        for result in results {
            let key = (result.kind.clone(), result.name.clone());
            let Some(constraint) = self.constraints.get_mut(&key) else { continue };
            constraint.record(AuditedViolation::new(object, result), result.denies(), self.limit);
            let label = if result.action.is_known() { result.action.as_str() } else { "unrecognized" };
            if let Some(count) = self.actions.get_mut(label) {
                *count = count.saturating_add(1);
            }
        }
    }

    /// Adds the results of another audit of the same constraints, for example of the objects of one kind.
    pub fn merge(&mut self, other: Audit) {
        for (key, found) in other.constraints {
            let Some(constraint) = self.constraints.get_mut(&key) else { continue };
            let (total, denying) = (constraint.total, constraint.denying);
            for violation in found.smallest {
                constraint.record(violation, false, self.limit);
            }
            constraint.total = total.saturating_add(found.total);
            constraint.denying = denying.saturating_add(found.denying);
        }
        for (action, count) in other.actions {
            if let Some(own) = self.actions.get_mut(action) {
                *own = own.saturating_add(count);
            }
        }
    }

    /// The constraints by kind and name, also those without violations.
    pub fn constraints(&self) -> impl Iterator<Item = &ConstraintAudit> {
        self.constraints.values()
    }

    /// What was found about a constraint; nothing if the audit did not start with it.
    pub fn constraint(&self, kind: &str, name: &str) -> Option<&ConstraintAudit> {
        self.constraints.get(&(kind.to_owned(), name.to_owned()))
    }

    /// The number of violations by enforcement action, with 0 for actions that have none: the metric `violations`.
    /// Actions that are not known count as `unrecognized`.
    pub fn violations_by_action(&self) -> &BTreeMap<&'static str, u64> {
        &self.actions
    }
}

/// What an object violates.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ObjectReview {
    /// The violations of the object, and of the objects that it implies.
    pub results: Vec<ReviewResult>,
    /// Why the results are not complete.
    pub error: Option<ObjectReviewError>,
}

/// Why not everything about an object could be evaluated.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ObjectReviewError {
    /// A template gave something that is no violation.
    #[error("{0}")]
    Evaluation(#[from] EvaluationError),
    /// The objects that it implies are not known.
    #[error("{0}")]
    Expansion(#[from] ExpansionError),
}

/// Reviews an object and the objects that it implies: at the enforcement point of the webhook as one that is to be
/// created, elsewhere as one that exists. `namespace` is the one that it is in, if it is known.
pub fn review_object(
    object: &Value,
    namespace: Option<&Value>,
    policies: &PolicySet,
    expander: &Expander,
    reviewer: &Reviewer<'_>,
    evaluator: &mut Evaluator,
) -> ObjectReview {
    let mut found = ObjectReview::default();
    let mut review = |object: &Value, source| {
        let review = match reviewer.point {
            EnforcementPoint::Webhook => Review::of_new_object(object, source),
            _ => Review::of_object(object, source),
        };
        policies.review(&review.with_namespace(namespace.cloned()), reviewer, evaluator)
    };
    match review(object, Source::Original) {
        Ok(results) => found.results = results,
        Err(error) => found.error = Some(error.into()),
    }
    match expander.expand(object, namespace) {
        Ok(implied) => {
            for implied in implied {
                match review(&implied.object, Source::Generated) {
                    Ok(results) => found.results.extend(results.into_iter().map(|result| implied.imply(result))),
                    Err(error) => found.error = Some(error.into()),
                }
            }
        }
        Err(error) => found.error = Some(error.into()),
    }
    found
}

/// The kinds that constraints name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NamedKinds {
    /// Groups and kinds; without a group, the kind of this name in every group.
    pub kinds: BTreeSet<(Option<String>, String)>,
    /// Whether a constraint is about every kind, or every kind of a group.
    pub any: bool,
}

impl PolicySet {
    /// Whether a constraint may be about objects of a kind at an enforcement point. The version does not count.
    pub fn concerns(&self, kind: &ObjectKind, point: EnforcementPoint) -> bool {
        self.constraints().any(|constraint| constraint.is_enforced_at(point) && constraint.concerns(kind))
    }

    /// Whether an audit has to list the objects of a kind: a constraint may be about them, or about what they imply.
    pub fn is_audited(&self, kind: &ObjectKind, expander: &Expander) -> bool {
        let enforced = |constraint: &&Arc<Constraint>| constraint.is_enforced_at(EnforcementPoint::Audit);
        self.constraints().filter(enforced).any(|constraint| constraint.is_about(kind, expander))
    }

    /// The kinds that the constraints of an enforcement point name.
    pub fn named_kinds(&self, point: EnforcementPoint) -> NamedKinds {
        let mut named = NamedKinds::default();
        for constraint in self.constraints().filter(|constraint| constraint.is_enforced_at(point)) {
            let entries = constraint.matches.as_ref().map(|matches| matches.kinds.as_slice()).unwrap_or_default();
            named.any |= entries.is_empty();
            for entry in entries {
                let is_any = |list: &[String]| list.is_empty() || list.iter().any(|name| name == "*");
                if is_any(&entry.kinds) {
                    named.any = true;
                    continue;
                }
                let groups: Vec<Option<String>> =
                    if is_any(&entry.groups) { vec![None] } else { entry.groups.iter().cloned().map(Some).collect() };
                for group in groups {
                    named.kinds.extend(entry.kinds.iter().map(|kind| (group.clone(), kind.clone())));
                }
            }
        }
        named
    }
}

impl Constraint {
    /// Whether its results may depend on objects of a kind: it may be about them, or about what they imply.
    pub fn is_about(&self, kind: &ObjectKind, expander: &Expander) -> bool {
        self.concerns(kind) || expander.generates(kind).iter().any(|generated| self.concerns(generated))
    }
}
