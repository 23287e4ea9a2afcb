//! The admission webhook of `clearway operator --policies` under load: 500 requests a second for ten seconds, first without
//! constraints and then with twenty, in the same process. The 99th percentile with them is at most twice that without.
//!
//! `cargo bench -p clearway --bench admission` needs the test bed. Requests are sent when they are due, whether earlier ones
//! were answered or not, and their time counts from then: what waits is measured as it is for the API server.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clearway_sources::http::{HttpOptions, client};
use serde_json::{Value, json};
use tokio::time::Instant;

#[path = "../tests/live_policies/lab.rs"]
#[expect(dead_code, reason = "tests use more of it")]
mod lab;

use lab::{CONSTRAINTS, Lab, REQUIRED_LABELS};

const RATE: u32 = 500;
const SECONDS: u32 = 10;
const CONSTRAINT_COUNT: usize = 20;
const BOUND: f64 = 2.0;

/// Templates in the shapes of public ones; each has a quarter of the constraints.
const TEMPLATES: [(&str, &str); 4] = [
    ("RequiredLabels", REQUIRED_LABELS),
    (
        "AllowedRepos",
        r#"package allowedrepos
violation[{"msg": msg}] {
  container := input.review.object.spec.containers[_]
  satisfied := [good | repo = input.parameters.labels[_]; good = startswith(container.image, repo)]
  not any(satisfied)
  msg := sprintf("container <%v> has an invalid image repo <%v>", [container.name, container.image])
}"#,
    ),
    (
        "NoPrivileged",
        r#"package noprivileged
violation[{"msg": msg}] {
  container := containers[_]
  container.securityContext.privileged
  msg := sprintf("privileged container is not allowed: %v", [container.name])
}
containers[container] { container := input.review.object.spec.containers[_] }
containers[container] { container := input.review.object.spec.initContainers[_] }"#,
    ),
    (
        "RequiredProbes",
        r#"package requiredprobes
violation[{"msg": msg}] {
  container := input.review.object.spec.containers[_]
  probe := ["livenessProbe", "readinessProbe"][_]
  not container[probe]
  msg := sprintf("container <%v> has no <%v>", [container.name, probe])
}"#,
    ),
];

fn main() -> ExitCode {
    // Without `--bench` this is `cargo test --benches`, which only wants to know that it builds.
    if !std::env::args().any(|argument| argument == "--bench") {
        return ExitCode::SUCCESS;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    if runtime.block_on(measure()) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The creation of a Pod, as the API server asks about it.
fn review(number: u32) -> Value {
    let container = |name: &str| {
        let probe =
            json!({"httpGet": {"path": "/", "port": 8080, "scheme": "HTTP"}, "periodSeconds": 10, "timeoutSeconds": 1});
        json!({
            "name": name, "image": format!("registry.example.com/shop/{name}:1.4.2"), "imagePullPolicy": "IfNotPresent",
            "env": [{"name": "LEVEL", "value": "info"}, {"name": "REGION", "value": "north"}],
            "ports": [{"name": "http", "containerPort": 8080, "protocol": "TCP"}],
            "resources": {"limits": {"cpu": "500m", "memory": "256Mi"}, "requests": {"cpu": "100m", "memory": "128Mi"}},
            "livenessProbe": probe, "readinessProbe": probe,
            "securityContext": {"allowPrivilegeEscalation": false, "runAsNonRoot": true, "capabilities": {"drop": ["ALL"]}},
            "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File",
            "volumeMounts": [{"name": "token", "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount", "readOnly": true}],
        })
    };
    let labels = json!({"app": "web", "owner": "shop", "team": "shop", "tier": "front", "version": "1.4.2"});
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": format!("web-{number}"), "namespace": "shop", "labels": labels,
            "ownerReferences": [{
                "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-5d9c", "controller": true, "uid": "3f1e",
            }],
        },
        "spec": {
            "containers": [container("web"), container("proxy")], "initContainers": [container("migrate")],
            "dnsPolicy": "ClusterFirst", "enableServiceLinks": true, "preemptionPolicy": "PreemptLowerPriority",
            "priority": 0, "restartPolicy": "Always", "schedulerName": "default-scheduler", "serviceAccountName": "web",
            "terminationGracePeriodSeconds": 30, "tolerations": [{
                "key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300,
            }],
            "volumes": [{"name": "token", "projected": {"defaultMode": 420, "sources": [
                {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
            ]}}],
        },
    });
    json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "request": {
            "uid": format!("00000000-0000-4000-8000-{number:012}"), "operation": "CREATE", "namespace": "shop",
            "name": format!("web-{number}"), "kind": {"group": "", "version": "v1", "kind": "Pod"},
            "resource": {"group": "", "version": "v1", "resource": "pods"},
            "userInfo": {"username": "system:serviceaccount:kube-system:replicaset-controller"},
            "object": pod, "oldObject": null, "dryRun": false, "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"},
        },
    })
}

