//! Whether workloads that are replaced have the room to roll.
//!
//! What is asked is simple on purpose: whether a node has the labels a workload asks for, whether one has room for one more
//! pod where a roll-out may take none down first, and whether a disruption budget is used up. Affinities and quotas are
//! the scheduler's business.

use std::collections::BTreeMap;

use clearway_core::ObjectId;
use serde_json::Value;

use super::quantity::number;
use super::{Check, Finding, View};

/// A roll-out without room waits for somebody to make some.
#[derive(Debug)]
pub(super) struct Room;

/// The kinds of objects that the checks need besides those of the release.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wanted {
    /// Whether nodes are needed.
    pub nodes: bool,
    /// Whether all pods are needed.
    pub pods: bool,
    /// Whether `PodDisruptionBudget`s are needed.
    pub budgets: bool,
}

/// Whether it has pods that are replaced when it changes.
pub fn is_workload(id: &ObjectId) -> bool {
    id.group == "apps" && matches!(id.kind.as_str(), "Deployment" | "DaemonSet" | "StatefulSet")
}

/// The workloads that would get other pods, as they would be.
fn replaced<'v>(view: &'v View<'_>) -> impl Iterator<Item = (&'v ObjectId, &'v Value)> {
    view.workloads.iter().filter(|(id, then)| {
        let now = view.objects.get(id);
        let template = |object: &Value| object["spec"]["template"].clone();
        then["spec"]["replicas"] != 0 && now.is_none_or(|now| template(now) != template(then))
    })
}

/// The kinds that are needed for the workloads of a view, which has been filled with everything else.
pub fn wanted(view: &View<'_>) -> Wanted {
    let mut wanted = Wanted { nodes: false, pods: false, budgets: false };
    for (id, then) in replaced(view) {
        let selects = pod(then)["nodeSelector"].as_object().is_some_and(|labels| !labels.is_empty());
        let surges = needs_room(id, then) && view.objects.contains_key(id);
        wanted.nodes |= selects || surges;
        wanted.pods |= surges;
        wanted.budgets |= view.objects.contains_key(id);
    }
    wanted
}

impl Check for Room {
    fn name(&self) -> &'static str {
        "Room"
    }

    fn findings(&self, view: &View<'_>) -> Vec<Finding> {
        let mut found = Vec::new();
        for (id, then) in replaced(view) {
            // Where there are no nodes at all, nothing is known about them.
            if let Some(nodes) = view.nodes.as_ref().filter(|nodes| !nodes.is_empty()) {
                let fitting: Vec<&Value> = nodes.iter().filter(|node| takes(node, pod(then))).collect();
                if fitting.is_empty() {
                    let message = format!(
                        "{id} has pods that cannot be scheduled: no node has the labels of its nodeSelector and only taints that it tolerates."
                    );
                    found.push(Finding::blocking(self, message));
                } else if needs_room(id, then) && view.objects.contains_key(id) {
                    found.extend(self.no_room(view, id, then, &fitting));
                }
            }
            found.extend(self.used_up(view, id, then));
        }
        found
    }
}

impl Room {
    /// A roll-out that may take no pod down needs room for one more.
    fn no_room(&self, view: &View<'_>, id: &ObjectId, then: &Value, nodes: &[&Value]) -> Option<Finding> {
        let pods = view.pods.as_ref()?;
        let wants = requests(pod(then));
        let has_room = |node: &&&Value| {
            let name = node["metadata"]["name"].as_str().unwrap_or_default();
            let mut free = amounts(&node["status"]["allocatable"]);
            let there = pods.iter().filter(|pod| {
                let phase = pod["status"]["phase"].as_str();
                pod["spec"]["nodeName"] == name && !matches!(phase, Some("Succeeded" | "Failed"))
            });
            for pod in there {
                for (resource, amount) in requests(&pod["spec"]) {
                    free.entry(resource).and_modify(|free| *free -= amount);
                }
            }
            wants
                .iter()
                .all(|(resource, amount)| *amount <= 0.0 || free.get(resource).is_some_and(|free| free >= amount))
        };
        let fitting = nodes.iter().filter(has_room).count();
        // The pods of a DaemonSet have no other node to go to.
        let needed = if id.kind == "DaemonSet" { nodes.len() } else { 1 };
        (fitting < needed).then(|| {
            let message = format!(
                "{id} cannot replace a pod (maxUnavailable is 0), and {} room for one more; its rollout would not progress.",
                if id.kind == "DaemonSet" {
                    format!("{} of {needed} nodes have no", needed - fitting)
                } else {
                    "no node has".to_owned()
                }
            );
            Finding::blocking(self, message)
        })
    }

