//! What is answered on which listener, and to whom.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::time::Duration;

use clearway_testbed::IN_TIME;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;

use super::*;
use crate::listen::{ListenOptions, Listener};
use crate::metrics::Metrics;

struct Ready;

impl HealthProbe for Ready {
    fn not_live(&self) -> Option<String> {
        None
    }

    fn not_ready(&self) -> Option<String> {
        None
    }

    fn metrics_text(&self) -> String {
        "up 1\n".to_owned()
    }
}

/// Answers with the admission that the token names.
struct Named;

impl MetricsGuard for Named {
    fn admit<'a>(&'a self, token: Option<&'a str>) -> BoxFuture<'a, Admission> {
        Box::pin(async move {
            match token {
                Some("good") => Admission::Admitted,
                Some("known") => Admission::Forbidden,
                Some("many") => Admission::TooMany,
                Some("away") => Admission::Unknown,
                _ => Admission::Unauthenticated,
            }
        })
    }
}

async fn code(status: &Status<Ready>, path: &str, authorization: Option<&'static str>) -> u16 {
    let mut headers = HeaderMap::new();
    headers.extend(authorization.map(|value| (AUTHORIZATION, HeaderValue::from_static(value))));
    status.answer(&Method::GET, path, &headers).await.status().as_u16()
}

#[tokio::test]
async fn a_listener_shows_its_part_and_nothing_else() {
    for (shows, livez, readyz, metrics) in [
        (StatusEndpoints::Everything, 200, 200, 200),
        (StatusEndpoints::Probes, 200, 200, 404),
        (StatusEndpoints::Metrics, 404, 404, 200),
    ] {
        let status = Status::new(Arc::new(Ready)).showing(shows);
        let found = (
            code(&status, "/livez", None).await,
            code(&status, "/readyz", None).await,
            code(&status, "/metrics", None).await,
        );
        assert_eq!(found, (livez, readyz, metrics), "{shows:?}");
        assert_eq!(code(&status, "/", None).await, 404);
    }
}

#[tokio::test]
async fn guarded_metrics_are_for_whom_the_guard_admits_and_probes_for_everybody() {
    let status = Status::new(Arc::new(Ready)).guarded(Some(Box::new(Named)));
    for (authorization, expected) in [
        (None, 401),
        (Some("Bearer good"), 200),
        (Some("bearer  good"), 200),
        (Some("Bearer bad"), 401),
        (Some("Basic good"), 401),
        (Some("good"), 401),
        (Some("Bearer known"), 403),
        (Some("Bearer many"), 429),
        (Some("Bearer away"), 503),
    ] {
        assert_eq!(code(&status, "/metrics", authorization).await, expected, "{authorization:?}");
        assert_eq!(code(&status, "/livez", authorization).await, 200);
    }
    let refused = status.answer(&Method::GET, "/metrics", &HeaderMap::new()).await;
    assert_eq!(refused.headers()[WWW_AUTHENTICATE], "Bearer");
}

/// Stopped working, although it has something to serve.
struct Stuck;

impl HealthProbe for Stuck {
    fn not_live(&self) -> Option<String> {
        Some("no object was looked at for 10m".to_owned())
    }

    fn not_ready(&self) -> Option<String> {
        None
    }

    fn metrics_text(&self) -> String {
        String::new()
    }
}

#[tokio::test]
async fn what_should_be_started_again_says_so_and_why() {
    let status = Status::new(Arc::new(Stuck));
    let answer = status.answer(&Method::GET, "/livez", &HeaderMap::new()).await;
    assert_eq!(answer.status(), StatusCode::SERVICE_UNAVAILABLE);
    let body = http_body_util::BodyExt::collect(answer.into_body()).await.unwrap().to_bytes();
    assert_eq!(body, "no object was looked at for 10m\n");
    // The one says nothing about the other.
    assert_eq!(status.answer(&Method::GET, "/readyz", &HeaderMap::new()).await.status(), StatusCode::OK);
}

async fn connect(from: [u8; 4], to: SocketAddr) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind((Ipv4Addr::from(from), 0).into()).unwrap();
    timeout(IN_TIME, socket.connect(to)).await.unwrap().unwrap()
}

/// Anyone may reach the port of the probes, and a kubelet that is not answered ends the pod.
#[tokio::test]
async fn whoever_fills_the_listener_the_kubelet_is_answered() {
    // Silent clients are not cut by a timeout, so that nothing depends on how fast this machine is.
    let options = ListenOptions { read_timeout: 2 * IN_TIME, ..ListenOptions::for_probes() };
    let socket = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let listener = Listener::start(socket, &Arc::new(Status::new(Arc::new(Ready))), &options, &Metrics::new()).unwrap();
    let mut silent = Vec::new();
    for round in 0..3 {
        for _ in 0..options.connections {
            silent.push(connect([127, 0, 0, 2], listener.address()).await);
        }
        let mut kubelet = connect([127, 0, 0, 1], listener.address()).await;
        kubelet.write_all(b"GET /livez HTTP/1.1\r\nHost: pod\r\n\r\n").await.unwrap();
        let mut answer = String::new();
        timeout(IN_TIME, kubelet.read_to_string(&mut answer)).await.expect("an answer").unwrap();
        assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("connection: close"), "{round}: {answer}");
    }
    drop(silent);
    listener.drain(Duration::ZERO);
}
