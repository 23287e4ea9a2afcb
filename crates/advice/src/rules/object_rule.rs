//! Rules about objects: a question to each selected object, and what their answers mean together.

use clearway_core::{GroupKind, ObjectName};
use clearway_graph::Rule;

use super::parameters::{Parameters, canonical};
use super::quantifier::Quantifier;
use super::rule_result::{ask_objects, remedy};
use super::{Case, Check, Finding, RuleResult};
use crate::evidence::{
    Failure, FailureClass, ObjectAnswer, ObjectOutcome, ObjectQuestion, ObjectRequest, ObjectResult, ObjectTest,
    Selector,
};

/// A rule whose parameters name objects and ask something of each.
#[derive(Debug)]
pub(super) struct ObjectRule {
    question: ObjectQuestion,
    quantifier: Quantifier,
    text: String,
    /// The type of the condition, of a rule about one.
    condition: Option<String>,
}

/// Which objects are asked, and what their answers mean together.
pub(super) struct Selected {
    selector: Selector,
    quantifier: Quantifier,
}

impl Selected {
    /// Reads `apiVersion`, `kind`, `quantifier`, `whenAbsent`, and if they are there `namespace`, `name` and `labelSelector`.
    pub(super) fn read(parameters: &Parameters<'_>) -> Result<Self, Failure> {
        let kind = GroupKind::from_api_version(parameters.required("apiVersion")?, parameters.required("kind")?);
        let owned = |key: &str| parameters.text(key).map(|text| text.map(str::to_owned));
        let request = ObjectRequest { kind, namespace: owned("namespace")?, name: owned("name")? };
        let selector = Selector::new(request)?;
        let selector = match parameters.get("labelSelector") {
            None => selector,
            Some(labels) => selector.with_labels(labels).map_err(|why| parameters.wrong("labelSelector", &why))?,
        };
        Ok(Selected { selector, quantifier: Quantifier::read(parameters)? })
    }
}

impl ObjectRule {
    /// A rule that asks something of each of the selected objects.
    pub(super) fn new(rule: &Rule, objects: Selected, asked: ObjectTest) -> Self {
        let text = canonical(&rule.parameters);
        let condition = match &asked {
            ObjectTest::Condition { type_, .. } => Some(type_.clone()),
            ObjectTest::Expression(_)
            | ObjectTest::Bundle { .. }
            | ObjectTest::Field { .. }
            | ObjectTest::Violations
            | ObjectTest::ReleaseViolations(_) => None,
        };
        let question = ObjectQuestion::new(objects.selector, asked, format!("{} {text}", rule.kind));
        ObjectRule { question, quantifier: objects.quantifier, text, condition }
    }

    fn judge(&self, answer: &ObjectAnswer, case: &Case<'_>) -> Finding {
        let kind = &self.question.request().kind;
        if answer.selected() == 0 {
            return self.none_selected(answer, case);
        }
        let type_ = self.condition.as_deref().unwrap_or_default();
        let absent = answer.without_condition.as_ref().map(|(_, name)| {
            let message = format!("{kind} {name} has no condition {type_}.");
            self.quantifier.absent(message, format!("A {kind} with the condition {type_}."))
        });
        let failed = answer.first_error().map(|(error, name)| {
            let class = error.class();
            let message = match &self.condition {
                Some(type_) => format!("The condition {type_} of {kind} {name} is {error}."),
                None => format!("The expression could not be evaluated for {kind} {name}: {error}."),
            };
            Finding::failed(class, message, remedy(class))
        });
        let matches = (answer.matches > 0).then_some(Finding::Match);
        let no_matches = (answer.no_matches > 0).then_some(Finding::NoMatch);
        self.quantifier.over([matches, no_matches, absent, failed].into_iter().flatten())
    }

    /// The finding where there is no object to ask.
    fn none_selected(&self, answer: &ObjectAnswer, case: &Case<'_>) -> Finding {
        let kind = &self.question.request().kind;
        if self.question.selector().is_narrow() && case.evidence.names_replaced() && !answer.kind_not_served {
            let message = format!("Names were replaced in the snapshot, so a {kind} that the rule selects may exist.");
            return Finding::failed(
                FailureClass::Absent,
                message,
                "A snapshot with names, or one taken for this graph.",
            );
        }
        let message = if answer.kind_not_served {
            format!("The cluster does not serve the kind {kind}.")
        } else {
            format!("No {kind} that the rule selects was found.")
        };
        self.quantifier.absent(message, format!("A {kind} that the rule selects."))
    }

    /// What was seen, on one line; of many objects the first ones.
    fn shown(&self, answer: &ObjectAnswer) -> String {
        let type_ = self.condition.as_deref().unwrap_or_default();
        let one = |result: &ObjectResult| {
            let name = &result.name;
            match (&result.outcome, &result.condition) {
                (ObjectOutcome::WithoutCondition, _) => format!("{name} without {type_}"),
                (_, Some((status, reason))) if reason.is_empty() => format!("{name} {type_}={status}"),
                (_, Some((status, reason))) => format!("{name} {type_}={status} ({reason})"),
                (ObjectOutcome::Match, None) => format!("{name} true"),
                (ObjectOutcome::NoMatch, None) => format!("{name} false"),
                (ObjectOutcome::Failed(error), None) => format!("{name}: {error}"),
            }
        };
        let mut shown: Vec<String> = answer.first.iter().map(one).collect();
        match answer.selected() {
            0 if answer.kind_not_served => return "kind not served".to_owned(),
            0 => return "no objects".to_owned(),
            count if count > shown.len() => shown.push(format!("… {count} objects")),
            _ => {}
        }
        shown.join("; ")
    }
}

impl Check for ObjectRule {
    fn parameters(&self) -> &str {
        &self.text
    }

    fn object_questions(&self) -> Vec<&ObjectQuestion> {
        vec![&self.question]
    }

    fn check(&self, case: &Case<'_>) -> RuleResult {
        let mut explanation = None;
        let mut tried = ask_objects(
            &self.question,
            case,
            |answer| self.shown(answer),
            |answer| {
                let finding = self.judge(answer, case);
                let decisive = decisive_object(answer, &finding);
                explanation = decisive.and_then(|name| case.evidence.explain(&self.question, name));
                finding
            },
        );
        tried.seen.explanation = explanation;
        tried
    }
}

/// An object that the finding rests on, if it is known by name.
fn decisive_object<'a>(answer: &'a ObjectAnswer, finding: &Finding) -> Option<&'a ObjectName> {
    let wanted = match finding {
        Finding::Match => ObjectOutcome::Match,
        Finding::NoMatch => ObjectOutcome::NoMatch,
        Finding::Failed { .. } => return answer.first_error().map(|(_, name)| name),
        Finding::Pending { .. } => return None,
    };
    answer.first.iter().find(|result| result.outcome == wanted).map(|result| &result.name)
}
