//! `AdmissionReview` objects, in `v1` and `v1beta1`: what the API server asks, and what it is answered.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value, json};

/// What the API server asks.
#[derive(Debug, Clone)]
pub(super) struct AdmissionRequest {
    /// `v1` or `v1beta1`; the answer has the same.
    pub(super) api_version: String,
    /// The request.
    pub(super) request: Arc<Value>,
}

/// Why a body is not answered by a review.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum BodyError {
    /// It is not a review: the answer cannot be one either.
    NotAReview(String),
    /// It is a review that is refused.
    Refused {
        /// Of the answer.
        api_version: String,
        /// Of the request.
        uid: String,
        /// Why.
        message: String,
    },
}

/// As much of a review as is needed to refuse it, however deep its objects are.
#[derive(Deserialize)]
struct Envelope {
    #[serde(rename = "apiVersion")]
    api_version: String,
    request: EnvelopeRequest,
}

#[derive(Deserialize)]
struct EnvelopeRequest {
    uid: String,
}

impl AdmissionRequest {
    /// Reads a body.
    pub(super) fn read(body: &[u8]) -> Result<Self, BodyError> {
        let not_a_review = |why: String| BodyError::NotAReview(format!("the body is not an AdmissionReview: {why}"));
        let mut review: Value = match serde_json::from_slice(body) {
            Ok(review) => review,
            Err(error) => {
                // An object that cannot be read must not pass because nobody answers for it.
                let Ok(envelope) = serde_json::from_slice::<Envelope>(body) else {
                    return Err(not_a_review(error.to_string()));
                };
                let message = format!("the object cannot be reviewed: {error}");
                let (api_version, uid) = (envelope.api_version, envelope.request.uid);
                return Err(BodyError::Refused { api_version, uid, message });
            }
        };
        let api_version = review["apiVersion"].as_str().unwrap_or_default().to_owned();
        if !matches!(api_version.as_str(), "admission.k8s.io/v1" | "admission.k8s.io/v1beta1") {
            return Err(not_a_review(format!("apiVersion is {api_version:?}")));
        }
        let request = review["request"].take();
        if !request.is_object() {
            return Err(not_a_review("it has no request".to_owned()));
        }
        Ok(AdmissionRequest { api_version, request: Arc::new(request) })
    }

    /// A text of the request; empty if it has none.
    pub(super) fn text(&self, path: &str) -> &str {
        self.request.pointer(path).and_then(Value::as_str).unwrap_or_default()
    }

    /// The object, or the one that is deleted.
    pub(super) fn object(&self) -> Option<&Value> {
        let field = |name: &str| self.request.get(name).filter(|value| !value.is_null());
        if self.is_delete() { field("oldObject") } else { field("object") }
    }

    /// Whether something is deleted.
    pub(super) fn is_delete(&self) -> bool {
        self.text("/operation") == "DELETE"
    }

    /// Whether it is about a namespace.
    pub(super) fn is_namespace(&self) -> bool {
        self.text("/kind/group").is_empty() && self.text("/kind/kind") == "Namespace"
    }

    /// The name of the object, which is in the object only if the API server makes it up.
    pub(super) fn name(&self) -> &str {
        let own = || self.object().and_then(|object| object.pointer("/metadata/name")).and_then(Value::as_str);
        match self.text("/name") {
            "" => own().unwrap_or_default(),
            name => name,
        }
    }

    /// The namespace by which the Config may leave the request out: that of the object, or the object itself.
    pub(super) fn namespace_to_exclude(&self) -> &str {
        if self.is_namespace() { self.name() } else { self.text("/namespace") }
    }

    /// Whether nothing is to be changed.
    pub(super) fn is_dry_run(&self) -> bool {
        self.request.get("dryRun").and_then(Value::as_bool).unwrap_or_default()
    }

    /// The request as it is reviewed: requests about namespaces have no namespace, however they were made.
    pub(super) fn reviewed(&self) -> Arc<Value> {
        if !self.is_namespace() || self.text("/namespace").is_empty() {
            return Arc::clone(&self.request);
        }
        let mut request = Value::clone(&self.request);
        if let Some(fields) = request.as_object_mut() {
            fields.remove("namespace");
        }
        Arc::new(request)
    }
}

