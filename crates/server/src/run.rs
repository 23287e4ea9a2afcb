//! The whole service at work: listeners, the loop that keeps the data current, and the end of both.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clearway_core::Timestamp;
use tokio::runtime::Handle;
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;

use crate::data::feed::Feed;
use crate::data::last_good::LastGoodData;
use crate::data::refresh::{Refresher, pause};
use crate::data::watch::Watch;
use crate::listen::{AboveLimit, ListenOptions, Listener};
use crate::metrics::Metrics;
use crate::service::{Service, ServiceOptions};
use crate::status::Status;
use crate::upstream::mirror::{Mirror, MirrorOptions};
use crate::upstream::stored_answers::StoredAnswers;

/// What to serve, and how.
#[derive(Debug)]
pub struct Config {
    /// The service's own graph-data.
    pub feed: Option<Feed>,
    /// The upstream service to mirror.
    pub mirror: Option<MirrorOptions>,
    /// What survives a restart goes here.
    pub cache: Option<PathBuf>,
    /// How often sources are looked at.
    pub interval: Duration,
    /// How requests are answered.
    pub service: ServiceOptions,
    /// What clients may take.
    pub listen: ListenOptions,
    /// The time of day.
    pub clock: fn() -> Timestamp,
}

/// A service at work. It ends with [`RunningService::drain`], or with the process.
#[derive(Debug)]
pub struct RunningService {
    service: Arc<Service>,
    status: Arc<Status<Service>>,
    listener: Listener,
    status_listener: Option<Listener>,
    look: Arc<Notify>,
    looked: watch::Receiver<u64>,
    tasks: Vec<JoinHandle<()>>,
}

impl RunningService {
    /// Starts to serve on bound sockets. Until there is something to serve, clients are told so.
    ///
    /// Sources are read in the runtime that calls this; requests are answered in threads of their own.
    pub fn start(config: Config, socket: TcpListener, status_socket: Option<TcpListener>) -> io::Result<Self> {
        let Config { feed, mirror, cache, interval, service, listen, clock } = config;
        let metrics = Metrics::new();
        let mirror = match mirror {
            Some(mut options) => {
                if let (None, Some(cache)) = (&options.kept, &cache) {
                    options.kept = Some(StoredAnswers::open(&cache.join("upstream"))?);
                }
                Some(Mirror::new(options, metrics.clone(), clock, Handle::current()))
            }
            None => None,
        };
        let options = ServiceOptions { has_feed: feed.is_some(), ..service };
        let service = Arc::new(Service::new(&options, mirror, metrics.clone(), clock));
        let status = Arc::new(Status::new(Arc::clone(&service)));
        let listener = Listener::start(socket, &service, &listen, &metrics)?;
        // Whoever can reach them, the kubelet is answered.
        let one_thread =
            ListenOptions { threads: std::num::NonZeroUsize::MIN, above: AboveLimit::ClosesAnother, ..listen };
        let status_listener =
            status_socket.map(|socket| Listener::start(socket, &status, &one_thread, &metrics)).transpose()?;
        let look = Arc::new(Notify::new());
        let (looks, looked) = watch::channel(0);
        let mut tasks = Vec::new();
        if let Some(feed) = feed {
            let last_good = cache.map(|cache| LastGoodData::open(&cache)).transpose()?;
            let watch = feed.watched().map(Watch::new);
            let refresher = Refresher::new(Arc::clone(&service), feed, last_good);
            tasks.push(tokio::spawn(keep_current(refresher, watch, interval, Arc::clone(&look), looks)));
        }
        if service.mirror().is_some() {
            tasks.push(tokio::spawn(keep_mirrored(Arc::clone(&service), interval)));
        }
        Ok(RunningService { service, status, listener, status_listener, look, looked, tasks })
    }

    /// The address of the service.
    pub fn address(&self) -> SocketAddr {
        self.listener.address()
    }

    /// The address of the probes and metrics.
    pub fn status_address(&self) -> Option<SocketAddr> {
        self.status_listener.as_ref().map(Listener::address)
    }

    /// The service.
    pub fn service(&self) -> &Arc<Service> {
        &self.service
    }

    /// Looks at the graph-data now, and not only at the next usual time.
    pub fn refresh_now(&self) {
        self.look.notify_one();
    }

    /// Waits until the graph-data has been looked at more often than this, and says how often that is.
    pub async fn wait_for_refresh(&self, more_than: u64) -> u64 {
        let mut looked = self.looked.clone();
        // The sender only goes away with the loop, and then nothing more will come.
        looked.wait_for(|looks| *looks > more_than).await.map_or(u64::MAX, |looks| *looks)
    }

    /// Stops: says so to whoever sends clients here, accepts nothing new, and lets what was begun end within a time.
    /// Says whether all of it did.
    pub async fn drain(self, within: Duration) -> bool {
        self.status.drain();
        for task in &self.tasks {
            task.abort();
        }
        let (listener, status_listener) = (self.listener, self.status_listener);
        let drained = tokio::task::spawn_blocking(move || {
            let drained = listener.drain(within);
            // The probes answer to the end, and nobody waits for those who ask.
            status_listener.map(|listener| listener.drain(Duration::ZERO));
            drained
        });
        drained.await.unwrap_or(false)
    }
}

async fn keep_current(
    mut refresher: Refresher,
    mut watch: Option<Watch>,
    interval: Duration,
    look: Arc<Notify>,
    looks: watch::Sender<u64>,
) {
    let mut is_first = true;
    loop {
        // Before the files are read, so that no change is missed: a link may lead elsewhere by now, and a directory may be
        // new. That can take a moment, and the service is listening.
        watch = match watch {
            Some(watch) => watch.renewed().await,
            None => None,
        };
        if std::mem::take(&mut is_first) {
            refresher.begin().await;
        } else {
            refresher.once().await;
        }
        looks.send_modify(|looks| *looks += 1);
        let changed = async {
            match &watch {
                Some(watch) => watch.changed().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = changed => {}
            () = look.notified() => {}
            () = tokio::time::sleep(refresher.next(interval)) => {}
        }
    }
}

async fn keep_mirrored(service: Arc<Service>, interval: Duration) {
    let Some(mirror) = service.mirror() else { return };
    let mut failures = 0_u32;
    loop {
        let (current, configured) = mirror.refresh().await;
        failures = if current < configured { failures.saturating_add(1) } else { 0 };
        if failures > 0 {
            tracing::warn!(
                current,
                configured,
                "upstream did not return every configured channel; older answers are served"
            );
        }
        tokio::time::sleep(pause(failures, interval)).await;
    }
}
