//! What runs: two replicas that need nothing of the node but a little memory.

use serde_json::{Value, json};

use super::rights::{EVIDENCE_READER, UPDATER};
use super::{MetricsExposure, NAME, Settings, labels, metadata, pod, release_keys, selector};

/// Where `/livez` and `/readyz` are, for the kubelet.
pub(super) const PROBES_PORT: u16 = 9080;
/// Where `/metrics` is.
pub(super) const METRICS_PORT: u16 = 9081;

pub(super) fn workload(settings: &Settings) -> Vec<Value> {
    vec![deployment(settings), budget(settings), network_policy(settings)]
}

fn deployment(settings: &Settings) -> Value {
    let mut annotations = json!({"kubectl.kubernetes.io/default-container": "operator"});
    // Releases are unpacked here.
    let mut volumes = vec![json!({"name": "scratch", "emptyDir": {"sizeLimit": "1Gi"}})];
    let mut mounts = vec![json!({"name": "scratch", "mountPath": "/tmp"})];
    if !settings.release_keys.is_empty() {
        annotations[release_keys::FINGERPRINT] = settings.release_keys.fingerprint().into();
        volumes.push(release_keys::volume());
        mounts.push(release_keys::mount());
    }
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata(settings, NAME),
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": selector()},
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1, "maxSurge": 1}},
            "template": {
                "metadata": {"labels": labels(), "annotations": annotations},
                "spec": {
                    "serviceAccountName": NAME,
                    "priorityClassName": "system-cluster-critical",
                    "securityContext": pod::pod_security(),
                    "topologySpreadConstraints": pod::spread(&selector()),
                    "containers": [{
                        "name": "operator",
                        "image": settings.image,
                        "args": arguments(settings),
                        "ports": ports(settings),
                        "livenessProbe": pod::probe("/livez"),
                        "readinessProbe": pod::probe("/readyz"),
                        "resources": {"requests": {"cpu": "10m", "memory": "64Mi"}, "limits": {"memory": "512Mi"}},
                        "securityContext": pod::container_security(),
                        "volumeMounts": mounts,
                    }],
                    "volumes": volumes,
                },
            },
        },
    })
}

/// The command line of `clearway operator` for these settings.
pub fn arguments(settings: &Settings) -> Vec<String> {
    let mut arguments = vec![
        "operator".to_owned(),
        format!("--namespace={}", settings.namespace),
        format!("--evidence-as={EVIDENCE_READER}"),
        format!("--status-listen=0.0.0.0:{PROBES_PORT}"),
        match settings.metrics {
            MetricsExposure::Loopback => format!("--metrics-listen=127.0.0.1:{METRICS_PORT}"),
            MetricsExposure::Authenticated => format!("--metrics-listen=0.0.0.0:{METRICS_PORT}"),
        },
        "--log-format=json".to_owned(),
    ];
    arguments.extend(settings.upstream.iter().map(|url| format!("--upstream={}", url.expose())));
    arguments.extend(settings.prometheus.iter().map(|url| format!("--prometheus={}", url.expose())));
    if settings.metrics == MetricsExposure::Authenticated {
        arguments.push("--metrics-authentication".to_owned());
    }
    if settings.apply_updates {
        arguments.extend(["--apply-updates".to_owned(), format!("--apply-as={UPDATER}")]);
        arguments.extend(settings.release_keys.arguments());
    }
    for (name, values) in &settings.more {
        if values.is_empty() {
            arguments.push(format!("--{name}"));
        }
        arguments.extend(values.iter().map(|value| format!("--{name}={value}")));
    }
    arguments
}

/// Ports that others reach: those of the probes, and of the metrics unless they are on loopback.
fn ports(settings: &Settings) -> Vec<Value> {
    let mut ports = vec![json!({"name": "probes", "containerPort": PROBES_PORT})];
    if settings.metrics == MetricsExposure::Authenticated {
        ports.push(json!({"name": "metrics", "containerPort": METRICS_PORT}));
    }
    ports
}

fn budget(settings: &Settings) -> Value {
    json!({
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": metadata(settings, NAME),
        "spec": {"minAvailable": 1, "selector": {"matchLabels": selector()}},
    })
}

/// Nobody reaches the pods but whoever scrapes the metrics. Probes need no rule: traffic from the node that a pod runs on is
/// always allowed (<https://kubernetes.io/docs/concepts/services-networking/network-policies/>), and a rule cannot name a
/// kubelet, so that it would let every pod of the cluster reach the port. Where the pods connect to is not limited: the API
/// server, the update service, the Prometheus and the registries are addresses that administrators choose, and that policies
/// cannot name. Allowing it explicitly keeps the operator working in a namespace whose policies deny everything else.
fn network_policy(settings: &Settings) -> Value {
    let ingress = match settings.metrics {
        MetricsExposure::Loopback => json!([]),
        MetricsExposure::Authenticated => json!([{"ports": [{"protocol": "TCP", "port": "metrics"}]}]),
    };
    json!({
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": metadata(settings, NAME),
        "spec": {
            "podSelector": {"matchLabels": selector()},
            "policyTypes": ["Ingress", "Egress"],
            "ingress": ingress,
            "egress": [{}],
        },
    })
}
