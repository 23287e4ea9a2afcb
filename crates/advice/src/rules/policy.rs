//! `Policy`: asks whether objects of the cluster violate a constraint of Gatekeeper (U19, P6).
//!
//! ```yaml
//! - type: Policy
//!   policy:
//!     kind: K8sRequiredLabels      # the kind of the constraint; required
//!     name: owner                  # its name; required
//!     whenAbsent: Unknown          # or Match, NoMatch: the cluster has no such constraint
//! ```
//!
//! The rule names a constraint that the administrator of the cluster installed, and reads the results of its last audit from
//! its status; it evaluates nothing and brings no template along. It matches if there are violations, whatever the
//! enforcement action is. An audit that is missing, or older than evidence may be, says nothing.

use clearway_core::{GroupKind, humanize};
use clearway_graph::Rule;

use super::parameters::{Parameters, canonical};
use super::quantifier::WhenAbsent;
use super::rule_result::ask_objects;
use super::{Case, Check, Finding, RuleResult};
use crate::evidence::{
    Failure, FailureClass, ObjectAnswer, ObjectQuestion, ObjectRequest, ObjectTest, Selector, ViolationAnswer,
};
use crate::settings::Settings;

/// The group of constraints.
const GROUP: &str = "constraints.gatekeeper.sh";

#[derive(Debug)]
struct PolicyRule {
    /// The constraint, as `K8sRequiredLabels owner`.
    constraint: String,
    absent: WhenAbsent,
    question: ObjectQuestion,
    text: String,
}

/// Reads which constraint is meant.
pub(super) fn read(rule: &Rule, _: &Settings) -> Result<Box<dyn Check>, Failure> {
    let parameters = Parameters::of(rule)?;
    let (kind, name) = (parameters.required("kind")?, parameters.required("name")?);
    let absent = WhenAbsent::read(&parameters)?;
    let request = ObjectRequest {
        kind: GroupKind { group: GROUP.to_owned(), kind: kind.to_owned() },
        namespace: None,
        name: Some(name.to_owned()),
    };
    // Nothing is selected by labels, so there is nothing wrong with them.
    let selector = Selector::new(request, None).map_err(|why| parameters.wrong("name", &why))?;
    let constraint = format!("{kind} {name}");
    let question = ObjectQuestion::new(selector, ObjectTest::Violations, format!("Policy {constraint}"));
    Ok(Box::new(PolicyRule { constraint, absent, question, text: canonical(&rule.parameters) }))
}

impl PolicyRule {
    fn judge(&self, answer: &ObjectAnswer, case: &Case<'_>) -> Finding {
        let constraint = &self.constraint;
        let Some(violations) = &answer.violations else { return self.absent(answer, case) };
        if !violations.is_audited {
            let message = format!(
                "Audits do not evaluate the constraint {constraint}: its action is for other points, or unknown."
            );
            return Finding::failed(FailureClass::Absent, message, "A constraint that audits evaluate.");
        }
        let Some(audited_at) = violations.audited_at else {
            let message = format!("The status of the constraint {constraint} has no audit.");
            return Finding::failed(
                FailureClass::Absent,
                message,
                "An audit, such as `clearway policy audit --write-status`.",
            );
        };
        let (age, ahead) = (case.now.since(audited_at), audited_at.since(case.now));
        if age > case.settings.max_age {
            let limit = humanize(case.settings.max_age);
            let message = format!(
                "The audit of the constraint {constraint} is {} old; the maximum age is {limit}.",
                humanize(age)
            );
            return Finding::failed(FailureClass::Stale, message, format!("An audit that is at most {limit} old."));
        }
        if ahead > case.settings.clock_skew {
            let message = format!("The audit of the constraint {constraint} is {} in the future.", humanize(ahead));
            return Finding::failed(FailureClass::Stale, message, "Clocks that agree.");
        }
        Finding::of(violations.total > 0)
    }

    /// The finding where there is no such constraint.
    fn absent(&self, answer: &ObjectAnswer, case: &Case<'_>) -> Finding {
        let constraint = &self.constraint;
        if case.evidence.names_replaced() && !answer.kind_not_served {
            let message = format!("Names were replaced in the snapshot, so the constraint {constraint} may exist.");
            return Finding::failed(
                FailureClass::Absent,
                message,
                "A snapshot with names, or one taken for this graph.",
            );
        }
        let message = format!("The cluster has no constraint {constraint}.");
        self.absent.finding(message, format!("The constraint {constraint}."))
    }

    /// The number of violations, when they were looked for, and the first objects.
    fn shown(&self, answer: &ObjectAnswer) -> String {
        let constraint = &self.constraint;
        let Some(ViolationAnswer { audited_at, total, objects, .. }) = &answer.violations else {
            return format!("no constraint {constraint}");
        };
        let Some(audited_at) = audited_at else { return format!("{constraint} without an audit") };
        let more = u64::try_from(objects.len()).is_ok_and(|named| *total > named);
        let mut names = objects.clone();
        names.extend((more && !objects.is_empty()).then(|| "…".to_owned()));
        let names = if names.is_empty() { String::new() } else { format!(": {}", names.join(", ")) };
        let plural = if *total == 1 { "" } else { "s" };
        format!("{total} violation{plural} of {constraint}, audited at {audited_at}{names}")
    }
}

impl Check for PolicyRule {
    fn parameters(&self) -> &str {
        &self.text
    }

    fn object_questions(&self) -> Vec<&ObjectQuestion> {
        vec![&self.question]
    }

    fn check(&self, case: &Case<'_>) -> RuleResult {
        ask_objects(&self.question, case, |answer| self.shown(answer), |answer| self.judge(answer, case))
    }
}
