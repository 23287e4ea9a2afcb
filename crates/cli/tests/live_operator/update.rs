//! Updates in a cluster: asked for with `clearway upgrade`, carried out by an operator with the rights that `install`
//! gives it, rolled out by real controllers on simulated nodes.

use std::fs;
use std::path::Path;
use std::time::Duration;

use clearway_testbed::{prometheus, wait_until};
use kube::api::{Api, DeleteParams};
use kube::core::DynamicObject;
use serde_json::{Value, json};

use crate::lab::{ID, Lab, SOON, available, condition, recommended, serve};

pub(crate) const STORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/story/graph-data");
const METRICS: &str = "vsphere_node_hw_version_total{hw_version=\"vmx-14\"} 3
cluster_infrastructure_provider{type=\"VSphere\"} 1
cluster_proxy_enabled{type=\"https\"} 1
cluster_version{type=\"current\",version=\"4.6.23\"} 1
";

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let (path, name) = entry.map(|entry| (entry.path(), entry.file_name())).unwrap();
        if path.is_dir() {
            copy(&path, &to.join(name));
        } else {
            fs::copy(path, to.join(name)).unwrap();
        }
    }
}

/// A release directory with these objects.
pub(crate) fn release(directory: &Path, version: &str, objects: &[Value]) {
    let manifests = directory.join("release-manifests");
    fs::create_dir_all(&manifests).unwrap();
    fs::write(
        manifests.join("release-metadata"),
        json!({"kind": "cincinnati-metadata-v0", "version": version}).to_string(),
    )
    .unwrap();
    for (at, object) in objects.iter().enumerate() {
        fs::write(manifests.join(format!("0000_50_sample_{at:03}.yaml")), object.to_string()).unwrap();
    }
}

pub(crate) fn namespace() -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})
}

pub(crate) fn config(name: &str, text: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "shop"}, "data": {"text": text}})
}

pub(crate) fn deployment(name: &str, image: &str, node: Option<&str>) -> Value {
    let selector = node.map_or(json!({}), |node| json!({"kubernetes.io/hostname": node}));
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": "shop"},
        "spec": {"replicas": 2, "selector": {"matchLabels": {"app": name}}, "template": {
            "metadata": {"labels": {"app": name}},
            "spec": {"nodeSelector": selector, "containers": [{"name": "web", "image": image}]},
        }},
    })
}

/// The present entry of the history.
fn newest(object: &Value) -> &Value {
    &object["status"]["history"][0]
}

pub(crate) fn is_completed(object: &Value, version: &str) -> bool {
    newest(object)["version"] == version && newest(object)["state"] == "Completed"
}

