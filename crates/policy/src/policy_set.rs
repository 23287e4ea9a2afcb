//! Templates and constraints, compiled once and evaluated many times.
//!
//! A set is a value: who changes it clones it, which is cheap, and publishes the clone. An evaluation in flight goes on
//! with the set it began with. What cannot be loaded leaves the set as it was.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::constraint::{Constraint, ConstraintError};
use crate::enforcement::{EnforcementAction, EnforcementPoint};
use crate::inventory::Inventory;
use crate::rego::{Budget, EvaluationError, ProgramEvaluator};
use crate::review::{ObjectKind, Review};
use crate::template::{Code, Template, TemplateError};

/// Templates and their constraints.
#[derive(Debug, Clone, Default)]
pub struct PolicySet {
    templates: BTreeMap<String, Arc<Template>>,
    constraints: BTreeMap<(String, String), Arc<Constraint>>,
    /// The constraints that may match a kind, and those that may match any.
    by_kind: BTreeMap<String, BTreeSet<(String, String)>>,
    any_kind: BTreeSet<(String, String)>,
    /// Templates that are not evaluated, by name, with the message of their violations.
    failed: BTreeMap<String, String>,
    refuse_unknown_actions: bool,
}

/// Why a set cannot be changed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum PolicySetError {
    /// The template is refused.
    #[error("{0}")]
    Template(#[from] TemplateError),
    /// The constraint is refused.
    #[error("{0}")]
    Constraint(#[from] ConstraintError),
    /// The action of the constraint is not known, and such constraints are refused (P3).
    #[error("{0}")]
    UnknownAction(String),
}

/// A violation of a constraint.
#[derive(Debug, Clone, PartialEq)]
pub struct ReviewResult {
    /// The kind of the constraint.
    pub kind: String,
    /// The name of the constraint.
    pub name: String,
    /// The message.
    pub message: String,
    /// What the template says about it.
    pub details: Option<Value>,
    /// The action of the constraint.
    pub action: EnforcementAction,
    /// The actions at this enforcement point, for the action `scoped`.
    pub scoped_actions: Vec<String>,
}

impl ReviewResult {
    /// What decides where it stands among others.
    pub fn report_order(&self) -> (&str, &str) {
        (self.action.as_str(), &self.message)
    }

    /// Whether it denies a request.
    pub fn denies(&self) -> bool {
        match self.action {
            EnforcementAction::Scoped => self.scoped_actions.iter().any(|action| action == "deny"),
            _ => self.action == EnforcementAction::Deny,
        }
    }
}

/// Is told the name of each template before it is evaluated.
pub type Observer = Box<dyn FnMut(&str) + Send>;

/// What one thread needs to evaluate sets.
#[derive(Default)]
pub struct Evaluator {
    /// By the address of the template, which the entry keeps alive.
    programs: BTreeMap<String, (Arc<Template>, ProgramEvaluator)>,
    prints: Vec<String>,
    observer: Option<Observer>,
}

impl fmt::Debug for Evaluator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Evaluator").field("programs", &self.programs).finish_non_exhaustive()
    }
}

impl Evaluator {
    /// Nothing yet.
    pub fn new() -> Self {
        Evaluator::default()
    }

    /// Tells the observer from now on which template is evaluated, so that whoever ends an evaluation can name it.
    #[must_use]
    pub fn with_observer(mut self, observer: Observer) -> Self {
        self.observer = Some(observer);
        self
    }

    /// Forgets what was prepared for templates that a set does not have any more.
    pub fn retain(&mut self, set: &PolicySet) {
        self.programs.retain(|name, (known, _)| set.templates.get(name).is_some_and(|one| Arc::ptr_eq(one, known)));
    }

    /// What templates printed since the last call.
    pub fn take_prints(&mut self) -> Vec<String> {
        std::mem::take(&mut self.prints)
    }

    fn program<'e>(&'e mut self, template: &Arc<Template>) -> Option<&'e mut ProgramEvaluator> {
        let Code::Rego(program) = &template.code else { return None };
        let known = self.programs.get(&template.name).is_some_and(|(known, _)| Arc::ptr_eq(known, template));
        if !known {
            self.programs.insert(template.name.clone(), (Arc::clone(template), program.evaluator()));
        }
        self.programs.get_mut(&template.name).map(|(_, evaluator)| evaluator)
    }
}

