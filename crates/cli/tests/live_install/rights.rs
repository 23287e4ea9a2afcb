//! What the operator's service account may do, as the API server's own authorizer sees it.

use clearway_testbed::Cluster;
use kube::api::{Patch, PatchParams};
use kube::{Client, Config};
use serde_json::{Value, json};

use super::{api, bare, create, run};

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

    // With the separate role, any object of a release can be applied.
    assert_eq!(run(here, "install --channel experimental").code, 0);
    for (verb, group, resource) in
        [("patch", "apps", "deployments"), ("escalate", "rbac.authorization.k8s.io", "clusterroles")]
    {
        assert!(may(&operator, verb, group, resource, "").await, "{verb} {resource}");
    }
}
