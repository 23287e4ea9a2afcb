//! What is known of each object of a release while it is being brought about, and what that comes to.

use std::ops::Range;
use std::time::Duration;

use clearway_conditions::ObjectId;
use clearway_conditions::health::{Expected, State, Verdict};
use clearway_core::{Timestamp, humanize};
use clearway_release::Manifest;
use tokio::time::Instant;

use super::Pace;
use crate::work::{Failure, Progress};

/// Objects that are named while they are waited for.
const NAMED: usize = 3;
/// Failures that are told of.
const TOLD: usize = 10;
/// Characters of one failure: a server may say a lot.
const LONGEST: usize = 1_000;

/// One object of a release.
#[derive(Debug)]
pub(super) struct Item<'p> {
    pub(super) manifest: &'p Manifest,
    pub(super) id: ObjectId,
    pub(super) standing: Standing,
    /// When it is looked at or tried next.
    pub(super) due: Instant,
    /// What keeps it from being applied, and how often in a row.
    pub(super) trouble: Option<Trouble>,
}

/// How far an object is.
#[derive(Debug)]
pub(super) enum Standing {
    /// Nothing was done about it.
    Open,
    /// A request about it is under way; what was wrong with it before counts until that is answered.
    Busy(Option<Failure>),
    /// It is as the release has it, and is being waited for.
    Given(Box<Given>),
    /// It is as the release has it, and healthy.
    Done,
}

/// An object that was applied, and is not healthy yet.
#[derive(Debug)]
pub(super) struct Given {
    /// What was applied; nothing if it is being deleted.
    pub(super) expected: Option<Expected>,
    /// When something about it changed by our hand.
    pub(super) changed: Option<Instant>,
    /// Since when it is waited for.
    pub(super) since: Timestamp,
    /// Its health, and since when it is in this state.
    pub(super) verdict: Verdict,
    pub(super) in_state: Timestamp,
    /// Looks without news.
    pub(super) looks: u32,
    /// What is wrong with it, until it was not for long enough.
    pub(super) failing: Option<Failing>,
}

/// A failure of an object that lasts: pods that crash run again for a while, and that is no recovery.
#[derive(Debug)]
pub(super) struct Failing {
    failure: Failure,
    /// How long it has to be well before this is over.
    hold: Duration,
    /// Since when it is.
    well_since: Option<Timestamp>,
}

/// What keeps an object from being applied or removed.
#[derive(Debug)]
pub(super) struct Trouble {
    pub(super) failure: Failure,
    /// Whether it may end without anybody doing anything.
    pub(super) passing: bool,
    pub(super) since: Timestamp,
    pub(super) times: u32,
}

/// All objects of a release, and what is being removed.
#[derive(Debug)]
pub(super) struct Ledger<'p> {
    pub(super) items: Vec<Item<'p>>,
    /// The objects of the stage that is being carried out, by place.
    pub(super) now_at: Range<usize>,
    /// What is being removed, or cannot be.
    pub(super) removing: Vec<String>,
    pub(super) removal_failures: Vec<Failure>,
}

impl Trouble {
    /// What hinders it now, after what did before.
    pub(super) fn after(before: Option<Self>, failure: Failure, passing: bool, now: Timestamp) -> Self {
        let before = before.filter(|before| before.passing == passing);
        let (since, times) = before.map_or((now, 0), |before| (before.since, before.times));
        Trouble { failure, passing, since, times: times.saturating_add(1) }
    }

    /// The failure, unless it may be over in a moment.
    pub(super) fn told(&self, pace: &Pace, now: Timestamp) -> Option<Failure> {
        (!self.passing || now.since(self.since) >= pace.passing).then(|| self.failure.clone())
    }
}

impl Given {
    /// Takes in how the object is now.
    pub(super) fn see(&mut self, verdict: Verdict, id: &ObjectId, pace: &Pace, now: Timestamp) {
        let same = (self.verdict.state, &self.verdict.message) == (verdict.state, &verdict.message);
        self.looks = if same { self.looks.saturating_add(1) } else { 0 };
        if self.verdict.state != verdict.state {
            self.in_state = now;
        }
        self.verdict = verdict;
        match (self.failure_now(id, pace, now), &mut self.failing) {
            // The first words stay: counts and delays in them change with every look.
            (Some(failure), Some(failing)) if failing.failure.reason == failure.reason => failing.well_since = None,
            (Some(failure), _) => {
                let hold = self.verdict.hold.unwrap_or_default();
                self.failing = Some(Failing { failure, hold, well_since: None });
            }
            (None, Some(failing)) => {
                let since = *failing.well_since.get_or_insert(now);
                if now.since(since) >= failing.hold {
                    self.failing = None;
                }
            }
            (None, None) => {}
        }
    }

