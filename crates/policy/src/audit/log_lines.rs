//! The log lines of an audit, whose keys and values are API (P6).

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::{Audit, ConstraintAudit, shorten_message};
use crate::constraint::Constraint;
use crate::policy_set::ReviewResult;
use crate::review::{ObjectKind, metadata};

/// A log line that programs read. Level, time and logger are added by whoever writes it.
#[derive(Debug, Clone, PartialEq)]
pub struct SemanticLine {
    /// The value of `msg`.
    pub message: String,
    /// The other keys, with `event_type` and `semantic`.
    pub fields: Map<String, Value>,
}

impl SemanticLine {
    /// A line about an event of a process, such as `audit`.
    pub fn new(event_type: &str, process: &str, message: impl Into<String>) -> Self {
        let line = SemanticLine { message: message.into(), fields: Map::new() };
        line.with("event_type", json!(event_type)).with("process", json!(process)).with("semantic", json!(true))
    }

    /// The same with another key.
    #[must_use]
    pub fn with(mut self, key: &str, value: Value) -> Self {
        self.fields.insert(key.to_owned(), value);
        self
    }

    fn with_constraint(self, constraint: &Constraint) -> Self {
        let ObjectKind { group, version, kind } = ObjectKind::of(constraint.object());
        self.with("constraint_group", json!(group))
            .with("constraint_api_version", json!(version))
            .with("constraint_kind", json!(kind))
            .with("constraint_name", json!(constraint.name))
            .with("constraint_namespace", json!(metadata(constraint.object(), "namespace")))
    }
}

/// A map of the metadata of an object; null if there is none, as in Go.
fn metadata_map(object: &Value, field: &str) -> Value {
    object.get("metadata").and_then(|metadata| metadata.get(field)).cloned().unwrap_or_default()
}

/// The annotation that `kubectl apply` adds, which may be large and is not a user's.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

impl Audit {
    fn line(&self, event_type: &str, message: impl Into<String>) -> SemanticLine {
        SemanticLine::new(event_type, "audit", message).with("audit_id", json!(self.started.to_string()))
    }

    /// The line at the start.
    pub fn started_line(&self) -> SemanticLine {
        self.line("audit_started", "auditing constraints and violations")
    }

    /// The line at the end.
    pub fn finished_line(&self, duration: Duration) -> SemanticLine {
        self.line("audit_finished", "auditing is complete").with("duration", json!(go_duration(duration)))
    }

    /// The line about a violation; nothing if the audit did not start with its constraint.
    pub fn violation_line(&self, object: &Value, result: &ReviewResult) -> Option<SemanticLine> {
        let constraint = &self.constraint(&result.kind, &result.name)?.constraint;
        let mut annotations = metadata_map(constraint.object(), "annotations");
        if let Some(annotations) = annotations.as_object_mut() {
            annotations.remove(LAST_APPLIED);
        }
        let ObjectKind { group, version, kind } = ObjectKind::of(object);
        let line = self
            .line("violation_audited", shorten_message(&result.message))
            .with("details", result.details.clone().unwrap_or_default())
            .with_constraint(constraint)
            .with("constraint_action", json!(result.action.as_str()))
            .with("constraint_enforcement_actions", json!(result.scoped_actions))
            .with("constraint_annotations", annotations)
            .with("resource_group", json!(group))
            .with("resource_api_version", json!(version))
            .with("resource_kind", json!(kind))
            .with("resource_namespace", json!(metadata(object, "namespace")))
            .with("resource_name", json!(metadata(object, "name")))
            .with("resource_labels", metadata_map(object, "labels"));
        Some(line)
    }

    /// The lines about constraints that have violations, by kind and name.
    pub fn constraint_lines(&self) -> impl Iterator<Item = SemanticLine> {
        let violated = self.constraints().filter(|constraint| constraint.total() > 0);
        violated.map(|audit: &ConstraintAudit| {
            self.line("constraint_audited", "audit results for constraint")
                .with_constraint(&audit.constraint)
                .with("constraint_action", json!(audit.constraint.action.as_str()))
                .with("constraint_status", json!("enforced"))
                .with("constraint_violations", json!(audit.total().to_string()))
        })
    }
}

/// A duration as Go writes it: `1h2m3.5s`, `12.5ms`, `7µs`.
fn go_duration(duration: Duration) -> String {
    let nanos = duration.as_nanos();
    // The fraction, without zeros at its end.
    let with_fraction = |value: u128, unit: u128, digits: usize| {
        let whole = value.checked_div(unit).unwrap_or(0);
        let fraction = value.checked_rem(unit).unwrap_or(0);
        let fraction = format!("{fraction:0digits$}");
        match fraction.trim_end_matches('0') {
            "" => whole.to_string(),
            fraction => format!("{whole}.{fraction}"),
        }
    };
    match nanos {
        0 => "0s".to_owned(),
        1..1_000 => format!("{nanos}ns"),
        1_000..1_000_000 => format!("{}µs", with_fraction(nanos, 1_000, 3)),
        1_000_000..1_000_000_000 => format!("{}ms", with_fraction(nanos, 1_000_000, 6)),
        _ => {
            let minutes = duration.as_secs() / 60;
            let rest = nanos.saturating_sub(u128::from(minutes).saturating_mul(60_000_000_000));
            let seconds = with_fraction(rest, 1_000_000_000, 9);
            match (minutes / 60, minutes % 60) {
                (0, 0) => format!("{seconds}s"),
                (0, minutes) => format!("{minutes}m{seconds}s"),
                (hours, minutes) => format!("{hours}h{minutes}m{seconds}s"),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::go_duration;
    use std::time::Duration;

    #[test]
    fn durations_are_written_as_go_writes_them() {
        let cases = [
            (0, "0s"),
            (7, "7ns"),
            (7_000, "7µs"),
            (1_500, "1.5µs"),
            (12_500_000, "12.5ms"),
            (1_000_000_000, "1s"),
            (1_000_000_001, "1.000000001s"),
            (62_500_000_000, "1m2.5s"),
            (3_600_000_000_000, "1h0m0s"),
            (3_723_000_000_000, "1h2m3s"),
        ];
        for (nanos, expected) in cases {
            assert_eq!(go_duration(Duration::from_nanos(nanos)), expected);
        }
    }
}
