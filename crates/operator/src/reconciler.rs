//! What happens to one ClusterVersion or ComponentVersion: a state machine without effects.
//!
//! [`Reconciler::step`] takes in what happened and the time, and gives what is to be done. Everything that waits, reads or
//! writes is an [`Effect`] that the driver carries out; its outcome comes back as an [`Input`]. At rest a step gives
//! nothing: a status is stored only if it differs from what the object has, compared as its CRD keeps it.

mod events;
mod io;
mod settings;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use clearway_advice::Assessment;
use clearway_advice::evidence::{ObjectQuestion, Question};
use clearway_advice::rounds::Rounds;
use clearway_core::{Digest, Timestamp};
use clearway_sources::service::Validator;
use clearway_sources::store::{Event, Weight};
use serde_json::Value;

pub use io::{Effect, Fetched, Input, ObjectRecords};
pub use settings::{CarryOut, Settings};

use crate::api::{Status, UpdateState, VersionObject};
use crate::architecture::MultiRelease;
use crate::cached_state::CachedState;
use crate::conditions::Retrieval;
use crate::desired_update::{DesiredUpdate, desired_update, same_image};
use crate::knowledge::Knowledge;
use crate::shape::Shape;
use crate::status::{self, Known};
use crate::upstream_request::{RetrievalError, UpstreamRequest};
use crate::work::{Order, Progress, Step, Work, reported_failures};

/// The annotation that asks for everything to be looked at again; any change of its value does.
pub const RE_EVALUATE: &str = "clearway.dev/re-evaluate";
/// Sayings that are remembered, so that nothing is told twice in a row.
const MOST_SAID: usize = 1000;
/// Why an update is not carried out by an operator that only advises, and what to do.
const ADVICE_ONLY: &str =
    "this operator only advises; to have updates applied, install it with `clearway install --apply-updates`";
/// How long a status waits for what is just being found out.
const PATIENCE: Duration = Duration::from_secs(2);

/// The state of one object.
#[derive(Debug)]
pub struct Reconciler {
    settings: Settings,
    shape: Shape,
    /// As it is stored.
    raw: Option<Box<Value>>,
    object: Option<VersionObject>,
    remarks: Vec<String>,
    re_evaluate: Option<String>,
    feed: Feed,
    knowledge: Option<Arc<Knowledge>>,
    rounds: Rounds,
    round_since: Option<Timestamp>,
    objects: Option<ObjectRecords>,
    looking: bool,
    work: Work,
    /// What was asked of the driver last: preparing or applying.
    engaged: Option<Order>,
    /// Whether that was begun by an earlier process.
    resumes: bool,
    storing: bool,
    /// Not before this time after a failure to store.
    store_again: Option<Timestamp>,
    stored_at: Option<Timestamp>,
    progress: AssessmentProgress,
    assessment: Option<Arc<Assessment>>,
    /// Until when a status that differs is held back.
    held_until: Option<Timestamp>,
    /// When the update service answered last.
    retrieved_at: Option<Timestamp>,
    counts: Counts,
    transitions: Arc<BTreeMap<String, u64>>,
    said: BTreeSet<String>,
    metrics: MetricsContact,
    /// What an earlier process knew, until it is known what is asked.
    remembered: Option<CachedState>,
    kept: Option<CachedState>,
}

/// What was done since the start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Queries that gave an answer.
    pub answered: u64,
    /// Queries that failed.
    pub failed: u64,
    /// Statuses that were stored.
    pub stored: u64,
}

/// Whether the metrics store answers.
#[derive(Debug, Default)]
struct MetricsContact {
    /// Whether a query of the present round was answered.
    answered: bool,
    /// Why one of them was not.
    unreachable: Option<String>,
    /// Whether none was in the last round.
    away: bool,
}

/// How far the present answer of the update service was assessed.
#[derive(Debug, Default)]
struct AssessmentProgress {
    /// The digest of the answer that a status was made of, with all that could be found out.
    assessed: Option<Digest>,
    /// Whether a status was made of the present answer.
    composed: bool,
    /// When a status was made last.
    composed_at: Option<Timestamp>,
    /// Whether an answer that was set aside is to be assessed again.
    again: bool,
}

