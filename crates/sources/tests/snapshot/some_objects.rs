//! What cannot be read costs those rules their answers that ask for it.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use clearway_advice::evidence::{ObjectAnswer, Record};
use clearway_core::GroupVersionKind;
use clearway_sources::collector::{ObjectLimits, object_answers, snapshot_objects};
use clearway_sources::snapshot::{object_evidence, to_files};
use clearway_sources::store::{StateDirectory, Store as _};
use serde_json::{Value, json};

use crate::plan;

fn rule(kind: &str, more: &Value) -> Value {
    let mut resource = json!({"apiVersion": "v1", "kind": kind, "expression": "has(object.metadata)"});
    resource.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    json!({"type": "Resource", "resource": resource})
}

fn object(kind: &str, namespace: &str, name: &str) -> Value {
    let mut object = json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": name}});
    if !namespace.is_empty() {
        object["metadata"]["namespace"] = namespace.into();
    }
    object
}

fn found(records: &std::collections::BTreeMap<String, Record<ObjectAnswer>>, word: &str) -> Result<usize, String> {
    match records.iter().find(|(text, _)| text.contains(word)).unwrap().1 {
        Record::Answered(answer) => Ok(answer.value.matches),
        Record::Failed(failure) => Err(failure.message.clone()),
        Record::Pending { .. } => panic!("{word} is pending"),
    }
}

#[tokio::test]
async fn a_config_map_that_cannot_be_read_takes_nothing_from_the_others() {
    let place = tempfile::tempdir().unwrap();
    let store = StateDirectory::open(place.path()).unwrap();
    store.create(&object("ConfigMap", "shop", "good")).await.unwrap();
    fs::write(place.path().join("objects/core/ConfigMap/shop/broken.yaml"), "[]").unwrap();
    let named = |name: &str| rule("ConfigMap", &json!({"namespace": "shop", "name": name}));
    let plan = plan(&[named("broken"), named("good"), named("nothing")]);
    let questions = plan.object_questions();
    let owned = questions.iter().map(|(question, steps)| ((*question).clone(), *steps)).collect();
    let now = clearway_sources::clock::now();
    let live = object_answers(&store, owned, &ObjectLimits::default(), || now, "here", || ()).await;
    assert_eq!((found(&live, "good"), found(&live, "nothing")), (Ok(1), Ok(0)));
    assert!(found(&live, "broken").is_err());

    // The same is known of a snapshot, also after it was written and read.
    let mut snapshot = clearway_sources::snapshot::Snapshot::new(now);
    snapshot.objects = snapshot_objects(&store, &plan.object_requests(), &ObjectLimits::default()).await;
    let files = to_files(&snapshot).unwrap();
    let loaded = clearway_sources::snapshot::assemble(files, &clearway_core::Limits::default()).unwrap();
    let kept = object_evidence(loaded.snapshot.objects, now, "here");
    for (question, steps) in &questions {
        let answered = matches!(kept.answer(question, *steps), clearway_advice::evidence::Reply::Answered(_));
        assert_eq!(answered, !question.text().contains("broken"), "{}", question.text());
    }
}

#[tokio::test]
async fn no_computation_is_longer_than_a_few_rules_on_one_object() {
    let place = tempfile::tempdir().unwrap();
    let store = StateDirectory::open(place.path()).unwrap();
    for name in ["a", "b", "c"] {
        store.create(&object("Node", "", name)).await.unwrap();
    }
    // At most 32 rules in one risk, and 50 at once.
    let risks: Vec<Vec<Value>> =
        (0..4).map(|risk| (0..30).map(|at| rule("Node", &json!({"name": format!("{risk}-{at}")}))).collect()).collect();
    let plan = crate::plan_of(&risks);
    let owned = plan.object_questions().into_iter().map(|(question, steps)| (question.clone(), steps)).collect();
    let begun = Arc::new(AtomicUsize::new(0));
    let counted = begun.clone();
    let busy = move || counted.fetch_add(1, Ordering::Relaxed);
    let now = clearway_sources::clock::now();
    let records = object_answers(&store, owned, &ObjectLimits::default(), || now, "here", busy).await;
    assert_eq!(records.len(), 120);
    assert_eq!(begun.load(Ordering::Relaxed), 3 * 3, "three objects, and three times up to 50 rules on each");
}

#[tokio::test]
async fn a_directory_is_read_page_by_page() {
    let place = tempfile::tempdir().unwrap();
    let store = StateDirectory::open(place.path()).unwrap();
    for (namespace, name) in [("a", "x"), ("a", "y"), ("b", "a"), ("c", "m"), ("c", "n")] {
        store.create(&object("Pod", namespace, name)).await.unwrap();
    }
    let kind = GroupVersionKind::new("v1", "Pod");
    for size in 1..7 {
        let (mut seen, mut token) = (Vec::new(), None::<String>);
        loop {
            let page = store.page(&kind, token.as_deref(), size).await.unwrap();
            assert!(page.items.len() <= size as usize);
            seen.extend(page.items.iter().map(|item| {
                format!(
                    "{}{}",
                    item["metadata"]["namespace"].as_str().unwrap(),
                    item["metadata"]["name"].as_str().unwrap()
                )
            }));
            token = page.next;
            if token.is_none() {
                break;
            }
        }
        assert_eq!(seen, ["ax", "ay", "ba", "cm", "cn"], "{size} at a time");
    }
    fs::write(place.path().join("objects/core/Pod/c/odd.yaml"), "[]").unwrap();
    assert!(store.page(&kind, Some("b/a.yaml"), 10).await.is_err(), "what a page lacks would be taken for absent");
}
