//! Bad weather: an update service that misbehaves, an API server that restarts, somebody else who writes.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use clearway_testbed::{ClusterOptions, wait_until};
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use crate::lab::{Lab, SOON, available, condition, serve};

const STORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/story/graph-data");

/// A service that says whatever it is told to.
struct Fake {
    url: String,
    says: Arc<Mutex<Says>>,
}

#[derive(Clone)]
enum Says {
    Json(Value),
    Text(&'static str),
    Status(u16),
    /// A byte now and then, without an end.
    Trickle,
    /// Bytes without an end, as fast as they are taken.
    Flood,
}

impl Fake {
    fn start(says: Says) -> Self {
        let socket = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/api/upgrades_info", socket.local_addr().unwrap());
        let says = Arc::new(Mutex::new(says));
        let told = says.clone();
        std::thread::spawn(move || {
            for stream in socket.incoming() {
                let (Ok(mut stream), says) = (stream, told.lock().unwrap().clone()) else { continue };
                std::thread::spawn(move || {
                    let mut request = [0; 4096];
                    let _ = stream.read(&mut request);
                    let whole = |status: u16, body: &str| {
                        format!(
                            "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
                            body.len()
                        )
                    };
                    let endless = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n{";
                    let _ = match says {
                        Says::Json(value) => stream.write_all(whole(200, &value.to_string()).as_bytes()),
                        Says::Text(text) => stream.write_all(whole(200, text).as_bytes()),
                        Says::Status(code) => stream.write_all(whole(code, "{}").as_bytes()),
                        Says::Trickle => {
                            let mut sent = stream.write_all(endless.as_bytes());
                            while sent.is_ok() {
                                std::thread::sleep(Duration::from_secs(1));
                                sent = stream.write_all(b" ");
                            }
                            sent
                        }
                        Says::Flood => {
                            let mut sent = stream.write_all(endless.as_bytes());
                            while sent.is_ok() {
                                sent = stream.write_all(&[b' '; 1 << 14]);
                            }
                            sent
                        }
                    };
                });
            }
        });
        Fake { url, says }
    }

    fn say(&self, says: Says) {
        *self.says.lock().unwrap() = says;
    }
}

fn graph(risks: &[Value]) -> Value {
    let node = |version: &str| json!({"version": version, "payload": format!("example.com/r@{version}")});
    json!({
        "nodes": [node("1.0.0"), node("1.0.1"), node("1.1.0")],
        "edges": [[0, 1]],
        "conditionalEdges": [{"edges": [{"from": "1.0.0", "to": "1.1.0"}], "risks": risks}],
    })
}

fn risk(name: &str) -> Value {
    json!({"name": name, "url": "https://example.com", "message": "It is bad.", "matchingRules": [{"type": "Always"}]})
}

/// Whatever the service does, what it said last stays, the reason is named, and the next good answer counts.
#[tokio::test]
async fn whatever_the_service_does_advice_stays_and_says_what_is_wrong() {
    let Some(lab) = Lab::open(&ClusterOptions::api_only(), "standard", "1.0.0", "stable-1").await else { return };
    let service = Fake::start(Says::Json(graph(&[risk("Alpha")])));
    let operator = lab.operator("operator.log", &["--upstream", &service.url]);
    lab.until("there is advice", |object| available(object) == ["1.0.1"]).await;
    for (says, reason) in [
        (Says::Status(500), "ResponseFailed"),
        (Says::Text("[]"), "ResponseInvalid"),
        (Says::Text("{\"nodes\": 3}"), "ResponseInvalid"),
        (Says::Text("<html>"), "ResponseInvalid"),
        (Says::Flood, "ResponseInvalid"),
    ] {
        service.say(says);
        let object = lab
            .until(reason, |object| condition(&object["status"]["conditions"], "RetrievedUpdates").1 == reason)
            .await;
        assert_eq!(available(&object), ["1.0.1"], "{reason}");
        let message = condition(&object["status"]["conditions"], "RetrievedUpdates").2;
        assert!(message.contains("The updates in this status are from"), "{message}");
        service.say(Says::Json(graph(&[risk("Alpha")])));
        lab.until("it is current again", |object| {
            condition(&object["status"]["conditions"], "RetrievedUpdates").0 == "True"
        })
        .await;
    }
    // A version that the channel does not have, duplicate targets, edges to nowhere: each is its own problem.
    let mut odd = graph(&[risk("Alpha"), risk("Beta")]);
    odd["edges"] = json!([[0, 1], [0, 2], [0, 77], [9, 9], "x"]);
    odd["nodes"].as_array_mut().unwrap().push(json!({"version": "not a version", "payload": "p"}));
    service.say(Says::Json(odd));
    let object = lab
        .until("both risks are there", |object| {
            object["status"]["conditionalUpdates"][0]["risks"].as_array().map(Vec::len) == Some(2)
        })
        .await;
    assert_eq!(available(&object), ["1.0.1"], "a target in both lists is conditional (U8)");
    service.say(Says::Json(json!({"nodes": [], "edges": []})));
    let object = lab
        .until("the version is not there", |object| {
            condition(&object["status"]["conditions"], "RetrievedUpdates").1 == "VersionNotFound"
        })
        .await;
    assert_eq!(available(&object), Vec::<String>::new());
    // On a busy machine the lease may be renewed too late, and is taken again.
    wait_until(SOON, "and it lives", async || operator.metric("clearway_operator_leads").await == Some(1.0))
        .await
        .unwrap();
}

/// U15: what cannot be stored is left out whole, and said; the rest is there.
#[tokio::test]
async fn what_cannot_be_stored_is_left_out_and_named() {
    let Some(lab) = Lab::open(&ClusterOptions::api_only(), "standard", "1.0.0", "stable-1").await else { return };
    let many: Vec<Value> = (0..500).map(|at| risk(&format!("Risk{at}"))).collect();
    let mut bad = graph(&many);
    let node = |version: &str| json!({"version": version, "payload": format!("example.com/r@{version}")});
    let more = [
        (
            "1.1.1",
            json!([{"name": "NoUrl", "url": "not a url", "message": "m", "matchingRules": [{"type": "Always"}]}]),
        ),
        (
            "1.1.2",
            json!([{"name": "Odd", "url": "https://example.com", "message": "m", "matchingRules": [{"type": "Unheard"}]}]),
        ),
        (
            "1.1.3",
            // Together more than a condition may say.
            ["A", "B", "C"]
                .map(|name| json!({"name": name, "url": "https://example.com", "message": name.repeat(16_000), "matchingRules": [{"type": "Always"}]}))
                .to_vec()
                .into(),
        ),
    ];
    for (version, risks) in more {
        bad["nodes"].as_array_mut().unwrap().push(node(version));
        bad["conditionalEdges"]
            .as_array_mut()
            .unwrap()
            .push(json!({"edges": [{"from": "1.0.0", "to": version}], "risks": risks}));
    }
    let service = Fake::start(Says::Json(bad));
    let _operator = lab.operator("operator.log", &["--upstream", &service.url]);
    let object = lab.until("there is advice", |object| available(object) == ["1.0.1"]).await;
    let kept: Vec<&str> = object["status"]["conditionalUpdates"]
        .as_array()
        .unwrap()
        .iter()
        .map(|update| update["release"]["version"].as_str().unwrap())
        .collect();
    assert_eq!(kept, ["1.1.3"], "a long message can be stored, and is cut where the API cuts it");
    let (status, _, message) = condition(&object["status"]["conditions"], "clearway.dev/UpdatesLeftOut");
    assert_eq!(status, "True");
    for version in ["1.1.0", "1.1.1", "1.1.2"] {
        assert!(message.contains(&format!("the update to {version}: ")), "{message}");
    }
    let events = lab.api("v1", "Event");
    wait_until(SOON, "an event tells of it", async || {
        let events = events.list(&kube::api::ListParams::default()).await.unwrap();
        events.items.iter().any(|event| event.data["reason"] == "UpdateLeftOut")
    })
    .await
    .unwrap();
}

/// An API server that is restarted, and somebody else who writes into the same status.
#[tokio::test]
async fn a_restarted_api_server_and_another_writer_are_lived_with() {
    let Some(lab) = Lab::open(&ClusterOptions::api_only(), "standard", "4.6.23", "stable-4.6").await else { return };
    let (_service, url) = serve(Path::new(STORY), lab.path("serve.log")).await;
    let _operator = lab.operator("operator.log", &["--upstream", &url]);
    let before = lab.until("there is advice", |object| !available(object).is_empty()).await;
    let mut conditions = before["status"]["conditions"].as_array().unwrap().clone();
    conditions.push(json!({"type": "example.com/Theirs", "status": "True", "reason": "Here", "lastTransitionTime": "2026-01-01T00:00:00Z"}));
    let theirs =
        json!({"status": {"conditions": conditions, "availableUpdates": [{"version": "9.9.9", "image": "x"}]}});
    lab.versions().patch_status("version", &PatchParams::default(), &Patch::Merge(theirs)).await.unwrap();
    let object = lab.until("what is ours is right again", |object| available(object) == available(&before)).await;
    assert_eq!(condition(&object["status"]["conditions"], "example.com/Theirs").0, "True", "and theirs is left alone");

    lab.cluster.apiserver().restart().await.unwrap();
    lab.patch(json!({"spec": {"channel": "no-such-channel"}})).await;
    lab.until("the new channel is looked at", |object| {
        condition(&object["status"]["conditions"], "RetrievedUpdates").1 == "VersionNotFound"
    })
    .await;
}

/// A service that sends a byte a second is given up after its time; the object is kept current meanwhile.
#[tokio::test]
async fn a_service_that_trickles_holds_nothing_up() {
    let Some(lab) = Lab::open(&ClusterOptions::api_only(), "standard", "1.0.0", "stable-1").await else { return };
    let service = Fake::start(Says::Trickle);
    let _operator = lab.operator("operator.log", &["--upstream", &service.url]);
    lab.until("it says that nothing is known yet", |object| {
        condition(&object["status"]["conditions"], "RetrievedUpdates").1 == "NotRetrievedYet"
    })
    .await;
    lab.patch(json!({"spec": {"desiredUpdate": {"version": "7.7.7"}}})).await;
    lab.until("a wish is looked at meanwhile", |object| {
        condition(&object["status"]["conditions"], "Invalid").0 == "True"
    })
    .await;
    lab.until("it is given up", |object| {
        condition(&object["status"]["conditions"], "RetrievedUpdates").1 == "RemoteFailed"
    })
    .await;
}

/// Where OpenShift's own operator runs, the status of its ClusterVersion is never written: it is recognised by its
/// Deployment, by its lease, and, while ours is at work already, by the first status that it writes.
#[tokio::test]
async fn the_cluster_version_of_another_operator_is_left_alone() {
    let Some(lab) = Lab::open(&ClusterOptions::api_only(), "standard", "4.6.23", "stable-4.6").await else { return };
    let said = "OpenShift's own operator manages";
    let namespace = "openshift-cluster-version";
    lab.create(&json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})).await;

