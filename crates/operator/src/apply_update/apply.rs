//! Brings a release about: stage after stage, the components of a stage side by side, then what is no longer in it goes.

use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use clearway_core::{Event, EventType, Timestamp};
use clearway_release::{Payload, Stage};
use clearway_sources::store::Store;
use futures::FutureExt as _;
use tokio::sync::watch;
use tokio::time::Instant;

use super::apply_object::{ApplyContext, ApplyFailure, ApplyOutcome, PriorAttempts, failure};
use super::ledger::{Item, Ledger, ObjectState};
use super::{Settings, side_by_side};
use clearway_update::rollout::{PreparedRelease, Progress, Rollout};
use clearway_update::task::Task;

/// Brings a release about, and says when. It goes on until that is done; dropping it stops it where it is.
pub async fn apply<S: Store>(
    store: &S,
    settings: &Settings,
    task: &Task,
    prepared: &PreparedRelease,
    payload: &Payload,
    report: &watch::Sender<Rollout>,
) -> Timestamp {
    let stages = payload.stages();
    let run = UpdateRun {
        context: ApplyContext { store, settings, task, payload },
        ledger: Mutex::new(Ledger {
            items: items(&stages, task),
            now_at: 0..0,
            removing: Vec::new(),
            removal_failures: Vec::new(),
        }),
        prepared,
        report,
    };
    let mut from = 0;
    for stage in &stages {
        // Nothing of a later stage is written before this one is healthy.
        from = run.stage(stage, from).await;
    }
    run.prune().await;
    let at = settings.clock.now();
    report.send_replace(Rollout::Done { request: task.request.clone(), prepared: prepared.clone(), at });
    at
}

/// The objects of a release in the order of its stages, without those that are not touched.
fn items<'p>(stages: &[Stage<'p>], task: &Task) -> Vec<Item<'p>> {
    let manifests = stages.iter().flat_map(|stage| &stage.lanes).flat_map(|lane| &lane.manifests);
    manifests
        .map(|manifest| (manifest, manifest.id.clone()))
        .filter(|(_, id)| !task.unmanaged.contains(id))
        .map(|(manifest, id)| {
            let carried = task.carried.iter().find(|failure| failure.is_about(&id)).cloned();
            Item { manifest, id, state: ObjectState::Open, due: Instant::now(), problem: None, carried }
        })
        .collect()
}

/// An update on its way.
pub(super) struct UpdateRun<'a, S> {
    pub(super) context: ApplyContext<'a, S>,
    ledger: Mutex<Ledger<'a>>,
    prepared: &'a PreparedRelease,
    report: &'a watch::Sender<Rollout>,
}

impl<'a, S: Store> UpdateRun<'a, S> {
    /// Carries out the stage whose objects begin at a place, and says where the next one begins.
    async fn stage(&self, stage: &Stage<'_>, from: usize) -> usize {
        let managed = |manifest: &&&clearway_release::Manifest| !self.context.task.unmanaged.contains(&manifest.id);
        let mut to = from;
        let lanes: Vec<Range<usize>> = stage
            .lanes
            .iter()
            .map(|lane| {
                let begin = to;
                to += lane.manifests.iter().filter(managed).count();
                begin..to
            })
            .collect();
        self.ledger().now_at = from..to;
        while let Some(rest) = self.rest(&lanes) {
            tokio::time::sleep(rest).await;
            let lanes = lanes.iter().map(|lane| self.lane(stage, lane.clone()).boxed());
            side_by_side(self.context.settings.side_by_side, lanes).await;
        }
        to
    }

