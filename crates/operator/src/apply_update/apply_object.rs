//! What is done about one object of a release, and what is seen of it afterwards: a few requests each.

use clearway_conditions::health::{Basis, State, Verdict};
use clearway_core::ObjectId;
use clearway_release::{Manifest, Payload};
use clearway_sources::store::{Apply, Store, StoreError};
use serde_json::Value;
use tokio::time::Instant;

use super::Settings;
use super::judge::{defines_conditions, expected, with_its_pods};
use super::ledger::{AppliedObject, shorten};
use super::observed_health::ObservedHealth;
use clearway_update::health::judge;
use clearway_update::owner::MANAGER;
use clearway_update::owner::OWNER;
use clearway_update::rollout::Failure;
use clearway_update::task::Task;

/// Looks at an object on its way before its pods are looked at too.
pub(super) const LOOKS: u32 = 2;
/// How often a field that the API server does not keep is said again: it may not know the new schema of a kind yet.
const SAY_AGAIN: u32 = 5;

/// What a release is brought about with.
pub(super) struct ApplyContext<'a, S> {
    pub(super) store: &'a S,
    pub(super) settings: &'a Settings,
    pub(super) task: &'a Task,
    pub(super) payload: &'a Payload,
}

/// How an object was left.
pub(super) enum ApplyOutcome {
    /// There is nothing to wait for.
    Done,
    /// It is to be waited for.
    Applied(Box<AppliedObject>),
    /// It has to be applied again: it is gone, or another one has its name.
    Open,
}

/// What is known of an object before it is applied.
pub(super) struct PriorAttempts {
    /// How often that failed.
    pub(super) times: u32,
    /// The failure of it that an earlier process reported.
    pub(super) carried: Option<Failure>,
}

/// Why nothing was done about an object.
pub(super) struct ApplyFailure {
    pub(super) failure: Failure,
    /// Whether that may end without anybody doing anything.
    pub(super) passing: bool,
}

impl<S: Store> ApplyContext<'_, S> {
    /// Makes an object be as the release has it. `needed` says that an earlier stage defines its kind.
    pub(super) async fn apply(
        &self,
        manifest: &Manifest,
        id: &ObjectId,
        needed: bool,
        before: PriorAttempts,
    ) -> Result<ApplyOutcome, ApplyFailure> {
        let PriorAttempts { times, carried } = before;
        let hindered = |error: StoreError| {
            let defined_soon = needed && matches!(error, StoreError::NoSuchKind { .. } | StoreError::Missing { .. });
            let ending = matches!(&error, StoreError::Forbidden { why } if why.contains("being terminated"));
            ApplyFailure {
                passing: error.is_passing() || defined_soon || ending,
                failure: failure(id, &manifest.file, &error),
            }
        };
        let key = manifest.reference();
        let live = match self.store.get(&key).await {
            Err(StoreError::NoSuchKind { .. }) if manifest.deletes() => None,
            live => live.map_err(hindered)?,
        };
        if manifest.create_only() && live.is_some() && !manifest.deletes() {
            return Ok(ApplyOutcome::Done);
        }
        if let Some(other) = live.as_ref().and_then(|live| self.task.owner.other(live)) {
            return Err(ApplyFailure { failure: claimed(id, other), passing: false });
        }
        if manifest.deletes() {
            let Some(live) = live else { return Ok(ApplyOutcome::Done) };
            self.store.delete(&key, uid(&live)).await.map_err(hindered)?;
            let verdict = Verdict::unknown("Deleted", "it was just deleted");
            return Ok(ApplyOutcome::Applied(self.applied(None, verdict, None, carried)));
        }
        let said = self.task.owner.stamped(manifest);
        let how = Apply { manager: MANAGER, force: !manifest.create_only(), dry_run: false };
        let answer = self.store.apply(&said, &how).await.map_err(hindered)?;
        if needed
            && times < SAY_AGAIN
            && let Some(path) = lost(&said, &answer)
        {
            let message = format!("{id}: the API server does not store {path}");
            return Err(ApplyFailure {
                failure: Failure { reason: "FieldNotKept".to_owned(), message },
                passing: true,
            });
        }
        let version = |object: &Value| object["metadata"]["resourceVersion"].clone();
        let same = live.is_some_and(|live| version(&live) == version(&answer));
        let verdict = self.judge(manifest, id, &answer, None);
        let applied = self.applied(Some(&answer), verdict, (!same).then(Instant::now), carried);
        Ok(if self.is_well(&applied) { ApplyOutcome::Done } else { ApplyOutcome::Applied(applied) })
    }

    /// Looks at an object that was applied.
    pub(super) async fn check(
        &self,
        manifest: &Manifest,
        id: &ObjectId,
        mut applied: Box<AppliedObject>,
    ) -> Result<ApplyOutcome, (Box<AppliedObject>, StoreError)> {
        let live = match self.store.get(&manifest.reference()).await {
            Ok(live) => live,
            Err(StoreError::NoSuchKind { .. }) if manifest.deletes() => None,
            Err(error) => return Err((applied, error)),
        };
        let now = self.settings.clock.now();
        match (live, manifest.deletes()) {
            (None, true) => Ok(ApplyOutcome::Done),
            (None, false) if applied.health.verdict.gone_is_done => Ok(ApplyOutcome::Done),
            (None, false) => Ok(ApplyOutcome::Open),
            (Some(live), true) => {
                let verdict = judge(&live, None, None, now);
                // Somebody made another one of the same name.
                if verdict.state != State::Terminating {
                    return Ok(ApplyOutcome::Open);
                }
                applied.health.observe(verdict, id, &self.settings.pace, now);
                Ok(ApplyOutcome::Applied(applied))
            }
            (Some(live), false) => {
                let mut verdict = self.judge(manifest, id, &live, Some(&applied));
                if verdict.state == State::NotFound {
                    return Ok(ApplyOutcome::Open);
                }
                if applied.health.looks >= LOOKS || verdict.state == State::Failed {
                    verdict = with_its_pods(self.store, &live, verdict, now).await;
                }
                applied.health.observe(verdict, id, &self.settings.pace, now);
                Ok(if self.is_well(&applied) { ApplyOutcome::Done } else { ApplyOutcome::Applied(applied) })
            }
        }
    }

    fn judge(&self, manifest: &Manifest, id: &ObjectId, object: &Value, applied: Option<&AppliedObject>) -> Verdict {
        let version = &manifest.version;
        let expected = match applied {
            Some(applied) => applied.expected.clone(),
            None => Some(expected(object)),
        };
        judge(object, expected, defines_conditions(self.payload, id, version), self.settings.clock.now())
    }

    fn applied(
        &self,
        answer: Option<&Value>,
        verdict: Verdict,
        changed: Option<Instant>,
        carried: Option<Failure>,
    ) -> Box<AppliedObject> {
        let Settings { pace, clock, .. } = self.settings;
        let health = ObservedHealth::new(verdict, carried, pace, clock.now());
        Box::new(AppliedObject { expected: answer.map(expected), changed, health })
    }

    /// Whether it need not be waited for any longer. What a controller says without naming a generation may be about the
    /// object as it was before, so it is believed a little later.
    fn is_well(&self, applied: &AppliedObject) -> bool {
        let Verdict { proven, basis, .. } = &applied.health.verdict;
        let settled = *proven
            || *basis == Basis::KindRule
            || applied.changed.is_none_or(|changed| changed.elapsed() >= self.settings.pace.settle);
        applied.health.is_healthy() && settled
    }
}

