//! `Always`: matches every cluster.

use clearway_graph::Rule;

use super::{Case, Check, Finding, ReadContext, RuleResult};
use crate::evidence::Failure;

#[derive(Debug)]
struct Always;

/// There is nothing to read: whatever else the entry says, it matches.
#[expect(clippy::unnecessary_wraps, reason = "every type of the registry is read by such a function")]
pub(super) fn read(_: &Rule, _: &ReadContext<'_>) -> Result<Box<dyn Check>, Failure> {
    Ok(Box::new(Always))
}

impl Check for Always {
    fn parameters(&self) -> &'static str {
        ""
    }

    fn check(&self, _: &Case<'_>) -> RuleResult {
        RuleResult::without_evidence(Finding::Match)
    }

    fn certain(&self) -> bool {
        true
    }
}
