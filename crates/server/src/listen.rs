//! Connections: accepted by one thread per processor, bounded in number, cut when they stall, drained at the end.
//!
//! Each thread has its own single-threaded runtime and keeps the connections it accepted. A request takes microseconds,
//! so there is nothing to gain from handing work to another thread, and its latency to lose.
//!
//! Above the bound new connections wait, which is right for clients that are served one after the other. Probes cannot wait:
//! for them, connections of whoever has the most are closed instead ([`OpenConnections`]).

use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use clearway_core::{OpenConnection, OpenConnections};
use http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::TcpStream;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, watch};
use tokio_io_timeout::TimeoutStream;

use crate::metrics::Metrics;
use crate::request::respond::Answer;
use crate::service::processors;

/// How long accepting rests when the system has no more descriptors.
const REST: Duration = Duration::from_millis(50);

/// Less than this for the head of a request the HTTP library does not take.
const LEAST_HEAD: usize = 8 << 10;

/// Bounds on what clients may take.
#[derive(Debug, Clone)]
pub struct ListenOptions {
    /// Threads that answer.
    pub threads: NonZeroUsize,
    /// Connections at one time.
    pub connections: usize,
    /// What becomes of more of them.
    pub above: AboveLimit,
    /// Whether a connection stays open after an answer.
    pub keep_alive: bool,
    /// Bytes of a request's first line and headers; 8 KiB at the least.
    pub head_bytes: usize,
    /// How long a request may take to arrive, and a connection may be idle.
    pub read_timeout: Duration,
    /// How long a client may take no byte of its answer.
    pub write_timeout: Duration,
}

/// What becomes of a connection for which there is no room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AboveLimit {
    /// It waits until another one ends.
    Waits,
    /// Another one that waits for its client is closed, of the address that has the most connections.
    ClosesAnother,
}

impl ListenOptions {
    /// For probes and metrics, which are asked for by few, and must be answered whoever else can reach the port.
    pub fn for_probes() -> Self {
        ListenOptions {
            threads: NonZeroUsize::MIN,
            connections: 64,
            above: AboveLimit::ClosesAnother,
            keep_alive: false,
            read_timeout: Duration::from_secs(2),
            ..ListenOptions::default()
        }
    }
}

impl Default for ListenOptions {
    fn default() -> Self {
        ListenOptions {
            threads: processors(),
            connections: 4096,
            above: AboveLimit::Waits,
            keep_alive: true,
            head_bytes: 16 << 10,
            read_timeout: Duration::from_secs(30),
            write_timeout: Duration::from_secs(10),
        }
    }
}

/// Answers the requests of one listener.
pub trait RequestHandler: Send + Sync + 'static {
    /// The answer to a request.
    fn respond(&self, request: Request<Incoming>) -> impl Future<Output = Answer> + Send;
}

/// Threads that answer. They stop when [`Listener::drain`] is called, or when the process ends.
#[derive(Debug)]
pub struct Listener {
    address: SocketAddr,
    stop: watch::Sender<Option<Duration>>,
    threads: Vec<thread::JoinHandle<bool>>,
}

impl Listener {
    /// Starts to answer on a bound socket.
    pub fn start<R: RequestHandler>(
        socket: TcpListener,
        respond: &Arc<R>,
        options: &ListenOptions,
        metrics: &Metrics,
    ) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        let address = socket.local_addr()?;
        let (stop, stopped) = watch::channel(None);
        let room = Arc::new(Semaphore::new(options.connections));
        let open = OpenConnections::default();
        // Each thread has a handle, and nobody else: when all have stopped accepting, the system refuses who comes.
        let mut sockets = (1..options.threads.get()).map(|_| socket.try_clone()).collect::<io::Result<Vec<_>>>()?;
        sockets.push(socket);
        let threads = sockets.into_iter().enumerate().map(|(number, socket)| {
            let worker = Worker {
                respond: Arc::clone(respond),
                room: Arc::clone(&room),
                open: open.clone(),
                options: options.clone(),
                metrics: metrics.clone(),
                stopped: stopped.clone(),
            };
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            let run = move || runtime.block_on(worker.run(socket));
            thread::Builder::new().name(format!("answer-{number}")).spawn(run)
        });
        Ok(Listener { address, stop, threads: threads.collect::<io::Result<_>>()? })
    }

    /// The address that clients reach it at.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Accepts nothing new, lets what was begun end within a time, and says whether all of it did.
    pub fn drain(self, within: Duration) -> bool {
        self.stop.send_replace(Some(within));
        // Every thread is waited for, also after one that did not end well.
        let ended: Vec<bool> = self.threads.into_iter().map(|thread| thread.join().unwrap_or(false)).collect();
        !ended.contains(&false)
    }
}

