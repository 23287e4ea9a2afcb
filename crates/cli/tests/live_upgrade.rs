//! `clearway upgrade` on a real API server, with Clearway's own CRDs of both channels and with somebody else's.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use clearway_testbed::{Cluster, ClusterOptions, own_cluster, wait_until};
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::{Value, json};

const SOON: Duration = clearway_testbed::IN_TIME;
const STORY: &str = include_str!("offline/upgrade/story.yaml");
const STANDARD: &str = include_str!("../../../crds/standard/clusterversions.config.openshift.io.yaml");
const EXPERIMENTAL: &str = include_str!("../../../crds/experimental/clusterversions.config.openshift.io.yaml");
const COMPONENTS: &str = include_str!("../../../crds/experimental/componentversions.clearway.dev.yaml");

/// An API server of its own for each test: there is one `ClusterVersion`.
struct Lab {
    cluster: Cluster,
    client: Client,
}

impl Lab {
    /// With this CRD, and the story's object in it.
    async fn open(definition: &Value) -> Option<Self> {
        let cluster = own_cluster(&ClusterOptions::api_only()).await?;
        let client = cluster.client().await.unwrap();
        let lab = Lab { cluster, client };
        lab.define(definition).await;
        lab.create(yaml(STORY)).await;
        Some(lab)
    }

    fn api(&self, api_version: &str, kind: &str) -> Api<DynamicObject> {
        let (group, version) = api_version.split_once('/').unwrap();
        Api::all_with(self.client.clone(), &ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind)))
    }

    fn versions(&self) -> Api<DynamicObject> {
        self.api("config.openshift.io/v1", "ClusterVersion")
    }

    async fn define(&self, definition: &Value) {
        let definitions = self.api("apiextensions.k8s.io/v1", "CustomResourceDefinition");
        let name = definition["metadata"]["name"].as_str().unwrap();
        let apply = PatchParams::apply("test").force();
        definitions.patch(name, &apply, &Patch::Apply(definition)).await.unwrap();
        wait_until(SOON, "the kind is served", async || {
            let known = serde_json::to_value(definitions.get(name).await.unwrap()).unwrap();
            let conditions = known["status"]["conditions"].as_array().cloned().unwrap_or_default();
            conditions.iter().any(|one| one["type"] == "Established" && one["status"] == "True")
        })
        .await
        .unwrap();
    }

    /// Creates an object and its status.
    async fn create(&self, object: Value) {
        let api = self.api(object["apiVersion"].as_str().unwrap(), object["kind"].as_str().unwrap());
        let name = object["metadata"]["name"].as_str().unwrap();
        let made: DynamicObject = serde_json::from_value(object.clone()).unwrap();
        wait_until(SOON, "the kind takes objects", async || match api.create(&PostParams::default(), &made).await {
            Ok(_) => true,
            Err(kube::Error::Api(status)) if status.code == 409 => true,
            Err(kube::Error::Api(status)) if status.code == 404 => false,
            Err(error) => panic!("{error}"),
        })
        .await
        .unwrap();
        let mut status = object["status"].clone();
        status["observedGeneration"] = 1.into();
        let patch = Patch::Merge(json!({"status": status}));
        api.patch_status(name, &PatchParams::default(), &patch).await.unwrap();
    }

    async fn stored(&self) -> Value {
        serde_json::to_value(self.versions().get("version").await.unwrap()).unwrap()
    }

    async fn run(&self, arguments: &[&str]) -> Answer {
        run(self.cluster.kubeconfig(), arguments).await
    }
}

struct Answer {
    code: Option<i32>,
    out: String,
    err: String,
}

