//! The HTTPS listener: TLS 1.3 with a certificate that may change, and a stop that loses no request.

use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use rustls::ServerConfig;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_rustls::TlsAcceptor;

use super::super::certificates::ServerCertificates;
use super::handler::Handler;
use super::{AdmissionError, MAX_CONNECTIONS};

/// How long a client may take for the handshake.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// How long a connection may be idle. The API server closes its own after 90 s; it must be the first, because a request that
/// it sends while we close is lost.
const IDLE: Duration = Duration::from_mins(2);
/// How long requests in flight may take after nothing is accepted any more; the API server waits no longer than 30 s.
const DRAIN: Duration = Duration::from_secs(30);
/// How long to wait after a connection could not be accepted, for example because there are no file descriptors.
const ACCEPT_AGAIN: Duration = Duration::from_millis(100);

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

/// Answers until `stop`, then for `delay`, and then until what is in flight is answered.
pub(super) async fn run(
    listener: TcpListener,
    tls: TlsAcceptor,
    handler: Arc<Handler>,
    stop: impl Future<Output = ()>,
    delay: Duration,
) {
    let connections = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let graceful = GracefulShutdown::new();
    let stopped = async {
        stop.await;
        tracing::info!("no longer ready; admission requests are answered for {} s", delay.as_secs());
        handler.drain();
        tokio::time::sleep(delay).await;
    };
    let mut stopped = std::pin::pin!(stopped);
    loop {
        let (stream, permit) = tokio::select! {
            () = &mut stopped => break,
            accepted = accept(&listener, &connections) => accepted,
        };
        let (tls, handler, watcher) = (tls.clone(), Arc::clone(&handler), graceful.watcher());
        tokio::spawn(async move {
            let _permit = permit;
            let stream = match tokio::time::timeout(HANDSHAKE, tls.accept(stream)).await {
                Ok(Ok(stream)) => stream,
                Ok(Err(error)) => return tracing::debug!(%error, "a client of the webhook failed the TLS handshake"),
                Err(_) => return tracing::debug!("a client of the webhook did not finish the TLS handshake"),
            };
            let service = service_fn(move |request| Arc::clone(&handler).answer(request));
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(IDLE)
                .serve_connection(TokioIo::new(stream), service);
            if let Err(error) = watcher.watch(connection).await {
                tracing::debug!(%error, "a connection to the webhook broke");
            }
        });
    }
    drop(listener);
    if tokio::time::timeout(DRAIN, graceful.shutdown()).await.is_err() {
        tracing::warn!("some admission requests were not answered before the stop");
    }
}

/// The next connection, once there is room for it.
async fn accept(listener: &TcpListener, connections: &Arc<Semaphore>) -> (TcpStream, OwnedSemaphorePermit) {
    loop {
        // The semaphore is never closed.
        let Ok(permit) = Arc::clone(connections).acquire_owned().await else { std::future::pending().await };
        match listener.accept().await {
            Ok((stream, _)) => {
                // Answers are small; they are sent at once.
                let _ = stream.set_nodelay(true);
                return (stream, permit);
            }
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection to the webhook");
                tokio::time::sleep(ACCEPT_AGAIN).await;
            }
        }
    }
}
