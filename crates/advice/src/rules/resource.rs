//! `Resource`: asks an expression about Kubernetes objects (U19).
//!
//! ```yaml
//! - type: Resource
//!   resource:
//!     apiVersion: config.openshift.io/v1
//!     kind: Infrastructure
//!     name: cluster                # and `namespace`, `labelSelector`; all of the kind if none is given
//!     expression: object.status.platform in ['VSphere', 'None']
//!     quantifier: Any              # or All: whether one object suffices
//!     whenAbsent: Unknown          # or Match, NoMatch: there is no such object
//! ```
//!
//! The expression is CEL with the object as `object`, and has to be true or false for it; a field that is not there
//! is an evaluation failure, unless the expression asks with `has()`. See [`super::cel`] for what is let through.

use clearway_graph::Rule;
use serde_json::Value;

use super::cel::{Budget, Expression};
use super::parameters::{Parameters, canonical};
use super::quantifier::{Quantifier, listed};
use super::selector::{Selector, name};
use super::tried::remedy;
use super::{Case, Check, Finding, Tried};
use crate::evidence::{Failure, Wanted};
use crate::settings::Settings;

#[derive(Debug)]
struct Resource {
    selector: Selector,
    expression: Expression,
    quantifier: Quantifier,
    text: String,
}

/// What was found: the name of each object, and what the expression says of it.
type Found = [(String, Result<bool, Failure>)];

/// Reads the selector and the expression.
pub(super) fn read(rule: &Rule, _: &Settings) -> Result<Box<dyn Check>, Failure> {
    let parameters = Parameters::of(rule)?;
    let selector = Selector::read(&parameters)?;
    let expression = Expression::new(parameters.required("expression")?)?;
    let quantifier = Quantifier::read(&parameters)?;
    Ok(Box::new(Resource { selector, expression, quantifier, text: canonical(&rule.parameters) }))
}

impl Check for Resource {
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
            let mut selected: Vec<(String, &Value)> = selected.map(|object| (name(object), object)).collect();
            // In one order, so that it is always the same objects that a budget is too small for.
            selected.sort_by(|(one, _), (other, _)| one.cmp(other));
            let mut budget = Budget::default();
            let holds = |(name, object): (String, &Value)| (name, self.expression.holds(object, &mut budget));
            selected.into_iter().map(holds).collect::<Vec<_>>()
        });
        Tried::of_reply(case, reply, &nobody, |found| shown(found), |found| self.judge(found, case))
    }
}

impl Resource {
    fn judge(&self, found: &Found, case: &Case<'_>) -> Finding {
        let kind = &self.selector.wanted.kind;
        if found.is_empty() {
            let message = format!("There is no {kind} that the rule selects.");
            let none = || self.quantifier.absent(message, format!("A {kind} that the rule selects."));
            return self.selector.hidden(case.evidence).unwrap_or_else(none);
        }
        self.quantifier.over(found.iter().map(|(name, holds)| match holds {
            Ok(holds) => Finding::of(*holds),
            Err(Failure { class, message, .. }) => {
                Finding::failed(*class, format!("The expression says nothing of {name}: {message}."), remedy(*class))
            }
        }))
    }
}

fn shown(found: &Found) -> String {
    listed(found.iter().map(|(name, holds)| match holds {
        Ok(holds) => format!("{name} {holds}"),
        Err(failure) => format!("{name}: {}", failure.message),
    }))
}
