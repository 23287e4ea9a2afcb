//! `Policy`: asks whether objects violate a constraint of Gatekeeper that the cluster has (U19, P6).
//!
//! ```yaml
//! - type: Policy
//!   policy:
//!     kind: K8sRequiredLabels      # the kind of the constraint; required
//!     name: owner                  # its name; required
//!     objects: Cluster             # or Release: the objects of the release that the update leads to
//!     whenAbsent: Unknown          # or Match, NoMatch: the cluster has no such constraint
//! ```
//!
//! The rule names a constraint that the administrator of the cluster installed, and brings no template along. For the objects
//! of the cluster it reads the results of the last audit from the status of the constraint; an audit that is missing, or older
//! than evidence may be, says nothing. For the objects of a release somebody evaluates the constraint over them
//! ([`ReleaseConstraint`]). The rule matches if there are violations, whatever the enforcement action is.

use clearway_core::{GroupKind, form, humanize};
use clearway_graph::Rule;

use super::bundle::ParameterFault;
use super::parameters::{Parameters, canonical};
use super::quantifier::WhenAbsent;
use super::rule_result::{MissingSource, ask_objects, ask_objects_or};
use super::{Case, Check, Finding, ReadContext, RuleResult};
use crate::evidence::{
    Failure, FailureClass, ObjectAnswer, ObjectQuestion, ObjectRequest, ObjectTest, ReleaseConstraint, Selector,
    ViolationAnswer,
};

/// The parameters of `Policy` rules.
pub const POLICY_PARAMETERS: [&str; 4] = ["kind", "name", "objects", "whenAbsent"];

/// The group of constraints.
const GROUP: &str = "constraints.gatekeeper.sh";

/// Whose objects are asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Evaluated {
    Cluster,
    Release,
}

