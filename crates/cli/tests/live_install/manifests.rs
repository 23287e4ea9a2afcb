//! `install --dry-run` prints what `install` applies, without a cluster; and what `--apply-updates` asks for.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::{PINNED, Said, api, bare, create, get, run};

const NOWHERE: &str = "/nowhere/kubeconfig";
/// A public key, as `openssl ec -pubout` writes it.
pub(crate) const KEY: &str = "-----BEGIN PUBLIC KEY-----
MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEBp3WhzY2HKiSgjUNyHhwYkNOTzZS
G8x3vWyoS4jETpbUxpzTQEGHeeVMjqMAgQARzWRkTpB9NRqvJnCx0ohp6A==
-----END PUBLIC KEY-----
";

/// The documents of YAML.
fn documents(text: &str) -> Vec<Value> {
    text.split("---\n").skip(1).map(|document| serde_saphyr::from_str(document).unwrap()).collect()
}

#[test]
fn a_dry_run_prints_every_manifest_and_needs_no_cluster() {
    let plain = run(Path::new(NOWHERE), &format!("install --dry-run --image {PINNED} --upstream https://u.example"));
    assert_eq!((plain.code, plain.err.as_str()), (0, ""), "{}", plain.out);
    let listed =
        run(Path::new(NOWHERE), &format!("install --dry-run --image {PINNED} --upstream https://u.example -o json"));
    let list: Value = serde_json::from_str(&listed.out).unwrap();
    assert_eq!((&list["apiVersion"], &list["kind"]), (&json!("v1"), &json!("List")));
    assert_eq!(list["items"], Value::Array(documents(&plain.out)), "the same objects in the same order");
    let kinds: Vec<&str> =
        list["items"].as_array().unwrap().iter().map(|object| object["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds[..2], ["CustomResourceDefinition", "Namespace"], "in the order of applying");
    for kind in ["Deployment", "NetworkPolicy", "PodDisruptionBudget", "ServiceAccount", "ClusterRole", "Role"] {
        assert!(kinds.contains(&kind), "{kind}: {kinds:?}");
    }
    // The same bytes each time, also where nothing names a cluster.
    let output = Command::new(env!("CARGO_BIN_EXE_clearway"))
        .args(["install", "--dry-run", "--image", PINNED, "--upstream", "https://u.example"])
        .env_clear()
        .output()
        .unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), plain.out);
    let adopted = run(
        Path::new(NOWHERE),
        &format!("install --dry-run --image {PINNED} --upstream https://u.example --adopt 1.0.0"),
    );
    assert_eq!((adopted.code, &adopted.out), (0, &plain.out));
    assert!(adopted.err.starts_with("note: --adopt writes a status"), "{}", adopted.err);
    let both = run(Path::new(NOWHERE), "install --dry-run --diff");
    assert_eq!(both.code, 3, "{}", both.err);
}

#[test]
fn a_tag_is_warned_about() {
    let tagged = run(Path::new(NOWHERE), "install --dry-run --image example.com/clearway:1");
    assert_eq!(tagged.code, 0);
    assert!(tagged.err.starts_with("warning: the image example.com/clearway:1 is named by a tag"), "{}", tagged.err);
}

#[tokio::test]
async fn what_is_printed_is_what_is_applied() {
    let Some((cluster, client)) = bare().await else { return };
    let printed = run(Path::new(NOWHERE), &format!("install --dry-run --image {PINNED}"));
    for object in documents(&printed.out) {
        let namespace = object["metadata"]["namespace"].as_str().map(str::to_owned);
        create(&client, object, namespace.as_deref()).await;
    }
    let diff = run(cluster.kubeconfig(), &format!("install --diff --image {PINNED} -o json"));
    assert_eq!(diff.code, 0, "{}", diff.err);
    let differing: Vec<_> = diff.objects().into_iter().filter(|(_, _, action)| action != "unchanged").collect();
    assert_eq!(differing, []);
}

fn with_keys(here: &Path, keys: &[&Path]) -> Said {
    let keys: Vec<String> = keys.iter().map(|key| format!("--release-key {}", key.display())).collect();
    run(here, &format!("install --apply-updates {} --image {PINNED} -o json", keys.join(" ")))
}

