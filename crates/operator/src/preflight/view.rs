//! The cluster as the checks see it, collected once and without a write.

use std::collections::{BTreeMap, BTreeSet};

use clearway_core::{GroupKind, GroupVersionKind, ObjectId, ObjectReference, Timestamp};
use clearway_release::{Manifest, Payload};
use clearway_sources::store::{Apply, Store, StoreError};
use futures::FutureExt as _;
use serde_json::Value;

use super::room::{self, Wanted};
use crate::carry_out::{MANAGER, Settings, Task, side_by_side};

/// What the checks see.
#[derive(Debug)]
pub struct View<'a> {
    /// The present.
    pub now: Timestamp,
    /// What is to be carried out.
    pub task: &'a Task,
    /// The release.
    pub payload: &'a Payload,
    /// What is there: the objects the release names, and those of their kinds that its owner claims.
    pub objects: BTreeMap<ObjectId, Value>,
    /// What the workloads of the release would become.
    pub workloads: BTreeMap<ObjectId, Value>,
    /// What could not be tried.
    pub trials: Vec<Trial>,
    /// The nodes, if a workload asks for some.
    pub nodes: Option<Vec<Value>>,
    /// The pods, if a workload needs room beside them.
    pub pods: Option<Vec<Value>>,
    /// The disruption budgets, if a workload is replaced.
    pub budgets: Option<Vec<Value>>,
    /// What could not be looked at, a sentence each.
    pub unseen: Vec<String>,
}

/// An object that the API server did not take when it was tried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trial {
    /// Which.
    pub id: ObjectId,
    /// Its file.
    pub file: String,
    /// What the server said.
    pub error: StoreError,
}

impl<'a> View<'a> {
    /// A view of nothing.
    pub fn empty(task: &'a Task, payload: &'a Payload, now: Timestamp) -> Self {
        View {
            now,
            task,
            payload,
            objects: BTreeMap::new(),
            workloads: BTreeMap::new(),
            trials: Vec::new(),
            nodes: None,
            pods: None,
            budgets: None,
            unseen: Vec::new(),
        }
    }

    /// Looks at a cluster. What must not be looked at is a sentence; an API server that is away is an error.
    pub async fn collect<S: Store>(
        store: &S,
        settings: &Settings,
        task: &'a Task,
        payload: &'a Payload,
    ) -> Result<Self, StoreError> {
        let mut view = View::empty(task, payload, settings.clock.now());
        let most = settings.side_by_side.max(1);
        view.look_at_objects(store, most).await?;
        view.try_out(store, most).await;
        let Wanted { nodes, pods, budgets } = room::wanted(&view);
        let kind = |wanted: bool, api_version, kind| wanted.then(|| GroupVersionKind::new(api_version, kind));
        view.nodes = view.all(store, kind(nodes, "v1", "Node")).await?;
        view.pods = view.all(store, kind(pods, "v1", "Pod")).await?;
        view.budgets = view.all(store, kind(budgets, "policy/v1", "PodDisruptionBudget")).await?;
        Ok(view)
    }