impl Evaluated {
    const WORDS: [(&'static str, Evaluated); 2] = [("Cluster", Evaluated::Cluster), ("Release", Evaluated::Release)];

    fn read(parameters: &Parameters<'_>) -> Result<Self, Failure> {
        Ok(parameters.word("objects", &Self::WORDS)?.unwrap_or(Evaluated::Cluster))
    }
}

#[derive(Debug)]
struct PolicyRule {
    /// The constraint, as `K8sRequiredLabels owner`.
    constraint: String,
    evaluated: Evaluated,
    /// What the release goes by.
    release: String,
    absent: WhenAbsent,
    question: ObjectQuestion,
    text: String,
}

/// Reads which constraint is meant.
pub(super) fn read(rule: &Rule, context: &ReadContext<'_>) -> Result<Box<dyn Check>, Failure> {
    let parameters = Parameters::of(rule)?;
    let (kind, name) = (parameters.required("kind")?.to_owned(), parameters.required("name")?.to_owned());
    if !form::is_kind(&kind) || !form::is_object_name(&name) {
        let key = if form::is_kind(&kind) { "name" } else { "kind" };
        return Err(parameters.wrong(key, "is not that of a constraint"));
    }
    let (evaluated, absent) = (Evaluated::read(&parameters)?, WhenAbsent::read(&parameters)?);
    let constraint = format!("{kind} {name}");
    let (request, test, question) = match evaluated {
        Evaluated::Cluster => {
            let kind = GroupKind { group: GROUP.to_owned(), kind };
            let request = ObjectRequest { kind, namespace: None, name: Some(name) };
            (request, ObjectTest::Violations, format!("Policy {constraint}"))
        }
        Evaluated::Release => {
            let asked = ReleaseConstraint { kind, name, release: context.release.clone() };
            let (request, question) = (asked.request(), asked.text());
            (request, ObjectTest::ReleaseViolations(asked), question)
        }
    };
    let question = ObjectQuestion::new(Selector::new(request)?, test, question);
    let release = context.release.version.to_string();
    Ok(Box::new(PolicyRule { constraint, evaluated, release, absent, question, text: canonical(&rule.parameters) }))
}

/// Whether a rule is about the objects of the release that an update leads to.
pub(crate) fn asks_about_release(rule: &Rule) -> bool {
    let evaluated = |rule: &Rule| Evaluated::read(&Parameters::of(rule).ok()?).ok();
    rule.kind == Rule::POLICY && evaluated(rule) == Some(Evaluated::Release)
}

/// What is wrong with the parameters of a `Policy` rule, if something is.
pub fn check_policy_rule(rule: &Rule) -> Option<ParameterFault> {
    let fault = |key: &'static str, why: String| ParameterFault { key, why, span: 0..0 };
    let parameters = Parameters::of(rule).ok()?;
    for key in POLICY_PARAMETERS {
        let required = matches!(key, "kind" | "name");
        match parameters.text(key) {
            Err(_) => return Some(fault(key, "it is not a string, or is empty".to_owned())),
            Ok(None) if required => return Some(fault(key, "it is missing".to_owned())),
            Ok(Some(text)) if required && text.trim() != text => {
                return Some(fault(key, "it begins or ends with a space".to_owned()));
            }
            Ok(Some(text)) if key == "kind" && !form::is_kind(text) => {
                return Some(fault(key, "it is not the kind of a constraint, such as K8sRequiredLabels".to_owned()));
            }
            Ok(Some(text)) if key == "name" && !form::is_object_name(text) => {
                return Some(fault(key, "it is not the name of an object".to_owned()));
            }
            Ok(_) => {}
        }
    }
    if Evaluated::read(&parameters).is_err() {
        return Some(fault("objects", "it is not one of Cluster, Release".to_owned()));
    }
    if WhenAbsent::read(&parameters).is_err() {
        return Some(fault("whenAbsent", "it is not one of Unknown, Match, NoMatch".to_owned()));
    }
    None
}

impl PolicyRule {
    fn judge(&self, answer: &ObjectAnswer, case: &Case<'_>) -> Finding {
        let Some(violations) = &answer.violations else { return self.absent(answer, case) };
        match self.evaluated {
            Evaluated::Cluster => self.judge_audit(violations, case),
            Evaluated::Release if violations.is_audited => Finding::of(violations.total > 0),
            Evaluated::Release => {
                let message = format!(
                    "Admission does not evaluate the constraint {}: its action is for other points, or unknown.",
                    self.constraint
                );
                Finding::failed(FailureClass::Absent, message, "A constraint that admission evaluates.")
            }
        }
    }

    fn judge_audit(&self, violations: &ViolationAnswer, case: &Case<'_>) -> Finding {
        let constraint = &self.constraint;
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
        // The object with the result keeps its name.
        let may_have_another_name = case.evidence.names_replaced() && self.evaluated == Evaluated::Cluster;
        if may_have_another_name && !answer.kind_not_served {
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

    /// The number of violations, of what and when, and the first objects.
    fn shown(&self, answer: &ObjectAnswer) -> String {
        let constraint = &self.constraint;
        let Some(ViolationAnswer { audited_at, total, objects, .. }) = &answer.violations else {
            return format!("no constraint {constraint}");
        };
        let place = match (self.evaluated, audited_at) {
            (Evaluated::Release, _) => format!(" by the objects of {}", self.release),
            (Evaluated::Cluster, Some(audited_at)) => format!(", audited at {audited_at}"),
            (Evaluated::Cluster, None) => return format!("{constraint} without an audit"),
        };
        let more = u64::try_from(objects.len()).is_ok_and(|named| *total > named);
        let mut names = objects.clone();
        names.extend((more && !objects.is_empty()).then(|| "…".to_owned()));
        let names = if names.is_empty() { String::new() } else { format!(": {}", names.join(", ")) };
        let plural = if *total == 1 { "" } else { "s" };
        format!("{total} violation{plural} of {constraint}{place}{names}")
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
        let (shown, judge) = (|answer: &_| self.shown(answer), |answer: &_| self.judge(answer, case));
        if self.evaluated == Evaluated::Cluster {
            return ask_objects(&self.question, case, shown, judge);
        }
        let nothing = MissingSource {
            message: format!("The constraint was not evaluated over the objects of {}.", self.release),
            missing: "A cluster, or a snapshot that was collected for this graph.".to_owned(),
        };
        ask_objects_or(&self.question, case, &nothing, shown, judge)
    }
}
