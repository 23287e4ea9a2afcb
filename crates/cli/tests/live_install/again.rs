//! `install` run again: what was given before stays, and what changes is listed.

use std::path::Path;

use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::{Value, json};

use super::manifests::KEY;
use super::{PINNED, Said, api, bare, deployment, run};

/// The arguments of the operator.
fn arguments(deployment: &Value) -> Vec<String> {
    let arguments = deployment["spec"]["template"]["spec"]["containers"][0]["args"].as_array().unwrap();
    arguments.iter().map(|argument| argument.as_str().unwrap().to_owned()).collect()
}

/// What JSON output says of the settings: those that are kept, and `name: before -> after` of those that changed.
fn settings(said: &Said) -> (Vec<String>, Vec<String>) {
    let data: Value = serde_json::from_str(&said.out).unwrap_or_else(|error| panic!("{error}: {}", said.err));
    let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    let all = |key: &str| data["settings"][key].as_array().unwrap().clone();
    let change =
        |one: &Value| format!("{}: {} -> {}", text(&one["setting"]), text(&one["before"]), text(&one["after"]));
    (all("kept").iter().map(text).collect(), all("changed").iter().map(change).collect())
}

fn install(here: &Path, options: &str) -> Said {
    let said = run(here, &format!("install {options}"));
    assert_eq!(said.code, 0, "{}{}", said.out, said.err);
    said
}

#[tokio::test]
async fn what_was_given_before_is_kept_and_changes_are_listed() {
    let Some((cluster, client)) = bare().await else { return };
    let here = cluster.kubeconfig();
    let first = format!(
        "--image {PINNED} --upstream https://me:secret@a.example --prometheus http://p --metrics authenticated --pace single \
         --fetch-every 5m --max-query-bytes 4096 --deny-metrics a.* --deny-metrics b --allow-unnamed-metrics -o json"
    );
    assert_eq!(settings(&install(here, &first)), (vec![], vec![]), "nothing was there");
    let before = deployment(&client).await;
    let passed_on = [
        "--upstream=https://me:secret@a.example",
        "--prometheus=http://p",
        "--metrics-authentication",
        "--allow-unnamed-metrics",
        "--deny-metrics=a.*",
        "--deny-metrics=b",
        "--fetch-every=5m",
        "--max-query-bytes=4096",
        "--pace=single",
    ];
    assert_eq!(arguments(&before)[6..], passed_on);

    let again = install(here, "-o json");
    assert!(again.objects().iter().all(|(_, _, action)| action != "configured"), "{}", again.out);
    let all = "allow-unnamed-metrics deny-metrics fetch-every image max-query-bytes metrics pace prometheus upstream";
    assert_eq!(settings(&again), (all.split(' ').map(str::to_owned).collect(), vec![]));
    assert!(
        again.err.starts_with("note: unchanged settings of the installed operator: --allow-unnamed-metrics, "),
        "{}",
        again.err
    );
    assert_eq!(deployment(&client).await["metadata"]["generation"], before["metadata"]["generation"]);

    let options = "--upstream https://b.example --unset prometheus --unset deny-metrics --pace batch";
    let diff = install(here, &format!("{options} --diff"));
    assert_eq!(deployment(&client).await["metadata"]["generation"], before["metadata"]["generation"]);
    let changed = install(here, options);
    let table = changed.out.split_once("\n\n").unwrap().1;
    assert_eq!(
        table,
        "\
SETTING         BEFORE             NOW
--deny-metrics  a.*, b             (not set)
--pace          single             batch
--prometheus    http://p           (not set)
--upstream      https://a.example  https://b.example
"
    );
    assert!(diff.out.ends_with(&table.split_once('\n').unwrap().1), "{}", diff.out);
    let (kept, changed) = settings(&install(here, "--unset all --upstream https://b.example -o json"));
    assert_eq!(kept, [""; 0]);
    let default = format!("image: {PINNED} -> ghcr.io/clearway-dev/clearway:{}", env!("CARGO_PKG_VERSION"));
    assert!(changed.contains(&default) && changed.contains(&"pace: batch -> -".to_owned()), "{changed:?}");
    assert_eq!(arguments(&deployment(&client).await)[6..], ["--upstream=https://b.example"]);
    let typo = run(here, "install --unset upstraem");
    assert_eq!(typo.code, 3);
    assert!(typo.err.contains("`upstraem` is not the name of a setting"), "{}", typo.err);
}

#[tokio::test]
async fn signatures_stay_required_and_other_hands_settings_are_kept_if_the_operator_knows_them() {
    let Some((cluster, client)) = bare().await else { return };
    let here = cluster.kubeconfig();
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("platform.pub");
    std::fs::write(&file, KEY).unwrap();
    install(here, &format!("--image {PINNED} --apply-updates --release-key {}", file.display()));
    let again = install(here, "-o json");
    assert_eq!(settings(&again), (["apply-updates", "image", "release-key"].map(str::to_owned).to_vec(), vec![]));
    assert_eq!(again.action("ConfigMap", "clearway-release-keys"), "unchanged");

    // Another hand's arguments: one of this operator, and one of another version.
    let mut all = arguments(&deployment(&client).await);
    all.extend(["--log=debug".to_owned(), "--gone=1".to_owned()]);
    let patch = json!({"spec": {"template": {"spec": {"containers": [{"name": "operator", "args": all}]}}}});
    let deployments = api(&client, "apps/v1", "Deployment", Some("clearway"));
    deployments.patch("clearway-operator", &PatchParams::default(), &Patch::Strategic(patch)).await.unwrap();
    let (kept, changed) = settings(&install(here, "-o json"));
    assert!(kept.contains(&"log".to_owned()), "{kept:?}");
    assert_eq!(changed, ["gone: 1 -> -"]);
    assert_eq!(arguments(&deployment(&client).await).last().unwrap(), "--log=debug");

    // Without the keys it would apply what nobody signed.
    let maps = api(&client, "v1", "ConfigMap", Some("clearway"));
    maps.delete("clearway-release-keys", &DeleteParams::default()).await.unwrap();
    let refused = run(here, "install --upstream https://u.example");
    assert_eq!(refused.code, 3, "{}", refused.out);
    let why =
        "cannot read the release keys of the current installation from the ConfigMap clearway-release-keys: not found";
    assert!(refused.err.contains(why), "{}", refused.err);
    let arguments = arguments(&deployment(&client).await);
    assert!(!arguments.contains(&"--upstream=https://u.example".to_owned()), "{arguments:?}");
    let mended = install(here, &format!("--release-key {} -o json", file.display()));
    assert_eq!(mended.action("ConfigMap", "clearway-release-keys"), "created");
}
