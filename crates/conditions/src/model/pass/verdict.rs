//! What a controller can say in a pass: verdicts on its conditions, and where the work stands.
//!
//! A verdict is about health, not about True and False: the polarity of the type turns it into a status. One that is
//! not healthy has a reason and a message, because there is no way to make it without (K5). Start at [`Verdict`].

use std::collections::BTreeSet;

use crate::model::{Message, Polarity, Reason, Status};
use crate::reason;

/// What a pass found out about one condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    pub(super) class: Class,
    pub(super) why: ReasonMessage,
}

/// How good a verdict is, the best first; of several on one condition the worst counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Class {
    Healthy,
    Pending,
    Bad,
}

/// A reason and what there is to say about it; sorts in the order in which several are shown.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ReasonMessage {
    pub(super) reason: Reason,
    pub(super) message: Option<Message>,
}

/// What a condition is going to say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Finding {
    pub(super) status: Status,
    pub(super) reason: Reason,
    /// Empty only if the condition is True and that is well (K5).
    pub(super) message: String,
}

/// Where the work on the object stands: settled, going on, or stuck. Going on and stuck at once cannot be said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    pub(super) stage: Stage,
    pub(super) why: ReasonMessage,
}

/// The stages of [`Progress`], the best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Stage {
    Settled,
    Reconciling,
    Stalled,
}

impl Verdict {
    /// All is well. The reason is `AsExpected`, because the API wants one; the message is empty, unless the condition is
    /// negative and so becomes False (K5).
    pub fn ok() -> Self {
        Verdict { class: Class::Healthy, why: ReasonMessage { reason: reason!("AsExpected"), message: None } }
    }

    /// All is well, and there is something to say about it.
    pub fn ok_because(reason: Reason, message: impl Into<Message>) -> Self {
        Verdict { class: Class::Healthy, why: ReasonMessage { reason, message: Some(message.into()) } }
    }

    /// Something is wrong: False for a positive condition, True for a negative one.
    ///
    /// A reason cannot be left out (Q11):
    /// ```compile_fail
    /// clearway_conditions::model::Verdict::bad("the database is down");
    /// ```
    pub fn bad(reason: Reason, message: impl Into<Message>) -> Self {
        Verdict { class: Class::Bad, why: ReasonMessage { reason, message: Some(message.into()) } }
    }

    /// It is not known yet, or cannot be found out now: Unknown.
    pub fn pending(reason: Reason, message: impl Into<Message>) -> Self {
        Verdict { class: Class::Pending, why: ReasonMessage { reason, message: Some(message.into()) } }
    }
}

impl Progress {
    /// Nothing is left to do: neither `Reconciling` nor `Stalled` is present.
    pub fn settled() -> Self {
        Progress { stage: Stage::Settled, why: ReasonMessage { reason: reason!("AsExpected"), message: None } }
    }

    /// Work is going on: `Reconciling` is True.
    pub fn reconciling(reason: Reason, message: impl Into<Message>) -> Self {
        Progress { stage: Stage::Reconciling, why: ReasonMessage { reason, message: Some(message.into()) } }
    }

    /// Work cannot go on without somebody's help: `Stalled` is True.
    pub fn stalled(reason: Reason, message: impl Into<Message>) -> Self {
        Progress { stage: Stage::Stalled, why: ReasonMessage { reason, message: Some(message.into()) } }
    }
}

impl Class {
    fn status(self, polarity: Polarity) -> Status {
        match self {
            Class::Healthy => polarity.healthy(),
            Class::Pending => Status::Unknown,
            Class::Bad => polarity.abnormal(),
        }
    }
}

impl Finding {
    /// What all verdicts on one condition come to; nothing if there are none. The order does not matter.
    pub(super) fn of_verdicts<'a>(
        verdicts: impl Iterator<Item = &'a Verdict> + Clone,
        polarity: Polarity,
    ) -> Option<Self> {
        let class = verdicts.clone().map(|verdict| verdict.class).max()?;
        let whys = verdicts.filter(|verdict| verdict.class == class).map(|verdict| &verdict.why);
        let mut finding = Finding::of_reasons(class.status(polarity), whys)?;
        if finding.status != Status::True && finding.message.is_empty() {
            "Nothing is wrong.".clone_into(&mut finding.message);
        }
        Some(finding)
    }

    /// What several reasons for one status come to: one is taken as it is; of several each is named in the message, and
    /// the reason is theirs if they share it.
    pub(super) fn of_reasons<'a>(status: Status, whys: impl Iterator<Item = &'a ReasonMessage>) -> Option<Self> {
        let whys: BTreeSet<&ReasonMessage> = whys.collect();
        let first = whys.first()?;
        if whys.len() == 1 {
            let message = first.message.as_ref().map(ToString::to_string).unwrap_or_default();
            return Some(Finding { status, reason: first.reason.clone(), message });
        }
        let spoken = whys.iter().filter_map(|why| Some((why.reason.as_str(), why.message.as_ref()?.as_str())));
        Some(Finding {
            status,
            reason: common_reason(whys.iter().map(|why| &why.reason)),
            message: Message::list(spoken).to_string(),
        })
    }
}

/// The reason all share, or `MultipleReasons`.
pub(super) fn common_reason<'a>(reasons: impl Iterator<Item = &'a Reason>) -> Reason {
    let reasons: BTreeSet<&Reason> = reasons.collect();
    match (reasons.len(), reasons.first()) {
        (1, Some(reason)) => (*reason).clone(),
        _ => reason!("MultipleReasons"),
    }
}
