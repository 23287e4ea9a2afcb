//! A release that something else applies, as where a repository is the truth: it is written as files, and the update goes on
//! until the cluster is as they say.
//!
//! Nothing is applied or removed here. An object counts when it says everything that its file says and is healthy; what the
//! release no longer has counts until it is gone.

use std::collections::BTreeSet;
use std::path::Path;

use clearway_conditions::health::{State, Verdict};
use clearway_core::{ObjectId, ObjectReference, Timestamp};
use clearway_release::{Manifest, Payload};
use clearway_sources::store::{Store, StoreError};
use futures::FutureExt as _;
use serde_json::Value;
use tokio::sync::watch;

use super::apply_object::{LOOKS, failure};
use super::judge::{expected, promises_conditions, with_its_pods};
use super::ledger::Trouble;
use super::observed_health::ObservedHealth;
use super::prune::{Appliers, orphans};
use super::{Pace, Settings, render, side_by_side, write_rendered};
use clearway_update::health::judge;
use clearway_update::rollout::{Failure, Prepared, Progress, Rollout};
use clearway_update::task::Task;

/// Names of what is waited for that are told.
const NAMED: usize = 5;

/// How one object is.
enum Seen {
    Done,
    Waiting(String),
    Failed(Failure),
}

/// An object of the release, and what was observed of it so far.
struct Item<'p> {
    manifest: &'p Manifest,
    id: ObjectId,
    /// Nothing before the first look.
    health: Option<ObservedHealth>,
    /// Why it cannot be read.
    trouble: Option<Trouble>,
    /// The failure of it that an earlier process reported, until it is observed.
    carried: Option<Failure>,
}

/// Writes a release into a directory, and says when the cluster is as it says. Dropping it stops it where it is.
pub(super) async fn hand_over<S: Store>(
    store: &S,
    settings: &Settings,
    task: &Task,
    prepared: &Prepared,
    payload: &Payload,
    directory: &Path,
    report: &watch::Sender<Rollout>,
) -> Timestamp {
    let mut stays: BTreeSet<ObjectId> = payload.manifests.iter().map(|manifest| manifest.id.clone()).collect();
    stays.extend(task.unmanaged.iter().cloned());
    stays.extend(ObjectReference::of(&task.about).ok().map(|reference| reference.id()));
    let mut items: Vec<Item<'_>> = payload
        .manifests
        .iter()
        .map(|manifest| (manifest, manifest.id.clone()))
        .filter(|(_, id)| !task.unmanaged.contains(id))
        .map(|(manifest, id)| {
            let carried = task.carried.iter().find(|failure| failure.is_about(&id)).cloned();
            Item { manifest, id, health: None, trouble: None, carried }
        })
        .collect();
    let (mut looks, mut trouble) = (0, None);
    loop {
        let left = orphans(store, &task.owner, &stays, Appliers::Anybody, settings.side_by_side).await;
        let mut seen = vec![match left {
            Ok(left) => {
                trouble = None;
                let left: Vec<ObjectId> =
                    left.iter().filter_map(|object| Some(ObjectReference::of(object).ok()?.id())).collect();
                write(directory, payload, task, &left)
            }
            Err((_, error)) => cannot_prune(&mut trouble, &error, settings),
        }];
        let total = items.len();
        let looks_at = items.iter_mut().map(|item| look(store, settings, task, payload, item).boxed());
        let objects = side_by_side(settings.side_by_side, looks_at).await;
        let done = objects.iter().filter(|one| matches!(one, Seen::Done)).count();
        seen.extend(objects);
        let (mut waiting_on, mut failures) = (Vec::new(), Vec::new());
        for one in seen {
            match one {
                Seen::Waiting(name) if waiting_on.len() < NAMED => waiting_on.push(name),
                Seen::Done | Seen::Waiting(_) => {}
                Seen::Failed(failure) => failures.push(failure),
            }
        }
        let progress = Progress { done, total, waiting_on, ..Progress::default() }.with_failures(failures);
        if progress.waiting_on.is_empty() && progress.failed == 0 {
            let at = settings.clock.now();
            report.send_replace(Rollout::Done { request: task.request.clone(), prepared: prepared.clone(), at });
            return at;
        }
        let rollout = Rollout::Applying { request: task.request.clone(), prepared: prepared.clone(), progress };
        let news = report.send_if_modified(|said| {
            let news = *said != rollout;
            *said = rollout;
            news
        });
        looks = if news { 0 } else { looks + 1 };
        tokio::time::sleep(settings.pace.look(looks)).await;
    }
}

