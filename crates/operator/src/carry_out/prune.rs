//! Removes what an owner once brought about and its release no longer has.

use std::collections::{BTreeMap, BTreeSet};

use clearway_core::{EventType, GroupVersionKind, ObjectId, ObjectReference, Timestamp, humanize};
use clearway_sources::store::{Store, StoreError};
use futures::FutureExt as _;
use serde_json::Value;
use tokio::time::Instant;

use super::apply::Course;
use super::apply_object::{failure, uid};
use super::ledger::Trouble;
use super::{Settings, side_by_side};
use clearway_update::owner::Owner;
use clearway_update::rollout::Failure;

/// Namespaces that every cluster has.
const FOR_GOOD: [&str; 4] = ["default", "kube-node-lease", "kube-public", "kube-system"];
/// Names that are given to objects left behind in one sentence.
const NAMED: usize = 3;

/// What goes before what: everything else before definitions, and namespaces last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Turn {
    Objects,
    Definitions,
    Namespaces,
}

/// Who may have applied what is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Appliers {
    /// Only the operator: what is found may be removed.
    Us,
    /// Anybody, as where something else applies what was rendered.
    Anybody,
}

/// What carries the owner's label and is not among what stays: in the order in which it goes. The error comes with the kind
/// that could not be looked through.
pub async fn orphans<S: Store>(
    store: &S,
    owner: &Owner,
    stays: &BTreeSet<ObjectId>,
    appliers: Appliers,
    most: usize,
) -> Result<Vec<Value>, (Option<GroupVersionKind>, StoreError)> {
    let is_one = |object: &Value| match appliers {
        Appliers::Us => owner.made(object),
        // What a controller made for another object goes with that.
        Appliers::Anybody => owner.claims(object) && !comes_with_another(object),
    };
    let kinds = store.kinds().await.map_err(|error| (None, error))?;
    let mut seen = BTreeSet::new();
    let kinds =
        kinds.into_iter().filter(|kind| is_kept_there(kind) && seen.insert((kind.group.clone(), kind.kind.clone())));
    let selector = owner.selector();
    let lists = kinds.map(|kind| {
        let selector = &selector;
        let list = async move {
            match store.list(&kind, selector).await {
                Err(StoreError::NoSuchKind { .. }) => Ok(Vec::new()),
                listed => listed.map_err(|error| (Some(kind), error)),
            }
        };
        list.boxed()
    });
    let lists: Result<Vec<Vec<Value>>, _> = side_by_side(most, lists).await.into_iter().collect();
    let mut found: Vec<(Turn, ObjectId, Value)> = lists?
        .into_iter()
        .flatten()
        .filter(is_one)
        .filter_map(|object| {
            let id = ObjectReference::of(&object).ok()?.id();
            Some((turn(&id), id, object))
        })
        .filter(|(_, id, _)| !stays.contains(id))
        .collect();
    found.sort_by(|(turn, id, _), (other, another, _)| (turn, id).cmp(&(other, another)));
    Ok(found.into_iter().map(|(_, _, object)| object).collect())
}

/// Measurements and Events are listed like objects, but nobody applies them.
fn is_kept_there(kind: &GroupVersionKind) -> bool {
    kind.kind != "Event" && kind.group != "metrics.k8s.io" && !kind.group.ends_with(".metrics.k8s.io")
}

fn turn(id: &ObjectId) -> Turn {
    match (id.group.as_str(), id.kind.as_str()) {
        ("apiextensions.k8s.io", "CustomResourceDefinition") => Turn::Definitions,
        ("", "Namespace") => Turn::Namespaces,
        _ => Turn::Objects,
    }
}

/// An object on its way out.
struct Leaving {
    key: ObjectReference,
    id: ObjectId,
    uid: String,
    definition: Option<GroupVersionKind>,
    since: Timestamp,
    due: Instant,
    looks: u32,
    trouble: Option<Trouble>,
}

/// How an object on its way out is.
enum Left {
    Gone,
    Going,
    CachedState(String),
}

