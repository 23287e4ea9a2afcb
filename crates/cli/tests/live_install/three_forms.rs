//! The operator and the update service in their three forms, `clearway install`, kustomize and Helm, are the same objects.
//!
//! Charts and kustomizations are rendered by the packages of Helm and kustomize. What differs on purpose is taken away first,
//! and named here.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use clearway_testbed::{Component, have};
use serde_json::{Value, json};

use super::manifests::KEY;
use super::{PINNED, bare, run};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
const NOWHERE: &str = "/nowhere/kubeconfig";

/// Objects by kind, namespace and name, without what differs on purpose.
type Objects = BTreeMap<(String, String, String), Value>;

/// The documents of YAML, without those that are only comments. A key in PEM has dashes at the end of a line, too.
fn documents(text: &str) -> Vec<Value> {
    let text = format!("\n{text}");
    let is_content = |line: &str| !line.trim().is_empty() && !line.starts_with('#') && line != "---";
    let documents = text.split("\n---\n").filter(|document| document.lines().any(is_content));
    documents
        .map(|document| serde_saphyr::from_str(document).unwrap_or_else(|error| panic!("{error}: {document}")))
        .collect()
}

fn objects(text: &str) -> Objects {
    let mut found = Objects::new();
    for mut object in documents(text) {
        plain(&mut object);
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let metadata = &object["metadata"];
        let key = (text(&object["kind"]), text(&metadata["namespace"]), text(&metadata["name"]));
        assert!(found.insert(key.clone(), object).is_none(), "{key:?} is there twice");
    }
    found
}

/// Takes away what differs between the forms on purpose: who manages an object; that Helm keeps CRDs; and the end of the names
/// of ConfigMaps that are replaced and not changed, which kustomize and the chart derive from the content. A list of rules without
/// a rule is written by Helm as no list, which means the same.
fn plain(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.remove("app.kubernetes.io/managed-by");
            fields.remove("helm.sh/resource-policy");
            fields.values_mut().for_each(plain);
            if fields.get("annotations") == Some(&json!({})) {
                fields.remove("annotations");
            }
            if fields.get("ingress").is_some_and(|rules| rules.is_null() || *rules == json!([])) {
                fields.remove("ingress");
            }
        }
        Value::Array(items) => items.iter_mut().for_each(plain),
        Value::String(text) => {
            for name in ["clearway-release-keys", "clearway-graph-data"] {
                let hash = text.strip_prefix(name).and_then(|rest| rest.strip_prefix('-'));
                if hash.is_some_and(|hash| hash.len() == 10 && hash.chars().all(char::is_alphanumeric)) {
                    name.clone_into(text);
                }
            }
        }
        _ => {}
    }
}

/// What `clearway … --dry-run` prints.
fn printed(line: &str) -> Objects {
    let said = run(Path::new(NOWHERE), &format!("{line} --dry-run"));
    assert_eq!(said.code, 0, "{line}: {}", said.err);
    objects(&said.out)
}

/// What Helm and kustomize make of a directory.
fn rendered(arguments: &[&str]) -> Result<String, String> {
    let output = Command::new(Component::Render.find().unwrap()).args(arguments).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
}

fn helm(namespace: &str, values: &Value) -> Result<String, String> {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("values.json");
    fs::write(&file, values.to_string()).unwrap();
    let (chart, file) = (format!("{ROOT}/deploy/helm/clearway"), file.display().to_string());
    rendered(&["helm", &chart, namespace, &file])
}

fn compare(what: &str, one: &Objects, other: &Objects) {
    let keys = |objects: &Objects| objects.keys().cloned().collect::<Vec<_>>();
    assert_eq!(keys(one), keys(other), "{what}");
    for (key, object) in one {
        assert_eq!(object, &other[key], "{what}: {key:?}");
    }
}

/// Compares with the chart, which leaves the namespace to the release.
fn compare_with_chart(line: &str, namespace: &str, values: &Value) {
    let mut want = printed(line);
    want.retain(|(kind, ..), _| kind != "Namespace");
    let chart = helm(namespace, values).unwrap_or_else(|error| panic!("{values}: {error}"));
    compare(&format!("{line}; {values}"), &want, &objects(&chart));
}

