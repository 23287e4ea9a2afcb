//! The controller on a state directory instead of a cluster: what it writes, and what it does not.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use clearway_core::{GroupVersionKind, ObjectReference, Timestamp};
use clearway_sources::kubernetes::{ClusterError, KindEvent};
use clearway_sources::store::{Part, StateDirectory, Store};
use clearway_testbed::{IN_TIME, wait_until};
use serde_json::{Value, json};

use super::kinds::KINDS;
use super::metrics::Counters;
use super::watch::{KindReport, ReportContent};
use super::{CONTROLLER, Controller, GatewayStatusError, Options, follow};
use crate::heartbeat::{HANGS_AFTER, Heartbeat};

const GATEWAY: &str = "gateway.networking.k8s.io/v1";

struct Harness {
    store: StateDirectory,
    controller: Controller<StateDirectory>,
    counters: Arc<Counters>,
    _directory: tempfile::TempDir,
}

fn reference(object: &Value) -> ObjectReference {
    ObjectReference::of(object).unwrap()
}

fn key(kind: &str, namespace: &str, name: &str) -> ObjectReference {
    let kind = GroupVersionKind::new(GATEWAY, kind);
    ObjectReference { kind, namespace: namespace.to_owned(), name: name.to_owned() }
}

impl Harness {
    fn new(options: Options) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let store = StateDirectory::open(directory.path()).unwrap();
        let counters = Arc::new(Counters::default());
        let clock = || "2026-05-04T09:00:00Z".parse().unwrap_or(Timestamp::EPOCH);
        let controller = Controller::new(store.clone(), options, clock, counters.clone());
        Harness { store, controller, counters, _directory: directory }
    }

    /// Stores objects, and reports everything that is stored as listed; other kinds are not served.
    async fn list(&mut self, objects: &[Value]) {
        let mut stored = Vec::new();
        for object in objects {
            stored.push(self.store.create(object).await.unwrap());
        }
        for kind in &KINDS {
            let of_kind: Vec<Value> = stored.iter().filter(|one| one["kind"] == kind.kind).cloned().collect();
            let content = if of_kind.is_empty() {
                ReportContent::NotServed
            } else {
                ReportContent::Event(KindEvent::Listed(of_kind))
            };
            self.controller.observe(KindReport { kind, content });
        }
    }

    fn changed(&mut self, object: Value) {
        let kind = KINDS.iter().find(|kind| object["kind"] == kind.kind).unwrap();
        let content = ReportContent::Event(KindEvent::Changed(Box::new(object)));
        self.controller.observe(KindReport { kind, content });
    }

    async fn get(&self, key: &ObjectReference) -> Value {
        self.store.get(key).await.unwrap().unwrap()
    }

    fn written(&self) -> u64 {
        self.counters.written.load(Ordering::Relaxed)
    }
}

fn options() -> Options {
    Options { class: "clearway".to_owned(), ..Options::default() }
}

fn class(name: &str, controller: &str) -> Value {
    json!({
        "apiVersion": GATEWAY, "kind": "GatewayClass", "metadata": {"name": name, "generation": 1},
        "spec": {"controllerName": controller},
    })
}

fn gateway() -> Value {
    json!({
        "apiVersion": GATEWAY, "kind": "Gateway", "metadata": {"namespace": "a", "name": "gw", "generation": 1},
        "spec": {"gatewayClassName": "clearway", "listeners": [
            {"name": "https", "port": 443, "protocol": "HTTPS", "tls": {"certificateRefs": [{"name": "cert"}]}},
        ]},
    })
}

fn route() -> Value {
    json!({
        "apiVersion": GATEWAY, "kind": "HTTPRoute", "metadata": {"namespace": "a", "name": "web", "generation": 1},
        "spec": {"parentRefs": [{"name": "gw"}], "rules": [{"backendRefs": [{"name": "web", "port": 80}]}]},
    })
}

fn secret(name: &str) -> Value {
    let pem = |label: &str| format!("-----BEGIN {label}-----\nAAAA\n-----END {label}-----\n");
    json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"namespace": "a", "name": name},
        "stringData": {"tls.crt": pem("CERTIFICATE"), "tls.key": pem("PRIVATE KEY")},
    })
}

fn condition(list: &Value, kind: &str) -> String {
    let all = list.as_array().into_iter().flatten().filter(|one| one["type"] == kind);
    let found: Vec<String> = all.map(|one| format!("{}/{}", one["status"], one["reason"])).collect();
    found.join(" ").replace('"', "")
}

