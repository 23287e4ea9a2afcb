//! Requests to the API server as a client makes them, with the warnings that `kubectl` shows.

use clearway_testbed::{IN_TIME, wait_until};
use kube::Client;
use kube::client::Body;
use serde_json::Value;

use super::lab::Lab;

/// What a client is answered.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) code: u16,
    pub(crate) message: String,
    pub(crate) reason: String,
    /// The texts of the headers `Warning`.
    pub(crate) warnings: Vec<String>,
}

/// Creates an object.
pub(crate) async fn create(lab: &Lab, object: &Value) -> Answer {
    post(&lab.client, object, "").await
}

/// Asks what would become of an object if it were created.
pub(crate) async fn try_create(lab: &Lab, object: &Value) -> Answer {
    post(&lab.client, object, "?dryRun=All").await
}

async fn post(client: &Client, object: &Value, query: &str) -> Answer {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (api_version, kind) = (text(&object["apiVersion"]), text(&object["kind"]).to_lowercase());
    let base = if api_version.contains('/') { "/apis" } else { "/api" };
    let scope = match object["metadata"]["namespace"].as_str() {
        Some(namespace) => format!("/namespaces/{namespace}"),
        None => String::new(),
    };
    // Constraints and expansion templates have a plural like their singular.
    let is_same = api_version.starts_with("constraints.") || kind == "expansiontemplate";
    let plural = if is_same { kind } else { format!("{kind}s") };
    let request = http::Request::post(format!("{base}/{api_version}{scope}/{plural}{query}"))
        .header("Content-Type", "application/json")
        .body(Body::from(object.to_string().into_bytes()))
        .unwrap();
    let answer = client.send(request).await.unwrap();
    let code = answer.status().as_u16();
    // 299 - "text", with quotes escaped.
    let warning = |value: &http::HeaderValue| {
        let text = value.to_str().unwrap_or_default();
        let text = text.split_once('"').map_or(text, |(_, rest)| rest);
        text.strip_suffix('"').unwrap_or(text).replace("\\\"", "\"")
    };
    let warnings = answer.headers().get_all("warning").iter().map(warning).collect();
    let body = answer.into_body().collect_bytes().await.unwrap();
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    Answer { code, message: text(&body["message"]), reason: text(&body["reason"]), warnings }
}

/// Waits until creating an object is denied with a message: the API server learns of webhooks and namespaces late, and the
/// operator of templates. Until then it only asks, so that no object is left behind.
pub(crate) async fn expect_denied(lab: &Lab, object: &Value, message: &str) {
    let mut last = String::new();
    let mut is_denied = |answer: Answer| {
        last = format!("{answer:?}");
        answer.code == 403 && answer.message.ends_with(message)
    };
    let denied = async || is_denied(try_create(lab, object).await) && is_denied(create(lab, object).await);
    let waited = wait_until(IN_TIME, &format!("it is denied: {message}"), denied).await;
    waited.unwrap_or_else(|error| panic!("{error}; last: {last}"));
}
