//! Writes the statuses of templates and constraints where they are different.
//!
//! Each is written under the version of the object that it was computed from. If another writer was faster, the object is read
//! and the status computed again.

use std::collections::BTreeSet;

use clearway_sources::kubernetes::{ClusterError, Part, Resource};
use futures::future::{BoxFuture, FutureExt as _};
use futures::stream::{self, StreamExt as _};
use serde_json::Value;
use tokio::time::Instant;

use super::super::evaluation::LoadError;
use super::super::kinds;
use super::super::status::{Finding, reporting_pods};
use super::{Controller, RETRY, TemplateState, is_older, is_same, place};

/// Status writes that are under way at a time.
const AT_ONCE: usize = 8;
/// How often a status is computed again because another writer was faster, before it is left for later.
const ATTEMPTS: usize = 8;

/// An object with a status.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum StatusKey {
    /// A template, by name.
    Template(String),
    /// A constraint, by kind and name.
    Constraint(String, String),
    /// The Config.
    Config,
    /// A `SyncSet`, by name.
    SyncSet(String),
    /// An expansion template, by name.
    Expansion(String),
}

impl StatusKey {
    fn name(&self) -> &str {
        match self {
            StatusKey::Template(name)
            | StatusKey::Constraint(_, name)
            | StatusKey::SyncSet(name)
            | StatusKey::Expansion(name) => name,
            StatusKey::Config => kinds::CONFIG_NAME,
        }
    }
}

/// What became of a write.
enum Outcome {
    Written(Value),
    /// The object as it is now, after another writer; none if it is gone.
    Reread(Option<Value>),
    Failed(ClusterError),
}

impl Controller {
    /// Publishes what is loaded, and writes the statuses that are different.
    pub(super) async fn settle(&mut self) {
        self.publish();
        for _ in 0..ATTEMPTS {
            let due = std::mem::take(&mut self.due);
            if due.is_empty() {
                break;
            }
            self.write(due).await;
        }
        self.later.append(&mut self.due);
        // An entry that is written again is of a pod that is there.
        self.gone.clear();
        let fails = !self.later.is_empty() || self.templates.values().any(TemplateState::is_definition_due);
        self.retry_at = fails.then(|| self.retry_at.unwrap_or_else(|| Instant::now() + RETRY));
    }

    async fn write(&mut self, due: BTreeSet<StatusKey>) {
        let writes: Vec<_> = due.into_iter().filter_map(|key| self.patch(&key).map(|write| (key, write))).collect();
        let cluster = &self.cluster;
        let config_namespace = self.settings.gatekeeper_namespace.as_str();
        let write = |(key, (resource, patch)): (StatusKey, (Resource, Value))| async move {
            let namespace = if key == StatusKey::Config { config_namespace } else { "" };
            let outcome = match cluster.patch(&resource, (namespace, key.name()), Part::Status, &patch).await {
                Ok(object) => Outcome::Written(object),
                Err(ClusterError::Conflict { .. } | ClusterError::NotFound { .. }) => {
                    match cluster.get(&resource, namespace, key.name()).await {
                        Ok(object) => Outcome::Reread(Some(object)),
                        Err(ClusterError::NotFound { .. }) => Outcome::Reread(None),
                        Err(error) => Outcome::Failed(error),
                    }
                }
                Err(error) => Outcome::Failed(error),
            };
            (key, outcome)
        };
        let writes: Vec<BoxFuture<'_, (StatusKey, Outcome)>> =
            writes.into_iter().map(|one| write(one).boxed()).collect();
        let outcomes: Vec<_> = stream::iter(writes).buffer_unordered(AT_ONCE).collect().await;
        for (key, outcome) in outcomes {
            self.conclude(key, outcome);
        }
    }

    /// The kind of an object, and the patch that makes its status right; nothing if it is.
    fn patch(&self, key: &StatusKey) -> Option<(Resource, Value)> {
        let reporter = &self.settings.reporter;
        match key {
            StatusKey::Template(name) => {
                let state = self.templates.get(name)?;
                let errors: Vec<LoadError> = state.errors.iter().cloned().chain(self.set_aside_error(name)).collect();
                let patch = reporter.patch(&state.object, &Finding::Template { errors: &errors }, &self.gone)?;
                Some((kinds::templates_like(&state.object), patch))
            }
            StatusKey::Constraint(kind, name) => {
                let state = self.constraints.get(&(kind.clone(), name.clone()))?;
                let set_aside = self.set_aside_error(&kind.to_lowercase());
                let enforced = state.is_enforced() && set_aside.is_none();
                let errors: Vec<LoadError> = state.errors.iter().cloned().chain(set_aside).collect();
                let finding = Finding::Constraint { errors: &errors, enforced };
                Some((kinds::constraints_of(kind), reporter.patch(&state.object, &finding, &self.gone)?))
            }
            StatusKey::Config => {
                let config = self.config.as_ref()?;
                Some((kinds::configs_like(config), reporter.patch(config, &Finding::Config, &self.gone)?))
            }
            StatusKey::SyncSet(name) => {
                let sync_set = self.sync_sets.get(name)?;
                Some((kinds::sync_sets_like(sync_set), reporter.patch(sync_set, &Finding::SyncSet, &self.gone)?))
            }
            StatusKey::Expansion(name) => {
                let state = self.expansions.get(name)?;
                let finding = Finding::Expansion { error: state.error.as_ref() };
                Some((kinds::expansions_like(&state.object), reporter.patch(&state.object, &finding, &self.gone)?))
            }
        }
    }

