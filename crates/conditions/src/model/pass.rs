//! One look at an object: what was found is reported, and the new list of conditions comes out.
//!
//! The order of the reports does not matter, and an identical pass changes nothing, not even a time. Nothing old is
//! passed off as new: an always-present condition that was not reported becomes Unknown, and the summary with it. That
//! is what makes an early return safe. Start at [`Pass::begin`].

mod entry;
mod summary;
pub(super) mod verdict;

use clearway_core::{Generation, Timestamp};
use serde_json::Value;

use super::set::{ConditionKey, ConditionSet, Declaration, RECONCILING, STALLED, check_set};
use super::{Condition, ConditionSeverity, ConditionType, Conditions, KeptFields, Message, Polarity, Reason, Status};
use crate::reason;
use entry::{Own, Writer};
use summary::{Part, stale, summarise};
use verdict::{Finding, Progress, Stage, Verdict, Why};

/// A pass over one object by the controller that owns the conditions of set `S`.
///
/// Begin it before the work, hand it to the work by `&mut`, and finish it after, whatever the work returned:
///
/// ```
/// # use clearway_conditions::{model::*, reason, condition_set};
/// # use clearway_core::Generation;
/// # condition_set! { set Db { summary: Ready } always C { Reachable: dependent, } }
/// fn reconcile(pass: &mut Pass<'_, Db>) -> Result<(), String> {
///     let latency = connect()?; // an early return: `Reachable` is not reported
///     pass.report(C::Reachable, Verdict::ok());
///     Ok(())
/// }
/// # fn connect() -> Result<u32, String> { Err("refused".to_owned()) }
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let stored = Conditions::default();
/// # let now = "2024-05-01T12:00:00Z".parse()?;
/// let mut pass = Pass::<Db>::begin(&stored, Generation::new(7)?, now);
/// let result = reconcile(&mut pass);
/// let outcome = pass.finish();
/// assert!(result.is_err());
/// assert_eq!(outcome.conditions.get("Ready").map(|ready| ready.status), Some(Status::Unknown));
/// # Ok(()) }
/// ```
#[derive(Debug)]
#[must_use = "a pass that is not finished leaves the old status as it is"]
pub struct Pass<'a, S: ConditionSet> {
    prior: &'a Conditions,
    generation: Generation,
    now: Timestamp,
    kept: KeptFields,
    verdicts: Vec<(S::Always, Verdict)>,
    retained: Vec<S::Always>,
    raised: Vec<(S::Problem, Why)>,
    cleared: Vec<S::Problem>,
    progress: Vec<Progress>,
}

/// What a pass came to.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub struct Outcome {
    /// The whole list, those of others included: what a replacement of the status writes.
    pub conditions: Conditions,
    /// Only the conditions of the set: what a server-side apply sends.
    pub owned: Conditions,
    /// Whether `conditions` differs from what was stored; if not, there is nothing to write.
    pub changed: bool,
    /// The conditions whose status changed, appeared or went, for events and metrics: the summary first, then in the
    /// order of declaration.
    pub transitions: Vec<Transition>,
}

/// The change of status of one condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transition {
    /// Which condition.
    pub type_: ConditionType,
    /// What it said before; nothing if it was absent.
    pub from: Option<Status>,
    /// What it says now; nothing if it is gone.
    pub to: Option<Status>,
    /// Why it has its new status; if it is gone, why it had its old one.
    pub reason: Reason,
}

impl<'a, S: ConditionSet> Pass<'a, S> {
    /// Begins a pass over an object at `generation` whose stored conditions are `prior`. The time is an argument; the
    /// crate has no clock.
    pub fn begin(prior: &'a Conditions, generation: Generation, now: Timestamp) -> Self {
        const { check_set::<S>() };
        Pass {
            prior,
            generation,
            now,
            kept: KeptFields::ALL,
            verdicts: Vec::new(),
            retained: Vec::new(),
            raised: Vec::new(),
            cleared: Vec::new(),
            progress: Vec::new(),
        }
    }

