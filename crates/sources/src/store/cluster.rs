//! The API server of a cluster as a store.

use std::collections::BTreeSet;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use clearway_advice::evidence::ObjectRequest;
use clearway_advice::reproduce;
use clearway_core::{Event, EventType, GroupVersionKind, ObjectReference};
use kube::runtime::events::{EventType as RecordedType, Recorder, Reporter};
use serde_json::Value;
use tokio::sync::mpsc;

use super::{Apply, Page, Part, Store, StoreError, StoreEvent};
use crate::kubernetes::{self, Catalog, Cluster, ClusterError, Resource};

/// Pages of a list that are asked for; more objects of one kind than this times 500 are a mistake.
const PAGES: usize = 200;

/// A connection to an API server, with what it is known to serve.
#[derive(Clone)]
pub struct ClusterStore {
    cluster: Cluster,
    /// Asked for when a kind is met that is not in it: definitions come and go.
    catalog: Arc<RwLock<Arc<Catalog>>>,
    recorder: Recorder,
    /// After how much silence what is followed is asked for.
    silence: Duration,
}

impl ClusterStore {
    /// A store on a connection; nothing is sent yet. `reporter` is the name that stands in events.
    pub fn new(cluster: Cluster, reporter: &str) -> Self {
        let reporter = Reporter { controller: reporter.to_owned(), instance: None };
        let recorder = Recorder::new(cluster.client(), reporter);
        ClusterStore { cluster, catalog: Arc::default(), recorder, silence: kubernetes::SILENCE }
    }

    /// The same for who runs for months: what is followed is asked for after this much silence, and not sooner.
    #[must_use]
    pub fn with_silence(mut self, silence: Duration) -> Self {
        self.silence = silence;
        self
    }

    /// The connection.
    pub fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// How a kind is asked for; a kind that is not known is looked for once more.
    async fn resource(&self, kind: &GroupVersionKind) -> Result<Resource, StoreError> {
        let found = |catalog: &Catalog| {
            let mut resource = catalog.of(&kind.group, &kind.kind)?.clone();
            resource.kind.version.clone_from(&kind.version);
            Some(resource)
        };
        if let Some(resource) = found(&self.known()) {
            return Ok(resource);
        }
        found(&*self.learn().await?).ok_or_else(|| StoreError::NoSuchKind { kind: kind.clone() })
    }