/// The whole story: three risks apply, the list says so, the administrator takes them on, the release is rolled out, and
/// the history says what was accepted (U6, U10–U14).
#[tokio::test]
async fn the_story_from_advice_to_history() {
    let Some(lab) = Lab::installed("4.6.23", "stable-4.6").await else { return };
    let Some(metrics) = prometheus(METRICS).await else { return };
    let data = lab.path("graph-data");
    copy(Path::new(STORY), &data);
    let payload = lab.path("4.7.4");
    release(&payload, "4.7.4", &[namespace(), config("settings", "new"), deployment("web", "example.com/web:2", None)]);
    let releases = data.join("releases/openshift.yaml");
    let text = fs::read_to_string(&releases).unwrap();
    let image = text
        .lines()
        .skip_while(|line| !line.contains("4.7.4"))
        .find_map(|line| line.trim().strip_prefix("payload: "))
        .unwrap();
    fs::write(&releases, text.replace(image, &payload.display().to_string())).unwrap();
    let (_service, url) = serve(&data, lab.path("serve.log")).await;
    let _operator = lab.operator("operator.log", &["--upstream", &url, "--prometheus", &metrics.base_url()]);
    lab.until("advice is complete", |object| {
        recommended(object, "4.7.4").1 == "MultipleReasons" && available(object).len() > 2
    })
    .await;

    let (code, list) = lab.run(&["upgrade"]);
    assert!(code == 0 && list.starts_with("Cluster version is 4.6.23\n"), "{list}");
    assert!(list.contains("to view those re-run the command with --include-not-recommended."), "{list}");
    let (_, list) = lab.run(&["upgrade", "--include-not-recommended"]);
    let section = list.split("Supported but not recommended updates:\n").nth(1).expect(&list);
    assert!(
        section.contains("  Version: 4.7.4\n")
            && section.contains("  Recommended: False\n  Reason: MultipleReasons\n  Message:"),
        "{section}"
    );
    let (code, refused) = lab.run(&["upgrade", "--to", "4.7.4"]);
    assert!(code == 1 && refused.contains("--allow-not-recommended"), "{code} {refused}");
    assert_eq!(lab.version().await["spec"].get("desiredUpdate"), None, "nothing was written");

    let (code, asked) = lab.run(&["upgrade", "--to", "4.7.4", "--allow-not-recommended"]);
    assert!(code == 0 && asked.contains("Requested update to 4.7.4"), "{asked}");
    let object = lab.until("the update is completed", |object| is_completed(object, "4.7.4")).await;
    let history = object["status"]["history"].as_array().unwrap();
    assert_eq!(history.len(), 2, "{history:?}");
    let accepted = newest(&object)["acceptedRisks"].as_str().unwrap();
    assert!(accepted.starts_with("Updating from 4.6.23 to 4.7.4 is supported, but not recommended for this cluster.\n\nReason: MultipleReasons\n\n"), "{accepted}");
    for words in [
        "On clusters with a Proxy configured",
        "vSphere clusters leveraging",
        "Clusters on vSphere Virtual Hardware Version 14",
    ] {
        assert!(accepted.contains(words), "{accepted}");
    }
    assert_eq!(condition(&object["status"]["conditions"], "Progressing").2, "Cluster version is 4.7.4");
    let (_, history) = lab.run(&["upgrade", "history"]);
    assert!(history.contains("4.7.4") && history.contains("Completed"), "{history}");
    let web = namespaced(&lab, "apps/v1", "Deployment");
    assert_eq!(web.get("web").await.unwrap().data["status"]["readyReplicas"], 2, "it was rolled out");
}

/// Releases that cannot be had or carried out: the condition says which and why, nothing is lost, and a change of mind helps.
#[tokio::test]
async fn what_goes_wrong_is_said_and_a_change_of_mind_helps() {
    let Some(lab) = Lab::installed("1.0.0", "stable-1").await else { return };
    let _operator = lab.operator("operator.log", &[]);
    let ask = async |image: &Path, version: &str| {
        lab.patch(json!({"spec": {"desiredUpdate": {"image": image.display().to_string(), "version": version}}})).await;
    };
    let not_accepted = |object: &Value| condition(&object["status"]["conditions"], "ReleaseAccepted");
    // A release that is not there.
    ask(&lab.path("nowhere"), "").await;
    let object = lab
        .until("it cannot be retrieved", |object| {
            not_accepted(object).1 == "RetrievePayload" && not_accepted(object).0 == "False"
        })
        .await;
    assert_eq!(object["status"]["history"].as_array().map(Vec::len), Some(1), "nothing has begun");
    // A release of another version than was asked for.
    release(&lab.path("other"), "1.0.9", &[namespace()]);
    ask(&lab.path("other"), "1.0.1").await;
    lab.until("it is of another version", |object| not_accepted(object).1 == "VerifyPayloadVersion").await;
    // Manifests that are none.
    release(&lab.path("broken"), "1.0.1", &[json!({"kind": "ConfigMap"})]);
    ask(&lab.path("broken"), "1.0.1").await;
    lab.until("it cannot be read", |object| not_accepted(object).1 == "LoadPayload").await;
    // An object that the API server refuses.
    release(&lab.path("refused"), "1.0.1", &[namespace(), config("Bad_Name", "x")]);
    ask(&lab.path("refused"), "1.0.1").await;
    let failing = |object: &Value| condition(&object["status"]["conditions"], "Failing");
    let object = lab.until("it fails", |object| failing(object).0 == "True").await;
    assert!(failing(&object).2.contains("Bad_Name"), "{:?}", failing(&object));
    assert_eq!(newest(&object)["state"], "Partial");
    // A workload that never becomes healthy: what is waited for is named.
    let stuck = [namespace(), deployment("web", "example.com/web:1", Some("no-such-node"))];
    release(&lab.path("stuck"), "1.0.2", &stuck);
    ask(&lab.path("stuck"), "1.0.2").await;
    lab.until("what it waits for is named", |object| {
        condition(&object["status"]["conditions"], "Progressing").2.contains("waiting on Deployment.apps shop/web")
    })
    .await;
    // A change of mind.
    release(
        &lab.path("good"),
        "1.0.3",
        &[namespace(), config("settings", "x"), deployment("web", "example.com/web:1", None)],
    );
    ask(&lab.path("good"), "1.0.3").await;
    let object = lab.until("the other one is completed", |object| is_completed(object, "1.0.3")).await;
    let states: Vec<&str> =
        object["status"]["history"].as_array().unwrap().iter().map(|entry| entry["state"].as_str().unwrap()).collect();
    assert_eq!(states, ["Completed", "Partial", "Partial", "Completed"]);
    // The way back, by version: it is in the history.
    release(&lab.path("good2"), "1.0.4", &[namespace(), deployment("web", "example.com/web:2", None)]);
    ask(&lab.path("good2"), "1.0.4").await;
    lab.until("an update is completed", |object| is_completed(object, "1.0.4")).await;
    let configs = namespaced(&lab, "v1", "ConfigMap");
    wait_until(SOON, "what the release no longer has is gone", async || {
        configs.get_opt("settings").await.unwrap().is_none()
    })
    .await
    .unwrap();
    lab.patch(json!({"spec": {"desiredUpdate": {"version": "1.0.3", "image": ""}}})).await;
    lab.until("it is back", |object| is_completed(object, "1.0.3")).await;
    assert!(configs.get_opt("settings").await.unwrap().is_some());
}

