//! `clearway assess --product` on a real API server, with old CRDs and objects of the products installed (U16, U19).

use std::fs;
use std::process::{Command, Output};

use clearway_testbed::{IN_TIME, cluster, wait_until};
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, Patch, PatchParams};
use kube::{Api, Client};
use serde_json::{Value, json};

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_clearway")).args(arguments).env_remove("KUBECONFIG").output().unwrap()
}

fn data(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

async fn apply(client: &Client, object: &Value) {
    let (group, version) = object["apiVersion"].as_str().unwrap().split_once('/').unwrap_or(("", "v1"));
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, object["kind"].as_str().unwrap()));
    let api: Api<DynamicObject> = match object["metadata"]["namespace"].as_str() {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
        None => Api::all_with(client.clone(), &resource),
    };
    let name = object["metadata"]["name"].as_str().unwrap();
    let parameters = PatchParams::apply("test").force();
    wait_until(IN_TIME, "the API server takes the object", async || {
        api.patch(name, &parameters, &Patch::Apply(object)).await.is_ok()
    })
    .await
    .unwrap();
}

/// A CRD whose first version is the one that objects are stored in.
fn crd(group: &str, kind: &str, annotations: &Value, versions: &[&str]) -> Value {
    let plural = format!("{}s", kind.to_lowercase());
    let schema = json!({"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}});
    let versions: Vec<Value> = versions
        .iter()
        .enumerate()
        .map(|(at, name)| json!({"name": name, "served": true, "storage": at == 0, "schema": schema}))
        .collect();
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.{group}"), "annotations": annotations},
        "spec": {"group": group, "scope": "Namespaced", "names": {"kind": kind, "plural": plural}, "versions": versions},
    })
}

/// What an old cluster has: a Gateway API bundle whose routes were stored in v1alpha2, a cert-manager with a certificate, and
/// a namespace of Knative Serving.
async fn install(client: &Client) {
    let group = "gateway.networking.k8s.io";
    let annotations = json!({
        "gateway.networking.k8s.io/bundle-version": "v0.8.1", "gateway.networking.k8s.io/channel": "standard",
        "api-approved.kubernetes.io": "unapproved, a test",
    });
    apply(client, &crd(group, "HTTPRoute", &annotations, &["v1alpha2"])).await;
    let route = |name: &str| {
        json!({"apiVersion": "gateway.networking.k8s.io/v1alpha2", "kind": "HTTPRoute",
            "metadata": {"name": name, "namespace": "default"}, "spec": {"rules": []}})
    };
    apply(client, &route("old")).await;
    // The newer bundle stores v1beta1; what is stored already stays as it is, and `storedVersions` says so.
    apply(client, &crd(group, "HTTPRoute", &annotations, &["v1beta1", "v1alpha2"])).await;
    apply(client, &crd(group, "Gateway", &annotations, &["v1beta1"])).await;
    apply(client, &json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "cert-manager"}})).await;
    let pod = json!({
        "metadata": {"labels": {"app": "cert-manager"}},
        "spec": {"containers": [{"name": "c", "image": "quay.io/jetstack/cert-manager-controller:v1.17.2"}]},
    });
    apply(
        client,
        &json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "cert-manager", "namespace": "cert-manager"},
            "spec": {"replicas": 0, "selector": {"matchLabels": {"app": "cert-manager"}}, "template": pod},
        }),
    )
    .await;
    apply(client, &crd("cert-manager.io", "Certificate", &json!({}), &["v1"])).await;
    apply(
        client,
        &json!({"apiVersion": "cert-manager.io/v1", "kind": "Certificate",
            "metadata": {"name": "web", "namespace": "default"}, "spec": {"secretName": "web"}}),
    )
    .await;
    let labels = json!({"app.kubernetes.io/version": "1.22.0"});
    apply(
        client,
        &json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "knative-serving", "labels": labels}}),
    )
    .await;
}