    // Ours was here first; then the other one writes.
    let mut operator = lab.operator("first.log", &["--upstream", "http://127.0.0.1:1"]);
    lab.until("it keeps the object", |object| {
        condition(&object["status"]["conditions"], "RetrievedUpdates").1 == "RemoteFailed"
    })
    .await;
    let theirs = PatchParams { field_manager: Some("cluster-version-operator".into()), ..PatchParams::default() };
    let patch = Patch::Merge(json!({"status": {"versionHash": "theirs"}}));
    lab.versions().patch_status("version", &theirs, &patch).await.unwrap();
    wait_until(SOON, "it says so", async || operator.logged(said)).await.unwrap();
    // It gives its lease back, so that the next one does not wait for its end.
    assert_eq!(operator.terminate().await.unwrap(), 0);

    // By what it manages, and by its Deployment where the CRD is not ours.
    let before = lab.version().await;
    let mut operator = lab.operator("second.log", &["--upstream", "http://127.0.0.1:1"]);
    wait_until(SOON, "it says so", async || operator.logged("it manages fields of the status")).await.unwrap();
    assert_eq!(operator.terminate().await.unwrap(), 0);
    assert_eq!(lab.version().await, before);
    lab.create(&json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "version", "namespace": namespace},
        "spec": {"holderIdentity": "another", "leaseDurationSeconds": 137, "renewTime": "2999-01-01T00:00:00.000000Z"},
    }))
    .await;
    let operator = lab.operator("third.log", &["--upstream", "http://127.0.0.1:1"]);
    wait_until(SOON, "it says so", async || operator.logged("it holds the lease")).await.unwrap();
    assert_eq!(lab.version().await, before);
}

/// The CRD is not ours, and the other operator is installed.
#[tokio::test]
async fn the_deployment_of_another_operator_is_enough() {
    let Some(lab) = Lab::open(&ClusterOptions::api_only(), "standard", "4.6.23", "stable-4.6").await else { return };
    let ours =
        json!({"metadata": {"annotations": {"clearway.dev/channel": null, "clearway.dev/bundle-version": null}}});
    let crds = lab.api("apiextensions.k8s.io/v1", "CustomResourceDefinition");
    let (name, parameters) = ("clusterversions.config.openshift.io", PatchParams::default());
    crds.patch(name, &parameters, &Patch::Merge(ours)).await.unwrap();
    let template = json!({"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "x", "image": "y"}]}});
    for object in [
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "openshift-cluster-version"}}),
        json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "cluster-version-operator", "namespace": "openshift-cluster-version"},
            "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": template},
        }),
    ] {
        lab.create(&object).await;
    }
    let before = lab.version().await;
    let operator = lab.operator("operator.log", &["--upstream", "http://127.0.0.1:1"]);
    wait_until(SOON, "it says so", async || operator.logged("OpenShift's own operator manages")).await.unwrap();
    assert_eq!(lab.version().await, before);
}
