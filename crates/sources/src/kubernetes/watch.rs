//! Following objects as they change: by a watch where it is allowed, by asking again where it is not.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use futures::stream::StreamExt as _;
use kube::Api;
use kube::core::DynamicObject;
use kube::runtime::watcher::Event;
use kube::runtime::{WatchStreamExt as _, watcher};
use serde_json::Value;
use tokio::sync::mpsc;

use super::{Cluster, ClusterError, Resource};

/// How often objects are asked for that cannot be watched, or that were lost from sight.
const POLL: Duration = Duration::from_secs(2);
/// After how much silence objects are asked for although they are watched, where a person waits.
pub(crate) const SILENCE: Duration = Duration::from_secs(5);
/// Up to how many named objects are asked for one by one; more are listed.
const ONE_BY_ONE: usize = 5;

/// What is seen of an object that is followed.
#[derive(Debug)]
pub enum WatchEvent {
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
    report: mpsc::Sender<WatchEvent>,
    /// After how much silence objects are asked for although they are watched.
    silence: Duration,
    /// The version each object had when it was reported last, by namespace and name; nothing since the last trouble.
    told: BTreeMap<(String, String), String>,
}

/// Nobody listens any more.
struct Closed;

impl Cluster {
    /// Follows objects of a kind in a namespace (in all, if it is empty) until the receiver is dropped. Each is reported
    /// once at the start, and then whenever it changes; after trouble, each is reported again. No names means all
    /// objects.
    pub fn follow(&self, resource: &Resource, namespace: &str, names: BTreeSet<String>) -> mpsc::Receiver<WatchEvent> {
        self.follow_for(resource, namespace, names, SILENCE)
    }

    /// The same for who has as much time as this before a silence is doubted.
    pub(crate) fn follow_for(
        &self,
        resource: &Resource,
        namespace: &str,
        names: BTreeSet<String>,
        silence: Duration,
    ) -> mpsc::Receiver<WatchEvent> {
        let (report, seen) = mpsc::channel(64);
        let mut followed = Followed {
            cluster: self.clone(),
            resource: resource.clone(),
            namespace: namespace.to_owned(),
            names,
            report,
            silence,
            told: BTreeMap::new(),
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
    ///
    /// A watch alone would not do. A connection may be dead without a word (a server that hangs, a proxy that forgot
    /// it), and one that was made anew tells only of changes, not that what was lost from sight is as it was. So
    /// silence makes us ask.
    async fn watch(&mut self) -> Result<(), Closed> {
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
        let mut patience = self.silence;
        loop {
            let Ok(event) = tokio::time::timeout(patience, events.next()).await else {
                patience = match self.ask().await? {
                    // Who may watch but not get has the watch alone.
                    Ok(()) | Err(ClusterError::Forbidden { .. }) => self.silence,
                    Err(error) => {
                        self.send_event(WatchEvent::Trouble { error }).await?;
                        POLL
                    }
                };
                continue;
            };
            match event {
                None => return Ok(()),
                Some(Ok(event)) => {
                    self.apply_event(event, &mut missing).await?;
                    patience = self.silence;
                }
                // The server has forgotten where we were; the watch begins anew by itself.
                Some(Err(watcher::Error::WatchError(status))) if status.code == 410 => patience = self.silence,
                Some(Err(error)) => match self.error(error) {
                    ClusterError::Forbidden { .. } => return Ok(()),
                    error => {
                        self.send_event(WatchEvent::Trouble { error }).await?;
                        patience = POLL;
                    }
                },
            }
        }
    }

    async fn apply_event(&mut self, event: Event<DynamicObject>, missing: &mut BTreeSet<String>) -> Result<(), Closed> {
        match event {
            Event::Init => missing.clone_from(&self.names),
            Event::InitApply(object) | Event::Apply(object) => {
                missing.remove(object.metadata.name.as_deref().unwrap_or_default());
                self.see(serde_json::to_value(&object).unwrap_or_default()).await?;
            }
            Event::InitDone => {
                for name in std::mem::take(missing) {
                    self.send_event(WatchEvent::Gone { name }).await?;
                }
            }
            Event::Delete(object) => {
                let name = object.metadata.name.unwrap_or_default();
                if self.follows(&name) {
                    self.told.remove(&(object.metadata.namespace.unwrap_or_default(), name.clone()));
                    self.send_event(WatchEvent::Gone { name }).await?;
                }
            }
        }
        Ok(())
    }

    fn follows(&self, name: &str) -> bool {
        self.names.is_empty() || self.names.contains(name)
    }

    async fn poll(&mut self) -> Result<(), Closed> {
        let mut ticks = tokio::time::interval(POLL);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            if let Err(error) = self.ask().await? {
                self.send_event(WatchEvent::Trouble { error }).await?;
            }
        }
    }

    /// Asks for the objects as they are now.
    async fn ask(&mut self) -> Result<Result<(), ClusterError>, Closed> {
        if !self.names.is_empty() && self.names.len() <= ONE_BY_ONE {
            for name in self.names.clone() {
                match self.cluster.get(&self.resource, &self.namespace, &name).await {
                    Ok(object) => self.see(object).await?,
                    Err(ClusterError::NotFound { .. }) => self.send_event(WatchEvent::Gone { name }).await?,
                    Err(error) => return Ok(Err(error)),
                }
            }
            return Ok(Ok(()));
        }
        let mut missing = self.names.clone();
        let mut token = None;
        loop {
            let page = self.cluster.list(&self.resource, Some(&self.namespace), None, token.as_deref()).await;
            let page = match page {
                Ok(page) => page,
                Err(error) => return Ok(Err(error)),
            };
            for object in page.items {
                missing.remove(object["metadata"]["name"].as_str().unwrap_or_default());
                self.see(object).await?;
            }
            token = page.next;
            if token.is_none() {
                break;
            }
        }
        for name in missing {
            self.send_event(WatchEvent::Gone { name }).await?;
        }
        Ok(Ok(()))
    }

    /// Reports an object that is followed, unless it was reported as it is, or newer.
    async fn see(&mut self, object: Value) -> Result<(), Closed> {
        let word = |field: &str| object["metadata"][field].as_str().unwrap_or_default().to_owned();
        let (id, version) = ((word("namespace"), word("name")), word("resourceVersion"));
        if !self.follows(&id.1) || self.told.get(&id).is_some_and(|told| !is_newer(&version, told)) {
            return Ok(());
        }
        self.told.insert(id, version);
        let object = self.resource.stamp(object);
        self.send_event(WatchEvent::Object(Box::new(object))).await
    }

    async fn send_event(&mut self, seen: WatchEvent) -> Result<(), Closed> {
        if matches!(seen, WatchEvent::Trouble { .. }) {
            self.told.clear();
        }
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

/// Whether one version of an object is newer than another. Kubernetes' own are numbers that grow; of any others only
/// the same is not newer.
fn is_newer(version: &str, than: &str) -> bool {
    match (version.parse::<u64>(), than.parse::<u64>()) {
        (Ok(version), Ok(than)) => version > than,
        _ => version != than,
    }
}

#[cfg(test)]
mod tests {
    use super::is_newer;

    #[test]
    fn versions_are_compared_as_numbers_where_they_are_some() {
        assert!(is_newer("1000", "999"));
        assert!(!is_newer("999", "1000"));
        assert!(!is_newer("7", "7"));
        assert!(is_newer("b", "a") && is_newer("a", "b") && !is_newer("a", "a"));
    }
}