    /// For an object whose CRD does not keep all fields: compare, and write, only what it keeps (G2).
    ///
    /// Conditions of the set count by their declared severity even where the CRD does not keep it; those of others have
    /// severity "" then, as K2 says. Where it does not keep `observedGeneration`, nothing stored can be proved current,
    /// and [`retain`](Pass::retain) makes Unknown.
    pub fn stored_in(mut self, kept: KeptFields) -> Self {
        self.kept = kept;
        self
    }

    /// Says what was found out about a condition. If it is said more than once the worst counts, and of several equally
    /// bad ones all are named.
    ///
    /// The summary has no name here, so it cannot be reported (Q9):
    /// ```compile_fail
    /// # use clearway_conditions::{model::*, condition_set};
    /// # use clearway_core::Generation;
    /// # condition_set! { set Db { summary: Ready } always C { Reachable: dependent, } }
    /// # fn f(pass: &mut Pass<'_, Db>) {
    /// pass.report(C::Ready, Verdict::ok());
    /// # }
    /// # fn main() {}
    /// ```
    pub fn report(&mut self, condition: S::Always, verdict: Verdict) {
        self.verdicts.push((condition, verdict));
    }

    /// Says that what is stored of a condition still holds, without having looked again. It does only if it is about
    /// the present generation; otherwise the condition becomes Unknown. A report in the same pass overrides this.
    pub fn retain(&mut self, condition: S::Always) {
        self.retained.push(condition);
    }

    /// Says that something is wrong: the condition is present, True if it is negative (G1).
    pub fn raise(&mut self, problem: S::Problem, reason: Reason, message: impl Into<Message>) {
        self.raised.push((problem, Why { reason, message: Some(message.into()) }));
    }

    /// Says that something is not, or no longer, wrong: the condition is absent (G1). A `raise` in the same pass
    /// overrides this.
    ///
    /// A problem of which a pass says neither says what it said, with the generation it was seen at: not having looked is
    /// no reason to take a warning away.
    pub fn clear(&mut self, problem: S::Problem) {
        self.cleared.push(problem);
    }

    /// Says where the work stands: `Reconciling`, `Stalled` or neither is present, never both. If it is said more than
    /// once the worst counts; if it is not said, what is stored stays, as with problems.
    ///
    /// A set says in its declaration that these two are its own:
    /// ```compile_fail
    /// # use clearway_conditions::{model::*, condition_set};
    /// # use clearway_core::Generation;
    /// # condition_set! { set Db { summary: Ready, progress: false } always C { Reachable: dependent, } }
    /// # fn main() {
    /// # let none = Conditions::default();
    /// # let (generation, now) = (Generation::new(7).unwrap(), "2024-05-01T12:00:00Z".parse().unwrap());
    /// let mut pass = Pass::<Db>::begin(&none, generation, now);
    /// pass.progress(Progress::settled());
    /// # }
    /// ```
    /// ```
    /// # use clearway_conditions::{model::*, condition_set};
    /// # use clearway_core::Generation;
    /// # condition_set! { set Db { summary: Ready, progress: true } always C { Reachable: dependent, } }
    /// # fn main() {
    /// # let none = Conditions::default();
    /// # let (generation, now) = (Generation::new(7).unwrap(), "2024-05-01T12:00:00Z".parse().unwrap());
    /// let mut pass = Pass::<Db>::begin(&none, generation, now);
    /// pass.progress(Progress::settled());
    /// # }
    /// ```
    pub fn progress(&mut self, progress: Progress) {
        const { assert!(S::PROGRESS, "the set does not own Reconciling and Stalled: declare it with `progress: true`") };
        self.progress.push(progress);
    }

