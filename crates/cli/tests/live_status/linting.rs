//! The rules on what a real API server stores: its own objects, definitions, custom resources, and how they change.

use clearway_testbed::{unique_name, wait_until};
use serde_json::{Value, json};

use crate::lab::{Lab, SOON, deployment};

#[tokio::test]
async fn a_cluster_with_workloads_has_no_errors() {
    let Some(lab) = Lab::open().await else { return };
    for (name, simulate) in [("good", None), ("stuck", Some("never-ready")), ("crashing", Some("crash"))] {
        lab.create(deployment(name, 2, simulate)).await;
    }
    lab.run("status wait deploy/good --timeout 5m --settle 0s").await.exits(0);
    let run = lab.run_anywhere("status lint --all -o json").await;
    let findings = run.json();
    // Other tests have bad definitions and bad statuses in the same cluster, all in groups of their own.
    let ours = |finding: &&Value| !finding.to_string().contains("example.dev");
    let bad: Vec<&Value> =
        findings.as_array().unwrap().iter().filter(ours).filter(|finding| finding["severity"] != "info").collect();
    assert!(bad.is_empty(), "{bad:#?}");
}

/// A definition of a kind with any status at all.
pub(crate) fn definition(group: &str, conditions: &Value) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("widgets.{group}")},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"kind": "Widget", "plural": "widgets", "singular": "widget"},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                    "spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
                    "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": conditions},
                }}},
            }],
        },
    })
}

/// Defines a kind and makes one object of it; gives the group.
async fn widget(lab: &Lab, conditions: Value) -> String {
    let group = format!("{}.example.dev", unique_name("widgets"));
    lab.create_global(definition(&group, &conditions)).await;
    let (api, name) = (lab.api(&format!("{group}/v1"), "Widget"), "one");
    wait_until(SOON, "the kind is served", async || api.list(&kube::api::ListParams::default()).await.is_ok())
        .await
        .unwrap();
    lab.create(json!({"apiVersion": format!("{group}/v1"), "kind": "Widget", "metadata": {"name": name}})).await;
    group
}

#[tokio::test]
async fn a_bad_schema_of_conditions_is_found() {
    let Some(lab) = Lab::open().await else { return };
    let group = widget(
        &lab,
        json!({"conditions": {"type": "array", "items": {"type": "object", "properties": {
            "type": {"type": "string"}, "status": {"type": "string"},
        }}}}),
    )
    .await;
    let run = lab.run_anywhere(&format!("status lint crd widgets.{group}")).await;
    run.exits(1).prints(&[
        "error[SC025]: the list of conditions is not a map by type",
        &format!("CustomResourceDefinition.apiextensions.k8s.io widgets.{group}"),
        "spec.versions[name=v1].schema.openAPIV3Schema.properties.status.properties.conditions",
        "does not describe reason, message, lastTransitionTime",
    ]);
    run.says(&["1 object checked: 1 error"]);
}

#[tokio::test]
async fn a_bad_status_is_found_where_it_is() {
    let Some(lab) = Lab::open().await else { return };
    let group = widget(&lab, json!({})).await;
    let status = json!({"conditions": [
        {"type": "Ready", "status": "true", "reason": "all good", "message": "", "lastTransitionTime": "yesterday"},
        {"type": "Ready", "status": "False", "reason": "Twice", "message": "", "lastTransitionTime": "2025-01-01T00:00:00Z"},
    ]});
    lab.patch_status(&format!("{group}/v1"), "Widget", "one", status).await;
    let run = lab.run(&format!("status lint widgets.{group} one")).await;
    // Many findings are a line each.
    let object = format!("Widget.{group} {}/one", lab.ns());
    run.exits(1).prints(&[
        &format!("error[SC001] {object}: the list has 2 conditions of type `Ready`"),
        &format!("error[SC002] {object}: the status of condition `Ready` is `true`"),
        &format!("error[SC004] {object}: the reason of condition `Ready` is"),
        &format!("error[SC005] {object}: the lastTransitionTime of condition"),
    ]);
    let alone = lab.run(&format!("status lint widgets.{group} one --select SC004")).await;
    alone.exits(1).prints(&[
        "error[SC004]: the reason of condition `Ready` is not one word: `all good`",
        "status.conditions[type=Ready].reason",
    ]);
    run.says(&["1 object checked: "]);
    let data = lab.run(&format!("status lint widgets.{group} -o json")).await;
    let findings = data.exits(1).json();
    let codes: Vec<&str> = findings.as_array().unwrap().iter().filter_map(|one| one["code"].as_str()).collect();
    for code in ["SC001", "SC002", "SC004", "SC005", "SC007", "SC020"] {
        assert!(codes.contains(&code), "{code} is not among {codes:?}");
    }
    let sarif = lab.run(&format!("status lint widgets.{group} -o sarif")).await;
    assert_eq!(sarif.exits(1).json()["version"], "2.1.0");
    let yaml = lab.run(&format!("status lint widgets.{group} -o yaml")).await;
    let parsed: Vec<Value> = serde_saphyr::from_str(&yaml.exits(1).out).unwrap();
    assert_eq!(parsed.len(), codes.len());
}

#[tokio::test]
async fn a_time_that_moves_alone_is_seen_while_following() {
    let Some(lab) = Lab::open().await else { return };
    let group = widget(&lab, json!({})).await;
    let status = |time: &str| {
        json!({"conditions": [
            {"type": "Ready", "status": "True", "reason": "Done", "message": "all is well", "lastTransitionTime": time},
        ]})
    };
    let api = format!("{group}/v1");
    lab.patch_status(&api, "Widget", "one", status("2025-01-01T00:00:00Z")).await;
    let mut watching = lab.start(&format!("status lint widgets.{group} one --watch 6s"));
    // The first state has a finding of its own, which is told once and when it is seen.
    watching.until_prints("SC007").await;
    lab.patch_status(&api, "Widget", "one", status("2025-01-01T00:01:00Z")).await;
    lab.patch_status(&api, "Widget", "one", status("2025-01-01T00:02:00Z")).await;
    let run = watching.end().await;
    run.exits(1).prints(&["error[SC021]", &format!("Widget.{group} {}/one", lab.ns())]).says(&["watching for 6s"]);
    run.says(&["3 states of 1 object checked: 1 error, 1 warning"]);
    assert_eq!(run.out.matches("[SC007]").count(), 1, "{run}");
}
