//! Rounds: when which query is asked (U9). A state machine; the clock is an argument and the asking is done elsewhere.
//!
//! A round is one batch of all distinct queries that are due, asked side by side within a bound. Between the end of a
//! round and the start of the next lie ten minutes; a query that gave an answer, 0 or 1, rests for an hour; one that failed
//! or gave anything else is due in the next round, so an outage is never frozen for an hour. While a round is open no other starts.
//! Where the clock was set back, what was answered later than now is no evidence, and is due at once. With
//! [`Pace::Single`] every query is a round of its own: the literal reading of "wait ten minutes before evaluating any".
//!
//! Drive it like this: [`Rounds::set_queries`] whenever the graph changed, [`Rounds::due`] at the time that
//! [`Rounds::next`] says, [`Rounds::answered`] for every query of the batch, also for those that failed or ran out of
//! time, and [`Rounds::recorded`] whenever something is to be assessed.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use clearway_core::Timestamp;
use clearway_promql::eval::Value;

use crate::evidence::{Failure, Observation, Record, RecordedEvidence};
use crate::memory;
use crate::rules::promql;
use crate::settings::CLOCK_SKEW;

/// How queries are grouped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Pace {
    /// All that are due, at once.
    #[default]
    Batch,
    /// One, and then the rest between rounds.
    Single,
}

/// How often queries are asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoundSettings {
    /// The rest between two rounds.
    pub between_rounds: Duration,
    /// The rest of a query that gave an answer.
    pub between_answers: Duration,
    /// How many queries of a round are asked side by side.
    pub parallel: usize,
    /// How queries are grouped.
    pub pace: Pace,
    /// How far an answer may lie in the future before it is no evidence ([`Settings::clock_skew`](crate::Settings)).
    pub clock_skew: Duration,
}

impl Default for RoundSettings {
    /// Ten minutes, an hour, four at a time, all that are due.
    fn default() -> Self {
        RoundSettings {
            between_rounds: Duration::from_mins(10),
            between_answers: Duration::from_hours(1),
            parallel: 4,
            pace: Pace::Batch,
            clock_skew: CLOCK_SKEW,
        }
    }
}

impl RoundSettings {
    /// How long a query rests after this came of it.
    fn rest_after(&self, result: &Result<Observation<Value>, Failure>) -> Duration {
        // No series, several, or another value than 0 and 1: the evaluation failed, though the store answered.
        let is_answer = result.as_ref().is_ok_and(|observation| promql::is_answer(&observation.value));
        if is_answer { self.between_answers } else { self.between_rounds }
    }
}

/// A batch of queries to ask now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Round {
    /// The queries in the order of asking, each once.
    pub queries: Vec<String>,
    /// How many of them may be under way at one time.
    pub parallel: usize,
}

/// What is known of a query.
#[derive(Debug, Clone, Default)]
struct Entry {
    /// Its place among what is wanted; nothing if nobody wants it any more.
    rank: Option<usize>,
    /// What came of it last.
    last: Option<Result<Observation<Value>, Failure>>,
    /// When it is due; nothing if it never was asked since the start.
    due: Option<Timestamp>,
    /// When it was wanted first.
    since: Option<Timestamp>,
}

/// When which query is asked, and what came of it.
#[derive(Debug, Clone, Default)]
pub struct Rounds {
    settings: RoundSettings,
    entries: BTreeMap<String, Entry>,
    /// The queries of the open round that were not answered yet.
    open: BTreeSet<String>,
    /// When the last round ended.
    ended: Option<Timestamp>,
}

impl Rounds {
    /// Nothing wanted, nothing known.
    pub fn new(settings: RoundSettings) -> Self {
        Rounds { settings, ..Rounds::default() }
    }

