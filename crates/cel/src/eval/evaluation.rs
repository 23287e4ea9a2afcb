//! What an evaluation gives.

use crate::error::CelError;
use crate::eval::Finished;
use crate::value::{CelValue, Value};

/// What came of an evaluation, and what it cost.
#[derive(Debug, Clone)]
pub struct Evaluation<'a> {
    /// The value, or why there is none.
    pub outcome: Outcome<'a>,
    /// The cost by Kubernetes' model, without that of the variables of a policy.
    pub cost: u64,
    /// What evaluating variables of a policy cost.
    pub variables_cost: u64,
    /// What of [`Budget::work`](crate::Budget::work) was used, without the variables of a policy.
    pub work: u64,
}

/// A value, or why there is none.
#[derive(Debug, Clone)]
pub enum Outcome<'a> {
    /// The value.
    Value(CelValue<'a>),
    /// The value depends on data that is not known.
    Unknown,
    /// The evaluation failed.
    Error(CelError),
}

impl<'a> Evaluation<'a> {
    pub(crate) fn of(finished: Finished<'a>) -> Self {
        let outcome = match finished.value {
            Ok(Value::Error(class, span)) => Outcome::Error(CelError::new(class, span)),
            Ok(Value::Unknown) => Outcome::Unknown,
            Ok(value) => Outcome::Value(CelValue::new(value)),
            Err(error) => Outcome::Error(error),
        };
        Evaluation { outcome, cost: finished.cost, variables_cost: finished.variables_cost, work: finished.work }
    }
}

impl<'a> Outcome<'a> {
    /// The bool that it is; nothing if it is none.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Outcome::Value(value) => value.as_bool(),
            _ => None,
        }
    }

    /// The value, if there is one.
    pub fn value(&self) -> Option<&CelValue<'a>> {
        match self {
            Outcome::Value(value) => Some(value),
            _ => None,
        }
    }

    /// The error, if it is one.
    pub fn error(&self) -> Option<&CelError> {
        match self {
            Outcome::Error(error) => Some(error),
            _ => None,
        }
    }
}