    /// Computes the summary and the new list.
    pub fn finish(self) -> Outcome {
        let own = self.conclusions();
        let writer = Writer { now: self.now, kept: &self.kept };
        // What each condition of the set comes to, by its place in `own`; taken when its place in the list is known.
        let mut results: Vec<Option<Value>> =
            own.iter().map(|own| writer.entry(own, self.stored(&own.type_))).collect();
        let owned: Vec<Value> = results.iter().flatten().cloned().collect();
        let transitions =
            own.iter().zip(&results).filter_map(|(own, now)| self.transition(own, now.as_ref())).collect();

        let mut entries = Vec::with_capacity(self.prior.entries().len() + own.len());
        for entry in self.prior.entries() {
            let slot = Condition::of(entry).and_then(|c| own.iter().position(|own| own.type_.as_str() == c.type_));
            match slot {
                // The second and further entries of one of our types find nothing left, and go.
                Some(slot) => entries.extend(results.get_mut(slot).and_then(Option::take)),
                None => entries.push(entry.clone()),
            }
        }
        entries.extend(results.into_iter().flatten());
        Outcome {
            changed: entries != self.prior.entries(),
            conditions: Conditions::from_entries(entries),
            owned: Conditions::from_entries(owned),
            transitions,
        }
    }

    /// All conditions of the set, the summary first, and what is to become of each.
    fn conclusions(&self) -> Vec<Own> {
        let always: Vec<(&Declaration, Finding)> = S::Always::KEYS
            .iter()
            .zip(S::Always::DECLARED)
            .map(|(key, declared)| (declared, self.finding(*key, declared)))
            .collect();
        let problems: Vec<Own> = S::Problem::KEYS
            .iter()
            .zip(S::Problem::DECLARED)
            .map(|(key, declared)| self.problem(*key, declared))
            .collect();
        let progress = if S::PROGRESS { self.progress_pair() } else { Vec::new() };
        let retired = S::RETIRED.iter().map(|type_| self.own(type_, ConditionSeverity::Info, None));

        let mut all = Vec::new();
        if let Some(type_) = S::SUMMARY.condition_type() {
            let ours = |c: &Condition<'_>| {
                let is = |type_: &ConditionType| type_.as_str() == c.type_;
                is(&type_)
                    || always.iter().any(|(declared, _)| is(declared.condition_type()))
                    || problems.iter().chain(&progress).any(|own| is(&own.type_))
                    || S::RETIRED.iter().any(is)
            };
            all.push(self.own(&type_, ConditionSeverity::Error, Some(self.summary(&always, ours))));
        }
        all.extend(
            always
                .into_iter()
                .map(|(declared, finding)| self.own(declared.condition_type(), declared.severity(), Some(finding))),
        );
        all.extend(problems);
        all.extend(progress);
        all.extend(retired);
        all
    }

    fn summary(&self, always: &[(&Declaration, Finding)], ours: impl Fn(&Condition<'_>) -> bool) -> Finding {
        let mut foreign: Vec<Part<'_>> = self
            .prior
            .iter()
            .filter(|condition| !ours(condition))
            .filter_map(|condition| Part::foreign(&condition, self.generation))
            .collect();
        foreign.sort_by(|left, right| left.type_.cmp(right.type_));
        let dependents = always.iter().filter(|(declared, _)| declared.severity() == ConditionSeverity::Error);
        let mut parts: Vec<Part<'_>> = dependents
            .map(|(declared, finding)| Part { type_: declared.condition_type().as_str(), finding: finding.clone() })
            .collect();
        parts.extend(foreign);
        summarise(&parts)
    }

    /// What an always-present condition comes to.
    fn finding(&self, key: S::Always, declared: &Declaration) -> Finding {
        let verdicts = self.verdicts.iter().filter(|(said_of, _)| *said_of == key).map(|(_, verdict)| verdict);
        if let Some(finding) = Finding::of_verdicts(verdicts, declared.polarity()) {
            return finding;
        }
        let stored = self.prior.get(declared.condition_type().as_str());
        match stored.filter(|_| self.retained.contains(&key)) {
            None => Finding {
                status: Status::Unknown,
                reason: reason!("NotReported"),
                message: "The controller has not reported this yet.".to_owned(),
            },
            Some(stored) => match stored.observed_generation {
                Some(seen) if seen == self.generation.get() => restated(&stored, declared.polarity()),
                Some(seen) => stale(seen, self.generation),
                None => Finding {
                    status: Status::Unknown,
                    reason: reason!("StaleObservation"),
                    message: "The last observed generation is not recorded.".to_owned(),
                },
            },
        }
    }

    fn problem(&self, key: S::Problem, declared: &Declaration) -> Own {
        let (type_, abnormal) = (declared.condition_type(), declared.polarity().abnormal());
        let raised = self.raised.iter().filter(|(said_of, _)| *said_of == key).map(|(_, why)| why);
        let raised = Finding::of_whys(abnormal, raised);
        match self.prior.get(type_.as_str()).filter(|stored| stored.status == abnormal) {
            Some(stored) if raised.is_none() && !self.cleared.contains(&key) => Own {
                seen: stored.observed_generation,
                ..self.own(type_, declared.severity(), Some(restated(&stored, declared.polarity())))
            },
            _ => self.own(type_, declared.severity(), raised),
        }
    }

    /// `Reconciling` and `Stalled`, of which at most one has anything to say.
    fn progress_pair(&self) -> Vec<Own> {
        let said = self.progress.iter().map(|progress| progress.stage).max();
        let whys = self.progress.iter().filter(|progress| Some(progress.stage) == said).map(|progress| &progress.why);
        let finding = Finding::of_whys(Status::True, whys);
        let stage = said.or_else(|| self.stored_stage());
        let conclude = |type_: ConditionType, its: Stage| {
            let own = |finding| self.own(&type_, ConditionSeverity::Info, finding);
            match (&finding, self.prior.get(type_.as_str())) {
                _ if stage != Some(its) => own(None),
                (None, Some(stored)) => {
                    Own { seen: stored.observed_generation, ..own(Some(restated(&stored, Polarity::Negative))) }
                }
                (finding, _) => own(finding.clone()),
            }
        };
        vec![conclude(RECONCILING, Stage::Reconciling), conclude(STALLED, Stage::Stalled)]
    }

    /// A condition of the set, as seen at the present generation.
    fn own(&self, type_: &ConditionType, severity: ConditionSeverity, finding: Option<Finding>) -> Own {
        Own { type_: type_.clone(), severity, finding, seen: Some(self.generation.get()) }
    }

    /// Which of the two is stored as True. If both are, the one about the newer generation, then the graver.
    fn stored_stage(&self) -> Option<Stage> {
        [(RECONCILING, Stage::Reconciling), (STALLED, Stage::Stalled)]
            .into_iter()
            .filter_map(|(type_, stage)| Some((self.prior.get(type_.as_str())?, stage)))
            .filter(|(condition, _)| condition.status == Status::True)
            .max_by_key(|(condition, stage)| (condition.observed_generation, *stage))
            .map(|(_, stage)| stage)
    }

    fn stored(&self, type_: &ConditionType) -> Option<&'a Value> {
        self.prior.entries().iter().find(|entry| Condition::of(entry).is_some_and(|c| c.type_ == type_.as_str()))
    }

    fn transition(&self, own: &Own, now: Option<&Value>) -> Option<Transition> {
        let (before, after) = (self.stored(&own.type_).and_then(Condition::of), now.and_then(Condition::of));
        let (from, to) = (before.map(|c| c.status), after.map(|c| c.status));
        let why = after.or(before).filter(|_| from != to)?;
        let reason = Reason::sanitize(why.reason, reason!("NoReasonGiven"));
        Some(Transition { type_: own.type_.clone(), from, to, reason })
    }
}

/// What a stored condition says, in terms that may be written again.
fn restated(stored: &Condition<'_>, polarity: Polarity) -> Finding {
    let message = match stored.message.trim() {
        "" if stored.status == Status::True && polarity == Polarity::Positive => String::new(),
        _ => Message::new(stored.message).to_string(),
    };
    Finding { status: stored.status, reason: Reason::sanitize(stored.reason, reason!("NoReasonGiven")), message }
}
