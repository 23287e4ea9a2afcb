//! The other listener: whether the service lives, whether it has something to serve, and its metrics.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures::future::BoxFuture;
use http::header::{ALLOW, AUTHORIZATION, CONTENT_TYPE, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use hyper::body::Incoming;

use crate::listen::RequestHandler;
use crate::request::respond::{Answer, bytes};
use crate::service::Service;

const METRICS: HeaderValue = HeaderValue::from_static("application/openmetrics-text; version=1.0.0; charset=utf-8");
const JSON: HeaderValue = HeaderValue::from_static("application/json");
const TEXT: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");

/// What can be asked how it is.
pub trait HealthProbe: Send + Sync + 'static {
    /// Why it should be started again; nothing while it works.
    fn not_live(&self) -> Option<String>;

    /// Why it is not ready; nothing if it is.
    fn not_ready(&self) -> Option<String>;

    /// Its assessments as JSON, with all their proofs, if it makes any.
    fn assessments(&self) -> Option<String> {
        None
    }

    /// Its metrics, as `OpenMetrics` has them.
    fn metrics_text(&self) -> String;
}

impl HealthProbe for Service {
    fn not_live(&self) -> Option<String> {
        // What takes long is made beside what is served; whatever becomes of it, the last good graph is served on.
        None
    }

    fn not_ready(&self) -> Option<String> {
        (!self.is_ready()).then(|| "no graph to serve yet".to_owned())
    }

    fn metrics_text(&self) -> String {
        self.metrics().text()
    }
}

/// What a listener shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatusEndpoints {
    /// `/livez`, `/readyz` and `/metrics`.
    Everything,
    /// `/livez` and `/readyz`.
    Probes,
    /// `/metrics`.
    Metrics,
}

/// What becomes of a request for metrics.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Admission {
    /// It is answered.
    Admitted,
    /// It carries no token, or none that is accepted.
    Unauthenticated,
    /// Whose token it carries may not read them.
    Forbidden,
    /// Too many tokens were tried.
    TooMany,
    /// It cannot be found out at the moment.
    Unknown,
}

/// Decides who may read the metrics.
pub trait MetricsGuard: Send + Sync + 'static {
    /// Whether a request with this bearer token is answered.
    fn admit<'a>(&'a self, token: Option<&'a str>) -> BoxFuture<'a, Admission>;
}

/// The probes and the metrics of a service.
pub struct Status<P> {
    probed: Arc<P>,
    draining: AtomicBool,
    shows: StatusEndpoints,
    guard: Option<Box<dyn MetricsGuard>>,
}

impl<P> fmt::Debug for Status<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Status").field("draining", &self.draining).field("shows", &self.shows).finish_non_exhaustive()
    }
}

impl<P: HealthProbe> Status<P> {
    /// The status of a service: everything, to everybody.
    pub fn new(probed: Arc<P>) -> Self {
        Status { probed, draining: AtomicBool::new(false), shows: StatusEndpoints::Everything, guard: None }
    }

    /// The same, with only a part of it.
    #[must_use]
    pub fn showing(mut self, shows: StatusEndpoints) -> Self {
        self.shows = shows;
        self
    }

    /// The same, with metrics only for whom the guard admits.
    #[must_use]
    pub fn guarded(mut self, guard: Option<Box<dyn MetricsGuard>>) -> Self {
        self.guard = guard;
        self
    }

    /// Says from now on that the service is not ready, so that nobody is sent to it who would come too late.
    pub fn drain(&self) {
        self.draining.store(true, Ordering::Relaxed);
    }

    async fn answer(&self, method: &Method, path: &str, headers: &HeaderMap) -> Answer {
        if method != Method::GET && method != Method::HEAD {
            let mut response = text(StatusCode::METHOD_NOT_ALLOWED, TEXT, String::new());
            response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
            return response;
        }
        let (probes, metrics) = (self.shows != StatusEndpoints::Metrics, self.shows != StatusEndpoints::Probes);
        match path {
            "/livez" if probes => match self.probed.not_live() {
                None => text(StatusCode::OK, TEXT, "ok\n".to_owned()),
                Some(why) => text(StatusCode::SERVICE_UNAVAILABLE, TEXT, format!("{why}\n")),
            },
            "/readyz" if probes && self.draining.load(Ordering::Relaxed) => {
                text(StatusCode::SERVICE_UNAVAILABLE, TEXT, "shutting down\n".to_owned())
            }
            "/readyz" if probes => match self.probed.not_ready() {
                None => text(StatusCode::OK, TEXT, "ok\n".to_owned()),
                Some(why) => text(StatusCode::SERVICE_UNAVAILABLE, TEXT, format!("{why}\n")),
            },
            "/metrics" if metrics => match self.refusal(headers).await {
                None => text(StatusCode::OK, METRICS, self.probed.metrics_text()),
                Some(refusal) => refusal,
            },
            "/assessments" if metrics => match (self.refusal(headers).await, self.probed.assessments()) {
                (Some(refusal), _) => refusal,
                (None, Some(json)) => text(StatusCode::OK, JSON, json),
                (None, None) => text(StatusCode::NOT_FOUND, TEXT, "this service has no assessments\n".to_owned()),
            },
            _ => {
                let there = match self.shows {
                    StatusEndpoints::Everything => "not found; use /livez, /readyz or /metrics\n",
                    StatusEndpoints::Probes => "not found; use /livez or /readyz\n",
                    StatusEndpoints::Metrics => "there is /metrics\n",
                };
                text(StatusCode::NOT_FOUND, TEXT, there.to_owned())
            }
        }
    }

    /// The answer to a request for metrics that is not admitted.
    async fn refusal(&self, headers: &HeaderMap) -> Option<Answer> {
        let guard = self.guard.as_ref()?;
        let (status, why) = match guard.admit(bearer_token(headers)).await {
            Admission::Admitted => return None,
            Admission::Unauthenticated => {
                let why = "send a bearer token that the cluster accepts\n";
                let mut response = text(StatusCode::UNAUTHORIZED, TEXT, why.to_owned());
                response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
                return Some(response);
            }
            Admission::Forbidden => (StatusCode::FORBIDDEN, "the user of this token is not allowed to get /metrics\n"),
            Admission::TooMany => (StatusCode::TOO_MANY_REQUESTS, "too many tokens were tried; wait a minute\n"),
            Admission::Unknown => (StatusCode::SERVICE_UNAVAILABLE, "cannot check this token with the cluster\n"),
        };
        Some(text(status, TEXT, why.to_owned()))
    }
}

/// The token of `Authorization: Bearer TOKEN`; the scheme is written in any case (RFC 9110).
fn bearer_token(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

impl<P: HealthProbe> RequestHandler for Status<P> {
    async fn respond(&self, request: Request<Incoming>) -> Answer {
        self.answer(request.method(), request.uri().path(), request.headers()).await
    }
}

fn text(status: StatusCode, content_type: HeaderValue, content: String) -> Answer {
    let mut response = Response::new(bytes(content));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, content_type);
    response
}

#[cfg(test)]
mod tests;