    /// A roll-out does not ask a disruption budget; it takes down what the budget protects.
    fn used_up(&self, view: &View<'_>, id: &ObjectId, then: &Value) -> Option<Finding> {
        view.objects.get(id)?;
        if unavailable(id, then) == 0 {
            return None;
        }
        let labels = &then["spec"]["template"]["metadata"]["labels"];
        let budget = view.budgets.as_ref()?.iter().find(|budget| {
            let wanted = budget["spec"]["selector"]["matchLabels"].as_object();
            budget["metadata"]["namespace"] == id.namespace.as_str()
                && budget["status"]["disruptionsAllowed"] == 0
                && wanted.is_some_and(|wanted| {
                    !wanted.is_empty() && wanted.iter().all(|(name, value)| labels[name] == *value)
                })
        })?;
        let name = budget["metadata"]["name"].as_str().unwrap_or_default();
        let message = format!(
            "{id} is protected by the disruption budget {name}, which allows no disruption now; a rollout replaces pods anyway."
        );
        Some(Finding::warning(self, message))
    }
}

fn pod(workload: &Value) -> &Value {
    &workload["spec"]["template"]["spec"]
}

/// Whether a roll-out may take no pod down, so that there must be room for one more.
fn needs_room(id: &ObjectId, workload: &Value) -> bool {
    matches!(id.kind.as_str(), "Deployment" | "DaemonSet") && unavailable(id, workload) == 0
}

/// How many pods a roll-out takes down at a time.
fn unavailable(id: &ObjectId, workload: &Value) -> i64 {
    let spec = &workload["spec"];
    let (strategy, default) = match id.kind.as_str() {
        "Deployment" => (&spec["strategy"], "25%"),
        _ => (&spec["updateStrategy"], "1"),
    };
    if matches!(strategy["type"].as_str(), Some("Recreate" | "OnDelete")) {
        return if strategy["type"] == "Recreate" { i64::MAX } else { 0 };
    }
    let replicas = spec["replicas"].as_i64().unwrap_or(1);
    let said = &strategy["rollingUpdate"]["maxUnavailable"];
    let text = said.as_str().map(str::to_owned).or_else(|| Some(said.as_i64()?.to_string()));
    let text = text.as_deref().unwrap_or(default);
    match text.strip_suffix('%') {
        // As the controller does: rounded down for a Deployment, up for a DaemonSet.
        Some(percent) => {
            let hundredths = percent.parse::<i64>().unwrap_or(0).saturating_mul(replicas);
            if id.kind == "Deployment" { hundredths / 100 } else { i64::from(hundredths > 0) }
        }
        None => text.parse().unwrap_or(1),
    }
}

/// Whether pods may go to a node: its labels, and taints that are not tolerated.
fn takes(node: &Value, pod: &Value) -> bool {
    let labels = &node["metadata"]["labels"];
    let selected =
        pod["nodeSelector"].as_object().is_none_or(|wanted| wanted.iter().all(|(name, value)| labels[name] == *value));
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let tolerations = list(&pod["tolerations"]);
    let tolerated = |taint: &Value| {
        tolerations.iter().any(|one| {
            let any_key = one["key"].as_str().is_none_or(str::is_empty) && one["operator"] == "Exists";
            let same_value = one["operator"] == "Exists"
                || one["value"].as_str().unwrap_or_default() == taint["value"].as_str().unwrap_or_default();
            let same_effect = one["effect"].as_str().is_none_or(str::is_empty) || one["effect"] == taint["effect"];
            (any_key || one["key"] == taint["key"] && same_value) && same_effect
        })
    };
    let mut taints = list(&node["spec"]["taints"]);
    taints.retain(|taint| taint["effect"] != "PreferNoSchedule");
    selected && node["spec"]["unschedulable"] != true && taints.iter().all(tolerated)
}

/// What the containers of a pod ask for together, and the place it takes itself.
fn requests(pod: &Value) -> BTreeMap<String, f64> {
    let mut sum: BTreeMap<String, f64> = BTreeMap::from([("pods".to_owned(), 1.0)]);
    for container in pod["containers"].as_array().map_or(&[][..], Vec::as_slice) {
        for (resource, amount) in amounts(&container["resources"]["requests"]) {
            *sum.entry(resource).or_default() += amount;
        }
    }
    sum
}

fn amounts(resources: &Value) -> BTreeMap<String, f64> {
    let Some(resources) = resources.as_object() else { return BTreeMap::new() };
    let amount = |value: &Value| value.as_str().and_then(number).or_else(|| value.as_f64());
    resources.iter().filter_map(|(name, value)| Some((name.clone(), amount(value)?))).collect()
}
