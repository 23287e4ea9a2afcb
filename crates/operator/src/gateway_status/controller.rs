//! The controller: objects into the engine, and the status that comes of them to the API server.
//!
//! Events only change what is known. [`Controller::settle`] reads the Secrets and ConfigMaps that are needed, evaluates,
//! and writes every status that is different, each under the version of the object that it was computed from. If another
//! writer was faster, the object is read and computed again. Nothing is written before every kind was listed once.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use clearway_core::{GroupVersionKind, ObjectReference, Timestamp};
use clearway_gateway::model::Body;
use clearway_gateway::{Change, Engine, Object, ObjectKey, ObjectKind};
use clearway_sources::kubernetes::KindEvent;
use clearway_sources::store::{Part, Store, StoreError};
use futures::stream::{self, StreamExt as _};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::kinds::{KINDS, WatchedKind, has_status};
use super::metrics::Counters;
use super::named_objects::{Contents, NamedObjects, version};
use super::watch::{KindReport, ReportContent};
use super::write::PublishedStatus;
use super::{GatewayStatusError, Options, refuse_other};

/// Status writes that are under way at a time.
const AT_ONCE: usize = 8;
/// How often a status is computed again because another writer was faster, before it is left for later.
const ATTEMPTS: usize = 8;
/// After how much time what could not be read or written is tried again.
const RETRY: Duration = Duration::from_secs(2);
/// How often Secrets and ConfigMaps are read again while they cannot be watched.
const REREAD: Duration = Duration::from_secs(15);

/// Keeps the status of the objects of our classes.
#[derive(Debug)]
pub struct Controller<S> {
    store: S,
    engine: Engine,
    options: Options,
    clock: fn() -> Timestamp,
    counters: Arc<Counters>,
    published: BTreeMap<ObjectKey, PublishedStatus>,
    /// The objects of each kind, to find those that are missing in a new list.
    known: BTreeMap<ObjectKind, BTreeSet<ObjectKey>>,
    named_objects: NamedObjects,
    /// Objects whose status may differ from the published one.
    due: BTreeSet<ObjectKey>,
    /// Kinds that were neither listed nor found missing yet.
    waiting: BTreeSet<ObjectKind>,
    /// Kinds that are read by name and cannot be watched.
    unwatched: BTreeSet<ObjectKind>,
    /// When those are read again.
    reread_at: Option<Instant>,
    /// Whether something has to be tried again.
    retry: bool,
}

/// What became of a write.
enum Outcome {
    Written(Value),
    /// The object as it is now, after another writer.
    Reread(Option<Value>),
    Failed(StoreError),
}

impl<S: Store> Controller<S> {
    /// A controller that knows of no object yet.
    pub fn new(store: S, options: Options, clock: fn() -> Timestamp, counters: Arc<Counters>) -> Self {
        Controller {
            store,
            engine: Engine::new(options.settings()),
            options,
            clock,
            counters,
            published: BTreeMap::new(),
            known: BTreeMap::new(),
            named_objects: NamedObjects::default(),
            due: BTreeSet::new(),
            waiting: KINDS.iter().map(WatchedKind::object_kind).collect(),
            unwatched: BTreeSet::new(),
            reread_at: None,
            retry: false,
        }
    }

    /// Waits for the next report; none if it was time to try something again instead.
    pub(super) async fn next(
        &mut self,
        seen: &mut mpsc::Receiver<KindReport>,
    ) -> Result<Option<KindReport>, GatewayStatusError> {
        let now = Instant::now();
        let reread = (!self.unwatched.is_empty()).then(|| self.reread_at.unwrap_or(now + REREAD));
        self.reread_at = reread;
        let deadline = reread.into_iter().chain(self.retry.then_some(now + RETRY)).min();
        let event = async {
            match deadline {
                // Events must not put off what is due.
                Some(deadline) if deadline <= now => None,
                Some(deadline) => tokio::time::timeout_at(deadline, seen.recv()).await.ok(),
                None => Some(seen.recv().await),
            }
        };
        match event.await {
            Some(Some(seen)) => Ok(Some(seen)),
            Some(None) => Err(GatewayStatusError::WatchesEnded),
            None => {
                if reread.is_some_and(|time| time <= Instant::now()) {
                    self.unwatched.iter().for_each(|kind| self.named_objects.read_all_again(kind));
                    self.reread_at = None;
                }
                self.settle().await?;
                Ok(None)
            }
        }
    }

