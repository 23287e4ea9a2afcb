//! A release that something else applies, as where a repository is the truth: it is written as files, and the update goes on
//! until the cluster is as they say.
//!
//! Nothing is applied or removed here. An object counts when it says everything that its file says and is healthy; what the
//! release no longer has counts until it is gone.

use std::collections::BTreeSet;
use std::path::Path;

use clearway_conditions::ObjectId;
use clearway_conditions::health::State;
use clearway_core::Timestamp;
use clearway_release::{Manifest, Payload};
use clearway_sources::store::{Key, Store, StoreError};
use futures::FutureExt as _;
use serde_json::Value;
use tokio::sync::watch;

use super::judge::{expected, judge, promises_conditions};
use super::owner::{identity, identity_of};
use super::prune::{Appliers, orphans};
use super::{Settings, Task, key, render, side_by_side, write_rendered};
use crate::work::{Failure, Prepared, Progress, Work};

/// Names of what is waited for that are told.
const NAMED: usize = 5;

/// How one object is.
enum Seen {
    Done,
    Waiting(String),
    Failed(Failure),
}

/// Writes a release into a directory, and says when the cluster is as it says. Dropping it stops it where it is.
pub(super) async fn hand_over<S: Store>(
    store: &S,
    settings: &Settings,
    task: &Task,
    prepared: &Prepared,
    payload: &Payload,
    directory: &Path,
    report: &watch::Sender<Work>,
) -> Timestamp {
    let mut stays: BTreeSet<ObjectId> = payload.manifests.iter().map(identity).collect();
    stays.extend(task.unmanaged.iter().cloned());
    stays.extend(Key::of(&task.about).ok().map(|key| identity_of(&key)));
    let manifests: Vec<&Manifest> =
        payload.manifests.iter().filter(|manifest| !task.unmanaged.contains(&identity(manifest))).collect();
    let mut looks = 0;
    loop {
        let left = orphans(store, &task.owner, &stays, Appliers::Anybody, settings.side_by_side).await;
        let left =
            left.map(|left| left.iter().filter_map(|object| Some(identity_of(&Key::of(object).ok()?))).collect());
        let mut seen = vec![write(directory, payload, task, &left)];
        let looks_at = manifests.iter().map(|manifest| look(store, settings, task, payload, manifest).boxed());
        let objects = side_by_side(settings.side_by_side, looks_at).await;
        let done = objects.iter().filter(|one| matches!(one, Seen::Done)).count();
        seen.extend(objects);
        let mut progress = Progress { done, total: manifests.len(), ..Progress::default() };
        for one in seen {
            match one {
                Seen::Waiting(name) if progress.waiting_on.len() < NAMED => progress.waiting_on.push(name),
                Seen::Done | Seen::Waiting(_) => {}
                Seen::Failed(failure) => progress.failures.push(failure),
            }
        }
        if progress.waiting_on.is_empty() && progress.failures.is_empty() {
            let at = settings.clock.now();
            report.send_replace(Work::Done { order: task.order.clone(), prepared: prepared.clone(), at });
            return at;
        }
        let work = Work::Applying { order: task.order.clone(), prepared: prepared.clone(), progress };
        let news = report.send_if_modified(|said| {
            let news = *said != work;
            *said = work;
            news
        });
        looks = if news { 0 } else { looks + 1 };
        tokio::time::sleep(settings.pace.look(looks)).await;
    }
}

/// Writes the files, and the list of what is to go.
fn write(
    directory: &Path,
    payload: &Payload,
    task: &Task,
    left: &Result<Vec<ObjectId>, (Option<clearway_sources::store::Kind>, StoreError)>,
) -> Seen {
    let failed = |reason: &str, message: String| Seen::Failed(Failure { reason: reason.to_owned(), message });
    let left = match left {
        Ok(left) => left,
        Err((_, error)) => {
            return failed("CannotPrune", format!("cannot look for what is no longer in the release: {error}"));
        }
    };
    let written = render(payload, &task.owner, &task.unmanaged)
        .and_then(|rendered| write_rendered(directory, &rendered, Some(left)));
    match (written, left.first()) {
        (Err(error), _) => failed("CannotRender", error.to_string()),
        (Ok(()), Some(first)) => Seen::Waiting(format!("{first} to go")),
        (Ok(()), None) => Seen::Done,
    }
}

async fn look<S: Store>(store: &S, settings: &Settings, task: &Task, payload: &Payload, manifest: &Manifest) -> Seen {
    let id = identity(manifest);
    let live = match store.get(&key(manifest)).await {
        Ok(live) => live,
        Err(StoreError::NoSuchKind { .. }) => None,
        Err(error) => {
            return Seen::Failed(Failure { reason: "Unreachable".to_owned(), message: format!("{id}: {error}") });
        }
    };
    match (live, manifest.deletes()) {
        (None, true) => Seen::Done,
        (Some(_), true) => Seen::Waiting(format!("{id} to go")),
        (None, false) => Seen::Waiting(id.to_string()),
        (Some(_), false) if manifest.create_only() => Seen::Done,
        (Some(live), false) if !says(&task.owner.stamped(manifest), &live) => Seen::Waiting(id.to_string()),
        (Some(live), false) => {
            let version = manifest.id.api_version.rsplit('/').next().unwrap_or_default();
            let promises = promises_conditions(payload, &id, version);
            let verdict = judge(&live, Some(expected(&live)), promises, settings.clock.now());
            match verdict.state {
                State::Current | State::Suspended => Seen::Done,
                State::Failed => {
                    Seen::Failed(Failure { reason: verdict.reason, message: format!("{id}: {}", verdict.message) })
                }
                _ => Seen::Waiting(id.to_string()),
            }
        }
    }
}

/// Whether an object says everything that was said of it; others may say more.
fn says(said: &Value, live: &Value) -> bool {
    match (said, live) {
        (Value::Object(said), Value::Object(live)) => said.iter().all(|(name, said)| {
            // A status is not what a manifest is about, and null is no value.
            name == "status" || said.is_null() || live.get(name).is_some_and(|live| says(said, live))
        }),
        (Value::Array(said), Value::Array(live)) => {
            said.len() == live.len() && said.iter().zip(live).all(|(said, live)| says(said, live))
        }
        _ => said == live,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_object_may_say_more_but_not_less_or_otherwise() {
        let said = json!({"spec": {"replicas": 2, "ports": [{"port": 80}]}, "status": {"x": 1}, "data": null});
        for (live, want) in [
            (json!({"spec": {"replicas": 2, "paused": false, "ports": [{"port": 80, "protocol": "TCP"}]}}), true),
            (json!({"spec": {"replicas": 3, "ports": [{"port": 80}]}}), false),
            (json!({"spec": {"replicas": 2, "ports": []}}), false),
            (json!({"spec": {"replicas": 2}}), false),
        ] {
            assert_eq!(says(&said, &live), want, "{live}");
        }
    }
}
