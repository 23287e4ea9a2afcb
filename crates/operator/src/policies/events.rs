//! Events about violations, as Gatekeeper writes them with `--emit-audit-events` and `--emit-admission-events`.
//!
//! They are in the namespace of the operator, name the object and the constraint, and have the keys of the log lines as
//! annotations. Neither audits nor requests wait for them: what does not fit into a bounded queue is dropped and counted in the
//! log. The same violation is one Event with a count.

use clearway_core::{Digest, GroupVersionKind, Timestamp};
use clearway_policy::audit::SemanticLine;
use clearway_sources::kubernetes::{Cluster, ClusterError, Part, Resource};
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;

/// Events that wait to be written.
const QUEUE: usize = 1_000;
/// The most bytes of a message, which the API server takes.
const MESSAGE_BYTES: usize = 1_024;
/// Keys of log lines that are no annotations of Events.
const NOT_ANNOTATED: [&str; 6] =
    ["audit_id", "constraint_annotations", "details", "hookType", "resource_labels", "semantic"];

/// What an Event is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Occasion {
    /// An audit found it.
    Audit,
    /// A request was denied.
    Denied,
    /// A request was admitted with a warning.
    Warned,
    /// A request was admitted, and the violation recorded.
    Dryrun,
}

impl Occasion {
    /// The occasion of a request, by an action of the constraint; nothing for an action without effect.
    pub(super) fn of_action(action: &str) -> Option<Self> {
        match action {
            "deny" => Some(Occasion::Denied),
            "warn" => Some(Occasion::Warned),
            "dryrun" => Some(Occasion::Dryrun),
            _ => None,
        }
    }

    fn reason(self) -> &'static str {
        match self {
            Occasion::Audit => "AuditViolation",
            Occasion::Denied => "FailedAdmission",
            Occasion::Warned => "WarningAdmission",
            Occasion::Dryrun => "DryrunViolation",
        }
    }

    /// What the message begins with.
    fn beginning(self) -> &'static str {
        match self {
            Occasion::Audit => "",
            Occasion::Denied => "Admission webhook \"validation.gatekeeper.sh\" denied request, ",
            Occasion::Warned => "Admission webhook \"validation.gatekeeper.sh\" raised a warning for this request, ",
            Occasion::Dryrun => "Dryrun violation, ",
        }
    }

    fn component(self) -> &'static str {
        if self == Occasion::Audit { "gatekeeper-audit" } else { "gatekeeper-webhook" }
    }
}

/// Writes Events, one after the other; cheap to clone.
#[derive(Debug, Clone)]
pub struct EventRecorder {
    namespace: String,
    clock: fn() -> Timestamp,
    queue: mpsc::Sender<Value>,
}

impl EventRecorder {
    /// A recorder that writes into a namespace until it and its clones are dropped.
    pub(super) fn start(cluster: Cluster, namespace: String, clock: fn() -> Timestamp) -> Self {
        let (queue, waiting) = mpsc::channel(QUEUE);
        tokio::spawn(write_all(cluster, waiting));
        EventRecorder { namespace, clock, queue }
    }

    /// Records a violation, of which there is the log line. `message` is that of the template.
    pub(super) fn record(&self, occasion: Occasion, message: &str, line: &SemanticLine) {
        let event = event(&self.namespace, (self.clock)(), occasion, message, line);
        if self.queue.try_send(event).is_err() {
            tracing::debug!("an Event about a violation is not written: too many are waiting");
        }
    }
}

fn event(namespace: &str, now: Timestamp, occasion: Occasion, message: &str, line: &SemanticLine) -> Value {
    let text = |key: &str| line.fields.get(key).and_then(Value::as_str).unwrap_or_default();
    let (kind, name, place) = (text("resource_kind"), text("resource_name"), text("resource_namespace"));
    let constraint = text("constraint_name");
    let beginning = occasion.beginning();
    let message = format!("{beginning}Resource Namespace: {place}, Constraint: {constraint}, Message: {message}");
    let end = message.floor_char_boundary(MESSAGE_BYTES);
    let message = message.get(..end).unwrap_or_default();
    // The object is in another namespace than the Event, so a text stands for its UID.
    let uid = [kind, place, name, text("constraint_kind"), text("constraint_namespace"), constraint].join("/");
    let mut annotations = Map::new();
    for (key, value) in line.fields.iter().filter(|(key, _)| !NOT_ANNOTATED.contains(&key.as_str())) {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        annotations.insert(key.clone(), Value::String(value));
    }
    if let Some(audit) = line.fields.get("audit_id") {
        annotations.insert("auditTimestamp".to_owned(), audit.clone());
    }
    let reason = occasion.reason();
    let hash = Digest::sha256([&uid, reason, message].join("\0").as_bytes()).hex().to_owned();
    let hash: String = hash.chars().take(24).collect();
    json!({
        "apiVersion": "v1", "kind": "Event",
        "metadata": {
            "name": format!("{}.{hash}", reason.to_lowercase()), "namespace": namespace, "annotations": annotations,
        },
        "involvedObject": {"kind": kind, "name": name, "namespace": namespace, "uid": uid},
        "type": "Warning", "reason": reason, "message": message, "source": {"component": occasion.component()},
        "firstTimestamp": now.to_string(), "lastTimestamp": now.to_string(), "count": 1,
    })
}

