//! Drives the reconciler of one object: carries out its effects, and hands it what comes of them.
//!
//! One task owns the state machine; everything that waits is a task of its own that reports back. Nothing here decides.

mod answer_memory;
mod attempts;
mod crash_guard;
mod effects;
mod memory_permit;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use clearway_advice::Assessment;
use clearway_core::{GroupVersionKind, ObjectReference, Timestamp};
use clearway_sources::http::HttpOptions;
use clearway_sources::store::{Store, StoreError, StoreEvent};
use serde_json::Value;
use tokio::sync::{mpsc, watch};
use tokio::task::{AbortHandle, JoinHandle, JoinSet};

pub use answer_memory::AnswerMemory;
pub use crash_guard::CrashGuard;
pub use effects::COMPONENT_ANSWER_BYTES;
pub use memory_permit::{COMPONENT_ANSWERS, COMPONENT_RELEASE_BYTES, MemoryPermit};

use answer_memory::AnswerShare;

use crate::apply_update::{self, Worker};
use crate::heartbeat::Heartbeat;
use crate::metrics_store::MetricsStore;
use clearway_update::api::Kind;
use clearway_update::reconciler::{Counts, Effect, Input, Reconciler, Settings, UpstreamAnswer};
use clearway_update::rollout::{Rollout, UpdateRequest};
use clearway_update::status::shape::Shape;
use clearway_update::task::Task;
use clearway_update::upstream::cached_state::{self, CachedState};

/// How often what could not be begun is tried again.
const AGAIN: Duration = Duration::from_secs(2);
/// Inputs that may wait.
const WAITING: usize = 1024;

/// What effects are carried out with.
#[derive(Clone)]
pub struct Tools<S> {
    /// Where the operator's own objects are: what it reports on, its lease, events.
    pub store: S,
    /// Where the objects are that rules of a graph look at, with the rights of an identity that can only read.
    pub evidence: S,
    /// Where updates are applied, with the rights of an identity that is there for nothing else.
    pub updates: S,
    /// Who answers queries.
    pub metrics: Option<MetricsStore>,
    /// How the update service is spoken to.
    pub http: HttpOptions,
    /// What updates are carried out with.
    pub apply_update: apply_update::Settings,
    /// The namespace of what is kept over a restart.
    pub namespace: String,
    /// The clock.
    pub clock: fn() -> Timestamp,
    /// Notices computations that do not end.
    pub heartbeat: Heartbeat,
    /// Limits the memory of all objects of the operator together while something is worked on.
    pub memory: MemoryPermit,
    /// Limits the memory of what all of them keep of update services.
    pub answers: AnswerMemory,
    /// Notes which answers are being assessed.
    pub guard: CrashGuard,
}

/// What a driver tells others.
#[derive(Debug, Clone)]
pub struct ObjectReport {
    /// The object as it was stored last.
    pub object: Arc<Value>,
    /// When the update service answered last; if it never did, since when it is asked.
    pub retrieved_at: Option<Timestamp>,
    /// What was done since the start.
    pub counts: Counts,
    /// How often each condition changed its status since the start.
    pub transitions: Arc<BTreeMap<String, u64>>,
    /// How far an update is.
    pub rollout: Rollout,
    /// The last assessment, with all its proofs.
    pub assessment: Option<Arc<Assessment>>,
}

impl PartialEq for ObjectReport {
    fn eq(&self, other: &Self) -> bool {
        let ObjectReport { object, retrieved_at, counts, transitions, rollout, assessment } = self;
        let same = match (assessment, &other.assessment) {
            (None, None) => true,
            // One that was made again is shown again; comparing all proofs would cost more.
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            _ => false,
        };
        let others = (&other.object, &other.retrieved_at, &other.counts, &other.transitions, &other.rollout);
        same && (object, retrieved_at, counts, transitions, rollout) == others
    }
}

/// What is told of an object; nothing before it was seen.
pub type LatestReport = Option<ObjectReport>;

/// Keeps one object current until the future is dropped.
pub async fn drive<S: Store>(
    tools: Tools<S>,
    kind: Kind,
    name: &str,
    settings: Settings,
    told: watch::Sender<LatestReport>,
) {
    let (report, inputs) = mpsc::channel(WAITING);
    let (worker, mut rollout) = Worker::new(tools.updates.clone(), tools.apply_update.clone());
    let told_of_work = report.clone();
    let hear = async move {
        // Only the newest counts: what is between two looks is over.
        while rollout.changed().await.is_ok() {
            let rollout = rollout.borrow_and_update().clone();
            if told_of_work.send(Input::Rollout(rollout)).await.is_err() {
                return;
            }
        }
    };
    let share = Arc::new(tools.answers.join(kind));
    let mut driver = Driver {
        kind,
        share,
        key: ObjectReference::cluster_scoped(object_kind(kind), name),
        reconciler: Reconciler::new(settings.clone()),
        settings: Arc::new(settings),
        tools,
        report,
        worker,
        feeds: vec![tokio::spawn(hear).into()],
        effects: JoinSet::new(),
        look: None,
        told,
        recalled: false,
    };
    driver.begin().await;
    driver.run(inputs).await;
}

