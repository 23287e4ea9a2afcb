//! One behaviour, two stores: a real API server and a directory.

use std::collections::BTreeSet;

use clearway_core::{Event, EventType, GroupVersionKind, ObjectReference};
use clearway_sources::kubernetes::{Cluster, Connection};
use clearway_sources::store::{Apply, ClusterStore, Part, StateDirectory, Store, StoreError, StoreEvent};
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

fn key(object: &Value) -> ObjectReference {
    ObjectReference::of(object).unwrap()
}

async fn next(seen: &mut mpsc::Receiver<StoreEvent>) -> StoreEvent {
    tokio::time::timeout(clearway_testbed::IN_TIME, seen.recv()).await.expect("in time").expect("more")
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
    let event = Event::new(EventType::Normal, "Tried", "é".repeat(2000));
    store.record_event(&fewer, &event).await.unwrap();
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
    assert!(matches!(next(&mut seen).await, StoreEvent::Gone { name } if name == "fast"));
    for value in ["one", "two"] {
        store.apply(&object(value), &OURS).await.unwrap();
        assert!(matches!(next(&mut seen).await, StoreEvent::Object(found) if found["description"] == value));
    }
    store.delete(&key(&object("")), "").await.unwrap();
    assert!(matches!(next(&mut seen).await, StoreEvent::Gone { name } if name == "fast"));
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
        Err(StoreError::NoSuchKind { kind: GroupVersionKind::new("example.com/v1", "Thing") })
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

/// What is said of one release is not counted onto what was said of another; the same again is.
#[tokio::test]
async fn events_about_different_releases_are_different_events() {
    let Some(cluster) = clearway_testbed::own_cluster(&ClusterOptions::api_only()).await else { return };
    let connection = Connection { kubeconfig: Some(cluster.kubeconfig().to_owned()), ..Connection::default() };
    let store = ClusterStore::new(Cluster::connect(&connection).await.unwrap(), "clearway-test");
    let about = store.apply(&config("one", &json!({})), &OURS).await.unwrap();
    let event = |release: &str| {
        Event::new(EventType::Normal, "PayloadLoaded", format!("Payload loaded {release}")).about(release)
    };
    for release in ["1.1.0", "1.2.0", "example.com/r@sha256:00", "1.1.0"] {
        store.record_event(&about, &event(release)).await.unwrap();
    }
    let mut told: Vec<(String, String, i64)> = Vec::new();
    clearway_testbed::wait_until(clearway_testbed::IN_TIME, "all are stored", async || {
        let events = store.list(&GroupVersionKind::new("events.k8s.io/v1", "Event"), "").await.unwrap();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let ours = events.iter().filter(|event| event["reason"] == "PayloadLoaded");
        let row = |event: &Value| {
            (text(&event["related"]["name"]), text(&event["note"]), event["series"]["count"].as_i64().unwrap_or(1))
        };
        told = ours.map(row).collect();
        told.sort();
        told.len() == 3 && told.iter().any(|(_, _, count)| *count == 2)
    })
    .await
    .unwrap();
    let row = |release: &str, count| (release.to_owned(), format!("Payload loaded {release}"), count);
    assert_eq!(told, [row("1.1.0", 2), row("1.2.0", 1), row("example.com/r@sha256:00", 1)]);
}

#[tokio::test]
async fn a_directory_refuses_names_that_lead_elsewhere_and_files_that_are_no_objects() {
    let root = tempfile::tempdir().unwrap();
    let store = StateDirectory::open(root.path()).unwrap();
    for name in ["../../etc", "..", ".hidden", "a/b", "a\0b"] {
        let refused = store.apply(&config(name, &json!({})), &OURS).await;
        assert_eq!(refused, Err(StoreError::Refused { why: format!("{name:?} is not a valid object name") }));
    }
}

/// What may stand where an object is expected: its content or what it is, and what is said about it.
const BAD: &[(&str, &str)] = &[
    ("a: [", "one.yaml"),
    ("- a\n- b\n", "it contains a list, not an object"),
    ("[]", "it contains a list, not an object"),
    ("just words", "it contains a single value, not an object"),
    ("42", "it contains a single value, not an object"),
    ("", "it contains a single value, not an object"),
    ("a: 1\n---\nb: 2\n", "one.yaml"),
    ("a: 1\na: 2\n", "one.yaml"),
    ("{apiVersion: v1, kind: ConfigMap}", "an object without `metadata.name`"),
    ("{apiVersion: v1, kind: ConfigMap, metadata: [name]}", "an object without `metadata.name`"),
    ("{apiVersion: [], kind: {}, metadata: 7}", "an object without `apiVersion`"),
    (
        "{apiVersion: v1, kind: Secret, metadata: {name: one, namespace: default}}",
        "it contains Secret default/one, but",
    ),
    (
        "{apiVersion: x/v1, kind: ConfigMap, metadata: {name: one, namespace: default}}",
        "it contains ConfigMap.x default/one, but",
    ),
    (
        "{apiVersion: v1, kind: ConfigMap, metadata: {name: other, namespace: default}}",
        "ConfigMap default/other, but its path",
    ),
    ("{apiVersion: v1, kind: ConfigMap, metadata: {name: one, namespace: other}}", "ConfigMap other/one, but its path"),
    ("{apiVersion: v1, kind: ConfigMap, metadata: {name: one}}", "ConfigMap one, but its path"),
    ("\u{0}", "one.yaml"),
    ("LATIN-1", "it is not UTF-8"),
    ("DEEP", "one.yaml"),
    ("ALIASES", "one.yaml"),
    ("HUGE", "it is larger than 3145728 bytes"),
    ("PIPE", "it is a named pipe, not a file"),
    ("DIRECTORY", "it is a directory, not a file"),
    ("DANGLING", "it links to `gone`, which does not exist"),
    ("OUT", "it links to `/etc/passwd`, outside the directory"),
    ("LOOP", "its links form a loop"),
];

fn make_bad(path: &std::path::Path, what: &str) {
    use std::os::unix::fs::symlink;
    let _ = std::fs::remove_file(path);
    match what {
        "PIPE" => assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success()),
        "DIRECTORY" => std::fs::create_dir(path).unwrap(),
        "DANGLING" => symlink("gone", path).unwrap(),
        "OUT" => symlink("/etc/passwd", path).unwrap(),
        "LOOP" => symlink("one.yaml", path).unwrap(),
        "LATIN-1" => std::fs::write(path, b"a: \xff").unwrap(),
        "DEEP" => std::fs::write(path, format!("{}1{}", "{a: ".repeat(100_000), "}".repeat(100_000))).unwrap(),
        "ALIASES" => {
            let levels = (1..40).map(|level| format!("l{level}: &l{level} [*l{0}, *l{0}]\n", level - 1));
            std::fs::write(path, format!("l0: &l0 [x, x]\n{}", levels.collect::<String>())).unwrap();
        }
        "HUGE" => std::fs::File::create(path).unwrap().set_len(1 << 40).unwrap(),
        text => std::fs::write(path, text).unwrap(),
    }
}

