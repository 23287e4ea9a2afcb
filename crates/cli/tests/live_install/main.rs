//! `clearway install` and `clearway uninstall` on a real API server, with its own authorizer.

mod again;
mod channels;
mod identities;
mod manifests;
mod metrics;
mod rights;
mod three_forms;
mod update_service;

use std::path::Path;
use std::process::Command;

use clearway_testbed::{Cluster, ClusterOptions, own_cluster};
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, PostParams};
use kube::{Api, Client};
use serde_json::{Value, json};

/// An image that is named by digest, so that nothing is warned about.
const PINNED: &str = "example.com/clearway@sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

/// What a command said.
struct Said {
    code: i32,
    out: String,
    err: String,
}

impl Said {
    /// Kind, name and action of every object, of JSON output.
    fn objects(&self) -> Vec<(String, String, String)> {
        let data: Value =
            serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {} {}", self.out, self.err));
        let text = |object: &Value, key: &str| object[key].as_str().unwrap().to_owned();
        let all = data["objects"].as_array().unwrap().iter();
        all.map(|one| (text(one, "kind"), text(one, "name"), text(one, "action"))).collect()
    }

    /// The actions that occur.
    fn actions(&self) -> Vec<String> {
        let mut actions: Vec<String> = self.objects().into_iter().map(|(_, _, action)| action).collect();
        actions.sort();
        actions.dedup();
        actions
    }

    fn action(&self, kind: &str, name: &str) -> String {
        let found = self.objects().into_iter().find(|(k, n, _)| k == kind && n == name);
        found.unwrap_or_else(|| panic!("no {kind} {name}: {}", self.out)).2
    }
}

fn run(kubeconfig: &Path, line: &str) -> Said {
    let mut command = Command::new(env!("CARGO_BIN_EXE_clearway"));
    let output = command.args(line.split_whitespace()).arg("--kubeconfig").arg(kubeconfig).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Said { code: output.status.code().unwrap(), out: text(output.stdout), err: text(output.stderr) }
}

fn api(client: &Client, api_version: &str, kind: &str, namespace: Option<&str>) -> Api<DynamicObject> {
    let (group, version) = clearway_core::split_api_version(api_version);
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
    match namespace {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
        None => Api::all_with(client.clone(), &resource),
    }
}

async fn get(client: &Client, api_version: &str, kind: &str, name: &str) -> Option<Value> {
    let found = api(client, api_version, kind, None).get_opt(name).await.unwrap();
    found.map(|object| serde_json::to_value(object).unwrap())
}

async fn create(client: &Client, object: Value, namespace: Option<&str>) -> Value {
    let (api_version, kind) = (object["apiVersion"].as_str().unwrap(), object["kind"].as_str().unwrap());
    let api = api(client, api_version, kind, namespace);
    let object = serde_json::from_value(object.clone()).unwrap();
    serde_json::to_value(api.create(&PostParams::default(), &object).await.unwrap()).unwrap()
}

/// The operator's Deployment.
async fn deployment(client: &Client) -> Value {
    let deployment = api(client, "apps/v1", "Deployment", Some("clearway")).get("clearway-operator").await.unwrap();
    serde_json::to_value(deployment).unwrap()
}

async fn bare() -> Option<(Cluster, Client)> {
    let cluster = own_cluster(&ClusterOptions::api_only()).await?;
    let client = cluster.client().await.unwrap();
    Some((cluster, client))
}

/// A CRD of the Prometheus operator, as far as an installer sees it.
fn monitoring_crd(kind: &str, plural: &str) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.monitoring.coreos.com")},
        "spec": {
            "group": "monitoring.coreos.com",
            "names": {"kind": kind, "plural": plural},
            "scope": "Namespaced",
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                "type": "object", "properties": {"spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
            }}}],
        },
    })
}