impl Answer {
    fn new(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Answer { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }

    /// Asserts the exit code, and what is said anywhere.
    #[track_caller]
    fn is(&self, code: i32, said: &str) {
        let Answer { out, err, .. } = self;
        assert!(self.code == Some(code) && (out.contains(said) || err.contains(said)), "{:?}\n{out}\n{err}", self.code);
    }
}

fn command(kubeconfig: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_clearway"));
    command.arg("upgrade").args(arguments).arg("--kubeconfig").arg(kubeconfig).env_remove("CLEARWAY_STATE");
    command.stdin(Stdio::null());
    command
}

async fn run(kubeconfig: &Path, arguments: &[&str]) -> Answer {
    let mut command = command(kubeconfig, arguments);
    Answer::new(tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap())
}

fn yaml(text: &str) -> Value {
    serde_saphyr::from_str(text).unwrap()
}

/// A definition as OpenShift has it: the same fields, and nothing of ours.
fn foreign() -> Value {
    let mut definition = yaml(STANDARD);
    definition["metadata"]["annotations"] = json!({"api-approved.openshift.io": "https://example.com/495"});
    definition
}

/// U13, U22: the same texts as from a directory, on each definition; a request is taken, kept and taken back.
#[tokio::test]
async fn the_story_is_told_from_a_cluster() {
    let Some(lab) = Lab::open(&foreign()).await else { return };
    lab.run(&[]).await.is(0, include_str!("offline/golden/upgrade-list.txt"));
    lab.run(&["--include-not-recommended"]).await.is(0, include_str!("offline/golden/upgrade-all.txt"));
    lab.run(&["recommend"]).await.is(0, "Recommended: update to 4.6.43");
    lab.run(&["recommend", "--version", "4.7.4"]).await.is(1, "VSphereNodeNameChanges: applies to this cluster");
    lab.run(&["recommend", "--version", "4.7.4", "--accept", "ConditionalUpdateRisk"])
        .await
        .is(0, "--allow-not-recommended");
    lab.run(&["--to", "4.7.4"]).await.is(1, "use --allow-not-recommended");
    lab.run(&["--to", "4.6.99-example"]).await.is(2, "Recommended=Unknown");
    assert_eq!(lab.stored().await["spec"]["desiredUpdate"], Value::Null);
    lab.run(&["--to", "4.7.4", "--allow-not-recommended"]).await.is(0, "Requested update to 4.7.4\n");
    let stored = lab.stored().await;
    assert_eq!(
        stored["spec"]["desiredUpdate"],
        json!({
            "architecture": "", "version": "4.7.4", "force": false,
            "image": "quay.io/openshift-release-dev/ocp-release@sha256:999a6a4bd731075e389ae601b373194c6cb2c7b4dadd1ad06ef607e86476b129",
        })
    );
    lab.run(&["status"]).await.is(2, "the operator has not observed the latest spec yet; 4.7.4 is requested");
    let generation = stored["metadata"]["generation"].clone();
    lab.run(&["--to", "4.7.4", "--allow-not-recommended"]).await.is(0, "Requested update to 4.7.4 again\n");
    let again = lab.stored().await;
    assert_eq!(again["metadata"]["generation"], generation);
    assert_ne!(again["metadata"]["resourceVersion"], stored["metadata"]["resourceVersion"], "the operator hears of it");
    lab.run(&["--clear"]).await.is(0, "Cancelled requested upgrade to 4.7.4\n");
    lab.run(&["channel", "fast-4.7"]).await.is(0, "set the channel to fast-4.7");
    assert_eq!(lab.stored().await["spec"]["channel"], "fast-4.7");
    lab.run(&["history"]).await.is(0, "4.6.20   Completed");
    lab.run(&["--component", "mesh"]).await.is(3, "ComponentVersion (clearway.dev/v1alpha1) not found");
    lab.versions().delete("version", &kube::api::DeleteParams::default()).await.unwrap();
    lab.run(&[]).await.is(3, "ClusterVersion `version` not found");
    lab.cluster.apiserver().kill();
    lab.run(&[]).await.is(3, "cannot reach the API server");
}

/// A request is one merge patch of the spec: whoever keeps writing the status neither loses anything nor refuses it.
#[tokio::test]
async fn writers_of_the_status_do_not_matter() {
    let Some(lab) = Lab::open(&yaml(STANDARD)).await else { return };
    let (stop, written) = (AtomicBool::new(false), AtomicUsize::new(0));
    let writer = async {
        while !stop.load(Ordering::Relaxed) {
            let number = written.load(Ordering::Relaxed) + 1;
            let patch = Patch::Merge(json!({"status": {"versionHash": number.to_string()}}));
            match lab.versions().patch_status("version", &PatchParams::default(), &patch).await {
                // It met one of the requests too often.
                Err(kube::Error::Api(refused)) if refused.code == 409 => {}
                sent => {
                    sent.unwrap();
                    written.store(number, Ordering::Relaxed);
                }
            }
        }
    };
    let asking = async {
        for _ in 0..5 {
            for version in ["4.6.43", "4.6.42"] {
                lab.run(&["--to", version]).await.is(0, &format!("Requested update to {version}\n"));
                assert_eq!(lab.stored().await["spec"]["desiredUpdate"]["version"], version);
            }
        }
        stop.store(true, Ordering::Relaxed);
    };
    tokio::join!(writer, asking);
    let stored = lab.stored().await;
    assert!(written.load(Ordering::Relaxed) > 0, "the status was written meanwhile");
    assert_eq!(stored["status"]["versionHash"], written.load(Ordering::Relaxed).to_string());
    assert_eq!(stored["status"]["availableUpdates"].as_array().unwrap().len(), 2, "the rest of it is as it was");

    // Nobody carries it out here, so following it goes on; while the server is away that is said.
    let mut watch = command(lab.cluster.kubeconfig(), &["status", "--watch"]);
    let mut watch = watch.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(watch.stderr.take().unwrap());
    let said = tokio::task::spawn_blocking(move || {
        let mut first = String::new();
        said.read_line(&mut first).unwrap();
        (first, said)
    });
    let (first, said) = said.await.unwrap();
    assert!(first.contains("not observed the latest spec yet; 4.6.42 is requested"), "{first}");
    lab.cluster.apiserver().kill();
    let said = tokio::task::spawn_blocking(move || {
        let lines = said.lines().map_while(Result::ok);
        let away = lines.take(100).any(|line| line.contains("cannot read the object, trying again: "));
        watch.kill().unwrap();
        watch.wait().unwrap();
        away
    });
    assert!(tokio::time::timeout(SOON, said).await.unwrap().unwrap(), "it says that the server is away");
}

/// V1, V2: risks are accepted by name where that is kept, and nothing is written where it is not.
#[tokio::test]
async fn risks_are_accepted_only_where_the_definition_keeps_them() {
    let Some(lab) = Lab::open(&foreign()).await else { return };
    let accept = ["accept", "ExampleReason", "--reason", "known", "--until", "30d"];
    let before = lab.stored().await;
    lab.run(&accept).await.is(3, "does not belong to Clearway and does not support spec.acceptedRisks");
    lab.define(&yaml(STANDARD)).await;
    let refused = lab.run(&accept).await;
    refused.is(3, "is of the standard channel; use --allow-not-recommended");
    assert_eq!(refused.err.lines().count(), 1, "{}", refused.err);
    lab.run(&["accept"]).await.is(0, "There are no accepted risks.");
    // One that claims more than it keeps.
    let mut empty = yaml(STANDARD);
    empty["metadata"]["annotations"]["clearway.dev/channel"] = "experimental".into();
    lab.define(&empty).await;
    lab.run(&accept).await.is(3, "does not have the field spec.acceptedRisks");
    assert_eq!(lab.stored().await["spec"], before["spec"]);

    lab.define(&yaml(EXPERIMENTAL)).await;
    wait_until(SOON, "the other definition holds", async || lab.run(&accept).await.code == Some(0)).await.unwrap();
    assert_eq!(lab.stored().await["spec"]["acceptedRisks"][0]["name"], "ExampleReason");
    let names = ["A", "B", "C", "D"].map(|name| format!("{name},ExampleReason-"));
    let runs = names.iter().map(|name| [&["accept", name.as_str()], &accept[2..]].concat()).collect::<Vec<_>>();
    for answer in futures::future::join_all(runs.iter().map(|run| lab.run(run))).await {
        answer.is(0, "RISK");
    }
    let stored = lab.stored().await;
    let kept = stored["spec"]["acceptedRisks"].as_array().unwrap().iter().map(|risk| risk["name"].as_str().unwrap());
    let mut kept: Vec<&str> = kept.collect();
    kept.sort_unstable();
    assert_eq!(kept, ["A", "B", "C", "D"]);

    // Whoever may not see the definition is told so, and nothing is written.
    let user = lab
        .user(
            "clerk",
            json!([{"apiGroups": ["config.openshift.io"], "resources": ["clusterversions"], "verbs": ["get"]}]),
        )
        .await;
    run(&user, &["accept"]).await.is(0, "RISK");
    run(&user, &accept).await.is(3, "cannot determine whether this cluster supports accepted risks");
    run(&user, &["--to", "4.6.43"]).await.is(3, "unable to upgrade: not allowed to patch");
    assert_eq!(lab.stored().await["metadata"]["resourceVersion"], stored["metadata"]["resourceVersion"]);
}

impl Lab {
    /// A user with these rights in the whole cluster.
    async fn user(&self, name: &str, rules: Value) -> PathBuf {
        let kubeconfig = self.cluster.kubeconfig_for(name, None).unwrap();
        let rbac = "rbac.authorization.k8s.io/v1";
        let role = json!({"apiVersion": rbac, "kind": "ClusterRole", "metadata": {"name": name}, "rules": rules});
        let binding = json!({
            "apiVersion": rbac, "kind": "ClusterRoleBinding", "metadata": {"name": name},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
            "subjects": [{"kind": "User", "name": name, "apiGroup": "rbac.authorization.k8s.io"}],
        });
        for (kind, object) in [("ClusterRole", role), ("ClusterRoleBinding", binding)] {
            let object: DynamicObject = serde_json::from_value(object).unwrap();
            self.api(rbac, kind).create(&PostParams::default(), &object).await.unwrap();
        }
        wait_until(SOON, "the rights hold", async || run(&kubeconfig, &["history"]).await.code == Some(0))
            .await
            .unwrap();
        kubeconfig
    }
}

/// An add-on is followed to its end.
#[tokio::test]
async fn an_update_of_an_add_on_is_followed() {
    let Some(lab) = Lab::open(&yaml(EXPERIMENTAL)).await else { return };
    lab.define(&yaml(COMPONENTS)).await;
    lab.create(yaml(include_str!("offline/upgrade/component.yaml"))).await;
    let components = lab.api("clearway.dev/v1alpha1", "ComponentVersion");
    let mut child =
        command(lab.cluster.kubeconfig(), &["--component", "platform", "--to", "1.4.3", "--watch", "-o", "json"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
    let stored = async || serde_json::to_value(components.get("platform").await.unwrap()).unwrap();
    wait_until(SOON, "it is asked for", async || stored().await["spec"]["desiredUpdate"]["version"] == "1.4.3")
        .await
        .unwrap();
    let object = stored().await;
    let image = &object["spec"]["desiredUpdate"]["image"];
    for (state, progressing) in [("Partial", "True"), ("Completed", "False")] {
        assert!(child.try_wait().unwrap().is_none(), "it goes on");
        let completed = if state == "Completed" { json!("2026-05-04T09:30:00Z") } else { Value::Null };
        let entry = json!({"state": state, "startedTime": "2026-05-04T09:00:00Z", "completionTime": completed, "version": "1.4.3", "image": image, "verified": true});
        // Replaced whole: a patch cannot put a null into a list.
        let mut after = stored().await;
        after["status"]["observedGeneration"] = after["metadata"]["generation"].clone();
        after["status"]["history"] = json!([entry, object["status"]["history"][0]]);
        after["status"]["conditions"] = json!([{"type": "Progressing", "status": progressing, "lastTransitionTime": "2026-05-04T09:00:00Z", "message": state}]);
        let after: DynamicObject = serde_json::from_value(after).unwrap();
        components.replace_status("platform", &PostParams::default(), &after).await.unwrap();
    }
    let output = tokio::task::spawn_blocking(move || child.wait_with_output().unwrap()).await.unwrap();
    let answer = Answer::new(output);
    answer.is(0, "Component platform is at 1.4.3");
    let events: Vec<Value> = answer.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((&events[0]["event"], &events.last().unwrap()["event"]), (&json!("requested"), &json!("end")));
}
