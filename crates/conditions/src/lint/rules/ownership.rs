//! SC025 on `managedFields`: a list that one manager applies and another writes over.

use clearway_core::Severity;
use clearway_yaml::Node;

use crate::lint::Profile;
use crate::lint::out::{Finding, Out};

/// SC025 for the owners of `status.conditions`.
pub(crate) fn owners(out: &mut Out<'_, '_>) {
    // Kubernetes' own controllers share their lists by agreement.
    if out.profile == Profile::Native {
        return;
    }
    let Some(managers) = out.object.root.at(&["metadata", "managedFields"]) else { return };
    let owned = |entry: Node<'_>, operation: &str| entry.get("operation").is_some_and(|word| word.raw() == operation);
    for (index, update) in managers.items().enumerate().filter(|(_, entry)| owned(*entry, "Update")) {
        let Some(written) = conditions(update) else { continue };
        for apply in managers.items().filter(|entry| owned(*entry, "Apply")) {
            let Some(applied) = conditions(apply) else { continue };
            let Some(shared) = overlap(written, applied) else { continue };
            let (writer, rightful) = (name(update), name(apply));
            let what =
                if shared.is_empty() { "the list of conditions".to_owned() } else { format!("condition `{shared}`") };
            let message = format!("{writer} overwrites {what}, which {rightful} applies");
            let path = format!("metadata.managedFields[{index}].fieldsV1");
            out.report_at(
                update,
                path,
                Finding {
                    code: "SC025",
                    severity: Severity::Warning,
                    field: "",
                    node: None,
                    message,
                    help: "let every controller apply its own conditions with a field manager of its own".into(),
                    refs: "A11, server-side apply",
                },
            );
            return;
        }
    }
}

fn conditions(entry: Node<'_>) -> Option<Node<'_>> {
    entry.at(&["fieldsV1", "f:status", "f:conditions"]).filter(|fields| fields.is_mapping())
}

fn name(entry: Node<'_>) -> String {
    let name: String = entry.get("manager").map_or("", Node::raw).chars().take(60).collect();
    format!("`{name}`")
}

/// The condition both own; an empty text for the list as a whole; nothing if they keep apart.
fn overlap<'a>(written: Node<'a>, applied: Node<'a>) -> Option<&'a str> {
    let keys = |fields: Node<'a>| fields.fields().map(|(key, _)| key.raw()).filter(|key| key.starts_with("k:"));
    if keys(written).next().is_none() || keys(applied).next().is_none() {
        return Some("");
    }
    let shared = keys(written).find(|key| keys(applied).any(|other| other == *key))?;
    // `k:{"type":"Ready"}`
    Some(shared.split('"').nth(3).unwrap_or(shared))
}
