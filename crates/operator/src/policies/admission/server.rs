//! The HTTPS listener: TLS 1.3 with a certificate that may change, and a stop that loses no request.
//!
//! Anyone who reaches the port can open connections. Where there are as many as there may be, those of whoever has the most of
//! them are closed for new ones ([`OpenConnections`]), so that the API server always gets in.

use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use clearway_core::{OpenConnection, OpenConnections};
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use rustls::ServerConfig;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio_rustls::TlsAcceptor;

use super::super::certificates::ServerCertificates;
use super::AdmissionError;
use super::handler::Answer;

/// How long a client may take for the handshake.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// How long a connection may be idle. The API server closes its own after 90 s; it must be the first, because a request that
/// it sends while we close is lost.
const IDLE: Duration = Duration::from_mins(2);
/// Bytes of the head of a request, and of a body that are read at a time.
const BUFFER: usize = 32 << 10;
/// How long requests in flight may take after nothing is accepted any more; the API server waits no longer than 30 s.
const DRAIN: Duration = Duration::from_secs(30);
/// How long to wait after a connection could not be accepted, for example because there are no file descriptors.
const ACCEPT_AGAIN: Duration = Duration::from_millis(100);

/// A connection, by the address it came from.
pub(super) type Connection = OpenConnection<IpAddr>;

/// Answers the requests of connections.
pub(super) trait RequestHandler: Send + Sync + 'static {
    /// The answer to a request. The connection is told when all of the request is there.
    fn answer(
        self: Arc<Self>,
        request: Request<Incoming>,
        connection: Arc<Connection>,
    ) -> impl Future<Output = Result<Answer, Infallible>> + Send;

    /// Closes connections after their next answer from now on.
    fn drain(&self);
}

/// TLS 1.3 with the certificate of the moment.
pub(super) fn acceptor(certificates: &ServerCertificates) -> Result<TlsAcceptor, AdmissionError> {
    let failed = |error: rustls::Error| AdmissionError::Tls(error.to_string());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(failed)?;
    let mut config = config.with_no_client_auth().with_cert_resolver(Arc::new(certificates.clone()));
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

/// Answers on so many connections at a time until `stop`, then for `delay`, and then until what is in flight is answered.
pub(super) async fn run<H: RequestHandler>(
    listener: TcpListener,
    tls: TlsAcceptor,
    handler: Arc<H>,
    connections: usize,
    stop: impl Future<Output = ()>,
    delay: Duration,
) {
    let permits = Arc::new(Semaphore::new(connections));
    let open = OpenConnections::default();
    let graceful = GracefulShutdown::new();
    let stopped = async {
        stop.await;
        tracing::info!("no longer ready; admission requests are answered for {} s", delay.as_secs());
        handler.drain();
        tokio::time::sleep(delay).await;
    };
    let mut stopped = std::pin::pin!(stopped);
    loop {
        let (stream, peer, permit) = tokio::select! {
            () = &mut stopped => break,
            accepted = accept(&listener, &permits, &open) => accepted,
        };
        let close = Arc::new(Notify::new());
        let connection = open.add(peer, {
            let close = Arc::clone(&close);
            move || close.notify_one()
        });
        let serve = serve(stream, tls.clone(), Arc::clone(&handler), graceful.watcher(), connection);
        tokio::spawn(async move {
            let _permit = permit;
            tokio::select! {
                () = serve => {}
                () = close.notified() => tracing::debug!(%peer, "a connection to the webhook was closed for another one"),
            }
        });
    }
    drop(listener);
    if tokio::time::timeout(DRAIN, graceful.shutdown()).await.is_err() {
        tracing::warn!("some admission requests were not answered before the stop");
    }
}

/// Answers the requests of one connection.
async fn serve<H: RequestHandler>(
    stream: TcpStream,
    tls: TlsAcceptor,
    handler: Arc<H>,
    watcher: Watcher,
    connection: Connection,
) {
    let stream = match tokio::time::timeout(HANDSHAKE, tls.accept(stream)).await {
        Ok(Ok(stream)) => stream,
        Ok(Err(error)) => return tracing::debug!(%error, "a client of the webhook failed the TLS handshake"),
        Err(_) => return tracing::debug!("a client of the webhook did not finish the TLS handshake"),
    };
    let connection = Arc::new(connection);
    let service = service_fn(move |request| {
        let (handler, connection) = (Arc::clone(&handler), Arc::clone(&connection));
        async move {
            // Its body may be missing.
            connection.waits();
            let answer = handler.answer(request, Arc::clone(&connection)).await;
            connection.waits();
            answer
        }
    });
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(IDLE)
        .max_buf_size(BUFFER)
        .serve_connection(TokioIo::new(stream), service);
    if let Err(error) = watcher.watch(served).await {
        tracing::debug!(%error, "a connection to the webhook broke");
    }
}

/// The next connection, once there is room for it.
async fn accept(
    listener: &TcpListener,
    permits: &Arc<Semaphore>,
    open: &OpenConnections<IpAddr>,
) -> (TcpStream, IpAddr, OwnedSemaphorePermit) {
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => {
                // Answers are small; they are sent at once.
                let _ = stream.set_nodelay(true);
                if permits.available_permits() == 0 {
                    open.make_room();
                }
                // The semaphore is never closed.
                let Ok(permit) = Arc::clone(permits).acquire_owned().await else { std::future::pending().await };
                return (stream, peer.ip().to_canonical(), permit);
            }
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection to the webhook");
                tokio::time::sleep(ACCEPT_AGAIN).await;
            }
        }
    }
}

#[cfg(test)]
mod tests;