#[test]
fn the_chart_is_what_install_applies() {
    if !have(&[Component::Render]) {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let key = directory.path().join("release.pub");
    fs::write(&key, KEY).unwrap();
    let key = key.display();
    compare_with_chart("install", "clearway", &json!({}));
    compare_with_chart(
        &format!(
            "install --namespace ops --image {PINNED} --upstream https://u.example/a?b=c --prometheus http://p:9090"
        ),
        "ops",
        &json!({"image": PINNED, "upstream": "https://u.example/a?b=c", "prometheus": "http://p:9090"}),
    );
    compare_with_chart(
        &format!(
            "install --channel experimental --metrics authenticated --apply-updates --release-key {key} --pace single \
             --deny-metrics a.* --deny-metrics b --allow-unnamed-metrics --max-query-bytes 4096"
        ),
        "clearway",
        &json!({
            "channel": "experimental", "metrics": "authenticated", "applyUpdates": true, "releaseKeys": {"release.pub": KEY},
            "options": {
                "pace": "single", "deny-metrics": ["a.*", "b"], "allow-unnamed-metrics": true, "max-query-bytes": 4096,
            },
        }),
    );
    compare_with_chart(
        "install --apply-updates --allow-unsigned-releases --gateway-class clearway --address 192.0.2.1 --assume-programmed \
         --policies --audit-interval 5m --exempt-namespace kube-system",
        "clearway",
        &json!({
            "applyUpdates": true, "allowUnsignedReleases": true,
            "gatewayClass": "clearway", "gatewayOptions": {"address": ["192.0.2.1"], "assume-programmed": true},
            "policies": true, "policyOptions": {"audit-interval": "5m", "exempt-namespace": "kube-system"},
        }),
    );
    compare_with_chart(
        "install update-service --namespace updates --graph oci://r.example/graph-data:stable --registry-secret pull --refresh 1m",
        "updates",
        &json!({"operator": false, "updateService": {
            "enabled": true, "graph": "oci://r.example/graph-data:stable", "registrySecret": "pull", "options": {"refresh": "1m"},
        }}),
    );
    compare_with_chart(
        "install update-service --namespace updates --graph-config-map data",
        "updates",
        &json!({"operator": false, "updateService": {"enabled": true, "graphConfigMap": "data"}}),
    );
    compare_with_chart(
        "install update-service --namespace updates --upstream https://u.example/api --mirror stable-1.5 --mirror fast/arm64",
        "updates",
        &json!({"operator": false, "updateService": {
            "enabled": true, "options": {"upstream": "https://u.example/api", "mirror": ["stable-1.5", "fast/arm64"]},
        }}),
    );
}

#[test]
fn the_chart_refuses_what_install_refuses() {
    if !have(&[Component::Render]) {
        return;
    }
    for (values, why) in [
        (json!({"applyUpdates": true}), "applyUpdates needs releaseKeys"),
        (json!({"releaseKeys": {"a.pub": KEY}}), "releaseKeys need applyUpdates"),
        (json!({"applyUpdates": true, "releaseKeys": {"a.pub": "-----BEGIN PRIVATE KEY-----"}}), "releaseKeys"),
        (json!({"updateService": {"enabled": true}}), "updateService needs a graph"),
        (json!({"upstraem": "https://u.example"}), "upstraem"),
        (json!({"channel": "stable"}), "channel"),
    ] {
        let refused = helm("clearway", &values).expect_err(&values.to_string());
        assert!(refused.contains(why), "{values}: {refused}");
    }
}

#[test]
fn the_directories_of_kustomize_are_what_install_applies() {
    if !have(&[Component::Render]) {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let copied = Command::new("cp").arg("-r").arg(format!("{ROOT}/deploy")).arg(directory.path()).status().unwrap();
    assert!(copied.success());
    let build = |kustomization: Value| {
        fs::write(directory.path().join("kustomization.yaml"), kustomization.to_string()).unwrap();
        let path = directory.path().display().to_string();
        objects(&rendered(&["kustomize", &path]).unwrap_or_else(|error| panic!("{kustomization}: {error}")))
    };
    let key = directory.path().join("release.pub");
    fs::write(&key, KEY).unwrap();
    fs::write(directory.path().join("graph-data.tar.gz"), "an archive").unwrap();
    compare("standard", &printed("install"), &build(json!({"resources": ["deploy/standard"]})));

    // What docs/installing.md shows.
    let (image, digest) = ("ghcr.io/clearway-dev/clearway", PINNED.split_once('@').unwrap().1);
    let upstream = "https://updates.example.com/api/upgrades_info";
    let patch = json!([{
        "op": "add", "path": "/spec/template/spec/containers/0/args/-", "value": format!("--upstream={upstream}"),
    }]);
    let every = build(json!({
        "resources": ["deploy/experimental"],
        "components": ["deploy/monitoring", "deploy/apply-updates", "deploy/gateway-status", "deploy/policies"],
        "configMapGenerator": [{
            "name": "clearway-release-keys", "namespace": "clearway", "files": ["release.pub"], "options": {"immutable": true},
        }],
        "images": [{"name": image, "digest": digest}],
        "patches": [{"target": {"kind": "Deployment", "name": "clearway-operator"}, "patch": patch.to_string()}],
    }));
    let mut want = printed(&format!(
        "install --channel experimental --image {image}@{digest} --metrics authenticated --apply-updates --release-key {} \
         --gateway-class clearway --policies --upstream {upstream}",
        key.display()
    ));
    // A ConfigMap of kustomize has the labels that the administrator gives it, and a patch adds arguments at the end.
    let keys = ("ConfigMap".to_owned(), "clearway".to_owned(), "clearway-release-keys".to_owned());
    want.get_mut(&keys).unwrap()["metadata"].as_object_mut().unwrap().remove("labels");
    let operator = ("Deployment".to_owned(), "clearway".to_owned(), "clearway-operator".to_owned());
    let template = &mut want.get_mut(&operator).unwrap()["spec"]["template"];
    // Pods are replaced because the ConfigMap has another name.
    template["metadata"]["annotations"].as_object_mut().unwrap().remove("clearway.dev/release-keys");
    let arguments = template.pointer_mut("/spec/containers/0/args").unwrap();
    let arguments = arguments.as_array_mut().unwrap();
    let at = arguments.iter().position(|argument| *argument == format!("--upstream={upstream}")).unwrap();
    let moved = arguments.remove(at);
    arguments.push(moved);
    compare("every component", &want, &every);

    let mut service = build(json!({
        "resources": ["deploy/update-service"],
        "configMapGenerator": [{
            "name": "clearway-graph-data", "namespace": "clearway-update-service", "files": ["graph-data.tar.gz"],
        }],
    }));
    service.retain(|(kind, ..), _| kind != "ConfigMap");
    compare("update service", &printed("install update-service --graph-config-map clearway-graph-data"), &service);
}

/// What Helm renders is accepted by an API server, which knows every field.
#[tokio::test]
async fn an_api_server_accepts_the_chart() {
    if !have(&[Component::Render]) {
        return;
    }
    let Some((cluster, client)) = bare().await else { return };
    super::create(&client, json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "clearway"}}), None)
        .await;
    let values = json!({
        "upstream": "https://u.example", "policies": true, "gatewayClass": "clearway", "policyCrds": false,
        "updateService": {"enabled": true, "graphConfigMap": "data", "registrySecret": "pull"},
    });
    for object in documents(&helm("clearway", &values).unwrap()) {
        let (api_version, kind) = (object["apiVersion"].as_str().unwrap(), object["kind"].as_str().unwrap());
        let name = object["metadata"]["name"].as_str().unwrap();
        let api = super::api(&client, api_version, kind, object["metadata"]["namespace"].as_str());
        let how = kube::api::PatchParams {
            dry_run: true,
            field_manager: Some("helm".to_owned()),
            field_validation: Some(kube::api::ValidationDirective::Strict),
            ..kube::api::PatchParams::default()
        };
        let applied = api.patch(name, &how, &kube::api::Patch::Apply(&object)).await;
        assert!(applied.is_ok(), "{kind} {name}: {applied:?}");
    }
    drop(cluster);
}
