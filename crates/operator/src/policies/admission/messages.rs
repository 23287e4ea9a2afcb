//! What a client reads about violations, in Gatekeeper's form and order, and the log line about each (P6).

use clearway_policy::audit::SemanticLine;
use clearway_policy::{EnforcementAction, ReviewResult};
use serde_json::{Value, json};

use super::review::AdmissionRequest;

/// Messages that deny a request, and messages that warn.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Messages {
    pub(super) denials: Vec<String>,
    pub(super) warnings: Vec<String>,
}

/// The actions of a result that are known; others have no effect (P3).
pub(super) fn actions(result: &ReviewResult) -> Vec<&str> {
    match &result.action {
        EnforcementAction::Scoped => {
            let scoped = result.scoped_actions.iter().map(String::as_str);
            scoped.filter(|action| EnforcementAction::of(action).is_known()).collect()
        }
        EnforcementAction::Unknown(_) => Vec::new(),
        known => vec![known.as_str()],
    }
}

impl Messages {
    /// The messages of results.
    pub(super) fn of(results: &[ReviewResult]) -> Self {
        let mut messages = Messages::default();
        for result in results {
            for action in actions(result) {
                let message = format!("[{}] {}", result.name, result.message);
                match action {
                    "deny" => messages.denials.push(message),
                    "warn" => messages.warnings.push(message),
                    _ => {}
                }
            }
        }
        messages
    }
}

/// The log line about a violation; nothing if it has no effect.
pub(super) fn line(request: &AdmissionRequest, result: &ReviewResult) -> Option<SemanticLine> {
    let actions = actions(result);
    if actions.is_empty() {
        return None;
    }
    let scoped = if result.action == EnforcementAction::Scoped { json!(actions) } else { json!([]) };
    let message = format!("denied admission: {}", result.message);
    let line = SemanticLine::new("violation", "admission", message)
        .with("hookType", json!("validation"))
        .with("details", result.details.clone().unwrap_or(Value::Null))
        .with("constraint_name", json!(result.name))
        .with("constraint_group", json!("constraints.gatekeeper.sh"))
        .with("constraint_api_version", json!("v1beta1"))
        .with("constraint_kind", json!(result.kind))
        .with("constraint_action", json!(result.action.as_str()))
        .with("constraint_enforcement_actions", scoped)
        .with("resource_group", json!(request.text("/kind/group")))
        .with("resource_api_version", json!(request.text("/kind/version")))
        .with("resource_kind", json!(request.text("/kind/kind")))
        .with("resource_namespace", json!(request.text("/namespace")))
        .with("resource_name", json!(request.name()))
        .with("request_username", json!(request.text("/userInfo/username")));
    Some(line)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn result(name: &str, action: &str, scoped: &[&str], message: &str) -> ReviewResult {
        ReviewResult {
            kind: "K8sRequiredLabels".to_owned(),
            name: name.to_owned(),
            message: message.to_owned(),
            details: Some(json!({"missing": ["owner"]})),
            action: EnforcementAction::of(action),
            scoped_actions: scoped.iter().map(|&action| action.to_owned()).collect(),
        }
    }

    #[test]
    fn messages_have_the_form_and_order_of_gatekeeper() {
        let mut results = vec![
            result("w", "warn", &[], "warned"),
            result("s", "scoped", &["deny", "shout", "warn"], "scoped"),
            result("d2", "deny", &[], "zz"),
            result("d1", "deny", &[], "aa"),
            result("r", "dryrun", &[], "recorded"),
            result("u", "shout", &[], "ignored"),
        ];
        clearway_policy::sort_results(&mut results);
        assert_eq!(
            Messages::of(&results),
            Messages {
                denials: vec!["[d1] aa".to_owned(), "[d2] zz".to_owned(), "[s] scoped".to_owned()],
                warnings: vec!["[s] scoped".to_owned(), "[w] warned".to_owned()],
            }
        );
    }

    /// P6: programs read this line.
    #[test]
    fn violation_has_the_keys_of_gatekeeper() {
        let request = AdmissionRequest {
            api_version: "admission.k8s.io/v1".to_owned(),
            request: Arc::new(json!({
                "kind": {"group": "apps", "version": "v1", "kind": "Deployment"}, "namespace": "shop",
                "operation": "CREATE", "userInfo": {"username": "ann"}, "object": {"metadata": {"name": "web"}},
            })),
        };
        let line = line(&request, &result("owner", "scoped", &["warn", "shout"], "no owner")).unwrap();
        assert_eq!(line.message, "denied admission: no owner");
        assert_eq!(
            Value::Object(line.fields),
            json!({
                "event_type": "violation", "process": "admission", "hookType": "validation", "semantic": true,
                "details": {"missing": ["owner"]},
                "constraint_name": "owner", "constraint_group": "constraints.gatekeeper.sh",
                "constraint_api_version": "v1beta1", "constraint_kind": "K8sRequiredLabels",
                "constraint_action": "scoped", "constraint_enforcement_actions": ["warn"],
                "resource_group": "apps", "resource_api_version": "v1", "resource_kind": "Deployment",
                "resource_namespace": "shop", "resource_name": "web", "request_username": "ann",
            })
        );
    }

    #[test]
    fn deny_warn_and_dryrun_have_lines_and_unknown_actions_have_none() {
        let request = AdmissionRequest { api_version: String::new(), request: Arc::new(json!({"name": "web"})) };
        for (action, scoped, has_line) in [
            ("deny", &[][..], true),
            ("warn", &[], true),
            ("dryrun", &[], true),
            ("shout", &[], false),
            ("scoped", &["shout"], false),
        ] {
            let line = line(&request, &result("x", action, scoped, "m"));
            assert_eq!(line.is_some(), has_line, "{action}");
            if let Some(line) = line {
                assert_eq!(line.fields["constraint_enforcement_actions"], json!([]));
            }
        }
    }
}
