//! Releases, and a store that plays the controllers, keeps a log, fails on request and stops at any request.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use clearway_core::{Event, GroupVersionKind, ObjectReference, Timestamp};
use clearway_operator::apply_update::{Clock, Settings, apply, prepare};
use clearway_release::{Files, Metadata, Payload};
use clearway_sources::oci::{Cache, Registry, RegistryOptions};
use clearway_sources::release::{directory, write_directory};
use clearway_sources::store::{Apply, Page, Part, StateDirectory, Store, StoreError, StoreEvent};
use clearway_update::api::Release;
use clearway_update::desired_update::downgrade::CurrentRelease;
use clearway_update::owner::Owner;
use clearway_update::rollout::{Progress, Rollout, UpdateRequest};
use clearway_update::task::{Task, Veto};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::{Notify, mpsc, watch};

pub(crate) const OURS: &str = "ClusterVersion.version";

/// A release in a directory.
pub(crate) fn release(root: &Path, version: &str, manifests: &[(&str, Value)]) -> PathBuf {
    let path = root.join(version);
    let mut files: Files =
        manifests.iter().map(|(name, object)| (format!("{name}.yaml"), object.to_string().into_bytes())).collect();
    let metadata = Metadata {
        version: version.parse().unwrap(),
        previous: Vec::new(),
        next: Vec::new(),
        metadata: BTreeMap::new(),
    };
    files.insert("release-metadata".to_owned(), metadata.write());
    write_directory(&path, &files, None).unwrap();
    path
}

pub(crate) fn config(namespace: &str, name: &str, value: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": namespace}, "data": {"value": value}})
}

pub(crate) fn namespace(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
}

pub(crate) fn deployment(namespace: &str, name: &str, image: &str) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": namespace},
        "spec": {"replicas": 1, "selector": {"matchLabels": {"app": name}}, "template": {
            "metadata": {"labels": {"app": name}}, "spec": {"containers": [{"name": "main", "image": image}]},
        }},
    })
}

pub(crate) fn definition(group: &str, kind: &str, versions: &[&str]) -> Value {
    let plural = format!("{}s", kind.to_lowercase());
    let versions: Vec<Value> = versions
        .iter()
        .enumerate()
        .map(|(index, version)| {
            json!({
                "name": version, "served": true, "storage": index == 0,
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer"}}}}}},
            })
        })
        .collect();
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.{group}")},
        "spec": {
            "group": group, "scope": "Namespaced", "versions": versions,
            "names": {"kind": kind, "listKind": format!("{kind}List"), "plural": plural, "singular": kind.to_lowercase()},
        },
    })
}

pub(crate) fn custom(group: &str, kind: &str, namespace: &str, name: &str, size: u32) -> Value {
    json!({"apiVersion": format!("{group}/v1"), "kind": kind, "metadata": {"name": name, "namespace": namespace}, "spec": {"size": size}})
}

pub(crate) fn annotated(mut object: Value, name: &str, value: &str) -> Value {
    object["metadata"]["annotations"][name] = value.into();
    object
}

pub(crate) fn request(path: &Path, version: &str) -> UpdateRequest {
    let image = format!("file://{}", path.display());
    UpdateRequest {
        release: Release { version: version.to_owned(), image, ..Release::default() },
        force: false,
        resumes: false,
    }
}

pub(crate) fn task(request: UpdateRequest) -> Task {
    Task {
        request,
        about: json!({"apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion", "metadata": {"name": "version"}}),
        owner: Owner::new("ClusterVersion", "version"),
        begun: false,
        unmanaged: BTreeSet::new(),
        veto: Veto::Never,
        carried: Vec::new(),
        current: CurrentRelease::default(),
    }
}

/// Settings with a clock that goes with the runtime's, so that minutes pass in no time.
pub(crate) fn settings() -> Settings {
    let base: Timestamp = "2026-05-04T09:00:00Z".parse().unwrap();
    let start = tokio::time::Instant::now();
    Settings { clock: Clock::new(move || base.plus(start.elapsed())), ..real_settings() }
}

pub(crate) fn real_settings() -> Settings {
    Settings::new(Registry::new(RegistryOptions::default()).unwrap(), Cache::none())
}

pub(crate) fn read(path: &Path, settings: &Settings) -> Payload {
    directory(path, &settings.limits).unwrap().payload(&settings.selection, &settings.limits).unwrap()
}

/// An object as the store calls it.
pub(crate) fn key(object: &Value) -> ObjectReference {
    ObjectReference::of(object).unwrap()
}

/// Brings a release about from the beginning to the end, and gives everything that was said.
pub(crate) async fn update<S: Store>(store: &S, settings: &Settings, task: &Task) -> Vec<Rollout> {
    let (report, mut heard) = watch::channel(Rollout::Idle);
    let carried = async {
        let (prepared, payload) = prepare(store, settings, task, &report).await;
        apply(store, settings, task, &prepared, &payload, &report).await;
    };
    tokio::pin!(carried);
    let mut said = Vec::new();
    loop {
        tokio::select! {
            biased;
            Ok(()) = heard.changed() => said.push(heard.borrow_and_update().clone()),
            () = &mut carried => break,
        }
    }
    said.push(heard.borrow().clone());
    said.dedup();
    said
}

