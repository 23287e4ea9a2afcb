//! Why a constraint applies to an object or not, and what came of it.

use serde_json::Value;

use crate::policy_set::{Evaluator, PolicySet, ReviewResult, Reviewer};
use crate::rego::EvaluationError;
use crate::review::Review;

/// A criterion of `match`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MatchCheck {
    /// The field.
    pub field: &'static str,
    /// What the constraint says there, as JSON; nothing if it says nothing.
    pub wanted: Option<String>,
    /// Whether it holds, or why that cannot be decided.
    pub holds: Result<bool, String>,
}

/// What came of a constraint.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// It is not about the object; the last check says why.
    NotMatched,
    /// Its actions do not concern the enforcement point.
    NotEnforced,
    /// It was evaluated, with these violations.
    Evaluated(Vec<ReviewResult>),
    /// The evaluation failed.
    Failed(EvaluationError),
}

/// A constraint and an object.
#[derive(Debug, Clone, PartialEq)]
pub struct ConstraintExplanation {
    /// The kind of the constraint.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// The engine of its template.
    pub engine: &'static str,
    /// The criteria up to the one that decides.
    pub checks: Vec<MatchCheck>,
    /// What the template sees as parameters.
    pub parameters: Value,
    /// What came of it.
    pub outcome: Outcome,
}

impl PolicySet {
    /// Explains every constraint of the set for a review.
    pub fn explain(
        &self,
        review: &Review,
        reviewer: &Reviewer<'_>,
        evaluator: &mut Evaluator,
    ) -> Vec<ConstraintExplanation> {
        let namespace = review.namespace().or_else(|| reviewer.inventory.namespace(review.namespace_name()));
        let results = self.review(review, reviewer, evaluator);
        self.constraints()
            .map(|constraint| {
                let spec = constraint.object().get("spec");
                let written = |field: &str| {
                    spec.and_then(|spec| spec.get("match")).and_then(|matches| matches.get(field)).map(Value::to_string)
                };
                let mut checks = Vec::new();
                let mut matched = true;
                if let Some(matches) = &constraint.matches {
                    matched = false;
                    for object in review.objects() {
                        checks.clear();
                        let mut all = true;
                        for criterion in matches.criteria(object, namespace, review.source()) {
                            all = matches!(criterion.holds, Ok(true));
                            let holds = criterion.holds.map_err(|error| error.to_string());
                            checks.push(MatchCheck { field: criterion.field, wanted: written(criterion.field), holds });
                            if !all {
                                break;
                            }
                        }
                        matched |= all || checks.last().is_some_and(|check| check.holds.is_err());
                        if matched {
                            break;
                        }
                    }
                }
                let enforced = constraint.is_enforced_at(reviewer.point);
                let own = |result: &&ReviewResult| result.kind == constraint.kind && result.name == constraint.name;
                let outcome = match (&results, matched, enforced) {
                    (_, false, _) => Outcome::NotMatched,
                    (_, _, false) => Outcome::NotEnforced,
                    (Ok(results), ..) => Outcome::Evaluated(results.iter().filter(own).cloned().collect()),
                    (Err(error), ..) => Outcome::Failed(error.clone()),
                };
                let template = self.templates().find(|template| template.kind == constraint.kind);
                ConstraintExplanation {
                    kind: constraint.kind.clone(),
                    name: constraint.name.clone(),
                    engine: template.map_or("", |template| template.code.engine()),
                    checks,
                    parameters: spec.and_then(|spec| spec.get("parameters")).cloned().unwrap_or_default(),
                    outcome,
                }
            })
            .collect()
    }
}
