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

/// What can be asked how it is.
pub trait Probed: Send + Sync + 'static {
    /// Why it is not ready; nothing if it is.
    fn not_ready(&self) -> Option<String>;

    /// Its metrics, as `OpenMetrics` has them.
    fn metrics_text(&self) -> String;
}

impl Probed for Service {
    fn not_ready(&self) -> Option<String> {
        (!self.is_ready()).then(|| "there is no graph to serve yet".to_owned())
    }

    fn metrics_text(&self) -> String {
        self.metrics().text()
    }
}

/// The probes and the metrics of a service.
#[derive(Debug)]
pub struct Status<P> {
    probed: Arc<P>,
    draining: AtomicBool,
}

impl<P: Probed> Status<P> {
    /// The status of a service.
    pub fn new(probed: Arc<P>) -> Self {
        Status { probed, draining: AtomicBool::new(false) }
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
            "/readyz" => match self.probed.not_ready() {
                None => text(StatusCode::OK, TEXT, "ok\n".to_owned()),
                Some(why) => text(StatusCode::SERVICE_UNAVAILABLE, TEXT, format!("{why}\n")),
            },
            "/metrics" => text(StatusCode::OK, METRICS, self.probed.metrics_text()),
            _ => text(StatusCode::NOT_FOUND, TEXT, "there are /livez, /readyz and /metrics\n".to_owned()),
        }
    }
}

impl<P: Probed> Respond for Status<P> {
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
