//! Texts of strangers in a cluster: what commands print of them drives no terminal. The commands that read files are in
//! `offline/usage/hostile_text.rs`.

use std::fs;
use std::path::Path;
use std::process::Command;

use clearway_testbed::{IN_TIME, cluster, wait_until};
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, PostParams};
use kube::{Api, Client};
use serde_json::{Value, json};

use super::thing_crd;

/// A carriage return, an escape sequence, its eight-bit form, a bidirectional override, and an invisible character.
const HOSTILE: &str = "a\r\u{1b}[2J\u{9b}31m\u{202e}\u{200b}\u{7f}z";
const GROUP: &str = "odd.example.com";

fn is_hostile(letter: char) -> bool {
    (letter.is_control() && letter != '\n' && letter != '\t') || matches!(letter, '\u{202e}' | '\u{200b}')
}

/// Graph-data with a risk that asks about the hostile object.
fn write_graph_data(root: &Path) {
    let text = serde_json::to_string(HOSTILE).unwrap().replace('\u{7f}', "\\u007f").replace('\u{9b}', "\\u009b");
    let rule = format!("{{type: Resource, resource: {{apiVersion: {GROUP}/v1, kind: Odd, expression: 'true'}}}}");
    let risk = format!("to: 1.0.1\nfrom: .*\nname: {text}\nurl: {text}\nmessage: {text}\nmatchingRules: [{rule}]\n");
    for (path, text) in [
        ("version", "1.1.0\n"),
        ("channels/c.yaml", "name: c\nversions: [1.0.0, 1.0.1]\n"),
        (
            "releases/r.yaml",
            "- {version: 1.0.0, arch: amd64, payload: p}\n- {version: 1.0.1, arch: amd64, payload: q, previous: [1.0.0]}\n",
        ),
        ("blocked-edges/x.yaml", &risk),
    ] {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

/// Creates an object, as JSON: applied ones are YAML, which has no raw control characters.
async fn create(client: &Client, object: &Value) -> kube::Result<DynamicObject> {
    let (group, version) = object["apiVersion"].as_str().unwrap().split_once('/').unwrap();
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, object["kind"].as_str().unwrap()));
    let api: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
    api.create(&PostParams::default(), &serde_json::from_value(object.clone()).unwrap()).await
}

#[tokio::test(flavor = "multi_thread")]
async fn no_command_lets_text_of_a_cluster_drive_the_terminal() {
    let Some(cluster) = cluster().await else { return };
    let client = cluster.client().await.unwrap();
    let mut crd = thing_crd(GROUP, HOSTILE, &["v1"], &json!({}));
    crd["metadata"]["name"] = format!("odds.{GROUP}").into();
    crd["metadata"]["annotations"][format!("{GROUP}/channel")] = HOSTILE.into();
    crd["spec"]["names"] = json!({"kind": "Odd", "plural": "odds"});
    crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"] =
        json!({"type": "object", "description": HOSTILE, "x-kubernetes-preserve-unknown-fields": true});
    create(&client, &crd).await.unwrap();
    let condition = json!({"type": "Ready", "status": "False", "reason": HOSTILE, "message": HOSTILE});
    let object = json!({
        "apiVersion": format!("{GROUP}/v1"), "kind": "Odd",
        "metadata": {"name": "odd", "annotations": {"note": HOSTILE}},
        "spec": {"text": HOSTILE}, "status": {"conditions": [condition]},
    });
    wait_until(IN_TIME, "the kind is served", async || create(&client, &object).await.is_ok()).await.unwrap();
    let place = tempfile::tempdir().unwrap();
    write_graph_data(&place.path().join("data"));
    // What a command prints, and whether the text is in it.
    for (command, shows_it) in [
        ("bundle installed", true),
        ("bundle installed -o json", true),
        ("bundle migrate --dry-run odds.odd.example.com", false),
        ("status wait odds/odd --timeout 1s", true),
        ("status wait odds/odd --timeout 1s -o json", true),
        ("snapshot collect --graph data --channel c --version 1.0.0 --output-dir kept", false),
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_clearway"))
            .args(command.split(' '))
            .arg("--kubeconfig")
            .arg(cluster.kubeconfig())
            .current_dir(place.path())
            .env_remove("CLEARWAY_STATE")
            .output()
            .unwrap();
        let printed = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        assert!(!printed.is_empty(), "{command}");
        assert_eq!(printed.chars().find(|letter| is_hostile(*letter)), None, "{command}: {printed:?}");
        let is_shown = ["\\u{202e}", "\\u202e"].iter().any(|escape| printed.contains(escape));
        assert!(is_shown || !shows_it, "{command}: {printed}");
    }
}