/// An add-on has a version of its own; what it owns, another release does not take.
#[tokio::test]
async fn an_add_on_has_a_version_of_its_own() {
    let Some(lab) = Lab::installed_without_controllers("1.0.0", "stable-1").await else { return };
    let _operator = lab.operator("operator.log", &[]);
    let (addon, platform) = (lab.path("addon"), lab.path("platform"));
    release(&addon, "0.3.0", &[namespace(), config("settings", "of the add-on")]);
    lab.create(&json!({
        "apiVersion": "clearway.dev/v1alpha1", "kind": "ComponentVersion", "metadata": {"name": "shop"},
        "spec": {"clusterID": ID, "desiredUpdate": {"image": addon.display().to_string()}},
    }))
    .await;
    let components = lab.api("clearway.dev/v1alpha1", "ComponentVersion");
    let mut component = Value::Null;
    wait_until(SOON, "the add-on is there", async || {
        component = components.get("shop").await.map(|found| serde_json::to_value(found).unwrap()).unwrap_or_default();
        is_completed(&component, "0.3.0")
    })
    .await
    .unwrap();
    let conditions = &component["status"]["conditions"];
    assert_eq!(condition(conditions, "Progressing").2, "Component version is 0.3.0");
    let settings = namespaced(&lab, "v1", "ConfigMap").get("settings").await.unwrap();
    assert_eq!(settings.metadata.labels.unwrap()["clearway.dev/owner"], "ComponentVersion.shop");

    release(&platform, "1.0.1", &[config("settings", "of the platform")]);
    lab.patch(json!({"spec": {"desiredUpdate": {"image": platform.display().to_string()}}})).await;
    let object = lab
        .until("it is not taken over", |object| {
            condition(&object["status"]["conditions"], "Failing").1 == "OwnedByAnother"
        })
        .await;
    assert!(
        newest(&object)["acceptedRisks"].as_str().unwrap_or_default().contains("ComponentVersion.shop"),
        "the preflight said so: {}",
        newest(&object)
    );
    let settings = namespaced(&lab, "v1", "ConfigMap").get("settings").await.unwrap();
    assert_eq!(settings.data["data"]["text"], "of the add-on");
}

