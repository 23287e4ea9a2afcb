//! What is known of a route: where it fits, where it is attached, and its conditions at each parent.

use std::collections::BTreeMap;

use super::store::Id;
use crate::model::{Name, Route};
use crate::status::{Cause, Condition, ParentStatus};
use crate::words::{ConditionType, Reason};

/// A listener that a route fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Attachment {
    /// The Gateway or ListenerSet.
    pub(super) parent: Id,
    /// The position of the listener.
    pub(super) listener: u32,
    /// The table of listeners that the position is in; an older one is no longer counted.
    pub(super) epoch: u64,
}

/// What became of one parent of a route, before clashes between routes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ParentOutcome {
    /// Which of the route's parents it is.
    pub(super) reference: usize,
    pub(super) controller: Name,
    pub(super) gateway: Id,
    pub(super) fit: Fit,
    /// `PartiallyInvalid`, if the route is accepted.
    pub(super) partially_invalid: Option<Condition>,
}

/// Whether a route fits listeners of a parent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Fit {
    Listeners(Vec<Attachment>),
    Rejected(Reason, Vec<Cause>),
}

/// A route.
#[derive(Debug, Clone)]
pub(super) struct RouteState {
    pub(super) resolved: Condition,
    pub(super) outcomes: Vec<ParentOutcome>,
    /// The listeners where it lost to an older route of another kind, which is named.
    pub(super) lost: BTreeMap<(Id, u32), String>,
    /// The conditions of each outcome, clashes settled.
    pub(super) conditions: Vec<Vec<Condition>>,
    /// The listeners that count it as attached.
    pub(super) attached: Vec<Attachment>,
    /// Parents that it gets no status for, and why.
    pub(super) unserved: Vec<(usize, String)>,
}

impl RouteState {
    /// The listeners that the route fits, at whatever parent; each once.
    pub(super) fn fitting(&self) -> Vec<Attachment> {
        let mut all: Vec<Attachment> = self
            .outcomes
            .iter()
            .filter_map(|outcome| match &outcome.fit {
                Fit::Listeners(listeners) => Some(listeners.iter().copied()),
                Fit::Rejected(..) => None,
            })
            .flatten()
            .collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    pub(super) fn statuses(&self, route: &Route) -> Vec<ParentStatus> {
        let status = |(outcome, conditions): (&ParentOutcome, &Vec<Condition>)| {
            Some(ParentStatus {
                parent: route.parents.get(outcome.reference)?.clone(),
                controller: outcome.controller.clone(),
                conditions: conditions.clone(),
            })
        };
        self.outcomes.iter().zip(&self.conditions).filter_map(status).collect()
    }

    /// The Gateways that have accepted the route.
    pub(super) fn accepting_gateways(&self) -> impl Iterator<Item = (Id, &Name)> {
        let accepted = |conditions: &[Condition]| {
            conditions.iter().any(|condition| condition.kind == ConditionType::Accepted && condition.is_healthy())
        };
        self.outcomes
            .iter()
            .zip(&self.conditions)
            .filter(move |(_, conditions)| accepted(conditions))
            .map(|(outcome, _)| (outcome.gateway, &outcome.controller))
    }
}
