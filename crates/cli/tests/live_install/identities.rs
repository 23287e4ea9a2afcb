//! The operator at work with the accounts that `install` makes: what it reads, it reads as one of them.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clearway_testbed::{Cluster, Program, http, wait_until};
use kube::Client;
use kube::api::{ListParams, Patch, PatchParams};
use serde_json::{Value, json};

use super::{api, bare, get, run};

const NAMESPACE: &str = "clearway";
/// How long anything may take, on a busy machine.
const SOON: Duration = clearway_testbed::IN_TIME;

/// Starts a program of ours.
pub(crate) fn start(log: PathBuf, arguments: &[&str]) -> Program {
    let program = Program::start_with(env!("CARGO_BIN_EXE_clearway"), arguments.iter().copied(), log, |command| {
        command.env_remove("CLEARWAY_STATE");
    });
    program.unwrap()
}

/// A port that is free.
pub(crate) fn free_port() -> u16 {
    clearway_testbed::free_port().unwrap()
}

/// The operator with the token of its own service account.
pub(crate) async fn operator(cluster: &Cluster, log: PathBuf, more: &[&str]) -> Program {
    let kubeconfig = cluster.kubeconfig_for_service_account(NAMESPACE, "clearway-operator").await.unwrap();
    let kubeconfig = kubeconfig.display().to_string();
    let listen = format!("127.0.0.1:{}", free_port());
    let mut arguments = vec!["operator", "--arch", "amd64", "--kubeconfig", &kubeconfig, "--fetch-every", "1s"];
    if !more.contains(&"--status-listen") {
        arguments.extend(["--status-listen", &listen]);
    }
    arguments.extend(more);
    start(log, &arguments)
}

/// Serves two updates: a rule about namespaces is on the way to the one, a rule about service accounts on the other.
async fn serve(directory: &Path) -> (Program, String) {
    let risk = |to: &str, name: &str, kind: &str| {
        format!(
            "to: {to}\nfrom: .*\nurl: https://example.com/risk\nname: {name}\nmessage: It is so.\nmatchingRules:\n- {{type: \
             Resource, resource: {{apiVersion: v1, kind: {kind}, expression: 'object.metadata.name == \"clearway\"'}}}}\n"
        )
    };
    let release = |version: &str, previous: &[&str]| json!({"version": version, "arch": "amd64", "payload": format!("example.com/r@{version}"), "previous": previous});
    let releases = json!([release("1.0.0", &[]), release("1.0.1", &["1.0.0"]), release("1.0.2", &["1.0.0"])]);
    let data = directory.join("graph-data");
    for (path, text) in [
        ("version", "1.1.0\n".to_owned()),
        ("channels/stable-1.yaml", "name: stable-1\nversions: [1.0.0, 1.0.1, 1.0.2]\n".to_owned()),
        ("releases/all.json", releases.to_string()),
        ("blocked-edges/one.yaml", risk("1.0.1", "Readable", "Namespace")),
        ("blocked-edges/two.yaml", risk("1.0.2", "NotReadable", "ServiceAccount")),
    ] {
        let file = data.join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }
    let (port, status) = (free_port(), free_port());
    let (listen, status_listen) = (format!("127.0.0.1:{port}"), format!("127.0.0.1:{status}"));
    let data = data.display().to_string();
    let arguments = ["serve", "--graph", &data, "--listen", &listen, "--status-listen", &status_listen];
    let service = start(directory.join("serve.log"), &arguments);
    wait_until(SOON, "the service serves", async || {
        http::get(status, "/readyz").await.is_ok_and(|answer| answer.status == 200)
    })
    .await
    .unwrap();
    (service, format!("http://{listen}/api/upgrades_info"))
}

