//! SC018: names of types that people can read and that nobody else will claim.

use clearway_core::Severity;

use crate::Status;
use crate::lint::Profile;
use crate::lint::conventions::{pattern, table};
use crate::lint::out::{Finding, List, Out};
use crate::lint::view::condition::Condition;

/// SC018.
pub(crate) fn kind(list: &List<'_, '_>, condition: &Condition<'_>, out: &mut Out<'_, '_>) {
    let name = condition.name;
    if out.profile == Profile::Native || name.is_empty() || !pattern::is_type(name) {
        return;
    }
    let own = pattern::name_part(name);
    let kind = out.object.kind();
    let mut severity = Severity::Warning;
    let (message, help, refs) = if out.profile == Profile::Gateway
        && let Some(instead) = table::replacement(kind, list.site, name)
    {
        // For a time both names are published, for readers of either (G8).
        if beside_its_replacement(list, condition) {
            severity = Severity::Info;
        }
        (format!("{} is deprecated", condition.title()), format!("write {instead}"), "G8, GW10, GW18")
    } else if !pattern::is_pascal(own) {
        let help = "write it as one PascalCase word, such as `Ready`".to_owned();
        (format!("{} is not PascalCase", condition.title()), help, "A16, KN4")
    } else if pattern::is_passing_action(own) {
        let message = format!("{} names an action, not a state", condition.title());
        let help = "use an adjective or a past participle, and Unknown while it is not decided".to_owned();
        (message, help, "A8, GW5")
    } else if out.profile != Profile::Openshift
        && own.strip_prefix(kind).is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_uppercase()))
    {
        let rest = own.strip_prefix(kind).unwrap_or(own);
        (format!("{} repeats the kind", condition.title()), format!("`{rest}` is enough"), "A16")
    } else if out.profile == Profile::Gateway
        && !name.contains('/')
        && table::gateway(kind, list.site).is_some()
        && table::listed(kind, list.site, name).is_none()
    {
        let message = format!("{} is not a type of Gateway API and has no domain", condition.title());
        (message, format!("put the domain of your implementation in front: `example.com/{name}`"), "GW17, G7")
    } else {
        return;
    };
    let (code, field, node) = ("SC018", "type", condition.type_node);
    out.report(list, Some(condition), Finding { code, severity, field, node, message, help: help.into(), refs });
}

/// Whether `Accepted` stands beside `Scheduled` or `Detached` and says the same.
fn beside_its_replacement(list: &List<'_, '_>, condition: &Condition<'_>) -> bool {
    let (Some(own), Some(accepted)) = (condition.status, list.find("Accepted").and_then(|found| found.status)) else {
        return false;
    };
    match condition.name {
        "Detached" => matches!((own, accepted), (Status::False, Status::True) | (Status::True, Status::False)),
        _ => own == accepted,
    }
}
