//! What the cluster says: queries to the metrics store in rounds, and questions to objects.

use std::time::Duration;

use clearway_advice::evidence::{Failure, ObjectQuestion, Observation, Question};
use clearway_advice::rounds::{RoundSettings, Rounds};
use clearway_core::Timestamp;
use clearway_promql::eval;

use super::events::MetricsContact;
use super::schedule::next_due;
use super::{Effect, ObjectRecords, Reconciler, Settings};

/// What was answered, and what is being asked.
#[derive(Debug)]
pub(super) struct ClusterEvidence {
    pub(super) rounds: Rounds,
    /// Since when the present round is open.
    pub(super) round_since: Option<Timestamp>,
    /// Nothing until objects were looked at for the present answer of the update service.
    pub(super) objects: Option<ObjectRecords>,
    look: Look,
    pub(super) contact: MetricsContact,
}

/// The state of looking at objects.
#[derive(Debug, Default)]
struct Look {
    /// Whether there is something to look at.
    is_wanted: bool,
    /// The number of the last look.
    last: u64,
    /// The last look that was for other questions than the present ones: what comes of it, or of those before, is not used.
    outdated: u64,
    /// The look that is under way.
    under_way: Option<u64>,
    /// When the last one was begun.
    begun: Option<Timestamp>,
    /// When the next one is due; nothing means at once.
    next: Option<Timestamp>,
}

impl Look {
    fn is_due(&self, now: Timestamp) -> bool {
        self.under_way.is_none() && self.next.is_none_or(|next| next <= now)
    }

    fn begin(&mut self, interval: Duration, now: Timestamp) -> u64 {
        let due = self.next.filter(|next| *next <= now).unwrap_or(now);
        self.next = Some(next_due(due, interval, now));
        self.last = self.last.saturating_add(1);
        (self.under_way, self.begun) = (Some(self.last), Some(now));
        self.last
    }

    /// Notes that a look is over. Where it took longer than an interval, the next one keeps to the schedule.
    fn end(&mut self, number: u64, interval: Duration, now: Timestamp) {
        if self.under_way == Some(number) {
            self.under_way = None;
            self.next = self.next.map(|next| if next <= now { next_due(next, interval, now) } else { next });
        }
    }
}

impl ClusterEvidence {
    pub(super) fn new(settings: RoundSettings) -> Self {
        ClusterEvidence {
            rounds: Rounds::new(settings),
            round_since: None,
            objects: None,
            look: Look::default(),
            contact: MetricsContact::default(),
        }
    }

    /// Makes every question due; answers count until new ones come.
    pub(super) fn restart(&mut self, settings: RoundSettings) {
        let answers = self.rounds.export();
        self.rounds = Rounds::new(settings);
        self.rounds.import(answers);
        self.round_since = None;
        self.discard_objects();
    }

    /// Forgets what objects said, and does not wait for what is being found out about them: there are other questions.
    pub(super) fn discard_objects(&mut self) {
        self.objects = None;
        self.look = Look { last: self.look.last, outdated: self.look.last, ..Look::default() };
    }

    /// Takes what came of a look.
    pub(super) fn record_objects(&mut self, number: u64, objects: ObjectRecords, interval: Duration, now: Timestamp) {
        if number > self.look.outdated {
            self.objects = Some(objects);
        }
        self.look.end(number, interval, now);
    }

    /// When the next look is due; nothing while one is under way, or if there is nothing to look at.
    pub(super) fn look_due(&self) -> Option<Timestamp> {
        self.look.next.filter(|_| self.look.is_wanted && self.look.under_way.is_none())
    }

    /// Whether all that there is to ask was asked and answered. A new query waits for the next round, and nothing is open
    /// meanwhile.
    pub(super) fn is_complete(&self) -> bool {
        self.rounds.is_complete() && self.look.under_way.is_none()
    }

    /// Does not wait for longer than it would have because the clock was set back. What objects said is no evidence any more
    /// if it lies too far in the future, so that they are looked at again; queries are asked again for the same reason
    /// ([`Rounds`]).
    pub(super) fn turn_back(&mut self, now: Timestamp, settings: &Settings) {
        let look = &mut self.look;
        let seen = self.objects.as_ref().map(|objects| objects.at).filter(|_| look.under_way.is_none()).or(look.begun);
        let is_wrong = seen.is_some_and(|seen| seen.since(now) > settings.advice.clock_skew);
        let latest = next_due(now, settings.look_again, now);
        look.next = look.next.filter(|_| !is_wrong).map(|next| next.min(latest));
        self.round_since = self.round_since.map(|since| since.min(now));
    }
}

impl Reconciler {
    /// Sets the questions of the rounds to those of the present answer of the update service.
    pub(super) fn set_questions(&mut self, now: Timestamp) {
        let rounds = &mut self.evidence.rounds;
        let Some(knowledge) = &self.upstream.knowledge else { return rounds.suspend(now) };
        if !self.settings.has_metrics {
            return rounds.set_queries([], now);
        }
        let id = self.upstream.request.as_ref().map(|request| request.id.as_str());
        if let Some(id) = id.filter(|_| self.settings.shared_store) {
            let questions = knowledge.plan.questions_for(id);
            rounds.set_queries(questions.iter().map(Question::text), now);
        } else {
            rounds.set_queries(knowledge.plan.questions().into_iter().map(Question::text), now);
        }
    }

    /// Takes the answer of a query.
    pub(super) fn answered(
        &mut self,
        query: &str,
        result: Result<Observation<eval::Value>, Failure>,
        now: Timestamp,
        effects: &mut Vec<Effect>,
    ) {
        let counts = &mut self.statistics.counts;
        *(if result.is_ok() { &mut counts.answered } else { &mut counts.failed }) += 1;
        self.evidence.contact.answered(&result);
        self.evidence.rounds.answered(query, result, now);
        self.writes.composed = false;
        if !self.evidence.rounds.is_open() {
            self.record_metrics_contact(effects);
        }
    }

    /// Queries the metrics store and looks at objects when it is time.
    pub(super) fn evaluate(&mut self, now: Timestamp, effects: &mut Vec<Effect>) {
        let evidence = &mut self.evidence;
        let mut round_begins = false;
        if let Some(round) = evidence.rounds.due(now) {
            evidence.round_since = Some(now);
            round_begins = true;
            effects.push(Effect::Evaluate(round));
        }
        if !evidence.rounds.is_open() {
            evidence.round_since = None;
        }
        evidence.look.is_wanted = false;
        let Some(knowledge) = &self.upstream.knowledge else { return };
        let about_releases = knowledge.plan.release_questions();
        // Objects are asked with every round. Releases are fetched by a schedule alone: when rounds are depends on what
        // queries say, which a registry must not learn. Until objects answer, what they said last counts.
        let with_round = round_begins && about_releases.is_empty() && evidence.look.under_way.is_none();
        let mut questions = knowledge.plan.object_questions();
        questions.extend(about_releases);
        evidence.look.is_wanted = !questions.is_empty();
        if evidence.look.is_wanted && (with_round || evidence.look.is_due(now)) {
            let number = evidence.look.begin(self.settings.look_again, now);
            let owned = |(question, steps): (&ObjectQuestion, u64)| (question.clone(), steps);
            effects.push(Effect::Look { number, questions: questions.into_iter().map(owned).collect() });
        }
    }
}
