//! API servers that hang, restart, and are not there.

use clearway_testbed::{ClusterOptions, own_cluster, unique_name};
use kube::Api;
use serde_json::json;

use crate::lab::{Lab, Running, create, resource, start_on};

#[tokio::test]
async fn a_wait_outlives_a_hanging_and_a_restarted_api_server() {
    let Some(cluster) = own_cluster(&ClusterOptions::api_only()).await else { return };
    let maps = Api::namespaced_with(cluster.client().await.unwrap(), "default", &resource("v1", "ConfigMap"));
    let map = |name: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}});

    // Nothing of a fresh cluster's own gives reason for complaint.
    start_on(&cluster, "status lint --all").end().await.exits(0).says(&["0 errors, 0 warnings, 0 notes"]);

    let mut waiting = start_on(&cluster, "status wait cm/late --timeout 5m --settle 1s");
    waiting.until_says("NotFound").await;
    cluster.apiserver().pause().await.unwrap();
    // One that begins now is told soon, and does not hang with it.
    let begun = start_on(&cluster, "status show cm");
    waiting.until_says("Unreachable").await;
    begun.end().await.exits(3).says(&["waiting: no answer", "cannot reach the API server", "timed out"]);
    cluster.apiserver().resume().unwrap();
    create(&maps, map("late")).await;
    let run = waiting.end().await;
    run.exits(0).prints(&["Current", "/late"]).says(&["Unreachable"]);

    // What is current after the restart did not change in between: no event will ever tell.
    let mut waiting = start_on(&cluster, "status wait cm/late cm/later --timeout 5m --settle 1s");
    waiting.until_says("1/2 current, 1 waiting").await;
    cluster.apiserver().restart().await.unwrap();
    waiting.until_says("Unreachable").await;
    create(&maps, map("later")).await;
    waiting.end().await.exits(0).prints(&["/late", "/later"]);
}

#[tokio::test]
async fn a_clock_runs_out_though_the_api_server_hangs() {
    let Some(cluster) = own_cluster(&ClusterOptions::api_only()).await else { return };
    // Nobody rolls this out; on its way, a Deployment's pods are asked for too.
    let web = crate::lab::deployment("web", 1, None);
    let api = Api::namespaced_with(cluster.client().await.unwrap(), "default", &resource("apps/v1", "Deployment"));
    create(&api, web).await;
    let mut waiting = start_on(&cluster, "status wait deploy/web --timeout 20s");
    waiting.until_says("0/1 current, 1 waiting").await;
    cluster.apiserver().pause().await.unwrap();
    let run = waiting.end().await;
    cluster.apiserver().resume().unwrap();
    run.exits(2).says(&["timed out", "--timeout"]);
}

#[tokio::test]
async fn an_api_server_that_is_not_there_is_named() {
    let Some(lab) = Lab::open().await else { return };
    let url = lab.cluster.url();
    // Port 1 is never served.
    let closed = format!("{}:1", url.rsplit_once(':').unwrap().0);
    let kubeconfig = std::fs::read_to_string(lab.cluster.kubeconfig()).unwrap().replace(url, &closed);
    let path = lab.cluster.dir().join(unique_name("kubeconfig"));
    std::fs::write(&path, kubeconfig).unwrap();
    for command in ["status show deploy", "status wait deploy/web", "status lint --all"] {
        let run = Running::start(command, &path).end().await;
        run.exits(3).says_only(&["error: cannot reach the API server at ", &closed, "onnection refused"]);
    }
    let run = Running::start("status show deploy", "/nowhere/kubeconfig".as_ref()).end().await;
    run.exits(3).says_only(&["no cluster configured", "/nowhere/kubeconfig"]);
}
