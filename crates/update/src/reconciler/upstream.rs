//! The update service: when it is asked, what it answered, and what of that is kept over a restart.

use std::sync::Arc;
use std::time::Duration;

use clearway_core::{Digest, EntityTag, Event, EventType, Timestamp};

use super::schedule::next_due;
use super::{Effect, Reconciler, Settings, UpstreamAnswer};
use crate::api::VersionObject;
use crate::desired_update::architecture::MultiRelease;
use crate::status::conditions::Retrieval;
use crate::upstream::Knowledge;
use crate::upstream::cached_state::{CachedMark, CachedState};
use crate::upstream::{RetrievalError, UpstreamRequest};

/// What is known from the update service, and the state of asking it.
#[derive(Debug, Default)]
pub(super) struct Upstream {
    /// What it is asked; nothing while it cannot be asked.
    pub(super) request: Option<UpstreamRequest>,
    /// What it answered.
    pub(super) knowledge: Option<Arc<Knowledge>>,
    /// When it answered last, be it that nothing has changed; before its first answer, when it was first to be asked.
    pub(super) retrieved_at: Option<Timestamp>,
    /// Whether there was an outcome for the present request.
    pub(super) tried: bool,
    /// Since when an answer is being waited for.
    pub(super) asking: Option<Timestamp>,
    /// When it was asked last.
    asked: Option<Timestamp>,
    /// The state of an earlier process, until the input that follows it.
    pub(super) cached_before: Option<CachedBefore>,
    validator: Option<EntityTag>,
    error: Option<RetrievalError>,
    /// When it is asked next; nothing means at once.
    next: Option<Timestamp>,
    /// In a row.
    failures: u32,
    /// The digest of the answer that was assessed with all that could be found out.
    assessed: Option<Digest>,
    /// Whether an answer that was set aside is to be assessed again; until there is one.
    assess_again: bool,
    /// What was cached last.
    cached: Option<CachedMark>,
}

/// The state of an earlier process, and the bytes of memory that it may take.
#[derive(Debug)]
pub(super) struct CachedBefore {
    pub(super) state: CachedState,
    pub(super) room: usize,
}

impl Upstream {
    /// When it is asked next.
    pub(super) fn due(&self) -> Option<Timestamp> {
        self.next.filter(|_| self.asking.is_none())
    }

    /// Does not wait for as long as the clock was set back: if that was by more than clocks may differ, it is asked now, and
    /// otherwise after no more than the usual rest. What it said is not from the future.
    pub(super) fn turn_back(&mut self, now: Timestamp, settings: &Settings) {
        let is_wrong = self.asked.is_some_and(|asked| asked.since(now) > settings.advice.clock_skew);
        let latest = next_due(now, self.rest(settings), now);
        self.next = self.next.filter(|_| !is_wrong).map(|next| next.min(latest));
        self.asking = self.asking.map(|since| since.min(now));
        self.retrieved_at = self.retrieved_at.map(|at| at.min(now));
    }

    /// The rest between two requests at present.
    fn rest(&self, settings: &Settings) -> Duration {
        if self.failures == 0 { settings.fetch_interval() } else { settings.back_off(self.failures) }
    }

    /// Drops the state of an earlier process. It is not used, so it does no harm.
    pub(super) fn discard_cached(&mut self, effects: &mut Vec<Effect>) {
        let unused = self.cached_before.take();
        effects.extend(unused.map(|cached| Effect::Assessed(cached.state.digest())));
    }

    /// Asks now, and assesses the answer even if it was set aside.
    pub(super) fn refetch(&mut self) {
        (self.next, self.assess_again) = (None, true);
    }