#[test]
fn applying_updates_takes_a_decision_about_signatures() {
    let directory = tempfile::tempdir().unwrap();
    let undecided = run(Path::new(NOWHERE), "install --dry-run --apply-updates");
    assert_eq!((undecided.code, undecided.out.as_str()), (3, ""));
    assert!(
        undecided.err.contains("--apply-updates needs --release-key FILE, or --allow-unsigned"),
        "{}",
        undecided.err
    );
    let pointless = run(Path::new(NOWHERE), "install --dry-run --allow-unsigned-releases");
    assert_eq!(pointless.code, 3, "{}", pointless.err);

    let unsigned = format!(
        "install --dry-run --apply-updates --allow-unsigned-releases --image {PINNED} --upstream https://u.example"
    );
    let unsigned = run(Path::new(NOWHERE), &unsigned);
    assert_eq!(unsigned.code, 0, "{}", unsigned.err);
    let [warning, adds, account, ..] = unsigned.err.lines().collect::<Vec<_>>()[..] else { panic!("{}", unsigned.err) };
    assert_eq!(
        warning,
        "warning: releases are applied without checking signatures; pass the keys with --release-key FILE"
    );
    assert_eq!(adds, "note: --apply-updates adds");
    assert_eq!(account, "  the service account clearway:clearway-updater, in the whole cluster:");
    assert!(unsigned.err.contains("\n    every verb: every resource (every API group)\n"), "{}", unsigned.err);

    let wrong = run(Path::new(NOWHERE), "install --dry-run --deny-metrics (");
    assert_eq!(wrong.code, 3);
    assert!(wrong.err.contains("--deny-metrics is not a regular expression"), "{}", wrong.err);

    let private = directory.path().join("private.pem");
    let block = KEY.replace("PUBLIC", "PRIVATE");
    std::fs::write(&private, format!("{KEY}{block}")).unwrap();
    let refused = with_keys(Path::new(NOWHERE), &[&private]);
    assert_eq!(refused.code, 3);
    assert!(refused.err.contains("contains a private key"), "{}", refused.err);
    let none = directory.path().join("none.pem");
    std::fs::write(&none, "hello").unwrap();
    let refused = with_keys(Path::new(NOWHERE), &[&none]);
    assert!(refused.code == 3 && refused.err.contains("it contains no public key"), "{}", refused.err);
}

#[tokio::test]
async fn keys_are_mounted_cannot_be_changed_in_place_and_are_replaced_by_install() {
    let Some((cluster, client)) = bare().await else { return };
    let here = cluster.kubeconfig();
    let directory = tempfile::tempdir().unwrap();
    let (one, two) = (directory.path().join("platform.pub"), directory.path().join("next.pub"));
    for file in [&one, &two] {
        std::fs::write(file, KEY).unwrap();
    }
    let made = with_keys(here, &[&one]);
    assert_eq!(made.action("ConfigMap", "clearway-release-keys"), "created", "{}", made.err);
    assert_eq!(with_keys(here, &[&one]).action("ConfigMap", "clearway-release-keys"), "unchanged");
    let stored = async || {
        let maps = api(&client, "v1", "ConfigMap", Some("clearway"));
        let map = maps.get_opt("clearway-release-keys").await.unwrap().map(|map| map.data["data"].clone());
        let deployment =
            api(&client, "apps/v1", "Deployment", Some("clearway")).get("clearway-operator").await.unwrap();
        let template = deployment.data["spec"]["template"].clone();
        let arguments = template["spec"]["containers"][0]["args"].to_string();
        (map, template["metadata"]["annotations"]["clearway.dev/release-keys"].clone(), arguments)
    };
    let (map, before, arguments) = stored().await;
    assert_eq!(map, Some(json!({"platform.pub": KEY})));
    assert!(arguments.contains("--release-key=/etc/clearway/release-keys/platform.pub"), "{arguments}");
    let patch = kube::api::Patch::Merge(json!({"data": {"platform.pub": "another"}}));
    let maps = api(&client, "v1", "ConfigMap", Some("clearway"));
    let refused = maps.patch("clearway-release-keys", &kube::api::PatchParams::default(), &patch).await;
    assert!(refused.unwrap_err().to_string().contains("immutable"), "not even an administrator changes them in place");

    let both = with_keys(here, &[&one, &two]);
    assert_eq!(both.action("ConfigMap", "clearway-release-keys"), "configured", "{}{}", both.out, both.err);
    let (map, after, arguments) = stored().await;
    assert_eq!(map, Some(json!({"platform.pub": KEY, "next.pub": KEY})));
    assert_ne!(before, after, "the pods are replaced");
    assert!(arguments.contains("next.pub"), "{arguments}");

    let back = run(here, "install --unset apply-updates -o json");
    assert_eq!(back.action("ConfigMap", "clearway-release-keys"), "deleted", "{}", back.err);
    assert_eq!(back.action("ServiceAccount", "clearway-updater"), "deleted");
    let (map, _, arguments) = stored().await;
    assert!(map.is_none() && !arguments.contains("--apply-updates"), "{arguments}");
    assert_eq!(get(&client, "rbac.authorization.k8s.io/v1", "ClusterRole", "clearway-updater").await, None);
}
