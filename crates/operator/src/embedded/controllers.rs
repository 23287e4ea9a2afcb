//! What the controllers of a cluster would write into a status next: functions of an object.
//!
//! Simpler than the real ones: every change of a spec is a roll-out, all pods start well, and there is one node.

use clearway_core::Timestamp;
use serde_json::{Value, json};

/// The kinds that are simulated.
pub(super) const KINDS: [(&str, &str); 6] = [
    ("v1", "Namespace"),
    ("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
    ("apps/v1", "Deployment"),
    ("apps/v1", "StatefulSet"),
    ("apps/v1", "DaemonSet"),
    ("batch/v1", "Job"),
];

/// Steps in which the pods of a workload are replaced.
const STEPS: u64 = 3;

/// A status, and what it comes to.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Step {
    pub(super) status: Value,
    pub(super) said: String,
}

/// The next step of an object; nothing if it is at rest, or nobody plays its kind.
pub(super) fn next(object: &Value, now: Timestamp) -> Option<Step> {
    match object["kind"].as_str()? {
        "Namespace" => namespace(object),
        "CustomResourceDefinition" => definition(object, now),
        "Deployment" => deployment(object, now),
        "StatefulSet" => stateful_set(object),
        "DaemonSet" => daemon_set(object),
        "Job" => job(object, now),
        _ => None,
    }
}

fn namespace(object: &Value) -> Option<Step> {
    let new = object["status"]["phase"].is_null();
    new.then(|| Step { status: json!({"phase": "Active"}), said: "active".to_owned() })
}

fn definition(object: &Value, now: Timestamp) -> Option<Step> {
    let (spec, before) = (&object["spec"], &object["status"]);
    let versions = spec["versions"].as_array().map_or(&[][..], Vec::as_slice);
    let storage = versions.iter().find(|version| version["storage"] == true).map(|version| version["name"].clone());
    let mut stored = before["storedVersions"].as_array().cloned().unwrap_or_default();
    stored.extend(storage.filter(|storage| !stored.contains(storage)));
    let status = json!({
        "acceptedNames": spec["names"],
        "storedVersions": stored,
        "conditions": [
            condition(before, "NamesAccepted", true, "NoConflicts", "no conflicts found", now),
            condition(before, "Established", true, "InitialNamesAccepted", "the initial names have been accepted", now),
        ],
    });
    (status != *before).then(|| Step { status, said: "established".to_owned() })
}

/// How many pods a workload has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Pods {
    all: u64,
    updated: u64,
    ready: u64,
}

impl Pods {
    fn done(want: u64) -> Self {
        Pods { all: want, updated: want, ready: want }
    }

    fn step(self, want: u64) -> u64 {
        self.updated.saturating_add(want.div_ceil(STEPS)).min(want)
    }

    /// New pods beside the old ones, which go when the new ones are ready.
    fn surge(self, want: u64) -> Self {
        if self.updated >= want {
            return Pods::done(want);
        }
        let old = self.all.saturating_sub(self.updated).min(want - self.updated);
        let updated = self.step(want);
        Pods { all: old.saturating_add(updated), updated, ready: old.saturating_add(self.updated) }
    }

    /// New pods in the place of old ones.
    fn in_place(self, want: u64) -> Self {
        if self.updated >= want {
            return Pods::done(want);
        }
        let updated = self.step(want);
        let all = self.all.clamp(updated, want);
        Pods { all, updated, ready: all - (updated - self.updated) }
    }

    fn said(self, want: u64) -> String {
        let Pods { updated, ready, .. } = self;
        let pods = if want == 1 { "pod" } else { "pods" };
        if self == Pods::done(want) {
            format!("rolled out, {want} {pods} ready")
        } else {
            format!("rolling out, {updated} of {want} {pods} new, {ready} ready")
        }
    }
}

/// Where the pods of a workload are next; nothing if the roll-out is over. The names are those of the status for all, the
/// updated and the ready pods.
fn roll(object: &Value, want: u64, names: [&str; 3], by: fn(Pods, u64) -> Pods) -> Option<Pods> {
    let status = &object["status"];
    let [all, updated, ready] = names.map(|name| status[name].as_u64().unwrap_or(0));
    let pods = Pods { all, updated, ready };
    if status["observedGeneration"] != object["metadata"]["generation"] {
        // The controller has seen the new spec, and all pods are old ones.
        return Some(if want == 0 { Pods::done(0) } else { Pods { updated: 0, ..pods } });
    }
    (pods != Pods::done(want)).then(|| by(pods, want))
}

