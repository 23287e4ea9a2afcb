//! The health of one object over several observations: which failure is reported, and when it is over.
//!
//! A container that crashes runs again for a while before it crashes again. So a failure that was reported stays reported,
//! in the same words, until the object has not failed for a while: the status is written once, alerts fire, and a rollout is
//! not taken for complete between two crashes.

use std::time::Duration;

use clearway_conditions::health::{State, Verdict};
use clearway_core::{ObjectId, Timestamp, humanize};

use super::Pace;
use super::ledger::shorten;
use clearway_update::rollout::Failure;

/// The reason of an object that is neither healthy nor failed for too long.
const TAKES_TOO_LONG: &str = "TakesTooLong";

/// What is known of an object that is waited for.
#[derive(Debug)]
pub(super) struct ObservedHealth {
    /// Since when it is waited for.
    since: Timestamp,
    pub(super) verdict: Verdict,
    /// Since when it is in the state of that verdict.
    in_state: Timestamp,
    /// Observations in a row that said the same.
    pub(super) looks: u32,
    /// The failure that is reported.
    failing: Option<Failing>,
}

/// A failure that was reported, and is not over.
#[derive(Debug)]
struct Failing {
    failure: Failure,
    /// How long the object must not fail before this is over.
    hold: Duration,
    /// Since when it does not fail in this way; nothing while it does.
    unseen_since: Option<Timestamp>,
    /// Since when it does not fail in any way; nothing while it does.
    well_since: Option<Timestamp>,
}

impl Failing {
    fn new(failure: Failure, hold: Duration) -> Self {
        Failing { failure, hold, unseen_since: None, well_since: None }
    }
}

impl ObservedHealth {
    /// A first observation. `carried` is a failure of the object that an earlier process reported.
    pub(super) fn new(verdict: Verdict, carried: Option<Failure>, pace: &Pace, now: Timestamp) -> Self {
        let failing = carried.map(|failure| Failing::new(failure, pace.recovery));
        ObservedHealth { since: now, verdict, in_state: now, looks: 0, failing }
    }

    /// Takes in the next observation.
    pub(super) fn observe(&mut self, verdict: Verdict, id: &ObjectId, pace: &Pace, now: Timestamp) {
        let same = (self.verdict.state, &self.verdict.message) == (verdict.state, &verdict.message);
        self.looks = if same { self.looks.saturating_add(1) } else { 0 };
        if self.verdict.state != verdict.state {
            self.in_state = now;
        }
        self.verdict = verdict;
        let late = now.since(self.since) >= pace.patience && !is_healthy(&self.verdict);
        let hold = self.verdict.hold.unwrap_or_default().max(pace.recovery);
        match (self.failed(id, now), &mut self.failing) {
            (Some(failure), None) => self.failing = Some(Failing::new(failure, hold)),
            // The first words stay: counts and delays in them change with every look.
            (Some(failure), Some(failing)) if failing.failure.reason == failure.reason => {
                (failing.unseen_since, failing.well_since) = (None, None);
            }
            // Two failures in turn are reported as the first of them.
            (Some(failure), Some(failing)) => {
                failing.well_since = None;
                if now.since(*failing.unseen_since.get_or_insert(now)) >= failing.hold {
                    *failing = Failing::new(failure, hold);
                }
            }
            // It has failed, though not for long enough to be reported by itself: that is no recovery.
            (None, Some(failing)) if self.verdict.state == State::Failed => failing.well_since = None,
            (None, Some(failing)) => {
                failing.unseen_since.get_or_insert(now);
                // What is late is reported in any case, and these words say more.
                if now.since(*failing.well_since.get_or_insert(now)) >= failing.hold && !late {
                    self.failing = None;
                }
            }
            (None, None) => {}
        }
        if self.is_healthy() {
            // What becomes unwell later has its time from then on.
            self.since = now;
        }
    }

    /// What is reported as wrong with it.
    pub(super) fn failure(&self, id: &ObjectId, goes: bool, pace: &Pace, now: Timestamp) -> Option<Failure> {
        let reported = self.failing.as_ref().map(|failing| failing.failure.clone());
        reported.or_else(|| self.failed(id, now)).or_else(|| {
            (now.since(self.since) >= pace.patience && !is_healthy(&self.verdict)).then(|| {
                let (longer, message) = (humanize(pace.patience), &self.verdict.message);
                let what = if goes { "gone" } else { "healthy" };
                let message = format!("{id} is not {what} after more than {longer}: {message}");
                Failure { reason: TAKES_TOO_LONG.to_owned(), message: shorten(&message) }
            })
        })
    }

    /// Whether it is healthy, and no failure of it is reported.
    pub(super) fn is_healthy(&self) -> bool {
        is_healthy(&self.verdict) && self.failing.is_none()
    }

    /// The failure that the last observation shows, once it has lasted.
    fn failed(&self, id: &ObjectId, now: Timestamp) -> Option<Failure> {
        let Verdict { state, reason, message, hold, since, .. } = &self.verdict;
        let lasted = now.since(self.in_state.min(since.unwrap_or(now))) >= hold.unwrap_or_default();
        (*state == State::Failed && lasted)
            .then(|| Failure { reason: reason.clone(), message: shorten(&format!("{id}: {message}")) })
    }
}

fn is_healthy(verdict: &Verdict) -> bool {
    matches!(verdict.state, State::Current | State::Suspended)
}

#[cfg(test)]
mod tests;
