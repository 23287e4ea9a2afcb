//! How much the evaluation of rules may cost, so that one rule cannot starve the others.
//!
//! A rule has a budget of its own. The rules of one risk share the budget of the risk, and all rules share that of the
//! assessment, in equal parts: a risk with many expensive rules costs itself its answers, and no other risk.

use std::collections::BTreeMap;

use crate::assess::walk::Candidate;
use crate::rules::Check;

/// A cost for each level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// Of one rule.
    pub rule: u64,
    /// Of all rules of one risk.
    pub risk: u64,
    /// Of all rules of an assessment.
    pub assessment: u64,
}

/// What evaluations may cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EvaluationBudget {
    /// Samples that queries look at or make, where they are evaluated by this program.
    pub samples: Budget,
    /// What expressions cost over all objects, as Kubernetes counts it, and what they look at.
    pub steps: Budget,
}

impl Default for EvaluationBudget {
    /// As many samples for a query as Prometheus allows, and two thousand steps of an expression for each of fifty thousand
    /// objects. A step takes some nanoseconds, at most fifty.
    fn default() -> Self {
        EvaluationBudget {
            samples: Budget { rule: 50_000_000, risk: 100_000_000, assessment: 2_000_000_000 },
            steps: Budget { rule: 100_000_000, risk: 200_000_000, assessment: 3_200_000_000 },
        }
    }
}

/// What each distinct question of a plan may cost, by its text.
#[derive(Debug, Default)]
pub(crate) struct Shares {
    samples: BTreeMap<String, u64>,
    steps: BTreeMap<String, u64>,
}

impl Shares {
    pub(crate) fn new(budget: &EvaluationBudget, risks: &[Candidate]) -> Self {
        let query =
            |check: &dyn Check| check.question().map(|question| question.text().to_owned()).into_iter().collect();
        let objects =
            |check: &dyn Check| check.object_questions().iter().map(|question| question.text().to_owned()).collect();
        Shares { samples: shares(&budget.samples, risks, query), steps: shares(&budget.steps, risks, objects) }
    }

    /// The samples of a query, by the text that it has in the plan.
    pub(crate) fn samples(&self, text: &str) -> u64 {
        self.samples.get(text).copied().unwrap_or_default()
    }

    /// The steps of a question about objects.
    pub(crate) fn steps(&self, text: &str) -> u64 {
        self.steps.get(text).copied().unwrap_or_default()
    }
}

fn shares(budget: &Budget, risks: &[Candidate], texts: impl Fn(&dyn Check) -> Vec<String>) -> BTreeMap<String, u64> {
    let mut shares: BTreeMap<String, u64> = BTreeMap::new();
    for risk in risks {
        let texts: Vec<String> = risk.reachable().filter_map(|entry| entry.check()).flat_map(&texts).collect();
        let share = budget.rule.min(divided(budget.risk, texts.len()));
        for text in texts {
            // What several risks ask is asked once, within the largest of their shares.
            let known = shares.entry(text).or_default();
            *known = share.max(*known);
        }
    }
    let equal = divided(budget.assessment, shares.len());
    for share in shares.values_mut() {
        *share = equal.min(*share);
    }
    shares
}

fn divided(whole: u64, parts: usize) -> u64 {
    whole.checked_div(parts as u64).unwrap_or(whole)
}
