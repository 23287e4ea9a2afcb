//! What trying a rule gives: a finding, and what was seen on the way.

use clearway_core::{Timestamp, humanize};

use super::Case;
use crate::evidence::{Failure, FailureClass, ObjectAnswer, ObjectExplanation, ObjectQuestion, Observation, Reply};

/// Match, no match, or why neither.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Finding {
    Match,
    NoMatch,
    /// The evaluation failed: the walk goes on to the next entry (U2).
    Failed {
        class: FailureClass,
        /// What failed, in one sentence.
        message: String,
        /// What would have to be there.
        missing: String,
    },
    /// The evaluation is still to come: the walk stops here.
    Pending {
        due: Option<Timestamp>,
    },
}

/// A finding in a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RuleOutcome {
    Match,
    NoMatch,
    Failed,
    Pending,
}

/// What was seen, as it stands in a proof.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct RuleEvidence {
    pub(crate) value: Option<String>,
    pub(crate) observed_at: Option<Timestamp>,
    pub(crate) source: Option<String>,
    pub(crate) reproduce: Option<String>,
    /// When it is looked at again.
    pub(crate) again: Option<Timestamp>,
    /// The values behind it, of objects that belong to whoever sees the proof.
    pub(crate) explanation: Option<ObjectExplanation>,
}

/// A rule that was tried.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RuleResult {
    pub(crate) finding: Finding,
    pub(crate) seen: RuleEvidence,
    pub(crate) warnings: Vec<String>,
}

impl Finding {
    pub(crate) fn failed(class: FailureClass, message: impl Into<String>, missing: impl Into<String>) -> Self {
        Finding::Failed { class, message: message.into(), missing: missing.into() }
    }

    pub(crate) fn of(matches: bool) -> Self {
        if matches { Finding::Match } else { Finding::NoMatch }
    }
}

impl RuleOutcome {
    pub(crate) fn of(finding: &Finding) -> Self {
        match finding {
            Finding::Match => RuleOutcome::Match,
            Finding::NoMatch => RuleOutcome::NoMatch,
            Finding::Failed { .. } => RuleOutcome::Failed,
            Finding::Pending { .. } => RuleOutcome::Pending,
        }
    }

    /// What a reply comes to: what [`RuleResult::of_reply`] finds, without its words.
    pub(crate) fn of_reply<T>(case: &Case<'_>, reply: &Reply<T>, judge: impl FnOnce(&T) -> RuleOutcome) -> Self {
        match reply {
            Reply::NotConfigured | Reply::Failed(_) => RuleOutcome::Failed,
            Reply::Pending { .. } => RuleOutcome::Pending,
            Reply::Answered(seen) if !in_time(case, seen.observed_at) => RuleOutcome::Failed,
            Reply::Answered(seen) => judge(&seen.value),
        }
    }
}

impl RuleResult {
    /// A finding that rests on nothing that was observed.
    pub(crate) fn without_evidence(finding: Finding) -> Self {
        RuleResult { finding, seen: RuleEvidence::default(), warnings: Vec::new() }
    }

    /// What a reply comes to. `asked` names what was asked for ("PromQL", "Nodes"), `judge` reads an answer that is
    /// neither too old nor from the future, and `value` shows it.
    pub(crate) fn of_reply<T>(
        case: &Case<'_>,
        reply: Reply<T>,
        source: &MissingSource,
        value: impl FnOnce(&T) -> String,
        judge: impl FnOnce(&T) -> Finding,
    ) -> Self {
        match reply {
            Reply::NotConfigured => RuleResult::without_evidence(Finding::failed(
                FailureClass::NotConfigured,
                &source.message,
                &source.missing,
            )),
            Reply::Pending { due } => RuleResult::without_evidence(Finding::Pending { due }),
            Reply::Failed(Failure { class, message, observed_at, source: place, reproduce, retry }) => RuleResult {
                finding: Finding::Failed { class, message, missing: remedy(class).to_owned() },
                seen: RuleEvidence { observed_at, source: place, reproduce, again: retry, ..RuleEvidence::default() },
                warnings: Vec::new(),
            },
            Reply::Answered(Observation { value: found, observed_at, source, reproduce, warnings }) => {
                let finding = too_old(case, observed_at).unwrap_or_else(|| judge(&found));
                let value = Some(value(&found));
                RuleResult {
                    finding,
                    seen: RuleEvidence {
                        value,
                        observed_at: Some(observed_at),
                        source: Some(source),
                        reproduce,
                        ..RuleEvidence::default()
                    },
                    warnings,
                }
            }
        }
    }
}

