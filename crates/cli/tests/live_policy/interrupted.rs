//! A namespace that is deleted, and an API server that is restarted, while objects are read.

use std::process::{Child, Command, Stdio};

use clearway_testbed::{IN_TIME, wait_until};
use kube::api::{DeleteParams, PostParams};
use serde_json::{Value, json};

use super::gate::Gate;
use super::lab::{Lab, REQUIRED_LABEL, config_map, constraint};

/// Enough objects for several pages of a list.
const OBJECTS: usize = 1_200;
/// In the middle of the first page: what is read before is smaller.
const FIRST_PAGE: usize = 600_000;

/// A `ConfigMap` of 4 KB that cannot be compressed well.
fn large(namespace: &str, number: usize) -> Value {
    let mut object = config_map(namespace, &format!("object-{number}"), &json!({}));
    let mut seed = number as u64 + 1;
    let mut next = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        format!("{seed:016x}")
    };
    object["data"] = json!({"text": (0..256).map(|_| next()).collect::<String>()});
    object
}

async fn lab() -> Option<Lab> {
    let lab = Lab::start().await?;
    lab.create_template("RequiredLabel", REQUIRED_LABEL).await;
    lab.create(constraint("RequiredLabel", "owner", &json!({}))).await;
    for namespace in ["shop", "shop-gone"] {
        lab.create_namespace(namespace).await;
    }
    let namespace = |number: usize| if number.is_multiple_of(2) { "shop" } else { "shop-gone" };
    lab.create_all((0..OBJECTS).map(|number| large(namespace(number), number))).await;
    Some(lab)
}

fn audit(gate: &Gate) -> Child {
    Command::new(env!("CARGO_BIN_EXE_clearway"))
        .args(["policy", "audit", "-o", "json", "--kubeconfig", gate.kubeconfig.to_str().unwrap()])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Waits until the audit reads objects.
async fn wait_for(gate: &Gate) {
    wait_until(IN_TIME, "the audit reads objects", async || gate.is_closed()).await.unwrap();
}

/// The number of violations, and the exit code.
fn finish(audit: Child) -> (u64, Option<i32>, String) {
    let output = audit.wait_with_output().unwrap();
    let (out, err) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    let data: Value = serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {out}{err}"));
    assert_eq!(data["notEvaluated"], json!([]), "{err}");
    (data["constraints"][0]["totalViolations"].as_u64().unwrap(), output.status.code(), err)
}

#[tokio::test]
async fn an_api_server_that_restarts_during_an_audit_is_waited_for() {
    let Some(lab) = lab().await else { return };
    let gate = Gate::closing_after(&lab, FIRST_PAGE);
    let audit = audit(&gate);
    wait_for(&gate).await;
    lab.cluster.apiserver().restart().await.unwrap();
    gate.open();
    let (violations, code, err) = finish(audit);
    assert_eq!((violations, code), (OBJECTS as u64, Some(1)), "{err}");
}

#[tokio::test]
async fn objects_whose_namespace_is_deleted_during_an_audit_are_left_out() {
    let Some(lab) = lab().await else { return };
    let gate = Gate::closing_after(&lab, FIRST_PAGE);
    let audit = audit(&gate);
    wait_for(&gate).await;
    // No controller ends it here, so it is ended as the controller does it.
    let namespaces = lab.api("v1", "Namespace", None);
    namespaces.delete("shop-gone", &DeleteParams::default()).await.unwrap();
    let mut namespace = namespaces.get("shop-gone").await.unwrap();
    namespace.data["spec"] = json!({"finalizers": []});
    let request = kube::core::Request::new("/api/v1/namespaces")
        .replace_subresource("finalize", "shop-gone", &PostParams::default(), serde_json::to_vec(&namespace).unwrap())
        .unwrap();
    lab.client.request::<Value>(request).await.unwrap();
    wait_until(IN_TIME, "the namespace is gone", async || namespaces.get_opt("shop-gone").await.unwrap().is_none())
        .await
        .unwrap();
    gate.open();
    // Namespaces are read when the first object comes, which is after the deletion.
    let (violations, code, err) = finish(audit);
    assert_eq!((violations, code), (OBJECTS as u64 / 2, Some(1)), "{err}");
}