    /// Notes that a kind was listed, or that there is nothing to wait for.
    fn end_wait(&mut self, kind: &ObjectKind) {
        if self.waiting.remove(kind) && self.waiting.is_empty() {
            tracing::info!("all objects are known");
        }
    }

    /// Updates what is known of the objects by a report; [`Controller::settle`] acts on it.
    pub(super) fn observe(&mut self, KindReport { kind, content }: KindReport) {
        let object_kind = kind.object_kind();
        match content {
            ReportContent::NotServed => {
                self.end_wait(&object_kind);
                self.list(kind, &[]);
            }
            ReportContent::Event(KindEvent::Listed(objects)) => {
                self.end_wait(&object_kind);
                self.unwatched.remove(&object_kind);
                self.list(kind, &objects);
            }
            ReportContent::Event(KindEvent::Changed(object)) => self.put_seen(kind, &object),
            ReportContent::Event(KindEvent::Deleted { namespace, name }) => {
                self.remove(&ObjectKey::new(object_kind, &namespace.into(), &name.into()));
            }
            ReportContent::Event(KindEvent::Trouble { error }) => {
                tracing::warn!(%error, kind = kind.kind, "cannot watch the objects");
                if kind.is_by_name() {
                    self.end_wait(&object_kind);
                    self.unwatched.insert(object_kind);
                }
            }
        }
    }

    fn list(&mut self, kind: &WatchedKind, objects: &[Value]) {
        let object_kind = kind.object_kind();
        if kind.is_by_name() {
            let key = |object: &Value| Some((kind.read(object)?.key, version(object)?));
            self.named_objects.see_all(&object_kind, &objects.iter().filter_map(key).collect());
            return;
        }
        let before = self.known.remove(&object_kind).unwrap_or_default();
        for object in objects {
            self.put_seen(kind, object);
        }
        let now = self.known.get(&object_kind).cloned().unwrap_or_default();
        for gone in before.difference(&now) {
            self.remove(gone);
        }
    }

    fn put_seen(&mut self, kind: &WatchedKind, value: &Value) {
        let Some(object) = kind.read(value) else { return };
        if kind.is_by_name() {
            self.named_objects.see(&object.key, version(value).as_deref());
        } else {
            self.put(object, value);
        }
    }

    /// Puts an object into the engine, with what it refers to by name.
    fn put(&mut self, object: Object, value: &Value) {
        let key = object.key.clone();
        self.known.entry(key.kind.clone()).or_default().insert(key.clone());
        if has_status(&key.kind) {
            let new = PublishedStatus::of(value);
            if self.published.get(&key).is_some_and(|old| is_older(&new.resource_version, &old.resource_version)) {
                // The answer to our own write was here first.
                return;
            }
            self.published.insert(key.clone(), new);
            self.due.insert(key.clone());
        }
        self.engine.apply(Change::Put(Box::new(object)));
        if has_status(&key.kind) {
            self.engine.references(&key).iter().for_each(|target| self.named_objects.need(target));
        }
    }

    fn remove(&mut self, key: &ObjectKey) {
        if matches!(key.kind, ObjectKind::Secret | ObjectKind::ConfigMap) {
            return self.named_objects.see(key, None);
        }
        self.published.remove(key);
        if let Some(known) = self.known.get_mut(&key.kind) {
            known.remove(key);
        }
        self.engine.apply(Change::Delete(key.clone()));
    }

