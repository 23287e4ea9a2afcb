//! One target of a wait: what was seen of it, and how it stands at a moment.

use std::time::Duration;

use clearway_core::{ObjectId, Timestamp};

use super::{Clocks, ObjectReport, Observation};
use crate::health::verdict::{Basis, State, Verdict};

/// What is known of a target.
#[derive(Debug, Clone, Default)]
pub(super) struct Target {
    phase: Phase,
    /// When it was first seen to exist.
    appeared: Option<Timestamp>,
    /// Whether its disappearance will mean that it is done.
    gone_is_done: bool,
    /// What its progress was measured by last.
    mark: Mark,
}

/// Where a target was seen last on its way; any other mark is progress.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Mark {
    #[default]
    None,
    NotFound,
    Token(u64),
}

#[derive(Debug, Clone)]
enum Phase {
    /// Nothing was seen yet, and why not.
    Unseen { why: Option<String> },
    /// It is in sight.
    Seen(Sight),
    /// It was seen once, and cannot be now. A failure that was believed by then stays one.
    Lost { last: Sight, why: String, failed: bool },
}

#[derive(Debug, Clone)]
struct Sight {
    verdict: Verdict,
    /// When it was seen last.
    at: Timestamp,
    /// Since when each sight had this state.
    steady: Timestamp,
}

/// How a target stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// Current for long enough.
    Current,
    /// Suspended, and not waited for.
    Suspended,
    /// Current, but not for long enough yet.
    Settling { until: Timestamp },
    /// Failed for long enough.
    Failed { believed: Timestamp },
    /// Failed, but not for long enough yet.
    Failing { until: Timestamp },
    /// Its own clock ran out.
    Late { deadline: Timestamp },
    /// On the way.
    Waiting,
    /// It cannot be told.
    Unknown,
}

impl Default for Phase {
    fn default() -> Self {
        Phase::Unseen { why: None }
    }
}

impl Sight {
    /// From when on the state is believed.
    fn believed(&self, settle: Duration) -> Timestamp {
        self.steady.plus(self.verdict.hold.unwrap_or(settle))
    }

    /// From when on a failure is believed: at once, unless the verdict asks for time.
    fn failure_believed(&self, clocks: &Clocks) -> Timestamp {
        self.steady.plus(self.verdict.hold.map_or(Duration::ZERO, |hold| clocks.patience.unwrap_or(hold)))
    }
}

impl Target {
    /// Takes in what was seen, and answers whether anything moved.
    pub(super) fn observe(&mut self, observation: Observation, clocks: &Clocks, now: Timestamp) -> bool {
        let (verdict, mark) = match observation {
            Observation::Unreachable { why } => {
                self.phase = std::mem::take(&mut self.phase).lose(why, clocks, now);
                return false;
            }
            Observation::NotFound => (self.vanished(), Mark::NotFound),
            Observation::Verdict { verdict, progress_token } => (verdict, Mark::Token(progress_token)),
        };
        if verdict.state != State::NotFound {
            self.appeared.get_or_insert(now);
        }
        // A Job that was seen to fail did not succeed by being removed.
        self.gone_is_done = (self.gone_is_done || verdict.gone_is_done) && verdict.state != State::Failed;
        let steady = match &self.phase {
            Phase::Seen(sight) if sight.verdict.state == verdict.state => sight.steady,
            _ => now,
        };
        self.phase = Phase::Seen(Sight { verdict, at: now, steady });
        std::mem::replace(&mut self.mark, mark) != mark
    }

    fn vanished(&self) -> Verdict {
        if !self.gone_is_done {
            return Verdict::not_found();
        }
        let message = "Resource has run and was removed after it finished";
        Verdict {
            proven: true,
            hold: Some(Duration::ZERO),
            ..Verdict::new(State::Current, "FinishedAndRemoved", message, Basis::KindRule)
        }
    }

    /// Whether nothing was ever seen of it.
    pub(super) fn is_unseen(&self) -> bool {
        matches!(self.phase, Phase::Unseen { .. })
    }

    /// When time alone will change its verdict.
    pub(super) fn recheck(&self) -> Option<Timestamp> {
        match &self.phase {
            Phase::Seen(sight) => sight.verdict.recheck,
            _ => None,
        }
    }

    /// When its own clock runs out.
    pub(super) fn deadline(&self, clocks: &Clocks) -> Option<Timestamp> {
        Some(self.appeared?.plus(clocks.per_object?))
    }

    /// How it stands now.
    pub(super) fn standing(&self, clocks: &Clocks, now: Timestamp) -> Standing {
        let missed = self.deadline(clocks).filter(|deadline| now >= *deadline);
        let standing = match &self.phase {
            Phase::Lost { last, failed: true, .. } => Standing::Failed { believed: last.failure_believed(clocks) },
            Phase::Unseen { .. } | Phase::Lost { .. } => Standing::Unknown,
            Phase::Seen(sight) => match sight.verdict.state {
                // What became current in time is not late, though it still has to last.
                State::Current if missed.is_some_and(|deadline| sight.steady > deadline) => Standing::Waiting,
                State::Current => match sight.believed(clocks.settle) {
                    until if now < until => Standing::Settling { until },
                    _ => Standing::Current,
                },
                State::Failed => match sight.failure_believed(clocks) {
                    until if now < until => Standing::Failing { until },
                    believed => Standing::Failed { believed },
                },
                State::Suspended if !clocks.wait_for_suspended => Standing::Suspended,
                State::Unknown => Standing::Unknown,
                State::Suspended | State::InProgress | State::Terminating | State::NotFound => Standing::Waiting,
            },
        };
        match (standing, missed) {
            (Standing::Waiting | Standing::Unknown | Standing::Failing { .. }, Some(deadline)) => {
                Standing::Late { deadline }
            }
            (standing, _) => standing,
        }
    }

    /// The last verdict: Unknown while the target cannot be seen.
    pub(super) fn verdict(&self) -> Verdict {
        match &self.phase {
            Phase::Seen(sight) | Phase::Lost { last: sight, failed: true, .. } => sight.verdict.clone(),
            Phase::Lost { why, .. } | Phase::Unseen { why: Some(why) } => Verdict::unknown("Unreachable", why.clone()),
            Phase::Unseen { why: None } => Verdict::unknown("NotObserved", "it has not been observed yet"),
        }
    }

    pub(super) fn report(&self, id: &ObjectId, clocks: &Clocks, now: Timestamp) -> ObjectReport {
        let (seen, unreachable) = match &self.phase {
            Phase::Unseen { why } => (None, why.clone()),
            Phase::Seen(sight) => (Some(sight), None),
            Phase::Lost { last, why, .. } => (Some(last), Some(why.clone())),
        };
        ObjectReport {
            id: id.clone(),
            verdict: seen.map_or_else(|| self.verdict(), |sight| sight.verdict.clone()),
            age_seconds: seen.map(|sight| now.since(sight.at).as_secs()),
            late: matches!(self.standing(clocks, now), Standing::Late { .. }),
            unreachable,
        }
    }
}

impl Phase {
    fn lose(self, why: String, clocks: &Clocks, now: Timestamp) -> Self {
        match self {
            Phase::Unseen { .. } => Phase::Unseen { why: Some(why) },
            Phase::Lost { last, failed, .. } => Phase::Lost { last, why, failed },
            Phase::Seen(last) => {
                let failed = last.verdict.state == State::Failed && now >= last.failure_believed(clocks);
                Phase::Lost { last, why, failed }
            }
        }
    }
}
