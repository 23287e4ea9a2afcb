//! `Condition`: asks whether a status condition of objects has a status (U19).
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
//! A condition about an older generation of its object says nothing about the present one, so it is an evaluation
//! failure, and so is a status of Unknown unless that is what the rule asks for.

use clearway_graph::Rule;

use super::object_rule::{ObjectRule, Selected};
use super::parameters::{Parameters, excerpt};
use super::{Check, ReadContext};
use crate::evidence::{Failure, ObjectTest};

/// Reads the selector, the type and the status.
pub(super) fn read(rule: &Rule, _: &ReadContext<'_>) -> Result<Box<dyn Check>, Failure> {
    let parameters = Parameters::of(rule)?;
    let objects = Selected::read(&parameters)?;
    let type_ = parameters.required("type")?.to_owned();
    let status = parameters.required("status")?;
    let status = status.parse().map_err(|_| {
        parameters.wrong("status", &format!("is `{}`, not one of True, False, Unknown", excerpt(status)))
    })?;
    Ok(Box::new(ObjectRule::new(rule, objects, ObjectTest::Condition { type_, status })))
}
