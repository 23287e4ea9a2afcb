//! Audits: statuses, log lines and metrics, while namespaces go and the API server restarts.

use std::collections::BTreeSet;

use clearway_testbed::{IN_TIME, wait_until};
use serde_json::{Value, json};

use super::lab::{CONSTRAINTS, Lab, REQUIRED_LABELS, by_pod, constraint};

const KIND: &str = "K8sRequiredLabels";

#[tokio::test]
async fn audits_report_deny_warn_and_dryrun_and_ignore_unknown_actions() {
    let Some(lab) = Lab::start().await else { return };
    for (name, labels) in [("a", json!({})), ("b", json!({})), ("c", json!({"owner": "x"}))] {
        lab.create_config_map(name, labels).await;
    }
    // A group whose server is not there.
    lab.create(json!({
        "apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": {"name": "v1.away.example.com"},
        "spec": {
            "group": "away.example.com", "version": "v1", "groupPriorityMinimum": 1000, "versionPriority": 15,
            "insecureSkipTLSVerify": true, "service": {"namespace": "default", "name": "nobody"},
        },
    }))
    .await;
    let more = [
        "--audit-interval",
        "2s",
        "--constraint-violations-limit",
        "1",
        "--audit-chunk-size",
        "1",
        "--emit-audit-events",
    ];
    let operator = lab.operator("pod", &more);
    lab.create_template(KIND, REQUIRED_LABELS).await;
    let mut away = constraint(KIND, "away", "dryrun");
    away["spec"]["match"] = json!({"kinds": [{"apiGroups": ["away.example.com"], "kinds": ["Thing"]}]});
    lab.create_constraint(away).await;
    for action in ["deny", "warn", "dryrun", "shout"] {
        lab.create_constraint(constraint(KIND, action, action)).await;
    }
    for action in ["deny", "warn", "dryrun"] {
        let audited = (CONSTRAINTS, KIND, action);
        let object = lab.wait("the constraint was audited", audited, |object| object["status"]["totalViolations"] == 2);
        let object = object.await;
        // The smallest ones by namespace and name are listed, and only as many as wanted.
        assert_eq!(
            object["status"]["violations"],
            json!([{
                "group": "", "version": "v1", "kind": "ConfigMap", "name": "a", "namespace": "shop",
                "message": "label owner is missing", "enforcementAction": action,
            }])
        );
        assert_eq!(by_pod(&object, "pod")["enforced"], true);
    }
    let unknown = (CONSTRAINTS, KIND, "shout");
    let unknown = lab.wait("the unknown action is reported", unknown, |object| {
        by_pod(object, "pod")["enforced"] == false && object["status"]["totalViolations"] == 0
    });
    let unknown = unknown.await;
    let message = by_pod(&unknown, "pod")["errors"][0]["message"].as_str().unwrap().to_owned();
    assert!(message.starts_with("could not validate enforcement actions: unrecognized enforcementAction"), "{message}");
    assert_eq!(unknown["status"].get("violations"), None);

    // A constraint about kinds that are not known keeps its status.
    operator.wait_for("the server of the group away.example.com does not answer").await;
    assert_eq!(lab.get(CONSTRAINTS, KIND, "away").await["status"].get("auditTimestamp"), None);

    // Each violation is an Event, which is counted when it is found again.
    let events = async || lab.violation_events("AuditViolation").await;
    wait_until(IN_TIME, "all violations are Events that were found twice", async || {
        let events = events().await;
        events.len() == 6 && events.iter().all(|event| event["count"].as_u64() >= Some(2))
    })
    .await
    .unwrap();
    let events = events().await;
    let message = "Resource Namespace: shop, Constraint: deny, Message: label owner is missing";
    let event = events.iter().find(|one| one["message"] == message && one["involvedObject"]["name"] == "a").unwrap();
    assert_eq!((&event["type"], &event["source"]["component"]), (&json!("Warning"), &json!("gatekeeper-audit")));
    assert_eq!(event["involvedObject"]["uid"], "ConfigMap/shop/a/K8sRequiredLabels//deny");
    assert_eq!(event["metadata"]["annotations"]["constraint_action"], "deny");

    // P6: one line of each event, with its keys.
    wait_until(IN_TIME, "an audit finished", async || !operator.lines("constraint_audited").is_empty()).await.unwrap();
    wait_until(IN_TIME, "an audit finished", async || !operator.lines("audit_finished").is_empty()).await.unwrap();
    let keys = |line: &Value| -> BTreeSet<String> { line.as_object().unwrap().keys().cloned().collect() };
    let wanted = |words: &str| -> BTreeSet<String> {
        "level ts logger msg event_type process semantic audit_id "
            .split(' ')
            .chain(words.split(' '))
            .filter(|word| !word.is_empty())
            .map(str::to_owned)
            .collect()
    };
    let started = &operator.lines("audit_started")[0];
    assert_eq!((keys(started), &started["process"]), (wanted(""), &json!("audit")));
    assert!(started["ts"].is_f64() && started["level"] == "info" && started["logger"] == "controller", "{started}");
    assert_eq!(keys(&operator.lines("audit_finished")[0]), wanted("duration"));
    let violation = &operator.lines("violation_audited")[0];
    assert_eq!(
        keys(violation),
        wanted(
            "details constraint_group constraint_api_version constraint_kind constraint_name constraint_namespace \
             constraint_action constraint_enforcement_actions constraint_annotations resource_group resource_api_version \
             resource_kind resource_namespace resource_name resource_labels"
        )
    );
    assert_eq!(violation["msg"], "label owner is missing");
    assert_eq!(violation["details"], json!({"missing": "owner"}));
    let audited = operator.lines("constraint_audited");
    assert_eq!(
        keys(&audited[0]),
        wanted(
            "constraint_group constraint_api_version constraint_kind constraint_name constraint_namespace constraint_action \
             constraint_status constraint_violations"
        )
    );
    let last = audited.iter().rfind(|line| line["constraint_name"] == "deny").unwrap();
    assert_eq!((&last["constraint_violations"], &last["constraint_status"]), (&json!("2"), &json!("enforced")));
    assert!(audited.iter().all(|line| line["constraint_name"] != "shout"));

    let wanted = [
        "gatekeeper_violations{enforcement_action=\"deny\"} 2",
        "gatekeeper_violations{enforcement_action=\"unrecognized\"} 0",
        "gatekeeper_constraints{enforcement_action=\"deny\",status=\"active\"} 1",
        "gatekeeper_constraints{enforcement_action=\"unrecognized\",status=\"error\"} 1",
        "gatekeeper_constraint_templates{status=\"active\"} 1",
        "clearway_policies_leader 1",
    ];
    wait_until(IN_TIME, "metrics say the same", async || {
        let (_, text) = operator.ask("/metrics").await;
        wanted.iter().all(|line| text.lines().any(|one| one == *line))
    })
    .await
    .unwrap();
    assert!(!operator.said().contains("not allowed"), "{}", operator.said());

    // A ConfigMap that is corrected is not listed any more.
    let patch = kube::api::Patch::Merge(json!({"metadata": {"labels": {"owner": "y"}}}));
    for name in ["a", "b"] {
        let maps = lab.api("v1", "ConfigMap", Some("shop"));
        maps.patch(name, &kube::api::PatchParams::default(), &patch).await.unwrap();
    }
    let deny =
        lab.wait("nothing is left", (CONSTRAINTS, KIND, "deny"), |object| object["status"]["totalViolations"] == 0);
    assert_eq!(deny.await["status"].get("violations"), None);
}