#[tokio::test]
async fn a_file_that_is_no_object_is_named_and_the_rest_goes_on() {
    for (what, want) in BAD {
        let root = tempfile::tempdir().unwrap();
        let store = StateDirectory::open(root.path()).unwrap();
        let (one, two) = (config("one", &json!({})), config("two", &json!({"a": "1"})));
        for object in [&one, &two, &deployment(1)] {
            store.apply(object, &OURS).await.unwrap();
        }
        let path = root.path().join("objects/core/ConfigMap/default/one.yaml");
        make_bad(&path, what);
        let before = std::fs::symlink_metadata(&path).unwrap();
        let named = |error: &StoreError| {
            let text = error.to_string();
            assert!(text.contains("one.yaml") && text.contains(want), "{what}: {text}");
            assert!(!error.is_passing(), "{what}");
        };
        named(&store.get(&key(&one)).await.unwrap_err());
        // What the list lacks would be taken for something that does not exist.
        named(&store.list(&key(&one).kind, "").await.unwrap_err());
        named(&store.list_in(&key(&one).kind, "default").await.unwrap_err());
        // Nothing is written over it, and it is not removed.
        named(&store.apply(&config("one", &json!({"a": "2"})), &OURS).await.unwrap_err());
        named(&store.create(&one).await.unwrap_err());
        named(&store.patch(&key(&one), Part::Main, &json!({"data": {}})).await.unwrap_err());
        named(&store.replace_status(&one).await.unwrap_err());
        named(&store.delete(&key(&one), "").await.unwrap_err());
        let after = std::fs::symlink_metadata(&path).unwrap();
        assert_eq!((before.len(), before.modified().unwrap()), (after.len(), after.modified().unwrap()), "{what}");
        // The rest goes on.
        let changed = store.apply(&config("two", &json!({"a": "2"})), &OURS).await.unwrap();
        assert_eq!(store.get(&key(&two)).await.unwrap().as_ref(), Some(&changed));
        assert_eq!(store.list(&key(&deployment(1)).kind, "").await.unwrap().len(), 1);
        assert!(store.kinds().await.unwrap().contains(&key(&one).kind), "{what}");
        let (objects, errors) = store.readable(&key(&one).kind).unwrap();
        assert_eq!((objects.len(), errors.len()), (1, 1));
        let findings = store.check();
        let [finding] = findings.as_slice() else { panic!("{findings:?}") };
        assert!(finding.place.file.as_ref().unwrap().ends_with("default/one.yaml"), "{finding:?}");
        if path.is_dir() {
            std::fs::remove_dir(&path).unwrap();
        } else {
            std::fs::remove_file(&path).unwrap();
        }
        assert_eq!(store.check(), []);
    }
}

