//! Objects of a store, read for rules: kept in a snapshot, or evaluated as they come (U16).

mod large_objects;
mod some_objects;

use std::collections::BTreeMap;

use clearway_advice::evidence::{ObjectAnswer, ObjectRequest, Record, Reply};
use clearway_advice::{Plan, Settings};
use clearway_core::{GroupKind, Limits, Version};
use clearway_graph::wire;
use clearway_sources::collector::{ObjectLimits, object_answers, snapshot_objects};
use clearway_sources::kubernetes::{Cluster, Connection};
use clearway_sources::snapshot::{Objects, Part, Snapshot, assemble, crds, object_evidence, to_files};
use clearway_sources::store::{ClusterStore, Store as _};
use clearway_testbed::{ClusterOptions, own_cluster, wait_until};
use serde_json::{Value, json};

async fn connect(kubeconfig: &std::path::Path) -> ClusterStore {
    let connection = Connection { kubeconfig: Some(kubeconfig.to_owned()), context: None, ..Connection::default() };
    let cluster = Cluster::connect(&connection).await.unwrap();
    ClusterStore::new(cluster, "test")
}

fn request(kind: &str, namespace: Option<&str>, name: Option<&str>) -> ObjectRequest {
    let owned = |text: Option<&str>| text.map(str::to_owned);
    ObjectRequest { kind: GroupKind::from_api_version("v1", kind), namespace: owned(namespace), name: owned(name) }
}

/// The names of the objects that were read of the one kind that was asked for, or why there are none.
async fn names(store: &ClusterStore, requests: &[ObjectRequest], limits: &ObjectLimits) -> Result<Vec<String>, String> {
    let requests: Vec<&ObjectRequest> = requests.iter().collect();
    let parts = snapshot_objects(store, &requests, limits).await;
    let (_, part) = parts.into_iter().next().unwrap();
    let text = |item: &Value| item["metadata"]["name"].as_str().unwrap().to_owned();
    part.collected().map(|objects| objects.items.iter().map(text).collect()).map_err(str::to_owned)
}

/// The plan of a graph with one update whose risk has these rules.
fn plan(rules: &[Value]) -> Plan {
    plan_of(&[rules.to_vec()])
}

/// The plan of a graph with one update with risks that have these rules.
fn plan_of(risks: &[Vec<Value>]) -> Plan {
    let risk = |(at, rules): (usize, &Vec<Value>)| json!({"name": format!("R{at}"), "url": "https://example.com", "message": "m", "matchingRules": rules});
    let risks: Vec<Value> = risks.iter().enumerate().map(risk).collect();
    let graph = json!({
        "nodes": [{"version": "1.0.0", "payload": "a"}, {"version": "1.0.1", "payload": "b"}],
        "conditionalEdges": [{"edges": [{"from": "1.0.0", "to": "1.0.1"}], "risks": risks}],
    });
    let graph = wire::read(graph.to_string().as_bytes(), &Limits::default()).graph.unwrap();
    Plan::new(&graph, &Version::new(1, 0, 0), &Settings::default()).unwrap()
}

fn check<T: Send>(_: T) {}

#[tokio::test]
async fn what_is_there_what_is_not_and_what_may_not_be_seen() {
    let Some(bed) = own_cluster(&ClusterOptions::api_only()).await else { return };
    let store = connect(bed.kubeconfig()).await;
    let limits = ObjectLimits::default();
    let all = [request("Namespace", None, None)];

    // Both can be waited for by whoever has several threads.
    check(snapshot_objects(&store, &[&all[0]], &limits));
    check(crds(&store, &limits));
    let mut snapshot = Snapshot::new(clearway_sources::clock::now());
    snapshot.objects = snapshot_objects(&store, &[&all[0]], &limits).await;
    assert!(!format!("{:?}", snapshot.objects).contains("managedFields"));
    assert!(names(&store, &all, &limits).await.unwrap().contains(&"kube-system".to_owned()));

    // Of ConfigMaps those are read that are named, each once; one that is not there is a fact.
    let map = |name: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}});
    store.create(&map("one")).await.unwrap();
    store.create(&map("other")).await.unwrap();
    let named = [
        request("ConfigMap", Some("default"), Some("one")),
        request("ConfigMap", Some("default"), Some("nothing")),
        request("ConfigMap", None, Some("one")),
        request("ConfigMap", Some("default"), None),
    ];
    assert_eq!(names(&store, &named, &limits).await, Ok(vec!["one".to_owned()]));
    assert_eq!(crds(&store, &limits).await, Part::Collected(vec![]));

    // What may not be seen, is too much, or is a secret is unknown, and a kind that is not served is known to be absent.
    let stranger = connect(&bed.kubeconfig_for("stranger", None).unwrap()).await;
    assert_eq!(names(&stranger, &all, &limits).await.unwrap_err(), "permission denied");
    assert!(crds(&stranger, &limits).await.collected().is_err());
    for few in [ObjectLimits { count: 1, ..limits.clone() }, ObjectLimits { bytes: 100, ..limits.clone() }] {
        assert_eq!(names(&store, &all, &few).await.unwrap_err(), "too large");
    }
    let secrets = request("Secret", None, None);
    assert_eq!(names(&store, std::slice::from_ref(&secrets), &limits).await.unwrap_err(), "rules cannot read them");
    let nowhere = request("Nothing", None, None);
    let more = snapshot_objects(&store, &[&secrets, &nowhere], &limits).await;
    snapshot.objects.extend(more);

    let files = to_files(&snapshot).unwrap();
    let loaded = assemble(files.clone(), &Limits::default()).unwrap();
    assert!(loaded.diagnostics.is_empty());
    assert_eq!(to_files(&loaded.snapshot).unwrap(), files);
    let nowhere = loaded.snapshot.objects.get(&GroupKind { group: String::new(), kind: "Nothing".to_owned() });
    assert!(matches!(nowhere, Some(Part::Collected(Objects { not_served: true, .. }))));
    bed.apiserver().kill();
    assert_eq!(names(&store, &all, &limits).await.unwrap_err(), "the API server did not answer");
}