/// How objects of a kind are asked for.
pub(crate) fn object_kind(kind: Kind) -> GroupVersionKind {
    GroupVersionKind::new(kind.api_version(), kind.as_str())
}

struct Driver<S: Store> {
    kind: Kind,
    /// What it may keep of the update service.
    share: Arc<AnswerShare>,
    key: ObjectReference,
    reconciler: Reconciler,
    settings: Arc<Settings>,
    tools: Tools<S>,
    report: mpsc::Sender<Input>,
    /// Who prepares and applies.
    worker: Worker<S>,
    /// What hears of the work, and follows the object and its CRD.
    feeds: Vec<Feed>,
    /// Effects under way. They end with the driver: whoever lost the lease must not write any more.
    effects: JoinSet<()>,
    /// The last look at objects.
    look: Option<AbortHandle>,
    told: watch::Sender<LatestReport>,
    /// Whether what an earlier process kept was looked for.
    recalled: bool,
}

/// The object that effects are about.
struct About {
    kind: Kind,
    key: ObjectReference,
    /// The image of the release that it runs, as it was read last. Nothing is read to know which registry may be asked.
    running: String,
    /// Where its state is cached.
    cached: ObjectReference,
    share: Arc<AnswerShare>,
}

/// A task that ends with this value.
struct Feed(JoinHandle<()>);

impl Drop for Feed {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl From<JoinHandle<()>> for Feed {
    fn from(handle: JoinHandle<()>) -> Self {
        Feed(handle)
    }
}

impl<S: Store> Driver<S> {
    /// Starts to follow the object.
    async fn begin(&mut self) {
        // The shape comes first: a status that is held against nothing might be refused.
        let shape = self.shape().await;
        self.step(Input::Shape(Box::new(shape)));
        let names = BTreeSet::from([self.key.name.clone()]);
        self.feeds.push(self.follow(self.key.kind.clone(), names, |seen| match seen {
            StoreEvent::Object(object) => Some(Input::Object(object)),
            StoreEvent::Gone { .. } => Some(Input::Gone),
            StoreEvent::Trouble { error } => {
                tracing::warn!(%error, "cannot read the object");
                None
            }
        }));
        let kind = self.kind;
        let names = BTreeSet::from([kind.crd().to_owned()]);
        self.feeds.push(self.follow(definitions(), names, move |seen| match seen {
            StoreEvent::Object(crd) => match Shape::of_crd(&crd, kind) {
                Ok(shape) => Some(Input::Shape(Box::new(shape))),
                Err(error) => {
                    tracing::warn!(%error, crd = kind.crd(), "cannot read the CRD");
                    None
                }
            },
            StoreEvent::Gone { .. } | StoreEvent::Trouble { .. } => None,
        }));
    }

    /// What was kept by an earlier process; nothing if there is nothing, or if it cannot be had.
    async fn load_cached_state(&self) -> Option<CachedState> {
        let key = self.cached_state_key();
        let object = match self.tools.store.get(&key).await {
            Ok(object) => object?,
            Err(error) => {
                tracing::warn!(%error, "cached state is unreadable; rebuilding it");
                return None;
            }
        };
        let kept = CachedState::of_object(&object)?;
        let (digest, now) = (kept.digest(), (self.tools.clock)());
        // What objects or metrics say may have changed since it was assessed, and end the process now.
        if self.tools.guard.begin_cached(&self.tools.store, &key, &digest, now).await {
            return Some(kept);
        }
        tracing::error!(%digest, "the cached graph is not used: the operator ended twice while assessing it");
        None
    }

    /// The shape of the installed CRD. Where there is none, as in a directory, everything is kept.
    async fn shape(&self) -> Shape {
        let key = ObjectReference::cluster_scoped(definitions(), self.kind.crd());
        let crd = self.tools.store.get(&key).await.ok().flatten();
        crd.and_then(|crd| Shape::of_crd(&crd, self.kind).ok()).unwrap_or_default()
    }

    fn cached_state_key(&self) -> ObjectReference {
        let name = cached_state::object_name(self.kind, &self.key.name);
        ObjectReference {
            kind: GroupVersionKind::new("v1", "ConfigMap"),
            namespace: self.tools.namespace.clone(),
            name,
        }
    }

    /// Follows objects; what cannot be followed yet is tried again.
    fn follow(
        &self,
        kind: GroupVersionKind,
        names: BTreeSet<String>,
        input: impl Fn(StoreEvent) -> Option<Input> + Send + 'static,
    ) -> Feed {
        let (store, report) = (self.tools.store.clone(), self.report.clone());
        tokio::spawn(async move {
            loop {
                match store.follow(&kind, names.clone()).await {
                    Ok(mut seen) => {
                        while let Some(seen) = seen.recv().await {
                            if let Some(input) = input(seen)
                                && report.send(input).await.is_err()
                            {
                                return;
                            }
                        }
                    }
                    Err(StoreError::NoSuchKind { kind }) => tracing::debug!(%kind, "the kind is not served yet"),
                    Err(error) => tracing::warn!(%error, %kind, "cannot watch objects"),
                }
                tokio::time::sleep(AGAIN).await;
            }
        })
        .into()
    }

