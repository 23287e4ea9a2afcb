//! Where Gatekeeper is installed nothing is written; kinds that are not handled are named.

use serde_json::{Value, json};

use super::lab::{Lab, REQUIRED_LABELS, TEMPLATES, by_pod};

const TEMPLATE: (&str, &str, &str) = (TEMPLATES, "ConstraintTemplate", "k8srequiredlabels");

#[tokio::test]
async fn nothing_is_written_while_gatekeeper_is_installed() {
    let Some(lab) = Lab::start().await else { return };
    let container = json!({"name": "manager", "image": "example.com/gatekeeper"});
    lab.create(json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "gatekeeper-audit", "namespace": "gatekeeper-system"},
        "spec": {
            "selector": {"matchLabels": {"app": "x"}},
            "template": {"metadata": {"labels": {"app": "x"}}, "spec": {"containers": [container]}},
        },
    }))
    .await;
    lab.create_template("K8sRequiredLabels", REQUIRED_LABELS).await;
    let operator = lab.operator("pod", &[]);
    operator
        .wait_for("Gatekeeper is installed in this cluster: Deployment gatekeeper-system/gatekeeper-audit exists")
        .await;
    operator.wait_ready().await;
    let (_, text) = operator.ask("/metrics").await;
    assert!(text.contains("clearway_policies_gatekeeper_present 1"), "{text}");
    assert_eq!(lab.get(TEMPLATES, "ConstraintTemplate", "k8srequiredlabels").await["status"], Value::Null);
    // It takes over once Gatekeeper is gone.
    lab.delete("apps/v1", "Deployment", Some("gatekeeper-system"), "gatekeeper-audit").await;
    lab.wait("the template is loaded", TEMPLATE, |object| !by_pod(object, "pod").is_null()).await;
    // And stops when it comes back.
    lab.create(json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "gatekeeper-validating-webhook-configuration"},
    }))
    .await;
    operator.wait_for("gatekeeper-validating-webhook-configuration exists").await;
    let patch = json!({"status": {"byPod": []}});
    lab.patch(TEMPLATES, "ConstraintTemplate", "k8srequiredlabels", patch).await;
    let (_, text) = operator.ask("/metrics").await;
    assert!(text.contains("clearway_policies_gatekeeper_present 1"), "{text}");
    assert_eq!(lab.get(TEMPLATES, "ConstraintTemplate", "k8srequiredlabels").await["status"]["byPod"], json!([]));
}

#[tokio::test]
async fn kinds_that_are_not_handled_are_reported_once() {
    let Some(lab) = Lab::start().await else { return };
    let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    lab.create(json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "assign.mutations.gatekeeper.sh"},
        "spec": {
            "group": "mutations.gatekeeper.sh", "scope": "Cluster",
            "names": {"plural": "assign", "kind": "Assign", "singular": "assign", "listKind": "AssignList"},
            "versions": [{
                "name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema},
            }],
        },
    }))
    .await;
    let object = json!({"apiVersion": "mutations.gatekeeper.sh/v1", "kind": "Assign", "metadata": {"name": "x"}});
    clearway_testbed::wait_until(clearway_testbed::IN_TIME, "the kind is served", async || {
        let resource = kube::api::ApiResource {
            group: "mutations.gatekeeper.sh".to_owned(),
            version: "v1".to_owned(),
            api_version: "mutations.gatekeeper.sh/v1".to_owned(),
            kind: "Assign".to_owned(),
            plural: "assign".to_owned(),
        };
        let api: kube::Api<kube::api::DynamicObject> = kube::Api::all_with(lab.client.clone(), &resource);
        let object = serde_json::from_value(object.clone()).unwrap();
        api.create(&kube::api::PostParams::default(), &object).await.is_ok()
    })
    .await
    .unwrap();
    let operator = lab.operator("pod", &[]);
    operator.wait_ready().await;
    operator.wait_for("Assign (mutations.gatekeeper.sh) is not handled: objects are not mutated").await;
    assert_eq!(operator.said().matches("is not handled").count(), 1, "{}", operator.said());
}