#[tokio::test]
async fn each_status_is_written_once_and_not_again() {
    let features = vec!["HTTPRoute".into(), "Gateway".into(), "HTTPRoute".into()];
    let mut harness = Harness::new(Options { features, ..options() });
    harness.list(&[class("clearway", CONTROLLER), gateway(), route()]).await;
    harness.controller.settle().await.unwrap();
    assert_eq!(harness.written(), 3);
    let class = harness.get(&key("GatewayClass", "", "clearway")).await;
    assert_eq!(class["status"]["supportedFeatures"], json!([{"name": "Gateway"}, {"name": "HTTPRoute"}]));
    let gw = harness.get(&key("Gateway", "a", "gw")).await;
    let listener = &gw["status"]["listeners"][0];
    assert_eq!(condition(&listener["conditions"], "ResolvedRefs"), "False/InvalidCertificateRef");
    assert_eq!(listener["attachedRoutes"], 1);
    let web = harness.get(&key("HTTPRoute", "a", "web")).await;
    assert_eq!(condition(&web["status"]["parents"][0]["conditions"], "ResolvedRefs"), "False/BackendNotFound");
    // The events of these writes, and others that say the same.
    for object in [class, gw, web] {
        harness.changed(object.clone());
        harness.changed(object);
    }
    harness.controller.settle().await.unwrap();
    assert_eq!(harness.written(), 3);
}

/// Names in references are free text, and a tenant writes them.
#[tokio::test]
async fn a_reference_that_cannot_be_a_name_holds_up_nobody_else() {
    let mut harness = Harness::new(options());
    let mut odd = gateway();
    odd["metadata"]["name"] = json!("odd");
    odd["spec"]["listeners"][0]["tls"]["certificateRefs"] = json!([{"name": "a b"}, {"name": "../x?watch=1"}]);
    harness.list(&[class("clearway", CONTROLLER), odd, gateway(), secret("cert")]).await;
    harness.controller.settle().await.unwrap();
    for (name, want) in [("odd", "False/InvalidCertificateRef"), ("gw", "True/ResolvedRefs")] {
        let gateway = harness.get(&key("Gateway", "a", name)).await;
        assert_eq!(condition(&gateway["status"]["listeners"][0]["conditions"], "ResolvedRefs"), want, "{name}");
    }
}

#[tokio::test]
async fn nothing_is_written_before_every_kind_was_seen() {
    let mut harness = Harness::new(options());
    let stored = harness.store.create(&class("clearway", CONTROLLER)).await.unwrap();
    for kind in KINDS.iter().filter(|kind| kind.kind != "ReferenceGrant") {
        let listed = if kind.kind == "GatewayClass" { vec![stored.clone()] } else { vec![] };
        harness.controller.observe(KindReport { kind, content: ReportContent::Event(KindEvent::Listed(listed)) });
    }
    let kind = KINDS.iter().find(|kind| kind.kind == "ReferenceGrant").unwrap();
    let error = ClusterError::Config { why: "no answer".to_owned() };
    harness.controller.observe(KindReport { kind, content: ReportContent::Event(KindEvent::Trouble { error }) });
    harness.controller.settle().await.unwrap();
    assert_eq!(harness.written(), 0);
    harness.controller.observe(KindReport { kind, content: ReportContent::NotServed });
    harness.controller.settle().await.unwrap();
    assert_eq!(harness.written(), 1);
}

#[tokio::test]
async fn a_conflict_is_computed_again_and_entries_of_others_stay() {
    let mut harness = Harness::new(options());
    harness.list(&[class("clearway", CONTROLLER), gateway(), route()]).await;
    // Another controller writes after the list was read.
    let theirs = json!({"parentRef": {"name": "x"}, "controllerName": "example.com/other", "conditions": []});
    let patch = json!({"status": {"parents": [theirs]}});
    harness.store.patch(&reference(&route()), Part::Status, &patch).await.unwrap();
    harness.controller.settle().await.unwrap();
    assert_eq!(harness.counters.conflicts.load(Ordering::Relaxed), 1);
    let web = harness.get(&key("HTTPRoute", "a", "web")).await;
    let parents = web["status"]["parents"].as_array().unwrap();
    assert_eq!((parents.len(), &parents[0]), (2, &theirs));
    assert_eq!(parents[1]["controllerName"], CONTROLLER);
    // Without a parent of ours our entry goes, and theirs stays.
    let gw = KINDS.iter().find(|kind| kind.kind == "Gateway").unwrap();
    let content = ReportContent::Event(KindEvent::Deleted { namespace: "a".to_owned(), name: "gw".to_owned() });
    harness.controller.observe(KindReport { kind: gw, content });
    harness.controller.settle().await.unwrap();
    assert_eq!(harness.get(&key("HTTPRoute", "a", "web")).await["status"]["parents"], json!([theirs]));
}