async fn write_all(cluster: Cluster, mut waiting: mpsc::Receiver<Value>) {
    let events = Resource::new(GroupVersionKind::new("v1", "Event"), "events", true);
    while let Some(event) = waiting.recv().await {
        if let Err(error) = write(&cluster, &events, &event).await {
            tracing::warn!(%error, "failed to record an event");
        }
    }
}

/// Creates an Event, or counts one that is there.
async fn write(cluster: &Cluster, events: &Resource, event: &Value) -> Result<(), ClusterError> {
    match cluster.create(events, event).await {
        Err(ClusterError::Conflict { .. }) => {}
        created => return created.map(drop),
    }
    let text = |field: &str| event["metadata"][field].as_str().unwrap_or_default();
    let (namespace, name) = (text("namespace"), text("name"));
    let count = match cluster.get(events, namespace, name).await {
        Ok(known) => known["count"].as_u64().unwrap_or(1).saturating_add(1),
        // It was removed meanwhile; the next violation makes a new one.
        Err(ClusterError::NotFound { .. }) => return Ok(()),
        Err(error) => return Err(error),
    };
    let patch = json!({
        "count": count, "lastTimestamp": event["lastTimestamp"],
        "metadata": {"annotations": event["metadata"]["annotations"]},
    });
    cluster.patch(events, (namespace, name), Part::Main, &patch).await.map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line() -> SemanticLine {
        SemanticLine::new("violation_audited", "audit", "no owner")
            .with("audit_id", json!("2026-01-01T00:00:00Z"))
            .with("details", json!({"missing": ["owner"]}))
            .with("constraint_kind", json!("K8sRequiredLabels"))
            .with("constraint_name", json!("owner"))
            .with("constraint_namespace", json!(""))
            .with("constraint_enforcement_actions", json!(["deny"]))
            .with("resource_kind", json!("Pod"))
            .with("resource_namespace", json!("shop"))
            .with("resource_name", json!("web"))
            .with("resource_labels", json!({"a": "b"}))
    }

    /// P6: the form is Gatekeeper's.
    #[test]
    fn an_event_of_an_audit_has_the_reason_message_and_annotations_of_gatekeeper() {
        let event = event("clearway", Timestamp::EPOCH, Occasion::Audit, "no owner", &line());
        assert_eq!(event["reason"], "AuditViolation");
        assert_eq!(event["message"], "Resource Namespace: shop, Constraint: owner, Message: no owner");
        assert_eq!((&event["type"], &event["source"]["component"]), (&json!("Warning"), &json!("gatekeeper-audit")));
        let uid = "Pod/shop/web/K8sRequiredLabels//owner";
        let involved = json!({"kind": "Pod", "name": "web", "namespace": "clearway", "uid": uid});
        assert_eq!(event["involvedObject"], involved);
        assert_eq!(
            event["metadata"]["annotations"],
            json!({
                "auditTimestamp": "2026-01-01T00:00:00Z", "constraint_enforcement_actions": "[\"deny\"]",
                "constraint_kind": "K8sRequiredLabels", "constraint_name": "owner", "constraint_namespace": "",
                "event_type": "violation_audited", "process": "audit", "resource_kind": "Pod",
                "resource_name": "web", "resource_namespace": "shop",
            })
        );
    }

    #[test]
    fn events_of_requests_say_what_became_of_them() {
        for (action, reason, beginning) in [
            ("deny", "FailedAdmission", "Admission webhook \"validation.gatekeeper.sh\" denied request, Resource"),
            (
                "warn",
                "WarningAdmission",
                "Admission webhook \"validation.gatekeeper.sh\" raised a warning for this request, Resource",
            ),
            ("dryrun", "DryrunViolation", "Dryrun violation, Resource"),
        ] {
            let occasion = Occasion::of_action(action).unwrap();
            let event = event("clearway", Timestamp::EPOCH, occasion, &"ä".repeat(2_000), &line());
            assert_eq!(
                (&event["reason"], &event["source"]["component"]),
                (&json!(reason), &json!("gatekeeper-webhook"))
            );
            let message = event["message"].as_str().unwrap();
            assert!(message.starts_with(beginning) && message.len() <= MESSAGE_BYTES, "{message}");
        }
        assert_eq!(Occasion::of_action("shout"), None);
    }
}
