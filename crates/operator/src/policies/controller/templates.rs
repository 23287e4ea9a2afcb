//! Templates: loaded into the evaluators, and made into the CRDs of their constraints.

use std::sync::Arc;
use std::time::Instant;

use clearway_policy::ConstraintDefinition;
use clearway_sources::kubernetes::{Apply, ClusterError};
use serde_json::{Value, json};

use super::super::evaluation::{Change, LoadError};
use super::super::log_lines::{self, CONTROLLER, LineLevel, TemplateEvent};
use super::super::metrics::LoadState;
use super::super::{NAME, kinds};
use super::statuses::StatusKey;
use super::watches::Subject;
use super::{Controller, definition_name, is_older, is_same, place};

/// A template of the cluster.
pub(super) struct TemplateState {
    /// As the API server has it.
    pub(super) object: Value,
    /// What the version that is loaded says about its constraints; none if no version could be loaded.
    pub(super) definition: Option<ConstraintDefinition>,
    /// What is wrong with the newest version.
    pub(super) errors: Vec<LoadError>,
    /// Whether its code is CEL.
    pub(super) is_cel: bool,
    /// Whether the CRD has to be applied.
    is_definition_due: bool,
}

impl TemplateState {
    /// Whether the CRD could not be applied, or was deleted.
    pub(super) fn is_definition_due(&self) -> bool {
        self.is_definition_due
    }
}

impl Controller {
    pub(super) async fn put_template(&mut self, object: Value) {
        let name = place(&object).1;
        if let Some(known) = self.templates.get_mut(&name) {
            if is_older(&object, &known.object) {
                // The answer to our own write was here first.
                return;
            }
            if is_same(&object, &known.object) {
                known.object = object;
                self.due.insert(StatusKey::Template(name));
                return;
            }
        }
        let started = Instant::now();
        let loaded = self.evaluators.apply(Change::PutTemplate(Arc::new(object.clone()))).await;
        self.metrics.count_ingestion(LoadState::of(loaded.error.as_ref()), started.elapsed());
        let known = self.templates.remove(&name);
        let event = if known.is_some() { TemplateEvent::Updated } else { TemplateEvent::Created };
        let before = known.and_then(|known| known.definition);
        let (definition, errors) = match (loaded.error, ConstraintDefinition::read(&object)) {
            (None, Ok(definition)) => (Some(definition), Vec::new()),
            // The last good version stays active.
            (Some(error), _) => (before, vec![error]),
            (None, Err(error)) => (before, vec![create_error(&error)]),
        };
        let is_loaded = errors.is_empty();
        if let Some(error) = errors.first() {
            log_lines::write(LineLevel::Info, CONTROLLER, &log_lines::ingest_error_line(&name));
            tracing::warn!("cannot load template {name}: {}", error.message);
        } else {
            log_lines::write(LineLevel::Debug, CONTROLLER, &log_lines::template_line(event, &name));
            report_policy_generation(&name, &object);
        }
        let is_cel = is_cel(&object);
        let state = TemplateState { object, definition, errors, is_cel, is_definition_due: is_loaded };
        self.templates.insert(name.clone(), state);
        self.is_changed = true;
        self.due.insert(StatusKey::Template(name.clone()));
        if is_loaded {
            self.apply_definition(&name).await;
            self.reload_constraints(&name, &loaded.refused_constraints).await;
        }
    }

    pub(super) async fn remove_template(&mut self, name: &str) {
        if self.templates.remove(name).is_none() {
            return;
        }
        self.evaluators.apply(Change::RemoveTemplate { name: name.to_owned() }).await;
        log_lines::write(LineLevel::Debug, CONTROLLER, &log_lines::template_line(TemplateEvent::Deleted, name));
        self.due.remove(&StatusKey::Template(name.to_owned()));
        self.is_changed = true;
        // They have no template now, and their statuses say so.
        self.reload_constraints(name, &[]).await;
    }

    /// Applies the CRDs that could not be applied.
    pub(super) async fn apply_due_definitions(&mut self) {
        let due = self.templates.iter().filter(|(_, state)| state.is_definition_due);
        let due: Vec<String> = due.map(|(name, _)| name.clone()).collect();
        for name in due {
            self.apply_definition(&name).await;
        }
    }