/// Where asking the update service stands.
#[derive(Debug, Default)]
struct Feed {
    ask: Option<UpstreamRequest>,
    validator: Option<Validator>,
    trouble: Option<RetrievalError>,
    /// Since when an answer is being waited for.
    asking: Option<Timestamp>,
    /// When it is asked next; nothing means at once.
    next: Option<Timestamp>,
    failures: u32,
    tried: bool,
}

impl Reconciler {
    /// Nothing is known yet.
    pub fn new(settings: Settings) -> Self {
        let rounds = Rounds::new(settings.rounds.clone());
        Reconciler {
            settings,
            shape: Shape::default(),
            raw: None,
            object: None,
            remarks: Vec::new(),
            re_evaluate: None,
            feed: Feed::default(),
            knowledge: None,
            rounds,
            round_since: None,
            objects: None,
            looking: false,
            work: Work::Idle,
            engaged: None,
            resumes: false,
            storing: false,
            store_again: None,
            stored_at: None,
            progress: AssessmentProgress::default(),
            assessment: None,
            held_until: None,
            retrieved_at: None,
            counts: Counts::default(),
            said: BTreeSet::new(),
            metrics: MetricsContact::default(),
            transitions: Arc::default(),
            remembered: None,
            kept: None,
        }
    }

    /// Takes in what happened, and says what is to be done.
    pub fn step(&mut self, input: Input, now: Timestamp) -> Vec<Effect> {
        let mut effects = Vec::new();
        self.take_in(input, now, &mut effects);
        let Some(object) = self.object.clone() else {
            return effects;
        };
        self.retrieve(&object, now, &mut effects);
        self.evaluate(now, &mut effects);
        let invalid = self.carry_out(&object, &mut effects);
        self.store(&object, &invalid, now, &mut effects);
        self.mark_assessed(&mut effects);
        self.keep(now, &mut effects);
        effects
    }

    /// When the next step is due if nothing else happens.
    pub fn next(&self) -> Option<Timestamp> {
        self.object.as_ref()?;
        let fetch = if self.feed.asking.is_some() { None } else { self.feed.next };
        [fetch, self.rounds.next(), self.store_again, self.held_until].into_iter().flatten().min()
    }

    /// The last assessment, with all its proofs; nothing while nothing is known of updates.
    pub fn assessment(&self) -> Option<&Arc<Assessment>> {
        self.assessment.as_ref()
    }

    /// The object as it was stored last.
    pub fn raw(&self) -> Option<&Value> {
        self.raw.as_deref()
    }

    /// How often each condition changed its status since the start.
    pub fn transitions(&self) -> Arc<BTreeMap<String, u64>> {
        self.transitions.clone()
    }

    /// When the update service answered last; if it never did, when it was first to be asked.
    pub fn retrieved_at(&self) -> Option<Timestamp> {
        self.retrieved_at
    }

    /// What was done since the start.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// What is being done about an update.
    pub fn work(&self) -> &Work {
        &self.work
    }

    /// What the update service said.
    pub fn knowledge(&self) -> Option<&Arc<Knowledge>> {
        self.knowledge.as_ref()
    }

    /// The object as it was read last.
    pub fn object(&self) -> Option<&VersionObject> {
        self.object.as_ref()
    }

