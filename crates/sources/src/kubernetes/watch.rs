//! Following objects as they change: by a watch where it is allowed, by asking again where it is not.

use std::collections::BTreeSet;
use std::time::Duration;

use futures::stream::StreamExt as _;
use kube::Api;
use kube::core::DynamicObject;
use kube::runtime::watcher::Event;
use kube::runtime::{WatchStreamExt as _, watcher};
use serde_json::Value;
use tokio::sync::mpsc;

use super::{Cluster, ClusterError, Resource};

/// How often objects are asked for that cannot be watched.
const POLL: Duration = Duration::from_secs(2);

/// What is seen of an object that is followed.
#[derive(Debug)]
pub enum Seen {
    /// The object as it is now.
    Object(Box<Value>),
    /// There is no such object (any more).
    Gone {
        /// Its name.
        name: String,
    },
    /// Nothing can be seen at the moment; it is tried again.
    Trouble {
        /// Why.
        error: ClusterError,
    },
}

/// The objects to follow: some of one kind in one namespace.
struct Followed {
    cluster: Cluster,
    resource: Resource,
    namespace: String,
    names: BTreeSet<String>,
    report: mpsc::Sender<Seen>,
}

/// Nobody listens any more.
struct Closed;

impl Cluster {
    /// Follows objects of a kind in a namespace (in all, if it is empty) until the receiver is dropped. Each is reported
    /// once at the start, and then whenever it changes. No names means all objects.
    pub fn follow(&self, resource: &Resource, namespace: &str, names: BTreeSet<String>) -> mpsc::Receiver<Seen> {
        let (report, seen) = mpsc::channel(64);
        let followed = Followed {
            cluster: self.clone(),
            resource: resource.clone(),
            namespace: namespace.to_owned(),
            names,
            report,
        };
        tokio::spawn(async move {
            // A user who may get but not watch is common; asking again serves as well.
            if !followed.resource.watchable || followed.watch().await.is_ok() {
                let _ = followed.poll().await;
            }
        });
        seen
    }
}

impl Followed {
    /// Watches; ends when watching is not allowed.
    async fn watch(&self) -> Result<(), Closed> {
        let kind = self.resource.api_resource();
        let client = self.cluster.client.clone();
        let api: Api<DynamicObject> = if self.resource.namespaced && !self.namespace.is_empty() {
            Api::namespaced_with(client, &self.namespace, &kind)
        } else {
            Api::all_with(client, &kind)
        };
        let config = match (self.names.len(), self.names.first()) {
            (1, Some(name)) => watcher::Config::default().fields(&format!("metadata.name={name}")),
            _ => watcher::Config::default(),
        };
        // What the list at the start of a watch does not bring is not there.
        let mut missing = self.names.clone();
        let mut events = watcher(api, config).default_backoff().boxed();
        while let Some(event) = events.next().await {
            match event {
                Ok(Event::Init) => missing.clone_from(&self.names),
                Ok(Event::InitApply(object) | Event::Apply(object)) => {
                    let name = object.metadata.name.clone().unwrap_or_default();
                    missing.remove(&name);
                    if self.follows(&name) {
                        let object = serde_json::to_value(&object).unwrap_or_default();
                        self.tell(Seen::Object(Box::new(self.resource.stamp(object)))).await?;
                    }
                }
                Ok(Event::InitDone) => {
                    for name in std::mem::take(&mut missing) {
                        self.tell(Seen::Gone { name }).await?;
                    }
                }
                Ok(Event::Delete(object)) => {
                    let name = object.metadata.name.unwrap_or_default();
                    if self.follows(&name) {
                        self.tell(Seen::Gone { name }).await?;
                    }
                }
                Err(error) => {
                    let error = self.error(error);
                    if matches!(error, ClusterError::Forbidden { .. }) {
                        return Ok(());
                    }
                    self.tell(Seen::Trouble { error }).await?;
                }
            }
        }
        Ok(())
    }

    fn follows(&self, name: &str) -> bool {
        self.names.is_empty() || self.names.contains(name)
    }

    async fn poll(&self) -> Result<(), Closed> {
        let mut ticks = tokio::time::interval(POLL);
        loop {
            ticks.tick().await;
            for name in &self.names {
                let seen = match self.cluster.get(&self.resource, &self.namespace, name).await {
                    Ok(object) => Seen::Object(Box::new(object)),
                    Err(ClusterError::NotFound { .. }) => Seen::Gone { name: name.clone() },
                    Err(error) => Seen::Trouble { error },
                };
                self.tell(seen).await?;
            }
        }
    }

    async fn tell(&self, seen: Seen) -> Result<(), Closed> {
        self.report.send(seen).await.map_err(|_| Closed)
    }

    fn error(&self, error: watcher::Error) -> ClusterError {
        let resource = self.resource.to_string();
        match error {
            watcher::Error::InitialListFailed(error)
            | watcher::Error::WatchStartFailed(error)
            | watcher::Error::WatchFailed(error) => self.cluster.error("watch", &resource, "", error),
            watcher::Error::WatchError(status) => self.cluster.error("watch", &resource, "", kube::Error::Api(status)),
            watcher::Error::NoResourceVersion => {
                ClusterError::Api { verb: "watch", resource, why: "the list has no resourceVersion".to_owned() }
            }
        }
    }
}
