//! SC004, SC006, SC012, SC019 and SC020: what a condition says about why.

use clearway_core::Severity;
use clearway_yaml::{Node, Value};

use crate::lint::Profile;
use crate::lint::conventions::{pattern, table};
use crate::lint::out::{Finding, List, Out};
use crate::lint::view::condition::Condition;
use crate::{ConditionSeverity, Status};

const LONGEST_REASON: usize = 1_024;
const LONGEST_MESSAGE: usize = 32_768;
const READABLE_MESSAGE: usize = 1_024;
const READABLE_LINES: usize = 20;

/// SC004 and SC019: the reason is there, has the published form, and is a category.
pub(crate) fn reason(list: &List<'_, '_>, condition: &Condition<'_>, out: &mut Out<'_, '_>) {
    if out.profile == Profile::Native {
        return;
    }
    let reason = condition.reason;
    if reason.is_empty() {
        missing_reason(list, condition, out);
    } else if reason.len() > LONGEST_REASON || !pattern::is_reason(reason) {
        let shown: String = reason.chars().take(60).collect();
        let message = if reason.len() > LONGEST_REASON {
            format!("the reason of condition {} has {} bytes", condition.title(), reason.len())
        } else {
            format!("the reason of condition {} is not one word: `{shown}`", condition.title())
        };
        let help =
            format!("use one CamelCase word of at most {LONGEST_REASON} bytes, and put sentences into `message`");
        let node = condition.reason_node;
        let refs = "A12, GW3, KN7";
        let severity = Severity::Error;
        let finding = Finding { code: "SC004", severity, field: "reason", node, message, help: help.into(), refs };
        out.report(list, Some(condition), finding);
    } else {
        category(list, condition, out);
    }
}

fn missing_reason(list: &List<'_, '_>, condition: &Condition<'_>, out: &mut Out<'_, '_>) {
    let absent = condition.reason_node.is_none();
    let wrong_type = condition.reason_node.filter(|node| !node.is_null() && node.as_text().is_none());
    let severity = match out.profile {
        _ if wrong_type.is_some() => Severity::Error,
        // A True or Unknown condition may do without (KN20).
        Profile::Knative if condition.status != Some(Status::False) => return,
        // The schema has it optional, the documentation wants it even when all is well.
        Profile::Openshift => Severity::Info,
        // `metav1.Condition` always writes the key, so a kind without it has a type of its own, which may allow that.
        Profile::Metav1 if absent && !out.declared => Severity::Warning,
        _ => Severity::Error,
    };
    let message = match wrong_type {
        Some(node) => format!("the reason of condition {} is {}, not a string", condition.title(), node.describe()),
        None => format!("condition {} has no reason", condition.title()),
    };
    out.report(
        list,
        Some(condition),
        Finding {
            code: "SC004",
            severity,
            field: "reason",
            node: condition.reason_node,
            message,
            help: "say why in one CamelCase word; an API server that checks it rejects the whole status write".into(),
            refs: "A12, GW3, KN20, K5",
        },
    );
}

/// SC019: the reason reads as a category.
fn category(list: &List<'_, '_>, condition: &Condition<'_>, out: &mut Out<'_, '_>) {
    let reason = condition.reason;
    let (message, help, refs) = if pattern::has_identifier(reason) {
        let message = format!("the reason of condition {} contains an identifier: `{reason}`", condition.title());
        let help = "keep the reason a fixed category and put identifiers into `message`: it becomes a metric label";
        (message, help, "A20")
    } else if !is_camel(out.profile, reason) {
        let message = format!("the reason of condition {} is not CamelCase: `{reason}`", condition.title());
        (message, "write it as one CamelCase word", "A12, GW3")
    } else if reason == condition.message {
        let message = format!("the reason and the message of condition {} are the same", condition.title());
        (message, "keep the reason a category and say in the message what happened to this object", "A20")
    } else {
        if out.profile == Profile::Gateway {
            listed_reason(list, condition, out);
        }
        return;
    };
    let (code, field, node, severity) = ("SC019", "reason", condition.reason_node, Severity::Warning);
    out.report(list, Some(condition), Finding { code, severity, field, node, message, help: help.into(), refs });
}