pub(super) fn uid(object: &Value) -> &str {
    object["metadata"]["uid"].as_str().unwrap_or_default()
}

/// That another owner has an object.
fn claimed(id: &ObjectId, other: &str) -> Failure {
    let message = format!(
        "{id} belongs to {other} and is not overwritten; remove it from one of the two releases, or remove its label {OWNER}"
    );
    Failure { reason: "OwnedByAnother".to_owned(), message }
}

/// What a store said, as a failure.
pub(super) fn failure(id: &ObjectId, file: &str, error: &StoreError) -> Failure {
    let reason = match error {
        StoreError::Away { .. } | StoreError::Expired { .. } => "Unreachable",
        StoreError::Forbidden { .. } => "Forbidden",
        StoreError::NoSuchKind { .. } => "KindNotServed",
        StoreError::Missing { .. } => "Missing",
        StoreError::Conflict { .. } => "Conflict",
        StoreError::TooLarge { .. } | StoreError::AnswerTooLarge { .. } => "TooLarge",
        StoreError::Refused { .. } => "Refused",
    };
    let from = if file.is_empty() { String::new() } else { format!(" ({file})") };
    Failure { reason: reason.to_owned(), message: shorten(&format!("{id}{from}: {error}")) }
}

/// The path of something that was said and is not in the answer.
fn lost(said: &Value, answer: &Value) -> Option<String> {
    match (said, answer) {
        (Value::Object(said), Value::Object(answer)) => said.iter().find_map(|(name, said)| {
            // What is null is no value, and a status is not what an apply is about.
            if said.is_null() || name == "status" {
                return None;
            }
            let inner = match answer.get(name) {
                None => Some(String::new()),
                Some(answer) => lost(said, answer),
            };
            inner.map(|inner| if inner.is_empty() { name.clone() } else { format!("{name}.{inner}") })
        }),
        (Value::Array(said), Value::Array(answer)) if said.len() == answer.len() => {
            said.iter().zip(answer).find_map(|(said, answer)| lost(said, answer))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_not_kept_is_named() {
        let said =
            json!({"spec": {"size": "1", "new": {"a": 1}, "gone": null, "list": [{"x": 1}]}, "status": {"y": 1}});
        for (answer, want) in [
            (said.clone(), None),
            (json!({"spec": {"size": "2", "new": {"a": 1, "b": 2}, "list": [{"x": 1}]}}), None),
            (json!({"spec": {"size": "1", "list": [{"x": 1}]}}), Some("spec.new")),
            (json!({"spec": {"size": "1", "new": {"a": 1}, "list": [{}]}}), Some("spec.list.x")),
        ] {
            assert_eq!(lost(&said, &answer).as_deref(), want);
        }
    }
}
