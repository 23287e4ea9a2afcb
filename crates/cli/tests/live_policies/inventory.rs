//! Objects that Config and `SyncSet`s name, as templates see them.

use clearway_testbed::{IN_TIME, wait_until};
use serde_json::{Value, json};

use super::lab::{CONSTRAINTS, Lab, constraint};

const KIND: &str = "UniqueOwner";
/// Reports ConfigMaps whose label `owner` another ConfigMap of the inventory has as well.
const UNIQUE: &str = r#"package unique
violation[{"msg": msg}] {
  owner := input.review.object.metadata.labels.owner
  other := data.inventory.namespace[namespace]["v1"]["ConfigMap"][name]
  other.metadata.labels.owner == owner
  [namespace, name] != [input.review.object.metadata.namespace, input.review.object.metadata.name]
  msg := sprintf("%v has the same owner", [name])
}"#;

fn config(kinds: &Value) -> Value {
    json!({
        "apiVersion": "config.gatekeeper.sh/v1alpha1", "kind": "Config",
        "metadata": {"name": "config", "namespace": "gatekeeper-system"},
        "spec": {
            "sync": {"syncOnly": kinds},
            "match": [{"processes": ["sync", "audit"], "excludedNamespaces": ["kube-*"]}],
        },
    })
}

#[tokio::test]
async fn templates_see_the_objects_that_config_and_sync_sets_name() {
    let Some(lab) = Lab::start().await else { return };
    lab.create_config_map("a", json!({"owner": "x"})).await;
    lab.create_config_map("b", json!({"owner": "x"})).await;
    lab.create_config_map("c", json!({"owner": "y"})).await;
    let operator = lab.operator("pod", &["--audit-interval", "1s"]);
    lab.create_template(KIND, UNIQUE).await;
    lab.create_constraint(constraint(KIND, "unique", "deny")).await;
    let unique = (CONSTRAINTS, KIND, "unique");
    let total = |count: u64| move |object: &Value| object["status"]["totalViolations"] == count;
    lab.wait("without an inventory nothing is found", unique, total(0)).await;
    lab.create(json!({
        "apiVersion": "syncset.gatekeeper.sh/v1alpha1", "kind": "SyncSet", "metadata": {"name": "maps"},
        "spec": {"gvks": [{"group": "", "version": "v1", "kind": "ConfigMap"}]},
    }))
    .await;
    lab.wait("the SyncSet is used", unique, total(2)).await;
    lab.create_config_map("d", json!({"owner": "y"})).await;
    lab.wait("a new object is in the inventory", unique, total(4)).await;
    lab.delete("v1", "ConfigMap", Some("shop"), "d").await;
    lab.wait("an object that is gone is not", unique, total(2)).await;
    let (_, text) = operator.ask("/metrics").await;
    assert!(text.contains("gatekeeper_sync{status=\"active\",kind=\"ConfigMap\"}"), "{text}");
    // The Config takes over from the SyncSet.
    lab.create(config(&json!([{"group": "", "version": "v1", "kind": "ConfigMap"}]))).await;
    lab.delete("syncset.gatekeeper.sh/v1alpha1", "SyncSet", None, "maps").await;
    lab.create_config_map("e", json!({"owner": "y"})).await;
    lab.wait("the Config is used", unique, total(4)).await;
    // A Config elsewhere is not read.
    lab.delete("config.gatekeeper.sh/v1alpha1", "Config", Some("gatekeeper-system"), "config").await;
    lab.wait("without a Config nothing is found", unique, total(0)).await;
}

#[tokio::test]
async fn twenty_megabytes_are_in_the_inventory_and_what_exceeds_the_limit_is_refused_by_name() {
    let Some(lab) = Lab::start().await else { return };
    let filling = "x".repeat(1_000_000);
    for number in 0..20 {
        lab.create(json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": format!("large-{number}"), "namespace": "shop", "labels": {"owner": "x"}},
            "data": {"filling": filling},
        }))
        .await;
    }
    lab.create(config(&json!([{"group": "", "version": "v1", "kind": "ConfigMap"}]))).await;
    lab.create_template(KIND, UNIQUE).await;
    let operator = lab.operator("pod", &["--audit-interval", "1s"]);
    lab.create_constraint(constraint(KIND, "unique", "deny")).await;
    let unique = (CONSTRAINTS, KIND, "unique");
    lab.wait("all are in the inventory", unique, |object| object["status"]["totalViolations"] == 20 * 19).await;
    drop(operator);

    let operator = lab.operator("pod", &["--inventory-limit", "10", "--lease-duration", "3s"]);
    operator.wait_ready().await;
    operator.wait_for("objects of ConfigMap are not in the inventory: with them it would exceed 10 MiB").await;
    wait_until(IN_TIME, "metrics say so", async || {
        let (_, text) = operator.ask("/metrics").await;
        text.contains("gatekeeper_sync{status=\"active\",kind=\"ConfigMap\"} 0")
            && text.contains("clearway_policies_inventory_bytes 0")
    })
    .await
    .unwrap();
}
