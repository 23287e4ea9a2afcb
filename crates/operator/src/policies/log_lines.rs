//! Semantic log lines: one JSON object per line with the keys and values of Gatekeeper, whatever the format of the log is.
//! Programs read them, so they are API (P6).
//!
//! The lines of audits are made by [`clearway_policy::audit`]. Those about single templates and constraints are written
//! only where the log filter has `debug`, as in Gatekeeper.

use std::fmt;
use std::io::{self, Write};
use std::time::{SystemTime, UNIX_EPOCH};

use clearway_core::terminal_text::escape_json;
use clearway_policy::ObjectKind;
use clearway_policy::audit::SemanticLine;
use serde_json::{Map, Value, json};

/// The level of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineLevel {
    /// Always written.
    Info,
    /// Written if the log filter has `debug`.
    Debug,
}

impl LineLevel {
    fn as_str(self) -> &'static str {
        match self {
            LineLevel::Info => "info",
            LineLevel::Debug => "debug",
        }
    }

    fn is_written(self) -> bool {
        self == LineLevel::Info || tracing::enabled!(tracing::Level::DEBUG)
    }
}

/// The logger of controllers and audits.
pub const CONTROLLER: &str = "controller";
/// The logger of the webhook.
pub const WEBHOOK: &str = "webhook";

/// Writes a line to standard error, where the log is.
pub fn write(level: LineLevel, logger: &str, line: &SemanticLine) {
    if !level.is_written() {
        return;
    }
    let text = render(level, logger, now(), line);
    // In one piece, so that it is not mixed with other lines; a log that cannot be written stops nothing.
    let _ = io::stderr().write_all(text.as_bytes());
}

/// Seconds since 1970.
pub(super) fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}

/// A line with its end. Foreign text in it cannot drive a terminal.
fn render(level: LineLevel, logger: &str, time: f64, line: &SemanticLine) -> String {
    let mut fields = Map::new();
    fields.insert("level".to_owned(), json!(level.as_str()));
    fields.insert("ts".to_owned(), json!(time));
    fields.insert("logger".to_owned(), json!(logger));
    fields.insert("msg".to_owned(), json!(line.message));
    fields.extend(line.fields.clone());
    format!("{}\n", escape_json(&Value::Object(fields).to_string()))
}

/// What happened to a template.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TemplateEvent {
    Created,
    Updated,
    Deleted,
}

impl fmt::Display for TemplateEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TemplateEvent::Created => "created",
            TemplateEvent::Updated => "updated",
            TemplateEvent::Deleted => "deleted",
        })
    }
}

/// The line about a template that was created, updated or deleted.
pub(super) fn template_line(event: TemplateEvent, name: &str) -> SemanticLine {
    let message = format!("template was {event}");
    SemanticLine::new(&format!("template_{event}"), "constraint_template_controller", message)
        .with("template_name", json!(name))
}

/// The line about a template that cannot be loaded. It names no process, as in Gatekeeper.
pub(super) fn ingest_error_line(name: &str) -> SemanticLine {
    let mut line = SemanticLine::new("template_ingest_error", "", "unable to ingest template");
    line.fields.remove("process");
    line.with("template_name", json!(name))
}

/// The line about a constraint that was loaded, or is not loaded any more.
pub(super) fn constraint_line(constraint: &Value, action: &str, is_enforced: bool) -> SemanticLine {
    let (event_type, message, status) = if is_enforced {
        ("constraint_added", "constraint added to OPA", "enforced")
    } else {
        ("constraint_removed", "constraint removed from OPA", "unenforced")
    };
    let ObjectKind { group, version, kind } = ObjectKind::of(constraint);
    SemanticLine::new(event_type, "constraint_controller", message)
        .with("constraint_group", json!(group))
        .with("constraint_api_version", json!(version))
        .with("constraint_kind", json!(kind))
        .with("constraint_name", constraint["metadata"]["name"].clone())
        .with("constraint_action", json!(action))
        .with("constraint_status", json!(status))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn constraint() -> Value {
        json!({
            "apiVersion": "constraints.gatekeeper.sh/v1beta1", "kind": "K8sRequiredLabels",
            "metadata": {"name": "owner"}, "spec": {"enforcementAction": "warn"},
        })
    }

    fn written(level: LineLevel, line: &SemanticLine) -> Value {
        let text = render(level, CONTROLLER, 1_767_312_000.25, line);
        assert!(text.ends_with('\n') && text.lines().count() == 1, "{text}");
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn template_events_have_the_keys_of_gatekeeper() {
        for (event, word) in [
            (TemplateEvent::Created, "created"),
            (TemplateEvent::Updated, "updated"),
            (TemplateEvent::Deleted, "deleted"),
        ] {
            assert_eq!(
                written(LineLevel::Debug, &template_line(event, "k8srequiredlabels")),
                json!({
                    "level": "debug", "ts": 1_767_312_000.25, "logger": "controller",
                    "msg": format!("template was {word}"), "event_type": format!("template_{word}"),
                    "process": "constraint_template_controller", "template_name": "k8srequiredlabels", "semantic": true,
                })
            );
        }
    }

    #[test]
    fn template_ingest_error_has_the_keys_of_gatekeeper() {
        assert_eq!(
            written(LineLevel::Info, &ingest_error_line("broken")),
            json!({
                "level": "info", "ts": 1_767_312_000.25, "logger": "controller", "msg": "unable to ingest template",
                "event_type": "template_ingest_error", "template_name": "broken", "semantic": true,
            })
        );
    }

    #[test]
    fn constraint_added_has_the_keys_of_gatekeeper() {
        assert_eq!(
            written(LineLevel::Debug, &constraint_line(&constraint(), "warn", true)),
            json!({
                "level": "debug", "ts": 1_767_312_000.25, "logger": "controller", "msg": "constraint added to OPA",
                "event_type": "constraint_added", "process": "constraint_controller", "semantic": true,
                "constraint_group": "constraints.gatekeeper.sh", "constraint_api_version": "v1beta1",
                "constraint_kind": "K8sRequiredLabels", "constraint_name": "owner", "constraint_action": "warn",
                "constraint_status": "enforced",
            })
        );
    }

    #[test]
    fn constraint_removed_has_the_keys_of_gatekeeper() {
        assert_eq!(
            written(LineLevel::Debug, &constraint_line(&constraint(), "warn", false)),
            json!({
                "level": "debug", "ts": 1_767_312_000.25, "logger": "controller", "msg": "constraint removed from OPA",
                "event_type": "constraint_removed", "process": "constraint_controller", "semantic": true,
                "constraint_group": "constraints.gatekeeper.sh", "constraint_api_version": "v1beta1",
                "constraint_kind": "K8sRequiredLabels", "constraint_name": "owner", "constraint_action": "warn",
                "constraint_status": "unenforced",
            })
        );
    }

    #[test]
    fn foreign_text_cannot_drive_a_terminal_or_begin_a_line() {
        let line = SemanticLine::new("violation_audited", "audit", "red \u{1b}[31m\n\u{9b}2J \u{202e}");
        let text = render(LineLevel::Info, CONTROLLER, 1.0, &line);
        assert_eq!(text.lines().count(), 1);
        for character in ['\u{1b}', '\u{9b}', '\u{202e}'] {
            assert!(!text.contains(character), "{text:?}");
        }
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap()["msg"], "red \u{1b}[31m\n\u{9b}2J \u{202e}");
    }
}
