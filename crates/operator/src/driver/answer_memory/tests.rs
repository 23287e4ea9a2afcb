//! An operator with several objects, whose publishers send more than all of them may keep.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use clearway_core::Timestamp;
use clearway_sources::clock;
use clearway_sources::http::HttpOptions;
use clearway_sources::oci::{Cache, Registry, RegistryOptions};
use clearway_sources::store::{StateDirectory, Store as _};
use clearway_testbed::{IN_TIME, wait_until};
use clearway_update::reconciler::Settings;
use clearway_update::upstream::Knowledge;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::sync::watch;

use super::*;
use crate::apply_update;
use crate::driver::{CrashGuard, MemoryPermit, Tools, object_kind};
use crate::heartbeat::Heartbeat;
use crate::operator::operate;

/// What each channel is answered.
type Answers = Arc<Mutex<BTreeMap<String, String>>>;

/// An update service.
async fn serve(answers: Answers) -> String {
    let socket = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = socket.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = socket.accept().await {
            let answers = answers.clone();
            tokio::spawn(async move {
                let mut request = Vec::new();
                while !request.ends_with(b"\r\n\r\n") {
                    request.push(stream.read_u8().await?);
                }
                let request = String::from_utf8_lossy(&request).into_owned();
                let channel = request.split(&['=', '&', ' '][..]).skip_while(|part| !part.ends_with("channel")).nth(1);
                let body = answers.lock().unwrap().get(channel.unwrap_or_default()).cloned().unwrap_or_default();
                let head = format!("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {}\r\n\r\n", body.len());
                stream.write_all(head.as_bytes()).await?;
                stream.write_all(body.as_bytes()).await
            });
        }
    });
    format!("http://{address}/api/upgrades_info")
}

/// An update from 1.0.0 to 1.1.0, and one to 1.2.0 with so many risks.
fn answer(risks: usize) -> String {
    let node = |version: &str| json!({"version": version, "payload": format!("r.example.com/p:{version}")});
    let risk = |number: usize| json!({"name": format!("R{number}"), "url": "https://example.com", "message": "m", "matchingRules": [{"type": "Always"}]});
    let risks: Vec<Value> = (0..risks).map(risk).collect();
    let conditional = json!([{"edges": [{"from": "1.0.0", "to": "1.2.0"}], "risks": risks}]);
    json!({"nodes": [node("1.0.0"), node("1.1.0"), node("1.2.0")], "edges": [[0, 1]], "conditionalEdges": conditional})
        .to_string()
}

fn memory(answer: &str) -> usize {
    let (version, settings) = ("1.0.0".parse().unwrap(), clearway_advice::Settings::default());
    Knowledge::read(answer.as_bytes(), &version, Timestamp::EPOCH, &settings).unwrap().memory()
}

/// An object that follows the channel of its name.
fn object(kind: Kind, name: &str) -> Value {
    json!({
        "apiVersion": kind.api_version(), "kind": kind.as_str(), "metadata": {"name": name},
        "spec": {"clusterID": "0d9fd3a5-8b7e-4b7a-9a52-1d4a5a4a1f6c", "channel": name},
        "status": {
            "desired": {"version": "1.0.0", "image": "r.example.com/p:1.0.0"}, "observedGeneration": 1, "versionHash": "",
            "availableUpdates": null,
            "history": [{"state": "Completed", "startedTime": "2026-01-01T00:00:00Z",
                         "completionTime": "2026-01-01T01:00:00Z", "version": "1.0.0",
                         "image": "r.example.com/p:1.0.0", "verified": true}],
        },
    })
}

struct Lab {
    state: StateDirectory,
    answers: Answers,
}

impl Lab {
    fn says(&self, name: &str, answer: &str) {
        self.answers.lock().unwrap().insert(name.to_owned(), answer.to_owned());
    }

