//! Enforcement actions, settings of Gatekeeper, statuses, and what cannot be read.

use clearway_testbed::{IN_TIME, wait_until};
use serde_json::{Value, json};

use super::lab::{CONSTRAINTS, Lab, REQUIRED_LABEL, config_map, constraint, run_as};

/// The totals of an audit in JSON, by name of the constraint.
fn totals(out: &str) -> Vec<(String, u64)> {
    let data: Value = serde_json::from_str(out).unwrap_or_else(|error| panic!("{error}: {out}"));
    let constraints = data["constraints"].as_array().unwrap().iter();
    constraints
        .map(|one| (one["name"].as_str().unwrap().to_owned(), one["totalViolations"].as_u64().unwrap()))
        .collect()
}

fn scoped(point: &str) -> Value {
    json!({
        "enforcementAction": "scoped",
        "scopedEnforcementActions": [{"action": "deny", "enforcementPoints": [{"name": point}]}],
    })
}

#[tokio::test]
async fn every_action_is_audited_and_written_as_gatekeeper_does() {
    let Some(lab) = Lab::start().await else { return };
    // Without templates there is nothing to audit.
    let (code, out, err) = lab.run(&["policy", "audit"]);
    assert_eq!(code, 0, "{out}{err}");
    lab.create_template("RequiredLabel", REQUIRED_LABEL).await;
    let kind = "RequiredLabel";
    lab.create(constraint(kind, "denies", &json!({}))).await;
    lab.create(constraint(kind, "warns", &json!({"enforcementAction": "warn"}))).await;
    lab.create(constraint(kind, "records", &json!({"enforcementAction": "dryrun"}))).await;
    lab.create(constraint(kind, "unknown", &json!({"enforcementAction": "shout"}))).await;
    lab.create(constraint(kind, "scoped", &scoped("audit.gatekeeper.sh"))).await;
    lab.create(constraint(kind, "elsewhere", &scoped("validation.gatekeeper.sh"))).await;
    for namespace in ["shop", "shop-test", "gatekeeper-system"] {
        lab.create_namespace(namespace).await;
    }
    lab.create(config_map("shop", "bad", &json!({}))).await;
    lab.create(config_map("shop", "good", &json!({"owner": "ann"}))).await;
    lab.create(config_map("shop-test", "excluded", &json!({}))).await;
    lab.create(json!({
        "apiVersion": "config.gatekeeper.sh/v1alpha1", "kind": "Config",
        "metadata": {"name": "config", "namespace": "gatekeeper-system"},
        "spec": {"match": [{"processes": ["audit"], "excludedNamespaces": ["*-test"]}]},
    }))
    .await;
    // What another controller wrote stays.
    let reported = json!({"status": {"byPod": [{"id": "pod-1"}], "violations": [{"name": "old"}]}});
    lab.api(CONSTRAINTS, kind, None)
        .patch_status("denies", &kube::api::PatchParams::default(), &kube::api::Patch::Merge(&reported))
        .await
        .unwrap();

    let (code, out, err) = lab.run(&["policy", "audit", "-o", "json", "--write-status"]);
    assert_eq!(code, 1, "{out}{err}");
    assert!(err.contains("RequiredLabel/unknown") && err.contains("it is not enforced"), "{err}");
    let expected = [("denies", 1), ("elsewhere", 0), ("records", 1), ("scoped", 1), ("unknown", 0), ("warns", 1)];
    let expected: Vec<(String, u64)> = expected.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect();
    assert_eq!(totals(&out), expected, "{err}");

    let status = lab.status(kind, "denies").await;
    assert_eq!(status["byPod"], json!([{"id": "pod-1"}]), "{status}");
    assert_eq!(status["totalViolations"], json!(1));
    assert!(status["auditTimestamp"].as_str().is_some_and(|time| time.ends_with('Z')), "{status}");
    assert_eq!(
        status["violations"],
        json!([{
            "group": "", "version": "v1", "kind": "ConfigMap", "name": "bad", "namespace": "shop",
            "message": "label owner is missing", "enforcementAction": "deny",
        }])
    );
    let scoped = lab.status(kind, "scoped").await;
    assert_eq!(scoped["violations"][0]["enforcementAction"], "scoped");
    assert_eq!(scoped["violations"][0]["enforcementActions"], json!(["deny"]));
    let unknown = lab.status(kind, "unknown").await;
    assert_eq!((&unknown["totalViolations"], unknown.get("violations")), (&json!(0), None));

    // Once nothing denies, what warns is reported and does not fail.
    for name in ["denies", "scoped"] {
        lab.api(CONSTRAINTS, kind, None).delete(name, &kube::api::DeleteParams::default()).await.unwrap();
    }
    let (code, out, err) = lab.run(&["policy", "audit"]);
    assert_eq!(code, 0, "{out}{err}");
    assert!(out.contains("RequiredLabel/warns (warn):\n  ConfigMap shop/bad: label owner is missing"), "{out}");

    // Where Gatekeeper itself is, its statuses are its own.
    lab.create(json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "gatekeeper-validating-webhook-configuration"}, "webhooks": [],
    }))
    .await;
    let (code, out, err) = lab.run(&["policy", "audit", "--write-status"]);
    assert_eq!(code, 3, "{out}{err}");
    assert!(err.contains("Gatekeeper is installed in this cluster") && err.contains("--write-status"), "{err}");
    assert_eq!(lab.run(&["policy", "audit"]).0, 0);
}