    /// The manifests that are carried out.
    pub fn manifests(&self) -> impl Iterator<Item = &'a Manifest> {
        let Self { task, payload, .. } = *self;
        payload.manifests.iter().filter(move |manifest| !task.unmanaged.contains(&manifest.id))
    }

    /// Which object a manifest is about.
    pub fn id(&self, manifest: &Manifest) -> ObjectId {
        manifest.id.clone()
    }

    /// The object of a manifest as it is.
    pub fn live(&self, manifest: &Manifest) -> Option<&Value> {
        self.objects.get(&manifest.id)
    }

    /// Everything that is there.
    pub fn present(&self) -> impl Iterator<Item = &Value> {
        self.objects.values()
    }

    async fn look_at_objects<S: Store>(&mut self, store: &S, most: usize) -> Result<(), StoreError> {
        let keys: BTreeSet<ObjectReference> = self.manifests().map(Manifest::reference).collect();
        let kinds: BTreeSet<GroupVersionKind> = keys.iter().map(|key| key.kind.clone()).collect();
        let selector = self.task.owner.selector();
        let selector = &selector;
        let owned = kinds.iter().map(|kind| {
            async move { seen(store.list(kind, selector).await, || format!("what there is of {kind}")) }.boxed()
        });
        let named = keys.iter().map(|key| async move { seen(store.get(key).await, || key.to_string()) }.boxed());
        let mut found = Vec::new();
        for outcome in side_by_side(most, owned).await {
            outcome?.map_or_else(|why| self.unseen.push(why), |objects| found.extend(objects));
        }
        for outcome in side_by_side(most, named).await {
            outcome?.map_or_else(|why| self.unseen.push(why), |object| found.extend(object));
        }
        for object in found {
            if let Ok(reference) = ObjectReference::of(&object) {
                self.objects.insert(reference.id(), object);
            }
        }
        Ok(())
    }

    /// Has the API server say what would become of each manifest that it can judge now: not those of a kind that the
    /// release defines, nor those in a namespace that is still to be made.
    async fn try_out<S: Store>(&mut self, store: &S, most: usize) {
        let defined: BTreeSet<GroupKind> =
            self.manifests().filter_map(|manifest| Some(manifest.definition()?.kind)).collect();
        let namespaces: BTreeSet<&str> =
            self.manifests().map(|manifest| manifest.id.namespace.as_str()).filter(|name| !name.is_empty()).collect();
        let namespaces = namespaces.into_iter().map(|name| {
            let there = async move {
                let found =
                    store.get(&ObjectReference::cluster_scoped(GroupVersionKind::new("v1", "Namespace"), name)).await;
                // Without leave to look at namespaces, the trial itself shows whether it is there.
                (!matches!(found, Ok(None))).then_some(name)
            };
            there.boxed()
        });
        let there: BTreeSet<&str> = side_by_side(most, namespaces).await.into_iter().flatten().collect();
        let tried = self.manifests().filter(|manifest| {
            let left_alone = manifest.create_only() && self.live(manifest).is_some();
            let claimed = self.live(manifest).is_some_and(|live| self.task.owner.other(live).is_some());
            let homeless = !manifest.id.namespace.is_empty() && !there.contains(manifest.id.namespace.as_str());
            let unknown = defined.contains(&manifest.id.group_kind());
            !(manifest.deletes() || left_alone || claimed || homeless || unknown)
        });
        let how = Apply { manager: MANAGER, force: true, dry_run: true };
        let owner = &self.task.owner;
        let trials = tried.map(|manifest| {
            let tried = async move {
                let answer = store.apply(&owner.stamped(manifest), &how).await;
                // Only workloads are looked at again; a thousand others need not be kept.
                let keep = room::is_workload(&manifest.id);
                (manifest, answer.map(|answer| if keep { answer } else { Value::Null }))
            };
            tried.boxed()
        });
        for (manifest, outcome) in side_by_side(most, trials).await {
            let id = manifest.id.clone();
            match outcome {
                Ok(answer) if answer.is_null() => {}
                Ok(answer) => drop(self.workloads.insert(id, answer)),
                Err(error) => self.trials.push(Trial { id, file: manifest.file.clone(), error }),
            }
        }
    }

    async fn all<S: Store>(
        &mut self,
        store: &S,
        kind: Option<GroupVersionKind>,
    ) -> Result<Option<Vec<Value>>, StoreError> {
        let Some(kind) = kind else { return Ok(None) };
        match seen(store.list(&kind, "").await, || format!("what there is of {kind}"))? {
            Ok(objects) => Ok(Some(objects)),
            Err(why) => {
                self.unseen.push(why);
                Ok(None)
            }
        }
    }
}

/// What was seen, or a sentence why it must not be; a kind that is not served has no objects.
fn seen<T: Default>(
    outcome: Result<T, StoreError>,
    what: impl FnOnce() -> String,
) -> Result<Result<T, String>, StoreError> {
    match outcome {
        Ok(found) => Ok(Ok(found)),
        Err(StoreError::NoSuchKind { .. } | StoreError::Missing { .. }) => Ok(Ok(T::default())),
        Err(error) if error.is_passing() => Err(error),
        Err(error) => Ok(Err(format!("{} could not be looked at: {error}.", what()))),
    }
}