impl<S: Store> Course<'_, S> {
    /// Removes what is no longer in the release, and waits until it is gone.
    pub(super) async fn prune(&self) {
        let Settings { pace, jitter, clock, .. } = self.means.settings;
        let mut kept: BTreeMap<ObjectId, String> = BTreeMap::new();
        let mut trouble: Option<Trouble> = None;
        let task = self.means.task;
        // What the release deletes is not in it, but went already.
        let mut stays: BTreeSet<ObjectId> =
            self.means.payload.manifests.iter().map(|manifest| manifest.id.clone()).collect();
        stays.extend(task.unmanaged.iter().cloned());
        stays.extend(ObjectReference::of(&task.about).ok().map(|reference| reference.id()));
        loop {
            let most = self.means.settings.side_by_side;
            let found = match orphans(self.means.store, &task.owner, &stays, Appliers::Us, most).await {
                Ok(found) => found,
                Err((kind, error)) => {
                    let (passing, now) = (error.is_passing(), clock.now());
                    let among = kind.map(|kind| format!(" among {kind}")).unwrap_or_default();
                    let message = format!("cannot list objects that are no longer in the release{among}: {error}");
                    let said = Failure { reason: "CannotPrune".to_owned(), message };
                    let after = Trouble::after(trouble.take(), said, passing, now);
                    self.removing(&[], after.reported(pace, now).into_iter().collect());
                    tokio::time::sleep(pace.retry(after.times, passing, *jitter)).await;
                    trouble = Some(after);
                    continue;
                }
            };
            trouble = None;
            let leaving: Vec<Leaving> = found
                .iter()
                .filter_map(|object| Leaving::new(object, clock.now()))
                .filter(|leaving| !kept.contains_key(&leaving.id))
                .collect();
            let Some(first) = leaving.first().map(|leaving| turn(&leaving.id)) else { break };
            self.remove(leaving.into_iter().filter(|leaving| turn(&leaving.id) == first).collect(), &mut kept).await;
        }
        self.removing(&[], Vec::new());
        let release = self.means.task.request.name();
        for (id, why) in kept {
            self.say(EventType::Warning, "NotPruned", format!("{id} is no longer in {release}, but is kept: {why}"))
                .await;
        }
    }

    /// Removes objects side by side, and waits until they are gone or it is clear that they stay.
    async fn remove(&self, mut leaving: Vec<Leaving>, kept: &mut BTreeMap<ObjectId, String>) {
        let Settings { pace, jitter, clock, .. } = self.means.settings;
        while let Some(due) = leaving.iter().map(|one| one.due).min() {
            tokio::time::sleep_until(due).await;
            let now = Instant::now();
            let outcomes = leaving
                .iter()
                .map(|one| async move { if one.due <= now { Some(self.see_out(one).await) } else { None } }.boxed());
            let outcomes = side_by_side(self.means.settings.side_by_side, outcomes).await;
            let mut left = Vec::new();
            for (mut one, outcome) in leaving.into_iter().zip(outcomes) {
                match outcome {
                    Some(Ok(Left::Gone)) => continue,
                    Some(Ok(Left::CachedState(why))) => {
                        kept.insert(one.id, why);
                        continue;
                    }
                    Some(Ok(Left::Going)) => {
                        (one.trouble, one.looks) = (None, one.looks.saturating_add(1));
                        one.due = Instant::now() + pace.look(one.looks);
                    }
                    Some(Err(error)) => {
                        let passing = error.is_passing();
                        let said = failure(&one.id, "", &error);
                        let trouble = Trouble::after(one.trouble.take(), said, passing, clock.now());
                        one.due = Instant::now() + pace.retry(trouble.times, passing, *jitter);
                        one.trouble = Some(trouble);
                    }
                    None => {}
                }
                left.push(one);
            }
            leaving = left;
            let failures = leaving.iter().filter_map(|one| one.failure(self.means.settings)).collect();
            let names: Vec<String> = leaving.iter().map(|one| one.id.to_string()).collect();
            self.removing(&names, failures);
        }
    }

    /// Deletes an object that is there and still ours.
    async fn see_out(&self, one: &Leaving) -> Result<Left, StoreError> {
        let live = match self.means.store.get(&one.key).await {
            Err(StoreError::NoSuchKind { .. }) => None,
            live => live?,
        };
        let owner = &self.means.task.owner;
        let Some(live) = live.filter(|live| uid(live) == one.uid && owner.made(live)) else { return Ok(Left::Gone) };
        if live["metadata"]["deletionTimestamp"].is_string() {
            return Ok(Left::Going);
        }
        let why = match turn(&one.id) {
            Turn::Objects => None,
            Turn::Definitions => self.left_of(one.definition.as_ref()).await?,
            Turn::Namespaces => self.left_in(&one.id.name).await?,
        };
        if let Some(why) = why {
            return Ok(Left::CachedState(why));
        }
        self.means.store.delete(&one.key, &one.uid).await?;
        Ok(Left::Going)
    }

    /// Why a definition stays.
    async fn left_of(&self, kind: Option<&GroupVersionKind>) -> Result<Option<String>, StoreError> {
        let Some(kind) = kind else { return Ok(None) };
        let objects = match self.means.store.list(kind, "").await {
            Err(StoreError::NoSuchKind { .. }) => Vec::new(),
            listed => listed?,
        };
        Ok(left_behind(&objects, "objects of its kind still exist"))
    }

    /// Why a namespace stays.
    async fn left_in(&self, namespace: &str) -> Result<Option<String>, StoreError> {
        if FOR_GOOD.contains(&namespace) {
            return Ok(Some("it is part of every cluster".to_owned()));
        }
        let kinds = self.means.store.kinds().await?;
        let lists = kinds.iter().filter(|kind| is_kept_there(kind)).map(|kind| {
            let list = async move {
                match self.means.store.list_in(kind, namespace).await {
                    Err(StoreError::NoSuchKind { .. }) => Ok(Vec::new()),
                    listed => listed,
                }
            };
            list.boxed()
        });
        let lists: Result<Vec<Vec<Value>>, StoreError> =
            side_by_side(self.means.settings.side_by_side, lists).await.into_iter().collect();
        let left: Vec<Value> = lists?
            .into_iter()
            .flatten()
            .filter(|object| !comes_with_a_namespace(object) && !comes_with_another(object))
            .collect();
        Ok(left_behind(&left, "it still contains objects that are not of this release"))
    }

    fn removing(&self, names: &[String], failures: Vec<Failure>) {
        {
            let mut ledger = self.ledger();
            ledger.removing = names.to_vec();
            ledger.removal_failures = failures;
        }
        self.tell();
    }
}