/// What the API server is answered.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct AdmissionResponse {
    pub(super) allowed: bool,
    /// The code that a client gets if the request is not allowed.
    pub(super) code: u16,
    pub(super) message: String,
    /// Whether the reason is given as `Forbidden`.
    pub(super) is_forbidden: bool,
    /// Shown to whoever made the request.
    pub(super) warnings: Vec<String>,
}

impl AdmissionResponse {
    /// Lets a request through.
    pub(super) fn allowed(message: impl Into<String>) -> Self {
        AdmissionResponse { allowed: true, code: 200, message: message.into(), ..AdmissionResponse::default() }
    }

    /// Denies a request.
    pub(super) fn denied(message: impl Into<String>) -> Self {
        AdmissionResponse { code: 403, message: message.into(), is_forbidden: true, ..AdmissionResponse::default() }
    }

    /// Refuses a request that is wrong, or cannot be decided.
    pub(super) fn errored(code: u16, message: impl Into<String>) -> Self {
        AdmissionResponse { code, message: message.into(), ..AdmissionResponse::default() }
    }

    /// The body of the answer.
    pub(super) fn body(&self, api_version: &str, uid: &str) -> Vec<u8> {
        let mut status = Map::new();
        status.insert("code".to_owned(), json!(self.code));
        if !self.message.is_empty() {
            status.insert("message".to_owned(), json!(self.message));
        }
        if self.is_forbidden {
            status.insert("reason".to_owned(), json!("Forbidden"));
        }
        let mut response = json!({"uid": uid, "allowed": self.allowed, "status": status});
        if !self.warnings.is_empty() {
            response["warnings"] = json!(self.warnings);
        }
        json!({"apiVersion": api_version, "kind": "AdmissionReview", "response": response}).to_string().into_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(review: &Value) -> Vec<u8> {
        review.to_string().into_bytes()
    }

    #[test]
    fn both_versions_are_read_and_answered_in_kind() {
        for version in ["admission.k8s.io/v1", "admission.k8s.io/v1beta1"] {
            let review =
                json!({"apiVersion": version, "kind": "AdmissionReview", "request": {"uid": "u", "name": "web"}});
            let request = AdmissionRequest::read(&body(&review)).unwrap();
            let answer = AdmissionResponse::denied("no").body(&request.api_version, request.text("/uid"));
            let answer: Value = serde_json::from_slice(&answer).unwrap();
            assert_eq!(
                answer,
                json!({
                    "apiVersion": version, "kind": "AdmissionReview",
                    "response": {
                        "uid": "u", "allowed": false,
                        "status": {"code": 403, "reason": "Forbidden", "message": "no"},
                    },
                })
            );
        }
    }

    #[test]
    fn what_is_no_review_is_named() {
        for (body, wanted) in [
            (&b"{"[..], "EOF"),
            (b"[]", "apiVersion is \"\""),
            (b"{\"apiVersion\": \"admission.k8s.io/v2\", \"request\": {}}", "apiVersion is \"admission.k8s.io/v2\""),
            (b"{\"apiVersion\": \"admission.k8s.io/v1\"}", "it has no request"),
        ] {
            let Err(BodyError::NotAReview(message)) = AdmissionRequest::read(body) else { panic!("read") };
            assert!(message.contains(wanted), "{message}");
        }
    }

    /// If it were not answered, the API server might let it pass.
    #[test]
    fn an_object_that_is_too_deep_is_refused_by_a_review() {
        let deep = format!("{}1{}", "[".repeat(5_000), "]".repeat(5_000));
        let text = format!(
            "{{\"apiVersion\": \"admission.k8s.io/v1\", \"request\": {{\"object\": {deep}, \"uid\": \"u7\", \"name\": \"x\"}}}}"
        );
        let Err(BodyError::Refused { api_version, uid, message }) = AdmissionRequest::read(text.as_bytes()) else {
            panic!("not refused")
        };
        assert_eq!((api_version.as_str(), uid.as_str()), ("admission.k8s.io/v1", "u7"));
        assert!(message.contains("recursion limit exceeded"), "{message}");
    }

    #[test]
    fn a_namespace_is_not_in_a_namespace() {
        let request = |kind: &str| AdmissionRequest {
            api_version: String::new(),
            request: Arc::new(json!({"kind": {"group": "", "version": "v1", "kind": kind}, "namespace": "shop"})),
        };
        assert_eq!(request("Namespace").reviewed().get("namespace"), None);
        assert_eq!(request("Pod").reviewed()["namespace"], "shop");
    }
}