    /// Whether what is known is current, in the words of `RetrievedUpdates`.
    pub(super) fn retrieval(&self) -> Retrieval<'_> {
        let known = self.knowledge.as_ref();
        match (&self.error, self.tried) {
            (Some(error), _) => Retrieval::Failed { error, known: self.retrieved_at.filter(|_| known.is_some()) },
            (None, true) => Retrieval::Current { findings: known.map(|known| &known.findings) },
            (None, false) => Retrieval::NotYet,
        }
    }

    /// What the service says of the present version as a multi-architecture release.
    pub(super) fn multi_release(&self) -> MultiRelease<'_> {
        match (&self.knowledge, &self.error) {
            (Some(knowledge), _) => knowledge.multi_release().map_or(
                MultiRelease::Unavailable("the update service has no multi-architecture release of this version"),
                MultiRelease::Found,
            ),
            (None, Some(error)) => MultiRelease::Unavailable(&error.message),
            (None, None) => MultiRelease::Pending,
        }
    }

    /// Begins to ask something else, or nothing: what was learned from other requests does not apply.
    fn begin(&mut self, request: Result<UpstreamRequest, RetrievalError>) {
        let (request, error) = match request {
            Ok(request) => (Some(request), None),
            Err(error) => (None, Some(error)),
        };
        let tried = error.is_some();
        (self.request, self.error, self.tried) = (request, error, tried);
        (self.validator, self.asking, self.next, self.failures) = (None, None, None, 0);
    }
}

impl Reconciler {
    /// Asks the update service when it is time.
    pub(super) fn retrieve(&mut self, object: &VersionObject, now: Timestamp, effects: &mut Vec<Effect>) {
        let status = object.status.clone().unwrap_or_default();
        let request = UpstreamRequest::of(&object.spec, &status, self.settings.upstream.as_ref(), &self.settings.arch);
        let request = match request {
            Ok(request) => request,
            Err(error) => {
                self.forget(now, effects);
                self.upstream.discard_cached(effects);
                return self.upstream.begin(Err(error));
            }
        };
        self.restore_cached(&request, now, effects);
        if self.upstream.request.as_ref() != Some(&request) {
            self.forget(now, effects);
            self.upstream.begin(Ok(request.clone()));
        }
        let upstream = &mut self.upstream;
        if upstream.asking.is_none() && upstream.next.is_none_or(|next| next <= now) {
            (upstream.asking, upstream.asked) = (Some(now), Some(now));
            let digest = upstream.knowledge.as_ref().map(|knowledge| knowledge.digest.clone());
            let again = upstream.assess_again;
            effects.push(Effect::Fetch { ask: request, known: upstream.validator.clone(), digest, again });
        }
    }

    /// Continues with the state of an earlier process, if it is about the same request.
    fn restore_cached(&mut self, request: &UpstreamRequest, now: Timestamp, effects: &mut Vec<Effect>) {
        let Some(CachedBefore { state: cached, room }) = self.upstream.cached_before.take() else { return };
        let restored = cached.restore(request, &self.settings.advice);
        let Some((knowledge, answers)) = restored.filter(|(knowledge, _)| knowledge.memory() <= room) else {
            // It is not used, so it does no harm.
            return effects.push(Effect::Assessed(cached.digest()));
        };
        self.evidence.rounds.import(answers);
        let upstream = &mut self.upstream;
        upstream.validator.clone_from(&cached.validator());
        upstream.request = Some(request.clone());
        // A clock that was wrong must not keep it for longer.
        upstream.retrieved_at = Some(knowledge.at.min(now));
        upstream.knowledge = Some(Arc::new(knowledge));
        upstream.cached = Some(cached.mark());
        self.set_questions(now);
    }

    fn forget(&mut self, now: Timestamp, effects: &mut Vec<Effect>) {
        self.mark_replaced(None, effects);
        // If the same answer comes again, it is begun anew.
        self.upstream.assessed = None;
        if self.upstream.knowledge.take().is_some() {
            self.set_questions(now);
            self.evidence.discard_objects();
        }
    }

    /// Notes that the present answer is not used any more, if its assessment was not complete: it did no harm.
    fn mark_replaced(&self, by: Option<&Digest>, effects: &mut Vec<Effect>) {
        let digest = self.upstream.knowledge.as_ref().map(|knowledge| &knowledge.digest);
        let open = digest.filter(|digest| Some(*digest) != by && Some(*digest) != self.upstream.assessed.as_ref());
        effects.extend(open.cloned().map(Effect::Assessed));
    }

