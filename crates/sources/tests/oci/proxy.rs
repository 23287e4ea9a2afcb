//! A proxy in front of the real registry that counts what it is asked, and plays what the real one cannot: errors, cut
//! bodies, silence, pages and logins.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use futures::stream::{self, StreamExt as _};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Empty, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::header::CONTENT_LENGTH;
use hyper::service::service_fn;
use hyper::{HeaderMap, Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

/// How a body comes byte by byte: faster than any silence that a reader gives up on.
const TRICKLE: Duration = Duration::from_millis(10);

type Body = BoxBody<Bytes, std::io::Error>;

/// What was asked.
pub(crate) struct Asked {
    /// How many requests came before.
    pub(crate) number: usize,
    /// Method and path with query: `GET /v2/…`.
    pub(crate) line: String,
    /// How often the same was asked before.
    pub(crate) before: usize,
    pub(crate) headers: HeaderMap,
}

/// What the proxy does about it.
#[derive(Clone)]
pub(crate) enum Answer {
    /// Hands it on.
    Pass,
    /// Answers itself.
    Say(StatusCode, Vec<(&'static str, String)>, Vec<u8>),
    /// Hands it on, and breaks off in the middle of the answer.
    Cut,
    /// Hands it on, and falls silent in the middle of the answer.
    Hang,
    /// Never answers.
    Stall,
    /// Answers with a status, and a body that comes byte by byte and has no end.
    Trickle(StatusCode),
}

pub(crate) fn status(code: u16) -> Answer {
    Answer::Say(StatusCode::from_u16(code).unwrap(), Vec::new(), Vec::new())
}

/// How an answer ends that does not come to its end.
enum End {
    Broken,
    Silent,
}

/// Ends when dropped.
pub(crate) struct Proxy {
    host: String,
    lines: Arc<Mutex<Vec<String>>>,
    task: JoinHandle<()>,
}

struct Behind {
    client: reqwest::Client,
    target: String,
    lines: Arc<Mutex<Vec<String>>>,
    script: Box<dyn Fn(&Asked) -> Answer + Send + Sync>,
}

impl Proxy {
    pub(crate) async fn start(target: String, script: impl Fn(&Asked) -> Answer + Send + Sync + 'static) -> Self {
        Self::start_with(target, None, script).await
    }

    pub(crate) async fn start_with(
        target: String,
        tls: Option<TlsAcceptor>,
        script: impl Fn(&Asked) -> Answer + Send + Sync + 'static,
    ) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let host = listener.local_addr().unwrap().to_string();
        let lines = Arc::<Mutex<Vec<String>>>::default();
        let script = Box::new(script);
        let client = reqwest::Client::new();
        let behind = Arc::new(Behind { client, target, lines: Arc::clone(&lines), script });
        let task = tokio::spawn(async move {
            // Connections end with the proxy.
            let mut connections = tokio::task::JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let (behind, tls) = (Arc::clone(&behind), tls.clone());
                connections.spawn(async move {
                    let serve = service_fn(|request| behind.answer(request));
                    let http = hyper::server::conn::http1::Builder::new();
                    // A client that goes away is none of a test's concern.
                    let _ = match tls {
                        None => http.serve_connection(TokioIo::new(stream), serve).await,
                        Some(tls) => match tls.accept(stream).await {
                            Ok(stream) => http.serve_connection(TokioIo::new(stream), serve).await,
                            Err(_) => Ok(()),
                        },
                    };
                });
            }
        });
        Proxy { host, lines, task }
    }

    /// The host as it stands in names of images.
    pub(crate) fn host(&self) -> &str {
        &self.host
    }

    /// What was asked since the last time, sorted.
    pub(crate) fn take(&self) -> Vec<String> {
        let mut lines = std::mem::take(&mut *self.lines.lock().unwrap());
        lines.sort();
        lines
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Behind {
    async fn answer(&self, request: Request<Incoming>) -> Result<Response<Body>, Infallible> {
        let line = format!("{} {}", request.method(), request.uri());
        let asked = {
            let mut lines = self.lines.lock().unwrap();
            let before = lines.iter().filter(|known| **known == line).count();
            lines.push(line.clone());
            Asked { number: lines.len() - 1, line, before, headers: request.headers().clone() }
        };
        Ok(match (self.script)(&asked) {
            Answer::Pass => self.pass(&request, None).await,
            Answer::Cut => self.pass(&request, Some(End::Broken)).await,
            Answer::Hang => self.pass(&request, Some(End::Silent)).await,
            Answer::Stall => std::future::pending().await,
            Answer::Trickle(status) => {
                let bytes = stream::unfold((), |()| async {
                    tokio::time::sleep(TRICKLE).await;
                    Some((Ok(Frame::data(Bytes::from_static(b" "))), ()))
                });
                Response::builder().status(status).body(BoxBody::new(StreamBody::new(bytes))).unwrap()
            }
            Answer::Say(status, headers, body) => {
                let mut response = Response::builder().status(status);
                for (name, value) in headers {
                    response = response.header(name, value);
                }
                response.body(Full::new(Bytes::from(body)).map_err(|never| match never {}).boxed()).unwrap()
            }
        })
    }

    async fn pass(&self, request: &Request<Incoming>, end: Option<End>) -> Response<Body> {
        let url = format!("{}{}", self.target, request.uri());
        let mut headers = request.headers().clone();
        headers.remove("host");
        headers.remove("authorization");
        let answer = self.client.request(request.method().clone(), url).headers(headers).send().await.unwrap();
        let (status, headers) = (answer.status(), answer.headers().clone());
        let is_head = request.method() == Method::HEAD;
        let body = answer.bytes().await.unwrap();
        let mut response = Response::builder().status(status);
        for (name, value) in &headers {
            if name != "transfer-encoding" && (name != CONTENT_LENGTH || is_head) {
                response = response.header(name, value);
            }
        }
        if is_head {
            return response.body(Empty::new().map_err(|never| match never {}).boxed()).unwrap();
        }
        let Some(end) = end else {
            return response.body(Full::new(body).map_err(|never| match never {}).boxed()).unwrap();
        };
        let half = stream::iter([Ok(Frame::data(body.slice(..body.len() / 2)))]);
        let response = response.header(CONTENT_LENGTH, body.len());
        match end {
            End::Broken => {
                let broken = stream::iter([Err(std::io::Error::other("cut"))]);
                response.body(BoxBody::new(StreamBody::new(half.chain(broken)))).unwrap()
            }
            End::Silent => response.body(BoxBody::new(StreamBody::new(half.chain(stream::pending())))).unwrap(),
        }
    }
}