/// How far a started update is, for tests that change something meanwhile.
pub(crate) struct Started {
    heard: watch::Receiver<Rollout>,
    running: tokio::task::JoinHandle<()>,
}

pub(crate) fn start<S: Store>(store: &S, settings: &Settings, task: &Task) -> Started {
    let (report, heard) = watch::channel(Rollout::Idle);
    let (store, settings, task) = (store.clone(), settings.clone(), task.clone());
    let running = tokio::spawn(async move {
        let (prepared, payload) = prepare(&store, &settings, &task, &report).await;
        apply(&store, &settings, &task, &prepared, &payload, &report).await;
    });
    Started { heard, running }
}

impl Started {
    /// Waits until something is said.
    pub(crate) async fn until(&mut self, what: &str, wanted: impl Fn(&Rollout) -> bool) -> Rollout {
        let limit = Duration::from_mins(30);
        let found = tokio::time::timeout(limit, self.heard.wait_for(|rollout| wanted(rollout))).await;
        let found = found.map(|found| found.expect("it goes on").clone()).ok();
        found.unwrap_or_else(|| panic!("{what} was never said; last: {:?}", *self.heard.borrow()))
    }

    pub(crate) async fn done(&mut self) {
        self.until("that it is done", |rollout| matches!(rollout, Rollout::Done { .. })).await;
    }

    /// How often something is said within this time.
    pub(crate) async fn reports_within(&mut self, time: Duration) -> usize {
        let end = tokio::time::Instant::now() + time;
        self.heard.mark_unchanged();
        let mut reports = 0;
        while let Ok(changed) = tokio::time::timeout_at(end, self.heard.changed()).await {
            changed.expect("it goes on");
            reports += 1;
        }
        reports
    }

    /// What is said of how far it is, once that is so.
    pub(crate) async fn progress(&mut self, what: &str, wanted: impl Fn(&Progress) -> bool) -> Progress {
        let rollout =
            self.until(what, |rollout| matches!(rollout, Rollout::Applying { progress, .. } if wanted(progress))).await;
        let Rollout::Applying { progress, .. } = rollout else { unreachable!() };
        progress
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        self.running.abort();
    }
}

/// A state directory in which Deployments roll out and definitions are established, one look after they were applied.
#[derive(Clone)]
pub(crate) struct World {
    pub(crate) state: StateDirectory,
    pub(crate) inner: Arc<Mutex<Inner>>,
    /// Requests until one is never answered; below zero, all are.
    fuse: Arc<AtomicI64>,
    pub(crate) blown: Arc<Notify>,
    started: tokio::time::Instant,
    _root: Arc<TempDir>,
}

#[derive(Default)]
pub(crate) struct Inner {
    /// Every change, in order: `apply ConfigMap shop/web`.
    pub(crate) log: Vec<String>,
    /// Objects that never become healthy.
    pub(crate) sick: BTreeSet<String>,
    /// Deployments whose pods crash, run again, are ready for a moment, and crash again: a minute for each turn.
    pub(crate) crashing: BTreeSet<String>,
    /// What applying an object is answered with.
    pub(crate) refusals: BTreeMap<String, StoreError>,
    /// What everything is answered with.
    pub(crate) away: bool,
    pub(crate) events: Vec<Event>,
}

