//! Effects wait for the permits that they need, and for no others.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use clearway_advice::evidence::{ReleaseConstraint, TargetRelease};
use clearway_core::{GroupVersionKind, Timestamp};
use clearway_sources::http::HttpOptions;
use clearway_sources::oci::{Cache, Registry, RegistryOptions};
use clearway_sources::store::StateDirectory;
use clearway_testbed::IN_TIME;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event as Line, Metadata, Subscriber};

use super::*;
use crate::apply_update;
use crate::driver::{AnswerMemory, COMPONENT_ANSWERS, COMPONENT_RELEASE_BYTES, CrashGuard, MemoryPermit, object_kind};
use crate::heartbeat::Heartbeat;
use crate::metrics_store::MetricsStore;

/// Counts the lines of a log.
struct Lines(Arc<AtomicUsize>);

impl Subscriber for Lines {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, _: &Line<'_>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

fn tools(directory: &std::path::Path) -> Tools<StateDirectory> {
    let state = StateDirectory::open(directory).unwrap();
    Tools {
        store: state.clone(),
        evidence: state.clone(),
        updates: state,
        metrics: None,
        http: HttpOptions::default(),
        apply_update: apply_update::Settings::new(Registry::new(RegistryOptions::default()).unwrap(), Cache::none()),
        namespace: "clearway".to_owned(),
        clock: || Timestamp::EPOCH,
        heartbeat: Heartbeat::default(),
        memory: MemoryPermit::default(),
        answers: AnswerMemory::default(),
        guard: CrashGuard::new("test"),
    }
}

fn request(kind: Kind, upstream: &str) -> UpstreamRequest {
    UpstreamRequest {
        upstream: upstream.into(),
        channel: kind.as_str().to_owned(),
        arch: "amd64".parse().unwrap(),
        id: String::new(),
        version: "1.0.0".parse().unwrap(),
    }
}

fn about(kind: Kind, tools: &Tools<StateDirectory>) -> About {
    let key = ObjectReference::cluster_scoped(object_kind(kind), "any");
    let cached = GroupVersionKind::new("v1", "ConfigMap");
    let cached = ObjectReference { kind: cached, namespace: tools.namespace.clone(), name: "cached".to_owned() };
    About { kind, cached, key, running: String::new(), share: Arc::new(tools.answers.join(kind)) }
}

async fn fetch_for(
    kind: Kind,
    ask: &UpstreamRequest,
    tools: &Tools<StateDirectory>,
) -> Result<UpstreamAnswer, RetrievalError> {
    let about = about(kind, tools);
    let guard = Guard { about: &about, digest: None, again: false };
    fetch(ask, None, &guard, tools, &Settings::new("amd64".parse().unwrap())).await
}

/// An answer that says nothing but that there is a version.
const ANSWER: &str = r#"{"nodes": [{"version": "1.0.0", "payload": "example.com/r@x"}], "edges": []}"#;

/// Waiting for objects to be read says how much there is in them, so no request and no answer waits for it.
#[tokio::test]
async fn answers_do_not_wait_for_the_evaluation_of_rules() {
    let service = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let upstream = format!("http://{}/graph", service.local_addr().unwrap());
    let _serving = tokio::spawn(async move {
        while let Ok((mut stream, _)) = service.accept().await {
            let length = stream.read(&mut [0; 1024]).await?;
            assert!(length > 0);
            let head = format!("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {}\r\n\r\n", ANSWER.len());
            stream.write_all(format!("{head}{ANSWER}").as_bytes()).await?;
        }
        std::io::Result::Ok(())
    });
    let directory = tempfile::tempdir().unwrap();
    let tools = tools(directory.path());
    let _evaluating = tools.memory.acquire().await;
    for kind in [Kind::ClusterVersion, Kind::ComponentVersion] {
        let ask = request(kind, &upstream);
        let fetched = tokio::time::timeout(IN_TIME, fetch_for(kind, &ask, &tools)).await;
        let fetched = fetched.expect("it waits for the permit of another work");
        assert!(matches!(fetched, Ok(UpstreamAnswer::Knowledge(..))), "{fetched:?}");
    }
}

/// While one answer is parsed, another one waits, whatever it is for, and then has its turn.
#[tokio::test(start_paused = true)]
async fn one_answer_is_parsed_at_a_time() {
    let directory = tempfile::tempdir().unwrap();
    let tools = tools(directory.path());
    for kind in [Kind::ClusterVersion, Kind::ComponentVersion] {
        let (ask, about) = (request(kind, "http://unused"), about(kind, &tools));
        let guard = Guard { about: &about, digest: None, again: false };
        let settings = Settings::new("amd64".parse().unwrap());
        let parsing = tools.memory.acquire_parsing().await;
        let turn = tools.memory.acquire_component_answer().await;
        let mut reading = std::pin::pin!(read_answer(&ask, ANSWER, turn, &guard, &tools, &settings));
        let waited = tokio::time::timeout(Duration::from_hours(1), &mut reading).await;
        assert!(waited.is_err(), "it was parsed while another one held the permit");
        drop(parsing);
        assert!(reading.await.is_ok());
        assert!(tools.memory.acquire_parsing().await.is_some(), "the permit was returned");
    }
}

/// The limits of hostile publishers of several add-ons do not add up: their objects are read one after the other.
#[tokio::test(start_paused = true)]
async fn objects_for_rules_are_read_only_with_the_permit() {
    let directory = tempfile::tempdir().unwrap();
    let tools = tools(directory.path());
    let about = about(Kind::ClusterVersion, &tools);
    let held = tools.memory.acquire().await;
    let mut waiting = std::pin::pin!(read_objects(Vec::new(), &tools, &about));
    let waited = tokio::time::timeout(Duration::from_hours(1), &mut waiting).await;
    assert!(waited.is_err(), "objects were read while another held the permit");
    assert_eq!(tools.heartbeat.begun(), [""; 0], "waiting is no computation");
    drop(held);
    assert_eq!(waiting.await.at, Timestamp::EPOCH);
    assert!(tools.memory.acquire().await.is_some(), "the permit was returned");
}

/// Publishers that answer slowly: only a few answers are on their way, and the ClusterVersion waits for none of them.
#[tokio::test]
async fn few_answers_for_components_are_on_their_way() {
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let upstream = format!("http://{}/graph", silent.local_addr().unwrap());
    let directory = tempfile::tempdir().unwrap();
    let tools = tools(directory.path());
    let start = |kind: Kind| {
        let (tools, ask) = (tools.clone(), request(kind, &upstream));
        tokio::spawn(async move { fetch_for(kind, &ask, &tools).await.is_ok() })
    };
    // The next one that asks, and who it is.
    let next = async || {
        let (mut stream, _) = silent.accept().await.unwrap();
        let mut asked = vec![0; 1024];
        let length = stream.read(&mut asked).await.unwrap();
        let is_cluster = String::from_utf8_lossy(&asked[..length]).contains("channel=ClusterVersion");
        (stream, is_cluster)
    };
    let next = async || tokio::time::timeout(IN_TIME, next()).await.unwrap();
    let _components: Vec<_> = (0..COMPONENT_ANSWERS + 2).map(|_| start(Kind::ComponentVersion)).collect();
    let mut on_their_way = Vec::new();
    for _ in 0..COMPONENT_ANSWERS {
        on_their_way.push(next().await);
    }
    let _cluster = start(Kind::ClusterVersion);
    on_their_way.push(next().await);
    let clusters: Vec<bool> = on_their_way.iter().map(|(_, is_cluster)| *is_cluster).collect();
    assert_eq!(clusters, [false, false, false, false, true], "the others wait for their turn");
    on_their_way.remove(0);
    assert!(!next().await.1, "one is over, and the next one has its turn");
}

/// A registry that does not answer delays only what waits for its releases.
#[tokio::test]
async fn the_permit_is_free_while_a_registry_is_asked() {
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let image = format!("{}/platform@sha256:{}", silent.local_addr().unwrap(), "0".repeat(64));
    let directory = tempfile::tempdir().unwrap();
    let mut tools = tools(directory.path());
    tools.apply_update.policies = Some(apply_update::PolicyProgram::new("/none".into()));
    let running = image.clone();
    let release = TargetRelease { version: "1.1.0".parse().unwrap(), payload: image };
    let constraint = ReleaseConstraint { kind: "RequiredLabels".to_owned(), name: "owner".to_owned(), release };
    let (memory, heartbeat) = (tools.memory.clone(), tools.heartbeat.clone());
    let evaluator = tools.apply_update.release_evaluator(Kind::ComponentVersion, &running, memory, heartbeat);
    let asked = [&constraint];
    let fetching = evaluator.objects(&tools.evidence, &asked);
    let others = async {
        let connection = silent.accept().await.unwrap();
        assert!(tools.memory.acquire().await.is_some());
        drop(connection);
    };
    tokio::select! {
        _ = fetching => panic!("the registry did not answer"),
        done = tokio::time::timeout(IN_TIME, others) => done.unwrap(),
    }
}

/// A question about Nodes, and one about the objects of a release in a registry.
fn questions(host: &str) -> Vec<(ObjectQuestion, u64)> {
    let release = json!({"type": "Policy", "policy": {"kind": "Labels", "name": "owner", "objects": "Release"}});
    let node = json!({"type": "Resource", "resource": {"apiVersion": "v1", "kind": "Node", "expression": "true"}});
    let risk = |name: &str, rule: Value| json!({"name": name, "url": "https://example.com", "message": "m", "matchingRules": [rule]});
    let payload = |number: usize| format!("{host}/platform@sha256:{number:064}");
    let graph = json!({
        "nodes": [{"version": "1.0.0", "payload": payload(0)}, {"version": "1.1.0", "payload": payload(1)}],
        "edges": [],
        "conditionalEdges": [{"edges": [{"from": "1.0.0", "to": "1.1.0"}], "risks": [risk("A", release), risk("B", node)]}],
    });
    let (from, settings) = ("1.0.0".parse().unwrap(), clearway_advice::Settings::default());
    let knowledge = Knowledge::read(graph.to_string().as_bytes(), &from, Timestamp::EPOCH, &settings).unwrap();
    let (objects, releases) = (knowledge.plan.object_questions(), knowledge.plan.release_questions());
    assert_eq!((objects.len(), releases.len()), (1, 1));
    objects.into_iter().chain(releases).map(|(question, steps)| (question.clone(), steps)).collect()
}

/// Neither the questions about objects of the same look nor what others evaluate delays the request to a registry.
#[tokio::test]
async fn releases_are_fetched_before_anything_is_read_or_evaluated() {
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let host = silent.local_addr().unwrap().to_string();
    let directory = tempfile::tempdir().unwrap();
    let mut tools = tools(directory.path());
    tools.apply_update.policies = Some(apply_update::PolicyProgram::new("/none".into()));
    for kind in [Kind::ClusterVersion, Kind::ComponentVersion] {
        let about = About { running: format!("{host}/platform@sha256:{:064}", 0), ..about(kind, &tools) };
        // What is held while objects are read, releases evaluated and their files kept.
        let _reading = tools.memory.acquire().await;
        let _evaluating = tools.memory.acquire_release_evaluation().await;
        let _kept = tools.memory.keep_release_files(COMPONENT_RELEASE_BYTES);
        let look = read_objects(questions(&host), &tools, &about);
        tokio::select! {
            _ = look => panic!("the registry did not answer"),
            asked = tokio::time::timeout(IN_TIME, silent.accept()) => drop(asked.expect("it waits").unwrap()),
        }
        assert_eq!(tools.heartbeat.begun(), [""; 0], "waiting is no computation");
    }
}

/// Bytes that are not read for the second time before it is allowed.
struct SlowBytes {
    bytes: &'static [u8],
    reads: AtomicUsize,
    entered: tokio::sync::mpsc::UnboundedSender<()>,
    allowed: std::sync::Mutex<std::sync::mpsc::Receiver<()>>,
}

impl AsRef<[u8]> for SlowBytes {
    fn as_ref(&self) -> &[u8] {
        if self.reads.fetch_add(1, Ordering::SeqCst) == 1 {
            self.entered.send(()).unwrap();
            self.allowed.lock().unwrap().recv().unwrap();
        }
        self.bytes
    }
}

/// When whatever is being computed now would have hung for long.
fn much_later() -> Instant {
    Instant::now() + Duration::from_mins(10)
}

/// The kubelet restarts an operator that hangs, so that waiting must not be taken for it, and parsing must.
#[tokio::test]
async fn parsing_an_answer_is_a_computation_and_waiting_for_one_is_not() {
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let upstream = format!("http://{}/graph", silent.local_addr().unwrap());
    let directory = tempfile::tempdir().unwrap();
    let tools = tools(directory.path());
    let ask = request(Kind::ClusterVersion, &upstream);
    tokio::select! {
        _ = fetch_for(Kind::ClusterVersion, &ask, &tools) => panic!("the service did not answer"),
        asked = tokio::time::timeout(IN_TIME, silent.accept()) => {
            assert_eq!(tools.heartbeat.hanging(much_later()), None);
            drop(asked.unwrap().unwrap());
        }
    }
    assert_eq!(tools.heartbeat.begun(), [""; 0]);

    let about = about(Kind::ClusterVersion, &tools);
    let guard = Guard { about: &about, digest: None, again: false };
    let settings = Settings::new("amd64".parse().unwrap());
    let (entered, mut was_entered) = tokio::sync::mpsc::unbounded_channel();
    let (allow, allowed) = std::sync::mpsc::channel();
    // The first time it is read for its digest.
    let bytes = SlowBytes { bytes: ANSWER.as_bytes(), reads: AtomicUsize::new(0), entered, allowed: allowed.into() };
    let parsing = read_answer(&ask, bytes, None, &guard, &tools, &settings);
    let looks = async {
        tokio::time::timeout(IN_TIME, was_entered.recv()).await.unwrap();
        let hanging = tools.heartbeat.hanging(much_later());
        allow.send(()).unwrap();
        hanging
    };
    let (read, hanging) = tokio::join!(parsing, looks);
    assert!(read.is_ok());
    assert_eq!(hanging.map(|(what, _)| what), Some("reading an answer of the update service"));
    assert_eq!(tools.heartbeat.hanging(much_later()), None);
}

/// The same for rules about objects, and for queries that this process evaluates itself.
#[tokio::test]
async fn evaluating_rules_and_queries_is_a_computation() {
    let directory = tempfile::tempdir().unwrap();
    let tools = tools(directory.path());
    let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a"}});
    tools.store.create(&node).await.unwrap();
    let records = read_objects(questions("example.com"), &tools, &about(Kind::ClusterVersion, &tools)).await.records;
    assert_eq!(records.len(), 2);
    assert_eq!(tools.heartbeat.begun(), ["the evaluation of rules about objects"]);

    let metrics = MetricsStore::Directory(directory.path().to_owned());
    let settings = clearway_advice::Settings::default();
    let _ = metrics.observe("vector(1)", &settings, tools.clock, &tools.heartbeat).await;
    assert_eq!(tools.heartbeat.begun().last(), Some(&"the evaluation of a query"));
    assert_eq!(tools.heartbeat.hanging(much_later()), None);
}

/// Each step of a reconciler is a computation, and what it waits for in between is not.
#[tokio::test]
async fn a_step_of_a_reconciler_is_a_computation() {
    let directory = tempfile::tempdir().unwrap();
    let tools = tools(directory.path());
    let settings = Settings::new("amd64".parse().unwrap());
    let parsing = tools.memory.acquire_parsing().await;
    let (told, mut reports) = tokio::sync::watch::channel(None);
    let object = json!({
        "apiVersion": Kind::ClusterVersion.api_version(), "kind": Kind::ClusterVersion.as_str(),
        "metadata": {"name": "version"}, "spec": {"clusterID": ""},
    });
    tools.store.create(&object).await.unwrap();
    let driving = crate::driver::drive(tools.clone(), Kind::ClusterVersion, "version", settings, told);
    let watching = async {
        // The step with the shape of the CRD comes first, and the one with the object waits for the permit.
        let first = clearway_testbed::wait_until(IN_TIME, "a step", async || !tools.heartbeat.begun().is_empty());
        first.await.unwrap();
        assert_eq!(tools.heartbeat.hanging(much_later()), None);
        drop(parsing);
        tokio::time::timeout(IN_TIME, reports.wait_for(Option::is_some)).await.unwrap().unwrap();
    };
    tokio::select! {
        () = driving => panic!("it does not end"),
        () = watching => {}
    }
    assert!(
        tools.heartbeat.begun().iter().all(|what| *what == "a step of the reconciler"),
        "{:?}",
        tools.heartbeat.begun()
    );
}

/// U8: the status says that the rest is in the log, so it must be.
#[test]
fn every_finding_about_a_graph_is_logged() {
    let node = |version: String| json!({"version": version, "payload": "example.com/r@x", "metadata": {}});
    let nodes: Vec<_> = (0..300).map(|number| node(format!("1.0.{number}"))).collect();
    let edges: Vec<_> = (1..300).map(|number| json!([0, number])).collect();
    let risks =
        json!([{"name": "A", "url": "https://example.com", "message": "m", "matchingRules": [{"type": "Always"}]}]);
    let conditional: Vec<_> = (1..300).map(|number| json!({"from": "1.0.0", "to": format!("1.0.{number}")})).collect();
    let graph = json!({"nodes": nodes, "edges": edges, "conditionalEdges": [{"edges": conditional, "risks": risks}]});
    let from = "1.0.0".parse().unwrap();
    let settings = clearway_advice::Settings::default();
    let knowledge = Knowledge::read(graph.to_string().as_bytes(), &from, Timestamp::EPOCH, &settings).unwrap();
    assert!(knowledge.findings.count >= 299, "each target is in both lists: {}", knowledge.findings.count);
    let lines = Arc::new(AtomicUsize::new(0));
    tracing::subscriber::with_default(Lines(lines.clone()), || log_findings(&knowledge));
    assert_eq!(lines.load(Ordering::SeqCst), knowledge.diagnostics.len());
}
