//! One behaviour, two stores: a real API server and a directory.

use std::collections::BTreeSet;
use std::time::Duration;

use clearway_sources::kubernetes::{Cluster, Connection};
use clearway_sources::store::{
    Apply, ClusterStore, Event, Key, Kind, Part, Seen, StateDirectory, Store, StoreError, Weight,
};
use clearway_testbed::ClusterOptions;
use serde_json::{Value, json};
use tokio::sync::mpsc;

const OURS: Apply<'_> = Apply { manager: "clearway", force: true, dry_run: false };

fn config(name: &str, data: &Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap", "data": data,
        "metadata": {"name": name, "namespace": "default", "labels": {"clearway.dev/owner": "ClusterVersion.version"}},
    })
}

fn deployment(replicas: u32) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "default"},
        "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}}, "template": {
            "metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "web", "image": "example.com/web:1"}]},
        }},
    })
}

fn key(object: &Value) -> Key {
    Key::of(object).unwrap()
}

async fn next(seen: &mut mpsc::Receiver<Seen>) -> Seen {
    tokio::time::timeout(Duration::from_secs(30), seen.recv()).await.expect("in time").expect("more")
}

async fn behaves(store: impl Store) {
    applies_and_takes_back(&store).await;
    keeps_the_halves_apart(&store).await;
    follows(&store).await;
    refuses(&store).await;
}

