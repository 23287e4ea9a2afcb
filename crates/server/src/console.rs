//! The web console: pages for people, on a listener of its own, so that the paths of the update service stay as they are.
//!
//! A page of a revision is rendered once and kept with the revision, in every coding, within a bound; other pages are small
//! and rendered for each request. Only reading is possible, unless [`Console::with_changes`] names who makes the changes of
//! callers. Start at [`Console`].

mod answer;
mod changes;
pub(crate) mod graph_console;
mod page_cache;

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::{Duration, Instant};

use clearway_console::pages::change::FormOptions;
use clearway_console::pages::cluster::{self, ClusterState};
use clearway_console::pages::cluster_objects::{self, ClusterObjects};
use clearway_console::pages::cluster_risks;
use clearway_console::pages::health::{self, PartHealth};
use clearway_console::pages::overview::{self, GraphState};
use clearway_console::pages::{channel, revisions, risks, update};
use clearway_console::{Page, PageError, Parts, Route, address, assets, change};
use clearway_core::Timestamp;
use futures::future::BoxFuture;
use http::header::{AUTHORIZATION, HOST};
use http::{HeaderMap, Method, Request, StatusCode};
use hyper::body::{Body as _, Incoming};
use tokio::sync::Semaphore;

use crate::data::body::Body;
use crate::listen::{ListenOptions, Listener, RequestHandler};
use crate::metrics::Metrics;
use crate::request::respond::Answer;
use crate::service::Service;
use graph_console::{GraphConsole, ShownRevision};

pub use changes::{ChangeLimits, ClusterChanges};

/// The longest address that is looked at.
const MAX_ADDRESS: usize = 4096;
/// Pages that are rendered at one time; more requests wait.
const RENDERING: usize = 2;
/// KiB of pages that are on their way to clients. A client that reads slowly keeps its page in memory.
const KIBIBYTES_SENT: u32 = 64 << 10;
/// How long a page waits for others to be sent.
const SENDING: Duration = Duration::from_secs(10);

/// What a console shows of clusters, besides the graph of a service.
pub trait ClusterSource: Send + Sync + 'static {
    /// The clusters and components that are known at the moment.
    fn clusters(&self) -> Vec<ClusterState>;

    /// The state of the parts that their assessments depend on.
    fn health(&self) -> Vec<PartHealth>;

    /// Whether [`ClusterSource::objects`] reads anything.
    fn has_objects(&self) -> bool {
        false
    }

    /// Policies, bundles and Gateways, as they were read not long ago.
    fn objects(&self) -> BoxFuture<'_, Arc<ClusterObjects>> {
        Box::pin(std::future::ready(Arc::default()))
    }
}

/// The pages of a service, of clusters, or of both.
pub struct Console {
    service: Option<Arc<Service>>,
    clusters: Option<Box<dyn ClusterSource>>,
    changes: Option<changes::Changes>,
    metrics: Metrics,
    clock: fn() -> Timestamp,
    version: &'static str,
    /// Whether only this machine is to reach it, so that every name but its own is someone else's trick.
    is_local: bool,
    assets: Vec<(&'static str, Body)>,
    rendering: Arc<Semaphore>,
    /// A permit for each KiB.
    sending: Arc<Semaphore>,
}

impl fmt::Debug for Console {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Console").field("version", &self.version).finish_non_exhaustive()
    }
}

impl Console {
    /// A console of this version of the program, which has nothing to show yet.
    pub fn new(version: &'static str, clock: fn() -> Timestamp) -> Self {
        let body = |asset: &'static assets::Asset| (asset.name.as_str(), answer::kept(asset.content.as_bytes()));
        Console {
            service: None,
            clusters: None,
            changes: None,
            metrics: Metrics::default(),
            clock,
            version,
            is_local: false,
            assets: assets::all().into_iter().map(body).collect(),
            rendering: Arc::new(Semaphore::new(RENDERING)),
            sending: Arc::new(Semaphore::new(KIBIBYTES_SENT as usize)),
        }
    }