/// Where and how reviews are evaluated.
#[derive(Clone, Copy)]
pub struct Reviewer<'r> {
    /// The enforcement point.
    pub point: EnforcementPoint,
    /// The inventory.
    pub inventory: &'r Inventory,
    /// How much each evaluation may do.
    pub budget: &'r Budget,
}

impl PolicySet {
    /// A set without templates.
    pub fn new() -> Self {
        PolicySet::default()
    }

    /// Refuses constraints with unknown actions, as Gatekeeper does, instead of not enforcing them (P3).
    #[must_use]
    pub fn refusing_unknown_actions(mut self, refuse: bool) -> Self {
        self.refuse_unknown_actions = refuse;
        self
    }

    /// Adds or replaces a template. Constraints that the new version refuses are removed and returned with the reason.
    pub fn add_template(&mut self, object: &Value) -> Result<Vec<(String, PolicySetError)>, PolicySetError> {
        let template = Arc::new(Template::read(object)?);
        let kind = template.kind.clone();
        self.failed.remove(&template.name);
        self.templates.insert(template.name.clone(), template);
        let mut refused = Vec::new();
        let own: Vec<Arc<Constraint>> =
            self.constraints.values().filter(|constraint| constraint.kind == kind).cloned().collect();
        for constraint in own {
            if let Err(error) = self.add_constraint(constraint.object()) {
                self.remove_constraint(&constraint.kind, &constraint.name);
                refused.push((constraint.name.clone(), error));
            }
        }
        Ok(refused)
    }

    /// Stops evaluating a template until it is replaced: whatever its constraints match violates them, with this message.
    /// An evaluation that fails denies as well, and nobody can switch a policy off by making it fail.
    pub fn fail_template(&mut self, name: &str, message: String) {
        if self.templates.contains_key(name) {
            self.failed.insert(name.to_owned(), message);
        }
    }

    /// Removes a template and its constraints.
    pub fn remove_template(&mut self, name: &str) {
        self.failed.remove(name);
        let Some(template) = self.templates.remove(name) else { return };
        self.constraints.retain(|(kind, _), _| *kind != template.kind);
        self.index();
    }

    /// Adds or replaces a constraint, and returns why it is not enforced if its action is not known (P4).
    pub fn add_constraint(&mut self, object: &Value) -> Result<Option<String>, PolicySetError> {
        if !Constraint::is_constraint(object) {
            return Err(ConstraintError::NotAConstraint.into());
        }
        let kind = ObjectKind::of(object).kind;
        let name = kind.to_lowercase();
        let template = self.templates.get(&name).ok_or(ConstraintError::NoTemplate(name))?;
        let constraint = Constraint::read(object, &template.definition)?;
        let warning = constraint.unknown_action();
        if let Some(warning) = warning.clone().filter(|_| self.refuse_unknown_actions) {
            return Err(PolicySetError::UnknownAction(warning));
        }
        self.constraints.insert((constraint.kind.clone(), constraint.name.clone()), Arc::new(constraint));
        self.index();
        Ok(warning)
    }

    /// Removes a constraint.
    pub fn remove_constraint(&mut self, kind: &str, name: &str) {
        self.constraints.remove(&(kind.to_owned(), name.to_owned()));
        self.index();
    }

    fn index(&mut self) {
        self.by_kind.clear();
        self.any_kind.clear();
        for (key, constraint) in &self.constraints {
            let kinds = constraint.matches.as_ref().map(|matches| matches.kinds.as_slice()).unwrap_or_default();
            let any = kinds.is_empty()
                || kinds.iter().any(|entry| entry.kinds.is_empty() || entry.kinds.iter().any(|kind| kind == "*"));
            if any {
                self.any_kind.insert(key.clone());
            } else {
                for kind in kinds.iter().flat_map(|entry| &entry.kinds) {
                    self.by_kind.entry(kind.clone()).or_default().insert(key.clone());
                }
            }
        }
    }

    /// The templates, by name.
    pub fn templates(&self) -> impl Iterator<Item = &Arc<Template>> {
        self.templates.values()
    }

    /// The constraints, by kind and name.
    pub fn constraints(&self) -> impl Iterator<Item = &Arc<Constraint>> {
        self.constraints.values()
    }