/// Whether a reason is one CamelCase word. `OpenShift` joins the reasons of several parts with `_` and `::`.
fn is_camel(profile: Profile, reason: &str) -> bool {
    let joined = profile == Profile::Openshift;
    reason.as_bytes().first().is_some_and(u8::is_ascii_uppercase)
        && reason.bytes().all(|byte| byte.is_ascii_alphanumeric() || (joined && matches!(byte, b'_' | b':' | b',')))
}

/// GW22: Gateway API lists the reasons of its own types; others are allowed, and no tool knows them.
fn listed_reason(list: &List<'_, '_>, condition: &Condition<'_>, out: &mut Out<'_, '_>) {
    let kind = out.object.kind();
    let (Some(status), Some(listed)) = (condition.status, table::listed(kind, list.site, condition.name)) else {
        return;
    };
    let reasons = listed.reasons(status);
    if reasons.is_empty() || reasons.contains(&condition.reason) {
        return;
    }
    let (title, reason) = (condition.title(), condition.reason);
    let (severity, message, help) = match table::reason_replacement(reason) {
        Some(instead) => (
            Severity::Warning,
            format!("the reason `{reason}` of condition {title} is deprecated"),
            format!("write `{instead}`"),
        ),
        None => (
            Severity::Info,
            format!("`{reason}` is not among the reasons Gateway API lists for {title} being {status}"),
            format!("prefer {}", reasons.join(", ")),
        ),
    };
    let (code, field, node, refs) = ("SC019", "reason", condition.reason_node, "GW22, G8");
    out.report(list, Some(condition), Finding { code, severity, field, node, message, help: help.into(), refs });
}

/// SC006: the message can be stored and read.
pub(crate) fn message(list: &List<'_, '_>, condition: &Condition<'_>, out: &mut Out<'_, '_>) {
    let text = condition.message;
    let (severity, message, help) = if text.len() > LONGEST_MESSAGE {
        let message = format!("the message of condition {} has {} bytes", condition.title(), text.len());
        let help =
            format!("cut it at a character below {LONGEST_MESSAGE} bytes, or the API server refuses the whole status");
        (Severity::Error, message, help)
    } else if text.is_empty() {
        let Some((message, help)) = no_text(condition, out) else { return };
        (Severity::Warning, message, help)
    } else if out.profile == Profile::Native {
        return;
    } else if text.contains('\u{fffd}') {
        let message = format!("the message of condition {} contains a broken character", condition.title());
        (Severity::Warning, message, "cut long messages between characters, not between bytes".to_owned())
    } else if text.len() > READABLE_MESSAGE {
        let message = format!("the message of condition {} has {} bytes", condition.title(), text.len());
        (Severity::Warning, message, "name the first few cases and count the others; put details elsewhere".to_owned())
    } else if text.len() > READABLE_LINES && text.bytes().filter(|byte| *byte == b'\n').count() >= READABLE_LINES {
        let message = format!("the message of condition {} has more than {READABLE_LINES} lines", condition.title());
        (Severity::Warning, message, "name the first few cases and count the others; put details elsewhere".to_owned())
    } else {
        return;
    };
    let (code, field, node, refs) = ("SC006", "message", condition.message_node, "A14, A22");
    out.report(list, Some(condition), Finding { code, severity, field, node, message, help: help.into(), refs });
}

