//! Constraints: loaded into the evaluators, and read for the audit.

use std::sync::Arc;

use clearway_policy::{Constraint, EnforcementPoint};
use serde_json::Value;

use super::super::evaluation::{Change, LoadError};
use super::super::log_lines::{self, CONTROLLER, LineLevel};
use super::super::metrics::action_label;
use super::statuses::StatusKey;
use super::{Controller, is_older, is_same, place};

/// A constraint of the cluster.
pub(super) struct ConstraintState {
    /// As the API server has it.
    pub(super) object: Value,
    /// The version that is loaded; none if it is not.
    pub(super) constraint: Option<Arc<Constraint>>,
    /// What is wrong with it.
    pub(super) errors: Vec<LoadError>,
}

impl ConstraintState {
    /// Whether violations have an effect somewhere in the cluster.
    pub(super) fn is_enforced(&self) -> bool {
        let points = [EnforcementPoint::Webhook, EnforcementPoint::Audit];
        self.constraint
            .as_ref()
            .is_some_and(|constraint| points.into_iter().any(|point| constraint.is_enforced_at(point)))
    }

    fn action(&self) -> &str {
        self.object.pointer("/spec/enforcementAction").and_then(Value::as_str).unwrap_or("deny")
    }

    /// The action, as metrics name it.
    pub(super) fn action_label(&self) -> &'static str {
        action_label(self.action())
    }

    fn write_line(&self, is_enforced: bool) {
        let line = log_lines::constraint_line(&self.object, self.action(), is_enforced);
        log_lines::write(LineLevel::Debug, CONTROLLER, &line);
    }
}

impl Controller {
    pub(super) async fn put_constraint(&mut self, kind: &str, object: Value) {
        let key = (kind.to_owned(), place(&object).1);
        if let Some(known) = self.constraints.get_mut(&key) {
            if is_older(&object, &known.object) {
                // The answer to our own write was here first.
                return;
            }
            if is_same(&object, &known.object) {
                known.object = object;
                self.due.insert(StatusKey::Constraint(key.0, key.1));
                return;
            }
            known.object = object;
        } else {
            self.constraints.insert(key.clone(), ConstraintState { object, constraint: None, errors: Vec::new() });
        }
        self.load_constraint(&key).await;
    }

    pub(super) async fn remove_constraint(&mut self, kind: &str, name: &str) {
        let Some(state) = self.constraints.remove(&(kind.to_owned(), name.to_owned())) else { return };
        self.evaluators.apply(Change::RemoveConstraint { kind: kind.to_owned(), name: name.to_owned() }).await;
        if state.is_enforced() {
            state.write_line(false);
        }
        self.due.remove(&StatusKey::Constraint(kind.to_owned(), name.to_owned()));
        self.is_changed = true;
    }

    /// Loads the constraints of a template that changed: those that are not loaded, and those that it refuses now.
    pub(super) async fn reload_constraints(&mut self, template: &str, refused: &[(String, LoadError)]) {
        let has_template = self.templates.contains_key(template);
        let is_refused = |name: &str| refused.iter().any(|(refused, _)| refused == name);
        let own = self.constraints.iter().filter(|((kind, name), state)| {
            let is_loaded = has_template && state.constraint.is_some() && state.errors.is_empty();
            kind.to_lowercase() == template && (!is_loaded || is_refused(name))
        });
        let own: Vec<(String, String)> = own.map(|(key, _)| key.clone()).collect();
        for key in own {
            if let Some(state) = self.constraints.get_mut(&key) {
                state.constraint = None;
            }
            self.load_constraint(&key).await;
        }
        // Parameters may have other defaults now.
        let kept = self.constraints.iter_mut().filter(|((kind, _), _)| kind.to_lowercase() == template);
        let definition = self.templates.get(template).and_then(|state| state.definition.as_ref());
        for (_, state) in kept.filter(|(_, state)| state.constraint.is_some()) {
            if let Some(Ok(constraint)) = definition.map(|definition| Constraint::read(&state.object, definition)) {
                state.constraint = Some(Arc::new(constraint));
            }
        }
        self.is_changed = true;
    }

    async fn load_constraint(&mut self, key: &(String, String)) {
        let Some(object) = self.constraints.get(key).map(|state| Arc::new(state.object.clone())) else { return };
        let loaded = self.evaluators.apply(Change::PutConstraint(Arc::clone(&object))).await;
        let definition = self.templates.get(&key.0.to_lowercase()).and_then(|state| state.definition.as_ref());
        let read = definition.and_then(|definition| Constraint::read(&object, definition).ok());
        let Some(state) = self.constraints.get_mut(key) else { return };
        let was_enforced = state.is_enforced();
        state.errors = loaded.error.into_iter().collect();
        if state.errors.is_empty() {
            state.constraint = read.map(Arc::new);
        } else if definition.is_none() {
            state.constraint = None;
        }
        if let Some(warning) = loaded.warning {
            let message = format!("could not validate enforcement actions: {warning}");
            state.errors.push(LoadError { code: String::new(), message, location: None });
        }
        for error in &state.errors {
            tracing::warn!("constraint {}/{} is not enforced: {}", key.0, key.1, error.message);
        }
        if state.is_enforced() {
            state.write_line(true);
        } else if was_enforced {
            state.write_line(false);
        }
        self.is_changed = true;
        self.due.insert(StatusKey::Constraint(key.0.clone(), key.1.clone()));
    }
}
