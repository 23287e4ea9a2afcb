//! `Resource`: asks whether a CEL expression is true of objects (U19).
//!
//! ```yaml
//! - type: Resource
//!   resource:
//!     apiVersion: config.openshift.io/v1
//!     kind: Infrastructure
//!     name: cluster                # and `namespace`, `labelSelector`; all of the kind if none is given. A ConfigMap
//!                                  # needs both `name` and `namespace`
//!     expression: object.status.platform in ['VSphere', 'None']
//!     quantifier: Any              # or All: whether one object suffices
//!     whenAbsent: Unknown          # or Match, NoMatch: there is no such object
//! ```
//!
//! The expression is CEL with the object as `object`, and has to be true or false for it; a field that is not there
//! is an evaluation failure, unless the expression asks with `has()`. It may use the functions that the API server has for
//! admission policies; see [`crate::expression`] for what is refused when the rule is loaded.

use clearway_graph::Rule;

use super::object_rule::{ObjectRule, Selected};
use super::parameters::Parameters;
use super::{Check, ReadContext};
use crate::evidence::{Failure, ObjectTest};
use crate::expression::Expression;

/// Reads the selector and the expression.
pub(super) fn read(rule: &Rule, context: &ReadContext<'_>) -> Result<Box<dyn Check>, Failure> {
    let parameters = Parameters::of(rule)?;
    let objects = Selected::read(&parameters)?;
    let expression = Expression::new(parameters.required("expression")?, &context.patterns)?;
    Ok(Box::new(ObjectRule::new(rule, objects, ObjectTest::Expression(Box::new(expression)))))
}
