//! The other listener: whether the service lives, whether it has something to serve, and its metrics.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use http::header::{ALLOW, CONTENT_TYPE};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use hyper::body::Incoming;

use crate::listen::Respond;
use crate::respond::{Answer, bytes};
use crate::service::Service;

const METRICS: HeaderValue = HeaderValue::from_static("application/openmetrics-text; version=1.0.0; charset=utf-8");
const TEXT: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");

/// The probes and the metrics of a service.
#[derive(Debug)]
pub struct Status {
    service: Arc<Service>,
    draining: AtomicBool,
}

impl Status {
    /// The status of a service.
    pub fn new(service: Arc<Service>) -> Self {
        Status { service, draining: AtomicBool::new(false) }
    }

    /// Says from now on that the service is not ready, so that nobody is sent to it who would come too late.
    pub fn drain(&self) {
        self.draining.store(true, Ordering::Relaxed);
    }

    fn answer(&self, method: &Method, path: &str) -> Answer {
        if method != Method::GET && method != Method::HEAD {
            let mut response = text(StatusCode::METHOD_NOT_ALLOWED, TEXT, String::new());
            response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
            return response;
        }
        match path {
            "/livez" => text(StatusCode::OK, TEXT, "ok\n".to_owned()),
            "/readyz" if self.draining.load(Ordering::Relaxed) => {
                text(StatusCode::SERVICE_UNAVAILABLE, TEXT, "shutting down\n".to_owned())
            }
            "/readyz" if self.service.is_ready() => text(StatusCode::OK, TEXT, "ok\n".to_owned()),
            "/readyz" => text(StatusCode::SERVICE_UNAVAILABLE, TEXT, "there is no graph to serve yet\n".to_owned()),
            "/metrics" => text(StatusCode::OK, METRICS, self.service.metrics().text()),
            _ => text(StatusCode::NOT_FOUND, TEXT, "there are /livez, /readyz and /metrics\n".to_owned()),
        }
    }
}

impl Respond for Status {
    async fn respond(&self, request: Request<Incoming>) -> Answer {
        self.answer(request.method(), request.uri().path())
    }
}

fn text(status: StatusCode, content_type: HeaderValue, content: String) -> Answer {
    let mut response = Response::new(bytes(content));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, content_type);
    response
}
