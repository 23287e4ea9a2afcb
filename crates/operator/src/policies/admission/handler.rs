//! HTTP requests to the webhook: which of them are read, and how they are answered.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::{CONNECTION, CONTENT_TYPE, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use tokio::sync::watch;
use tokio::time::Instant;

use super::body::{Bodies, BodyFailure, Patience, ReadBody};
use super::namespaces::Namespaces;
use super::review::{AdmissionRequest, AdmissionResponse, BodyError};
use super::server::{Connection, RequestHandler};
use super::{ADMIT, ADMIT_LABEL, AdmissionParts, AdmissionSettings, MAX_BODY_BYTES, ignore_label};

/// What requests are answered with.
pub(super) struct Handler {
    pub(super) settings: AdmissionSettings,
    pub(super) parts: AdmissionParts,
    pub(super) namespaces: Namespaces,
    bodies: Bodies,
    /// Whether connections are to be closed after an answer, so that clients turn to other replicas.
    draining: watch::Sender<bool>,
}

/// An answer to a request.
pub(super) type Answer = Response<Full<Bytes>>;

impl Handler {
    pub(super) fn new(settings: AdmissionSettings, parts: AdmissionParts) -> Self {
        let namespaces = Namespaces::watch(parts.cluster.clone());
        Handler {
            settings,
            parts,
            namespaces,
            bodies: Bodies::new(Patience::default()),
            draining: watch::Sender::new(false),
        }
    }

    async fn route(&self, request: Request<Incoming>, connection: &Connection) -> Answer {
        let path = request.uri().path().to_owned();
        if path != ADMIT && path != ADMIT_LABEL {
            return plain(StatusCode::NOT_FOUND, format!("not found; use {ADMIT} or {ADMIT_LABEL}\n"));
        }
        if request.method() != Method::POST {
            return plain(StatusCode::METHOD_NOT_ALLOWED, "use POST\n");
        }
        let content_type = request.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        if content_type.is_none_or(|value| value.split(';').next() != Some("application/json")) {
            return plain(StatusCode::UNSUPPORTED_MEDIA_TYPE, "use Content-Type: application/json\n");
        }
        let why = self.parts.not_ready.borrow().clone();
        if let (Some(why), true) = (why, path == ADMIT) {
            return plain(StatusCode::SERVICE_UNAVAILABLE, format!("not ready: {why}\n"));
        }
        let deadline = Instant::now() + time_for(request.uri().query(), self.settings.timeout);
        let ReadBody { bytes: body, room: _room } = match self.bodies.read(request.into_body(), deadline).await {
            Ok(read) => read,
            Err(failure) => return not_read(failure),
        };
        connection.works();
        let request = match AdmissionRequest::read(&body) {
            Ok(request) => request,
            Err(BodyError::NotAReview(message)) => return plain(StatusCode::BAD_REQUEST, format!("{message}\n")),
            Err(BodyError::Refused { api_version, uid, message }) => {
                return json(AdmissionResponse::errored(500, message).body(&api_version, &uid));
            }
        };
        drop(body);
        let response = if path == ADMIT {
            self.decide(&request, deadline).await
        } else {
            let exemptions = self.parts.exemptions.borrow().clone();
            ignore_label::decide(&request, &exemptions)
        };
        json(response.body(&request.api_version, request.text("/uid")))
    }
}

impl RequestHandler for Handler {
    fn drain(&self) {
        self.draining.send_replace(true);
    }

    async fn answer(
        self: Arc<Self>,
        request: Request<Incoming>,
        connection: Arc<Connection>,
    ) -> Result<Answer, Infallible> {
        let answer = Box::pin(self.route(request, &connection));
        let mut answer = self.parts.heartbeat.steps_of("a step of an admission request", answer).await;
        if *self.draining.borrow() {
            answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        Ok(answer)
    }
}

fn not_read(failure: BodyFailure) -> Answer {
    match failure {
        BodyFailure::TooLarge => {
            plain(StatusCode::PAYLOAD_TOO_LARGE, format!("at most {MAX_BODY_BYTES} bytes are read\n"))
        }
        BodyFailure::Stalled => plain(StatusCode::REQUEST_TIMEOUT, "the rest of the request did not arrive\n"),
        BodyFailure::TooLate => plain(StatusCode::GATEWAY_TIMEOUT, "the request was not read before its deadline\n"),
        BodyFailure::NoRoom => {
            plain(StatusCode::SERVICE_UNAVAILABLE, "there was no memory for the request; other requests have it\n")
        }
        BodyFailure::Broken(error) => plain(StatusCode::BAD_REQUEST, format!("the body cannot be read: {error}\n")),
    }
}

/// How long the answer may take: what the API server says in `timeout`, less what the answer needs to arrive.
fn time_for(query: Option<&str>, default: Duration) -> Duration {
    let value = query.unwrap_or_default().split('&').find_map(|pair| pair.strip_prefix("timeout="));
    let seconds = value.and_then(|value| value.strip_suffix('s')).and_then(|seconds| seconds.parse::<u64>().ok());
    let time = seconds.map_or(default, |seconds| Duration::from_secs(seconds.clamp(1, 30)));
    time.saturating_sub((time / 10).min(Duration::from_millis(200)))
}

fn plain(status: StatusCode, text: impl Into<String>) -> Answer {
    with(status, "text/plain; charset=utf-8", text.into().into_bytes())
}

fn json(body: Vec<u8>) -> Answer {
    with(StatusCode::OK, "application/json", body)
}

fn with(status: StatusCode, content_type: &'static str, body: Vec<u8>) -> Answer {
    let mut answer = Response::new(Full::new(Bytes::from(body)));
    *answer.status_mut() = status;
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_api_server_says_how_long_an_answer_may_take() {
        let default = Duration::from_secs(3);
        for (query, milliseconds) in [
            (Some("timeout=10s"), 9_800),
            (Some("a=b&timeout=1s"), 900),
            (Some("timeout=1h"), 2_800),
            (Some("timeout=99s"), 29_800),
            (Some("timeout=0s"), 900),
            (Some(""), 2_800),
            (None, 2_800),
        ] {
            assert_eq!(time_for(query, default), Duration::from_millis(milliseconds), "{query:?}");
        }
    }
}
