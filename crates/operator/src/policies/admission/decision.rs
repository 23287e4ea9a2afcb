//! Decides about requests to `/v1/admit`, in the order of Gatekeeper: our own user, Gatekeeper's own kinds, namespaces that
//! the Config leaves out, and then the policies.

use std::time::Instant;

use clearway_policy::sort_results;
use serde_json::Value;

use super::super::events::Occasion;
use super::super::log_lines::{self, LineLevel, WEBHOOK};
use super::super::metrics::AdmissionStatus;
use super::handler::Handler;
use super::messages::{self, Messages};
use super::own_resources::OwnResources;
use super::review::{AdmissionRequest, AdmissionResponse};

impl Handler {
    /// Decides about a request before a deadline.
    pub(super) async fn decide(&self, request: &AdmissionRequest, deadline: tokio::time::Instant) -> AdmissionResponse {
        let started = Instant::now();
        if request.text("/userInfo/username") == self.settings.own_user {
            return AdmissionResponse::allowed("Gatekeeper does not self-manage");
        }
        if request.is_delete() && request.object().is_none() {
            let denied = AdmissionResponse::denied("oldObject cannot be nil for DELETE operations");
            return AdmissionResponse { code: 500, ..denied };
        }
        let own = OwnResources {
            evaluators: &self.parts.evaluators,
            cluster: &self.parts.cluster,
            reject_unknown_actions: self.settings.reject_unknown_actions,
        };
        let warnings = match own.check(request, deadline).await {
            Ok(warnings) => warnings,
            Err(refused) => return refused,
        };
        let (status, mut response) = if self.is_excluded(request) {
            let message = "Namespace is set to be ignored by Gatekeeper config";
            (AdmissionStatus::Allow, AdmissionResponse::allowed(message))
        } else {
            self.review(request, deadline).await
        };
        if !warnings.is_empty() {
            response.warnings = warnings.into_iter().chain(response.warnings).collect();
            if response.allowed {
                response.code = WARNING;
            }
        }
        self.parts.metrics.count_request(status, request.is_dry_run(), started.elapsed());
        response
    }

    /// Whether the Config leaves out the namespace of an object, or the object if it is a namespace.
    fn is_excluded(&self, request: &AdmissionRequest) -> bool {
        self.parts.exemptions.borrow().excluded.excludes_namespace(request.namespace_to_exclude())
    }

    async fn review(
        &self,
        request: &AdmissionRequest,
        deadline: tokio::time::Instant,
    ) -> (AdmissionStatus, AdmissionResponse) {
        let failed = |message: String| {
            tracing::error!("error executing query: {message}");
            (AdmissionStatus::Error, AdmissionResponse::errored(500, message))
        };
        let reviewed = request.reviewed();
        let namespace = match reviewed.get("namespace").and_then(Value::as_str).filter(|name| !name.is_empty()) {
            Some(name) => match tokio::time::timeout_at(deadline, self.namespaces.get(name)).await {
                Ok(Ok(namespace)) => Some(namespace),
                Ok(Err(error)) => return failed(format!("failed to create augmentedReview: {error}")),
                Err(_) => {
                    return failed(format!("namespace {name} could not be read before the deadline of the request"));
                }
            },
            None => None,
        };
        let mut results = match self.parts.evaluators.review_request(reviewed, namespace, deadline).await {
            Ok(results) => results,
            Err(error) => return failed(error.to_string()),
        };
        sort_results(&mut results);
        if self.settings.log_denies {
            for line in results.iter().filter_map(|result| messages::line(request, result)) {
                log_lines::write(LineLevel::Info, WEBHOOK, &line);
            }
        }
        // A request that changes nothing leaves nothing behind either.
        if let Some(events) = self.parts.events.as_ref().filter(|_| !request.is_dry_run()) {
            for result in &results {
                let Some(line) = messages::line(request, result) else { continue };
                for occasion in messages::actions(result).into_iter().filter_map(Occasion::of_action) {
                    events.record(occasion, &result.message, &line);
                }
            }
        }
        let Messages { denials, warnings } = Messages::of(&results);
        if denials.is_empty() {
            let code = if warnings.is_empty() { 200 } else { WARNING };
            let allowed = AdmissionResponse { code, warnings, ..AdmissionResponse::allowed("") };
            return (AdmissionStatus::Allow, allowed);
        }
        let denied = AdmissionResponse { warnings, ..AdmissionResponse::denied(denials.join("\n")) };
        (AdmissionStatus::Deny, denied)
    }
}

/// The code of an answer that has warnings.
const WARNING: u16 = 299;