    async fn run(&mut self, mut inputs: mpsc::Receiver<Input>) {
        loop {
            let next = self.reconciler.next();
            let rest = next.map(|next| next.since((self.tools.clock)()).max(Duration::from_millis(50)));
            // Without anything to wait for, an hour is as good as for ever.
            let rest = rest.unwrap_or(Duration::from_hours(1));
            let input = tokio::time::timeout(rest, inputs.recv()).await;
            match input {
                Ok(Some(input @ Input::Object(_))) if !self.recalled => {
                    self.recalled = true;
                    self.recall(input).await;
                }
                Ok(Some(input)) => self.step(input),
                Ok(None) => return,
                Err(_) => self.step(Input::Tick),
            }
        }
    }

    /// Takes the object for the first time, with what an earlier process kept. That is unpacked and parsed, as large as
    /// it may be.
    async fn recall(&mut self, object: Input) {
        let _permit = self.tools.memory.acquire_parsing().await;
        if let Some(kept) = self.load_cached_state().await {
            self.step(Input::Cached { state: Box::new(kept), room: self.share.room() });
        }
        self.step(object);
    }

    fn step(&mut self, input: Input) {
        let arrived = match &input {
            Input::Fetched { outcome: Ok(UpstreamAnswer::Knowledge(knowledge, _)), .. } => Some(knowledge.memory()),
            _ => None,
        };
        let beat = self.tools.heartbeat.begin("a step of the reconciler", Instant::now());
        let effects = self.reconciler.step(input, (self.tools.clock)());
        drop(beat);
        self.share.set_kept(self.reconciler.kept_memory(), arrived);
        for effect in effects {
            self.run_effect(effect);
        }
        self.publish_report();
    }

    /// Shows others what changed.
    fn publish_report(&self) {
        let reconciler = &self.reconciler;
        let Some(raw) = reconciler.raw() else { return drop(self.told.send_replace(None)) };
        let version = |object: &Value| object["metadata"]["resourceVersion"].clone();
        self.told.send_if_modified(|told| {
            let same = told.as_ref().filter(|shown| version(&shown.object) == version(raw));
            let next = ObjectReport {
                object: same.map_or_else(|| raw.clone(), |shown| shown.object.clone()),
                retrieved_at: reconciler.retrieved_at(),
                counts: reconciler.counts(),
                transitions: reconciler.transitions(),
                rollout: reconciler.rollout().clone(),
                assessment: reconciler.assessment().cloned(),
            };
            let changed = told.as_ref() != Some(&next);
            *told = Some(next);
            changed
        });
    }

    /// What is asked for, with what its carrying out depends on.
    fn task(&self, request: UpdateRequest) -> Option<Task> {
        Some(Task::new(request, self.reconciler.object()?, self.reconciler.raw()?))
    }

    /// What effects are about at present.
    fn about(&self) -> About {
        let status = self.reconciler.object().and_then(|object| object.status.as_ref());
        About {
            kind: self.kind,
            key: self.key.clone(),
            running: status.map(|status| status.desired.image.clone()).unwrap_or_default(),
            cached: self.cached_state_key(),
            share: self.share.clone(),
        }
    }

    fn run_effect(&mut self, effect: Effect) {
        match effect {
            Effect::Stop => self.worker.stop(),
            Effect::Prepare(request) => {
                if let Some(task) = self.task(request) {
                    self.worker.prepare(task);
                }
            }
            Effect::Apply(request, prepared) => {
                if let Some(task) = self.task(request) {
                    self.worker.apply(task, prepared);
                }
            }
            effect => {
                let (tools, settings, report) = (self.tools.clone(), self.settings.clone(), self.report.clone());
                let about = self.about();
                // Those that ended are forgotten, so that the set does not grow.
                while self.effects.try_join_next().is_some() {}
                let is_look = matches!(effect, Effect::Look { .. });
                let task = self.effects.spawn(async move {
                    for input in effects::run_effect(effect, &tools, &settings, &about, &report).await {
                        // Nobody listens any more: the driver has ended.
                        let _ = report.send(input).await;
                    }
                });
                // There are other questions now, and the registry of an earlier one may take its time.
                if is_look && let Some(earlier) = self.look.replace(task) {
                    earlier.abort();
                }
            }
        }
    }
}

/// How definitions of kinds are asked for.
pub(crate) fn definitions() -> GroupVersionKind {
    GroupVersionKind::new("apiextensions.k8s.io/v1", "CustomResourceDefinition")
}
