//! HTTP requests to the webhook: which of them are read, and how they are answered.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use hyper::body::{Body as _, Incoming};
use hyper::header::{CONNECTION, CONTENT_TYPE, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use tokio::sync::{Semaphore, SemaphorePermit, watch};
use tokio::time::Instant;

use super::namespaces::Namespaces;
use super::review::{AdmissionRequest, AdmissionResponse, BodyError};
use super::{ADMIT, ADMIT_LABEL, AdmissionParts, AdmissionSettings, MAX_BODIES_BYTES, MAX_BODY_BYTES, ignore_label};

/// The unit in which the memory of requests is counted.
const KIB: u64 = 1 << 10;

/// What requests are answered with.
pub(super) struct Handler {
    pub(super) settings: AdmissionSettings,
    pub(super) parts: AdmissionParts,
    pub(super) namespaces: Namespaces,
    /// The memory for bodies, in KiB.
    bodies: Semaphore,
    /// Whether connections are to be closed after an answer, so that clients turn to other replicas.
    draining: watch::Sender<bool>,
}

/// An answer to a request.
pub(super) type Answer = Response<Full<Bytes>>;

impl Handler {
    pub(super) fn new(settings: AdmissionSettings, parts: AdmissionParts) -> Self {
        let namespaces = Namespaces::watch(parts.cluster.clone());
        let room = usize::try_from(MAX_BODIES_BYTES / KIB).unwrap_or(Semaphore::MAX_PERMITS);
        Handler { settings, parts, namespaces, bodies: Semaphore::new(room), draining: watch::Sender::new(false) }
    }

    /// Closes connections after their next answer from now on.
    pub(super) fn drain(&self) {
        self.draining.send_replace(true);
    }

    /// Answers a request.
    pub(super) async fn answer(self: Arc<Self>, request: Request<Incoming>) -> Result<Answer, Infallible> {
        let mut answer = self.route(request).await;
        if *self.draining.borrow() {
            answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        Ok(answer)
    }

    async fn route(&self, request: Request<Incoming>) -> Answer {
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
        let (body, _room) = match self.read(request.into_body(), deadline).await {
            Ok(read) => read,
            Err(answer) => return answer,
        };
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

    /// Reads a body, once there is memory for it.
    async fn read(&self, body: Incoming, deadline: Instant) -> Result<(Bytes, SemaphorePermit<'_>), Answer> {
        let too_large = || plain(StatusCode::PAYLOAD_TOO_LARGE, format!("at most {MAX_BODY_BYTES} bytes are read\n"));
        let too_late = || plain(StatusCode::GATEWAY_TIMEOUT, "the request was not read before its deadline\n");
        let bytes = body.size_hint().upper().unwrap_or(MAX_BODY_BYTES);
        if bytes > MAX_BODY_BYTES {
            return Err(too_large());
        }
        let room = u32::try_from(bytes / KIB).unwrap_or(u32::MAX).saturating_add(1);
        let room = tokio::time::timeout_at(deadline, self.bodies.acquire_many(room)).await;
        let Ok(Ok(room)) = room else { return Err(too_late()) };
        let limit = usize::try_from(MAX_BODY_BYTES).unwrap_or(usize::MAX);
        match tokio::time::timeout_at(deadline, Limited::new(body, limit).collect()).await {
            Ok(Ok(collected)) => Ok((collected.to_bytes(), room)),
            Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_large()),
            Ok(Err(error)) => Err(plain(StatusCode::BAD_REQUEST, format!("the body cannot be read: {error}\n"))),
            Err(_) => Err(too_late()),
        }
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