    /// Applies the CRD of a template, and watches the constraints of its kind.
    async fn apply_definition(&mut self, name: &str) {
        let Some(state) = self.templates.get_mut(name) else { return };
        let Some(definition) = &state.definition else { return };
        let mut crd = definition.crd();
        // Whoever deletes the template deletes its constraints. Nothing waits for that, so no finalizer is needed.
        crd["metadata"]["ownerReferences"] = json!([{
            "apiVersion": state.object["apiVersion"], "kind": state.object["kind"],
            "name": name, "uid": state.object["metadata"]["uid"], "controller": true,
        }]);
        let kind = definition.kind.clone();
        let how = Apply { manager: NAME, force: true, dry_run: false };
        let applied = self.cluster.apply(&kinds::crds(), &crd, &how).await;
        state.is_definition_due = false;
        state.errors.clear();
        match applied {
            Ok(_) => self.watch_constraints(&kind),
            Err(error @ (ClusterError::Refused { .. } | ClusterError::Forbidden { .. })) => {
                tracing::warn!(%error, "cannot create the CRD of template {name}");
                state.errors.push(create_error(&error));
            }
            Err(error) => {
                tracing::warn!(%error, "cannot create the CRD of template {name}; trying again");
                state.errors.push(create_error(&error));
                state.is_definition_due = true;
            }
        }
        self.is_changed = true;
        self.due.insert(StatusKey::Template(name.to_owned()));
    }

    /// Watches constraints of a kind, unless they are watched already.
    fn watch_constraints(&mut self, kind: &str) {
        let subject = Subject::Constraints(kind.to_owned());
        if !self.watches.has(&subject) {
            self.wait_for(&subject);
            self.watches.watch_defined(subject, kinds::constraints_of(kind));
        }
    }

    /// A CRD: if it is one of constraints, they are watched, whether there is a template or not.
    pub(super) async fn put_definition(&mut self, metadata: &Value) {
        let name = place(metadata).1;
        let Some((lower, kinds::CONSTRAINTS)) = name.split_once('.') else { return };
        let is_watched =
            |subject: &Subject| matches!(subject, Subject::Constraints(kind) if kind.to_lowercase() == lower);
        if self.watches.subjects().any(is_watched) {
            return;
        }
        match self.cluster.get(&kinds::crds(), "", &name).await {
            Ok(crd) => {
                if let Some(kind) = crd.pointer("/spec/names/kind").and_then(Value::as_str) {
                    self.watch_constraints(kind);
                }
            }
            Err(ClusterError::NotFound { .. }) => {}
            Err(error) => tracing::warn!(%error, "cannot read the CRD {name}"),
        }
    }

    /// A CRD is gone, and with it the constraints of its kind.
    pub(super) async fn remove_definition(&mut self, name: &str) {
        let subjects = self.watches.subjects().filter_map(|subject| match subject {
            Subject::Constraints(kind) if definition_name(kind) == name => Some(kind.clone()),
            _ => None,
        });
        for kind in subjects.collect::<Vec<_>>() {
            let subject = Subject::Constraints(kind.clone());
            self.watches.stop(&subject);
            self.end_wait(&subject);
            let names = self.constraints.keys().filter(|(one, _)| *one == kind).map(|(_, name)| name.clone());
            for constraint in names.collect::<Vec<_>>() {
                self.remove_constraint(&kind, &constraint).await;
            }
            // Somebody deleted the CRD of a template that is still there: it is needed.
            if let Some(state) = self.templates.get_mut(&kind.to_lowercase()).filter(|state| state.definition.is_some())
            {
                state.is_definition_due = true;
            }
        }
    }

    /// Templates that were set aside because they end their evaluators.
    pub(super) fn set_aside(&mut self, templates: std::collections::BTreeMap<String, String>) {
        for (name, reason) in templates.iter().filter(|(name, _)| !self.set_aside.contains_key(*name)) {
            tracing::error!("template {name} is set aside: {reason}");
        }
        let before = std::mem::replace(&mut self.set_aside, templates);
        for name in before.keys().chain(self.set_aside.keys()) {
            self.due.insert(StatusKey::Template(name.clone()));
            let own = self.constraints.keys().filter(|(kind, _)| kind.to_lowercase() == *name);
            self.due.extend(own.map(|(kind, name)| StatusKey::Constraint(kind.clone(), name.clone())));
        }
    }
}

fn create_error(error: &impl ToString) -> LoadError {
    LoadError {
        code: "create_error".to_owned(),
        message: format!("Could not create CRD: {}", error.to_string()),
        location: None,
    }
}

fn code<'o>(object: &'o Value, engine: &str) -> Option<&'o Value> {
    let entries = object.pointer("/spec/targets/0/code").and_then(Value::as_array)?;
    entries.iter().find(|entry| entry["engine"] == engine)
}

fn is_cel(object: &Value) -> bool {
    code(object, "K8sNativeValidation").is_some()
}

/// Says that no policy of the API server is made of a template that asks for one.
fn report_policy_generation(name: &str, object: &Value) {
    if code(object, "K8sNativeValidation").is_some_and(|code| code["source"]["generateVAP"] == true) {
        tracing::warn!(
            "template {name} asks for a ValidatingAdmissionPolicy (generateVAP), which is not handled; the webhook and \
             audits enforce it"
        );
    }
}