#[tokio::test]
async fn what_is_installed_twice_is_there_once_and_goes_again() {
    let Some((cluster, client)) = bare().await else { return };
    let here = cluster.kubeconfig();

    let install = &format!("install --image {PINNED} --metrics authenticated --upstream https://u.example");
    let diff = run(here, &format!("{install} --adopt 1.4.2 --diff -o json"));
    assert_eq!((diff.code, diff.err.as_str()), (0, ""), "{}", diff.out);
    assert_eq!(diff.actions(), ["created", "leftAlone"]);
    assert_eq!(get(&client, "v1", "Namespace", "clearway").await, None, "a difference makes nothing");

    let first = run(here, &format!("{install} --adopt 1.4.2 -o json"));
    assert_eq!((first.code, first.err.as_str()), (0, ""), "{}", first.out);
    assert_eq!(first.objects(), diff.objects(), "and says what will be");
    for kind in ["ServiceMonitor", "PrometheusRule"] {
        assert_eq!(first.action(kind, "clearway-operator"), "leftAlone", "no such kind is served");
    }
    assert!(first.out.contains("the cluster does not serve ServiceMonitor"), "{}", first.out);

    let version = get(&client, "config.openshift.io/v1", "ClusterVersion", "version").await.unwrap();
    let id = version["spec"]["clusterID"].as_str().unwrap();
    assert_eq!((id.len(), &id[14..15]), (36, "4"), "{id}");
    assert!("89ab".contains(&id[19..20]), "{id}");
    let status = &version["status"];
    assert_eq!(status["desired"], json!({"version": "1.4.2", "image": ""}));
    assert_eq!(status["availableUpdates"], Value::Null);
    assert!(status.as_object().unwrap().contains_key("availableUpdates"));
    assert_eq!(
        (&status["history"][0]["state"], &status["history"][0]["version"]),
        (&json!("Completed"), &json!("1.4.2"))
    );

    let second = run(here, &format!("{install} --adopt 1.4.2 -o json"));
    assert_eq!(second.actions(), ["leftAlone", "unchanged"], "{}", second.out);
    let again = get(&client, "config.openshift.io/v1", "ClusterVersion", "version").await.unwrap();
    assert_eq!(again["metadata"]["resourceVersion"], version["metadata"]["resourceVersion"]);
    let other = run(here, &format!("{install} --prometheus https://p.example --adopt 1.5.0"));
    assert_eq!(other.code, 3);
    assert!(other.err.contains("the ClusterVersion is already at 1.4.2"), "{}", other.err);
    let arguments = deployment(&client).await["spec"]["template"]["spec"]["containers"][0]["args"].to_string();
    assert!(!arguments.contains("p.example"), "it is refused before anything is changed: {arguments}");

    pods_are_let_in(&client).await;

    for (kind, plural) in [("ServiceMonitor", "servicemonitors"), ("PrometheusRule", "prometheusrules")] {
        create(&client, monitoring_crd(kind, plural), None).await;
    }
    clearway_testbed::wait_until(clearway_testbed::IN_TIME, "the monitoring kinds are applied", async || {
        let said = run(here, &format!("{install} -o json"));
        said.code == 0 && said.action("PrometheusRule", "clearway-operator") != "leftAlone"
    })
    .await
    .unwrap();

    // Metrics on loopback cannot be scraped: what scrapes them and misses them goes.
    let loopback = run(here, "install --metrics loopback -o json");
    for (kind, name) in [
        ("PrometheusRule", "clearway-operator"),
        ("ServiceMonitor", "clearway-operator"),
        ("Service", "clearway-operator"),
        ("ClusterRole", "clearway-metrics-authentication"),
    ] {
        assert_eq!(loopback.action(kind, name), "deleted", "{}", loopback.out);
    }
    assert_eq!(run(here, &format!("{install} --apply-updates --allow-unsigned-releases")).code, 0);
    let gone = run(here, "uninstall -o json");
    assert_eq!((gone.code, gone.err.as_str()), (0, ""), "{}", gone.out);
    assert_eq!(gone.action("Deployment", "clearway-operator"), "deleted");
    assert_eq!(gone.action("CustomResourceDefinition", "clusterversions.config.openshift.io"), "leftAlone");
    for name in ["clearway-operator", "clearway-evidence-reader", "clearway-updater", "clearway-metrics-reader"] {
        assert_eq!(get(&client, "rbac.authorization.k8s.io/v1", "ClusterRole", name).await, None, "{name}");
    }
    assert!(get(&client, "config.openshift.io/v1", "ClusterVersion", "version").await.is_some(), "data stays");
    let all = run(here, "uninstall --delete-crds -o json");
    assert_eq!(all.action("CustomResourceDefinition", "clusterversions.config.openshift.io"), "deleted");
    assert_eq!(all.action("Deployment", "clearway-operator"), "absent");
}

#[tokio::test]
async fn an_operator_without_an_update_service_is_warned_about() {
    let Some((cluster, client)) = bare().await else { return };
    let here = cluster.kubeconfig();
    let warning = "warning: the operator has no update service, so it finds no updates; pass --upstream URL, or set \
                   spec.upstream of the ClusterVersion\n";
    let install = &format!("install --image {PINNED}");
    let printed = run(here, &format!("{install} --dry-run"));
    let made = run(here, &format!("{install} --adopt 1.4.2"));
    assert_eq!((printed.err.as_str(), made.code, made.err.as_str()), (warning, 0, warning));
    let versions = api(&client, "config.openshift.io/v1", "ClusterVersion", None);
    let patch = json!({"spec": {"upstream": "https://u.example"}});
    versions.patch("version", &kube::api::PatchParams::default(), &kube::api::Patch::Merge(patch)).await.unwrap();
    let again = run(here, install);
    assert_eq!((again.code, again.err.contains("update service")), (0, false), "{}", again.err);
    let with_option = run(here, &format!("{install} --upstream https://u.example --dry-run"));
    assert_eq!((with_option.code, with_option.err.as_str()), (0, ""));
}

