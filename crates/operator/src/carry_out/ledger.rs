//! What is known of each object of a release while it is being brought about, and what that comes to.

use std::ops::Range;
use std::time::Duration;

use clearway_conditions::health::Expected;
use clearway_core::{ObjectId, Timestamp};
use clearway_release::Manifest;
use tokio::time::Instant;

use super::Pace;
use super::observed_health::ObservedHealth;
use clearway_update::rollout::{Failure, Progress};

/// Objects that are named while they are waited for.
const NAMED: usize = 3;
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
    /// The failure of it that an earlier process reported, until it is observed.
    pub(super) carried: Option<Failure>,
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
    pub(super) health: ObservedHealth,
}

/// What keeps an object from being applied or removed.
#[derive(Debug)]
pub(super) struct Trouble {
    pub(super) failure: Failure,
    /// Whether it may end without anybody doing anything.
    pub(super) passing: bool,
    pub(super) since: Timestamp,
    pub(super) times: u32,
    /// The lasting failure that is reported. One that passes, between two of those, does not end it.
    lasting: Option<Failure>,
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
        let reported = before.as_ref().and_then(|before| before.lasting.clone());
        let lasting = if passing {
            reported
        } else {
            // The first words stay: a server may say the same with other numbers each time.
            Some(reported.filter(|before| before.reason == failure.reason).unwrap_or_else(|| failure.clone()))
        };
        let before = before.filter(|before| before.passing == passing);
        let (since, times) = before.map_or((now, 0), |before| (before.since, before.times));
        Trouble { failure, passing, since, times: times.saturating_add(1), lasting }
    }

    /// The failure to report, unless it may be over in a moment.
    pub(super) fn reported(&self, pace: &Pace, now: Timestamp) -> Option<Failure> {
        let late = || (now.since(self.since) >= pace.passing).then(|| self.failure.clone());
        self.lasting.clone().or_else(late)
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

    /// What is reported as wrong with it. What the object itself said comes first: that it cannot be read for a moment
    /// is no news about it.
    pub(super) fn failure(&self, pace: &Pace, now: Timestamp) -> Option<Failure> {
        let observed = match &self.standing {
            Standing::Given(given) => given.health.failure(&self.id, given.expected.is_none(), pace, now),
            Standing::Busy(failure) => failure.clone(),
            Standing::Open => self.carried.clone(),
            Standing::Done => None,
        };
        observed.or_else(|| self.trouble.as_ref().and_then(|trouble| trouble.reported(pace, now)))
    }
}

impl Ledger<'_> {
    /// What it comes to.
    pub(super) fn progress(&self, pace: &Pace, now: Timestamp) -> Progress {
        let open = || self.items.get(self.now_at.clone()).unwrap_or_default().iter().filter(|item| !item.is_done());
        let names = open().map(|item| item.id.to_string());
        let mut waiting_on: Vec<String> =
            names.chain(self.removing.iter().map(|id| format!("the deletion of {id}"))).take(NAMED).collect();
        let more = (open().count() + self.removing.len()).saturating_sub(NAMED);
        if more > 0 {
            waiting_on.push(format!("{more} more"));
        }
        let mut failures: Vec<Failure> = open().filter_map(|item| item.failure(pace, now)).collect();
        // Of objects of later stages only what an earlier process reported is known.
        let later = self.items.get(self.now_at.end..).unwrap_or_default();
        failures.extend(later.iter().filter_map(|item| item.carried.clone()));
        failures.extend(self.removal_failures.iter().cloned());
        let done = self.items.iter().filter(|item| item.is_done()).count();
        Progress { done, total: self.items.len(), waiting_on, ..Progress::default() }.with_failures(failures)
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
