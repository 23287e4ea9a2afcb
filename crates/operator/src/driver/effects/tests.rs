//! Effects wait for the permits that they need, and for no others.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use clearway_advice::evidence::{ReleaseConstraint, TargetRelease};
use clearway_core::{GroupVersionKind, Timestamp};
use clearway_sources::http::HttpOptions;
use clearway_sources::oci::{Cache, Registry, RegistryOptions};
use clearway_sources::store::StateDirectory;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event as Line, Metadata, Subscriber};

use super::*;
use crate::apply_update;
use crate::driver::{AnswerMemory, COMPONENT_ANSWERS, CrashGuard, MemoryPermit};
use crate::heartbeat::Heartbeat;

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
    About { cached, key, share: Arc::new(tools.answers.join(kind)) }
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
        let fetched = tokio::time::timeout(clearway_testbed::IN_TIME, fetch_for(kind, &ask, &tools)).await;
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
    let key = ObjectReference::cluster_scoped(crate::driver::definitions(), "any");
    let held = tools.memory.acquire().await;
    let mut waiting = std::pin::pin!(read_objects(Vec::new(), &tools, &key));
    let waited = tokio::time::timeout(Duration::from_hours(1), &mut waiting).await;
    assert!(waited.is_err(), "objects were read while another held the permit");
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
    let next = async || tokio::time::timeout(clearway_testbed::IN_TIME, next()).await.unwrap();
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
    let evaluator = tools.apply_update.release_evaluator(&running, tools.memory.clone());
    let asked = [&constraint];
    let fetching = evaluator.objects(&tools.evidence, &asked);
    let others = async {
        let connection = silent.accept().await.unwrap();
        assert!(tools.memory.acquire().await.is_some());
        drop(connection);
    };
    tokio::select! {
        _ = fetching => panic!("the registry did not answer"),
        done = tokio::time::timeout(clearway_testbed::IN_TIME, others) => done.unwrap(),
    }
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