#[tokio::test]
async fn the_inventory_is_what_is_synced_and_what_cannot_be_read_is_named() {
    let Some(lab) = Lab::start().await else { return };
    let unique = r#"package uniqueowner
violation[{"msg": msg}] {
    owner := input.review.object.metadata.labels.owner
    other := data.inventory.namespace[namespace]["v1"]["ConfigMap"][name]
    other.metadata.labels.owner == owner
    other.metadata.name != input.review.object.metadata.name
    msg := sprintf("%v/%v has the same owner", [namespace, name])
}"#;
    lab.create_template("UniqueOwner", unique).await;
    lab.create(constraint("UniqueOwner", "unique", &json!({}))).await;
    lab.create_template("RequiredLabel", REQUIRED_LABEL).await;
    let services = json!({"match": {"kinds": [{"apiGroups": [""], "kinds": ["Service"]}]}});
    lab.create(constraint("RequiredLabel", "services", &services)).await;
    lab.create_namespace("shop").await;
    let own = lab.api("v1", "Service", Some("default"));
    wait_until(IN_TIME, "the API server has its Service", async || own.get_opt("kubernetes").await.unwrap().is_some())
        .await
        .unwrap();
    lab.create(config_map("shop", "one", &json!({"owner": "ann"}))).await;
    lab.create(config_map("shop", "two", &json!({"owner": "ann"}))).await;
    let (code, out, err) = lab.run(&["policy", "audit", "-o", "json"]);
    assert!(err.contains("uniqueowner uses data.inventory, but no Config or SyncSet names a kind"), "{err}");
    // The Service of the API server itself has no owner.
    assert_eq!((code, totals(&out)), (1, vec![("services".to_owned(), 1), ("unique".to_owned(), 0)]), "{err}");
    lab.create(json!({
        "apiVersion": "syncset.gatekeeper.sh/v1alpha1", "kind": "SyncSet", "metadata": {"name": "config-maps"},
        "spec": {"gvks": [{"group": "", "version": "v1", "kind": "ConfigMap"}]},
    }))
    .await;
    let (code, out, err) = lab.run(&["policy", "audit", "-o", "json"]);
    assert_eq!((code, totals(&out)), (1, vec![("services".to_owned(), 1), ("unique".to_owned(), 2)]), "{err}");

    // A user who may not list Services gets the results about everything else, and no status is written that would
    // say more than is known.
    let rule = |groups: &[&str], resources: &[&str]| json!({"apiGroups": groups, "resources": resources, "verbs": ["get", "list", "update"]});
    lab.create(json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "auditor"},
        "rules": [
            rule(&[""], &["configmaps", "namespaces"]),
            rule(&["templates.gatekeeper.sh", "config.gatekeeper.sh", "syncset.gatekeeper.sh", "expansion.gatekeeper.sh"], &["*"]),
            rule(&["constraints.gatekeeper.sh"], &["*", "*/status"]),
            rule(&["admissionregistration.k8s.io"], &["validatingwebhookconfigurations"]),
            rule(&["apps"], &["deployments"]),
        ],
    }))
    .await;
    lab.create(json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "auditor"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "auditor"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "auditor"}],
    }))
    .await;
    let kubeconfig = lab.cluster.kubeconfig_for("auditor", None).unwrap();
    let (code, out, err) = run_as(&kubeconfig, &["policy", "audit", "-o", "json", "--write-status"]);
    assert_eq!((code, totals(&out)), (1, vec![("services".to_owned(), 0), ("unique".to_owned(), 2)]), "{err}");
    assert!(err.contains("not evaluated: Service: not allowed to list services"), "{err}");
    assert!(err.contains("the status of RequiredLabel/services is not written"), "{err}");
    assert_eq!(lab.status("UniqueOwner", "unique").await["totalViolations"], 2);
    assert_eq!(lab.status("RequiredLabel", "services").await, Value::Null);

    // With nothing that denies, what is not known decides.
    lab.api(CONSTRAINTS, "UniqueOwner", None).delete("unique", &kube::api::DeleteParams::default()).await.unwrap();
    let (code, out, err) = run_as(&kubeconfig, &["policy", "audit"]);
    assert_eq!(code, 2, "{out}{err}");
}