#[tokio::test]
async fn a_secret_is_read_when_a_listener_refers_to_it_and_when_its_metadata_changes() {
    let mut harness = Harness::new(options());
    harness.list(&[class("clearway", CONTROLLER), gateway()]).await;
    harness.controller.settle().await.unwrap();
    for name in ["other", "cert"] {
        let stored = harness.store.create(&secret(name)).await.unwrap();
        harness.changed(json!({"apiVersion": "v1", "kind": "Secret", "metadata": stored["metadata"]}));
    }
    harness.controller.settle().await.unwrap();
    let gw = harness.get(&key("Gateway", "a", "gw")).await;
    assert_eq!(condition(&gw["status"]["listeners"][0]["conditions"], "ResolvedRefs"), "True/ResolvedRefs");
    assert_eq!(condition(&gw["status"]["conditions"], "Programmed"), "Unknown/Pending");
    let kind = KINDS.iter().find(|kind| kind.kind == "Secret").unwrap();
    harness.store.delete(&reference(&secret("cert")), "").await.unwrap();
    harness.controller.observe(KindReport { kind, content: ReportContent::Event(KindEvent::Listed(vec![])) });
    harness.controller.settle().await.unwrap();
    let gw = harness.get(&key("Gateway", "a", "gw")).await;
    assert_eq!(condition(&gw["status"]["listeners"][0]["conditions"], "ResolvedRefs"), "False/InvalidCertificateRef");
}

#[tokio::test(start_paused = true)]
async fn a_secret_that_cannot_be_watched_is_read_again_after_a_while() {
    let mut harness = Harness::new(options());
    harness.list(&[class("clearway", CONTROLLER), gateway()]).await;
    let kind = KINDS.iter().find(|kind| kind.kind == "Secret").unwrap();
    let error = ClusterError::Forbidden { verb: "watch", resource: "secrets".to_owned(), why: String::new() };
    harness.controller.observe(KindReport { kind, content: ReportContent::Event(KindEvent::Trouble { error }) });
    harness.controller.settle().await.unwrap();
    harness.store.create(&secret("cert")).await.unwrap();
    // The sender stays: nothing is seen, and no watch has ended.
    let (_report, mut seen) = tokio::sync::mpsc::channel(1);
    assert!(harness.controller.next(&mut seen).await.unwrap().is_none());
    let gw = harness.get(&key("Gateway", "a", "gw")).await;
    assert_eq!(condition(&gw["status"]["listeners"][0]["conditions"], "ResolvedRefs"), "True/ResolvedRefs");
}

#[tokio::test]
async fn a_class_of_another_controller_is_refused() {
    let mut harness = Harness::new(options());
    harness.list(&[class("clearway", "example.com/other"), class("ours", CONTROLLER)]).await;
    let refused = harness.controller.settle().await;
    let (class, controller) = ("clearway".to_owned(), "example.com/other".to_owned());
    assert_eq!(refused, Err(GatewayStatusError::OtherController { class, controller }));
    assert_eq!(harness.written(), 0);
}

/// How often a step has asked for the time.
static ASKED: AtomicU64 = AtomicU64::new(0);
/// Set when it is answered.
static ANSWERED: OnceLock<()> = OnceLock::new();

/// A clock that a step gets no answer from.
fn stopped_clock() -> Timestamp {
    ASKED.fetch_add(1, Ordering::Relaxed);
    ANSWERED.wait();
    Timestamp::EPOCH
}

#[tokio::test]
async fn a_step_that_does_not_end_is_seen() {
    let directory = tempfile::tempdir().unwrap();
    let store = StateDirectory::open(directory.path()).unwrap();
    let stored = store.create(&class("clearway", CONTROLLER)).await.unwrap();
    let counters = Arc::new(Counters::default());
    let controller = Controller::new(store, options(), stopped_clock, counters.clone());
    let (reports, seen) = tokio::sync::mpsc::channel(KINDS.len());
    let heartbeat = Heartbeat::default();
    let hanging = || heartbeat.hanging(Instant::now() + 2 * HANGS_AFTER).map(|(what, _)| what);
    let work = {
        let heartbeat = heartbeat.clone();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        std::thread::spawn(move || runtime.block_on(follow(seen, controller, heartbeat)))
    };
    for kind in &KINDS {
        let content = if kind.kind == "GatewayClass" {
            ReportContent::Event(KindEvent::Listed(vec![stored.clone()]))
        } else {
            ReportContent::NotServed
        };
        reports.send(KindReport { kind, content }).await.unwrap();
    }
    wait_until(IN_TIME, "the step computes", async || ASKED.load(Ordering::Relaxed) > 0).await.unwrap();
    let seen = hanging();
    // Before anything can fail: a thread that waits would be waited for.
    ANSWERED.set(()).unwrap();
    assert_eq!(seen, Some("a step of the status of Gateway API objects"));
    let written = || counters.written.load(Ordering::Relaxed);
    wait_until(IN_TIME, "it waits for what comes next", async || written() == 1 && hanging().is_none()).await.unwrap();
    drop(reports);
    assert_eq!(work.join().unwrap(), Err(GatewayStatusError::WatchesEnded));
}