/// The authorities of the webhook, from its configuration, as a file.
async fn authorities(lab: &Lab) -> std::path::PathBuf {
    let kind = "ValidatingWebhookConfiguration";
    let version = "admissionregistration.k8s.io/v1";
    let has_bundle = |object: &Value| object["webhooks"][0]["clientConfig"]["caBundle"].is_string();
    let configuration = lab.wait("the webhook is configured", (version, kind, lab::NAME), has_bundle).await;
    let bundle = configuration["webhooks"][0]["clientConfig"]["caBundle"].as_str().expect("a bundle").to_owned();
    let pem = base64::Engine::decode(&base64::engine::general_purpose::STANDARD, bundle).expect("base64");
    let path = lab.directory.path().join("authorities.pem");
    std::fs::write(&path, pem).expect("a file");
    path
}

/// Sends requests at the rate, and gives the times of their answers in order of length.
async fn load(url: &str, options: &HttpOptions) -> Vec<Duration> {
    let client = client(options).expect("a client");
    let count = RATE * SECONDS;
    let bodies: Vec<Arc<str>> = (0..100).map(|number| review(number).to_string().into()).collect();
    let begin = Instant::now() + Duration::from_millis(100);
    let mut requests = tokio::task::JoinSet::new();
    for number in 0..count {
        let due = begin + Duration::from_secs(1) * number / RATE;
        tokio::time::sleep_until(due).await;
        let (client, url) = (client.clone(), url.to_owned());
        let body = bodies.get(number as usize % bodies.len()).cloned().unwrap_or_default();
        requests.spawn(async move {
            let request = client.post(url).header("Content-Type", "application/json").body(body.to_string());
            let answer = request.send().await.expect("an answer").bytes().await.expect("a body");
            let answer: Value = serde_json::from_slice(&answer).expect("JSON");
            assert_eq!(answer["response"]["allowed"], true, "{answer}");
            due.elapsed()
        });
    }
    let mut times = requests.join_all().await;
    times.sort();
    times
}

fn percentile(times: &[Duration], percent: usize) -> f64 {
    let at = (times.len() * percent / 100).min(times.len().saturating_sub(1));
    times.get(at).map_or(f64::NAN, Duration::as_secs_f64) * 1e3
}

async fn measure() -> bool {
    let Some(lab) = Lab::start().await else { return false };
    let free = std::net::TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("a port");
    let address = free.to_string();
    let root = format!("https://{address}");
    let operator = lab.operator("measured", &["--webhook-listen", &address, "--webhook-url", &root]);
    operator.wait_ready().await;
    let url = format!("{root}/v1/admit");
    let options = HttpOptions { ca_file: Some(authorities(&lab).await), ..HttpOptions::default() };
    // Connections are made, and caches are filled.
    load(&url, &options).await;
    let without = load(&url, &options).await;
    for (kind, rego) in TEMPLATES {
        lab.create_template(kind, rego).await;
        for number in 0..CONSTRAINT_COUNT / TEMPLATES.len() {
            let labels =
                if kind == "AllowedRepos" { json!(["registry.example.com/"]) } else { json!(["owner", "team"]) };
            lab.create_constraint(json!({
                "apiVersion": CONSTRAINTS, "kind": kind, "metadata": {"name": format!("{}-{number}", kind.to_lowercase())},
                "spec": {"match": {"kinds": [{"apiGroups": [""], "kinds": ["Pod"]}]}, "parameters": {"labels": labels}},
            }))
            .await;
        }
    }
    let last = format!("{}-{}", TEMPLATES[3].0.to_lowercase(), CONSTRAINT_COUNT / TEMPLATES.len() - 1);
    let is_enforced = |object: &Value| lab::by_pod(object, "measured")["enforced"] == true;
    lab.wait("all constraints are enforced", (CONSTRAINTS, TEMPLATES[3].0, &last), is_enforced).await;
    load(&url, &options).await;
    let with = load(&url, &options).await;
    println!("{RATE} requests a second for {SECONDS} s, milliseconds until they are answered");
    for (name, times) in [("without constraints", &without), ("with 20 constraints", &with)] {
        println!("  {name}: median {:.2}, 99 % {:.2}", percentile(times, 50), percentile(times, 99));
    }
    let ratio = percentile(&with, 99) / percentile(&without, 99);
    let passes = ratio <= BOUND;
    println!("  {}: 99 % with / without: {ratio:.2} times, at most {BOUND}", if passes { "PASS" } else { "FAIL" });
    passes
}