    /// The same with the graph of a service that was started with [`ServiceOptions::console`](crate::ServiceOptions::console).
    #[must_use]
    pub fn with_service(mut self, service: Arc<Service>) -> Self {
        self.metrics = service.metrics().clone();
        self.service = Some(service);
        self
    }

    /// The same with clusters.
    #[must_use]
    pub fn with_clusters(mut self, clusters: impl ClusterSource) -> Self {
        self.clusters = Some(Box::new(clusters));
        self
    }

    /// The same with someone who makes the changes of callers. It then starts on a loopback address only, because callers
    /// send their tokens.
    #[must_use]
    pub fn with_changes(mut self, changes: impl ClusterChanges, limits: ChangeLimits) -> Self {
        self.changes = Some(changes::Changes::new(changes, limits));
        self
    }

    fn parts(&self) -> Parts {
        let objects = self.clusters.as_ref().is_some_and(|source| source.has_objects());
        Parts { graph: self.service.is_some(), objects, clusters: self.clusters.is_some() }
    }

    /// Refuses what no page and no form is behind.
    fn refuse<B>(&self, request: &Request<B>) -> Option<Answer> {
        let (uri, headers, method) = (request.uri(), request.headers(), request.method());
        let refuse = |status, why: &str| Some(answer::refusal(status, why, self.parts()));
        if self.is_local && !names_this_machine(headers) {
            let why = "This console is for this machine only: use localhost or 127.0.0.1 in the address.";
            return refuse(StatusCode::MISDIRECTED_REQUEST, why);
        }
        if uri.path().len() + uri.query().map_or(0, str::len) > MAX_ADDRESS {
            return refuse(StatusCode::URI_TOO_LONG, "The address is too long.");
        }
        if self.changes.is_some() && change::is_change(uri.path()) {
            let why = "This address is for the form of an update: only POST is allowed.";
            return (method != Method::POST).then(|| answer::not_allowed("POST", why, self.parts()));
        }
        let why = "Pages are read-only: only GET is allowed.";
        (method != Method::GET && method != Method::HEAD).then(|| answer::not_allowed("GET, HEAD", why, self.parts()))
    }

    async fn find<B>(&self, request: &Request<B>) -> Result<Answer, PageError> {
        let (uri, headers) = (request.uri(), request.headers());
        if matches!(uri.path(), "/" | "/console") {
            return Ok(answer::redirect(address::PREFIX));
        }
        match Route::read(uri.path(), uri.query())? {
            Route::Asset { name } => self.asset(&name, headers),
            route @ (Route::Channel(_) | Route::Update { .. } | Route::Risk { .. }) => {
                self.page_of_revision(route, headers).await
            }
            route @ Route::Risks if self.service.is_some() || self.clusters.is_none() => {
                self.page_of_revision(route, headers).await
            }
            route @ (Route::Policies | Route::Bundles | Route::Gateways) => {
                let source = self.clusters.as_ref().filter(|source| source.has_objects());
                let none = || PageError::NotFound("This console does not show objects of a cluster.".to_owned());
                let objects = source.ok_or_else(none)?.objects().await;
                let _turn = self.rendering.acquire().await;
                let (now, parts) = ((self.clock)(), self.parts());
                let page = match route {
                    Route::Policies => cluster_objects::render_policies(&objects, now, parts),
                    Route::Bundles => cluster_objects::render_bundles(&objects, now, parts),
                    _ => cluster_objects::render_gateways(&objects, now, parts),
                };
                self.admit(answer::present(page?)).await
            }
            route => {
                let _turn = self.rendering.acquire().await;
                self.admit(answer::present(self.present_page(&route, headers)?)).await
            }
        }
    }

    /// The same answer, once there is room for its bytes beside those that are being sent. Whoever renders a page keeps its
    /// turn until then, so that pages do not pile up before they are admitted.
    async fn admit(&self, answer: Answer) -> Result<Answer, PageError> {
        let bytes = answer.body().size_hint().lower();
        let wanted = u32::try_from(bytes.div_ceil(1024)).unwrap_or(u32::MAX).min(KIBIBYTES_SENT);
        let permit = Arc::clone(&self.sending).acquire_many_owned(wanted);
        // The semaphore is never closed.
        if let Ok(Ok(permit)) = tokio::time::timeout(SENDING, permit).await {
            return Ok(answer.map(|body| body.holding(permit)));
        }
        let why = "Too many pages are being sent at the moment. Load this page again in a while.";
        Err(PageError::NotReady(why.to_owned()))
    }