struct Worker<R> {
    respond: Arc<R>,
    room: Arc<Semaphore>,
    open: OpenConnections<IpAddr>,
    options: ListenOptions,
    metrics: Metrics,
    stopped: watch::Receiver<Option<Duration>>,
}

impl<R: RequestHandler> Worker<R> {
    async fn run(self, socket: TcpListener) -> bool {
        let socket = match tokio::net::TcpListener::from_std(socket) {
            Ok(socket) => socket,
            Err(error) => {
                tracing::error!(%error, "cannot listen");
                return false;
            }
        };
        let graceful = GracefulShutdown::new();
        let mut stopped = self.stopped.clone();
        let within = loop {
            tokio::select! {
                accepted = self.accept(&socket) => match accepted {
                    Ok((stream, peer, permit)) => self.serve(stream, peer, permit, &graceful),
                    Err(error) => {
                        // Most of these are the client's; the rest passes when connections end.
                        tracing::debug!(%error, "failed to accept a connection");
                        tokio::time::sleep(REST).await;
                    }
                },
                stopped = stopped.wait_for(Option::is_some) => {
                    break stopped.ok().and_then(|within| *within).unwrap_or_default();
                }
            }
        };
        drop(socket);
        tokio::time::timeout(within, graceful.shutdown()).await.is_ok()
    }

    fn serve(&self, stream: TcpStream, peer: IpAddr, permit: OwnedSemaphorePermit, graceful: &GracefulShutdown) {
        // Answers go out as soon as they are written; without this the last part of one waits for an acknowledgement.
        let _ = stream.set_nodelay(true);
        let mut stream = TimeoutStream::new(stream);
        stream.set_write_timeout(Some(self.options.write_timeout));
        let close = Arc::new(Notify::new());
        let entry: Arc<OpenConnection<IpAddr>> = Arc::new(self.open.add(peer, {
            let close = Arc::clone(&close);
            move || close.notify_one()
        }));
        let respond = Arc::clone(&self.respond);
        let answer = service_fn(move |request| {
            let (respond, entry) = (Arc::clone(&respond), Arc::clone(&entry));
            async move {
                entry.works();
                let answer = respond.respond(request).await;
                entry.waits();
                Ok::<_, Infallible>(answer)
            }
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(self.options.read_timeout)
            .max_buf_size(self.options.head_bytes.max(LEAST_HEAD))
            .half_close(true)
            .keep_alive(self.options.keep_alive)
            .serve_connection(TokioIo::new(Box::pin(stream)), answer);
        let connection = graceful.watch(connection);
        let open = self.metrics.connections().clone();
        open.inc();
        tokio::spawn(async move {
            tokio::select! {
                ended = connection => {
                    if let Err(error) = ended {
                        // Clients go away, stall, and speak other protocols: that is theirs to know.
                        tracing::debug!(%error, "a connection ended early");
                    }
                }
                () = close.notified() => tracing::debug!(%peer, "a connection was closed for another one"),
            }
            open.dec();
            drop(permit);
        });
    }

    async fn accept(&self, socket: &tokio::net::TcpListener) -> io::Result<(TcpStream, IpAddr, OwnedSemaphorePermit)> {
        let room = async || Arc::clone(&self.room).acquire_owned().await.map_err(io::Error::other);
        match self.options.above {
            AboveLimit::Waits => {
                let permit = room().await?;
                let (stream, peer) = socket.accept().await?;
                Ok((stream, peer.ip().to_canonical(), permit))
            }
            AboveLimit::ClosesAnother => {
                let (stream, peer) = socket.accept().await?;
                if self.room.available_permits() == 0 {
                    self.open.make_room();
                }
                Ok((stream, peer.ip().to_canonical(), room().await?))
            }
        }
    }
}