async fn applies_and_takes_back(store: &impl Store) {
    let both = config("one", &json!({"a": "1", "b": "2"}));
    assert_eq!(store.get(&key(&both)).await, Ok(None));
    let dry = store.apply(&both, &Apply { dry_run: true, ..OURS }).await.unwrap();
    assert_eq!((dry["data"]["a"].as_str(), store.get(&key(&both)).await), (Some("1"), Ok(None)), "nothing was written");

    let made = store.apply(&both, &OURS).await.unwrap();
    assert!(made["metadata"]["uid"].is_string());
    let again = store.apply(&both, &OURS).await.unwrap();
    assert_eq!(made["metadata"]["resourceVersion"], again["metadata"]["resourceVersion"], "no change is no write");

    store.patch(&key(&both), Part::Main, &json!({"data": {"c": "3"}})).await.unwrap();
    let fewer = store.apply(&config("one", &json!({"a": "4"})), &OURS).await.unwrap();
    assert_eq!(fewer["data"], json!({"a": "4", "c": "3"}), "what we said goes, what another said stays");
    assert_ne!(fewer["metadata"]["resourceVersion"], made["metadata"]["resourceVersion"]);
    assert_eq!(fewer["metadata"]["uid"], made["metadata"]["uid"]);

    store.apply(&config("two", &json!({})), &OURS).await.unwrap();
    let (kind, ours) = (key(&both).kind, "clearway.dev/owner=ClusterVersion.version");
    let names = |found: Vec<Value>| -> Vec<String> {
        found.iter().map(|found| found["metadata"]["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(store.list(&kind, ours).await.unwrap()), ["one", "two"]);
    assert_eq!(names(store.list(&kind, "clearway.dev/owner=Other.x").await.unwrap()), Vec::<String>::new());
    assert!(store.kinds().await.unwrap().contains(&kind));

    let another = store.delete(&key(&both), "00000000-0000-4000-8000-000000000000").await;
    assert!(matches!(another, Err(StoreError::Conflict { .. })), "{another:?}");
    store.delete(&key(&both), made["metadata"]["uid"].as_str().unwrap()).await.unwrap();
    assert_eq!(store.get(&key(&both)).await, Ok(None));
    assert_eq!(store.delete(&key(&both), "").await, Ok(()), "gone is gone");
    let event = Event { weight: Weight::Normal, reason: "Tried".into(), message: "é".repeat(2000) };
    store.tell(&fewer, &event).await.unwrap();
}

async fn keeps_the_halves_apart(store: &impl Store) {
    let made = store.create(&deployment(1)).await.unwrap();
    assert!(matches!(store.create(&deployment(1)).await, Err(StoreError::Conflict { .. })), "there already");
    let mut said = made.clone();
    said["status"] = json!({"observedGeneration": 1, "replicas": 1});
    said["spec"]["replicas"] = json!(9);
    let stated = store.replace_status(&said).await.unwrap();
    assert_eq!((&stated["status"]["replicas"], &stated["spec"]["replicas"]), (&json!(1), &json!(1)));
    assert_eq!(stated["metadata"]["generation"], 1, "a status is no new generation");
    let late = store.replace_status(&said).await;
    assert!(matches!(&late, Err(error @ StoreError::Conflict { .. }) if error.is_passing()), "{late:?}");

    let other = json!({"spec": {"replicas": 2}, "status": {"replicas": 7}});
    let patched = store.patch(&key(&made), Part::Main, &other).await.unwrap();
    assert_eq!((&patched["status"]["replicas"], &patched["spec"]["replicas"]), (&json!(1), &json!(2)));
    assert_eq!(patched["metadata"]["generation"], 2);
    let patched = store.patch(&key(&made), Part::Status, &json!({"status": {"replicas": 2}})).await.unwrap();
    assert_eq!((&patched["status"]["replicas"], &patched["metadata"]["generation"]), (&json!(2), &json!(2)));
    let old = json!({"metadata": {"resourceVersion": made["metadata"]["resourceVersion"]}, "spec": {"replicas": 7}});
    let late = store.patch(&key(&made), Part::Main, &old).await;
    assert!(matches!(late, Err(StoreError::Conflict { .. })), "a patch may name the version it is for: {late:?}");
    let applied = store.apply(&deployment(3), &OURS).await.unwrap();
    assert_eq!((&applied["status"]["replicas"], &applied["spec"]["replicas"]), (&json!(2), &json!(3)));
}

async fn follows(store: &impl Store) {
    let object = |value: &str| json!({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "fast"}, "value": 7, "description": value});
    let kind = key(&object("")).kind;
    let mut seen = store.follow(&kind, BTreeSet::from(["fast".to_owned()])).await.unwrap();
    assert!(matches!(next(&mut seen).await, Seen::Gone { name } if name == "fast"));
    for value in ["one", "two"] {
        store.apply(&object(value), &OURS).await.unwrap();
        assert!(matches!(next(&mut seen).await, Seen::Object(found) if found["description"] == value));
    }
    store.delete(&key(&object("")), "").await.unwrap();
    assert!(matches!(next(&mut seen).await, Seen::Gone { name } if name == "fast"));
}

async fn refuses(store: &impl Store) {
    for (object, why) in [
        (json!({"apiVersion": "v1", "kind": "ConfigMap"}), "an object without `metadata.name`"),
        (json!({"kind": "ConfigMap", "metadata": {"name": "x"}}), "an object without `apiVersion`"),
    ] {
        assert_eq!(store.apply(&object, &OURS).await, Err(StoreError::Refused { why: why.to_owned() }));
    }
    let missing = store.patch(&key(&config("nobody", &json!({}))), Part::Main, &json!({"data": {}})).await;
    assert!(matches!(missing, Err(StoreError::Missing { .. })), "{missing:?}");
}

#[tokio::test]
async fn a_directory_is_a_store() {
    let root = tempfile::tempdir().unwrap();
    behaves(StateDirectory::open(root.path()).unwrap()).await;
    let log = std::fs::read_to_string(root.path().join("events.log")).unwrap();
    assert!(log.contains(r#""object":"ConfigMap default/one","reason":"Tried""#), "{log}");
}

#[tokio::test]
async fn a_cluster_is_a_store() {
    let Some(testbed) = clearway_testbed::own_cluster(&ClusterOptions::api_only()).await else { return };
    let connection =
        Connection { kubeconfig: Some(testbed.kubeconfig().to_owned()), context: None, ..Connection::default() };
    let store = ClusterStore::new(Cluster::connect(&connection).await.unwrap(), "clearway-test");
    behaves(store.clone()).await;

    // What only an API server knows: kinds, scopes, schemas; and what happens when it is away.
    let unknown = json!({"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "x"}});
    assert_eq!(
        store.apply(&unknown, &OURS).await,
        Err(StoreError::NoSuchKind { kind: Kind::new("example.com/v1", "Thing") })
    );
    let homeless = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}});
    let why = "ConfigMap x: this kind needs a namespace".to_owned();
    assert_eq!(store.apply(&homeless, &OURS).await, Err(StoreError::Refused { why }));
    let bad = store.apply(&config("Bad_Name", &json!({})), &OURS).await;
    assert!(matches!(&bad, Err(StoreError::Refused { why }) if why.contains("Bad_Name")), "{bad:?}");
    testbed.apiserver().kill();
    let away = store.get(&key(&config("two", &json!({})))).await;
    assert!(matches!(&away, Err(error @ StoreError::Away { .. }) if error.is_passing()), "{away:?}");
}

#[tokio::test]
async fn a_directory_refuses_names_that_lead_elsewhere_and_files_that_are_no_objects() {
    let root = tempfile::tempdir().unwrap();
    let store = StateDirectory::open(root.path()).unwrap();
    for name in ["../../etc", "..", ".hidden", "a/b", "a\0b"] {
        let refused = store.apply(&config(name, &json!({})), &OURS).await;
        assert_eq!(refused, Err(StoreError::Refused { why: format!("{name:?} is no name for an object") }));
    }
    store.apply(&config("one", &json!({})), &OURS).await.unwrap();
    let path = root.path().join("objects/core/ConfigMap/default/one.yaml");
    std::fs::write(&path, "a: [").unwrap();
    let refused = store.get(&key(&config("one", &json!({})))).await;
    assert!(
        matches!(&refused, Err(StoreError::Refused { why }) if why.contains("one.yaml is no object")),
        "{refused:?}"
    );
}