/// What is wrong with a message that has no text, if anything is.
fn no_text(condition: &Condition<'_>, out: &Out<'_, '_>) -> Option<(String, String)> {
    let help = "always write the key, with an empty string if there is no message".to_owned();
    match condition.message_node.map(Node::value) {
        Some(Value::Text(_)) => None,
        None | Some(Value::Null) => {
            let wanted = matches!(out.profile, Profile::Gateway | Profile::Kstatus | Profile::Metav1) && out.declared;
            wanted.then(|| (format!("condition {} has no message key", condition.title()), help))
        }
        Some(_) => {
            let what = condition.message_node.map_or("", Node::describe);
            Some((
                format!("the message of condition {} is {what}, not a string", condition.title()),
                "quote it".to_owned(),
            ))
        }
    }
}

/// SC012: `severity` has its words, and only where the convention has the field.
pub(crate) fn severity(list: &List<'_, '_>, condition: &Condition<'_>, out: &mut Out<'_, '_>) {
    let Some(node) = condition.severity_node else { return };
    let (message, help, refs) = match out.profile {
        Profile::Native => return,
        Profile::Knative => match node.value() {
            Value::Null => return,
            Value::Text(text) => match ConditionSeverity::exact(text) {
                None => {
                    let shown: String = text.chars().take(40).collect();
                    let help = if text == "Error" {
                        r#"leave it out or write "", which means an error"#
                    } else {
                        r#"write "", "Warning" or "Info""#
                    };
                    (format!("the severity of condition {} is `{shown}`", condition.title()), help, "KN8, K2")
                }
                Some(ConditionSeverity::Error) => return,
                Some(other) if matches!(condition.name, "Ready" | "Succeeded") => {
                    let message = format!("the summary {} has the severity {}", condition.title(), other.as_str());
                    (message, r#"the summary has the severity "": leave the field out"#, "KN12, K3")
                }
                Some(_) => return,
            },
            _ => {
                let message =
                    format!("the severity of condition {} is {}, not a string", condition.title(), node.describe());
                (message, r#"write "", "Warning" or "Info""#, "KN8, K2")
            }
        },
        // Cluster API's v1beta1 has the field with words of its own.
        Profile::Metav1 if !out.declared && out.object.group().ends_with("cluster.x-k8s.io") => return,
        profile => {
            let message =
                format!("condition {} has a severity, which the {profile} profile does not have", condition.title());
            let help = "leave it out: typed clients drop it; if the kind follows Knative, choose that profile";
            (message, help, "1d, K2")
        }
    };
    let (code, field, node, severity) = ("SC012", "severity", Some(node), Severity::Warning);
    out.report(list, Some(condition), Finding { code, severity, field, node, message, help: help.into(), refs });
}

/// SC020: trouble and doubt come with a sentence.
pub(crate) fn silence(list: &List<'_, '_>, condition: &Condition<'_>, out: &mut Out<'_, '_>) {
    let Some(status) = condition.status else { return };
    if out.profile == Profile::Native {
        return;
    }
    let kind = out.object.kind();
    let partial = out.profile == Profile::Gateway && condition.says("PartiallyInvalid", Status::True);
    let (message, help) = if condition.message.is_empty() {
        let polarity = table::polarity(out.profile, kind, list.site, condition.name);
        if status != Status::Unknown && polarity.is_none_or(|polarity| polarity.abnormal() != status) {
            return;
        }
        let message = format!("condition {} is {status} and has no message", condition.title());
        (message, "say in one sentence what is wrong with this object, for the person who will read it")
    } else if partial && !["Dropped Rule", "Fall Back"].iter().any(|lead| condition.message.starts_with(lead)) {
        let message = "the message of condition `PartiallyInvalid` does not say what was done".to_owned();
        (message, "begin it with `Dropped Rule` or `Fall Back`")
    } else {
        return;
    };
    let (code, field, node, severity) = ("SC020", "message", condition.message_node, Severity::Warning);
    let refs = if partial { "GW16" } else { "KN19, K5" };
    out.report(list, Some(condition), Finding { code, severity, field, node, message, help: help.into(), refs });
}
