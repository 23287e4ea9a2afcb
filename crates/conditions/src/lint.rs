//! Whether the conditions of any object of any controller keep to the conventions they claim (K7).
//!
//! [`lint`] checks one object as it stands, [`History`] a sequence of snapshots. Which conventions hold is the
//! [`Profile`]'s matter, what is tolerated the [`Policy`]'s, and [`RULES`] has a page for every rule. An object without
//! findings costs no allocation per condition, so that a whole cluster is linted in about the time it takes to read it.

mod conventions;
mod docs;
mod history;
mod out;
mod policy;
mod rules;
mod view;
mod volatile;

#[cfg(test)]
mod tests;

pub use conventions::profile::{Profile, ProfileError};
pub use docs::{RULES, RuleDoc, Scope, pages as code_pages, rule, sarif_rules};
pub use history::History;
pub use policy::{Flapping, Policy};

use clearway_core::{Diagnostic, Severity};
use clearway_yaml::Node;

use crate::Object;
use out::{Finding, List, Out};
use view::condition::Condition;
use view::walk::{Site, Spot};

/// The code of findings about the check itself.
pub const ABOUT_THE_CHECK: &str = "SC000";

/// Which fields of an object the rules look at, for a reader that can leave the others out: of most kinds only what they
/// are and their status, of definitions the whole.
pub fn needs_field(kind: Option<&str>, field: &str) -> bool {
    matches!(field, "apiVersion" | "kind" | "metadata" | "status")
        || kind.is_none_or(|kind| kind == rules::schema::DEFINITION)
}

/// Checks one object by every rule that needs no other snapshot; what is found is added in the order of the document.
pub fn lint(object: &Object<'_>, policy: &Policy, findings: &mut Vec<Diagnostic>) {
    let mut out = Out::new(object, policy, findings);
    match out.status {
        Some(status) if status.is_mapping() => {
            view::walk::spots(status, &mut |spot| {
                if let Some(list) = read_list(&spot, Some(&mut out)) {
                    check(&list, &mut out);
                }
            });
            rules::generation::whole_status(&mut out);
        }
        Some(status) if !status.is_null() => {
            let message = format!("status is {}, not an object", status.describe());
            let help = "a status is an object, such as `status: {conditions: []}`".into();
            let finding = Finding { help, ..unreadable(Severity::Error, message) };
            out.report_at(status, "status".to_owned(), finding);
        }
        _ => {}
    }
    rules::presence::absent(&mut out);
    rules::schema::definition(&mut out);
    rules::ownership::owners(&mut out);
    out.finish();
}

/// What keeps the status of an object from being read at all: it is no object, or its conditions are no list.
pub fn unreadable_status(object: &Object<'_>) -> Option<Diagnostic> {
    let status = object.root.get("status").filter(|status| !status.is_null())?;
    let conditions = status.get("conditions").filter(|conditions| !conditions.is_null());
    let (node, path, message) = match conditions {
        _ if !status.is_mapping() => (status, "status", format!("status is {}, not an object", status.describe())),
        Some(list) if !list.is_sequence() => {
            (list, "status.conditions", format!("`conditions` is {}, not a list", list.describe()))
        }
        _ => return None,
    };
    let diagnostic = Diagnostic::new(ABOUT_THE_CHECK, Severity::Warning, message)
        .at(object.place(node, path))
        .with_help("it is checked as if this were absent; fix the controller that wrote it");
    Some(diagnostic.with_excerpt(object.source.excerpt(node)))
}

fn check(list: &List<'_, '_>, out: &mut Out<'_, '_>) {
    rules::fields::duplicates(list, out);
    for condition in &list.conditions {
        rules::fields::kind(list, condition, out);
        rules::fields::status(list, condition, out);
        rules::words::reason(list, condition, out);
        rules::words::message(list, condition, out);
        rules::words::severity(list, condition, out);
        rules::words::silence(list, condition, out);
        rules::times::transition_time(list, condition, out);
        rules::generation::condition(list, condition, out);
        rules::polarity::only_while_true(list, condition, out);
        rules::polarity::ambiguous(list, condition, out);
        rules::naming::kind(list, condition, out);
    }
    rules::generation::stale(list, out);
    rules::summary::exists(list, out);
    rules::summary::follows(list, out);
    rules::summary::reconciling_and_stalled(list, out);
    rules::summary::contradicted(list, out);
    rules::presence::complete(list, out);
    rules::schema::too_long(list, out);
}

/// The list of conditions at a spot; what keeps it from being one is reported.
fn read_list<'a, 'p>(spot: &Spot<'a, 'p>, mut out: Option<&mut Out<'_, '_>>) -> Option<List<'a, 'p>> {
    let value = spot.value;
    if value.is_null() {
        return None;
    }
    let mut list = List { site: spot.site, node: value, path: spot.path, conditions: Vec::new() };
    if !value.is_sequence() {
        // A part of the object may call something else by this name.
        let severity = if spot.site == Site::Part { Severity::Warning } else { Severity::Error };
        if let Some(out) = &mut out {
            out.report(&list, None, unreadable(severity, format!("`conditions` is {}, not a list", value.describe())));
        }
        return None;
    }
    if spot.site == Site::Part && !value.items().any(looks_like_condition) {
        return None;
    }
    list.conditions.reserve_exact(value.items().count());
    for (index, item) in value.items().enumerate() {
        match (Condition::read(item, index), &mut out) {
            (Some(condition), _) => list.conditions.push(condition),
            (None, Some(out)) => {
                let message = format!("element {} of the conditions is {}, not an object", index + 1, item.describe());
                let finding = Finding { node: Some(item), ..unreadable(Severity::Error, message) };
                out.report(&list, None, finding);
            }
            (None, None) => {}
        }
    }
    Some(list)
}

fn looks_like_condition(item: Node<'_>) -> bool {
    item.is_mapping() && (item.get("type").is_some() || item.get("status").is_some())
}

fn unreadable(severity: Severity, message: String) -> Finding<'static> {
    Finding {
        code: ABOUT_THE_CHECK,
        severity,
        field: "",
        node: None,
        message,
        help: "conditions are a list of objects with type, status, reason, message and lastTransitionTime".into(),
        refs: "KN1, A11, K1",
    }
}