    fn take_in(&mut self, input: Input, now: Timestamp, effects: &mut Vec<Effect>) {
        match input {
            // Whether it is about the same question is known when the object is.
            Input::Remembered(kept) => self.remembered = Some(*kept).filter(|_| !self.feed.tried),
            Input::Shape(shape) => self.shape = *shape,
            Input::Object(raw) => self.read(raw, now),
            Input::Gone => {
                (self.raw, self.object) = (None, None);
                if self.engaged.take().is_some() {
                    effects.push(Effect::Stop);
                }
                self.work = Work::Idle;
            }
            Input::Fetched { ask, outcome } => self.fetched(&ask, outcome, now, effects),
            Input::Evidence { query, result } => {
                *(if result.is_ok() { &mut self.counts.answered } else { &mut self.counts.failed }) += 1;
                self.note_answer(&result);
                self.rounds.answered(&query, result, now);
                if !self.rounds.is_open() {
                    self.tell_of_metrics(effects);
                }
            }
            Input::Looked(objects) => {
                self.looking = false;
                self.objects = Some(objects);
            }
            Input::Work(work) => {
                // What was stopped may still have something to say.
                if work.order() == self.engaged.as_ref() {
                    self.tell_of(&work, effects);
                    self.work = work;
                }
            }
            Input::Stored(Ok(raw)) => {
                (self.storing, self.store_again) = (false, None);
                self.stored_at = Some(now);
                self.counts.stored += 1;
                self.read(raw, now);
            }
            Input::Overtaken(raw) => {
                self.storing = false;
                // Two who write in turn must not do nothing else.
                self.store_again = Some(now.plus(Duration::from_secs(1)));
                self.read(raw, now);
            }
            Input::Stored(Err(error)) => {
                self.storing = false;
                self.store_again = Some(now.plus(Duration::from_secs(10)));
                let message = format!("The status could not be stored: {error}");
                self.say(Event::new(Weight::Warning, "StatusNotStored", message), effects);
            }
            Input::Tick => {}
        }
    }

    fn read(&mut self, raw: Box<Value>, now: Timestamp) {
        let Ok((object, remarks)) = VersionObject::read(&raw) else { return };
        let asked = object.metadata.annotations.as_ref().and_then(|all| all.get(RE_EVALUATE)).cloned();
        if self.object.is_some() && asked != self.re_evaluate {
            // Answers stay until new ones come, but every question is due.
            let answers = self.rounds.export();
            self.rounds = Rounds::new(self.settings.rounds.clone());
            self.rounds.import(answers);
            self.round_since = None;
            self.want(now);
            self.feed.next = None;
            (self.objects, self.progress.again) = (None, true);
        }
        self.re_evaluate = asked;
        self.remarks =
            remarks.iter().filter(|remark| remark.path.starts_with("spec")).map(ToString::to_string).collect();
        self.retrieved_at.get_or_insert(now);
        self.count_transitions(&object);
        (self.raw, self.object) = (Some(raw), Some(object));
    }

    /// Counts the conditions whose status differs from that of the object as it was seen last.
    fn count_transitions(&mut self, object: &VersionObject) {
        let (Some(before), Some(after)) =
            (self.object.as_ref().and_then(|object| object.status.as_ref()), object.status.as_ref())
        else {
            return;
        };
        for condition in after.conditions.iter() {
            let same = before.conditions.get(condition.type_).is_some_and(|old| old.status == condition.status);
            if !same {
                *Arc::make_mut(&mut self.transitions).entry(condition.type_.to_owned()).or_default() += 1;
            }
        }
    }

    /// Goes on with what an earlier process knew, if it is about the same question.
    fn recall(&mut self, ask: &UpstreamRequest, now: Timestamp, effects: &mut Vec<Effect>) {
        let Some(kept) = self.remembered.take() else { return };
        let Some((knowledge, answers)) = kept.recall(ask, &self.settings.advice) else {
            // It is not used, so it does no harm.
            return effects.push(Effect::Assessed(kept.digest()));
        };
        self.rounds.import(answers);
        self.feed.validator.clone_from(&kept.validator());
        self.feed.ask = Some(ask.clone());
        self.retrieved_at = Some(knowledge.at);
        self.knowledge = Some(Arc::new(knowledge));
        self.kept = Some(kept);
        self.want(now);
    }

    /// Tells the rounds what is to be asked.
    fn want(&mut self, now: Timestamp) {
        let Some(knowledge) = self.knowledge.as_ref().filter(|_| self.settings.has_metrics) else {
            return self.rounds.want([], now);
        };
        let id = self.feed.ask.as_ref().map(|ask| ask.id.as_str()).filter(|_| self.settings.shared_store);
        if let Some(id) = id {
            let questions = knowledge.plan.questions_for(id);
            self.rounds.want(questions.iter().map(Question::text), now);
        } else {
            self.rounds.want(knowledge.plan.questions().into_iter().map(Question::text), now);
        }
    }

