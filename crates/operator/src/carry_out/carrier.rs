//! Carries updates out for a driver: runs the two halves, hands on what they say, and holds the release between them.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use clearway_sources::release::Payload;
use clearway_sources::store::Store;
use serde_json::Value;
use tokio::sync::watch;

use super::{Owner, Settings, Task, apply, prepare};
use crate::api::VersionObject;
use crate::hands::{Hands, Reporter};
use crate::work::{Order, Prepared, Step, Work};

/// Carries out the updates of every object of a store.
#[derive(Debug, Clone)]
pub struct Carrier<S> {
    store: S,
    settings: Arc<Settings>,
    releases: Arc<Mutex<Releases>>,
}

/// The release that was prepared last for each owner, and the fingerprint of its files.
type Releases = BTreeMap<Owner, (String, Arc<Payload>)>;

impl<S: Store> Carrier<S> {
    /// A carrier that does nothing yet.
    pub fn new(store: S, settings: Settings) -> Self {
        Carrier { store, settings: Arc::new(settings), releases: Arc::default() }
    }

    async fn prepared(&self, task: &Task, report: &Reporter) {
        let preparing = async |said: &watch::Sender<Work>| {
            let (prepared, payload) = prepare(&self.store, &self.settings, task, said).await;
            // It is there before anybody hears that it is accepted.
            let mut releases = self.releases.lock().unwrap_or_else(PoisonError::into_inner);
            releases.insert(task.owner.clone(), (prepared.hash.clone(), Arc::new(payload)));
            said.send_replace(Work::Accepted { order: task.order.clone(), prepared });
        };
        handed_on(preparing, report).await;
    }

    async fn applied(&self, task: &Task, prepared: &Prepared, report: &Reporter) {
        let release = {
            let releases = self.releases.lock().unwrap_or_else(PoisonError::into_inner);
            releases.get(&task.owner).filter(|(hash, _)| *hash == prepared.hash).map(|(_, payload)| payload.clone())
        };
        // Without it, preparing comes first again; that it is accepted makes it be applied.
        let Some(payload) = release else { return self.prepared(task, report).await };
        let applying = async |said: &watch::Sender<Work>| {
            apply(&self.store, &self.settings, task, prepared, &payload, said).await;
        };
        handed_on(applying, report).await;
    }
}

/// Hands on what is said while something is done; where much is said at once, the last of it.
async fn handed_on(doing: impl AsyncFnOnce(&watch::Sender<Work>), report: &Reporter) {
    let (said, mut heard) = watch::channel(Work::Idle);
    let mut doing = std::pin::pin!(doing(&said));
    loop {
        let done = tokio::select! {
            () = &mut doing => true,
            Ok(()) = heard.changed() => false,
        };
        if heard.has_changed().unwrap_or(false) || !done {
            let work = heard.borrow_and_update().clone();
            report.tell(work).await;
        }
        if done {
            return;
        }
    }
}

impl<S: Store> Hands for Carrier<S> {
    fn prepare(&self, object: Value, order: Order, report: Reporter) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        let carrier = self.clone();
        Box::pin(async move {
            match read(&object, order) {
                Ok(task) => carrier.prepared(&task, &report).await,
                Err(refused) => report.tell(*refused).await,
            }
        })
    }

    fn apply(
        &self,
        object: Value,
        order: Order,
        prepared: Prepared,
        report: Reporter,
    ) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        let carrier = self.clone();
        Box::pin(async move {
            match read(&object, order) {
                Ok(task) => carrier.applied(&task, &prepared, &report).await,
                Err(refused) => report.tell(*refused).await,
            }
        })
    }
}

fn read(object: &Value, order: Order) -> Result<Task, Box<Work>> {
    match VersionObject::read(object) {
        Ok((read, _)) => Ok(Task::new(order, &read, object)),
        Err(error) => Err(Box::new(Work::NotAccepted { order, step: Step::Retrieve, why: error.to_string() })),
    }
}
