//! The objects of a release, by the constraints of a cluster.

use std::fs;

use serde_json::{Value, json};

use super::lab::{Lab, REQUIRED_LABEL, constraint};

#[tokio::test]
async fn a_release_is_previewed_by_the_constraints_of_the_cluster() {
    let Some(lab) = Lab::start().await else { return };
    lab.create_template("RequiredLabel", REQUIRED_LABEL).await;
    // About the team of a namespace of the cluster, at the webhook only.
    let of_team = json!({
        "match": {
            "kinds": [{"apiGroups": [""], "kinds": ["ConfigMap"]}],
            "namespaceSelector": {"matchLabels": {"team": "shop"}},
        },
        "enforcementAction": "scoped",
        "scopedEnforcementActions": [
            {"action": "deny", "enforcementPoints": [{"name": "validation.gatekeeper.sh"}]},
            {"action": "warn", "enforcementPoints": [{"name": "audit.gatekeeper.sh"}]},
        ],
    });
    lab.create(constraint("RequiredLabel", "of-team", &of_team)).await;
    lab.create(json!({
        "apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop", "labels": {"team": "shop"}},
    }))
    .await;
    let release = lab.directory.path().join("release/release-manifests");
    fs::create_dir_all(&release).unwrap();
    fs::write(release.join("release-metadata"), r#"{"kind": "cincinnati-metadata-v0", "version": "1.5.0"}"#).unwrap();
    let config_map = |namespace: &str, name: &str| {
        format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: {namespace}}}\n")
    };
    let namespace = |name: &str, team: &str| {
        format!("apiVersion: v1\nkind: Namespace\nmetadata: {{name: {name}, labels: {{team: {team}}}}}\n")
    };
    for (name, text) in [
        ("0000_10_core_00.yaml", namespace("bank", "bank")),
        ("0000_10_core_01.yaml", namespace("new-shop", "shop")),
        ("0000_50_app_00.yaml", config_map("shop", "in-the-cluster")),
        ("0000_50_app_01.yaml", config_map("bank", "of-another-team")),
        ("0000_50_app_02.yaml", config_map("new-shop", "in-the-release")),
    ] {
        fs::write(release.join(name), text).unwrap();
    }
    let release = lab.directory.path().join("release");
    let release = release.to_str().unwrap();
    let (code, out, err) = lab.run(&["policy", "preview", "--release", release, "-o", "json"]);
    assert_eq!(code, 1, "{out}{err}");
    let data: Value = serde_json::from_str(&out).unwrap();
    let names: Vec<&str> = data["constraints"][0]["violations"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["in-the-cluster", "in-the-release"], "{out}");
    assert_eq!(data["constraints"][0]["violations"][0]["enforcementActions"], json!(["deny"]));
    assert_eq!(data["objects"], 5);
}
