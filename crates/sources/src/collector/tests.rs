use super::*;
use crate::store::StateDirectory;
use serde_json::json;

fn request(kind: &str, name: Option<(&str, &str)>) -> ObjectRequest {
    let (namespace, name) = name.map(|(namespace, name)| (namespace.to_owned(), name.to_owned())).unzip();
    ObjectRequest { kind: GroupKind::from_api_version("v1", kind), namespace, name }
}

/// All kinds of a snapshot are in memory at one time, so they have one budget.
#[tokio::test]
async fn all_kinds_share_the_memory_of_a_snapshot() {
    let place = tempfile::tempdir().unwrap();
    let store = StateDirectory::open(place.path()).unwrap();
    let object = |kind: &str, name: &str, bytes: usize| json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "namespace": "a"}, "text": "x".repeat(bytes)});
    for (kind, name, bytes) in
        [("ConfigMap", "one", 3_000), ("Large", "one", 5_000), ("Larger", "one", 50_000), ("Small", "one", 500)]
    {
        store.create(&object(kind, name, bytes)).await.unwrap();
    }
    let requests = [
        request("ConfigMap", Some(("a", "one"))),
        request("ConfigMap", Some(("a", "two"))),
        request("Large", None),
        request("Larger", None),
        request("Small", None),
    ];
    let requests: Vec<&ObjectRequest> = requests.iter().collect();
    let collected = async |memory: usize| {
        let parts = objects_within(&store, &requests, &ObjectLimits::default(), Budget::of(memory)).await;
        let told = |part: &Part<snapshot::Objects>| match part.collected() {
            Ok(objects) => {
                let unread: Vec<&str> = objects.selection.not_read.iter().map(|one| one.why.as_str()).collect();
                format!("{} {}", objects.items.len(), unread.join(" "))
            }
            Err(why) => why.to_owned(),
        };
        parts.values().map(told).collect::<Vec<_>>()
    };
    assert_eq!(collected(1 << 20).await, ["1 ", "1 ", "1 ", "1 "]);
    // What does not fit takes nothing from what comes after it.
    assert_eq!(collected(20_000).await, ["1 ", "1 ", "too large", "1 "]);
    assert_eq!(collected(4_000).await, ["0 too large", "too large", "too large", "1 "]);
}
