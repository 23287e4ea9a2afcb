//! Runs the two halves of an update as a task, for a driver that does other things meanwhile.

use std::sync::{Arc, Mutex, PoisonError};

use clearway_sources::release::Payload;
use clearway_sources::store::Store;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::{Settings, Task, apply, prepare};
use crate::work::{Prepared, Work};

/// Does one thing at a time; what is begun anew ends what was being done.
#[derive(Debug)]
pub struct Worker<S> {
    store: S,
    settings: Arc<Settings>,
    report: Arc<watch::Sender<Work>>,
    /// The release that was prepared last.
    payload: Arc<Mutex<Option<Arc<Payload>>>>,
    running: Option<JoinHandle<()>>,
}

impl<S: Store> Worker<S> {
    /// A worker that does nothing yet, and where it says how far it is.
    pub fn new(store: S, settings: Settings) -> (Self, watch::Receiver<Work>) {
        let (report, work) = watch::channel(Work::Idle);
        let (settings, report) = (Arc::new(settings), Arc::new(report));
        (Worker { store, settings, report, payload: Arc::default(), running: None }, work)
    }

    /// Looks at a release.
    pub fn prepare(&mut self, task: Task) {
        self.stop();
        let (store, settings, report, kept) =
            (self.store.clone(), self.settings.clone(), self.report.clone(), self.payload.clone());
        self.running = Some(tokio::spawn(async move {
            let (prepared, payload) = prepare(&store, &settings, &task, &report).await;
            // The payload is there before anybody hears that the release is accepted.
            *kept.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(payload));
            report.send_replace(Work::Accepted { order: task.order.clone(), prepared });
        }));
    }

    /// Brings the release about that was prepared last.
    pub fn apply(&mut self, task: Task, prepared: Prepared) {
        self.stop();
        let payload = self.payload.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let Some(payload) = payload else { return self.prepare(task) };
        let (store, settings, report) = (self.store.clone(), self.settings.clone(), self.report.clone());
        self.running = Some(tokio::spawn(async move {
            apply(&store, &settings, &task, &prepared, &payload, &report).await;
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