    /// Says which queries are wanted from now on, the most important first; see [`crate::Plan::questions`].
    pub fn set_queries<'q>(&mut self, queries: impl IntoIterator<Item = &'q str>, now: Timestamp) {
        self.rank_queries(queries, now);
        self.limit_unwanted();
    }

    /// Says that no query is wanted until [`Rounds::set_queries`] is called, because nothing is known that would need one. All
    /// that is known stays for as long as it rests: it is no more than was wanted and kept before.
    pub fn suspend(&mut self, now: Timestamp) {
        self.rank_queries([], now);
    }

    fn rank_queries<'q>(&mut self, queries: impl IntoIterator<Item = &'q str>, now: Timestamp) {
        self.turn_back(now);
        for entry in self.entries.values_mut() {
            entry.rank = None;
        }
        for (rank, query) in queries.into_iter().enumerate() {
            let entry = self.entries.entry(query.to_owned()).or_default();
            entry.rank.get_or_insert(rank);
            entry.since.get_or_insert(now);
        }
        // What nobody wants is kept while it rests, so that wanting it again does not ask it too soon.
        let open = &self.open;
        self.entries.retain(|query, entry| {
            entry.rank.is_some() || open.contains(query) || entry.due.is_some_and(|due| due > now)
        });
    }

    /// Forgets queries that no risk needs, until they take no more memory than those that are wanted: a graph whose queries
    /// are others each time must not make this grow. Those that are being asked stay before others, and then those that are
    /// due last.
    fn limit_unwanted(&mut self) {
        let wanted = self.wanted().map(|(_, query)| memory::query_memory(query)).fold(0, usize::saturating_add);
        let mut left = memory::unwanted_limit(wanted);
        let mut unwanted: Vec<(bool, Option<Timestamp>, String)> = self
            .entries
            .iter()
            .filter(|(_, entry)| entry.rank.is_none())
            .map(|(query, entry)| (self.open.contains(query), entry.due, query.clone()))
            .collect();
        unwanted.sort_by(|one, other| other.cmp(one));
        for (_, _, query) in unwanted {
            if let Some(rest) = left.checked_sub(memory::query_memory(&query)) {
                left = rest;
            } else {
                left = 0;
                self.entries.remove(&query);
            }
        }
    }

    /// Bytes of memory for the queries that no risk needs any more, and what was answered to them, at most.
    pub fn unwanted_memory(&self) -> usize {
        let unwanted = self.entries.iter().filter(|(_, entry)| entry.rank.is_none());
        let unwanted = unwanted.map(|(query, _)| memory::query_memory(query));
        // Of these nothing is kept but the text, until they are answered.
        let asked = self.open.iter().filter(|query| !self.entries.contains_key(*query));
        unwanted.chain(asked.map(|query| memory::asked_query_memory(query))).fold(0, usize::saturating_add)
    }

    /// The batch to ask now, if it is time. Nothing while a round is open.
    pub fn due(&mut self, now: Timestamp) -> Option<Round> {
        self.turn_back(now);
        if !self.open.is_empty() || self.earliest().is_none_or(|time| time > now) {
            return None;
        }
        let due = |entry: &Entry| entry.due.is_none_or(|due| due <= now);
        let mut found: Vec<(&Entry, &String)> = self.wanted().filter(|(entry, _)| due(entry)).collect();
        match self.settings.pace {
            Pace::Batch => found.sort_by_key(|(entry, query)| (entry.rank, *query)),
            // The one that waits longest, so that each has its turn.
            Pace::Single => {
                found.sort_by_key(|(entry, query)| (entry.due.or(entry.since), entry.rank, *query));
                found.truncate(1);
            }
        }
        let queries: Vec<String> = found.into_iter().map(|(_, query)| query.clone()).collect();
        self.open = queries.iter().cloned().collect();
        let parallel = self.settings.parallel.max(1);
        (!queries.is_empty()).then_some(Round { queries, parallel })
    }

    /// Takes in what came of a query of the open round; whether it was one. A failure replaces an older answer at once.
    pub fn answered(&mut self, query: &str, result: Result<Observation<Value>, Failure>, now: Timestamp) -> bool {
        self.turn_back(now);
        if !self.open.remove(query) {
            return false;
        }
        if let Some(entry) = self.entries.get_mut(query) {
            entry.due = Some(now.plus(self.settings.rest_after(&result)));
            entry.last = Some(result);
        }
        // What was asked last counts, so that the rest holds between any two rounds.
        self.ended = Some(now);
        true
    }

    /// Whether queries were handed out that are not answered yet.
    pub fn is_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// Whether every wanted query was asked since the start, and whatever was handed out is answered.
    pub fn is_complete(&self) -> bool {
        self.open.is_empty() && self.wanted().all(|(entry, _)| entry.due.is_some())
    }

    /// When [`Rounds::due`] has something next: nothing while a round is open, or if nothing is wanted. The time may have
    /// passed already.
    pub fn next(&self) -> Option<Timestamp> {
        if self.open.is_empty() { self.earliest() } else { None }
    }

    /// When a query is asked next, as far as that can be told; nothing while it is being asked, or if nobody wants it.
    pub fn due_at(&self, query: &str) -> Option<Timestamp> {
        let entry = self.entries.get(query).filter(|entry| entry.rank.is_some() && !self.open.contains(query))?;
        let own = entry.due.or(entry.since)?;
        Some(self.rested().map_or(own, |rested| rested.max(own)))
    }

    /// What is known of every wanted query, as evidence to assess from.
    pub fn recorded(&self) -> RecordedEvidence {
        let record = |(entry, query): (&Entry, &String)| {
            let record = match &entry.last {
                Some(Ok(observation)) => Record::Answered(observation.clone()),
                Some(Err(failure)) => Record::Failed(Failure { retry: self.due_at(query), ..failure.clone() }),
                None => Record::Pending { due: self.due_at(query) },
            };
            (query.clone(), record)
        };
        RecordedEvidence {
            queries: self.wanted().map(record).collect(),
            configured: true,
            ..RecordedEvidence::default()
        }
    }

    /// The answers with their times, to be kept over a restart (see
    /// [`stored_answers`](crate::evidence::stored_answers)). Delays are not among them (U9).
    pub fn export(&self) -> BTreeMap<String, Observation<Value>> {
        let answer = |(query, entry): (&String, &Entry)| match &entry.last {
            Some(Ok(observation)) => Some((query.clone(), observation.clone())),
            _ => None,
        };
        self.entries.iter().filter_map(answer).collect()
    }

    /// Takes in answers that were kept. They count as evidence while they are young enough; every query is due all the
    /// same. What was answered since the start is not replaced.
    pub fn import(&mut self, answers: impl IntoIterator<Item = (String, Observation<Value>)>) {
        for (query, observation) in answers {
            let entry = self.entries.entry(query).or_default();
            if entry.last.is_none() {
                entry.last = Some(Ok(observation));
            }
        }
    }

    fn wanted(&self) -> impl Iterator<Item = (&Entry, &String)> {
        self.entries.iter().filter(|(_, entry)| entry.rank.is_some()).map(|(query, entry)| (entry, query))
    }

    /// When the rest after the last round is over.
    fn rested(&self) -> Option<Timestamp> {
        self.ended.map(|ended| ended.plus(self.settings.between_rounds))
    }

    /// When the first wanted query is due and the rest after the last round is over.
    fn earliest(&self) -> Option<Timestamp> {
        let first = self.wanted().filter_map(|(entry, _)| entry.due.or(entry.since)).min()?;
        Some(self.rested().map_or(first, |rested| rested.max(first)))
    }

    /// A clock that was set back must not make queries rest for longer than they would have. An answer that lies too far in
    /// the future counts for nothing, so that it is asked for again; an end of a round does not hold that up.
    fn turn_back(&mut self, now: Timestamp) {
        let settings = &self.settings;
        let is_wrong = |time: Timestamp| time.since(now) > settings.clock_skew;
        self.ended = self.ended.filter(|ended| !is_wrong(*ended)).map(|ended| ended.min(now));
        for entry in self.entries.values_mut() {
            let latest = match &entry.last {
                Some(Ok(observation)) if is_wrong(observation.observed_at) => now,
                Some(result) => now.plus(settings.rest_after(result)),
                None => now,
            };
            entry.due = entry.due.map(|due| due.min(latest));
            entry.since = entry.since.map(|since| since.min(now));
        }
    }
}
