//! What the pods of all Deployments have in common: how they are confined, spread and probed, and how the options of a task
//! get into a command line and back.

use std::collections::BTreeMap;

use serde_json::{Value, json};

/// The options of a task, with their values.
pub(super) type TaskOptions = BTreeMap<String, Vec<String>>;

/// How a pod is confined.
pub(super) fn pod_security() -> Value {
    json!({"runAsNonRoot": true, "runAsUser": 65532, "seccompProfile": {"type": "RuntimeDefault"}})
}

/// How a container is confined.
pub(super) fn container_security() -> Value {
    json!({
        "allowPrivilegeEscalation": false,
        "readOnlyRootFilesystem": true,
        "capabilities": {"drop": ["ALL"]},
    })
}

/// Replicas are of use only where one node does not take all of them along.
pub(super) fn spread(selector: &Value) -> Value {
    json!([{
        "maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": selector},
    }])
}

/// A probe of the status listener.
pub(super) fn probe(path: &str) -> Value {
    json!({"httpGet": {"path": path, "port": "probes"}, "periodSeconds": 10})
}

/// Options as arguments of a command line.
pub(super) fn option_arguments(options: &TaskOptions) -> Vec<String> {
    let mut arguments = Vec::new();
    for (name, values) in options {
        if values.is_empty() {
            arguments.push(format!("--{name}"));
        }
        arguments.extend(values.iter().map(|value| format!("--{name}={value}")));
    }
    arguments
}

/// Those options of a command line that belong to a task; none if it does not have the one that asks for the task.
pub(super) fn task_options(mut options: TaskOptions, asks: &str, others: &[&str]) -> TaskOptions {
    options.retain(|name, _| name == asks || others.contains(&name.as_str()));
    if options.contains_key(asks) { options } else { TaskOptions::new() }
}
