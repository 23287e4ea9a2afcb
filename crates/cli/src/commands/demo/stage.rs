//! The environment of a scenario: the update service, a simulated cluster, the operator, and the web console.
//!
//! Everything is the real thing but what [`clearway_operator::embedded`] says is played; and the intervals are shorter.

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use clearway_advice::rounds::RoundSettings;
use clearway_core::{Arch, Version};
use clearway_operator::apply_update::{self, Pace};
use clearway_operator::driver::{AnswerMemory, CrashGuard, LatestReport, MemoryPermit, Tools};
use clearway_operator::embedded::{self, InitialState, SimulatedStep};
use clearway_operator::heartbeat::Heartbeat;
use clearway_operator::install::apply::{Adoption, uuid_v4};
use clearway_operator::lease::{Candidate, LeaseTerms};
use clearway_operator::metrics_store::MetricsStore;
use clearway_operator::operator::{LatestReports, operate};
use clearway_release::{Payload, ReleaseLimits, Selection};
use clearway_server::console::RunningConsole;
use clearway_server::{Config, Feed, ListenOptions, RunningService, ServiceOptions};
use clearway_sources::clock;
use clearway_sources::files::write_atomically;
use clearway_sources::http::HttpOptions;
use clearway_sources::oci::{Cache, Registry, RegistryOptions};
use clearway_sources::release;
use clearway_sources::store::StateDirectory;
use clearway_update::api::Kind;
use clearway_update::reconciler::{Settings, UpdateMode};
use tokio::sync::{Notify, mpsc, watch};
use tokio::task::JoinHandle;

use super::product::{Product, Releases};
use super::{console, write_files};

/// The default address of the service; another port is used if this one is taken.
const USUAL: &str = "127.0.0.1:8080";
/// Who leads, in the lease.
const NAME: &str = "clearway-operator";
const NAMESPACE: &str = "clearway";
/// How soon a controller that is played takes its next step.
const STEP: Duration = Duration::from_millis(250);
/// Where the metrics are, in the state directory.
pub(super) const METRICS: &str = "metrics/cluster.prom";

/// What there is to begin with.
pub(super) struct Setting {
    pub(super) product: Product,
    /// Releases that can be carried out: the payloads that graph-data names are made up, and these take their place.
    pub(super) releases: Releases,
    /// Where the cluster is.
    pub(super) version: Version,
    pub(super) channel: &'static str,
    /// The cluster's metrics.
    pub(super) metrics: String,
}

/// Everything at work.
pub(super) struct Stage {
    /// Where it is, as an absolute path.
    pub(super) directory: PathBuf,
    pub(super) running: RunningService,
    /// The address of the service.
    pub(super) base: String,
    pub(super) console: RunningConsole,
    pub(super) state: StateDirectory,
    /// What the operator says.
    pub(super) watched: LatestReports,
    /// What the controllers do.
    pub(super) played: mpsc::UnboundedReceiver<SimulatedStep>,
    pub(super) channel: &'static str,
    stop: Arc<Notify>,
    operator: JoinHandle<()>,
    controllers: JoinHandle<()>,
}

impl Stage {
    /// Puts everything into a directory, and sets it to work.
    pub(super) async fn open(directory: &Path, setting: Setting) -> Result<Self> {
        let Setting { product, releases, version, channel, metrics } = setting;
        std::fs::create_dir_all(directory).with_context(|| format!("cannot create {}", directory.display()))?;
        let directory = directory.canonicalize().with_context(|| format!("cannot find {}", directory.display()))?;
        let place = directory.join("state");
        if place.exists() {
            bail!("{} is from an earlier demo: remove it, or pass another --output-dir", place.display());
        }
        product.write(&directory)?;
        let founded = unpack(&directory, &product, &releases, &version, channel)?;
        let graph_data = directory.join("graph-data");
        let socket = TcpListener::bind(USUAL).or_else(|_| TcpListener::bind("127.0.0.1:0"))?;
        let status_socket = TcpListener::bind("127.0.0.1:0")?;
        let running = RunningService::start(config(&graph_data), socket, Some(status_socket))?;
        running.wait_for_refresh(0).await;
        let base = format!("http://{}{}", running.address(), running.service().prefix());

        let state = StateDirectory::open(&place)?;
        set_metrics(&state, &metrics)?;
        let mut random = [0; 16];
        getrandom::fill(&mut random).context("cannot create an id for the cluster")?;
        let founding = InitialState {
            adoption: Adoption { version, id: uuid_v4(random), now: clock::now() },
            image: founded.image,
            channel: Some(channel.to_owned()),
            upstream: Some(base.clone()),
        };
        embedded::create_initial_state(&state, &founding, founded.payload.as_ref()).await?;
        let stop = Arc::new(Notify::new());
        let (shown, watched) = watch::channel(BTreeMap::new());
        let (told, played) = mpsc::unbounded_channel();
        let controllers = tokio::spawn(embedded::simulate_controllers(state.clone(), STEP, clock::now, told));
        let tools = tools(&state)?;
        let operator = tokio::spawn(lead(tools, shown, Arc::clone(&stop)));
        let console = console::start(Arc::clone(running.service()), watched.clone())?;
        Ok(Stage { directory, running, base, console, state, watched, played, channel, stop, operator, controllers })
    }

    /// Gives metrics again.
    pub(super) fn set_metrics(&self, metrics: &str) -> Result<()> {
        set_metrics(&self.state, metrics)
    }