    fn asset(&self, name: &str, headers: &HeaderMap) -> Result<Answer, PageError> {
        let missing = || PageError::NotFound("There is no such file.".to_owned());
        let (_, body) = self.assets.iter().find(|(known, _)| *known == name).ok_or_else(missing)?;
        let asset = assets::find(name).ok_or_else(missing)?;
        Ok(answer::asset(body, asset.media_type, headers))
    }

    /// A page that depends on nothing but the revision: as it is kept, or rendered now.
    async fn page_of_revision(&self, route: Route, headers: &HeaderMap) -> Result<Answer, PageError> {
        let shown = self.shown()?;
        let key = route.link();
        if let Some(body) = shown.pages.get(&key) {
            return self.admit(answer::page_of_revision(&body, headers)).await;
        }
        // The semaphore is never closed.
        let turn = Arc::clone(&self.rendering).acquire_owned().await;
        if let Some(body) = shown.pages.get(&key) {
            return self.admit(answer::page_of_revision(&body, headers)).await;
        }
        // There are as many different searches as anybody likes, which would take the room of all other pages.
        let is_search = matches!(&route, Route::Channel(view) if !view.find.is_empty());
        let (parts, rendered) = (self.parts(), Arc::clone(&shown));
        // Away from the thread that answers: a large drawing takes a while. It goes on after a client has gone away, and keeps
        // its turn until it ends.
        let work = move || {
            let page = render(&rendered, &route, parts)?;
            let body = if is_search { Body::plain(page.html.into()) } else { answer::kept(page.html.as_bytes()) };
            Ok::<_, PageError>((Arc::new(body), turn))
        };
        let failed = |error: tokio::task::JoinError| PageError::Template(error.to_string());
        let (body, _turn) = tokio::task::spawn_blocking(work).await.map_err(failed)??;
        if !is_search {
            shown.pages.insert(key, Arc::clone(&body));
        }
        self.admit(answer::page_of_revision(&body, headers)).await
    }

    /// A page about the present.
    fn present_page(&self, route: &Route, headers: &HeaderMap) -> Result<Page, PageError> {
        let (now, parts) = ((self.clock)(), self.parts());
        let no_graph = || PageError::NotFound("This console does not show a graph.".to_owned());
        let graph = self.service.as_ref().and_then(|service| service.console());
        let no_clusters = || PageError::NotFound("This console does not show clusters.".to_owned());
        let clusters = self.clusters.as_ref().map(|source| source.clusters());
        match route {
            Route::Overview => {
                let shown = graph.and_then(GraphConsole::shown);
                let confirmed = self.service.as_ref().filter(|_| shown.is_some()).map(|service| service.confirmed());
                let state =
                    graph.map(|_| GraphState { summary: shown.as_ref().map(|shown| &shown.summary), confirmed });
                overview::render(state, clusters.as_deref(), &self.health(now), now, parts)
            }
            Route::Health => health::render(&self.health(now), self.version, parts),
            Route::Revisions => revisions::render_list(&graph.ok_or_else(no_graph)?.history(), now, parts),
            Route::Revision { id } => revisions::render(&graph.ok_or_else(no_graph)?.history(), id, parts),
            // With a graph it is a page of the revision.
            Route::Risks => cluster_risks::render(&clusters.ok_or_else(no_clusters)?, parts),
            Route::ClusterUpdate { kind, name, version } => {
                let clusters = clusters.ok_or_else(no_clusters)?;
                let forms =
                    self.changes.as_ref().map(|_| FormOptions { has_identity: headers.contains_key(AUTHORIZATION) });
                cluster::render_update(&clusters, (kind, name), version, now, parts, forms)
            }
            _ => Err(PageError::NotFound("This console does not have this page.".to_owned())),
        }
    }

