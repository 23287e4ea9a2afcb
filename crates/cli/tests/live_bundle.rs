//! `clearway bundle` on a real API server (V7, V8): `guard` refuses rollbacks and experimental CRDs over standard ones,
//! `installed` names what does not fit together, and `preflight` names the objects that a new bundle would change.

#[path = "live_bundle/hostile_text.rs"]
mod hostile_text;
#[path = "live_bundle/killed_migration.rs"]
mod killed_migration;
#[path = "live_bundle/many_objects.rs"]
mod many_objects;
#[path = "live_bundle/stored_things.rs"]
mod stored_things;

use std::io::Write as _;
use std::process::{Command, Stdio};

use clearway_testbed::{cluster, wait_until};
use kube::api::{DynamicObject, Patch, PatchParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Api, Client};
use serde_json::{Value, json};

const GROUP: &str = "guarded.example.com";

/// The CRD of a bundle with these annotations.
fn crd(version: &str, channel: &str) -> Value {
    let mut annotations = json!({format!("{GROUP}/channel"): channel});
    if !version.is_empty() {
        annotations[format!("{GROUP}/bundle-version")] = version.into();
    }
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("things.{GROUP}"), "annotations": annotations},
        "spec": {
            "group": GROUP, "scope": "Namespaced", "names": {"kind": "Thing", "plural": "things"},
            "versions": [{
                "name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object"}},
            }],
        },
    })
}

/// Applies an object; the error is what the API server says.
async fn apply(client: &Client, object: &Value) -> Result<(), String> {
    patch(client, object, PatchParams::apply("test").force()).await
}

async fn patch(client: &Client, object: &Value, parameters: PatchParams) -> Result<(), String> {
    let (group, version) = object["apiVersion"].as_str().unwrap().split_once('/').unwrap();
    let kind = object["kind"].as_str().unwrap();
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
    let api: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
    let name = object["metadata"]["name"].as_str().unwrap();
    api.patch(name, &parameters, &Patch::Apply(object)).await.map(drop).map_err(|error| error.to_string())
}

/// The objects that `bundle guard` prints for a bundle.
fn guard(bundle: &Value) -> Vec<Value> {
    let mut child = Command::new(env!("CARGO_BIN_EXE_clearway"))
        .args(["bundle", "guard", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(bundle.to_string().as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    text.split("---\n")
        .filter(|part| !part.trim().is_empty())
        .map(|part| serde_saphyr::from_str(part).unwrap())
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_guarded_bundle_goes_forward_only() {
    let Some(cluster) = cluster().await else { return };
    let client = cluster.client().await.unwrap();
    for object in guard(&crd("v1.2.0", "standard")) {
        apply(&client, &object).await.unwrap();
    }
    apply(&client, &crd("v1.2.0", "standard")).await.unwrap();
    // The API server takes a moment before it enforces a new policy; a dry run asks without a change.
    let dry_run = PatchParams { dry_run: true, ..PatchParams::apply("test").force() };
    wait_until(clearway_testbed::IN_TIME, "the policy is enforced", async || {
        patch(&client, &crd("v1.1.0", "standard"), dry_run.clone()).await.is_err()
    })
    .await
    .unwrap();
    for (version, channel, refusal) in [
        ("v1.2.0", "standard", None),
        ("v1.1.9", "standard", Some("bundle v1.1.9 must not replace v1.2.0")),
        ("v0.9.0", "standard", Some("bundle v0.9.0 must not replace v1.2.0")),
        ("v1.2.0-rc1", "standard", Some("bundle v1.2.0-rc1 must not replace v1.2.0")),
        ("", "standard", Some("bundle without a version must not replace v1.2.0")),
        ("monthly-2026.01", "standard", Some("bundle monthly-2026.01 must not replace v1.2.0")),
        ("v1.3.0", "experimental", Some("an experimental CRD must not replace a standard one")),
        ("v1.10.0-rc1", "standard", None),
        ("v1.10.0", "standard", None),
        ("v1.9.0", "standard", Some("bundle v1.9.0 must not replace v1.10.0")),
        ("v2.0.0", "standard", None),
    ] {
        let outcome = apply(&client, &crd(version, channel)).await;
        match refusal {
            None => assert_eq!(outcome, Ok(()), "{version} {channel}"),
            Some(words) => {
                let error = outcome.expect_err(version);
                assert!(error.contains(words), "{version} {channel}: {error}");
            }
        }
    }
}

/// A CRD of a group of its own, with one version for each name and the properties of their `spec`.
fn thing_crd(group: &str, version: &str, api_versions: &[&str], spec: &Value) -> Value {
    let versions: Vec<Value> = api_versions
        .iter()
        .enumerate()
        .map(|(place, name)| {
            json!({"name": name, "served": true, "storage": place == 0, "schema": {"openAPIV3Schema": {
                "type": "object", "properties": {"spec": {"type": "object", "properties": spec}},
            }}})
        })
        .collect();
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("things.{group}"), "annotations": {
            format!("{group}/bundle-version"): version, format!("{group}/channel"): "standard",
        }},
        "spec": {"group": group, "scope": "Cluster", "names": {"kind": "Thing", "plural": "things"}, "versions": versions},
    })
}

/// Runs `clearway bundle` against a cluster, with a bundle on standard input.
fn bundle(kubeconfig: &std::path::Path, arguments: &[&str], input: &Value) -> (i32, Value) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_clearway"))
        .arg("bundle")
        .args(arguments)
        .args(["-o", "json", "--kubeconfig"])
        .arg(kubeconfig)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input.to_string().as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let data = serde_json::from_slice(&output.stdout).unwrap_or_default();
    (output.status.code().unwrap_or(-1), data)
}

