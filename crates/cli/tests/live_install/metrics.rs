//! Who may read the operator's metrics, decided by a real API server.

use clearway_testbed::{Cluster, IN_TIME, http, wait_until};
use serde_json::json;

use super::identities::{free_port, operator};
use super::{bare, create, run};

const NAMESPACE: &str = "clearway";

/// The status of `GET /metrics` with a token.
async fn scrape(port: u16, token: Option<&str>) -> u16 {
    let authorization = token.map(|token| format!("Bearer {token}"));
    let headers: Vec<(&str, &str)> = authorization.iter().map(|value| ("Authorization", value.as_str())).collect();
    let answer = http::get_with(port, "/metrics", &headers).await.unwrap();
    let shown = answer.body.contains("cluster_version");
    assert_eq!(shown, answer.status == 200, "{}", answer.body);
    answer.status
}

/// The token of a new service account.
async fn scraper(cluster: &Cluster, name: &str) -> String {
    let admin = cluster.client().await.unwrap();
    create(&admin, json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}}), Some(NAMESPACE))
        .await;
    cluster.token_for_service_account(NAMESPACE, name).await.unwrap()
}

#[tokio::test]
async fn metrics_are_for_tokens_with_the_right_and_probes_for_everybody() {
    let Some((cluster, admin)) = bare().await else { return };
    let directory = tempfile::tempdir().unwrap();
    assert_eq!(run(cluster.kubeconfig(), "install --metrics authenticated --adopt 1.0.0").code, 0);
    let (allowed, other) = (scraper(&cluster, "prometheus").await, scraper(&cluster, "other").await);
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "scrape"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "clearway-metrics-reader"},
        "subjects": [{"kind": "ServiceAccount", "name": "prometheus", "namespace": NAMESPACE}],
    });
    create(&admin, binding, None).await;
    let (probes, metrics) = (free_port(), free_port());
    let (probes_listen, metrics_listen) = (format!("127.0.0.1:{probes}"), format!("127.0.0.1:{metrics}"));
    let arguments = [
        "--evidence-as",
        "clearway-evidence-reader",
        "--status-listen",
        &probes_listen,
        "--metrics-listen",
        &metrics_listen,
        "--metrics-authentication",
    ];
    let _operator = operator(&cluster, directory.path().join("operator.log"), &arguments).await;
    wait_until(IN_TIME, "the operator reports on the ClusterVersion", async || {
        let headers = [("Authorization", format!("Bearer {allowed}"))];
        let headers = headers.each_ref().map(|(name, value)| (*name, value.as_str()));
        http::get_with(metrics, "/metrics", &headers).await.is_ok_and(|answer| answer.body.contains("cluster_version"))
    })
    .await
    .unwrap();
    assert_eq!(scrape(metrics, Some(&allowed)).await, 200);
    assert_eq!(scrape(metrics, None).await, 401);
    assert_eq!(scrape(metrics, Some("made-up")).await, 401);
    assert_eq!(scrape(metrics, Some(&other)).await, 403);
    assert_eq!(http::get(probes, "/livez").await.unwrap().status, 200);
    assert_eq!(http::get(probes, "/readyz").await.unwrap().status, 200);
    assert_eq!(http::get(probes, "/metrics").await.unwrap().status, 404, "not beside the probes");
    assert_eq!(http::get(metrics, "/livez").await.unwrap().status, 404);
}

#[tokio::test]
async fn without_the_right_to_ask_nobody_is_let_in() {
    let Some((cluster, _)) = bare().await else { return };
    let directory = tempfile::tempdir().unwrap();
    assert_eq!(run(cluster.kubeconfig(), "install --adopt 1.0.0").code, 0);
    let port = free_port();
    let listen = format!("127.0.0.1:{port}");
    let arguments = ["--status-listen", &listen, "--metrics-authentication"];
    let operator = operator(&cluster, directory.path().join("operator.log"), &arguments).await;
    wait_until(IN_TIME, "the operator answers", async || http::get(port, "/livez").await.is_ok()).await.unwrap();
    assert_eq!(scrape(port, Some(cluster.admin_token())).await, 503);
    assert!(operator.log().contains("not allowed to create tokenreviews"), "{}", operator.log());
}