impl World {
    pub(crate) fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        World {
            state: StateDirectory::open(&root.path().join("state")).unwrap(),
            inner: Arc::default(),
            fuse: Arc::new(AtomicI64::new(-1)),
            blown: Arc::default(),
            started: tokio::time::Instant::now(),
            _root: Arc::new(root),
        }
    }

    /// After so many requests there is no more answer, as if this process were dead.
    pub(crate) fn stop_after(&self, requests: i64) {
        self.fuse.store(requests, Ordering::SeqCst);
    }

    pub(crate) fn change(&self, change: impl FnOnce(&mut Inner)) {
        change(&mut self.inner.lock().unwrap());
    }

    pub(crate) fn log(&self) -> Vec<String> {
        self.inner.lock().unwrap().log.clone()
    }

    /// The names of everything that is there, with the value of a `ConfigMap`.
    pub(crate) async fn everything(&self) -> BTreeMap<String, Value> {
        let mut found = BTreeMap::new();
        for kind in self.state.kinds().await.unwrap() {
            for object in self.state.list(&kind, "").await.unwrap() {
                let value = match object.get("data") {
                    Some(data) => data["value"].clone(),
                    None => object["spec"].clone(),
                };
                found.insert(key(&object).to_string(), value);
            }
        }
        found
    }

    /// Whether the request is made, and whether it is answered.
    async fn request<T>(&self, made: impl Future<Output = Result<T, StoreError>>) -> Result<T, StoreError> {
        // Others may go first.
        tokio::task::yield_now().await;
        if self.inner.lock().unwrap().away {
            return Err(StoreError::Away { why: "connection refused".to_owned() });
        }
        let left = self.fuse.fetch_sub(1, Ordering::SeqCst);
        if left == 0 || left == 1 {
            // The last request is made, but its answer is lost; the one after it is not even made.
            if left == 1 {
                let _ = made.await;
            }
            self.blown.notify_one();
            return std::future::pending().await;
        }
        if left < 0 {
            self.fuse.store(-1, Ordering::SeqCst);
        }
        made.await
    }

    fn noted(&self, verb: &str, key: &ObjectReference) -> Result<(), StoreError> {
        let mut inner = self.inner.lock().unwrap();
        inner.log.push(format!("{verb} {key}"));
        inner.refusals.get(&key.to_string()).cloned().map_or(Ok(()), Err)
    }

    /// Plays the controllers for an object that is looked at.
    async fn play(&self, object: Value) -> Result<Value, StoreError> {
        let key = key(&object);
        if self.inner.lock().unwrap().sick.contains(&key.to_string()) {
            return Ok(object);
        }
        let condition = |name: &str, reason: &str| json!({"type": name, "status": "True", "reason": reason});
        let crashing = self.inner.lock().unwrap().crashing.contains(&key.to_string());
        let in_turn = self.started.elapsed().as_secs() % 60;
        let status = match key.kind.kind.as_str() {
            "Deployment" if crashing && in_turn < 50 => {
                let late = json!({"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded"});
                let conditions = if in_turn < 30 { vec![late] } else { Vec::new() };
                json!({"observedGeneration": object["metadata"]["generation"], "replicas": 1, "updatedReplicas": 1, "conditions": conditions})
            }
            "Deployment" => json!({
                "observedGeneration": object["metadata"]["generation"],
                "replicas": 1, "updatedReplicas": 1, "readyReplicas": 1, "availableReplicas": 1,
                "conditions": [condition("Available", "MinimumReplicasAvailable"), condition("Progressing", "NewReplicaSetAvailable")],
            }),
            "CustomResourceDefinition" => json!({
                "conditions": [condition("NamesAccepted", "NoConflicts"), condition("Established", "InitialNamesAccepted")],
                "storedVersions": [object["spec"]["versions"][0]["name"]],
            }),
            "Namespace" => json!({"phase": "Active"}),
            _ => return Ok(object),
        };
        if object["status"] == status {
            return Ok(object);
        }
        self.state.patch(&key, Part::Status, &json!({"status": null})).await?;
        self.state.patch(&key, Part::Status, &json!({"status": status})).await
    }
}

impl Store for World {
    async fn get(&self, key: &ObjectReference) -> Result<Option<Value>, StoreError> {
        self.request(async {
            match self.state.get(key).await? {
                Some(object) => Ok(Some(self.play(object).await?)),
                None => Ok(None),
            }
        })
        .await
    }

    async fn list(&self, kind: &GroupVersionKind, labels: &str) -> Result<Vec<Value>, StoreError> {
        self.request(self.state.list(kind, labels)).await
    }

    async fn list_in(&self, kind: &GroupVersionKind, namespace: &str) -> Result<Vec<Value>, StoreError> {
        self.request(self.state.list_in(kind, namespace)).await
    }

    async fn page(&self, kind: &GroupVersionKind, token: Option<&str>, objects: u32) -> Result<Page, StoreError> {
        self.request(self.state.page(kind, token, objects)).await
    }

    async fn kinds(&self) -> Result<Vec<GroupVersionKind>, StoreError> {
        self.request(self.state.kinds()).await
    }

    async fn create(&self, object: &Value) -> Result<Value, StoreError> {
        self.request(self.state.create(object)).await
    }

    async fn apply(&self, object: &Value, how: &Apply<'_>) -> Result<Value, StoreError> {
        self.request(async {
            if !how.dry_run {
                self.noted("apply", &ObjectReference::of(object)?)?;
            }
            self.state.apply(object, how).await
        })
        .await
    }

    async fn patch(&self, key: &ObjectReference, part: Part, patch: &Value) -> Result<Value, StoreError> {
        self.request(self.state.patch(key, part, patch)).await
    }

    async fn replace_status(&self, object: &Value) -> Result<Value, StoreError> {
        self.request(self.state.replace_status(object)).await
    }

    async fn delete(&self, key: &ObjectReference, uid: &str) -> Result<(), StoreError> {
        self.request(async {
            self.noted("delete", key)?;
            self.state.delete(key, uid).await
        })
        .await
    }

    async fn follow(
        &self,
        kind: &GroupVersionKind,
        names: BTreeSet<String>,
    ) -> Result<mpsc::Receiver<StoreEvent>, StoreError> {
        self.state.follow(kind, names).await
    }

    async fn record_event(&self, _about: &Value, event: &Event) -> Result<(), StoreError> {
        self.inner.lock().unwrap().events.push(event.clone());
        Ok(())
    }
}