    fn failure(&self, id: &ObjectId, pace: &Pace, now: Timestamp) -> Option<Failure> {
        let lasting = self.failing.as_ref().map(|failing| failing.failure.clone());
        lasting.or_else(|| self.failure_now(id, pace, now))
    }

    /// What is wrong with it, by the last look.
    fn failure_now(&self, id: &ObjectId, pace: &Pace, now: Timestamp) -> Option<Failure> {
        let Verdict { reason, message, hold, .. } = &self.verdict;
        let failed = self.verdict.state == State::Failed
            && now.since(self.in_state.min(self.verdict.since.unwrap_or(now))) >= hold.unwrap_or_default();
        if failed {
            return Some(Failure { reason: reason.clone(), message: told(&format!("{id}: {message}")) });
        }
        (now.since(self.since) >= pace.patience).then(|| {
            let longer = humanize(pace.patience);
            let what = if self.expected.is_some() { "healthy" } else { "gone" };
            let message = format!("{id} is not {what} after more than {longer}: {message}");
            Failure { reason: "TakesTooLong".to_owned(), message: told(&message) }
        })
    }
}

impl Item<'_> {
    pub(super) fn is_done(&self) -> bool {
        matches!(self.standing, Standing::Done)
    }

    /// It could not be applied; it is tried again later.
    pub(super) fn fail(&mut self, failure: Failure, passing: bool, now: Timestamp, pace: &Pace, jitter: f64) {
        let trouble = Trouble::after(self.trouble.take(), failure, passing, now);
        self.due = Instant::now() + pace.retry(trouble.times, passing, jitter);
        self.trouble = Some(trouble);
    }

    pub(super) fn failure(&self, pace: &Pace, now: Timestamp) -> Option<Failure> {
        if let Some(trouble) = &self.trouble {
            return trouble.told(pace, now);
        }
        match &self.standing {
            Standing::Given(given) => given.failure(&self.id, pace, now),
            Standing::Busy(failure) => failure.clone(),
            Standing::Open | Standing::Done => None,
        }
    }
}

impl Ledger<'_> {
    /// What it comes to.
    pub(super) fn progress(&self, pace: &Pace, now: Timestamp) -> Progress {
        let open = || self.items.get(self.now_at.clone()).unwrap_or_default().iter().filter(|item| !item.is_done());
        let names = open().map(|item| item.id.to_string());
        let mut waiting_on: Vec<String> =
            names.chain(self.removing.iter().map(|id| format!("the end of {id}"))).take(NAMED).collect();
        let more = (open().count() + self.removing.len()).saturating_sub(NAMED);
        if more > 0 {
            waiting_on.push(format!("{more} more"));
        }
        let mut failures: Vec<Failure> = open().filter_map(|item| item.failure(pace, now)).collect();
        failures.extend(self.removal_failures.iter().cloned());
        failures.sort();
        failures.dedup();
        if failures.len() > TOLD {
            let more = failures.len() - TOLD;
            failures.truncate(TOLD);
            failures.push(Failure { reason: "MoreFailures".to_owned(), message: format!("and {more} more") });
        }
        Progress {
            done: self.items.iter().filter(|item| item.is_done()).count(),
            total: self.items.len(),
            waiting_on,
            failures,
        }
    }

    /// How long until something in these lanes is due; nothing if all of it is done. What stands behind an object that is
    /// still to be applied waits for it.
    pub(super) fn rest(&self, lanes: &[Range<usize>]) -> Option<Duration> {
        let next = |lane: &Range<usize>| {
            let lane = self.items.get(lane.clone()).unwrap_or_default();
            let open = lane.iter().position(|item| matches!(item.standing, Standing::Open));
            let reached = open.map_or(lane.len(), |open| open + 1);
            lane.iter().take(reached).filter(|item| !item.is_done()).map(|item| item.due).min()
        };
        let due = lanes.iter().filter_map(next).min()?;
        Some(due.saturating_duration_since(Instant::now()))
    }
}

/// A sentence that is not too long for a status.
pub(super) fn told(text: &str) -> String {
    if text.chars().count() <= LONGEST {
        text.to_owned()
    } else {
        text.chars().take(LONGEST - 1).chain(['…']).collect()
    }
}