    /// Why a template is not evaluated any more.
    fn set_aside_error(&self, template: &str) -> Option<LoadError> {
        let reason = self.set_aside.get(template)?;
        Some(LoadError { code: "evaluation_error".to_owned(), message: reason.clone(), location: None })
    }

    fn conclude(&mut self, key: StatusKey, outcome: Outcome) {
        match outcome {
            Outcome::Written(object) => {
                tracing::debug!("wrote the status of {key:?}");
                let _ = self.set_object(&key, object);
            }
            Outcome::Reread(Some(object)) => {
                let version = |object: &Value| object["metadata"]["resourceVersion"].clone();
                // Nobody else wrote it, so it is the status that is not there.
                if self.known_object(&key).is_some_and(|known| version(known) == version(&object)) {
                    tracing::warn!("the CRD of {key:?} has no status, so nothing is reported there");
                } else if self.set_object(&key, object) {
                    self.due.insert(key);
                }
            }
            // The watch reports it as well.
            Outcome::Reread(None) => {}
            Outcome::Failed(error @ (ClusterError::Forbidden { .. } | ClusterError::Refused { .. })) => {
                tracing::error!(%error, "cannot write a status");
            }
            Outcome::Failed(error) => {
                tracing::warn!(%error, "cannot write a status; trying again");
                self.later.insert(key);
            }
        }
    }

    fn known_object(&self, key: &StatusKey) -> Option<&Value> {
        match key {
            StatusKey::Template(name) => self.templates.get(name).map(|state| &state.object),
            StatusKey::Constraint(kind, name) => {
                self.constraints.get(&(kind.clone(), name.clone())).map(|state| &state.object)
            }
            StatusKey::Config => self.config.as_ref(),
            StatusKey::SyncSet(name) => self.sync_sets.get(name),
            StatusKey::Expansion(name) => self.expansions.get(name).map(|state| &state.object),
        }
    }

    /// Remembers the status that the API server has now. If anything else changed, a watch reports it, and the status is
    /// computed then; whether that is not so.
    fn set_object(&mut self, key: &StatusKey, object: Value) -> bool {
        let known = match key {
            StatusKey::Template(name) => self.templates.get_mut(name).map(|state| &mut state.object),
            StatusKey::Constraint(kind, name) => {
                self.constraints.get_mut(&(kind.clone(), name.clone())).map(|state| &mut state.object)
            }
            StatusKey::Config => self.config.as_mut(),
            StatusKey::SyncSet(name) => self.sync_sets.get_mut(name),
            StatusKey::Expansion(name) => self.expansions.get_mut(name).map(|state| &mut state.object),
        };
        match known.filter(|known| is_same(known, &object) && !is_older(&object, known)) {
            Some(known) => {
                *known = object;
                true
            }
            None => false,
        }
    }

    /// Finds entries of pods that are gone, and has them removed.
    pub(super) async fn find_gone_pods(&mut self) {
        let templates = self.templates.iter().map(|(name, state)| (StatusKey::Template(name.clone()), &state.object));
        let constraints = self.constraints.iter();
        let constraints =
            constraints.map(|((kind, name), state)| (StatusKey::Constraint(kind.clone(), name.clone()), &state.object));
        let config = self.config.iter().map(|config| (StatusKey::Config, config));
        let sync_sets = self.sync_sets.iter().map(|(name, object)| (StatusKey::SyncSet(name.clone()), object));
        let expansions =
            self.expansions.iter().map(|(name, state)| (StatusKey::Expansion(name.clone()), &state.object));
        let entries: Vec<(StatusKey, String)> = templates
            .chain(constraints)
            .chain(config)
            .chain(sync_sets)
            .chain(expansions)
            .flat_map(|(key, object)| reporting_pods(object).map(move |id| (key.clone(), id.to_owned())))
            .filter(|(_, id)| *id != self.settings.reporter.id)
            .collect();
        if entries.is_empty() {
            return;
        }
        // Pods are listed after the entries were seen, so that a pod that just started is not taken for one that is gone.
        let mut pods = BTreeSet::new();
        let mut token = None;
        loop {
            let namespace = Some(self.settings.namespace.as_str());
            match self.cluster.list(&kinds::pods(), namespace, None, token.as_deref()).await {
                Ok(page) => {
                    pods.extend(page.items.iter().map(|pod| place(pod).1));
                    token = page.next;
                }
                Err(error) => return tracing::warn!(%error, "cannot find out which pods are gone"),
            }
            if token.is_none() {
                break;
            }
        }
        self.gone = entries.iter().map(|(_, id)| id).filter(|id| !pods.contains(*id)).cloned().collect();
        let due = entries.into_iter().filter(|(_, id)| self.gone.contains(id)).map(|(key, _)| key);
        self.due.extend(due.collect::<Vec<_>>());
    }
}
