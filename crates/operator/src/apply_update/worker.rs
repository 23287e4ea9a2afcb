//! Runs the two halves of an update as a task, for a driver that does other things meanwhile.

use std::sync::{Arc, Mutex, PoisonError};

use clearway_release::Payload;
use clearway_sources::store::Store;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::external_apply::wait_for_external_apply;
use super::{Settings, apply, prepare};
use clearway_update::rollout::{PreparedRelease, Rollout};
use clearway_update::task::Task;

/// Does one thing at a time; what is begun anew ends what was being done.
#[derive(Debug)]
pub struct Worker<S> {
    store: S,
    settings: Arc<Settings>,
    report: Arc<watch::Sender<Rollout>>,
    last: Arc<Mutex<Option<Last>>>,
    running: Option<JoinHandle<()>>,
}

/// The release that was prepared last, and the fingerprint of its files.
#[derive(Debug, Clone)]
struct Last {
    hash: String,
    payload: Arc<Payload>,
}

impl<S: Store> Worker<S> {
    /// A worker that does nothing yet, and where it says how far it is.
    pub fn new(store: S, settings: Settings) -> (Self, watch::Receiver<Rollout>) {
        let (report, rollout) = watch::channel(Rollout::Idle);
        let (settings, report) = (Arc::new(settings), Arc::new(report));
        (Worker { store, settings, report, last: Arc::default(), running: None }, rollout)
    }

    /// Looks at a release.
    pub fn prepare(&mut self, task: Task) {
        self.stop();
        let (store, settings, report, kept) =
            (self.store.clone(), self.settings.clone(), self.report.clone(), self.last.clone());
        self.running = Some(tokio::spawn(async move {
            let (prepared, payload) = prepare(&store, &settings, &task, &report).await;
            // The payload is there before anybody hears that the release is accepted.
            let last = Last { hash: prepared.hash.clone(), payload: Arc::new(payload) };
            *kept.lock().unwrap_or_else(PoisonError::into_inner) = Some(last);
            report.send_replace(Rollout::Accepted { request: task.request.clone(), prepared });
        }));
    }

    /// Brings the release about that was prepared last. If that was another, it is prepared first, and applied when the
    /// driver hears that it is accepted.
    pub fn apply(&mut self, task: Task, prepared: PreparedRelease) {
        self.stop();
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let last = last.filter(|last| last.hash == prepared.hash);
        let Some(Last { payload, .. }) = last else { return self.prepare(task) };
        let (store, settings, report) = (self.store.clone(), self.settings.clone(), self.report.clone());
        self.running = Some(tokio::spawn(async move {
            match &settings.render {
                Some(directory) => {
                    wait_for_external_apply(&store, &settings, &task, &prepared, &payload, directory, &report).await
                }
                None => apply(&store, &settings, &task, &prepared, &payload, &report).await,
            };
        }));
    }

    /// Stops what is being done, where it is. What was done stays.
    pub fn stop(&mut self) {
        if let Some(running) = self.running.take() {
            running.abort();
        }
    }
}

impl<S> Drop for Worker<S> {
    fn drop(&mut self) {
        if let Some(running) = self.running.take() {
            running.abort();
        }
    }
}