/// The rows of the table: product, installed version, update and recommendation.
fn rows(output: &Output) -> Vec<String> {
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    let rows = text.lines().skip_while(|line| !line.starts_with("PRODUCT")).skip(1).take_while(|line| !line.is_empty());
    rows.map(|line| line.split_whitespace().take(5).collect::<Vec<_>>().join(" ")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn installed_products_are_found_and_their_risks_are_evaluated() {
    let Some(cluster) = cluster().await else { return };
    let client = cluster.client().await.unwrap();
    install(&client).await;
    let kubeconfig = cluster.kubeconfig().display().to_string();
    let live = |more: &[&str]| run(&[&["assess", "--kubeconfig", &kubeconfig], more].concat());

    let all = live(&["--all-products"]);
    assert_eq!(all.status.code(), Some(1), "{all:?}");
    let found = rows(&all);
    for want in [
        "cert-manager 1.17.2 1.18.0 False PrivateKeysRotate",
        "gateway-api 0.8.1 1.0.0 False RoutesStoredAsV1alpha2",
        "istio - - - NotInstalled",
        "knative-serving 1.22.0 1.23.0 True",
        "kubernetes 1.36.3 - - NewestListed",
    ] {
        assert!(found.iter().any(|row| row.starts_with(want)), "{want}: {all:?}");
    }
    let proof = live(&["--product", "gateway-api", "--to", "1.0.0"]);
    let text = String::from_utf8(proof.stdout).unwrap();
    assert!(text.contains("httproutes.gateway.networking.k8s.io true"), "{text}");

    // A snapshot holds what it takes to give the same answers without the cluster.
    let place = tempfile::tempdir().unwrap();
    let snapshot = place.path().join("snapshot").display().to_string();
    let collected =
        run(&["snapshot", "collect", "--all-products", "--kubeconfig", &kubeconfig, "--output-dir", &snapshot]);
    assert_eq!(collected.status.code(), Some(0), "{collected:?}");
    let replayed = run(&["assess", "--all-products", "--snapshot", &snapshot, "--as-of", "snapshot"]);
    assert_eq!((replayed.status.code(), rows(&replayed)), (Some(1), found), "{replayed:?}");
    let redacted = place.path().join("redacted").display().to_string();
    let collect =
        ["snapshot", "collect", "--all-products", "--redact", "--kubeconfig", &kubeconfig, "--output-dir", &redacted];
    assert_eq!(run(&collect).status.code(), Some(0));
    let replayed = run(&["assess", "--product", "istio", "--snapshot", &redacted, "--as-of", "snapshot"]);
    assert_eq!(replayed.status.code(), Some(2), "names were replaced: {replayed:?}");

    // Whoever may not read the objects learns that, and not that nothing is installed.
    let stranger = cluster.kubeconfig_for("stranger", None).unwrap().display().to_string();
    let denied = run(&["assess", "--product", "cert-manager", "--kubeconfig", &stranger]);
    assert_eq!(denied.status.code(), Some(2), "{denied:?}");
    let text = String::from_utf8(denied.stdout).unwrap();
    assert!(text.contains("Deployment.apps objects are unknown: permission denied."), "{text}");
}

/// The API server counts requests for deprecated APIs in the metric, and with the labels, that the rules ask for.
#[tokio::test(flavor = "multi_thread")]
async fn requests_for_removed_apis_are_seen_in_the_metrics_of_the_api_server() {
    let Some(cluster) = cluster().await else { return };
    let client = cluster.client().await.unwrap();
    let get = async |path: &str| {
        let request = http::Request::get(path).body(Vec::new()).unwrap();
        client.request_text(request).await.unwrap()
    };
    get("/api/v1/componentstatuses").await;
    let metrics = get("/metrics").await;
    let deprecated: Vec<&str> =
        metrics.lines().filter(|line| line.starts_with("apiserver_requested_deprecated_apis{")).collect();
    assert!(deprecated.iter().any(|line| line.contains("resource=\"componentstatuses\"")), "{deprecated:?}");
    assert!(deprecated.iter().all(|line| line.contains("removed_release=")), "{deprecated:?}");

    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("metrics.prom").display().to_string();
    let kubeconfig = cluster.kubeconfig().display().to_string();
    let verdict = |metrics: &str| {
        fs::write(&file, metrics).unwrap();
        let arguments = ["--product", "kubernetes", "--version", "1.31.4", "--to", "1.32.0", "-o", "json"];
        let output = run(&[&["assess", "--kubeconfig", &kubeconfig, "--series", &file], arguments.as_slice()].concat());
        let risks = data(&output)["risks"].as_array().unwrap().clone();
        let risk = risks.iter().find(|risk| risk["name"] == "RemovedAPIsInUse1_32").unwrap();
        risk["verdict"].as_str().unwrap().to_owned()
    };
    assert_eq!(verdict(&metrics), "noMatch");
    assert_eq!(verdict(&metrics.replace("removed_release=\"\"", "removed_release=\"1.32\"")), "match");
    assert_eq!(verdict("up 1\n"), "unknown");
}