/// Writes the files, and the list of what is to go.
fn write(directory: &Path, payload: &Payload, task: &Task, left: &[ObjectId]) -> Seen {
    let written = render(payload, &task.owner, &task.unmanaged)
        .and_then(|rendered| write_rendered(directory, &rendered, Some(left)));
    match (written, left.first()) {
        (Err(error), _) => Seen::Failed(Failure { reason: "CannotRender".to_owned(), message: error.to_string() }),
        (Ok(()), Some(first)) => Seen::Waiting(format!("{first} to go")),
        (Ok(()), None) => Seen::Done,
    }
}

/// What is no longer in the release cannot be looked for; that is reported if it does not end soon.
fn cannot_prune(trouble: &mut Option<Trouble>, error: &StoreError, settings: &Settings) -> Seen {
    let (message, now) =
        (format!("cannot list objects that are no longer in the release: {error}"), settings.clock.now());
    let failure = Failure { reason: "CannotPrune".to_owned(), message };
    let after = Trouble::after(trouble.take(), failure, error.is_passing(), now);
    let reported = after.reported(&settings.pace, now);
    *trouble = Some(after);
    reported.map_or_else(|| Seen::Waiting("objects that are no longer in the release".to_owned()), Seen::Failed)
}

async fn look<S: Store>(store: &S, settings: &Settings, task: &Task, payload: &Payload, item: &mut Item<'_>) -> Seen {
    let Settings { pace, clock, .. } = settings;
    let manifest = item.manifest;
    let live = match store.get(&manifest.reference()).await {
        Ok(live) => live,
        Err(StoreError::NoSuchKind { .. }) => None,
        Err(error) => return item.unreadable(&error, pace, clock.now()),
    };
    item.trouble = None;
    let (id, now) = (&item.id, clock.now());
    let verdict = match (live, manifest.deletes()) {
        (None, true) => return Seen::Done,
        (Some(_), false) if manifest.create_only() => return Seen::Done,
        (Some(_), true) => Verdict::unknown("NotDeleted", "it still exists"),
        (None, false) => Verdict::unknown("NotApplied", "it does not exist"),
        (Some(live), false) if !says(&task.owner.stamped(manifest), &live) => {
            Verdict::unknown("NotApplied", "it differs from the release")
        }
        (Some(live), false) => {
            let version = &manifest.version;
            let promises = promises_conditions(payload, id, version);
            let verdict = judge(&live, Some(expected(&live)), promises, now);
            if verdict.state == State::Failed || item.health.as_ref().is_some_and(|health| health.looks >= LOOKS) {
                with_its_pods(store, &live, verdict, now).await
            } else {
                verdict
            }
        }
    };
    item.observe(verdict, pace, now)
}

impl Item<'_> {
    /// It cannot be read: what is known of it stands, and what does not end soon is reported.
    fn unreadable(&mut self, error: &StoreError, pace: &Pace, now: Timestamp) -> Seen {
        let failure = failure(&self.id, "", error);
        let trouble = Trouble::after(self.trouble.take(), failure, error.is_passing(), now);
        let reported = self.failure(pace, now).or_else(|| trouble.reported(pace, now));
        self.trouble = Some(trouble);
        reported.map_or_else(|| Seen::Waiting(self.id.to_string()), Seen::Failed)
    }

    fn observe(&mut self, verdict: Verdict, pace: &Pace, now: Timestamp) -> Seen {
        match &mut self.health {
            Some(health) => health.observe(verdict, &self.id, pace, now),
            None => self.health = Some(ObservedHealth::new(verdict, self.carried.take(), pace, now)),
        }
        if self.health.as_ref().is_some_and(ObservedHealth::is_healthy) {
            return Seen::Done;
        }
        let waiting = || {
            let end = if self.manifest.deletes() { " to go" } else { "" };
            Seen::Waiting(format!("{}{end}", self.id))
        };
        self.failure(pace, now).map_or_else(waiting, Seen::Failed)
    }

    fn failure(&self, pace: &Pace, now: Timestamp) -> Option<Failure> {
        match &self.health {
            Some(health) => health.failure(&self.id, self.manifest.deletes(), pace, now),
            None => self.carried.clone(),
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
