//! Users who may do less than everything.

use clearway_testbed::{unique_name, wait_until};
use serde_json::json;

use crate::lab::{Lab, Running, SOON, deployment};

#[tokio::test]
async fn who_may_see_nothing_is_told_so_in_one_sentence() {
    let Some(lab) = Lab::open().await else { return };
    let nobody = lab.cluster.kubeconfig_for(&unique_name("nobody"), None).unwrap();
    let ns = lab.ns();
    let run = Running::start(&format!("status show deploy -n {ns}"), &nobody).end().await;
    run.exits(3).says_only(&["error: not allowed to list deployments.apps", ns]);
    let run = Running::start(&format!("status show deploy web -n {ns}"), &nobody).end().await;
    run.exits(3).says_only(&["error: not allowed to get deployments.apps", ns]);
    // Nobody waits for ten minutes to hear that.
    let run = Running::start(&format!("status wait deploy/web -n {ns}"), &nobody).end().await;
    run.exits(3).says(&["error: not allowed to get deployments.apps"]);
    let run = Running::start(&format!("status lint deploy -n {ns}"), &nobody).end().await;
    run.exits(3).prints(&["not allowed to list deployments.apps"]).says(&["the result is incomplete"]);
    let run = Running::start(&format!("status lint deploy -n {ns} --watch 30s"), &nobody).end().await;
    run.exits(3).prints(&["not allowed to list deployments.apps"]).says(&["the result is incomplete"]);
}

#[tokio::test]
async fn who_may_get_but_not_watch_can_wait() {
    let Some(lab) = Lab::open().await else { return };
    let rules = json!([{"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["get"]}]);
    let getter = lab.user(&unique_name("getter"), rules).await;
    lab.create(deployment("web", 1, None)).await;
    let ns = lab.ns();
    wait_until(SOON, "the rights are granted", async || {
        Running::start(&format!("status show deploy web -n {ns}"), &getter).end().await.out.contains("/web")
    })
    .await
    .unwrap();
    let run = Running::start(&format!("status wait deploy/web -n {ns} --timeout 5m --settle 1s"), &getter).end().await;
    run.exits(0).prints(&["Current", "/web"]);
}

#[tokio::test]
async fn a_tree_without_the_right_to_read_pods_says_so() {
    let Some(lab) = Lab::open().await else { return };
    let rules = json!([{"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["get", "list", "watch"]}]);
    let reader = lab.user(&unique_name("reader"), rules).await;
    lab.create(deployment("web", 1, None)).await;
    lab.run("status wait deploy/web --timeout 5m --settle 0s").await.exits(0);
    let ns = lab.ns();
    wait_until(SOON, "the rights are granted", async || {
        Running::start(&format!("status show deploy web -n {ns}"), &reader).end().await.out.contains("/web")
    })
    .await
    .unwrap();
    let run = Running::start(&format!("status show deploy web --tree -n {ns}"), &reader).end().await;
    run.exits(3).says(&["not allowed to list replicasets.apps"]);
}
