//! Checks objects of Gatekeeper's own kinds before they are stored. Gatekeeper compiles templates after it admitted them,
//! and shows errors in their status only; here a template that cannot be loaded is refused, with line and column.

use std::sync::Arc;

use clearway_sources::kubernetes::Cluster;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::super::evaluation::{Change, EvaluatorError, Evaluators, LoadResult};
use super::super::kinds::{self, CONFIG, CONFIG_NAME, CONSTRAINTS, EXPANSIONS, NOT_HANDLED, TEMPLATES};
use super::review::{AdmissionRequest, AdmissionResponse};

/// The most bytes of a name.
const NAME_BYTES: usize = 63;
/// The group of statuses by pod.
const STATUS: &str = "status.gatekeeper.sh";

/// What a check needs.
pub(super) struct OwnResources<'h> {
    pub(super) evaluators: &'h Evaluators,
    pub(super) cluster: &'h Cluster,
    pub(super) reject_unknown_actions: bool,
}

/// Warnings for whoever made the request; an error is the answer.
type Checked = Result<Vec<String>, AdmissionResponse>;

fn is_own(group: &str) -> bool {
    [TEMPLATES, CONSTRAINTS, CONFIG, EXPANSIONS, STATUS].contains(&group)
        || NOT_HANDLED.iter().any(|(not_handled, ..)| *not_handled == group)
}

impl OwnResources<'_> {
    /// Checks a request before a deadline, if it is about one of the kinds.
    pub(super) async fn check(&self, request: &AdmissionRequest, deadline: Instant) -> Checked {
        let (group, kind) = (request.text("/kind/group"), request.text("/kind/kind"));
        // What cannot be loaded can still be deleted.
        if !is_own(group) || request.is_delete() {
            return Ok(Vec::new());
        }
        let name = request.text("/name");
        if name.len() > NAME_BYTES && group != STATUS {
            let message =
                format!("resource cannot have metadata.name larger than {NAME_BYTES} char; length: {}", name.len());
            return Err(AdmissionResponse::errored(500, message));
        }
        let Some(object) = request.object() else { return Ok(Vec::new()) };
        let object = Arc::new(object.clone());
        match (group, kind) {
            (TEMPLATES, "ConstraintTemplate") => {
                let loaded = self
                    .evaluators
                    .check(Change::PutTemplate(object), deadline)
                    .await
                    .map_err(|error| not_checked(&error))?;
                let refused = loaded.refused_constraints.iter();
                let warnings = refused.map(|(name, error)| {
                    format!("the constraint {name} is not enforced with this template: {}", error.message)
                });
                let warnings = warnings.collect();
                unless_refused(&loaded, warnings)
            }
            (CONSTRAINTS, _) => self.check_constraint(kind, object, deadline).await,
            (EXPANSIONS, "ExpansionTemplate") => {
                let loaded = self
                    .evaluators
                    .check(Change::PutExpansion(object), deadline)
                    .await
                    .map_err(|error| not_checked(&error))?;
                unless_refused(&loaded, Vec::new())
            }
            (CONFIG, "Config") if name != CONFIG_NAME => {
                Err(AdmissionResponse::errored(422, "config resource must have name 'config'"))
            }
            _ => Ok(not_handled(group, kind)),
        }
    }

    async fn check_constraint(&self, kind: &str, constraint: Arc<Value>, deadline: Instant) -> Checked {
        // The API server has a template before the watch reports it: a constraint may follow at once.
        let template = async {
            let templates = kinds::templates_like(&json!({}));
            self.cluster.get(&templates, "", &kind.to_lowercase()).await.ok()
        };
        let loaded = self
            .evaluators
            .check_constraint(constraint, template, deadline)
            .await
            .map_err(|error| not_checked(&error))?;
        match loaded.warning.clone() {
            Some(warning) if self.reject_unknown_actions => Err(AdmissionResponse::errored(500, warning)),
            warning => {
                let warnings = warning.map(|warning| format!("the constraint is not enforced: {warning}"));
                unless_refused(&loaded, warnings.into_iter().collect())
            }
        }
    }
}

fn not_checked(error: &EvaluatorError) -> AdmissionResponse {
    AdmissionResponse::errored(500, error.to_string())
}

fn unless_refused(loaded: &LoadResult, warnings: Vec<String>) -> Checked {
    match &loaded.error {
        Some(error) => Err(AdmissionResponse::errored(422, error.message.clone())),
        None => Ok(warnings),
    }
}

fn not_handled(group: &str, kind: &str) -> Vec<String> {
    let found = NOT_HANDLED.iter().filter(|(known, one, _)| *known == group && *one == kind);
    found.map(|(_, kind, means)| format!("Clearway does not handle {kind}: {means}")).collect()
}