    /// Waits until the retrieval for an object has a status, whether the update without risks is recommended or not, and
    /// gives the message.
    async fn until(&self, kind: Kind, name: &str, retrieved: &str, recommended: bool) -> String {
        let key = clearway_core::ObjectReference::cluster_scoped(object_kind(kind), name);
        let mut status = Value::Null;
        let what = format!("{name}: retrieved {retrieved}, recommended {recommended}");
        let waited = wait_until(IN_TIME, &what, async || {
            status = self.state.get(&key).await.unwrap().unwrap()["status"].take();
            let found = condition(&status);
            let available = status["availableUpdates"].as_array().is_some_and(|updates| !updates.is_empty());
            found["status"] == retrieved && available == recommended
        });
        waited.await.unwrap_or_else(|error| panic!("{error}: {}", condition(&status)));
        condition(&status)["message"].as_str().unwrap_or_default().to_owned()
    }
}

fn condition(status: &Value) -> &Value {
    let mut conditions = status["conditions"].as_array().into_iter().flatten();
    conditions.find(|condition| condition["type"] == "RetrievedUpdates").unwrap_or(&Value::Null)
}

const HONEST: [&str; 3] = ["calm", "dull", "even"];

/// The answers of two add-ons take more than the pool has: the second one is refused, and nobody else is touched.
#[tokio::test]
async fn a_hostile_publisher_takes_no_advice_from_others() {
    let (small, large) = (answer(1), answer(500));
    let share = memory(&small) + 1024;
    let pool = memory(&large) * 3 / 2;
    let limits = BudgetLimits { cluster_version: share, share, shares: 8, pool, most_of_pool: pool };
    let directory = tempfile::tempdir().unwrap();
    let state = StateDirectory::open(directory.path()).unwrap();
    let lab = Lab { state: state.clone(), answers: Answers::default() };
    let upstream = serve(lab.answers.clone()).await;
    lab.says("version", &small);
    state.create(&object(Kind::ClusterVersion, "version")).await.unwrap();
    for name in HONEST.into_iter().chain(["angry", "brutal"]) {
        lab.says(name, &small);
        state.create(&object(Kind::ComponentVersion, name)).await.unwrap();
    }
    lab.says("angry", &large);
    let tools = Tools {
        store: state.clone(),
        evidence: state.clone(),
        updates: state,
        metrics: None,
        http: HttpOptions::default(),
        apply_update: apply_update::Settings::new(Registry::new(RegistryOptions::default()).unwrap(), Cache::none()),
        namespace: "clearway".to_owned(),
        clock: clock::now,
        heartbeat: Heartbeat::default(),
        memory: MemoryPermit::default(),
        answers: AnswerMemory::new(limits),
        guard: CrashGuard::new("test"),
    };
    let second = Duration::from_secs(1);
    let settings = Settings {
        upstream: Some(upstream.as_str().into()),
        fetch_every: second,
        ..Settings::new("amd64".parse().unwrap())
    };
    let (shown, _watched) = watch::channel(BTreeMap::new());
    let operator = tokio::spawn(operate(tools, settings, shown));

    let component = Kind::ComponentVersion;
    lab.until(component, "angry", "True", true).await;
    lab.until(component, "brutal", "True", true).await;
    lab.says("brutal", &large);
    let message = lab.until(component, "brutal", "False", true).await;
    assert!(message.contains("the answer for ComponentVersion brutal takes "), "{message}");
    assert!(message.contains("(the cap \"answer_memory\")"), "{message}");
    // The large answers of the others are refused as well, and small ones are not.
    lab.says("version", &large);
    lab.until(Kind::ClusterVersion, "version", "False", true).await;
    lab.says("version", &answer(0));
    lab.until(Kind::ClusterVersion, "version", "True", true).await;
    for name in HONEST {
        lab.until(component, name, "True", true).await;
    }
    // What one gives back is there for the other.
    lab.says("angry", &small);
    lab.until(component, "brutal", "True", true).await;
    operator.abort();
}

/// An object that is gone takes nothing.
#[test]
fn who_is_gone_gives_its_part_back() {
    let memory =
        AnswerMemory::new(BudgetLimits { cluster_version: 0, share: 1, shares: 1, pool: 10, most_of_pool: 10 });
    let [one, other] = [0; 2].map(|_| memory.join(Kind::ComponentVersion));
    assert_eq!((one.accept(11), other.accept(1)), (Ok(()), Err(0)));
    drop(one);
    assert_eq!((other.room(), other.accept(11)), (11, Ok(())));
}
