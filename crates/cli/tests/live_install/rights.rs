//! What the operator's service account may do, as the API server's own authorizer sees it.

use std::process::{Command, Stdio};
use std::time::Duration;

use clearway_testbed::{Cluster, wait_until};
use kube::api::{Patch, PatchParams};
use kube::{Client, Config};
use serde_json::{Value, json};

use super::{api, bare, create, get, run};

const NAMESPACE: &str = "clearway";

/// A client that is the service account.
async fn account(cluster: &Cluster) -> Client {
    let mut config: Config = cluster.config().await.unwrap();
    config.auth_info = kube::config::AuthInfo {
        token: Some(cluster.token_for_service_account(NAMESPACE, "clearway-operator").await.unwrap().into()),
        ..kube::config::AuthInfo::default()
    };
    Client::try_from(config).unwrap()
}

/// Whether the caller may do this, by asking the authorizer.
async fn may(client: &Client, verb: &str, group: &str, resource: &str, namespace: &str) -> bool {
    let (resource, sub) = resource.split_once('/').unwrap_or((resource, ""));
    let review = json!({
        "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "metadata": {},
        "spec": {"resourceAttributes": {
            "verb": verb, "group": group, "resource": resource, "subresource": sub, "namespace": namespace,
        }},
    });
    let request = http::Request::post("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews");
    let answer: Value = client.request(request.body(review.to_string().into_bytes()).unwrap()).await.unwrap();
    answer["status"]["allowed"] == true
}

#[tokio::test]
async fn the_account_may_do_what_it_needs_and_not_more() {
    let Some((cluster, admin)) = bare().await else { return };
    let here = cluster.kubeconfig();
    assert_eq!(run(here, "install --advice-only --channel experimental --adopt 1.0.0").code, 0);
    let operator = account(&cluster).await;
    let ns = NAMESPACE;
    let (cv, crds) = ("config.openshift.io", "apiextensions.k8s.io");
    for (verb, group, resource, namespace, allowed) in [
        ("watch", cv, "clusterversions", "", true),
        ("patch", cv, "clusterversions/status", "", true),
        ("update", cv, "clusterversions/status", "", true),
        ("patch", cv, "clusterversions", "", false),
        ("delete", cv, "clusterversions", "", false),
        ("create", cv, "clusterversions", "", false),
        ("list", "clearway.dev", "componentversions", "", true),
        ("patch", "clearway.dev", "componentversions/status", "", true),
        ("get", crds, "customresourcedefinitions", "", true),
        ("patch", crds, "customresourcedefinitions", "", false),
        ("create", "", "events", "default", true),
        ("list", "", "events", "default", false),
        ("list", "", "nodes", "", true),
        ("patch", "", "nodes", "", false),
        ("list", "apps", "deployments", "", true),
        ("patch", "apps", "deployments", ns, false),
        ("create", "coordination.k8s.io", "leases", ns, true),
        ("patch", "coordination.k8s.io", "leases", ns, true),
        ("delete", "coordination.k8s.io", "leases", ns, false),
        ("get", "coordination.k8s.io", "leases", "kube-system", false),
        ("patch", "", "configmaps", ns, true),
        ("get", "", "configmaps", "kube-system", false),
        ("get", "", "secrets", ns, false),
        ("list", "", "secrets", "", false),
        ("create", "", "pods/exec", ns, false),
        ("create", "", "serviceaccounts/token", ns, false),
        ("impersonate", "", "users", "", false),
        ("escalate", "rbac.authorization.k8s.io", "clusterroles", "", false),
        ("bind", "rbac.authorization.k8s.io", "clusterroles", "", false),
        ("*", "*", "*", "", false),
    ] {
        let found = may(&operator, verb, group, resource, namespace).await;
        assert_eq!(found, allowed, "{verb} {resource}.{group} in `{namespace}`");
    }

    // And by doing it: the status is written, a Secret is not read.
    let versions = api(&operator, "config.openshift.io/v1", "ClusterVersion", None);
    let status = json!({"status": {"versionHash": "abc"}});
    versions.patch_status("version", &PatchParams::default(), &Patch::Merge(status)).await.unwrap();
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "stringData": {"a": "b"}});
    create(&admin, secret, Some(ns)).await;
    let refused = api(&operator, "v1", "Secret", Some(ns)).get("s").await.unwrap_err().to_string();
    assert!(refused.contains("is forbidden"), "{refused}");

    runs_with_these(&cluster, &admin).await;

    // With the separate role, any object of a release can be applied.
    assert_eq!(run(here, "install --channel experimental").code, 0);
    for (verb, group, resource) in
        [("patch", "apps", "deployments"), ("escalate", "rbac.authorization.k8s.io", "clusterroles")]
    {
        assert!(may(&operator, verb, group, resource, "").await, "{verb} {resource}");
    }
}

/// The operator itself, as this account: it leads, reports, keeps what it knows, and nothing it tries is refused.
async fn runs_with_these(cluster: &Cluster, admin: &Client) {
    let kubeconfig = cluster.kubeconfig_for_service_account(NAMESPACE, "clearway-operator").await.unwrap();
    let mut operator = Command::new(env!("CARGO_BIN_EXE_clearway"))
        .args(["operator", "--advice-only", "--namespace", NAMESPACE, "--status-listen", "127.0.0.1:0", "--kubeconfig"])
        .arg(&kubeconfig)
        .stderr(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let leases = api(admin, "coordination.k8s.io/v1", "Lease", Some(NAMESPACE));
    let seen = wait_until(Duration::from_secs(30), "the operator has reported", async || {
        let version = get(admin, "config.openshift.io/v1", "ClusterVersion", "version").await.unwrap();
        let conditions = version["status"]["conditions"].as_array().cloned().unwrap_or_default();
        let leads = !leases.list(&kube::api::ListParams::default()).await.unwrap().items.is_empty();
        leads && conditions.iter().any(|condition| condition["type"] == "Ready")
    })
    .await;
    operator.kill().unwrap();
    let log = String::from_utf8(operator.wait_with_output().unwrap().stderr).unwrap();
    assert!(seen.is_ok(), "{seen:?}\n{log}");
    assert!(!log.contains("orbidden") && !log.contains("not allowed"), "{log}");
}
