//! Templates become CRDs, constraints are loaded, and statuses say what became of them.

use clearway_testbed::{IN_TIME, wait_until};
use serde_json::{Value, json};

use super::lab::{CONSTRAINTS, Lab, REQUIRED_LABELS, TEMPLATES, by_pod, constraint, template};

const KIND: &str = "K8sRequiredLabels";
const TEMPLATE: (&str, &str, &str) = (TEMPLATES, "ConstraintTemplate", "k8srequiredlabels");
const OWNER: (&str, &str, &str) = (CONSTRAINTS, KIND, "owner");

#[tokio::test]
async fn constraints_can_follow_their_template_at_once_and_statuses_are_by_pod() {
    let Some(lab) = Lab::start().await else { return };
    let (one, other) = (lab.operator("pod-a", &[]), lab.operator("pod-b", &[]));
    for operator in [&one, &other] {
        operator.wait_ready().await;
    }
    lab.create_template(KIND, REQUIRED_LABELS).await;
    lab.create_constraint(constraint(KIND, "owner", "deny")).await;
    let has_both = |object: &Value| ["pod-a", "pod-b"].iter().all(|pod| !by_pod(object, pod).is_null());
    let template = lab.wait("both pods report the template", TEMPLATE, has_both).await;
    let uid = &template["metadata"]["uid"];
    assert_eq!(template["status"]["created"], true);
    let entry =
        |id: &str| json!({"id": id, "templateUID": uid, "observedGeneration": 1, "operations": ["audit", "status"]});
    assert_eq!(template["status"]["byPod"], json!([entry("pod-a"), entry("pod-b")]), "sorted by id");
    let owner = lab.wait("both pods report the constraint", OWNER, has_both).await;
    let uid = &owner["metadata"]["uid"];
    let entry = |id: &str| {
        json!({
            "id": id, "constraintUID": uid, "enforced": true, "observedGeneration": 1, "operations": ["audit", "status"],
        })
    };
    assert_eq!(owner["status"]["byPod"], json!([entry("pod-a"), entry("pod-b")]));
    let crd =
        lab.get("apiextensions.k8s.io/v1", "CustomResourceDefinition", "k8srequiredlabels.constraints.gatekeeper.sh");
    let crd = crd.await;
    assert_eq!(crd["metadata"]["labels"]["gatekeeper.sh/constraint"], "yes");
    assert_eq!(crd["metadata"]["ownerReferences"][0]["name"], "k8srequiredlabels");
    assert_eq!(one.lines("template_created").len(), 1);
    assert_eq!(other.lines("constraint_added")[0]["constraint_name"], "owner");

    // Settings have statuses by pod as well.
    for (api_version, kind, namespace, spec) in [
        ("config.gatekeeper.sh/v1alpha1", "Config", Some("gatekeeper-system"), json!({"match": []})),
        ("syncset.gatekeeper.sh/v1alpha1", "SyncSet", None, json!({"gvks": []})),
        (
            "expansion.gatekeeper.sh/v1alpha1",
            "ExpansionTemplate",
            None,
            json!({
                "applyTo": [{"groups": ["apps"], "versions": ["v1"], "kinds": ["Deployment"]}],
                "templateSource": "spec.template", "generatedGVK": {"group": "", "version": "v1", "kind": "Pod"},
            }),
        ),
    ] {
        let metadata = json!({"name": "config", "namespace": namespace});
        lab.create(json!({"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec})).await;
        let api = lab.api(api_version, kind, namespace);
        let object = async || serde_json::to_value(api.get("config").await.unwrap()).unwrap();
        wait_until(IN_TIME, &format!("both pods report the {kind}"), async || has_both(&object().await)).await.unwrap();
        let object = object().await;
        let uid = &object["metadata"]["uid"];
        let mut entry = json!({"id": "pod-a", "observedGeneration": 1, "operations": ["audit", "status"]});
        match kind {
            "Config" => entry["configUID"] = uid.clone(),
            "ExpansionTemplate" => entry["templateUID"] = uid.clone(),
            _ => drop(entry.as_object_mut().unwrap().remove("operations")),
        }
        assert_eq!(*by_pod(&object, "pod-a"), entry, "{kind}");
    }

    // What changes nothing writes nothing: the last change is about a template of its own, and is waited for.
    let version = async |(api_version, kind, name): (&str, &str, &str)| {
        lab.get(api_version, kind, name).await["metadata"]["resourceVersion"].clone()
    };
    let before = [version(TEMPLATE).await, version(OWNER).await];
    lab.create_namespace("unrelated").await;
    lab.create_template("Another", REQUIRED_LABELS).await;
    lab.wait("both report the last template", (TEMPLATES, "ConstraintTemplate", "another"), has_both).await;
    assert_eq!([version(TEMPLATE).await, version(OWNER).await], before);

    // An entry that somebody removes is written again; other fields of the status stay.
    lab.patch(CONSTRAINTS, KIND, "owner", json!({"status": {"byPod": [], "totalViolations": 7}})).await;
    let owner = lab.wait("both report again", OWNER, has_both).await;
    assert_eq!(owner["status"]["totalViolations"], 7);

    // A constraint that is deleted is not loaded any more.
    lab.delete(CONSTRAINTS, KIND, None, "owner").await;
    wait_until(IN_TIME, "the constraint is removed", async || !one.lines("constraint_removed").is_empty())
        .await
        .unwrap();
}

#[tokio::test]
async fn the_last_good_version_of_a_template_stays_active() {
    let Some(lab) = Lab::start().await else { return };
    lab.create_config_map("without", json!({})).await;
    let operator = lab.operator("pod", &["--audit-interval", "1s"]);
    lab.create_template(KIND, REQUIRED_LABELS).await;
    lab.create_constraint(constraint(KIND, "owner", "deny")).await;
    let found = |object: &Value| object["status"]["totalViolations"] == 1;
    let owner = lab.wait("the audit finds the violation", OWNER, found).await;
    let audited = owner["status"]["auditTimestamp"].clone();

    let broken = json!({"spec": {"targets": [{
        "target": "admission.k8s.gatekeeper.sh", "rego": "package required\nviolation[{\"msg\": msg}] { msg := }",
    }]}});
    lab.patch(TEMPLATES, "ConstraintTemplate", "k8srequiredlabels", broken).await;
    let template = lab
        .wait("the error is reported", TEMPLATE, |object| by_pod(object, "pod")["errors"][0]["code"] == "ingest_error");
    let template = template.await;
    let error = &by_pod(&template, "pod")["errors"][0];
    assert!(error["message"].as_str().unwrap().starts_with("Could not ingest Rego: "), "{error}");
    assert_eq!(by_pod(&template, "pod")["observedGeneration"], 2);
    assert_eq!(template["status"]["created"], true, "it does not go back");
    assert_eq!(operator.lines("template_ingest_error")[0]["template_name"], "k8srequiredlabels");
    lab.wait("another audit finds the violation", OWNER, |object| {
        object["status"]["auditTimestamp"] != audited && found(object)
    })
    .await;

    // Corrected with another rule: that one is used.
    let corrected = REQUIRED_LABELS.replace("is missing", "has to be there");
    let corrected = json!({"spec": {"targets": [{"target": "admission.k8s.gatekeeper.sh", "rego": corrected}]}});
    lab.patch(TEMPLATES, "ConstraintTemplate", "k8srequiredlabels", corrected).await;
    lab.wait("the new rule is used", OWNER, |object| {
        object["status"]["violations"][0]["message"] == "label owner has to be there"
    })
    .await;
    let template = lab.wait("no error is left", TEMPLATE, |object| by_pod(object, "pod").get("errors").is_none()).await;
    assert_eq!(by_pod(&template, "pod")["observedGeneration"], 3);
}

#[tokio::test]
async fn a_constraint_without_a_template_says_so_until_the_template_comes() {
    let Some(lab) = Lab::start().await else { return };
    // The CRD of a template that is gone: nothing collects garbage here.
    let operator = lab.operator("pod", &[]);
    lab.create_template(KIND, REQUIRED_LABELS).await;
    lab.create_constraint(constraint(KIND, "owner", "deny")).await;
    let enforced = |object: &Value| by_pod(object, "pod")["enforced"] == true;
    lab.wait("the constraint is enforced", OWNER, enforced).await;
    lab.delete(TEMPLATES, "ConstraintTemplate", None, "k8srequiredlabels").await;
    let owner =
        lab.wait("it is not enforced any more", OWNER, |object| by_pod(object, "pod")["enforced"] == false).await;
    let message = by_pod(&owner, "pod")["errors"][0]["message"].as_str().unwrap().to_owned();
    assert!(message.contains("missing ConstraintTemplate"), "{message}");
    drop(operator);

    // The same for one that starts now; entries of pods that are gone are removed.
    let operator = lab.operator("next", &["--lease-duration", "3s"]);
    operator.wait_ready().await;
    let owner = lab.wait("the new pod reports it", OWNER, |object| {
        by_pod(object, "next")["enforced"] == false && by_pod(object, "pod").is_null()
    });
    assert_eq!(owner.await["status"]["byPod"].as_array().unwrap().len(), 1);
    lab.create(template(KIND, REQUIRED_LABELS)).await;
    lab.wait("it is enforced again", OWNER, |object| by_pod(object, "next")["enforced"] == true).await;
    assert!(!operator.said().contains("not allowed"), "{}", operator.said());
}

#[tokio::test]
async fn templates_of_all_versions_and_constraints_with_wrong_parameters() {
    let Some(lab) = Lab::start().await else { return };
    let operator = lab.operator("pod", &[]);
    let mut old = template("Old", REQUIRED_LABELS);
    (old["apiVersion"], old["spec"]["crd"]["spec"]["validation"]) =
        (json!("templates.gatekeeper.sh/v1beta1"), Value::Null);
    lab.create(old).await;
    // Its schema is legacy by default, so that any parameter is accepted.
    let mut lenient = constraint("Old", "lenient", "dryrun");
    lenient["spec"]["parameters"] = json!({"labels": ["owner"], "more": {"a": 1}});
    lab.create_constraint(lenient).await;
    let lenient = (CONSTRAINTS, "Old", "lenient");
    lab.wait("it is enforced", lenient, |object| by_pod(object, "pod")["enforced"] == true).await;
    assert_eq!(lab.get(CONSTRAINTS, "Old", "lenient").await["spec"]["parameters"]["more"]["a"], 1);

    // A template that is no template: one clear error, and the others go on.
    let mut wrong = template("Wrong", REQUIRED_LABELS);
    wrong["spec"]["targets"][0]["target"] = json!("elsewhere");
    lab.create(wrong).await;
    let wrong = (TEMPLATES, "ConstraintTemplate", "wrong");
    let wrong = lab.wait("the error is reported", wrong, |object| !by_pod(object, "pod")["errors"].is_null()).await;
    assert_eq!(wrong["status"]["created"], false);
    assert!(wrong["status"]["byPod"][0]["errors"][0]["message"].as_str().unwrap().contains("target"), "{wrong}");

    // The new schema of a template refuses a constraint that it has accepted before.
    lab.create_template(KIND, REQUIRED_LABELS).await;
    lab.create_constraint(constraint(KIND, "owner", "deny")).await;
    lab.wait("it is enforced", OWNER, |object| by_pod(object, "pod")["enforced"] == true).await;
    let path = json!({"spec": {"crd": {"spec": {"validation": {"openAPIV3Schema": {
        "type": "object", "properties": {"labels": {"type": "array", "items": {"type": "string"}, "minItems": 2}},
    }}}}}});
    lab.patch(TEMPLATES, "ConstraintTemplate", "k8srequiredlabels", path).await;
    let owner = lab.wait("it is refused", OWNER, |object| by_pod(object, "pod")["enforced"] == false).await;
    assert!(by_pod(&owner, "pod")["errors"][0]["message"].as_str().unwrap().contains("schema validation failed"));
    assert!(!operator.said().contains("not allowed"), "{}", operator.said());
}
