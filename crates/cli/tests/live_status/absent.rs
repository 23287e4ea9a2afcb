//! What is not there yet, what ends, and what is being deleted.

use clearway_testbed::{unique_name, wait_until};
use serde_json::{Value, json};

use crate::lab::{Lab, SOON, deployment, resource};
use crate::linting::definition;

fn job(name: &str, labels: &Value) -> Value {
    json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {
            "backoffLimit": 0,
            "template": {
                "metadata": {"labels": labels},
                "spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "example.dev/job:1"}]},
            },
        },
    })
}

#[tokio::test]
async fn what_is_created_while_one_waits_is_waited_for() {
    let Some(lab) = Lab::open().await else { return };
    let mut waiting = lab.start("status wait deploy/late --timeout 5m --settle 1s");
    waiting.until_says("NotFound").await;
    lab.create(deployment("late", 1, None)).await;
    waiting.end().await.exits(0).prints(&["Current", "/late"]).says(&["Resource not found"]);

    let run = lab.run("status wait deploy/never --timeout 6s").await;
    run.exits(2).prints(&["NotFound", "/never"]).says(&["timed out", "--timeout"]);
    let run = lab.run("status show deploy never late").await;
    run.exits(2).prints(&["NotFound", "/never", "Current", "/late"]).says(&["1 NotFound"]);
    let run = lab.run("status wait deployments -l app=nobody").await;
    run.exits(3).says_only(&["no deployments.apps found to wait for"]);
}

#[tokio::test]
async fn a_kind_that_the_same_files_define_is_waited_for() {
    let Some(lab) = Lab::open().await else { return };
    let group = format!("{}.example.dev", unique_name("later"));
    let definition = definition(&group, &json!({}));
    let widget = json!({
        "apiVersion": format!("{group}/v1"), "kind": "Widget", "metadata": {"name": "one", "namespace": lab.ns()},
    });
    let path = lab.cluster.dir().join(format!("{}-later.json", lab.ns()));
    std::fs::write(&path, json!([widget, definition]).to_string()).unwrap();
    let mut waiting = lab.start_anywhere(&format!("status wait -f {} --timeout 5m --settle 1s", path.display()));
    waiting.until_says("0/2 current, 2 waiting").await;
    lab.create_global(definition).await;
    let widgets = lab.api(&format!("{group}/v1"), "Widget");
    wait_until(SOON, "the kind is served", async || widgets.list(&kube::api::ListParams::default()).await.is_ok())
        .await
        .unwrap();
    lab.create(widget.clone()).await;
    waiting.end().await.exits(0).says(&["2 objects: 2 Current"]);

    std::fs::write(
        &path,
        json!([{"apiVersion": "never.example.dev/v1", "kind": "Never", "metadata": {"name": "x"}}]).to_string(),
    )
    .unwrap();
    let run = lab.run_anywhere(&format!("status wait -f {}", path.display())).await;
    run.exits(3).says_only(&["kind Never in never.example.dev/v1 not found in the cluster or the files"]);
}

#[tokio::test]
async fn jobs_end_well_or_badly() {
    let Some(lab) = Lab::open().await else { return };
    lab.create(job("good", &json!({}))).await;
    lab.create(job("bad", &json!({"clearway.dev/simulate": "crash"}))).await;
    let run = lab.run("status wait job/good --timeout 5m --settle 1s").await;
    run.exits(0).prints(&["Current", "JobComplete", "succeeded: 1/1"]);
    let run = lab.run("status wait job/bad --timeout 5m").await;
    run.exits(1).prints(&["Failed", "JobFailed", "BackoffLimitExceeded"]).says(&["1 object: 1 Failed"]);
    let run = lab.run("status show jobs").await;
    run.exits(1).prints(&["/good", "/bad"]).says(&["1 Failed", "1 Current"]);
}

#[tokio::test]
async fn what_is_being_deleted_is_terminating() {
    let Some(lab) = Lab::open().await else { return };
    let held = json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "held", "finalizers": ["example.dev/hold"]},
    });
    lab.create(held).await;
    lab.run("status show cm held").await.exits(0).prints(&["Current"]);
    let maps = lab.api("v1", "ConfigMap");
    maps.delete("held", &kube::api::DeleteParams::default()).await.unwrap();
    let run = lab.run("status show cm held").await;
    run.exits(2).prints(&["Terminating", "held by example.dev/hold"]).says(&["1 Terminating"]);
    let run = lab.run("status wait cm/held --timeout 6s").await;
    run.exits(2).prints(&["Terminating"]).says(&["timed out"]);

    // A namespace says what keeps it.
    let namespaces: kube::Api<kube::core::DynamicObject> =
        kube::Api::all_with(lab.client.clone(), &resource("v1", "Namespace"));
    namespaces.delete(lab.ns(), &kube::api::DeleteParams::default()).await.unwrap();
    wait_until(SOON, "the namespace says what keeps it", async || {
        let namespace = serde_json::to_value(namespaces.get(lab.ns()).await.unwrap()).unwrap();
        namespace.to_string().contains("example.dev/hold in 1 resource")
    })
    .await
    .unwrap();
    let run = lab.run_anywhere(&format!("status show ns {}", lab.ns())).await;
    run.exits(2).prints(&["Terminating", lab.ns(), "finalizers remaining: example.dev/hold"]);
    lab.patch("v1", "ConfigMap", "held", json!({"metadata": {"finalizers": null}})).await;
    lab.run("status show cm held").await.exits(2).prints(&["NotFound"]);
}