#[tokio::test]
async fn an_object_whose_file_breaks_is_not_gone_and_comes_back() {
    let root = tempfile::tempdir().unwrap();
    let store = StateDirectory::open(root.path()).unwrap();
    let class =
        |name: &str| json!({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}});
    store.apply(&class("fast"), &OURS).await.unwrap();
    let kind = key(&class("fast")).kind;
    let mut all = store.follow(&kind, BTreeSet::new()).await.unwrap();
    let mut one = store.follow(&kind, BTreeSet::from(["fast".to_owned()])).await.unwrap();
    for seen in [&mut all, &mut one] {
        assert!(matches!(next(seen).await, StoreEvent::Object(found) if found["metadata"]["name"] == "fast"));
    }
    let directory = root.path().join("objects/scheduling.k8s.io/PriorityClass/_");
    let good = std::fs::read(directory.join("fast.yaml")).unwrap();
    std::fs::write(directory.join(".scratch"), "- a list").unwrap();
    std::fs::rename(directory.join(".scratch"), directory.join("fast.yaml")).unwrap();
    for seen in [&mut all, &mut one] {
        let seen = next(seen).await;
        assert!(matches!(&seen, StoreEvent::Trouble { error } if error.to_string().contains("fast.yaml")), "{seen:?}");
    }
    // Others are seen meanwhile, and it is seen again when it is mended, although it says what it said.
    store.apply(&class("slow"), &OURS).await.unwrap();
    assert!(matches!(next(&mut all).await, StoreEvent::Object(found) if found["metadata"]["name"] == "slow"));
    std::fs::write(directory.join(".scratch"), good).unwrap();
    std::fs::rename(directory.join(".scratch"), directory.join("fast.yaml")).unwrap();
    for seen in [&mut all, &mut one] {
        assert!(matches!(next(seen).await, StoreEvent::Object(found) if found["metadata"]["name"] == "fast"));
    }
}