    /// Computes the status of what is marked, and writes what is different.
    pub async fn settle(&mut self) -> Result<(), GatewayStatusError> {
        self.retry = false;
        if !self.waiting.is_empty() {
            return Ok(());
        }
        self.check_class()?;
        for _ in 0..ATTEMPTS {
            for key in self.named_objects.forget(|key| self.engine.is_referenced(key)) {
                self.engine.apply(Change::Delete(key));
            }
            let (contents, failed) = self.named_objects.read_due(&self.store).await;
            for one in contents {
                self.engine.apply(match one {
                    Contents::Known(object) => Change::Put(object),
                    Contents::Missing(key) => Change::Delete(key),
                });
            }
            if let Some(error) = failed {
                // A status that rests on what could not be read would be wrong.
                tracing::warn!(%error, "cannot read a Secret or ConfigMap; trying again");
                self.retry = true;
                return Ok(());
            }
            self.due.extend(self.engine.evaluate());
            let due = std::mem::take(&mut self.due);
            if due.is_empty() {
                return Ok(());
            }
            self.write(due).await;
            if self.retry {
                return Ok(());
            }
        }
        self.retry |= !self.due.is_empty();
        Ok(())
    }

    /// Refuses to go on if the class is of another controller.
    fn check_class(&self) -> Result<(), GatewayStatusError> {
        let name = self.options.class.as_str();
        let key = ObjectKey::new(ObjectKind::GatewayClass, &"".into(), &name.into());
        match self.engine.object(&key).map(|object| &object.body) {
            Some(Body::GatewayClass(class)) => refuse_other(name, &class.controller),
            _ => Ok(()),
        }
    }

    /// Writes the status of these objects where it is different.
    async fn write(&mut self, keys: BTreeSet<ObjectKey>) {
        let now = (self.clock)();
        let mut writes = Vec::new();
        for key in keys {
            let (Some(object), Some(published)) = (self.engine.object(&key), self.published.get(&key)) else {
                continue;
            };
            let computed = self.engine.status(&key);
            let Some(patch) = published.patch(object, computed.as_ref(), &self.options.features, now) else {
                continue;
            };
            let reference = ObjectReference {
                kind: GroupVersionKind::new(&object.api_version, key.kind.as_str()),
                namespace: key.namespace.to_string(),
                name: key.name.to_string(),
            };
            writes.push((key, reference, patch));
        }
        let store = &self.store;
        let writes = writes.into_iter().map(async |(key, reference, patch)| {
            let outcome = match store.patch(&reference, Part::Status, &patch).await {
                Ok(object) => Outcome::Written(object),
                Err(StoreError::Conflict { .. } | StoreError::Missing { .. }) => match store.get(&reference).await {
                    Ok(object) => Outcome::Reread(object),
                    Err(error) => Outcome::Failed(error),
                },
                Err(error) => Outcome::Failed(error),
            };
            (key, outcome)
        });
        let outcomes: Vec<(ObjectKey, Outcome)> = stream::iter(writes).buffer_unordered(AT_ONCE).collect().await;
        for (key, outcome) in outcomes {
            self.conclude(key, outcome);
        }
    }

    fn conclude(&mut self, key: ObjectKey, outcome: Outcome) {
        match outcome {
            Outcome::Written(object) => {
                Counters::add(&self.counters.written);
                tracing::debug!("wrote the status of {key}");
                self.published.insert(key, PublishedStatus::of(&object));
            }
            Outcome::Reread(object) => {
                Counters::add(&self.counters.conflicts);
                match object.and_then(|value| Some((Object::from_json(&value)?, value))) {
                    Some((object, value)) => self.put(object, &value),
                    None => self.remove(&key),
                }
            }
            Outcome::Failed(error) if error.is_passing() => {
                tracing::warn!(%error, "cannot write the status of {key}; trying again");
                self.due.insert(key);
                self.retry = true;
            }
            Outcome::Failed(error) => {
                Counters::add(&self.counters.refused);
                tracing::error!(%error, "cannot write the status of {key}");
            }
        }
    }
}

/// Whether one version of an object is older than another. Versions of the API server are numbers that grow.
fn is_older(version: &str, than: &str) -> bool {
    match (version.parse::<u64>(), than.parse::<u64>()) {
        (Ok(version), Ok(than)) => version < than,
        _ => false,
    }
}
