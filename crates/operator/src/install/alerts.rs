//! When somebody should look: the alerts, in the form that Prometheus reads.
//!
//! Names and metrics are those of OpenShift's cluster-version operator where it has them, so that dashboards and runbooks fit.
//! Only the leading replica reports on objects; expressions take the largest value, whoever reports it. Every alert about an
//! object keeps its `kind` and `name`, so that add-ons do not collide with the cluster or with each other.

use serde_json::{Value, json};

use super::NAME;

/// The content of a rule file, which is also the spec of a PrometheusRule.
pub fn rules() -> Value {
    json!({"groups": [{"name": NAME, "rules": [
        alert(
            "ClearwayOperatorDown",
            &format!("absent(up{{job=\"{NAME}\"}} == 1)"),
            Some("10m"),
            "critical",
            "No replica of the Clearway operator is running.",
            "Recommendations in the ClusterVersion are no longer updated, and no update is applied.",
        ),
        alert(
            "CannotRetrieveUpdates",
            &format!(
                "max by (namespace, kind, name) ((time() - cluster_version_operator_update_retrieval_timestamp_seconds) >= 3600 \
                 and ignoring (condition, reason) {})",
                conditions("RetrievedUpdates", ",reason!=\"NoChannel\"")
            ),
            None,
            "warning",
            "The update service has not answered for an hour.",
            "Recommendations are {{ $value | humanizeDuration }} old. The condition RetrievedUpdates of {{ $labels.kind }} {{ $labels.name }} says why.",
        ),
        alert(
            "CannotEvaluateConditionalUpdates",
            "max by (namespace, kind, name, version, condition, status, reason) \
             ((time() - cluster_version_conditional_update_condition_seconds{condition=\"Recommended\",status=\"Unknown\"}) >= 3600)",
            None,
            "warning",
            "Whether an update is recommended has been unknown for an hour.",
            "The risks of the update of {{ $labels.kind }} {{ $labels.name }} to {{ $labels.version }} cannot be evaluated ({{ $labels.reason }}), so it is not recommended. \
             Its condition Recommended in status.conditionalUpdates says what fails.",
        ),
        alert(
            "UpdateAvailable",
            "max by (namespace, kind, name, channel, upstream) (cluster_version_available_updates) > 0",
            None,
            "info",
            "There are recommended updates.",
            "{{ $value }} updates of {{ $labels.kind }} {{ $labels.name }} are recommended in the channel {{ $labels.channel }}. \
             `clearway upgrade` lists them.",
        ),
        alert(
            "ClusterReleaseNotAccepted",
            &format!("max by (namespace, kind, name, reason) ({} == 0)", conditions("ReleaseAccepted", "")),
            Some("60m"),
            "warning",
            "The requested update has not been accepted for an hour.",
            "The condition ReleaseAccepted of {{ $labels.kind }} {{ $labels.name }} ({{ $labels.reason }}) says why, and what to do.",
        ),
        alert(
            "ClusterVersionFailing",
            &format!("max by (namespace, kind, name, reason) ({} == 1)", conditions("Failing", "")),
            Some("30m"),
            "warning",
            "The desired release cannot be applied.",
            "The condition Failing of {{ $labels.kind }} {{ $labels.name }} ({{ $labels.reason }}) says what fails.",
        ),
        alert(
            "ClusterNotUpgradeable",
            &format!("max by (namespace, kind, name, reason) ({} == 0)", conditions("Upgradeable", "")),
            Some("60m"),
            "info",
            "Updates to another minor version are not safe.",
            "The condition Upgradeable of {{ $labels.kind }} {{ $labels.name }} ({{ $labels.reason }}) says what. Patch updates are not affected.",
        ),
    ]}]})
}

/// The series of a condition, of the ClusterVersion and of every ComponentVersion. Others use the same metric, so the job
/// is named.
fn conditions(condition: &str, more: &str) -> String {
    format!("cluster_operator_conditions{{job=\"{NAME}\",condition=\"{condition}\"{more}}}")
}

fn alert(name: &str, expr: &str, r#for: Option<&str>, severity: &str, summary: &str, description: &str) -> Value {
    let mut rule = json!({
        "alert": name,
        "expr": expr,
        "labels": {"severity": severity},
        "annotations": {"summary": summary, "description": description},
    });
    if let Some(r#for) = r#for {
        rule["for"] = r#for.into();
    }
    rule
}
