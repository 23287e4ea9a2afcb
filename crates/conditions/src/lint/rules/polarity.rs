//! SC014 and SC017: which status of a condition is the healthy one, and when the condition is there at all.

use clearway_core::Severity;

use crate::Status;
use crate::lint::Profile;
use crate::lint::conventions::{pattern, table};
use crate::lint::out::{Finding, List, Out};
use crate::lint::view::condition::Condition;

/// SC014: what is only reported while True is not there otherwise.
pub(crate) fn lingering(list: &List<'_, '_>, condition: &Condition<'_>, out: &mut Out<'_, '_>) {
    let Some(status) = condition.status.filter(|status| *status != Status::True) else { return };
    if !table::only_while_true(out.profile, out.object.kind(), list.site, condition.name) {
        return;
    }
    let message = format!("condition {} is {status}; it is only reported while it is True", condition.title());
    let help = "remove the condition: its absence means healthy, and tools treat its presence as a problem";
    let (code, severity, field, node) = ("SC014", Severity::Warning, "status", condition.status_node);
    let refs = "GW8, G1, Flux WARN0003";
    out.report(list, Some(condition), Finding { code, severity, field, node, message, help: help.into(), refs });
}

/// SC017: a reader can tell from the name, or from a declaration that agrees with it, what True means.
pub(crate) fn ambiguous(list: &List<'_, '_>, condition: &Condition<'_>, out: &mut Out<'_, '_>) {
    let name = condition.name;
    let (message, help, refs) = match out.profile {
        Profile::Knative if pattern::reads_negative(name) => (
            format!("{} sounds like a problem, but conditions of this profile are positive", condition.title()),
            "name the healthy state, such as `Succeeded` for `Failed`",
            "KN21, K6",
        ),
        Profile::Gateway
            if pattern::reads_positive(name)
                && table::listed(out.object.kind(), list.site, name).is_none()
                && table::replacement(out.object.kind(), list.site, name).is_none() =>
        {
            (
                format!("{} sounds healthy, but clients treat every unlisted type as an error", condition.title()),
                "name the error and report it while it is True; only Accepted, Programmed and ResolvedRefs are positive",
                "GW9, A6",
            )
        }
        Profile::Metav1 | Profile::Kstatus if pattern::is_negated(pattern::name_part(name)) => (
            format!("{} is a negation, so False is a double negative", condition.title()),
            "invert the name and the status",
            "A6, A7",
        ),
        _ => return,
    };
    let (code, severity, field, node) = ("SC017", Severity::Warning, "type", condition.type_node);
    out.report(list, Some(condition), Finding { code, severity, field, node, message, help: help.into(), refs });
}