    /// Asks the update service when it is time.
    fn retrieve(&mut self, object: &VersionObject, now: Timestamp, effects: &mut Vec<Effect>) {
        let status = object.status.clone().unwrap_or_default();
        let ask = UpstreamRequest::of(&object.spec, &status, self.settings.upstream.as_ref(), &self.settings.arch);
        let ask = match ask {
            Ok(ask) => ask,
            Err(trouble) => {
                self.forget(now);
                effects.extend(self.remembered.take().map(|kept| Effect::Assessed(kept.digest())));
                self.feed = Feed { trouble: Some(trouble), tried: true, ..Feed::default() };
                return;
            }
        };
        self.recall(&ask, now, effects);
        if self.feed.ask.as_ref() != Some(&ask) {
            // What was said about another question says nothing about this one.
            self.forget(now);
            self.feed = Feed { ask: Some(ask.clone()), ..Feed::default() };
        }
        if self.feed.asking.is_none() && self.feed.next.is_none_or(|next| next <= now) {
            self.feed.asking = Some(now);
            let digest = self.knowledge.as_ref().map(|knowledge| knowledge.digest.clone());
            let again = std::mem::take(&mut self.progress.again);
            effects.push(Effect::Fetch { ask, known: self.feed.validator.clone(), digest, again });
        }
    }

    fn forget(&mut self, now: Timestamp) {
        if self.knowledge.take().is_some() {
            self.want(now);
            self.objects = None;
        }
    }

    fn fetched(
        &mut self,
        ask: &UpstreamRequest,
        outcome: Result<Fetched, RetrievalError>,
        now: Timestamp,
        effects: &mut Vec<Effect>,
    ) {
        if self.feed.ask.as_ref() != Some(ask) {
            return;
        }
        self.feed.asking = None;
        self.feed.tried = true;
        match outcome {
            Ok(fetched) => {
                self.retrieved_at = Some(now);
                self.feed.failures = 0;
                self.feed.trouble = None;
                self.feed.next = Some(now.plus(self.settings.fetch_interval()));
                if let Fetched::Knowledge(knowledge, validator) = fetched {
                    self.progress.composed &=
                        self.knowledge.as_ref().is_some_and(|known| known.digest == knowledge.digest);
                    if let Some(summary) = knowledge.findings.summary() {
                        let revision = knowledge.digest.to_string();
                        self.say(Event::new(Weight::Warning, "GraphFindings", summary).about(&revision), effects);
                    }
                    self.knowledge = Some(Arc::new(*knowledge));
                    self.feed.validator = validator;
                    self.objects = None;
                    self.want(now);
                }
            }
            Err(trouble) => {
                self.feed.failures = self.feed.failures.saturating_add(1);
                self.feed.next = Some(now.plus(self.settings.back_off(self.feed.failures)));
                let old =
                    self.knowledge.as_ref().is_some_and(|known| now.since(known.at) > self.settings.graph_max_age);
                if !trouble.passing || old {
                    self.forget(now);
                    self.feed.validator = None;
                }
                self.feed.trouble = Some(trouble);
            }
        }
    }

    /// Asks the metrics store and looks at objects when it is time.
    fn evaluate(&mut self, now: Timestamp, effects: &mut Vec<Effect>) {
        let mut round_begins = false;
        if let Some(round) = self.rounds.due(now) {
            self.round_since = Some(now);
            round_begins = true;
            effects.push(Effect::Evaluate(round));
        }
        if !self.rounds.is_open() {
            self.round_since = None;
        }
        let Some(knowledge) = &self.knowledge else { return };
        let questions = knowledge.plan.object_questions();
        let stale = self.objects.as_ref().is_none_or(|objects| now.since(objects.at) >= self.settings.look_again);
        // Objects are asked with every round, and not more often. Until they answer, what they said last counts.
        if !questions.is_empty() && !self.looking && (stale || round_begins) {
            self.looking = true;
            let owned = |(question, steps): (&ObjectQuestion, u64)| (question.clone(), steps);
            effects.push(Effect::Look(questions.into_iter().map(owned).collect()));
        }
    }

