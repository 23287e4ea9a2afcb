//! SC007 to SC009: which generation of the spec a condition speaks of.

use clearway_core::Severity;
use clearway_yaml::Node;

use crate::Status;
use crate::lint::Profile;
use crate::lint::out::{Finding, List, Out};
use crate::lint::rules::summary;
use crate::lint::view::condition::Condition;
use crate::lint::view::walk::Site;

/// SC007 and SC008 for one condition.
pub(crate) fn condition(list: &List<'_, '_>, condition: &Condition<'_>, out: &mut Out<'_, '_>) {
    let node = condition.generation_node;
    let (code, severity, message, help, refs) = match (condition.generation, out.generation) {
        (Some(observed), Some(generation)) if observed > generation => (
            "SC008",
            // A part may hold the status of another object, with the generations of that one.
            if list.site == Site::Part { Severity::Warning } else { Severity::Error },
            format!(
                "condition {} has observed generation {observed}, but the object is at {generation}",
                condition.title()
            ),
            "copy the generation of the object the condition is on, not of the object it is about",
            "A15, A23",
        ),
        (Some(observed), _) if observed > 0 => return,
        (observed, _) => {
            let wrong_type = node.filter(|node| observed.is_none() && !node.is_null());
            let (severity, message) = if let Some(node) = wrong_type {
                let (title, what) = (condition.title(), node.describe());
                (Severity::Error, format!("the observedGeneration of condition {title} is {what}, not a whole number"))
            } else {
                let Some(severity) = wants_generation(condition, out) else { return };
                let what = if observed.is_some() { "an unset" } else { "no" };
                (severity, format!("condition {} has {what} observedGeneration", condition.title()))
            };
            let help = "write metadata.generation as it was when you observed the object; without it a stale condition looks current";
            ("SC007", severity, message, help, "GW4, A15, G2")
        }
    };
    let field = "observedGeneration";
    out.report(list, Some(condition), Finding { code, severity, field, node, message, help: help.into(), refs });
}

/// How much a missing generation matters; nothing where the convention does without.
fn wants_generation(condition: &Condition<'_>, out: &Out<'_, '_>) -> Option<Severity> {
    match out.profile {
        Profile::Gateway => (!condition.is_placeholder()).then_some(Severity::Error),
        Profile::Kstatus => out.generation.map(|_| Severity::Warning),
        // A reader falls back to the generation of the whole status (A23).
        Profile::Metav1 => out.generation.filter(|_| out.observed.is_none()).map(|_| Severity::Warning),
        Profile::Knative | Profile::Openshift | Profile::Native => None,
    }
}

/// SC007 and SC008 for `status.observedGeneration`.
pub(crate) fn whole_status(out: &mut Out<'_, '_>) {
    let Some(status) = out.status.filter(|status| status.is_mapping()) else { return };
    let node = status.get("observedGeneration").filter(|node| !node.is_null());
    let (code, severity, message, help, refs) = match (node, out.observed, out.generation) {
        (Some(_), Some(observed), Some(generation)) if observed > generation => (
            "SC008",
            Severity::Error,
            format!("the status has observed generation {observed}, but the object is at {generation}"),
            "copy metadata.generation of this object",
            "A23",
        ),
        (Some(node), None, _) => (
            "SC007",
            // Only who committed to the conventions has the field at all.
            if out.declared { Severity::Error } else { Severity::Warning },
            format!("status.observedGeneration is {}, not a whole number", node.describe()),
            "write it as a number: kstatus does not accept anything else, and waits until its timeout",
            "A23",
        ),
        (None, _, Some(_)) if out.profile == Profile::Kstatus && status.get("conditions").is_some() => (
            "SC007",
            Severity::Warning,
            "the status has no observedGeneration, the only one kstatus reads".to_owned(),
            "write metadata.generation as it was when you observed the object",
            "A23, 1d",
        ),
        _ => return,
    };
    let path = "status.observedGeneration".to_owned();
    let finding = Finding { code, severity, field: "", node, message, help: help.into(), refs };
    out.report_at(node.unwrap_or(status), path, finding);
}