/// Runs `clearway snapshot collect` for a bundle.
fn collect(kubeconfig: &std::path::Path, domain: &str, directory: &str, more: &[&str]) {
    let output = Command::new(env!("CARGO_BIN_EXE_clearway"))
        .args(["snapshot", "collect", "--no-graph", "--bundle", domain, "--output-dir", directory, "--kubeconfig"])
        .arg(kubeconfig)
        .args(more)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}

/// Runs `clearway bundle preflight` on a snapshot.
fn preflight_of(snapshot: &str, new: &Value) -> (i32, Value) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_clearway"))
        .args(["bundle", "preflight", "-", "--snapshot", snapshot, "-o", "json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(new.to_string().as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    (output.status.code().unwrap_or(-1), serde_json::from_slice(&output.stdout).unwrap_or_default())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_preflight_names_what_a_new_bundle_would_do_to_stored_objects() {
    const GROUP: &str = "preflight.example.com";
    let Some(cluster) = cluster().await else { return };
    let client = cluster.client().await.unwrap();
    let kubeconfig = cluster.kubeconfig();
    let text = json!({"type": "string"});
    let both = json!({"a": text, "b": text});
    // First stored in v1beta1, then in v1: the API server remembers both.
    apply(&client, &thing_crd(GROUP, "v1.0.0", &["v1beta1", "v1"], &both)).await.unwrap();
    apply(&client, &thing_crd(GROUP, "v1.1.0", &["v1", "v1beta1"], &both)).await.unwrap();
    for number in 0..3 {
        let thing = json!({
            "apiVersion": format!("{GROUP}/v1"), "kind": "Thing", "metadata": {"name": format!("t{number}")},
            "spec": {"a": "long text", "b": "x"},
        });
        wait_until(clearway_testbed::IN_TIME, "the kind is served", async || apply(&client, &thing).await.is_ok())
            .await
            .unwrap();
    }
    let problems = |data: &Value| -> Vec<String> {
        let findings = data.as_array().unwrap().iter();
        findings.map(|finding| finding["problem"].as_str().unwrap().to_owned()).collect()
    };

    let (code, data) = bundle(kubeconfig, &["preflight", "-"], &thing_crd(GROUP, "v1.2.0", &["v1", "v1beta1"], &both));
    assert_eq!((code, data), (0, json!([])));

    let next = thing_crd(GROUP, "v1.2.0", &["v1"], &both);
    let (code, data) = bundle(kubeconfig, &["preflight", "-"], &next);
    assert_eq!((code, problems(&data)), (1, vec!["orphaned-stored-version".to_owned()]), "{data}");
    assert_eq!((&data[0]["count"], &data[0]["objects"][0]["name"]), (&3.into(), &"t0".into()), "{data}");

    // After a migration nothing is stored in the old version; a dry run changes nothing.
    let crd = format!("things.{GROUP}");
    let (code, data) = bundle(kubeconfig, &["migrate", &crd, "--dry-run"], &Value::Null);
    assert_eq!((code, &data[0]["rewritten"], &data[0]["pruned"]), (0, &3.into(), &false.into()), "{data}");
    let (code, data) = bundle(kubeconfig, &["migrate", &crd], &Value::Null);
    assert_eq!((code, &data[0]["rewritten"], &data[0]["pruned"]), (0, &3.into(), &true.into()), "{data}");
    let (code, data) = bundle(kubeconfig, &["preflight", "-"], &next);
    assert_eq!((code, data), (0, json!([])), "what was refused before passes");

    // A rollback to a bundle without `b` would drop it in silence.
    let older = thing_crd(GROUP, "v1.0.0", &["v1", "v1beta1"], &json!({"a": text}));
    let (code, data) = bundle(kubeconfig, &["preflight", "-"], &older);
    assert_eq!((code, problems(&data)), (1, vec!["rollback".to_owned(), "lost-fields".to_owned()]), "{data}");
    assert_eq!((&data[1]["count"], &data[1]["objects"][2]["fields"]), (&3.into(), &json!(["spec.b"])), "{data}");

    let strict = json!({"a": {"type": "string", "maxLength": 3}, "b": text});
    let (code, data) =
        bundle(kubeconfig, &["preflight", "-"], &thing_crd(GROUP, "v1.2.0", &["v1", "v1beta1"], &strict));
    assert_eq!((code, problems(&data)), (1, vec!["refused-objects".to_owned()]), "{data}");

    // A snapshot gives the same findings as the cluster that it was taken from.
    let place = tempfile::tempdir().unwrap();
    let kept = place.path().join("kept").display().to_string();
    collect(kubeconfig, GROUP, &kept, &[]);
    for new in [
        thing_crd(GROUP, "v1.2.0", &["v1", "v1beta1"], &both),
        next.clone(),
        older.clone(),
        thing_crd(GROUP, "v1.2.0", &["v1", "v1beta1"], &strict),
        thing_crd(GROUP, "v1.4.0", &["v1beta1", "v1"], &strict),
        thing_crd(GROUP, "v1.2.0", &["v1beta1"], &strict),
        thing_crd(GROUP, "v1.2.0", &["v2"], &both),
    ] {
        let live = bundle(kubeconfig, &["preflight", "-"], &new);
        assert_eq!(preflight_of(&kept, &new), live, "{new}");
    }
    // Names were replaced, so nothing is known about the values; another bundle is not in the snapshot.
    let redacted = place.path().join("redacted").display().to_string();
    collect(kubeconfig, GROUP, &redacted, &["--redact"]);
    let (code, data) = preflight_of(&redacted, &thing_crd(GROUP, "v1.2.0", &["v1", "v1beta1"], &strict));
    assert_eq!((code, problems(&data)), (2, vec!["not-checked".to_owned()]), "{data}");
    assert_eq!(preflight_of(&kept, &thing_crd("other.example.com", "v1.2.0", &["v1"], &both)).0, 3);
    let none = place.path().join("none").display().to_string();
    collect(kubeconfig, "other.example.com", &none, &[]);
    assert_eq!(preflight_of(&none, &thing_crd("other.example.com", "v1.2.0", &["v1"], &both)), (0, json!([])));

    let installed = ["installed", "--annotation-domain", GROUP];
    let (code, data) = bundle(kubeconfig, &installed, &Value::Null);
    assert_eq!((code, &data[0]["version"], &data[0]["problems"]), (0, &"v1.1.0".into(), &json!([])), "{data}");
    assert_eq!(data[0]["crds"][0]["storedVersions"], json!(["v1"]), "{data}");
    let expected = thing_crd(GROUP, "v1.1.0", &["v1", "v1beta1"], &json!({"a": text}));
    let (code, data) = bundle(kubeconfig, &[&installed[..], &["--expect", "-"]].concat(), &expected);
    assert_eq!((code, &data[0]["problems"][0]["kind"]), (1, &"modified".into()), "{data}");
}
