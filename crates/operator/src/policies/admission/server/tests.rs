//! Clients that open connections and ask nothing, and who is answered beside them.

use std::net::{Ipv4Addr, SocketAddr};

use clearway_sources::clock;
use clearway_testbed::IN_TIME;
use hyper::Response;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpSocket;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::super::super::certificates::rotation::CertificateSet;
use super::super::body::{Bodies, Patience};
use super::*;

/// As many connections as there may be.
const CONNECTIONS: usize = 4;
const ATTACKER: [u8; 4] = [127, 0, 0, 2];
const API_SERVER: [u8; 4] = [127, 0, 0, 3];
const HEAD: &str = "POST /v1/admit?timeout=30s HTTP/1.1\r\nHost: localhost\r\n";

/// Answers every request whose body it has read.
struct Reader(Bodies);

impl RequestHandler for Reader {
    async fn answer(
        self: Arc<Self>,
        request: Request<Incoming>,
        connection: Arc<Connection>,
    ) -> Result<Answer, Infallible> {
        let read = self.0.read(request.into_body(), Instant::now() + IN_TIME).await;
        connection.works();
        let answer = read.map_or_else(|failure| format!("{failure:?}"), |read| format!("{} bytes", read.bytes.len()));
        Ok(Response::new(answer.into_bytes().into()))
    }

    fn drain(&self) {}
}

/// A webhook that takes few connections, with clients from different addresses.
struct Webhook {
    address: SocketAddr,
    tls: TlsConnector,
    work: JoinHandle<()>,
}

impl Webhook {
    async fn start() -> Self {
        let set = CertificateSet::renewed(None, &["localhost".to_owned()], clock::now()).unwrap().unwrap();
        let certificates = ServerCertificates::default();
        certificates.set(&set.server.certificate, &set.server.key).unwrap();
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(set.bundle().as_bytes()).unwrap()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
        let config = config.with_root_certificates(roots).with_no_client_auth();
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        // No request is given up, so that nothing depends on how fast this machine is.
        let reader = Arc::new(Reader(Bodies::new(Patience { stall: 2 * IN_TIME, whole: 2 * IN_TIME })));
        let tls = acceptor(&certificates).unwrap();
        let work = tokio::spawn(async move {
            run(listener, tls, reader, CONNECTIONS, std::future::pending(), Duration::ZERO).await;
        });
        Webhook { address, tls: TlsConnector::from(Arc::new(config)), work }
    }

    async fn connect(&self, from: [u8; 4]) -> TcpStream {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind((Ipv4Addr::from(from), 0).into()).unwrap();
        timeout(IN_TIME, socket.connect(self.address)).await.unwrap().unwrap()
    }

    async fn connect_with_tls(&self, from: [u8; 4]) -> TlsStream<TcpStream> {
        let name = ServerName::try_from("localhost").unwrap();
        timeout(IN_TIME, self.tls.connect(name, self.connect(from).await)).await.unwrap().unwrap()
    }
}

impl Drop for Webhook {
    fn drop(&mut self) {
        self.work.abort();
    }
}

/// Asks on a connection; nothing if it is closed.
async fn ask(stream: &mut TlsStream<TcpStream>, request: &str) -> Option<String> {
    stream.write_all(request.as_bytes()).await.ok()?;
    let (mut answer, mut part) = (String::new(), [0; 1024]);
    while !answer.ends_with(" bytes") {
        match timeout(IN_TIME, stream.read(&mut part)).await.expect("an answer or an end") {
            Ok(count @ 1..) => answer.push_str(&String::from_utf8_lossy(&part[..count])),
            _ => return None,
        }
    }
    answer.split("\r\n\r\n").last().map(str::to_owned)
}

fn small_review() -> String {
    format!("{HEAD}Content-Length: 2\r\n\r\n{{}}")
}

#[tokio::test]
async fn idle_connections_of_one_address_do_not_keep_others_out() {
    let webhook = Webhook::start().await;
    let mut idle = Vec::new();
    for _ in 0..CONNECTIONS {
        let mut stream = webhook.connect_with_tls(ATTACKER).await;
        assert_eq!(ask(&mut stream, &small_review()).await.as_deref(), Some("2 bytes"));
        idle.push(stream);
    }
    let mut api_server = webhook.connect_with_tls(API_SERVER).await;
    assert_eq!(ask(&mut api_server, &small_review()).await.as_deref(), Some("2 bytes"));
    // The attacker comes again, and takes the room of its own connections.
    let _more = [webhook.connect_with_tls(ATTACKER).await, webhook.connect_with_tls(ATTACKER).await];
    assert_eq!(ask(&mut api_server, &small_review()).await.as_deref(), Some("2 bytes"));
    let closed = [ask(&mut idle[0], &small_review()).await, ask(&mut idle[2], &small_review()).await];
    assert_eq!(closed, [None, None]);
    assert_eq!(ask(&mut idle[3], &small_review()).await.as_deref(), Some("2 bytes"), "no more than needed are closed");
}

#[tokio::test]
async fn connections_that_do_not_even_begin_tls_do_not_keep_others_out() {
    let webhook = Webhook::start().await;
    let mut silent = Vec::new();
    for _ in 0..3 * CONNECTIONS {
        silent.push(webhook.connect(ATTACKER).await);
    }
    let mut api_server = webhook.connect_with_tls(API_SERVER).await;
    assert_eq!(ask(&mut api_server, &small_review()).await.as_deref(), Some("2 bytes"));
}

/// Two requests without a body held all memory, for as long as they wanted.
#[tokio::test]
async fn requests_whose_bodies_do_not_arrive_keep_no_other_waiting() {
    let webhook = Webhook::start().await;
    let mut held = Vec::new();
    for length in ["Transfer-Encoding: chunked", "Content-Length: 41943040", "Content-Length: 3000000"] {
        let mut stream = webhook.connect_with_tls(ATTACKER).await;
        stream.write_all(format!("{HEAD}{length}\r\n\r\n").as_bytes()).await.unwrap();
        held.push(stream);
    }
    let mut api_server = webhook.connect_with_tls(API_SERVER).await;
    for _ in 0..10 {
        assert_eq!(ask(&mut api_server, &small_review()).await.as_deref(), Some("2 bytes"));
    }
    let large = format!("{HEAD}Content-Length: 5000000\r\n\r\n{}", "x".repeat(5_000_000));
    assert_eq!(ask(&mut api_server, &large).await.as_deref(), Some("5000000 bytes"));
}