impl Leaving {
    fn new(object: &Value, now: Timestamp) -> Option<Self> {
        let key = ObjectReference::of(object).ok()?;
        let word = |value: &Value| value.as_str().map(str::to_owned);
        let spec = &object["spec"];
        let version = spec["versions"].as_array().and_then(|all| all.iter().find(|one| one["served"] == true));
        let definition = version.and_then(|version| {
            Some(GroupVersionKind {
                group: word(&spec["group"])?,
                version: word(&version["name"])?,
                kind: word(&spec["names"]["kind"])?,
            })
        });
        let (id, uid) = (key.id(), uid(object).to_owned());
        Some(Leaving { key, id, uid, definition, since: now, due: Instant::now(), looks: 0, trouble: None })
    }

    fn failure(&self, settings: &Settings) -> Option<Failure> {
        let (now, pace) = (settings.clock.now(), &settings.pace);
        if let Some(trouble) = &self.trouble {
            return trouble.reported(pace, now);
        }
        (now.since(self.since) >= pace.patience).then(|| {
            let longer = humanize(pace.patience);
            let message = format!(
                "{} is no longer in the release and was deleted more than {longer} ago, but still exists; check its finalizers",
                self.id
            );
            Failure { reason: "TakesTooLong".to_owned(), message }
        })
    }
}

/// What every namespace has.
fn comes_with_a_namespace(object: &Value) -> bool {
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    match object["kind"].as_str().unwrap_or_default() {
        "ServiceAccount" => name == "default",
        "ConfigMap" => name == "kube-root-ca.crt" || name == "openshift-service-ca.crt",
        _ => false,
    }
}

/// What is made for another object, and goes with it.
fn comes_with_another(object: &Value) -> bool {
    let owners = object["metadata"]["ownerReferences"].as_array();
    owners.is_some_and(|owners| !owners.is_empty())
        || object["kind"] == "Endpoints"
        || object["kind"] == "EndpointSlice"
}

fn left_behind(objects: &[Value], what: &str) -> Option<String> {
    let names: Vec<String> = objects
        .iter()
        .filter(|object| !object["metadata"]["deletionTimestamp"].is_string())
        .filter_map(|object| Some(ObjectReference::of(object).ok()?.id().to_string()))
        .collect();
    let (shown, more) = (names.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", "), names.len());
    match more {
        0 => None,
        more if more > NAMED => Some(format!("{what} ({shown} and {} more)", more - NAMED)),
        _ => Some(format!("{what} ({shown})")),
    }
}