    /// Turns what is asked for into work; what is wrong with the spec comes back.
    fn carry_out(&mut self, object: &VersionObject, effects: &mut Vec<Effect>) -> Vec<String> {
        let status = object.status.clone().unwrap_or_default();
        let mut invalid = self.remarks.clone();
        if let Err(why) = crate::upstream_request::check_id(&object.spec.cluster_id) {
            invalid.push(format!("spec.clusterID: Invalid value: {:?}: {why}", object.spec.cluster_id));
        }
        let wish = desired_update(&object.spec, &status, self.multi_release());
        let resumes = matches!(wish, DesiredUpdate::GoOn(_));
        let mut unresolved = None;
        let order = match wish {
            DesiredUpdate::Keep => None,
            DesiredUpdate::GoOn(order) | DesiredUpdate::Begin(order) => Some(order),
            DesiredUpdate::Invalid(why) => {
                invalid.push(why);
                self.under_way(&status)
            }
            DesiredUpdate::Unresolved { order, why } => {
                unresolved = Some(match why {
                    None => Work::Preparing { order, step: Step::Retrieve },
                    Some(why) => Work::NotAccepted { order, step: Step::Retrieve, why },
                });
                self.under_way(&status)
            }
        };
        if self.settings.carry_out == CarryOut::Never {
            // Reported where whoever asked for the update looks: doing nothing in silence would look like a hang.
            let order = order.or(unresolved.and_then(|work| work.order().cloned()));
            self.work = order.map_or(Work::Idle, |order| Work::NotAccepted {
                order,
                step: Step::Preconditions,
                why: ADVICE_ONLY.to_owned(),
            });
            return invalid;
        }
        let same = |one: &Order, other: &Order| {
            same_image(&one.release.image, &other.release.image) && one.force == other.force
        };
        match (&self.engaged, order) {
            (Some(engaged), Some(order)) if same(engaged, &order) => {}
            (None, None) => {
                let work = unresolved.unwrap_or_default();
                self.tell_of(&work, effects);
                self.work = work;
            }
            (Some(_), None) => {
                // Done and stored, or taken back before anything was written.
                effects.push(Effect::Stop);
                (self.engaged, self.work) = (None, unresolved.unwrap_or_default());
            }
            (engaged, Some(order)) => {
                if engaged.is_some() {
                    effects.push(Effect::Stop);
                }
                self.work = Work::Preparing { order: order.clone(), step: Step::Retrieve };
                self.engaged = Some(order.clone());
                self.resumes = resumes;
                effects.push(Effect::Prepare(order));
            }
        }
        if let Work::Accepted { order, prepared } = &self.work {
            let newest = status.history.first();
            let begun = newest.is_some_and(|entry| {
                entry.state == UpdateState::Partial
                    && entry.completion_time.is_none()
                    && same_image(&entry.image, &order.release.image)
            });
            if begun {
                let (order, prepared) = (order.clone(), prepared.clone());
                let reported = reported_failures(&status.history, &status.conditions);
                let progress = Progress { total: prepared.objects, ..Progress::default() }.with_failures(reported);
                effects.push(Effect::Apply(order.clone(), prepared.clone()));
                let work = Work::Applying { order, prepared, progress };
                self.tell_of(&work, effects);
                self.work = work;
            }
        }
        invalid
    }

    /// What is being done was asked for before, and goes on until it is done and stored.
    fn under_way(&self, status: &Status) -> Option<Order> {
        let done = matches!(self.work, Work::Done { .. }) && !is_moving(status);
        self.engaged.clone().filter(|_| !done)
    }

