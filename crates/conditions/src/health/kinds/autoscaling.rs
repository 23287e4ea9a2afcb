//! What steers the number of pods: autoscalers and disruption budgets.

use crate::health::DEGRADED_HOLD;
use crate::health::facts::Facts;
use crate::health::verdict::{State, Verdict};
use crate::model::Status;

/// The controller writes no condition when it cannot compute a budget, so having seen the generation is all there is.
pub(in crate::health) fn disruption_budget(facts: &Facts<'_>) -> Verdict {
    if facts.status.is_none_or(|status| status.get("expectedPods").is_none()) {
        return facts.in_progress("BudgetNotComputed", "AllowedDisruptions has not been computed yet.");
    }
    facts.current("BudgetComputed", "AllowedDisruptions has been computed.")
}

/// An autoscaler that cannot read its metrics or its target steers nothing. Right after its creation that is normal, so
/// it has to last.
pub(in crate::health) fn pod_autoscaler(facts: &Facts<'_>) -> Verdict {
    for name in ["AbleToScale", "ScalingActive"] {
        let Some(condition) = facts.condition(name).filter(|condition| condition.status() == Status::False) else {
            continue;
        };
        // A target scaled to zero on purpose, and the pause between two scalings, are False as well.
        let meant = condition.reason() == "ScalingDisabled" || condition.reason().starts_with("Backoff");
        if !meant {
            return facts
                .outdated(condition)
                .unwrap_or_else(|| facts.by_condition(State::Failed, condition, "NotScaling").hold(DEGRADED_HOLD));
        }
    }
    match facts.condition("AbleToScale") {
        Some(able) => facts.by_condition(State::Current, able, "AbleToScale"),
        // autoscaling/v1 has no conditions.
        None if facts.count("currentReplicas") > 0 => facts.current("TargetObserved", "the target has been observed"),
        None => facts.in_progress("NotObserved", "the autoscaler has not observed its target yet"),
    }
}