#[tokio::test]
async fn what_could_not_be_read_again_is_not_written() {
    let root = tempfile::tempdir().unwrap();
    let store = StateDirectory::open(root.path()).unwrap();
    let small = config("one", &json!({"a": "1"}));
    let kept = store.apply(&small, &OURS).await.unwrap();
    let revision = || std::fs::read_to_string(root.path().join("revision")).unwrap();
    let before = revision();
    // Fits as JSON, and not as YAML: its lists have a line for every item.
    let mut large = kept.clone();
    large["status"] = json!({"text": "x".repeat(12 << 20)});
    let mut wide = kept.clone();
    wide["status"] = json!({"list": vec![json!([1]); 400_000]});
    assert!(wide.to_string().len() < clearway_sources::store::OBJECT_BYTES);
    for object in [large, wide] {
        let refused = store.replace_status(&object).await;
        let Err(StoreError::TooLarge { bytes, limit, .. }) = &refused else { panic!("{refused:?}") };
        assert!(bytes > limit && *limit == clearway_sources::store::OBJECT_BYTES, "{refused:?}");
    }
    let data = config("one", &json!({"a": "x".repeat(4 << 20)}));
    for how in [Apply { dry_run: true, ..OURS }, OURS] {
        assert!(matches!(store.apply(&data, &how).await, Err(StoreError::TooLarge { .. })));
    }
    let mut deep = json!(1);
    for _ in 0..200 {
        deep = json!({"a": deep});
    }
    let mut nested = kept.clone();
    nested["status"] = deep;
    let refused = store.replace_status(&nested).await;
    assert!(matches!(&refused, Err(StoreError::Refused { why }) if why.contains("cannot be stored")), "{refused:?}");
    let mut many = kept.clone();
    many["status"] = json!({"maps": vec![json!({"a": 0}); 200_000]});
    let refused = store.replace_status(&many).await;
    assert!(matches!(&refused, Err(StoreError::Refused { why }) if why.contains("values and keys")), "{refused:?}");
    let path = root.path().join("objects/core/ConfigMap/default/many.yaml");
    std::fs::write(&path, format!("maps: [{}0]\n", "{a: 0},".repeat(200_000))).unwrap();
    assert!(
        store.check().iter().any(|finding| finding
            .place
            .file
            .as_deref()
            .is_some_and(|file| file.ends_with("many.yaml")))
    );
    std::fs::remove_file(path).unwrap();
    assert_eq!(store.get(&key(&small)).await.unwrap(), Some(kept), "the object is what it was");
    assert_eq!(revision(), before, "no number was used");
}

#[tokio::test]
async fn files_of_the_directory_itself_that_are_odd_are_named() {
    for (name, what, want) in [
        ("lock", "PIPE", "cannot open"),
        ("lock", "OUT", "cannot open"),
        ("revision", "PIPE", "it is a named pipe"),
        ("revision", "many words, and no number at all", "does not contain a number"),
        ("revision", "18446744073709551615", "does not contain a number"),
        ("revision", "HUGE", "does not contain a number"),
        ("applied/clearway", "OUT", "is not used: it links to `/etc/passwd`"),
        ("applied/clearway", "a file", "a parent directory of it is a file"),
        ("objects/core", "OUT", "is not used: it links to `/etc/passwd`"),
    ] {
        let root = tempfile::tempdir().unwrap();
        let store = StateDirectory::open(root.path()).unwrap();
        make_bad(&root.path().join(name), what);
        let error = store.apply(&config("one", &json!({})), &OURS).await.unwrap_err().to_string();
        assert!(error.contains(want) && error.contains(name.split('/').next_back().unwrap()), "{name} {what}: {error}");
    }
    let root = tempfile::tempdir().unwrap();
    let store = StateDirectory::open(root.path()).unwrap();
    make_bad(&root.path().join("events.log"), "PIPE");
    let event = Event::new(EventType::Normal, "Tried", "");
    let error = store.record_event(&config("one", &json!({})), &event).await.unwrap_err().to_string();
    assert!(error.contains("cannot write") && error.contains("events.log"), "{error}");
    // Links that stay inside are followed.
    std::fs::create_dir_all(root.path().join("disk/core")).unwrap();
    std::fs::remove_dir(root.path().join("objects")).unwrap();
    std::os::unix::fs::symlink("disk", root.path().join("objects")).unwrap();
    let made = store.apply(&config("one", &json!({})), &OURS).await.unwrap();
    assert!(root.path().join("disk/core/ConfigMap/default/one.yaml").is_file());
    assert_eq!(store.get(&key(&made)).await.unwrap(), Some(made));
}
