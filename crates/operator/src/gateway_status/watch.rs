//! One watch for each kind. A kind that is not served is looked for again.

use std::time::Duration;

use clearway_sources::kubernetes::{Cluster, ClusterError, KindEvent};
use tokio::sync::mpsc;

use super::kinds::{KINDS, WatchedKind};

/// How often a kind that is not served is looked for again.
const AGAIN: Duration = Duration::from_secs(10);

/// A report about one kind.
#[derive(Debug)]
pub(super) struct KindReport {
    pub(super) kind: &'static WatchedKind,
    pub(super) content: ReportContent,
}

/// What a report says.
#[derive(Debug)]
pub(super) enum ReportContent {
    /// Objects of the kind.
    Event(KindEvent),
    /// The cluster does not serve the kind, so that there are no objects.
    NotServed,
}

/// The next event; none if the kind is not served any more, or the receiver was dropped.
async fn next(events: &mut mpsc::Receiver<KindEvent>, report: &mpsc::Sender<KindReport>) -> Option<KindEvent> {
    tokio::select! {
        event = events.recv() => event,
        () = report.closed() => None,
    }
}

/// Watches every kind, until the receiver is dropped.
pub(super) fn start(cluster: &Cluster) -> mpsc::Receiver<KindReport> {
    let (report, seen) = mpsc::channel(1024);
    for kind in &KINDS {
        let (cluster, report) = (cluster.clone(), report.clone());
        tokio::spawn(async move { watch(&cluster, kind, &report).await });
    }
    seen
}

async fn watch(cluster: &Cluster, kind: &'static WatchedKind, report: &mpsc::Sender<KindReport>) {
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
                    if !is_over && report.send(KindReport { kind, content: ReportContent::Event(event) }).await.is_err()
                    {
                        return;
                    }
                }
                // The definition was deleted.
                if report.send(KindReport { kind, content: ReportContent::NotServed }).await.is_err() {
                    return;
                }
            }
            Ok(None) => {
                if report.send(KindReport { kind, content: ReportContent::NotServed }).await.is_err() {
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
