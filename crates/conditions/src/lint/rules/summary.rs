//! SC010, SC011, SC015 and SC016: the summary and what it sums up.

use clearway_core::Severity;

use crate::Status;
use crate::lint::Profile;
use crate::lint::conventions::pattern;
use crate::lint::out::{Finding, List, Out};
use crate::lint::view::condition::Condition;
use crate::lint::view::walk::Site;

/// The summary of a list, where the convention has one.
pub(crate) fn of<'l, 'a>(profile: Profile, list: &'l List<'a, '_>) -> Option<&'l Condition<'a>> {
    match profile {
        Profile::Metav1 | Profile::Knative | Profile::Kstatus => list.find("Ready").or_else(|| list.find("Succeeded")),
        Profile::Openshift => list.find("Available"),
        Profile::Gateway | Profile::Native => None,
    }
}

/// SC010: exactly one summary.
pub(crate) fn exists(list: &List<'_, '_>, out: &mut Out<'_, '_>) {
    let wanted = matches!(out.profile, Profile::Metav1 | Profile::Knative | Profile::Kstatus);
    // An empty list is SC013's; the parts of an object need no summary of their own.
    if !wanted || list.site != Site::Top || list.conditions.is_empty() {
        return;
    }
    let (ready, succeeded) = (list.find("Ready"), list.find("Succeeded"));
    let (condition, severity, message, help) = match (ready, succeeded) {
        (Some(_), Some(succeeded)) => (
            Some(succeeded),
            Severity::Error,
            "the list has two summaries, Ready and Succeeded".to_owned(),
            "keep `Ready` for what keeps running, or `Succeeded` for what runs to completion",
        ),
        (None, None) if out.past_grace() => {
            // The conventions call a summary helpful; only who has committed to it owes it.
            let severity = if out.declared { Severity::Error } else { Severity::Warning };
            let message = "the list has no summary condition".to_owned();
            (None, severity, message, "add `Ready` (keeps running) or `Succeeded` (runs to completion)")
        }
        _ => return,
    };
    let (code, field, node, refs) = ("SC010", "", None, "KN11, A10, K3");
    out.report(list, condition, Finding { code, severity, field, node, message, help: help.into(), refs });
}

/// SC011: what is wrong below is wrong above. All True forces nothing (KN18).
pub(crate) fn follows(list: &List<'_, '_>, out: &mut Out<'_, '_>) {
    // Only Knative declares what a summary depends on: by severity. Elsewhere ResolvedRefs=False, say, blocks nothing.
    if out.profile != Profile::Knative {
        return;
    }
    let Some(summary) = of(out.profile, list) else { return };
    // An omitted status reads as Unknown (KN3).
    let said = summary.status.unwrap_or(Status::Unknown);
    if said == Status::False {
        return;
    }
    for condition in &list.conditions {
        if !condition.is_error_severity() || condition.name == summary.name || condition.name.is_empty() {
            continue;
        }
        let (message, help) = match condition.status.unwrap_or(Status::Unknown) {
            Status::False => (
                format!("{} is {said} while {} is False", summary.title(), condition.title()),
                "set the summary to False, or set the severity Info if the condition does not affect the summary",
            ),
            Status::Unknown if said == Status::True => (
                format!("{} is True while {} is Unknown", summary.title(), condition.title()),
                "set the summary to Unknown until all its conditions are known",
            ),
            _ => continue,
        };
        let (code, severity, field, node) = ("SC011", Severity::Error, "status", summary.status_node);
        let refs = "KN16, KN17, K4";
        out.report(list, Some(summary), Finding { code, severity, field, node, message, help: help.into(), refs });
    }
}

/// SC015: work cannot both go on and be stuck.
pub(crate) fn both_ways(list: &List<'_, '_>, out: &mut Out<'_, '_>) {
    if matches!(out.profile, Profile::Native | Profile::Openshift) {
        return;
    }
    let (Some(reconciling), Some(stalled)) = (list.find("Reconciling"), list.find("Stalled")) else { return };
    if reconciling.status == Some(Status::True) && stalled.status == Some(Status::True) {
        let later = if stalled.index > reconciling.index { stalled } else { reconciling };
        let message = "`Reconciling` and `Stalled` are both True".to_owned();
        let help = "remove one when you set the other: kstatus takes whichever comes first in the list";
        let (code, severity, field, node) = ("SC015", Severity::Error, "status", later.status_node);
        let refs = "kstatus, Flux FAIL0005";
        out.report(list, Some(later), Finding { code, severity, field, node, message, help: help.into(), refs });
    }
}

/// SC016: the summary is not True while a condition says that something is wrong.
pub(crate) fn denies_trouble(list: &List<'_, '_>, out: &mut Out<'_, '_>) {
    let summary = match out.profile {
        // A listener in conflict is not programmed.
        Profile::Gateway => list.find("Programmed"),
        Profile::Metav1 | Profile::Kstatus => of(out.profile, list),
        _ => None,
    };
    let Some(summary) = summary.filter(|summary| summary.status == Some(Status::True)) else { return };
    if list.has("Reconciling", Status::True) {
        return;
    }
    for condition in &list.conditions {
        if condition.status != Some(Status::True) || condition.index == summary.index {
            continue;
        }
        let severity = match (out.profile, condition.name) {
            (Profile::Gateway, "Conflicted") | (Profile::Kstatus | Profile::Metav1, "Stalled") => Severity::Error,
            (Profile::Gateway, _) => continue,
            (Profile::Kstatus, name) if pattern::reads_negative(name) => Severity::Error,
            // A name is a hint and not a declaration (A6).
            (_, name) if pattern::reads_negative(name) => Severity::Warning,
            _ => continue,
        };
        let message = format!("{} is True while {} is True", summary.title(), condition.title());
        let help = "clear the condition when the problem is solved, or do not set the summary to True while it lasts";
        let (code, field, node) = ("SC016", "status", condition.status_node);
        let refs = "KN15, A6, Flux FAIL0001";
        out.report(list, Some(condition), Finding { code, severity, field, node, message, help: help.into(), refs });
    }
}
