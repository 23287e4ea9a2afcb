//! One watch for each kind. A kind that is not served is looked for again.

use std::time::Duration;

use clearway_sources::kubernetes::{Cluster, ClusterError, KindEvent};
use tokio::sync::mpsc;

use super::kinds::{KINDS, WatchedKind};

/// How often a kind that is not served is looked for again.
const AGAIN: Duration = Duration::from_secs(10);

/// What is seen of a kind.
#[derive(Debug)]
pub(super) struct Seen {
    pub(super) kind: &'static WatchedKind,
    pub(super) what: What,
}

/// What is seen.
#[derive(Debug)]
pub(super) enum What {
    /// Objects of the kind.
    Event(KindEvent),
    /// The cluster does not serve the kind, so that there are no objects.
    NotServed,
}

/// The next event; none if the kind is not served any more, or nobody listens.
async fn next(events: &mut mpsc::Receiver<KindEvent>, report: &mpsc::Sender<Seen>) -> Option<KindEvent> {
    tokio::select! {
        event = events.recv() => event,
        () = report.closed() => None,
    }
}

/// Watches every kind, until the receiver is dropped.
pub(super) fn start(cluster: &Cluster) -> mpsc::Receiver<Seen> {
    let (report, seen) = mpsc::channel(1024);
    for kind in &KINDS {
        let (cluster, report) = (cluster.clone(), report.clone());
        tokio::spawn(async move { watch(&cluster, kind, &report).await });
    }
    seen
}

async fn watch(cluster: &Cluster, kind: &'static WatchedKind, report: &mpsc::Sender<Seen>) {
    loop {
        let found = match cluster.catalog().await {
            Ok(catalog) => Ok(catalog.of(kind.group, kind.kind).cloned()),
            Err(error) => Err(error),
        };
        match found {
            Ok(Some(resource)) => {
                let mut events = cluster.watch_kind(&resource, kind.part);
                while let Some(event) = next(&mut events, report).await {
                    let is_over = matches!(&event, KindEvent::Trouble { error: ClusterError::NoSuchKind { .. } });
                    if !is_over && report.send(Seen { kind, what: What::Event(event) }).await.is_err() {
                        return;
                    }
                }
                // The definition was deleted.
                if report.send(Seen { kind, what: What::NotServed }).await.is_err() {
                    return;
                }
            }
            Ok(None) => {
                if report.send(Seen { kind, what: What::NotServed }).await.is_err() {
                    return;
                }
            }
            Err(error) => tracing::warn!(%error, kind = kind.kind, "cannot find out whether the kind is served"),
        }
        tokio::select! {
            () = tokio::time::sleep(AGAIN) => {}
            () = report.closed() => return,
        }
    }
}
