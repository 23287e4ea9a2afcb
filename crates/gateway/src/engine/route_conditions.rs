//! What makes a route more or less valid: its references and its rules (rules 2.8, 2.9).

use super::Engine;
use super::attachment::{Fit, ParentOutcome};
use super::listeners::ParentState;
use super::references::{ReferenceProblem, Referrer};
use crate::model::{Object, Route, RouteKind, Rule, RuleProblem};
use crate::settings::{Features, Specification};
use crate::status::{Cause, Condition};
use crate::words::{ConditionType, Reason};
use clearway_conditions::Status;

/// Causes of `ResolvedRefs` that are kept.
const CAUSES: usize = 8;

/// What the references of a route come to.
pub(super) struct RouteReferences {
    pub(super) condition: Condition,
    /// Why none of the backends can be used, though some are given.
    none_usable: Option<(Reason, Vec<Cause>)>,
}

/// Why a rule cannot be used by an implementation.
pub(crate) fn rule_problem(rule: &Rule, features: &Features) -> Option<(Reason, String)> {
    rule.problems.iter().find_map(|problem| match problem {
        RuleProblem::IncompatibleFilters(what) => Some((Reason::IncompatibleFilters, what.clone())),
        RuleProblem::UnsupportedValue(what) => Some((Reason::UnsupportedValue, what.clone())),
        RuleProblem::Feature(feature, _) if features.has(feature) => None,
        RuleProblem::Feature(feature, what) => {
            Some((Reason::UnsupportedValue, format!("{what} needs feature {feature}, which is not supported")))
        }
    })
}

/// How a rule is called: by its name, or by its number.
pub(crate) fn rule_words(index: usize, rule: &Rule) -> String {
    match &rule.name {
        Some(name) => format!("rule {name}"),
        None => format!("rule {}", index + 1),
    }
}

impl Engine {
    pub(super) fn route_references(&self, object: &Object, route: &Route) -> RouteReferences {
        let from = Referrer { kind: &object.key.kind, namespace: &object.key.namespace };
        let problems: Vec<ReferenceProblem> =
            route.rules.iter().flat_map(|rule| self.rule_problems(from, route.kind, rule)).collect();
        let Some(reason) = self.leading_reason(&problems) else {
            return RouteReferences { condition: Condition::good(ConditionType::ResolvedRefs), none_usable: None };
        };
        let mut causes: Vec<Cause> = Vec::new();
        for problem in problems {
            if causes.len() < CAUSES && !causes.contains(&problem.cause) {
                causes.push(problem.cause);
            }
        }
        let mut backends = route.rules.iter().flat_map(|rule| &rule.backends);
        let usable = backends.any(|backend| self.backend_problem(from, route.kind, backend).is_none());
        RouteReferences {
            none_usable: (!usable).then(|| (reason, causes.clone())),
            condition: Condition::bad(ConditionType::ResolvedRefs, reason, causes),
        }
    }

    /// What a route is at a parent whose listeners it fits or not, its rules and backends considered.
    pub(super) fn outcome(
        &self,
        reference: usize,
        route: &Route,
        parent: &ParentState,
        fit: Fit,
        references: &RouteReferences,
    ) -> ParentOutcome {
        let invalid: Vec<(usize, &Rule, (Reason, String))> = route
            .rules
            .iter()
            .enumerate()
            .filter_map(|(index, rule)| Some((index, rule, rule_problem(rule, &parent.features)?)))
            .collect();
        let mut partially_invalid = None;
        let mut fit = fit;
        if let Some((_, _, (reason, _))) = invalid.first() {
            let reason = *reason;
            let causes: Vec<Cause> = invalid
                .iter()
                .take(CAUSES)
                .map(|(index, rule, (_, what))| Cause::at(rule_words(*index, rule), what.clone()))
                .collect();
            if invalid.len() < route.rules.len() {
                partially_invalid = Some(dropped_rules(reason, causes));
            } else if matches!(fit, Fit::Listeners(_)) {
                fit = Fit::Rejected(reason, causes);
            }
        }
        if let (Fit::Listeners(_), Some((reason, causes)), true) =
            (&fit, &references.none_usable, self.needs_backends(route.kind))
        {
            fit = Fit::Rejected(*reason, causes.clone());
        }
        ParentOutcome {
            reference,
            controller: parent.controller.clone(),
            gateway: parent.gateway,
            fit,
            partially_invalid,
        }
    }

    /// Whether a route is accepted only with a backend, because its protocol has no way to say that one is missing.
    fn needs_backends(&self, kind: RouteKind) -> bool {
        match (kind, self.settings.specification) {
            (RouteKind::Http | RouteKind::Grpc, _) | (RouteKind::Tls, Specification::Current) => false,
            (_, Specification::Gep1364) => true,
            (RouteKind::Tcp | RouteKind::Udp, Specification::Current) => {
                !self.version.accepts_streams_without_backends()
            }
        }
    }
}

/// The condition that some rules were dropped; its message starts as the specification wants.
fn dropped_rules(reason: Reason, causes: Vec<Cause>) -> Condition {
    let condition = Condition::bad(ConditionType::PartiallyInvalid, reason, causes).with_status(Status::True);
    let message = format!("Dropped Rule: {}", condition.message);
    Condition { message: message.into(), ..condition }
}