    /// The constraints that may match a review, by kind and name.
    fn candidates(&self, review: &Review) -> BTreeSet<&(String, String)> {
        let mut keys: BTreeSet<&(String, String)> = self.any_kind.iter().collect();
        for object in review.objects() {
            let kind = object.get("kind").and_then(Value::as_str).unwrap_or_default();
            keys.extend(self.by_kind.get(kind).into_iter().flatten());
        }
        // Without an object no constraint can say that it does not match.
        if review.objects().next().is_none() {
            keys.extend(self.constraints.keys());
        }
        keys
    }

    /// What a review violates, in the order of [`sort_results`].
    pub fn review(
        &self,
        review: &Review,
        reviewer: &Reviewer<'_>,
        evaluator: &mut Evaluator,
    ) -> Result<Vec<ReviewResult>, EvaluationError> {
        let mut results = Vec::new();
        let mut input = None;
        let namespace = review.namespace().or_else(|| reviewer.inventory.namespace(review.namespace_name()));
        for key in self.candidates(review) {
            let Some(constraint) = self.constraints.get(key) else { continue };
            let Some(template) = self.templates.get(&constraint.kind.to_lowercase()) else { continue };
            let subject = Subject { template, constraint, failed: self.failed.get(&template.name) };
            if let Some(found) = evaluate(&subject, review, namespace, reviewer, evaluator, &mut input)? {
                results.extend(found);
            }
        }
        sort_results(&mut results);
        Ok(results)
    }
}

/// Puts results into the order in which Gatekeeper reports them: by action and message. Those with the same action and
/// message stay as they are, which for [`PolicySet::review`] is by kind and name of the constraint.
pub fn sort_results(results: &mut [ReviewResult]) {
    results.sort_by(|first, second| first.report_order().cmp(&second.report_order()));
}

/// What is evaluated.
struct Subject<'s> {
    template: &'s Arc<Template>,
    constraint: &'s Constraint,
    /// The message of all violations, if the template is not evaluated.
    failed: Option<&'s String>,
}

/// The violations of one constraint; nothing if it does not apply.
fn evaluate(
    Subject { template, constraint, failed }: &Subject<'_>,
    review: &Review,
    namespace: Option<&Value>,
    reviewer: &Reviewer<'_>,
    evaluator: &mut Evaluator,
    input: &mut Option<regorus::Value>,
) -> Result<Option<Vec<ReviewResult>>, EvaluationError> {
    if reviewer.point == EnforcementPoint::Webhook && !has_operation(template, review.operation()) {
        return Ok(None);
    }
    if !constraint.is_enforced_at(reviewer.point) {
        return Ok(None);
    }
    let Some(scoped_actions) = constraint.scoped_actions(reviewer.point) else { return Ok(None) };
    let result = |message: String, details: Option<Value>| ReviewResult {
        kind: constraint.kind.clone(),
        name: constraint.name.clone(),
        message,
        details,
        action: constraint.action.clone(),
        scoped_actions: scoped_actions.clone(),
    };
    match constraint.matches.as_ref().map_or(Ok(true), |matches| matches.matches(review, namespace)) {
        Ok(true) => {}
        Ok(false) => return Ok(None),
        Err(failure) => return Ok(Some(vec![result(failure.to_string(), None)])),
    }
    if let Some(message) = failed {
        return Ok(Some(vec![result((*message).clone(), None)]));
    }
    if let Some(observer) = &mut evaluator.observer {
        observer(&template.name);
    }
    if let Code::Cel(code) = &template.code {
        let messages = code.evaluate(review, constraint.object(), namespace);
        return Ok(Some(messages.into_iter().map(|message| result(message, None)).collect()));
    }
    let uses_inventory = template.uses_inventory();
    let Some(program) = evaluator.program(template) else { return Ok(None) };
    if uses_inventory {
        let (number, document) = reviewer.inventory.document();
        program.set_inventory(number, document)?;
    }
    let input = input.get_or_insert_with(|| review.to_rego());
    let found = program.evaluate(input, constraint.parameters(), reviewer.budget);
    let prints = program.take_prints();
    evaluator.prints.extend(prints);
    match found {
        Ok(violations) => Ok(Some(
            violations.into_iter().map(|violation| result(violation.message, Some(violation.details))).collect(),
        )),
        Err(error @ EvaluationError::Message(_)) => Err(error),
        // A template that fails denies, as in Gatekeeper.
        Err(error) => Ok(Some(vec![result(error.to_string(), Some(json!(null)))])),
    }
}

fn has_operation(template: &Template, operation: &str) -> bool {
    template.operations.is_empty() || template.operations.iter().any(|known| known == "*" || known == operation)
}