/// What to say where there is no one to ask.
pub(crate) struct MissingSource {
    pub(crate) message: String,
    pub(crate) missing: String,
}

/// Asks the evidence a question about objects of the cluster, and judges the answer.
pub(crate) fn ask_objects(
    question: &ObjectQuestion,
    case: &Case<'_>,
    value: impl FnOnce(&ObjectAnswer) -> String,
    judge: impl FnOnce(&ObjectAnswer) -> Finding,
) -> RuleResult {
    let kind = &question.request().kind;
    let nothing = MissingSource {
        message: format!("There is no cluster or snapshot with {kind} objects."),
        missing: format!("A cluster, or a snapshot with {kind} objects."),
    };
    ask_objects_or(question, case, &nothing, value, judge)
}

/// The same, with other words for that there is no one to ask.
pub(crate) fn ask_objects_or(
    question: &ObjectQuestion,
    case: &Case<'_>,
    nothing: &MissingSource,
    value: impl FnOnce(&ObjectAnswer) -> String,
    judge: impl FnOnce(&ObjectAnswer) -> Finding,
) -> RuleResult {
    let ask = || case.evidence.objects(question, case.shares.steps(question.text()));
    RuleResult::of_reply(case, case.memo.objects(question, ask), nothing, value, judge)
}

/// Whether an answer is neither too old nor from the future.
fn in_time(case: &Case<'_>, observed_at: Timestamp) -> bool {
    case.now.since(observed_at) <= case.settings.max_age && observed_at.since(case.now) <= case.settings.clock_skew
}

/// The finding that an answer is too old or from the future, if it is (U16).
fn too_old(case: &Case<'_>, observed_at: Timestamp) -> Option<Finding> {
    let (age, ahead) = (case.now.since(observed_at), observed_at.since(case.now));
    if age > case.settings.max_age {
        let limit = humanize(case.settings.max_age);
        let message = format!("The answer is {} old; the maximum age is {limit}.", humanize(age));
        return Some(Finding::failed(FailureClass::Stale, message, format!("An answer that is at most {limit} old.")));
    }
    (ahead > case.settings.clock_skew).then(|| {
        let message = format!("The answer was observed {} in the future.", humanize(ahead));
        Finding::failed(
            FailureClass::Stale,
            message,
            "An answer from the time of the assessment, or clocks that agree.",
        )
    })
}

/// What would have to be there after a failure of this kind.
pub(crate) fn remedy(class: FailureClass) -> &'static str {
    match class {
        FailureClass::Malformed => "A corrected rule; ask its author.",
        FailureClass::Refused => "A query within the limits of the fence, or a higher limit.",
        FailureClass::Unsupported => "A rule that uses only supported features.",
        FailureClass::NotConfigured => "A source of evidence.",
        FailureClass::Unreachable => "A connection to the source.",
        FailureClass::Unauthorized => "Permission to query the source.",
        FailureClass::Timeout => "An answer before the timeout.",
        FailureClass::Budget => "A query that costs less, or a larger budget.",
        FailureClass::Evaluation => "Data that the rule can be evaluated over.",
        FailureClass::Partial => "A complete answer.",
        FailureClass::Stale => "A newer answer.",
        FailureClass::Ambiguous => "An answer that says match or no match.",
        FailureClass::Absent => "The object or series that the rule reads.",
    }
}
