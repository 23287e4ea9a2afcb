//! SC001 to SC003: which condition it is and what it says.

use std::collections::HashMap;

use clearway_core::Severity;
use clearway_yaml::{Node, Value};

use crate::lint::Profile;
use crate::lint::conventions::pattern;
use crate::lint::out::{Finding, List, Out};
use crate::lint::view::condition::Condition;

/// Up to here comparing each with each is cheaper than a set.
const SHORT: usize = 16;

/// SC001: two conditions of one type, told once per type.
pub(crate) fn duplicates(list: &List<'_, '_>, out: &mut Out<'_, '_>) {
    let conditions = list.conditions.as_slice();
    if conditions.len() <= SHORT {
        for (at, condition) in conditions.iter().enumerate() {
            let same = |other: &&Condition<'_>| !other.name.is_empty() && other.name == condition.name;
            let before = conditions.iter().take(at).filter(same).count();
            if before == 1 {
                let total = conditions.iter().filter(same).count();
                duplicate(list, condition, total, out);
            }
        }
        return;
    }
    let mut seen: HashMap<&str, (usize, usize)> = HashMap::with_capacity(conditions.len());
    for (at, condition) in conditions.iter().enumerate().filter(|(_, condition)| !condition.name.is_empty()) {
        let (count, second) = seen.entry(condition.name).or_default();
        *count += 1;
        if *count == 2 {
            *second = at;
        }
    }
    // In the order of the list: a map has none.
    for (at, condition) in conditions.iter().enumerate() {
        if let Some((count, _)) = seen.get(condition.name).filter(|(count, second)| *count > 1 && *second == at) {
            duplicate(list, condition, *count, out);
        }
    }
}

fn duplicate(list: &List<'_, '_>, condition: &Condition<'_>, count: usize, out: &mut Out<'_, '_>) {
    let message = format!("the list has {count} conditions of type {}", condition.title());
    out.report(
        list,
        Some(condition),
        Finding {
            code: "SC001",
            severity: Severity::Error,
            field: "type",
            node: condition.type_node,
            message,
            help: "keep one condition per type and change it in place: readers take the first and never see the others"
                .into(),
            refs: "KN5, A2, K1",
        },
    );
}

/// SC002: the status is exactly one of three words.
pub(crate) fn status(list: &List<'_, '_>, condition: &Condition<'_>, out: &mut Out<'_, '_>) {
    if condition.status.is_some() {
        return;
    }
    let title = condition.title();
    let word = r#"write exactly "True", "False" or "Unknown""#;
    let mut severity = Severity::Error;
    let (message, help) = match condition.status_node.map(Node::value) {
        None | Some(Value::Null) => (format!("condition {title} has no status"), word.to_owned()),
        Some(Value::Text("")) => (
            format!("condition {title} has an empty status"),
            format!("{word}; kstatus takes an empty Ready for healthy, others take it for Unknown"),
        ),
        Some(Value::Bool(truth)) => {
            let quoted = if truth { "True" } else { "False" };
            let message = format!("the status of condition {title} is a boolean, not the string \"{quoted}\"");
            (message, format!("quote it: status: \"{quoted}\""))
        }
        Some(Value::Text(text)) => {
            let shown: String = text.chars().take(40).collect();
            (format!("the status of condition {title} is `{shown}`"), word.to_owned())
        }
        Some(_) => {
            let what = condition.status_node.map_or("", Node::describe);
            (format!("the status of condition {title} is {what}, not a string"), word.to_owned())
        }
    };
    // Knative lets an omitted status stand for Unknown (KN3), although its own library does not read it so.
    let omitted = condition.status_node.is_none_or(|node| node.is_null() || node.as_text() == Some(""));
    if out.profile == Profile::Knative && omitted {
        severity = Severity::Warning;
    }
    let refs = "GW2, KN6, KN3, G2";
    out.report(
        list,
        Some(condition),
        Finding {
            code: "SC002",
            severity,
            field: "status",
            node: condition.status_node,
            message,
            help: help.into(),
            refs,
        },
    );
}

/// The longest type the schema admits.
const LONGEST_TYPE: usize = 316;

/// SC003: the type is there and has the published form.
pub(crate) fn kind(list: &List<'_, '_>, condition: &Condition<'_>, out: &mut Out<'_, '_>) {
    let name = condition.name;
    if name.len() <= LONGEST_TYPE && pattern::is_type(name) {
        return;
    }
    let number = condition.index + 1;
    let message = match condition.type_node {
        None => format!("condition number {number} has no type"),
        Some(node) if node.is_null() || (name.is_empty() && node.as_text().is_some()) => {
            format!("condition number {number} has an empty type")
        }
        Some(node) if node.as_text().is_none() => {
            format!("the type of condition number {number} is {}, not a string", node.describe())
        }
        Some(_) if name.len() > LONGEST_TYPE => {
            format!("the type of condition number {number} has {} bytes; {LONGEST_TYPE} are allowed", name.len())
        }
        Some(_) => format!("`{name}` is not a condition type"),
    };
    out.report(
        list,
        Some(condition),
        Finding {
            code: "SC003",
            severity: Severity::Error,
            field: "type",
            node: condition.type_node,
            message,
            help: "use one PascalCase word such as Ready, with a domain in front if it is your own: example.com/Warm"
                .into(),
            refs: "KN4, A16, metav1 schema",
        },
    );
}
