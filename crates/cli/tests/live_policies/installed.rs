//! What `install --policies` brings, and what its account may not do.

use kube::Client;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use serde_json::{Value, json};

use super::lab::{CONSTRAINTS, Lab, NAME, REQUIRED_LABELS, TEMPLATES, by_pod, constraint};

#[tokio::test]
async fn the_rights_of_the_installation_are_no_more_than_needed() {
    let Some(mut lab) = Lab::start().await else { return };
    let deployments = lab.api("apps/v1", "Deployment", Some("clearway"));
    let deployment = serde_json::to_value(deployments.get(NAME).await.unwrap()).unwrap();
    let pod = &deployment["spec"]["template"]["spec"];
    assert_eq!((&deployment["spec"]["replicas"], &pod["serviceAccountName"]), (&json!(2), &json!(NAME)));
    assert!(pod["containers"][0]["args"].as_array().unwrap().contains(&json!("--policies")));
    assert!(!pod["containers"][0]["resources"]["limits"]["memory"].is_null());

    // That it is enough is shown by every other test here: the operator has no other account.
    let operator = lab.operator("pod", &[]);
    lab.create_template("K8sRequiredLabels", REQUIRED_LABELS).await;
    lab.create_constraint(constraint("K8sRequiredLabels", "owner", "deny")).await;
    let owner = (CONSTRAINTS, "K8sRequiredLabels", "owner");
    lab.wait("it is enforced", owner, |object| by_pod(object, "pod")["enforced"] == true).await;
    drop(operator);

    let admin = lab.client.clone();
    let config = Kubeconfig::read_from(lab.kubeconfig()).unwrap();
    let config = kube::Config::from_custom_kubeconfig(config, &KubeConfigOptions::default()).await.unwrap();
    lab.client = Client::try_from(config).unwrap();
    let is_forbidden = |error: &kube::Error| matches!(error, kube::Error::Api(status) if status.code == 403);
    let label = Patch::Merge(json!({"metadata": {"labels": {"a": "b"}}}));
    let parameters = PatchParams::default();
    for (api_version, kind, namespace, name) in [
        (TEMPLATES, "ConstraintTemplate", None, "k8srequiredlabels"),
        (CONSTRAINTS, "K8sRequiredLabels", None, "owner"),
        ("v1", "Namespace", None, "shop"),
        ("rbac.authorization.k8s.io/v1", "ClusterRole", None, NAME),
        ("apps/v1", "Deployment", Some("clearway"), NAME),
    ] {
        let api = lab.api(api_version, kind, namespace);
        assert!(is_forbidden(&api.patch(name, &parameters, &label).await.unwrap_err()), "{kind}");
        assert!(is_forbidden(&api.delete(name, &DeleteParams::default()).await.unwrap_err()), "{kind}");
    }
    let crds = lab.api("apiextensions.k8s.io/v1", "CustomResourceDefinition", None);
    let deleted = crds.delete("k8srequiredlabels.constraints.gatekeeper.sh", &DeleteParams::default()).await;
    assert!(is_forbidden(&deleted.unwrap_err()), "constraints are not deleted by deleting their CRD");
    let pods = lab.api("v1", "Pod", Some("clearway"));
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"},
        "spec": {"containers": [{"name": "x", "image": "x"}]},
    });
    let pod = serde_json::from_value(pod).unwrap();
    assert!(is_forbidden(&pods.create(&PostParams::default(), &pod).await.unwrap_err()));
    lab.client = admin;
}

#[tokio::test]
async fn an_installation_keeps_its_options_and_leaves_crds_of_others_alone() {
    let Some(lab) = Lab::start().await else { return };
    let (code, out, err) = lab.run(&["install", "--policies", "--audit-interval", "5m", "-o", "json"]);
    assert_eq!(code, 0, "{out}{err}");
    let (code, out, err) = lab.run(&["install", "-o", "json"]);
    assert_eq!(code, 0, "{out}{err}");
    let report: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(report["settings"]["kept"], json!(["audit-interval", "image", "policies"]), "{out}");
    let exists = async |kind: &str, api_version: &str, namespace: Option<&str>, name: &str| {
        let found = lab.api(api_version, kind, namespace).get_opt(name).await.unwrap();
        found.is_some_and(|object| object.metadata.deletion_timestamp.is_none())
    };
    let left = async || {
        [
            exists("Deployment", "apps/v1", Some("clearway"), NAME).await,
            exists("ClusterRole", "rbac.authorization.k8s.io/v1", None, NAME).await,
            exists("CustomResourceDefinition", "apiextensions.k8s.io/v1", None, "configs.config.gatekeeper.sh").await,
        ]
    };
    assert_eq!(left().await, [true; 3]);
    let (code, out, err) = lab.run(&["install", "--unset", "policies"]);
    assert_eq!((code, left().await), (0, [false, false, true]), "policies of users stay: {out}{err}");

    // CRDs that somebody else brought, such as Gatekeeper, are theirs.
    let crds = lab.api("apiextensions.k8s.io/v1", "CustomResourceDefinition", None);
    let patch = Patch::Merge(json!({"metadata": {"labels": {"app.kubernetes.io/managed-by": "Helm"}}}));
    crds.patch("configs.config.gatekeeper.sh", &PatchParams::default(), &patch).await.unwrap();
    let (code, out, err) = lab.run(&["install", "--policies"]);
    assert_eq!(code, 0, "{out}{err}");
    assert!(
        out.lines().any(|line| line.contains("configs.config.gatekeeper.sh") && line.contains("left alone")),
        "{out}"
    );
    let (code, out, err) = lab.run(&["uninstall", "--delete-crds"]);
    assert_eq!((code, left().await), (0, [false, false, true]), "{out}{err}");
    assert!(
        !exists("CustomResourceDefinition", "apiextensions.k8s.io/v1", None, "syncsets.syncset.gatekeeper.sh").await
    );
}
