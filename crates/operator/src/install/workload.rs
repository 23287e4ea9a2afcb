//! What runs: two replicas that need nothing of the node but a little memory.

use serde_json::{Value, json};

use super::{NAME, Settings, labels, metadata, selector};

/// Where `/livez`, `/readyz` and `/metrics` are.
pub(super) const STATUS_PORT: u16 = 9080;

pub(super) fn workload(settings: &Settings) -> Vec<Value> {
    vec![deployment(settings), budget(settings), service(settings)]
}

fn deployment(settings: &Settings) -> Value {
    let probe = |path: &str| json!({"httpGet": {"path": path, "port": "status"}, "periodSeconds": 10});
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata(settings, NAME),
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": selector()},
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1, "maxSurge": 1}},
            "template": {
                "metadata": {"labels": labels(), "annotations": {"kubectl.kubernetes.io/default-container": "operator"}},
                "spec": {
                    "serviceAccountName": NAME,
                    "priorityClassName": "system-cluster-critical",
                    "securityContext": {"runAsNonRoot": true, "runAsUser": 65532, "seccompProfile": {"type": "RuntimeDefault"}},
                    // The two replicas are of use only where one node does not take both along.
                    "topologySpreadConstraints": [{
                        "maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "ScheduleAnyway",
                        "labelSelector": {"matchLabels": selector()},
                    }],
                    "containers": [{
                        "name": "operator",
                        "image": settings.image,
                        "args": arguments(settings),
                        "ports": [{"name": "status", "containerPort": STATUS_PORT}],
                        "livenessProbe": probe("/livez"),
                        "readinessProbe": probe("/readyz"),
                        "resources": {"requests": {"cpu": "10m", "memory": "64Mi"}, "limits": {"memory": "256Mi"}},
                        "securityContext": {
                            "allowPrivilegeEscalation": false,
                            "readOnlyRootFilesystem": true,
                            "capabilities": {"drop": ["ALL"]},
                        },
                        "volumeMounts": [{"name": "scratch", "mountPath": "/tmp"}],
                    }],
                    // Releases are unpacked here.
                    "volumes": [{"name": "scratch", "emptyDir": {"sizeLimit": "1Gi"}}],
                },
            },
        },
    })
}

/// The command line of `clearway operator`.
fn arguments(settings: &Settings) -> Vec<String> {
    let mut arguments = vec![
        "operator".to_owned(),
        format!("--namespace={}", settings.namespace),
        format!("--status-listen=0.0.0.0:{STATUS_PORT}"),
        "--log-format=json".to_owned(),
    ];
    arguments.extend(settings.advice_only.then(|| "--advice-only".to_owned()));
    arguments.extend(settings.upstream.iter().map(|url| format!("--upstream={url}")));
    arguments.extend(settings.prometheus.iter().map(|url| format!("--prometheus={url}")));
    arguments
}

fn budget(settings: &Settings) -> Value {
    json!({
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": metadata(settings, NAME),
        "spec": {"minAvailable": 1, "selector": {"matchLabels": selector()}},
    })
}

fn service(settings: &Settings) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata(settings, NAME),
        "spec": {
            "selector": selector(),
            "ports": [{"name": "metrics", "port": STATUS_PORT, "targetPort": "status"}],
        },
    })
}