#[tokio::test]
async fn an_audit_survives_a_namespace_that_is_deleted_and_an_api_server_that_restarts() {
    let Some(lab) = Lab::start().await else { return };
    for number in 0..200 {
        lab.create_config_map(&format!("map-{number}"), json!({})).await;
    }
    lab.create_namespace("passing").await;
    let operator = lab.operator("pod", &["--audit-interval", "1s", "--audit-chunk-size", "5"]);
    lab.create_template(KIND, REQUIRED_LABELS).await;
    let mut everywhere = constraint(KIND, "owner", "dryrun");
    everywhere["spec"]["match"] = json!({"kinds": [{"apiGroups": [""], "kinds": ["ConfigMap"]}]});
    lab.create_constraint(everywhere).await;
    let owner = (CONSTRAINTS, KIND, "owner");
    let all = |object: &Value| object["status"]["totalViolations"].as_u64().is_some_and(|total| total >= 200);
    lab.wait("the objects were audited", owner, all).await;

    // During an audit: its start is in the log, and its end is not.
    let is_auditing = async || {
        let said = operator.said();
        said.matches("\"audit_started\"").count() > said.matches("\"audit_finished\"").count()
    };
    wait_until(IN_TIME, "an audit is under way", is_auditing).await.unwrap();
    lab.delete("v1", "Namespace", None, "passing").await;
    lab.cluster.apiserver().restart().await.unwrap();
    let before = operator.lines("audit_started").last().unwrap()["audit_id"].clone();
    let object = lab.wait("a later audit is complete", owner, |object| {
        all(object) && object["status"]["auditTimestamp"].as_str() > before.as_str()
    });
    assert_eq!(object.await["status"]["violations"].as_array().unwrap().len(), 20);
}