    /// What the update service says of the present version as a multi-architecture release.
    fn multi_release(&self) -> MultiRelease<'_> {
        match (&self.knowledge, &self.feed.trouble) {
            (Some(knowledge), _) => knowledge.multi_release().map_or(
                MultiRelease::Unavailable("the update service has no multi-architecture release of this version"),
                MultiRelease::Found,
            ),
            (None, Some(trouble)) => MultiRelease::Unavailable(&trouble.message),
            (None, None) => MultiRelease::Pending,
        }
    }

    /// Stores the status if it differs from what the object has.
    fn store(&mut self, object: &VersionObject, invalid: &[String], now: Timestamp, effects: &mut Vec<Effect>) {
        self.held_until = self.held(object, now);
        let Some(raw) = &self.raw else { return };
        if self.storing || self.held_until.is_some() || self.store_again.is_some_and(|again| again > now) {
            return;
        }
        self.store_again = None;
        let evidence = status::evidence(&self.rounds, self.objects.as_ref(), &object.spec, &self.settings);
        let retrieval = match (&self.feed.trouble, self.feed.tried) {
            (Some(trouble), _) => Retrieval::Failed { trouble, known: self.knowledge.as_ref().map(|known| known.at) },
            (None, true) => Retrieval::Current { findings: self.knowledge.as_ref().map(|known| &known.findings) },
            (None, false) => Retrieval::NotYet,
        };
        let known = Known { knowledge: self.knowledge.as_deref(), evidence, retrieval, work: &self.work, invalid };
        let mut composed = status::compose(object, &known, &self.shape, now);
        self.assessment = composed.assessment.take().map(Arc::new);
        (self.progress.composed_at, self.progress.composed) = (Some(now), true);
        for note in &composed.left_out {
            let message = format!("Left out of the status, because it cannot be stored there: {note}");
            // What comes from outside is never all that was ever said.
            if self.said.len() > MOST_SAID {
                self.said.clear();
            }
            if self.said.insert(message.clone()) {
                effects.push(Effect::Tell(Event::new(Weight::Warning, "UpdateLeftOut", message)));
            }
        }
        if self.shape.same(&composed.status, &raw["status"]) {
            return;
        }
        let mut next = raw.clone();
        next["status"] = composed.status;
        self.storing = true;
        effects.push(Effect::Store(next));
    }

    /// Until when to wait with a status, because it would be out of date in a moment.
    fn held(&self, object: &VersionObject, now: Timestamp) -> Option<Timestamp> {
        let moving = object.status.as_ref().is_some_and(is_moving);
        let later = |since: Option<Timestamp>, by: Duration| since.map(|since| since.plus(by)).filter(|end| *end > now);
        match &self.work {
            Work::Applying { .. } => later(self.stored_at, PROGRESS),
            // A first look at everything becomes one status, not one for each answer.
            Work::Idle if !moving => {
                let asking = self.feed.asking.filter(|_| !self.feed.tried);
                // Very many answers in a second are not as many statuses.
                let composed = self.progress.composed_at.filter(|_| self.rounds.is_open());
                later(asking, PATIENCE).max(later(self.round_since, PATIENCE)).max(later(composed, PROGRESS))
            }
            // What an update waits for is never held up.
            _ => None,
        }
    }

    /// Notes that the present answer was assessed with everything that could be found out, and did no harm.
    fn mark_assessed(&mut self, effects: &mut Vec<Effect>) {
        let Some(knowledge) = &self.knowledge else { return };
        let done = self.progress.composed && !self.rounds.is_open() && !self.looking;
        if done && self.progress.assessed.as_ref() != Some(&knowledge.digest) {
            self.progress.assessed = Some(knowledge.digest.clone());
            effects.push(Effect::Assessed(knowledge.digest.clone()));
        }
    }

    fn keep(&mut self, now: Timestamp, effects: &mut Vec<Effect>) {
        let (Some(ask), Some(knowledge)) = (&self.feed.ask, &self.knowledge) else { return };
        // Only what was assessed is kept: what ends a process must not be what the next one starts with.
        let assessed = self.progress.assessed.as_ref() == Some(&knowledge.digest);
        if self.rounds.is_open() || self.feed.trouble.is_some() || !assessed {
            return;
        }
        let kept = CachedState::new(ask, knowledge, self.feed.validator.as_ref(), &self.rounds.export());
        if self.kept.as_ref().is_none_or(|before| before.is_worth_replacing(&kept, now, self.settings.advice.max_age)) {
            self.kept = Some(kept.clone());
            effects.push(Effect::Keep(Box::new(kept)));
        }
    }
}

/// How often progress is stored at most.
const PROGRESS: Duration = Duration::from_secs(1);

/// Whether an update is under way.
fn is_moving(status: &Status) -> bool {
    status.history.first().is_some_and(|entry| entry.completion_time.is_none())
}