    fn known(&self) -> Arc<Catalog> {
        self.catalog.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    async fn learn(&self) -> Result<Arc<Catalog>, StoreError> {
        let catalog = Arc::new(self.cluster.catalog().await?);
        *self.catalog.write().unwrap_or_else(PoisonError::into_inner) = catalog.clone();
        Ok(catalog)
    }

    async fn pages(
        &self,
        kind: &GroupVersionKind,
        resource: &Resource,
        namespace: Option<&str>,
        labels: Option<&str>,
    ) -> Result<Vec<Value>, StoreError> {
        let (mut objects, mut token) = (Vec::new(), None);
        for _ in 0..PAGES {
            let page = self.cluster.list(resource, namespace, labels, token.as_deref()).await;
            let page = page.map_err(|error| named(error, kind))?;
            objects.extend(page.items);
            token = page.next;
            if token.is_none() {
                return Ok(objects);
            }
        }
        Err(StoreError::Away { why: format!("there are more than {} objects of {kind}", objects.len()) })
    }

    async fn place(&self, object: &Value) -> Result<Resource, StoreError> {
        let key = ObjectReference::of(object)?;
        let resource = self.resource(&key.kind).await?;
        // The path would name another object, or none.
        if resource.namespaced == key.namespace.is_empty() {
            let should = if resource.namespaced { "needs a" } else { "has no" };
            return Err(StoreError::Refused { why: format!("{key}: this kind {should} namespace") });
        }
        Ok(resource)
    }
}

/// A collection that answers 404 is a kind that is not served (any more), and worth a name.
fn named(error: ClusterError, kind: &GroupVersionKind) -> StoreError {
    match error {
        ClusterError::NoSuchKind { .. } => StoreError::NoSuchKind { kind: kind.clone() },
        other => other.into(),
    }
}

impl Store for ClusterStore {
    async fn get(&self, key: &ObjectReference) -> Result<Option<Value>, StoreError> {
        let resource = self.resource(&key.kind).await?;
        match self.cluster.get(&resource, &key.namespace, &key.name).await {
            Ok(object) => Ok(Some(object)),
            Err(ClusterError::NotFound { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    async fn list(&self, kind: &GroupVersionKind, labels: &str) -> Result<Vec<Value>, StoreError> {
        let resource = self.resource(kind).await?;
        self.pages(kind, &resource, None, (!labels.is_empty()).then_some(labels)).await
    }

    async fn list_in(&self, kind: &GroupVersionKind, namespace: &str) -> Result<Vec<Value>, StoreError> {
        let resource = self.resource(kind).await?;
        if !resource.namespaced {
            return Ok(Vec::new());
        }
        self.pages(kind, &resource, Some(namespace), None).await
    }

    async fn page(&self, kind: &GroupVersionKind, token: Option<&str>, objects: u32) -> Result<Page, StoreError> {
        let resource = self.resource(kind).await?;
        self.cluster.page(&resource, token, objects).await.map_err(|error| named(error, kind))
    }

    fn show_command(&self, request: &ObjectRequest) -> Option<String> {
        Some(reproduce::kubectl(request, &self.cluster.connection().kubectl_options()))
    }

    fn stale_groups(&self) -> BTreeSet<String> {
        self.known().stale_groups().clone()
    }

    async fn kinds(&self) -> Result<Vec<GroupVersionKind>, StoreError> {
        let catalog = self.learn().await?;
        Ok(catalog.listable().map(|resource| resource.kind.clone()).collect())
    }

    async fn create(&self, object: &Value) -> Result<Value, StoreError> {
        Ok(self.cluster.create(&self.place(object).await?, object).await?)
    }

    async fn apply(&self, object: &Value, how: &Apply<'_>) -> Result<Value, StoreError> {
        Ok(self.cluster.apply(&self.place(object).await?, object, how).await?)
    }

    async fn patch(&self, key: &ObjectReference, part: Part, patch: &Value) -> Result<Value, StoreError> {
        let resource = self.resource(&key.kind).await?;
        Ok(self.cluster.patch(&resource, (&key.namespace, &key.name), part, patch).await?)
    }

    async fn replace_status(&self, object: &Value) -> Result<Value, StoreError> {
        Ok(self.cluster.replace(&self.place(object).await?, Part::Status, object).await?)
    }

    async fn delete(&self, key: &ObjectReference, uid: &str) -> Result<(), StoreError> {
        let resource = self.resource(&key.kind).await?;
        match self.cluster.delete(&resource, (&key.namespace, &key.name), uid).await {
            Ok(()) | Err(ClusterError::NotFound { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    async fn follow(
        &self,
        kind: &GroupVersionKind,
        names: BTreeSet<String>,
    ) -> Result<mpsc::Receiver<StoreEvent>, StoreError> {
        let mut seen = self.cluster.follow_for(&self.resource(kind).await?, "", names, self.silence);
        let (report, handed) = mpsc::channel(64);
        tokio::spawn(async move {
            while let Some(seen) = seen.recv().await {
                let seen = match seen {
                    kubernetes::WatchEvent::Object(object) => StoreEvent::Object(object),
                    kubernetes::WatchEvent::Gone { name } => StoreEvent::Gone { name },
                    kubernetes::WatchEvent::Trouble { error } => StoreEvent::Trouble { error: error.into() },
                };
                if report.send(seen).await.is_err() {
                    return;
                }
            }
        });
        Ok(handed)
    }

    async fn record_event(&self, about: &Value, event: &Event) -> Result<(), StoreError> {
        let word = |value: &Value| value.as_str().map(str::to_owned);
        let metadata = &about["metadata"];
        let reference = kubernetes::ObjectReference {
            api_version: word(&about["apiVersion"]),
            kind: word(&about["kind"]),
            name: word(&metadata["name"]),
            namespace: word(&metadata["namespace"]),
            uid: word(&metadata["uid"]),
            ..kubernetes::ObjectReference::default()
        };
        let event = kube::runtime::events::Event {
            type_: match event.type_ {
                EventType::Normal => RecordedType::Normal,
                EventType::Warning => RecordedType::Warning,
            },
            reason: event.reason.clone(),
            note: Some(shortened(&event.message)),
            action: event.reason.clone(),
            // Events that differ in nothing but their text are counted as one.
            secondary: event.release.as_deref().map(release),
        };
        let told = self.recorder.publish(&event, &reference).await;
        told.map_err(|error| StoreError::Away { why: format!("failed to record an event: {error}") })
    }
}

/// A release as what an Event is also about. There is no such object; whoever reads the Event knows which is meant.
fn release(name: &str) -> kubernetes::ObjectReference {
    kubernetes::ObjectReference {
        kind: Some("Release".to_owned()),
        name: Some(name.to_owned()),
        ..kubernetes::ObjectReference::default()
    }
}

/// The API server takes up to 1,024 bytes.
fn shortened(message: &str) -> String {
    const MOST: usize = 1024;
    if message.len() <= MOST {
        return message.to_owned();
    }
    let end = (0..=MOST - "…".len()).rev().find(|end| message.is_char_boundary(*end)).unwrap_or(0);
    format!("{}…", message.get(..end).unwrap_or_default())
}