    /// Takes what came of asking the update service.
    pub(super) fn fetched(
        &mut self,
        request: &UpstreamRequest,
        outcome: Result<UpstreamAnswer, RetrievalError>,
        now: Timestamp,
        effects: &mut Vec<Effect>,
    ) {
        if self.upstream.request.as_ref() != Some(request) {
            // It is not used, so it does no harm; unless it is being assessed as the answer to the present request.
            if let Ok(UpstreamAnswer::Knowledge(unused, _)) = outcome {
                let is_known = self.upstream.knowledge.as_ref().is_some_and(|known| known.digest == unused.digest);
                let is_assessed = self.upstream.assessed.as_ref() == Some(&unused.digest);
                effects.extend((!is_known || is_assessed).then_some(Effect::Assessed(unused.digest)));
            }
            return;
        }
        let upstream = &mut self.upstream;
        let asked = upstream.asking.take().unwrap_or(now);
        upstream.tried = true;
        upstream.assess_again &= !outcome
            .as_ref()
            .map_or_else(|error| error.answered, |fetched| matches!(fetched, UpstreamAnswer::Knowledge(..)));
        match outcome {
            Ok(fetched) => {
                (upstream.retrieved_at, upstream.failures, upstream.error) = (Some(now), 0, None);
                upstream.next = Some(next_due(asked, upstream.rest(&self.settings), now));
                if let UpstreamAnswer::Knowledge(knowledge, validator) = fetched {
                    upstream.validator = validator;
                    self.learn(*knowledge, now, effects);
                }
            }
            Err(error) => {
                upstream.failures = upstream.failures.saturating_add(1);
                upstream.next = Some(next_due(asked, upstream.rest(&self.settings), now));
                // An answer that nothing has changed makes it as young as a new one.
                let old = upstream.retrieved_at.is_some_and(|at| now.since(at) > self.settings.graph_max_age);
                let useless = !error.passing || old;
                upstream.error = Some(error);
                if useless {
                    upstream.validator = None;
                    self.forget(now, effects);
                }
            }
        }
    }

    fn learn(&mut self, mut knowledge: Knowledge, now: Timestamp, effects: &mut Vec<Effect>) {
        // They were logged, and there may be many.
        knowledge.diagnostics = Vec::new();
        self.mark_replaced(Some(&knowledge.digest), effects);
        let before = self.upstream.knowledge.as_ref();
        let same = before.is_some_and(|known| known.digest == knowledge.digest);
        self.writes.composed &= same;
        if !same {
            self.upstream.assessed = None;
            self.evidence.discard_objects();
        }
        if let Some(summary) = knowledge.findings.summary() {
            let revision = knowledge.digest.to_string();
            self.record(Event::new(EventType::Warning, "GraphFindings", summary).about(&revision), effects);
        }
        self.upstream.knowledge = Some(Arc::new(knowledge));
        self.set_questions(now);
    }

    /// Notes that the present answer was assessed with everything that could be found out, and did no harm.
    pub(super) fn mark_assessed(&mut self, effects: &mut Vec<Effect>) {
        let Some(knowledge) = &self.upstream.knowledge else { return };
        let complete = self.writes.composed && self.evidence.is_complete();
        if complete && self.upstream.assessed.as_ref() != Some(&knowledge.digest) {
            self.upstream.assessed = Some(knowledge.digest.clone());
            effects.push(Effect::Assessed(knowledge.digest.clone()));
        }
    }

    /// Caches what is known for the next process.
    pub(super) fn cache(&mut self, now: Timestamp, effects: &mut Vec<Effect>) {
        let upstream = &mut self.upstream;
        let (Some(request), Some(knowledge)) = (&upstream.request, &upstream.knowledge) else { return };
        // Only what was assessed: what ends a process must not be what the next one starts with.
        let assessed = upstream.assessed.as_ref() == Some(&knowledge.digest);
        if self.evidence.rounds.is_open() || upstream.error.is_some() || !assessed {
            return;
        }
        let answers = self.evidence.rounds.export();
        let at = upstream.retrieved_at.unwrap_or(knowledge.at);
        let cached = CachedState::new(request, knowledge, at, upstream.validator.as_ref(), &answers);
        let max_age = self.settings.advice.max_age;
        let mark = cached.mark();
        if upstream.cached.as_ref().is_none_or(|before| before.is_worth_replacing(&mark, now, max_age)) {
            upstream.cached = Some(mark);
            effects.push(Effect::Cache(Box::new(cached)));
        }
    }
}
