//! The operator: every ClusterVersion and ComponentVersion kept current, by one driver each.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use clearway_sources::store::{Store, StoreError, StoreEvent};
use serde_json::Value;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

use crate::driver::{LatestReport, Tools, drive, object_kind};
use crate::other_operator;
use clearway_update::api::{Kind, SINGLETON};
use clearway_update::reconciler::Settings;

/// How often a kind that is not served is looked for again.
const AGAIN: Duration = Duration::from_secs(10);

/// What is told of every object: its kind and name, and where its present state is seen.
pub type Watched = watch::Receiver<BTreeMap<(Kind, String), watch::Receiver<LatestReport>>>;

/// Keeps all objects current until the future is dropped. `shown` is told of each that is kept.
pub async fn operate<S: Store>(
    tools: Tools<S>,
    settings: Settings,
    shown: watch::Sender<BTreeMap<(Kind, String), watch::Receiver<LatestReport>>>,
) {
    let (names, mut found) = mpsc::channel::<(Kind, Found)>(64);
    let mut tasks = JoinSet::new();
    for kind in Kind::ALL {
        let (store, names) = (tools.store.clone(), names.clone());
        tasks.spawn(async move { find(&store, kind, &names).await });
    }
    // Those that another operator keeps; that is said once.
    let mut left_alone = BTreeSet::new();
    let mut drivers: BTreeMap<(Kind, String), tokio::task::AbortHandle> = BTreeMap::new();
    while let Some((kind, found)) = found.recv().await {
        match found {
            Found::There(object) => {
                let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
                let id = (kind, name.clone());
                if drivers.contains_key(&id) && !other_operator::manages_status(&object) {
                    continue;
                }
                if let Some(evidence) = other_operator::find(&tools.store, kind, &object, (tools.clock)()).await {
                    if left_alone.insert(id.clone()) {
                        tracing::warn!(
                            "OpenShift's own operator manages the ClusterVersion ({evidence}); Clearway does not write its status"
                        );
                    }
                    if let Some(driver) = drivers.remove(&id) {
                        driver.abort();
                        shown.send_modify(|all| drop(all.remove(&id)));
                    }
                    continue;
                }
                left_alone.remove(&id);
                if drivers.contains_key(&id) {
                    continue;
                }
                let (told, seen) = watch::channel(None);
                let (tools, settings) = (tools.clone(), settings.clone());
                tracing::info!(%kind, name, "kept current");
                let handle = tasks.spawn(async move { drive(tools, kind, &name, settings, told).await });
                drivers.insert(id.clone(), handle);
                shown.send_modify(|all| drop(all.insert(id, seen)));
            }
            Found::Gone(name) => {
                if let Some(driver) = drivers.remove(&(kind, name.clone())) {
                    tracing::info!(%kind, name, "gone");
                    driver.abort();
                    shown.send_modify(|all| drop(all.remove(&(kind, name))));
                }
            }
        }
    }
}

enum Found {
    There(Box<Value>),
    Gone(String),
}

/// Looks for the objects of a kind: the one ClusterVersion, or every ComponentVersion.
async fn find<S: Store>(store: &S, kind: Kind, names: &mpsc::Sender<(Kind, Found)>) {
    let wanted = match kind {
        Kind::ClusterVersion => BTreeSet::from([SINGLETON.to_owned()]),
        Kind::ComponentVersion => BTreeSet::new(),
    };
    loop {
        match store.follow(&object_kind(kind), wanted.clone()).await {
            Ok(mut seen) => {
                while let Some(seen) = seen.recv().await {
                    let found = match seen {
                        StoreEvent::Object(object) => Found::There(object),
                        StoreEvent::Gone { name } => Found::Gone(name),
                        StoreEvent::Trouble { error } => {
                            tracing::warn!(%error, %kind, "cannot read the objects");
                            continue;
                        }
                    };
                    if names.send((kind, found)).await.is_err() {
                        return;
                    }
                }
            }
            Err(StoreError::NoSuchKind { .. }) => tracing::debug!(%kind, "the kind is not served"),
            Err(error) => tracing::warn!(%error, %kind, "cannot list objects"),
        }
        tokio::time::sleep(AGAIN).await;
    }
}
