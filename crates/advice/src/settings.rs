//! What an administrator may set about assessing.

use std::time::Duration;

use clearway_promql::{Fence, Limits};

use crate::budget::EvaluationBudget;

/// How far evidence may lie in the future, unless an administrator says otherwise.
pub(crate) const CLOCK_SKEW: Duration = Duration::from_mins(5);

/// How risks are assessed.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Which queries of strangers are let through (U18).
    pub fence: Fence,
    /// How much of a query is read.
    pub limits: Limits,
    /// How old evidence may be. The default is two hours: an hour until a query is asked again, a round, and room.
    pub max_age: Duration,
    /// How much the evaluation of rules may cost.
    pub budget: EvaluationBudget,
    /// How far evidence may lie in the future, because two clocks never agree.
    pub clock_skew: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            fence: Fence::default(),
            limits: Limits::default(),
            max_age: Duration::from_hours(2),
            budget: EvaluationBudget::default(),
            clock_skew: CLOCK_SKEW,
        }
    }
}
