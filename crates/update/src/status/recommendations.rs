//! From an assessment to the two lists of updates in a status (U6, U7, U11).
//!
//! What is recommended is in `availableUpdates`, whether it carries risks or not; what carries risks is in
//! `conditionalUpdates` besides, with its conditions. Both are by decreasing version, so that nothing moves without a
//! reason.

use clearway_advice::{Assessment, Statement, Update, recommend};
use clearway_conditions::model::{Conditions, Pass, StoredFields, Verdict};
use clearway_conditions::{Reason, condition_set, reason};
use clearway_core::{Generation, Timestamp};

use crate::api::{ConditionalUpdate, Release, Spec};
use crate::upstream::Knowledge;

condition_set! {
    /// The conditions of a conditional update.
    set Conditional { summary: Omitted }
    /// Always present.
    always Aspect {
        /// Its risks are evaluated periodically.
        Evaluating: info,
        /// It is recommended to this cluster.
        Recommended: info,
    }
}

/// The two lists.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Recommendations {
    /// What is recommended.
    pub available: Vec<Release>,
    /// What depends on the cluster.
    pub conditional: Vec<ConditionalUpdate>,
}

/// Makes the lists. `before` is what the status says now: it knows since when a condition has been what it is.
pub fn recommendations(
    knowledge: &Knowledge,
    assessment: &Assessment,
    spec: &Spec,
    before: &[ConditionalUpdate],
    generation: Generation,
    now: Timestamp,
) -> Recommendations {
    let taken = |name: &str| is_accepted(spec, name, now);
    let mut lists = Recommendations::default();
    for update in &assessment.updates {
        let Some(target) = knowledge.target(&update.version) else { continue };
        let recommended = recommend::with_accepted(update, taken);
        if recommended.status == clearway_advice::Status::True {
            lists.available.push(target.release.clone());
        }
        if update.conditional {
            // Two versions may have the same payload, and each has conditions of its own.
            let is_same = |known: &&ConditionalUpdate| {
                known.release.version == target.release.version && known.release.image == target.release.image
            };
            let known = before.iter().find(is_same);
            let conditions = known.map(|known| known.conditions.clone()).unwrap_or_default();
            lists.conditional.push(ConditionalUpdate {
                release: target.release.clone(),
                risks: target.risks.clone(),
                conditions: said(update, &recommended, &conditions, generation, now),
            });
        }
    }
    lists
}

/// Whether a risk is accepted: in Clearway's list, or in the one that OpenShift's clients write.
fn is_accepted(spec: &Spec, name: &str, now: Timestamp) -> bool {
    let ours = &spec.accepted_risks;
    let mut theirs = spec.desired_update.iter().flat_map(|update| &update.accept_risks);
    ours.iter().any(|risk| risk.name == name && risk.until.is_none_or(|until| now < until))
        || theirs.any(|risk| risk.name == name)
}

fn said(
    update: &Update,
    recommended: &Statement,
    before: &Conditions,
    generation: Generation,
    now: Timestamp,
) -> Conditions {
    let mut pass = Pass::<Conditional>::begin(before, generation, now).stored_in(StoredFields::metav1());
    match &update.evaluating {
        Some(evaluating) => pass.report(Aspect::Evaluating, verdict(evaluating)),
        None => pass.retain(Aspect::Evaluating),
    }
    pass.report(Aspect::Recommended, verdict(recommended));
    pass.finish().conditions
}

fn verdict(statement: &Statement) -> Verdict {
    let reason = Reason::sanitize(&statement.reason, reason!("ExposedToRisks"));
    let message = statement.message.as_str();
    match statement.status {
        clearway_advice::Status::True => Verdict::ok_because(reason, message),
        clearway_advice::Status::False => Verdict::bad(reason, message),
        clearway_advice::Status::Unknown => Verdict::pending(reason, message),
    }
}
