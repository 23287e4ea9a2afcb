//! How many steps the rules of an assessment may take, so that one rule cannot starve the others.
//!
//! A rule has a budget of its own. The rules of one risk share the budget of the risk, and all rules share that of the
//! assessment, in equal parts: a risk with many expensive rules costs itself its answers, and nobody else.

use std::collections::BTreeMap;

use crate::evidence::ObjectQuestion;
use crate::rules::Check;
use crate::walk::Candidate;

/// Steps of evaluations over all objects. A step of the most expensive expressions known takes two nanoseconds, of usual
/// ones a hundredth of that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EvaluationBudget {
    /// Of one rule: a usual expression over some eight thousand pods.
    pub rule: u64,
    /// Of all rules of one risk.
    pub risk: u64,
    /// Of all rules: two minutes at most.
    pub assessment: u64,
}

impl Default for EvaluationBudget {
    fn default() -> Self {
        EvaluationBudget { rule: 2_000_000_000, risk: 4_000_000_000, assessment: 64_000_000_000 }
    }
}

/// The steps of each distinct question about objects.
#[derive(Debug, Default)]
pub(crate) struct Shares(BTreeMap<String, u64>);

impl Shares {
    pub(crate) fn new(budget: &EvaluationBudget, risks: &[Candidate]) -> Self {
        let mut shares = Shares::default();
        for risk in risks {
            let questions: Vec<&ObjectQuestion> =
                risk.reachable().filter_map(|entry| entry.check()).filter_map(Check::object_question).collect();
            let share = budget.rule.min(divided(budget.risk, questions.len()));
            for question in questions {
                let known = shares.0.entry(question.text().to_owned()).or_default();
                *known = share.max(*known);
            }
        }
        let equal = divided(budget.assessment, shares.0.len());
        shares.0.values_mut().for_each(|share| *share = equal.min(*share));
        shares
    }

    /// The steps of a question; none for one that is not in the plan.
    pub(crate) fn of(&self, question: &ObjectQuestion) -> u64 {
        self.0.get(question.text()).copied().unwrap_or_default()
    }
}

fn divided(whole: u64, parts: usize) -> u64 {
    whole.checked_div(parts as u64).unwrap_or(whole)
}
