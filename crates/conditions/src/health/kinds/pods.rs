//! Pods, and what their failures mean for the object that owns them.

use std::fmt::Write as _;
use std::time::Duration;

use clearway_core::ObjectId;
use clearway_yaml::Node;

use crate::health::DEGRADED_HOLD;
use crate::health::facts::Facts;
use crate::health::verdict::{State, Verdict};
use crate::model::Status;

/// How long after its creation a pod may be without a node before that is called a failure (kstatus).
const SCHEDULE_WINDOW: Duration = Duration::from_secs(15);
/// How long one who waits lets that failure last: an autoscaler needs minutes for a new node.
const UNSCHEDULABLE_HOLD: Duration = Duration::from_mins(2);

const UNSCHEDULABLE: &str = "PodUnschedulable";
const ENDED: &str = "PodFailed";

/// How many pods a message names.
const NAMED: usize = 3;

pub(in crate::health) fn pod(facts: &Facts<'_>) -> Verdict {
    match facts.status_text("phase") {
        "Succeeded" => facts.current("PodSucceeded", "Pod has completed successfully").since(ready_since(facts)),
        "Failed" => ended(facts),
        "Running" => running(facts),
        "Pending" => pending(facts),
        "" => facts.in_progress("PodNotObserved", "Pod phase not available"),
        // `Unknown` is a phase too: the node has not been heard of.
        phase => Verdict {
            proven: false,
            ..facts.verdict(State::Unknown, "PodPhaseUnknown", format!("Pod phase is {phase}"))
        },
    }
}

fn ready_since(facts: &Facts<'_>) -> Option<clearway_core::Timestamp> {
    facts.condition("Ready").and_then(crate::health::facts::Condition::since)
}

/// A pod that ended badly. kstatus calls it Current, "completed, but not successfully", because no more will happen; but
/// a pod that did not do what it was made for is not what its spec asks for.
fn ended(facts: &Facts<'_>) -> Verdict {
    let mut message = "Pod has completed, but not successfully".to_owned();
    for word in [facts.status_text("reason"), facts.status_text("message")] {
        if !word.is_empty() {
            message.push_str(": ");
            message.push_str(word);
        }
    }
    note_containers(facts, &mut message);
    facts.failed(ENDED, message).since(ready_since(facts))
}

fn running(facts: &Facts<'_>) -> Verdict {
    let ready = facts.condition("Ready");
    if let Some(ready) = ready.filter(|ready| ready.status() == Status::True) {
        return facts.outdated(ready).unwrap_or_else(|| facts.current("PodReady", "Pod is Ready").since(ready.since()));
    }
    let since = ready.and_then(crate::health::facts::Condition::since);
    let mut message = String::new();
    for (name, _) in containers(facts, "containerStatuses").filter(|(_, state)| waits_for(*state) == "CrashLoopBackOff")
    {
        message.push_str(if message.is_empty() { "Containers in CrashLoop state: " } else { "," });
        message.push_str(name);
    }
    if !message.is_empty() {
        // A container that finds its database a minute late has crashed a few times, too.
        return facts.failed("ContainerCrashLooping", message).since(since).hold(DEGRADED_HOLD);
    }
    message.push_str("Pod is running but is not Ready");
    note_containers(facts, &mut message);
    facts.in_progress("PodRunningNotReady", message).since(since)
}

fn pending(facts: &Facts<'_>) -> Verdict {
    let scheduled = facts.condition("PodScheduled").filter(|condition| condition.status() == Status::False);
    if let Some(no_node) = scheduled.filter(|condition| condition.reason() == "Unschedulable") {
        let detail = |mut message: String| {
            if !no_node.message().is_empty() {
                message.push_str(": ");
                message.push_str(no_node.message());
            }
            message
        };
        let end = facts.object.created().map(|created| created.plus(SCHEDULE_WINDOW));
        if let Some(end) = end.filter(|end| facts.context.now < *end) {
            let verdict = facts.in_progress("PodNotScheduled", detail("Pod has not been scheduled".to_owned()));
            return Verdict { recheck: Some(end), ..verdict.since(no_node.since()) };
        }
        return facts
            .failed(UNSCHEDULABLE, detail("Pod could not be scheduled".to_owned()))
            .since(no_node.since())
            .hold(UNSCHEDULABLE_HOLD);
    }
    let mut message = "Pod is in the Pending phase".to_owned();
    note_containers(facts, &mut message);
    facts.in_progress("PodPending", message).since(facts.object.created())
}

/// The containers of a list in the status, each with its state.
fn containers<'a>(facts: &Facts<'a>, list: &str) -> impl Iterator<Item = (&'a str, Option<Node<'a>>)> + use<'a> {
    facts
        .status
        .and_then(|status| status.get(list))
        .into_iter()
        .flat_map(Node::items)
        .filter_map(|container| Some((container.get("name")?.as_text()?, container.get("state"))))
}

/// Why a container is not started, if that is its state.
fn waits_for(state: Option<Node<'_>>) -> &str {
    state.and_then(|state| state.at(&["waiting", "reason"])).and_then(Node::as_text).unwrap_or("")
}

/// Names what holds the containers: an image that cannot be pulled says more than "Pending".
fn note_containers(facts: &Facts<'_>, message: &mut String) {
    for (name, state) in ["initContainerStatuses", "containerStatuses"].iter().flat_map(|list| containers(facts, list))
    {
        let why = waits_for(state);
        let code = state
            .and_then(|state| state.at(&["terminated", "exitCode"]))
            .and_then(Node::as_int)
            .filter(|code| *code != 0);
        // What waits its turn behind an init container says nothing.
        if !matches!(why, "" | "PodInitializing" | "ContainerCreating") {
            let _ = write!(message, "; {name}: {why}");
        } else if let Some(code) = code {
            let _ = write!(message, "; {name}: exit code {code}");
        }
    }
}

/// The verdict of a Deployment, `ReplicaSet` or `StatefulSet` in the light of its pods.
///
/// One that is in progress with failed pods has failed. Hand in the pods of its *newest* revision: the old ones may be
/// the very reason for the rollout. Three kinds of bad pods never count, because the controller or the cluster replaces
/// them: those that find no node (an autoscaler may be at work), those being deleted, and those that have ended (an
/// evicted pod stays behind as a record). Nor do pods count before the controller has seen the current generation.
pub fn with_pods(verdict: Verdict, pods: &[(ObjectId, Verdict)]) -> Verdict {
    if verdict.state != State::InProgress || !verdict.proven {
        return verdict;
    }
    let mut failed: Vec<_> = pods
        .iter()
        .filter(|(_, pod)| pod.state == State::Failed && !matches!(pod.reason.as_str(), UNSCHEDULABLE | ENDED))
        .collect();
    failed.sort_by(|(one, _), (other, _)| one.cmp(other));
    let Some((_, first)) = failed.first() else { return verdict };
    let count = failed.len();
    let mut message = if count == 1 { "1 pod has failed: ".to_owned() } else { format!("{count} pods have failed: ") };
    for (index, (id, pod)) in failed.iter().take(NAMED).enumerate() {
        let _ = write!(message, "{}{}: {}", if index == 0 { "" } else { "; " }, id.name, pod.message);
    }
    if count > NAMED {
        let _ = write!(message, "; and {} more", count - NAMED);
    }
    Verdict {
        state: State::Failed,
        reason: "PodsFailed".to_owned(),
        message,
        since: failed.iter().filter_map(|(_, pod)| pod.since).min(),
        hold: failed.iter().map(|(_, pod)| pod.hold).min().unwrap_or(first.hold),
        ..verdict
    }
}