/// Objects that are evaluated as they come say what the objects of a snapshot say, for whoever may read them and whoever
/// may not.
#[tokio::test]
async fn live_objects_and_those_of_a_snapshot_give_the_same_answers() {
    let Some(bed) = own_cluster(&ClusterOptions::api_only()).await else { return };
    let rule = |kind: &str, more: Value| {
        let mut resource = json!({"apiVersion": "v1", "kind": kind, "expression": "object.metadata.name == 'default'"});
        resource.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({"type": "Resource", "resource": resource})
    };
    let plan = plan(&[
        rule("Namespace", json!({})),
        rule("Namespace", json!({"expression": "object.spec.nothing == 1"})),
        rule("Namespace", json!({"labelSelector": {"matchLabels": {"a": "b"}}})),
        rule("Nothing", json!({})),
        rule("ConfigMap", json!({"name": "kube-root-ca.crt", "namespace": "default"})),
        json!({"type": "Condition", "condition": {"apiVersion": "v1", "kind": "Node", "type": "Ready", "status": "True"}}),
    ]);
    wait_for_namespaces(&bed).await;
    for kubeconfig in [bed.kubeconfig().to_owned(), bed.kubeconfig_for("stranger", None).unwrap()] {
        let store = connect(&kubeconfig).await;
        let now = clearway_sources::clock::now();
        let parts = snapshot_objects(&store, &plan.object_requests(), &ObjectLimits::default()).await;
        let snapshot = object_evidence(parts, now, "here");
        let questions = plan.object_questions();
        let owned = questions.iter().map(|(question, steps)| ((*question).clone(), *steps)).collect();
        let live = object_answers(&store, owned, &ObjectLimits::default(), || now, "here", || ()).await;
        let kept: BTreeMap<String, Record<ObjectAnswer>> = questions
            .iter()
            .map(|(question, steps)| {
                let record = match snapshot.answer(question, *steps) {
                    Reply::Answered(observation) => Record::Answered(observation),
                    Reply::Failed(failure) => Record::Failed(failure),
                    other => panic!("{other:?}"),
                };
                (question.text().to_owned(), record)
            })
            .collect();
        let bare = |records: &BTreeMap<String, Record<ObjectAnswer>>| -> Vec<(String, Result<ObjectAnswer, String>)> {
            let one = |(text, record): (&String, &Record<ObjectAnswer>)| match record {
                Record::Answered(observation) => (text.clone(), Ok(observation.value.clone())),
                Record::Failed(failure) => (text.clone(), Err(format!("{:?} {}", failure.class, failure.message))),
                Record::Pending { .. } => panic!("{text} is pending"),
            };
            records.iter().map(one).collect()
        };
        assert_eq!(bare(&live), bare(&kept));
        assert_eq!(live.len(), questions.len());
    }
}

/// The API server makes its namespaces a moment after it is ready.
async fn wait_for_namespaces(bed: &clearway_testbed::Cluster) {
    let store = connect(bed.kubeconfig()).await;
    wait_until(clearway_testbed::IN_TIME, "the namespaces are there", async || {
        let all = [request("Namespace", None, None)];
        names(&store, &all, &ObjectLimits::default()).await.is_ok_and(|names| names.len() >= 4)
    })
    .await
    .unwrap();
}
