//! Watches every object of a kind in all namespaces, for callers that keep a copy: first all objects, then each change.
//!
//! [`Cluster::follow`](super::Cluster::follow) is for a few named objects. Here deletions that were missed are found as
//! well: after every interruption all objects are reported again, as one event.

use futures::stream::{BoxStream, StreamExt as _};
use kube::Api;
use kube::core::{DynamicObject, PartialObjectMeta};
use kube::runtime::watcher::Event;
use kube::runtime::{WatchStreamExt as _, watcher};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::{Cluster, ClusterError, Resource};

/// How much of each object is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ObjectPart {
    /// The whole object.
    Whole,
    /// Its metadata; the API server does not send the rest.
    Metadata,
    /// Its metadata, with the right to watch alone: the objects that exist are sent by the watch, and never listed. It
    /// needs an API server with streaming lists (on by default since Kubernetes 1.34).
    MetadataByWatch,
}

/// A change of the objects of a kind.
#[derive(Debug)]
pub enum KindEvent {
    /// All objects there are; those that were reported before and are missing are gone.
    Listed(Vec<Value>),
    /// An object that is new or different.
    Changed(Box<Value>),
    /// An object that is gone.
    Deleted {
        /// Its namespace; empty for kinds without.
        namespace: String,
        /// Its name.
        name: String,
    },
    /// The watch failed. It is tried again, except where the kind is not served any more: then the
    /// channel is closed.
    Trouble {
        /// Why.
        error: ClusterError,
    },
}

impl Cluster {
    /// Watches all objects of a kind until the receiver is dropped, or the kind is not served any more.
    pub fn watch_kind(&self, resource: &Resource, part: ObjectPart) -> mpsc::Receiver<KindEvent> {
        let (report, seen) = mpsc::channel(256);
        let (cluster, resource) = (self.clone(), resource.clone());
        tokio::spawn(async move {
            let mut events = events(cluster.client.clone(), &resource, part);
            let mut listed = Vec::new();
            loop {
                let event = tokio::select! {
                    event = events.next() => event,
                    () = report.closed() => return,
                };
                let Some(event) = event else { return };
                let event = match event {
                    Ok(Event::Init) => {
                        listed.clear();
                        continue;
                    }
                    Ok(Event::InitApply(object)) => {
                        listed.push(object);
                        continue;
                    }
                    Ok(Event::InitDone) => KindEvent::Listed(std::mem::take(&mut listed)),
                    Ok(Event::Apply(object)) => KindEvent::Changed(Box::new(object)),
                    Ok(Event::Delete(object)) => {
                        let word = |field: &str| object["metadata"][field].as_str().unwrap_or_default().to_owned();
                        KindEvent::Deleted { namespace: word("namespace"), name: word("name") }
                    }
                    // The server has forgotten where we were; the watch begins anew by itself.
                    Err(watcher::Error::WatchError(status)) if status.code == 410 => continue,
                    Err(error) => KindEvent::Trouble { error: cluster.watch_error(&resource, error) },
                };
                let is_over = matches!(&event, KindEvent::Trouble { error: ClusterError::NoSuchKind { .. } });
                if report.send(event).await.is_err() || is_over {
                    return;
                }
            }
        });
        seen
    }

    fn watch_error(&self, resource: &Resource, error: watcher::Error) -> ClusterError {
        let name = resource.to_string();
        match error {
            watcher::Error::InitialListFailed(error)
            | watcher::Error::WatchStartFailed(error)
            | watcher::Error::WatchFailed(error) => self.error("watch", &name, "", error),
            watcher::Error::WatchError(status) => self.error("watch", &name, "", kube::Error::Api(status)),
            watcher::Error::NoResourceVersion => {
                ClusterError::Api { verb: "watch", resource: name, why: "the list has no resourceVersion".to_owned() }
            }
        }
    }
}

type Events = BoxStream<'static, Result<Event<Value>, watcher::Error>>;

fn events(client: kube::Client, resource: &Resource, part: ObjectPart) -> Events {
    let (kind, resource) = (resource.api_resource(), resource.clone());
    let config = match part {
        ObjectPart::MetadataByWatch => watcher::Config::default().streaming_lists(),
        ObjectPart::Whole | ObjectPart::Metadata => watcher::Config::default(),
    };
    if part == ObjectPart::Whole {
        let api: Api<DynamicObject> = Api::all_with(client, &kind);
        let value = move |object| resource.stamp(serde_json::to_value(&object).unwrap_or_default());
        return watcher(api, config).default_backoff().map(move |event| event.map(|event| map(event, &value))).boxed();
    }
    let api: Api<PartialObjectMeta<DynamicObject>> = Api::all_with(client, &kind);
    let value = move |object: PartialObjectMeta<DynamicObject>| json!({"apiVersion": resource.kind.api_version(), "kind": resource.kind.kind, "metadata": object.metadata});
    watcher(api, config).default_backoff().map(move |event| event.map(|event| map(event, &value))).boxed()
}

fn map<K>(event: Event<K>, value: impl Fn(K) -> Value) -> Event<Value> {
    match event {
        Event::Init => Event::Init,
        Event::InitApply(object) => Event::InitApply(value(object)),
        Event::InitDone => Event::InitDone,
        Event::Apply(object) => Event::Apply(value(object)),
        Event::Delete(object) => Event::Delete(value(object)),
    }
}
