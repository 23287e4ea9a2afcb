//! `Condition`: looks at a status condition of objects (U19).
//!
//! ```yaml
//! - type: Condition
//!   condition:
//!     apiVersion: config.openshift.io/v1
//!     kind: ClusterOperator
//!     name: storage                # and `namespace`, `labelSelector`; all of the kind if none is given
//!     type: Degraded
//!     status: "True"
//!     quantifier: Any              # or All: whether one object suffices
//!     whenAbsent: Unknown          # or Match, NoMatch: no such object, or an object without the condition
//! ```
//!
//! A condition that another generation of its object earned says nothing about this one, so it is an evaluation
//! failure, and so is a status of Unknown unless that is what the rule asks for.

use clearway_conditions::{ObjectStatus, Observed, Status};
use clearway_graph::Rule;
use serde_json::Value;

use super::parameters::{Parameters, canonical, excerpt};
use super::quantifier::{Quantifier, listed};
use super::selector::{Selector, name};
use super::{Case, Check, Finding, Tried};
use crate::evidence::{Failure, FailureClass, Wanted};
use crate::settings::Settings;

#[derive(Debug)]
struct Condition {
    selector: Selector,
    type_: String,
    status: Status,
    quantifier: Quantifier,
    text: String,
}

/// Why the status of a condition is not known.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Gap {
    /// The object has no such condition.
    Absent,
    /// It may be about another generation of the object.
    NotCurrent(String),
}

/// What was found: the name of each object, and the status of its condition.
type Found = [(String, Result<Status, Gap>)];

/// Reads the selector, the type and the status.
pub(super) fn read(rule: &Rule, _: &Settings) -> Result<Box<dyn Check>, Failure> {
    let parameters = Parameters::of(rule)?;
    let selector = Selector::read(&parameters)?;
    let type_ = parameters.required("type")?.to_owned();
    let status = parameters.required("status")?;
    let status = status.parse().map_err(|_| {
        parameters.wrong("status", &format!("is `{}`, not one of True, False, Unknown", excerpt(status)))
    })?;
    let quantifier = Quantifier::read(&parameters)?;
    Ok(Box::new(Condition { selector, type_, status, quantifier, text: canonical(&rule.parameters) }))
}

impl Check for Condition {
    fn parameters(&self) -> &str {
        &self.text
    }

    fn wanted(&self) -> Option<&Wanted> {
        Some(&self.selector.wanted)
    }

    fn check(&self, case: &Case<'_>) -> Tried {
        let nobody = self.selector.nobody();
        let reply = case.evidence.selected(&self.selector.wanted).map(|objects| {
            let selected = objects.into_iter().filter(|object| self.selector.selects(object));
            let mut found: Vec<_> = selected.map(|object| (name(object), self.status_of(object))).collect();
            found.sort();
            found
        });
        Tried::of_reply(case, reply, &nobody, |found| self.shown(found), |found| self.judge(found, case))
    }
}

impl Condition {
    /// The status of the condition, if it is about the present generation of its object; else why not.
    fn status_of(&self, object: &Value) -> Result<Status, Gap> {
        let status = ObjectStatus::read(object);
        let generation = status.generation;
        match status.observe(&self.type_) {
            Observed::Current(condition) => Ok(condition.status),
            // What is still at its first generation cannot be about an earlier one.
            Observed::Unproven(condition) if generation.is_none_or(|number| number <= 1) => Ok(condition.status),
            Observed::Stale { seen, want, .. } => {
                Err(Gap::NotCurrent(format!("about generation {seen}, and the object has {want}")))
            }
            Observed::Unproven(_) => Err(Gap::NotCurrent("without an observed generation".to_owned())),
            Observed::Absent => Err(Gap::Absent),
        }
    }

    fn judge(&self, found: &Found, case: &Case<'_>) -> Finding {
        let Condition { type_, .. } = self;
        let kind = &self.selector.wanted.kind;
        let absent = |message: String| self.quantifier.absent(message, format!("A {kind} with the condition {type_}."));
        let judge = |(name, status): &(String, Result<Status, Gap>)| match status {
            Ok(status) if *status == self.status => Finding::Match,
            Ok(Status::Unknown) => {
                let message = format!("The condition {type_} of {name} is Unknown.");
                Finding::failed(FailureClass::Ambiguous, message, "A condition that is True or False.")
            }
            Ok(_) => Finding::NoMatch,
            Err(Gap::Absent) => absent(format!("{name} has no condition {type_}.")),
            Err(Gap::NotCurrent(why)) => {
                let message = format!("The condition {type_} of {name} is {why}.");
                Finding::failed(FailureClass::Stale, message, "A condition about the present generation of its object.")
            }
        };
        if found.is_empty() {
            let none = || absent(format!("There is no {kind} that the rule selects."));
            return self.selector.hidden(case.evidence).unwrap_or_else(none);
        }
        self.quantifier.over(found.iter().map(judge))
    }

    fn shown(&self, found: &Found) -> String {
        listed(found.iter().map(|(name, status)| match status {
            Ok(status) => format!("{name} {}={status}", self.type_),
            Err(Gap::Absent) => format!("{name} without {}", self.type_),
            Err(Gap::NotCurrent(why)) => format!("{name} {} {why}", self.type_),
        }))
    }
}