/// Whether an update is recommended, and the reason.
fn recommended(object: &Value, version: &str) -> (String, String) {
    let updates = object["status"]["conditionalUpdates"].as_array().cloned().unwrap_or_default();
    let update = updates.into_iter().find(|update| update["release"]["version"] == version).unwrap_or_default();
    let conditions = update["conditions"].as_array().cloned().unwrap_or_default();
    let condition = conditions.into_iter().find(|condition| condition["type"] == "Recommended").unwrap_or_default();
    let word = |field: &str| condition[field].as_str().unwrap_or_default().to_owned();
    (word("status"), word("reason"))
}

async fn until(admin: &Client, what: &str, is: impl Fn(&Value) -> bool) {
    let mut last = Value::Null;
    let seen = wait_until(SOON, what, async || {
        last = get(admin, "config.openshift.io/v1", "ClusterVersion", "version").await.unwrap();
        is(&last)
    })
    .await;
    assert!(seen.is_ok(), "{seen:?}\n{:#}", last["status"]);
}

#[tokio::test]
async fn rules_see_what_the_reader_may_read_and_the_operator_alone_sees_nothing() {
    let Some((cluster, admin)) = bare().await else { return };
    let directory = tempfile::tempdir().unwrap();
    assert_eq!(run(cluster.kubeconfig(), "install --channel experimental --adopt 1.0.0").code, 0);
    let (_service, url) = serve(directory.path()).await;
    let versions = api(&admin, "config.openshift.io/v1", "ClusterVersion", None);
    let patch = |patch: Value| {
        let versions = versions.clone();
        async move { versions.patch("version", &PatchParams::default(), &Patch::Merge(patch)).await.unwrap() }
    };
    patch(json!({"spec": {"channel": "stable-1"}})).await;

    let log = directory.path().join("reader.log");
    let as_reader = ["--upstream", &url, "--evidence-as", "clearway-evidence-reader"];
    let mut running = operator(&cluster, log, &as_reader).await;
    until(&admin, "one rule is evaluated, and the other cannot be", |object| {
        recommended(object, "1.0.1") == ("False".to_owned(), "Readable".to_owned())
            && recommended(object, "1.0.2").0 == "Unknown"
    })
    .await;
    let leases = api(&admin, "coordination.k8s.io/v1", "Lease", Some(NAMESPACE));
    assert_eq!(leases.list(&ListParams::default()).await.unwrap().items.len(), 1, "it leads");
    let said = running.log();
    let own: Vec<&str> = said
        .lines()
        .filter(|line| line.contains("not allowed") && !line.contains("clearway-evidence-reader"))
        .collect();
    assert_eq!(own, Vec::<&str>::new(), "nothing that it does for itself is refused");
    assert!(!said.contains("UNSIGNED"), "it applies nothing: {said}");

    // It only advises, and says so to who asks for more.
    patch(json!({"spec": {"desiredUpdate": {"version": "1.0.1", "image": "example.com/r@1.0.1"}}})).await;
    until(&admin, "who asks for an update is told", |object| {
        let conditions = object["status"]["conditions"].as_array().cloned().unwrap_or_default();
        let accepted = conditions.into_iter().find(|condition| condition["type"] == "ReleaseAccepted");
        accepted.is_some_and(|condition| {
            condition["status"] == "False"
                && condition["message"].as_str().unwrap_or_default().contains("clearway install --apply-updates")
        })
    })
    .await;
    // It gives its lease back, so that the next one does not wait for its end.
    assert_eq!(running.terminate().await.unwrap(), 0);

    patch(json!({"spec": {"desiredUpdate": null}})).await;
    let log = directory.path().join("alone.log");
    let alone = operator(&cluster, log, &["--upstream", &url, "--apply-updates"]).await;
    patch(json!({"metadata": {"annotations": {"clearway.dev/re-evaluate": "now"}}})).await;
    until(&admin, "neither rule can be evaluated", |object| {
        recommended(object, "1.0.1").0 == "Unknown" && recommended(object, "1.0.2").0 == "Unknown"
    })
    .await;
    assert!(alone.log().contains("UNSIGNED RELEASES ARE APPLIED"), "{}", alone.log());
}