    /// Takes the metrics away.
    pub(super) fn remove_metrics(&self) -> Result<()> {
        let path = self.state.root().join(METRICS);
        std::fs::remove_file(&path).with_context(|| format!("cannot remove {}", path.display()))
    }

    /// Ends everything in good order.
    pub(super) async fn close(self) {
        self.stop.notify_one();
        self.controllers.abort();
        // The operator gives its lease back; if the directory is gone, there is nothing to give back.
        let _ = tokio::time::timeout(Duration::from_secs(2), self.operator).await;
        // Nobody depends on a page that is not loaded to its end.
        let console = self.console;
        let _ = tokio::task::spawn_blocking(|| console.drain(Duration::ZERO)).await;
        self.running.drain(Duration::from_secs(1)).await;
    }
}

fn set_metrics(state: &StateDirectory, metrics: &str) -> Result<()> {
    let path = state.root().join(METRICS);
    write_atomically(&path, metrics.as_bytes()).with_context(|| format!("cannot write {}", path.display()))
}

/// The release that the cluster is at.
struct Founded {
    image: String,
    /// Its objects, if it is one that can be carried out.
    payload: Option<Payload>,
}

/// Writes the releases, and names them in the graph-data.
fn unpack(
    directory: &Path,
    product: &Product,
    releases: &Releases,
    version: &Version,
    channel: &str,
) -> Result<Founded> {
    let graph = product.revision()?.graph(channel, &Arch::default());
    let named = |version: &str| {
        let node = graph.nodes().iter().find(|node| node.version().to_string() == version);
        node.map(|node| node.payload().to_owned())
            .with_context(|| format!("the sample product has no release {version}"))
    };
    let mut founded = Founded { image: named(&version.to_string())?, payload: None };
    let mut texts: Vec<(&str, String)> = product.releases().map(|(name, text)| (name, text.to_owned())).collect();
    for (name, files) in releases {
        let path = directory.join("releases").join(name);
        let files: Vec<(&str, &str)> = files.iter().map(|(file, text)| (file.as_str(), text.as_str())).collect();
        write_files(&path.join(clearway_release::MANIFESTS), &files)?;
        let limits = ReleaseLimits::default();
        let fetched = release::directory(&path, &limits)?;
        let image = format!("{}@{}", path.display(), fetched.digest);
        let (before, after) = (named(name)?, serde_json::to_string(&image)?);
        for (_, text) in &mut texts {
            *text = text.replace(&format!("payload: {before}\n"), &format!("payload: {after}\n"));
        }
        if *name == version.to_string() {
            founded = Founded { image, payload: Some(fetched.payload(&Selection::default(), &limits)?) };
        }
    }
    for (name, text) in &texts {
        write_files(&directory.join("graph-data"), &[(name, text)])?;
    }
    Ok(founded)
}

fn config(graph_data: &Path) -> Config {
    Config {
        feed: Some(Feed::directory(graph_data)),
        mirror: None,
        cache: None,
        interval: Duration::from_secs(1),
        service: ServiceOptions { console: true, ..ServiceOptions::default() },
        listen: ListenOptions::default(),
        clock: clock::now,
    }
}

fn tools(state: &StateDirectory) -> Result<Tools<StateDirectory>> {
    let registry = Registry::new(RegistryOptions::default())?;
    let pace = Pace {
        look: Duration::from_millis(100),
        look_most: Duration::from_millis(200),
        settle: Duration::from_millis(500),
        ..Pace::default()
    };
    Ok(Tools {
        store: state.clone(),
        evidence: state.clone(),
        updates: state.clone(),
        metrics: Some(MetricsStore::Directory(state.metrics())),
        http: HttpOptions::default(),
        apply_update: apply_update::Settings { pace, ..apply_update::Settings::new(registry, Cache::none()) },
        namespace: NAMESPACE.to_owned(),
        clock: clock::now,
        heartbeat: Heartbeat::default(),
        memory: MemoryPermit::default(),
        answers: AnswerMemory::default(),
        guard: CrashGuard::new(&identity()),
    })
}

/// The loop of `clearway operator`: leads while it has the lease, and gives that back at the end.
async fn lead(tools: Tools<StateDirectory>, shown: watch::Sender<ReportReceivers>, stop: Arc<Notify>) {
    let second = Duration::from_secs(1);
    let settings = Settings {
        has_metrics: true,
        fetch_every: second,
        look_again: second,
        // Times are whole seconds, so this is a second and not none.
        jitter: 1.0,
        rounds: RoundSettings { between_rounds: second, between_answers: second, ..RoundSettings::default() },
        update_mode: UpdateMode::OnRequest,
        ..Settings::new(Arch::default())
    };
    let mut candidate =
        Candidate::new(tools.store.clone(), NAMESPACE, NAME, identity(), LeaseTerms::default(), clock::now);
    let work = async {
        loop {
            candidate.acquire().await;
            tokio::select! {
                () = operate(tools.clone(), settings.clone(), shown.clone()) => {}
                () = candidate.keep_renewing() => {}
            }
        }
    };
    tokio::select! {
        () = work => {}
        () = stop.notified() => {}
    }
    tools.guard.withdraw(&tools.store).await;
    candidate.release().await;
}

/// The name of this process.
fn identity() -> String {
    format!("demo_{}", std::process::id())
}

/// What [`LatestReports`] sees.
type ReportReceivers = BTreeMap<(Kind, String), watch::Receiver<LatestReport>>;
