//! Which namespaces may have the label that switches reviews off.

use serde_json::Value;

use super::super::excluded_namespaces::Exemptions;
use super::IGNORE_LABEL;
use super::review::{AdmissionRequest, AdmissionResponse};

/// Decides about a request to `/v1/admitlabel`.
pub(super) fn decide(request: &AdmissionRequest, exemptions: &Exemptions) -> AdmissionResponse {
    if request.is_delete() {
        return AdmissionResponse::allowed("Delete is always allowed");
    }
    if !request.is_namespace() {
        return AdmissionResponse::allowed("Not a namespace");
    }
    let Some(object) = request.object() else {
        return AdmissionResponse { code: 500, ..AdmissionResponse::denied("the request has no object") };
    };
    let name = object.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
    if exemptions.may_be_ignored(name) {
        return AdmissionResponse::allowed(format!("Namespace {name} is allowed to set {IGNORE_LABEL}"));
    }
    let labels = object.pointer("/metadata/labels").and_then(Value::as_object);
    if labels.is_some_and(|labels| labels.contains_key(IGNORE_LABEL)) {
        return AdmissionResponse::denied(format!("Only exempt namespace can have the {IGNORE_LABEL} label"));
    }
    AdmissionResponse::allowed(format!("Namespace is not setting the {IGNORE_LABEL} label"))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;

    /// As in Gatekeeper's table of the same name.
    #[test]
    fn only_exempt_namespaces_may_have_the_label() {
        let exemptions = Exemptions {
            exempt_namespaces: vec!["infra".to_owned()],
            exempt_prefixes: vec!["kube-".to_owned()],
            exempt_suffixes: vec!["-system".to_owned()],
            ..Exemptions::default()
        };
        let labelled = json!({IGNORE_LABEL: "no"});
        for (operation, kind, name, labels, allowed, message) in [
            (
                "CREATE",
                "Namespace",
                "shop",
                &json!({}),
                true,
                "Namespace is not setting the admission.gatekeeper.sh/ignore label",
            ),
            (
                "CREATE",
                "Namespace",
                "shop",
                &labelled,
                false,
                "Only exempt namespace can have the admission.gatekeeper.sh/ignore label",
            ),
            (
                "UPDATE",
                "Namespace",
                "shop",
                &labelled,
                false,
                "Only exempt namespace can have the admission.gatekeeper.sh/ignore label",
            ),
            ("DELETE", "Namespace", "shop", &labelled, true, "Delete is always allowed"),
            ("CREATE", "Pod", "shop", &labelled, true, "Not a namespace"),
            (
                "CREATE",
                "Namespace",
                "infra",
                &labelled,
                true,
                "Namespace infra is allowed to set admission.gatekeeper.sh/ignore",
            ),
            (
                "CREATE",
                "Namespace",
                "infrastructure",
                &labelled,
                false,
                "Only exempt namespace can have the admission.gatekeeper.sh/ignore label",
            ),
            (
                "CREATE",
                "Namespace",
                "kube-x",
                &labelled,
                true,
                "Namespace kube-x is allowed to set admission.gatekeeper.sh/ignore",
            ),
            (
                "CREATE",
                "Namespace",
                "a-system",
                &labelled,
                true,
                "Namespace a-system is allowed to set admission.gatekeeper.sh/ignore",
            ),
        ] {
            let request = AdmissionRequest {
                api_version: "admission.k8s.io/v1".to_owned(),
                request: Arc::new(json!({
                    "operation": operation, "kind": {"group": "", "version": "v1", "kind": kind},
                    "object": {"metadata": {"name": name, "labels": labels}},
                })),
            };
            let answer = decide(&request, &exemptions);
            let code = if allowed { 200 } else { 403 };
            assert_eq!(
                (answer.allowed, answer.code, answer.message.as_str()),
                (allowed, code, message),
                "{operation} {name}"
            );
        }
    }

    #[test]
    fn a_namespace_that_cannot_be_seen_is_refused() {
        let request = AdmissionRequest {
            api_version: "admission.k8s.io/v1".to_owned(),
            request: Arc::new(json!({"operation": "CREATE", "kind": {"group": "", "kind": "Namespace"}})),
        };
        assert_eq!(decide(&request, &Exemptions::default()).code, 500);
    }
}