fn replicas(object: &Value) -> u64 {
    object["spec"]["replicas"].as_u64().unwrap_or(1)
}

fn deployment(object: &Value, now: Timestamp) -> Option<Step> {
    let want = replicas(object);
    let pods = roll(object, want, ["replicas", "updatedReplicas", "readyReplicas"], Pods::surge)?;
    let before = &object["status"];
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    let available = if pods.ready >= want {
        condition(before, "Available", true, "MinimumReplicasAvailable", "Deployment has minimum availability.", now)
    } else {
        let message = "Deployment does not have minimum availability.";
        condition(before, "Available", false, "MinimumReplicasUnavailable", message, now)
    };
    let (reason, message) = if pods == Pods::done(want) {
        ("NewReplicaSetAvailable", format!("Deployment \"{name}\" has successfully progressed."))
    } else {
        ("ReplicaSetUpdated", format!("Deployment \"{name}\" is progressing."))
    };
    let progressing = condition(before, "Progressing", true, reason, &message, now);
    let status = json!({
        "observedGeneration": object["metadata"]["generation"],
        "replicas": pods.all, "updatedReplicas": pods.updated,
        "readyReplicas": pods.ready, "availableReplicas": pods.ready,
        "unavailableReplicas": pods.all.saturating_sub(pods.ready),
        "conditions": [available, progressing],
    });
    Some(Step { status, said: pods.said(want) })
}

fn stateful_set(object: &Value) -> Option<Step> {
    let want = replicas(object);
    let pods = roll(object, want, ["replicas", "updatedReplicas", "readyReplicas"], Pods::in_place)?;
    let done = pods == Pods::done(want);
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    let revision = json!(format!("{name}-{}", object["metadata"]["generation"]));
    let current = if done { revision.clone() } else { object["status"]["currentRevision"].clone() };
    let status = json!({
        "observedGeneration": object["metadata"]["generation"],
        "replicas": pods.all, "updatedReplicas": pods.updated, "readyReplicas": pods.ready,
        "availableReplicas": pods.ready,
        "currentReplicas": if done { want } else { pods.all.saturating_sub(pods.updated) },
        "currentRevision": current, "updateRevision": revision,
    });
    Some(Step { status, said: pods.said(want) })
}

/// As on the one node there is.
fn daemon_set(object: &Value) -> Option<Step> {
    let names = ["currentNumberScheduled", "updatedNumberScheduled", "numberReady"];
    let pods = roll(object, 1, names, Pods::in_place)?;
    let status = json!({
        "observedGeneration": object["metadata"]["generation"],
        "desiredNumberScheduled": 1, "currentNumberScheduled": pods.all, "numberMisscheduled": 0,
        "updatedNumberScheduled": pods.updated, "numberReady": pods.ready, "numberAvailable": pods.ready,
        "numberUnavailable": 1_u64.saturating_sub(pods.ready),
    });
    Some(Step { status, said: pods.said(1) })
}

fn job(object: &Value, now: Timestamp) -> Option<Step> {
    let (spec, before) = (&object["spec"], &object["status"]);
    if spec["suspend"] == true || !before["completionTime"].is_null() {
        return None;
    }
    let want = spec["completions"].as_u64().or(spec["parallelism"].as_u64()).unwrap_or(1);
    if before["startTime"].is_null() {
        let status = json!({"startTime": now.to_string(), "active": spec["parallelism"].as_u64().unwrap_or(1)});
        return Some(Step { status, said: "running".to_owned() });
    }
    let conditions = ["SuccessCriteriaMet", "Complete"].map(|type_| {
        condition(before, type_, true, "CompletionsReached", "Reached expected number of succeeded pods", now)
    });
    let status = json!({
        "startTime": before["startTime"], "completionTime": now.to_string(), "succeeded": want,
        "conditions": conditions,
    });
    Some(Step { status, said: "complete".to_owned() })
}

/// A condition that holds since it changed last.
fn condition(before: &Value, type_: &str, holds: bool, reason: &str, message: &str, now: Timestamp) -> Value {
    let status = if holds { "True" } else { "False" };
    let all = before["conditions"].as_array().map_or(&[][..], Vec::as_slice);
    let same = all.iter().find(|one| one["type"] == type_ && one["status"] == status);
    let since = same.map_or_else(|| json!(now.to_string()), |one| one["lastTransitionTime"].clone());
    json!({"type": type_, "status": status, "reason": reason, "message": message, "lastTransitionTime": since})
}