    fn shown(&self) -> Result<Arc<ShownRevision>, PageError> {
        let graph = self.service.as_ref().and_then(|service| service.console());
        let graph = graph.ok_or_else(|| PageError::NotFound("This console does not show a graph.".to_owned()))?;
        graph
            .shown()
            .ok_or_else(|| PageError::NotReady("No graph could be read yet. The page Health says why.".to_owned()))
    }

    fn health(&self, now: Timestamp) -> Vec<PartHealth> {
        let mut parts = Vec::new();
        if let Some(service) = &self.service {
            parts.extend(graph_console::health(service, now));
        }
        parts.extend(self.clusters.iter().flat_map(|source| source.health()));
        parts
    }
}

/// A page that depends on nothing but the revision.
fn render(shown: &ShownRevision, route: &Route, parts: Parts) -> Result<Page, PageError> {
    match route {
        Route::Channel(view) => channel::render(&shown.revision, view, parts),
        Route::Update { channel, arch, from, to } => update::render(&shown.revision, channel, arch, (from, to), parts),
        Route::Risk { name } => risks::render(&shown.revision, &shown.tests, name, parts),
        _ => risks::render_list(&shown.revision, &shown.tests, parts),
    }
}

/// Whether a request names this machine by an address or as localhost. A page of someone else can make its own name lead
/// here, and read what is answered to it.
fn names_this_machine(headers: &HeaderMap) -> bool {
    let Some(host) = headers.get(HOST).and_then(|host| host.to_str().ok()) else { return true };
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.rsplit_once(':').map_or(host, |(name, _)| name),
    };
    name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok()
}

impl RequestHandler for Console {
    async fn respond(&self, request: Request<Incoming>) -> Answer {
        let begin = Instant::now();
        let found = match (self.refuse(&request), &self.changes) {
            (Some(refusal), _) => Ok(refusal),
            (None, Some(changes)) if request.method() == Method::POST => changes.answer(request, self.parts()).await,
            (None, _) => self.find(&request).await,
        };
        let mut response = found.unwrap_or_else(|error| answer::error(&error, self.parts()));
        answer::add_headers(response.headers_mut(), self.changes.is_some());
        self.metrics.record_answer("console", response.status(), begin.elapsed());
        response
    }
}

/// A console at work. It ends with [`RunningConsole::drain`], or with the process.
#[derive(Debug)]
pub struct RunningConsole(Listener);

impl RunningConsole {
    /// Starts to answer on a bound socket. On a loopback address, only requests to this machine by its own names are
    /// answered. A console with changes does not start on another address.
    pub fn start(mut console: Console, socket: TcpListener) -> io::Result<Self> {
        console.is_local = socket.local_addr()?.ip().is_loopback();
        if console.changes.is_some() && !console.is_local {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "tokens of callers would be sent in plain text; use a loopback address",
            ));
        }
        let metrics = console.metrics.clone();
        let bounds = ListenOptions { connections: 256, ..ListenOptions::default() };
        Ok(RunningConsole(Listener::start(socket, &Arc::new(console), &bounds, &metrics)?))
    }

    /// Where it is.
    pub fn address(&self) -> SocketAddr {
        self.0.address()
    }

    /// The address of the first page.
    pub fn link(&self) -> String {
        format!("http://{}{}", self.address(), address::PREFIX)
    }

    /// Accepts nothing new, and lets what was begun end within a time.
    pub fn drain(self, within: Duration) {
        self.0.drain(within);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    #[test]
    fn a_local_console_is_reached_by_the_names_of_this_machine_only() {
        for (host, want) in [
            ("localhost:8081", true),
            ("LOCALHOST", true),
            ("127.0.0.1:8081", true),
            ("[::1]:8081", true),
            ("10.0.0.1", true),
            ("example.com:8081", false),
            ("localhost.example.com", false),
            ("127.0.0.1.example.com", false),
            ("", false),
        ] {
            let headers = HeaderMap::from_iter([(HOST, HeaderValue::from_static(host))]);
            assert_eq!(names_this_machine(&headers), want, "{host}");
        }
    }
}
