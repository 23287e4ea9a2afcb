//! Objects that are larger together than one answer that is read.

use clearway_advice::evidence::ObjectRequest;
use clearway_core::{GroupKind, GroupVersionKind};
use clearway_sources::collector::{ObjectLimits, object_answers, snapshot_objects};
use clearway_sources::store::{Store as _, StoreError};
use clearway_testbed::{ClusterOptions, own_cluster};
use serde_json::{Value, json};

use crate::{connect, plan};

/// A kind with a field that may hold anything.
fn large(name: usize, data: &Value) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "ControllerRevision", "revision": 1,
        "metadata": {"name": format!("q{name:03}"), "namespace": "default"}, "data": {"data": data},
    })
}

#[tokio::test]
async fn large_objects_are_read_in_small_pages() {
    let Some(bed) = own_cluster(&ClusterOptions::api_only()).await else { return };
    let store = connect(bed.kubeconfig()).await;
    for name in 0..50 {
        store.create(&large(name, &"x".repeat(200 << 10).into())).await.unwrap();
    }
    let kind = GroupVersionKind::new("apps/v1", "ControllerRevision");
    let refused = store.page(&kind, None, 50).await.unwrap_err();
    assert!(matches!(refused, StoreError::AnswerTooLarge { .. }), "{refused}");
    assert_eq!(store.page(&kind, None, 25).await.unwrap().items.len(), 25);

    let rule = json!({"type": "Resource", "resource":
        {"apiVersion": "apps/v1", "kind": "ControllerRevision", "expression": "object.metadata.name.startsWith('q')"}});
    let plan = plan(&[rule]);
    let owned = plan.object_questions().into_iter().map(|(question, steps)| (question.clone(), steps)).collect();
    let now = clearway_sources::clock::now();
    let live = object_answers(&store, owned, &ObjectLimits::default(), || now, "here", || ()).await;
    let clearway_advice::evidence::Record::Answered(answer) = live.values().next().unwrap() else { panic!("{live:?}") };
    assert_eq!(answer.value.matches, 50, "each once");

    let request = ObjectRequest {
        kind: GroupKind::from_api_version("apps/v1", "ControllerRevision"),
        namespace: None,
        name: None,
    };
    let parts = snapshot_objects(&store, &[&request], &ObjectLimits::default()).await;
    assert_eq!(parts.values().next().unwrap().collected().unwrap().items.len(), 50);

    // One that takes more memory than a page may costs the kind its answer, however short its text.
    store.create(&large(99, &vec![json!({"a": 0}); 130_000].into())).await.unwrap();
    let parts = snapshot_objects(&store, &[&request], &ObjectLimits::default()).await;
    assert_eq!(parts.values().next().unwrap().collected().unwrap_err(), "too large");
}
