//! `clearway status lint --all` has nothing to say about Clearway's own objects and CRDs, whatever becomes of an update.

use std::path::Path;
use std::process::Command;

use clearway_testbed::wait_until;
use serde_json::{Value, json};

use crate::lab::{ID, Lab, SOON, condition, recommended, serve};
use crate::update::{STORY, config, deployment, is_completed, namespace, release};

/// What the linter finds about objects and CRDs of Clearway; notes as well.
fn findings(lab: &Lab) -> Vec<String> {
    let output = Command::new(env!("CARGO_BIN_EXE_clearway"))
        .args(["status", "lint", "--all", "-o", "json", "--kubeconfig"])
        .arg(lab.cluster.kubeconfig())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    let found: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {said}"));
    assert!(said.contains(" objects checked"), "{said}");
    let ours = |finding: &String| finding.contains("clearway") || finding.contains("config.openshift.io");
    found.as_array().unwrap().iter().map(Value::to_string).filter(ours).collect()
}

#[tokio::test]
async fn our_own_linter_finds_nothing_at_rest_while_applying_and_when_that_fails() {
    let Some(lab) = Lab::installed("4.6.23", "stable-4.6").await else { return };
    let add_on = lab.path("add-on");
    release(&add_on, "0.3.0", &[namespace(), config("settings", "of the add-on")]);
    lab.create(&json!({
        "apiVersion": "clearway.dev/v1alpha1", "kind": "ComponentVersion", "metadata": {"name": "shop"},
        "spec": {"clusterID": ID, "desiredUpdate": {"image": add_on.display().to_string()}},
    }))
    .await;
    assert_eq!(findings(&lab), [""; 0], "installed, and nothing runs yet");

    // Nobody is asked for metrics, so the risks of the updates stay unknown.
    let (_service, url) = serve(Path::new(STORY), lab.path("serve.log")).await;
    let _operator = lab.operator("operator.log", &["--upstream", &url]);
    let components = lab.api("clearway.dev/v1alpha1", "ComponentVersion");
    wait_until(SOON, "the add-on is there", async || {
        let component = components.get("shop").await.map(|found| serde_json::to_value(found).unwrap());
        is_completed(&component.unwrap_or_default(), "0.3.0")
    })
    .await
    .unwrap();
    lab.until("there are updates that are not known to be safe", |object| {
        recommended(object, "4.7.4").0 == "Unknown" && condition(&object["status"]["conditions"], "Ready").0 == "True"
    })
    .await;
    assert_eq!(findings(&lab), [""; 0], "at rest");

    let ask = async |name: &str, version: &str, object: Value| {
        release(&lab.path(name), version, &[object]);
        let update = json!({"image": lab.path(name).display().to_string(), "version": version});
        lab.patch(json!({"spec": {"desiredUpdate": update}})).await;
    };
    ask("stuck", "4.6.98", deployment("web", "example.com/web:1", Some("no-such-node"))).await;
    lab.until("the update waits for a workload", |object| {
        condition(&object["status"]["conditions"], "Progressing").2.contains("waiting on Deployment.apps shop/web")
    })
    .await;
    assert_eq!(findings(&lab), [""; 0], "while an update is applied");

    ask("refused", "4.6.99", config("Bad_Name", "x")).await;
    lab.until("the update fails", |object| condition(&object["status"]["conditions"], "Failing").0 == "True").await;
    assert_eq!(findings(&lab), [""; 0], "when an update fails");

    lab.patch(json!({"spec": {"desiredUpdate": {"image": lab.path("nowhere").display().to_string()}}})).await;
    lab.until("the release is not accepted", |object| {
        condition(&object["status"]["conditions"], "ReleaseAccepted").0 == "False"
    })
    .await;
    assert_eq!(findings(&lab), [""; 0], "when a release cannot be had");
}