/// The namespace is held to the strictest standard for pods, and the pods of the Deployment meet it.
async fn pods_are_let_in(client: &Client) {
    let namespace = Some("clearway");
    let deployment = api(client, "apps/v1", "Deployment", namespace).get("clearway-operator").await.unwrap();
    let mut pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "tried"},
        "spec": deployment.data["spec"]["template"]["spec"],
    });
    let dry = PostParams { dry_run: true, ..PostParams::default() };
    let pods = api(client, "v1", "Pod", namespace);
    pods.create(&dry, &serde_json::from_value(pod.clone()).unwrap()).await.unwrap();
    pod["spec"]["containers"][0]["securityContext"] = json!({});
    let refused = pods.create(&dry, &serde_json::from_value(pod).unwrap()).await.unwrap_err().to_string();
    assert!(refused.contains("violates PodSecurity \"restricted"), "{refused}");
}

#[tokio::test]
async fn a_namespace_that_was_there_stays() {
    let Some((cluster, client)) = bare().await else { return };
    create(&client, json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ops"}}), None).await;
    let made = run(cluster.kubeconfig(), "install --namespace ops -o json");
    assert_eq!(made.action("Namespace", "ops"), "leftAlone", "{}{}", made.out, made.err);
    assert_eq!(made.action("Deployment", "clearway-operator"), "created");
    let gone = run(cluster.kubeconfig(), "uninstall --namespace ops -o json");
    assert_eq!((gone.code, gone.action("Namespace", "ops").as_str()), (0, "leftAlone"), "{}", gone.err);
    assert_eq!(gone.action("Deployment", "clearway-operator"), "deleted");
    let namespace = get(&client, "v1", "Namespace", "ops").await.unwrap();
    assert_eq!(namespace["metadata"]["deletionTimestamp"], Value::Null);
}

/// On simulated nodes, with every admission plugin and the real controllers.
#[tokio::test]
async fn two_replicas_come_up_and_one_may_go_at_a_time() {
    let Some(cluster) = own_cluster(&ClusterOptions { nodes: 2, ..ClusterOptions::default() }).await else { return };
    let client = cluster.client().await.unwrap();
    let made = run(cluster.kubeconfig(), &format!("install --image {PINNED} --upstream https://u.example"));
    assert_eq!((made.code, made.err.as_str()), (0, ""), "{}", made.out);
    let namespace = Some("clearway");
    let deployments = api(&client, "apps/v1", "Deployment", namespace);
    let budgets = api(&client, "policy/v1", "PodDisruptionBudget", namespace);
    clearway_testbed::wait_until(clearway_testbed::IN_TIME, "both replicas are there", async || {
        let deployment = deployments.get("clearway-operator").await.unwrap();
        let budget = budgets.get("clearway-operator").await.unwrap();
        deployment.data["status"]["availableReplicas"] == 2 && budget.data["status"]["disruptionsAllowed"] == 1
    })
    .await
    .unwrap();
    let pods = api(&client, "v1", "Pod", namespace).list(&kube::api::ListParams::default()).await.unwrap();
    let mut nodes: Vec<&str> = pods.items.iter().filter_map(|pod| pod.data["spec"]["nodeName"].as_str()).collect();
    nodes.sort_unstable();
    assert_eq!(nodes, ["node-0", "node-1"], "one node does not take both along");
    let gone = run(cluster.kubeconfig(), "uninstall");
    assert_eq!(gone.code, 0, "{}", gone.err);
    clearway_testbed::wait_until(clearway_testbed::IN_TIME, "the namespace is gone", async || {
        get(&client, "v1", "Namespace", "clearway").await.is_none()
    })
    .await
    .unwrap();
    assert_eq!(run(cluster.kubeconfig(), "install -o json").action("Deployment", "clearway-operator"), "created");
}

#[test]
fn a_cluster_that_is_away_or_a_wrong_name_is_no_success() {
    let away = run(Path::new("/nowhere/kubeconfig"), "install");
    assert_eq!(away.code, 3);
    assert!(away.err.contains("the kubeconfig /nowhere/kubeconfig cannot be read"), "{}", away.err);
    let wrong = run(Path::new("/nowhere/kubeconfig"), "install --namespace Ops_1");
    assert_eq!(wrong.code, 3);
    assert!(wrong.err.contains("`Ops_1` is not a valid namespace name"), "{}", wrong.err);
}
