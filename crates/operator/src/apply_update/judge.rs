//! The health of an object as it is in a store, in the light of its pods.

use std::fmt::Write as _;
use std::time::Duration;

use clearway_conditions::health::{ExpectedObject, State, Verdict, with_pods};
use clearway_core::{GroupVersionKind, ObjectId, ObjectReference, Timestamp};
use clearway_release::Payload;
use clearway_sources::store::Store;
use clearway_update::health::judge;
use serde_json::Value;

/// Pods that are named in a sentence.
const NAMED: usize = 2;
/// How long looking at pods may take, before an object is judged by what it says of itself.
const PODS_WITHIN: Duration = Duration::from_secs(5);

/// What an apply left, so that only that is judged.
pub(super) fn expected(answer: &Value) -> ExpectedObject {
    ExpectedObject {
        uid: answer["metadata"]["uid"].as_str().unwrap_or_default().to_owned(),
        generation: answer["metadata"]["generation"].as_i64(),
    }
}

/// Whether the release defines a kind, and its objects have conditions there.
pub(super) fn defines_conditions(payload: &Payload, id: &ObjectId, version: &str) -> Option<bool> {
    let defines = |manifest: &&clearway_release::Manifest| {
        manifest.definition().is_some_and(|defined| defined.kind.group == id.group && defined.kind.kind == id.kind)
    };
    let definition = payload.manifests.iter().find(defines)?;
    let versions = definition.object["spec"]["versions"].as_array()?;
    let schema = &versions.iter().find(|one| one["name"] == version)?["schema"]["openAPIV3Schema"];
    Some(schema["properties"]["status"]["properties"]["conditions"].is_object())
}

/// A workload that is not healthy, in the light of its newest pods: they may have failed without a word in its own
/// status, and they know why they wait.
pub(super) async fn with_its_pods<S: Store>(store: &S, object: &Value, verdict: Verdict, now: Timestamp) -> Verdict {
    if !matches!(verdict.state, State::InProgress | State::Failed) {
        return verdict;
    }
    let found = tokio::time::timeout(PODS_WITHIN, pods(store, object)).await;
    // Who may not read pods still sees what the workload says of itself.
    let Ok(Some(pods)) = found else { return verdict };
    let judged: Vec<(ObjectId, Verdict)> = pods
        .iter()
        .filter_map(|pod| {
            let id = ObjectReference::of(pod).ok()?.id();
            Some((id, judge(pod, None, None, now)))
        })
        .collect();
    let mut verdict = with_pods(verdict, &judged);
    if verdict.reason == "PodsFailed" {
        return verdict;
    }
    let mut unwell: Vec<_> =
        judged.iter().filter(|(_, pod)| matches!(pod.state, State::InProgress | State::Failed)).collect();
    unwell.sort_by(|(one, _), (other, _)| one.cmp(other));
    for (id, pod) in unwell.iter().take(NAMED) {
        // Writing to a string cannot fail.
        let _ = write!(verdict.message, "; pod {}: {}", id.name, pod.message);
    }
    verdict
}

/// The pods of the newest revision of a workload.
async fn pods<S: Store>(store: &S, object: &Value) -> Option<Vec<Value>> {
    let (kind, metadata) = (object["kind"].as_str()?, &object["metadata"]);
    if !matches!(kind, "Deployment" | "ReplicaSet" | "StatefulSet" | "DaemonSet" | "Job") {
        return None;
    }
    let selector: Vec<String> = object["spec"]["selector"]["matchLabels"]
        .as_object()?
        .iter()
        .filter_map(|(name, value)| Some(format!("{name}={}", value.as_str()?)))
        .collect();
    let selector = selector.join(",");
    let mine = |one: &Value, owner: &Value| {
        let owners = one["metadata"]["ownerReferences"].as_array().map_or(&[][..], Vec::as_slice);
        one["metadata"]["namespace"] == metadata["namespace"] && owners.iter().any(|one| one["uid"] == *owner)
    };
    let owner = if kind == "Deployment" {
        let revision = |set: &Value| {
            let said = set["metadata"]["annotations"]["deployment.kubernetes.io/revision"].as_str();
            said.and_then(|said| said.parse::<u64>().ok()).unwrap_or(0)
        };
        let sets = store.list(&GroupVersionKind::new("apps/v1", "ReplicaSet"), &selector).await.ok()?;
        let newest = sets.into_iter().filter(|set| mine(set, &metadata["uid"])).max_by_key(revision)?;
        newest["metadata"]["uid"].clone()
    } else {
        metadata["uid"].clone()
    };
    let mut pods = store.list(&GroupVersionKind::new("v1", "Pod"), &selector).await.ok()?;
    let newest = object["status"]["updateRevision"].as_str();
    pods.retain(|pod| {
        let revision = pod["metadata"]["labels"]["controller-revision-hash"].as_str();
        mine(pod, &owner) && (kind != "StatefulSet" || newest.is_none() || revision == newest)
    });
    Some(pods)
}