    /// Goes through the objects of a component in their order, up to the first that cannot be applied.
    async fn lane(&self, stage: &Stage<'_>, lane: Range<usize>) {
        for place in lane {
            let Some(taken) = self.take(place) else { break };
            let (manifest, id, current, before) = match taken {
                Taken::NotDue { applied: true } => continue,
                Taken::NotDue { applied: false } => break,
                Taken::Due { manifest, id, state, before } => (manifest, id, state, before),
            };
            let needed = stage.needs.contains(&manifest.id.group_kind());
            let outcome = match current {
                ObjectState::Done => Ok(ApplyOutcome::Done),
                ObjectState::Open | ObjectState::Busy(_) => self.context.apply(manifest, &id, needed, *before).await,
                ObjectState::Applied(applied) => match self.context.check(manifest, &id, applied).await {
                    Ok(left) => Ok(left),
                    Err((applied, error)) => {
                        let failure = failure(&id, &manifest.file, &error);
                        self.put(
                            place,
                            ObjectState::Applied(applied),
                            Some(ApplyFailure { failure, passing: error.is_passing() }),
                        );
                        continue;
                    }
                },
            };
            match outcome {
                Ok(ApplyOutcome::Done) => self.put(place, ObjectState::Done, None),
                Ok(ApplyOutcome::Applied(applied)) => self.put(place, ObjectState::Applied(applied), None),
                Ok(ApplyOutcome::Open) => {
                    self.put(place, ObjectState::Open, None);
                    break;
                }
                Err(hindered) => {
                    self.put(place, ObjectState::Open, Some(hindered));
                    break;
                }
            }
        }
    }

    /// What is to be done about an object now.
    fn take(&self, place: usize) -> Option<Taken<'a>> {
        let mut ledger = self.ledger();
        let item = ledger.items.get_mut(place)?;
        let applied = !matches!(item.state, ObjectState::Open);
        if item.is_done() || item.due > Instant::now() {
            return Some(Taken::NotDue { applied });
        }
        let Settings { pace, clock, .. } = self.context.settings;
        let failure = item.failure(pace, clock.now());
        let state = std::mem::replace(&mut item.state, ObjectState::Busy(failure));
        let times = item.problem.as_ref().map_or(0, |problem| problem.times);
        let before = Box::new(PriorAttempts { times, carried: item.carried.clone() });
        Some(Taken::Due { manifest: item.manifest, id: item.id.clone(), state, before })
    }

    fn put(&self, place: usize, state: ObjectState, hindered: Option<ApplyFailure>) {
        let Settings { pace, jitter, clock, .. } = self.context.settings;
        let mut ledger = self.ledger();
        let Some(item) = ledger.items.get_mut(place) else { return };
        if let Some(ApplyFailure { failure, passing }) = hindered {
            item.fail(failure, passing, clock.now(), pace, *jitter);
        } else {
            let looks = if let ObjectState::Applied(applied) = &state { applied.health.looks } else { 0 };
            (item.problem, item.due) = (None, Instant::now() + pace.check_delay(looks));
            // It was observed, so what an earlier process saw counts no longer.
            item.carried = None;
        }
        item.state = state;
        drop(ledger);
        self.report_progress();
    }

    /// How long until something of the stage is due.
    fn rest(&self, lanes: &[Range<usize>]) -> Option<Duration> {
        self.report_progress();
        self.ledger().rest(lanes)
    }

    pub(super) fn ledger(&self) -> MutexGuard<'_, Ledger<'a>> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says how far it is, if that is news.
    pub(super) fn report_progress(&self) {
        let Settings { pace, clock, .. } = self.context.settings;
        let progress: Progress = self.ledger().progress(pace, clock.now());
        let rollout =
            Rollout::Applying { request: self.context.task.request.clone(), prepared: self.prepared.clone(), progress };
        self.report.send_if_modified(|said| {
            let news = *said != rollout;
            if news {
                *said = rollout;
            }
            news
        });
    }

    /// Tells the people who look after the cluster. Nobody relies on it being heard.
    pub(super) async fn record_event(&self, type_: EventType, reason: &str, message: String) {
        tracing::info!(reason, message, "update");
        let event = Event::new(type_, reason, message).about(&self.prepared.version);
        if let Err(error) = self.context.store.record_event(&self.context.task.about, &event).await {
            tracing::debug!(%error, "failed to record an event");
        }
    }
}

/// An object whose turn it is, or is not.
enum Taken<'p> {
    Due {
        manifest: &'p clearway_release::Manifest,
        id: clearway_core::ObjectId,
        state: ObjectState,
        before: Box<PriorAttempts>,
    },
    NotDue {
        applied: bool,
    },
}
