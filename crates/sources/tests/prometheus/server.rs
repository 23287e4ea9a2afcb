//! A server on loopback that answers as its script says, with TLS or without.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use futures::stream;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::service::service_fn;
use hyper::{HeaderMap, Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

/// What was asked.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    /// Method and path with query.
    pub(crate) line: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

impl Asked {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }
}

/// What is said to that.
pub(crate) enum Answer {
    Say(u16, Vec<(&'static str, String)>, Vec<u8>),
    /// A body without end.
    Endless,
    /// The head and the beginning of a body, and then nothing.
    Hang,
    /// Nothing.
    Stall,
}

pub(crate) fn say(status: u16, body: &str) -> Answer {
    Answer::Say(status, Vec::new(), body.as_bytes().to_vec())
}

/// An answer of the API with one sample of now.
pub(crate) fn one() -> Answer {
    one_at(clearway_sources::clock::now().as_seconds())
}

/// The same of a time.
pub(crate) fn one_at(time: i64) -> Answer {
    let result = json!([{"metric": {"a": "b"}, "value": [time, "1"]}]);
    let data = json!({"resultType": "vector", "result": result});
    say(200, &json!({"status": "success", "infos": ["mind"], "data": data}).to_string())
}

/// Ends when dropped.
pub(crate) struct Server {
    pub(crate) host: String,
    asked: Arc<Mutex<Vec<Asked>>>,
    task: JoinHandle<()>,
}

impl Server {
    pub(crate) async fn start(script: impl Fn(&Asked) -> Answer + Send + Sync + 'static) -> Self {
        Self::start_with(None, script).await
    }

    pub(crate) async fn start_with(
        tls: Option<TlsAcceptor>,
        script: impl Fn(&Asked) -> Answer + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let host = listener.local_addr().unwrap().to_string();
        let asked = Arc::<Mutex<Vec<Asked>>>::default();
        let (script, heard) = (Arc::new(script), Arc::clone(&asked));
        let task = tokio::spawn(async move {
            // Connections end with the server.
            let mut connections = tokio::task::JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let (script, heard, tls) = (Arc::clone(&script), Arc::clone(&heard), tls.clone());
                connections.spawn(async move {
                    let serve = service_fn(|request| answer(request, &*script, &heard));
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
        Server { host, asked, task }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.host)
    }

    /// What was asked since the last time.
    pub(crate) fn take(&self) -> Vec<Asked> {
        std::mem::take(&mut *self.asked.lock().unwrap())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn answer(
    request: Request<Incoming>,
    script: &(impl Fn(&Asked) -> Answer + Send + Sync),
    heard: &Mutex<Vec<Asked>>,
) -> Result<Response<BoxBody<Bytes, Infallible>>, Infallible> {
    let (parts, body) = request.into_parts();
    let body = body.collect().await.map(|body| body.to_bytes().to_vec()).unwrap_or_default();
    let line = format!("{} {}", parts.method, parts.uri);
    let asked = Asked { line, headers: parts.headers, body: String::from_utf8(body).unwrap() };
    heard.lock().unwrap().push(asked.clone());
    let blanks = || Ok::<_, Infallible>(Frame::data(Bytes::from_static(&[b' '; 8192])));
    let body = match script(&asked) {
        Answer::Stall => std::future::pending().await,
        Answer::Endless => BoxBody::new(StreamBody::new(stream::repeat_with(blanks))),
        Answer::Hang => {
            let first = stream::iter([blanks()]);
            BoxBody::new(StreamBody::new(futures::StreamExt::chain(first, stream::pending())))
        }
        Answer::Say(status, headers, body) => {
            let mut response = Response::builder().status(status);
            for (name, value) in headers {
                response = response.header(name, value);
            }
            return Ok(response.body(Full::new(Bytes::from(body)).boxed()).unwrap());
        }
    };
    Ok(Response::new(body))
}