/// With `--render` the release is files, and the update is completed when something else has applied them.
#[tokio::test]
async fn a_rendered_update_is_completed_when_somebody_else_has_applied_it() {
    let Some(lab) = Lab::installed_without_controllers("1.0.0", "stable-1").await else { return };
    let (rendered, image) = (lab.path("rendered"), lab.path("release"));
    release(&image, "1.0.1", &[namespace(), config("settings", "new")]);
    let _operator = lab.operator("operator.log", &["--render", &rendered.display().to_string()]);
    lab.patch(json!({"spec": {"desiredUpdate": {"image": image.display().to_string()}}})).await;
    let object = lab
        .until("it waits", |object| {
            condition(&object["status"]["conditions"], "Progressing").2.contains("waiting on Namespace shop")
        })
        .await;
    assert_eq!(condition(&object["status"]["conditions"], "Failing").0, "False");
    assert!(lab.api("v1", "Namespace").get_opt("shop").await.unwrap().is_none(), "nothing is applied");
    let mut files: Vec<_> = fs::read_dir(&rendered).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "yaml"));
    files.sort();
    assert_eq!(files.len(), 2, "{files:?}");
    for file in files {
        let object: Value = serde_saphyr::from_str(&fs::read_to_string(file).unwrap()).unwrap();
        lab.create(&object).await;
    }
    lab.until("it is completed", |object| is_completed(object, "1.0.1")).await;
}

/// One update of 50 objects by an operator that is killed at random points: one entry, and everything as the release has it.
/// `CLEARWAY_KILLS=100` kills it a hundred times. Namespaces that the release needs are only made after kills, so that the
/// update cannot be completed before the last of them, however long an operator lives.
#[tokio::test]
async fn an_update_whose_operator_is_killed_ends_completed_with_one_entry() {
    let Some(lab) = Lab::installed_without_controllers("1.0.0", "stable-1").await else { return };
    let directory = lab.path("large").join("release-manifests");
    fs::create_dir_all(&directory).unwrap();
    let metadata = json!({"kind": "cincinnati-metadata-v0", "version": "1.0.1"});
    fs::write(directory.join("release-metadata"), metadata.to_string()).unwrap();
    // One run level after the other, so that there are many points to be killed at.
    let namespace_of = |level: u64| if level % 10 == 9 { format!("later-{}", level / 10) } else { "shop".to_owned() };
    for level in 0..50 {
        let mut object = if level == 0 { namespace() } else { config(&format!("part-{level}"), "done") };
        if level > 0 {
            object["metadata"]["namespace"] = namespace_of(level).into();
        }
        fs::write(directory.join(format!("0000_{level:02}_part_{level}.yaml")), object.to_string()).unwrap();
    }
    let image = lab.path("large").display().to_string();
    lab.patch(json!({"spec": {"desiredUpdate": {"image": image, "version": "1.0.1"}}})).await;
    let kills: u64 = std::env::var("CLEARWAY_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(5);
    let leases: Api<DynamicObject> =
        Api::namespaced_with(lab.client.clone(), "clearway", &Lab::resource("coordination.k8s.io/v1", "Lease"));
    let (mut made, mut random) = (0, 20_240_917_u64);
    for killed in 1..=kills {
        let mut operator = lab.operator("operator.log", &[]);
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        wait_until(SOON, "it leads", async || operator.metric("clearway_operator_leads").await == Some(1.0))
            .await
            .unwrap();
        let life = Duration::from_millis((random >> 33) % 100);
        let _ = wait_until(life, "its time is over", async || false).await;
        operator.kill();
        assert!(!is_completed(&lab.version().await, "1.0.1"), "it was killed in between");
        // The next operator need not wait until the lease of this one has run out.
        leases.delete("clearway-operator", &DeleteParams::default()).await.unwrap();
        while made < killed * 5 / kills {
            let metadata = json!({"name": namespace_of(made * 10 + 9)});
            lab.create(&json!({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})).await;
            made += 1;
        }
    }
    let _operator = lab.operator("operator.log", &[]);
    let object = lab.until("the update is completed", |object| is_completed(object, "1.0.1")).await;
    let entries = object["status"]["history"].as_array().unwrap();
    assert_eq!(entries.iter().filter(|entry| entry["version"] == "1.0.1").count(), 1, "{entries:?}");
    for level in 1..50 {
        let resource = Lab::resource("v1", "ConfigMap");
        let configs: Api<DynamicObject> = Api::namespaced_with(lab.client.clone(), &namespace_of(level), &resource);
        let part = configs.get(&format!("part-{level}")).await.unwrap();
        assert_eq!(part.data["data"]["text"], "done", "part {level}");
    }
}

fn namespaced(lab: &Lab, api_version: &str, kind: &str) -> Api<DynamicObject> {
    Api::namespaced_with(lab.client.clone(), "shop", &Lab::resource(api_version, kind))
}