/// SC009: a summary that is True speaks of the present generation.
pub(crate) fn stale(list: &List<'_, '_>, out: &mut Out<'_, '_>) {
    let Some(generation) = out.generation else { return };
    match out.profile {
        Profile::Native => {}
        Profile::Gateway => gateway(list, generation, out),
        _ => {
            let Some(summary) = summary::of(out.profile, list).filter(|summary| summary.status == Some(Status::True))
            else {
                return;
            };
            let older =
                |condition: &&Condition<'_>| condition.generation.is_some_and(|seen| (1..generation).contains(&seen));
            let whole = out.observed.filter(|seen| *seen < generation);
            let behind = Some(summary)
                .filter(older)
                .or_else(|| list.conditions.iter().find(|one| counts(one, out) && older(one)));
            let current = out.observed.map_or_else(
                || list.conditions.iter().any(|condition| condition.generation == Some(generation)),
                |seen| seen == generation,
            );
            let severity = if current && is_settled(list) { Severity::Error } else { Severity::Warning };
            let (message, node) = match (behind, whole) {
                (Some(condition), _) => {
                    let seen = condition.generation.unwrap_or_default();
                    let message = if condition.index == summary.index {
                        format!("{} is True for generation {seen}, but the object is at {generation}", summary.title())
                    } else {
                        format!(
                            "{} is True while {} is about generation {seen} and the object is at {generation}",
                            summary.title(),
                            condition.title()
                        )
                    };
                    (message, condition.generation_node)
                }
                (None, Some(seen)) if list.site == Site::Top || summary.generation.is_none() => {
                    let message =
                        format!("{} is True for generation {seen}, but the object is at {generation}", summary.title());
                    (message, summary.status_node)
                }
                _ => return,
            };
            tell(list, summary, (severity, message), node, out);
        }
    }
}

/// Whether a condition has a say in the summary: all but those that are told apart as informative.
fn counts(condition: &Condition<'_>, out: &Out<'_, '_>) -> bool {
    out.profile != Profile::Knative || condition.is_error_severity()
}

/// Whether nothing says that work goes on.
fn is_settled(list: &List<'_, '_>) -> bool {
    !list.has("Reconciling", Status::True)
}

/// Gateway API has no single summary: each positive condition stands for itself (GW4).
fn gateway(list: &List<'_, '_>, generation: i64, out: &mut Out<'_, '_>) {
    // With this condition the API asks for the generation of the last good state (GW16).
    let fall_back = list
        .find("PartiallyInvalid")
        .is_some_and(|condition| condition.status == Some(Status::True) && condition.message.starts_with("Fall Back"));
    let current = list.conditions.iter().any(|condition| condition.generation == Some(generation));
    let severity = if current { Severity::Error } else { Severity::Warning };
    for condition in &list.conditions {
        let positive = matches!(condition.name, "Accepted" | "Programmed" | "ResolvedRefs" | "Ready");
        let Some(seen) = condition.generation.filter(|seen| (1..generation).contains(seen)) else { continue };
        if positive && condition.status == Some(Status::True) && !(fall_back && condition.name == "Accepted") {
            let message =
                format!("{} is True for generation {seen}, but the object is at {generation}", condition.title());
            tell(list, condition, (severity, message), condition.generation_node, out);
        }
    }
}

fn tell(
    list: &List<'_, '_>,
    condition: &Condition<'_>,
    (severity, message): (Severity, String),
    node: Option<Node<'_>>,
    out: &mut Out<'_, '_>,
) {
    let help = match severity {
        Severity::Error => {
            "the controller has seen the new generation: set every condition with it, or set it to Unknown"
        }
        _ => "the controller has not reconciled yet, or has stopped: this is not the state of the current spec",
    };
    let (code, field, refs) = ("SC009", "", "KN15, A15, GW23, GW24");
    out.report(list, Some(condition), Finding { code, severity, field, node, message, help: help.into(), refs });
}
