//! One cluster, looked at in three ways: `assess` on the live cluster, `snapshot collect` and `assess`, and the operator.
//! Over every rule type they give the same verdicts with the same proofs, and nothing that the operator writes repeats
//! what the rules of a stranger read.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};

use clearway_testbed::{ClusterOptions, http, prometheus, wait_until};
use clearway_update::upstream::CachedState;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::lab::{ID, Lab, SOON, serve};

/// Stands in every field and label that no proof may show.
const MARKER: &str = "hunter2marker";

/// A risk by name, its rules, and what becomes of it.
const RISKS: [(&str, &str, &str); 29] = [
    ("AlwaysThere", "- {type: Always}", "match"),
    ("QueryOne", "- {type: PromQL, promql: {promql: max(affected)}}", "match"),
    ("QueryZero", "- {type: PromQL, promql: {promql: 'max(missing) or 0 * group(affected)'}}", "noMatch"),
    ("QueryLabelled", "- {type: PromQL, promql: {promql: affected}}", "match"),
    ("QueryNothing", "- {type: PromQL, promql: {promql: max(missing)}}", "unknown"),
    ("QuerySeveral", "- {type: PromQL, promql: {promql: several}}", "unknown"),
    ("QueryFails", "- {type: PromQL, promql: {promql: several / on () several}}", "unknown"),
    (
        "MapByName",
        "- {type: Resource, resource: {apiVersion: v1, kind: ConfigMap, namespace: shop, name: disks, expression: object.data.mode == 'slow'}}",
        "match",
    ),
    (
        "MapsAll",
        "- {type: Resource, resource: {apiVersion: v1, kind: ConfigMap, expression: has(object.data)}}",
        "unknown",
    ),
    (
        "SecretRead",
        "- {type: Resource, resource: {apiVersion: v1, kind: Secret, namespace: shop, name: login, expression: 'object.data[object.data.password] == 1'}}",
        "unknown",
    ),
    ("SecretsRead", "- {type: Resource, resource: {apiVersion: v1, kind: secrets, expression: 'true'}}", "unknown"),
    (
        "MapElsewhere",
        "- {type: Resource, resource: {apiVersion: v1, kind: ConfigMap, namespace: 'shop/secrets?y=', name: login, expression: 'true'}}",
        "unknown",
    ),
    ("PolicyViolated", "- {type: Policy, policy: {kind: RequiredLabel, name: owner}}", "match"),
    ("PolicyOfRelease", "- {type: Policy, policy: {kind: RequiredLabel, name: owner, objects: Release}}", "unknown"),
    ("PolicyAbsent", "- {type: Policy, policy: {kind: RequiredLabel, name: other, whenAbsent: NoMatch}}", "noMatch"),
    (
        "FieldQuoted",
        "- {type: Resource, resource: {apiVersion: v1, kind: ServiceAccount, expression: 'object.metadata[object.metadata.annotations.secret] == 1', labelSelector: {matchLabels: {own: 'yes'}}}}",
        "unknown",
    ),
    (
        "Variable",
        "- {type: Resource, resource: {apiVersion: apps/v1, kind: Deployment, expression: \"object.spec.template.spec.containers.exists(c, c.env.exists(e, e.value == 'x'))\"}}",
        "unknown",
    ),
    ("Forbidden", "- {type: Resource, resource: {apiVersion: v1, kind: Service, expression: 'true'}}", "unknown"),
    (
        "TooLarge",
        "- {type: Resource, resource: {apiVersion: apps/v1, kind: ControllerRevision, expression: object.revision == 1}}",
        "unknown",
    ),
    (
        "NotServed",
        "- {type: Resource, resource: {apiVersion: example.com/v1, kind: Widget, expression: 'true', whenAbsent: NoMatch}}",
        "noMatch",
    ),
    (
        "ConditionTrue",
        "- {type: Condition, condition: {apiVersion: apps/v1, kind: Deployment, name: web, type: Available, status: 'True'}}",
        "match",
    ),
    (
        "ConditionAbsent",
        "- {type: Condition, condition: {apiVersion: apps/v1, kind: Deployment, name: web, type: Missing, status: 'True'}}",
        "unknown",
    ),
    (
        "BundleField",
        "- {type: Bundle, bundle: {group: parts.example.com, version: 1.x, channel: standard, servedVersion: v1, usedField: 'Gear v1 spec.teeth[].coating'}}",
        "match",
    ),
    ("BundleOther", "- {type: Bundle, bundle: {group: parts.example.com, version: 2.x}}", "noMatch"),
    (
        "BundleForbidden",
        "- {type: Bundle, bundle: {group: parts.example.com, usedField: Cog v1 spec.teeth}}",
        "unknown",
    ),
    ("BundleMixed", "- {type: Bundle, bundle: {group: mixed.example.com, version: 1.x}}", "unknown"),
    ("BundleAbsent", "- {type: Bundle, bundle: {group: absent.example.com, whenAbsent: NoMatch}}", "noMatch"),
    ("OtherType", "- {type: Weather, weather: {city: Brno}}", "unknown"),
    ("Staged", "- {type: Rollout, rollout: {start: 2020-01-01T00:00:00Z, percentage: 100}}", "noMatch"),
];

/// Graph-data with one update for each risk.
fn graph_data(data: &Path) {
    let write = |path: &str, text: &str| {
        let path = data.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    let version = |number: usize| format!("1.0.{number}");
    write("version", "1.1.0\n");
    let versions: Vec<String> = (0..=RISKS.len()).map(version).collect();
    write("channels/c.yaml", &format!("name: c\nversions: [{}]\n", versions.join(", ")));
    let release = |number: usize| {
        let previous = if number == 0 { "" } else { "1.0.0" };
        format!(
            "- {{version: {}, arch: amd64, payload: example.com/r@{number}, previous: [{previous}]}}\n",
            version(number)
        )
    };
    write("releases/r.yaml", &(0..=RISKS.len()).map(release).collect::<String>());
    for (number, (name, rules, _)) in (1..).zip(RISKS) {
        let to = version(number);
        let head =
            format!("to: {to}\nfrom: .*\nurl: https://example.com/{name}\nname: {name}\nmessage: {name} is bad.\n");
        write(&format!("blocked-edges/{to}-{name}.yaml"), &format!("{head}matchingRules:\n{rules}\n"));
    }
}

/// A CRD of a bundle, with the marker wherever a text may be anything.
fn crd(group: &str, kind: &str, version: &str) -> Value {
    let plural = format!("{}s", kind.to_lowercase());
    let spec = json!({"type": "object", "description": MARKER, "x-kubernetes-preserve-unknown-fields": true});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {
            "name": format!("{plural}.{group}"), "labels": {"a": MARKER},
            "annotations": {
                format!("{group}/bundle-version"): version, format!("{group}/channel"): "standard", "secret": MARKER,
            },
        },
        "spec": {
            "group": group, "scope": "Cluster",
            "names": {"kind": kind, "plural": plural, "singular": kind.to_lowercase(), "listKind": format!("{kind}List")},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}},
            }],
        },
    })
}

/// A whole bundle with an object, and one whose CRDs say different versions, the second of them no version at all.
async fn install_bundles(lab: &Lab) {
    for (group, kind, version) in [
        ("parts.example.com", "Gear", "v1.2.0"),
        ("parts.example.com", "Cog", "v1.2.0"),
        ("mixed.example.com", "Old", "v1.2.0"),
        ("mixed.example.com", "Odd", MARKER),
    ] {
        lab.create(&crd(group, kind, version)).await;
    }
    let gears = lab.api("parts.example.com/v1", "Gear");
    let gear: kube::api::DynamicObject = serde_json::from_value(json!({
        "apiVersion": "parts.example.com/v1", "kind": "Gear", "metadata": {"name": "main"},
        "spec": {"teeth": [{"size": MARKER}, {"coating": MARKER}]},
    }))
    .unwrap();
    wait_until(SOON, "Gears are served", async || gears.create(&kube::api::PostParams::default(), &gear).await.is_ok())
        .await
        .unwrap();
    wait_until(SOON, "Cogs are served", async || {
        lab.api("parts.example.com/v1", "Cog").list(&kube::api::ListParams::default()).await.is_ok()
    })
    .await
    .unwrap();
}

/// A constraint with the results of an audit of a moment ago.
async fn install_constraint(lab: &Lab) {
    let mut definition = crd("constraints.gatekeeper.sh", "RequiredLabel", MARKER);
    definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["x-kubernetes-preserve-unknown-fields"] =
        json!(true);
    lab.create(&definition).await;
    let violation = json!({
        "kind": "Pod", "group": "", "version": "v1", "namespace": "shop", "name": "web", "message": MARKER,
        "enforcementAction": "deny",
    });
    let constraint: kube::api::DynamicObject = serde_json::from_value(json!({
        "apiVersion": "constraints.gatekeeper.sh/v1", "kind": "RequiredLabel", "metadata": {"name": "owner"},
        "spec": {"parameters": {"labels": [MARKER]}},
        "status": {
            "auditTimestamp": clearway_sources::clock::now().to_string(), "totalViolations": 1, "violations": [violation],
        },
    }))
    .unwrap();
    let constraints = lab.api("constraints.gatekeeper.sh/v1", "RequiredLabel");
    wait_until(SOON, "constraints are served", async || {
        constraints.create(&kube::api::PostParams::default(), &constraint).await.is_ok()
    })
    .await
    .unwrap();
}

/// Objects with the marker in every field, a reader that may read all of them but Services, and the CRDs.
async fn furnish(lab: &Lab) {
    let meta = |name: &str| json!({"name": name, "namespace": "shop", "labels": {"own": "yes", "a": MARKER}, "annotations": {"secret": MARKER}});
    lab.create(&json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})).await;
    lab.create(&json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta("disks"), "data": {"mode": "slow", "note": MARKER}})).await;
    lab.create(
        &json!({"apiVersion": "v1", "kind": "Secret", "metadata": meta("login"), "stringData": {"password": MARKER}}),
    )
    .await;
    lab.create(&json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta("robot")})).await;
    let container = json!({"name": "c", "image": MARKER, "args": [MARKER], "env": [{"name": "MODE", "value": MARKER}]});
    lab.create(&json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta("web"),
        "spec": {"replicas": 0, "selector": {"matchLabels": {"app": "web"}}, "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [container]}}},
    }))
    .await;
    // A text of one megabyte that takes a hundred in memory.
    let maps = vec![json!({"a": 0}); 130_000];
    lab.create(&json!({
        "apiVersion": "apps/v1", "kind": "ControllerRevision", "revision": 1, "metadata": meta("large"), "data": {"maps": maps},
    }))
    .await;
    lab.create(&json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "reader"},
        "rules": [
            {"apiGroups": [""], "resources": ["configmaps", "secrets", "serviceaccounts"], "verbs": ["get", "list"]},
            {"apiGroups": ["apps"], "resources": ["deployments", "controllerrevisions"], "verbs": ["get", "list"]},
            {"apiGroups": ["apiextensions.k8s.io"], "resources": ["customresourcedefinitions"], "verbs": ["get", "list"]},
            {"apiGroups": ["parts.example.com"], "resources": ["gears"], "verbs": ["get", "list"]},
            {"apiGroups": ["constraints.gatekeeper.sh"], "resources": ["*"], "verbs": ["get", "list"]},
            {"apiGroups": ["config.openshift.io"], "resources": ["clusterversions"], "verbs": ["get", "list"]},
        ],
    }))
    .await;
    for (kind, name, subject) in [
        ("ClusterRoleBinding", "reader", json!({"kind": "ServiceAccount", "name": "reader", "namespace": "shop"})),
        (
            "ClusterRoleBinding",
            "reader-person",
            json!({"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "reader"}),
        ),
    ] {
        lab.create(&json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": {"name": name},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "reader"}, "subjects": [subject],
        }))
        .await;
    }
}

fn run(arguments: &[&str]) -> String {
    let output =
        Command::new(env!("CARGO_BIN_EXE_clearway")).args(arguments).env_remove("CLEARWAY_STATE").output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.code().is_some_and(|code| code < 3), "{}", text(&output.stderr));
    text(&output.stdout)
}

/// An address that forwards to a service, and all that was sent to it.
async fn recording(service: &str) -> (String, Arc<Mutex<Vec<u8>>>) {
    let (to, path) = service.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (url, sent) = (format!("http://{}/{path}", listener.local_addr().unwrap()), Arc::new(Mutex::new(Vec::new())));
    let (to, record) = (to.to_owned(), Arc::clone(&sent));
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let (to, record) = (to.clone(), Arc::clone(&record));
            tokio::spawn(async move {
                let (mut requests, mut answers) = client.into_split();
                let (mut from_service, mut to_service) = TcpStream::connect(to).await?.into_split();
                tokio::spawn(async move { tokio::io::copy(&mut from_service, &mut answers).await });
                let mut some = [0; 4096];
                loop {
                    let read = requests.read(&mut some).await?;
                    if read == 0 {
                        return Ok::<(), std::io::Error>(());
                    }
                    record.lock().unwrap().extend_from_slice(&some[..read]);
                    to_service.write_all(&some[..read]).await?;
                }
            });
        }
    });
    (url, sent)
}

/// What operators keep for the next process, unpacked, without what the update service answered.
async fn cached_state(lab: &Lab) -> String {
    let maps = lab.api("v1", "ConfigMap").list(&kube::api::ListParams::default().labels("own!=yes")).await.unwrap();
    let mut text = serde_json::to_string(&maps).unwrap();
    for map in &maps.items {
        let kept = CachedState::of_object(&serde_json::to_value(map).unwrap());
        let Some(mut kept) = kept.map(|kept| serde_json::to_value(kept).unwrap()) else { continue };
        kept.as_object_mut().unwrap().remove("graph").expect("the answer of the service");
        text.push_str("unpacked: ");
        text.push_str(&kept.to_string());
    }
    assert!(text.contains("unpacked"), "nothing is kept: {text}");
    text
}

/// What does not depend on who was asked and when.
fn bare(assessment: &Value) -> Vec<Value> {
    let updates = assessment["updates"].as_array().unwrap();
    let mut bare = updates.clone();
    for update in &mut bare {
        for risk in update["risks"].as_array_mut().into_iter().flatten() {
            for rule in risk["rules"].as_array_mut().unwrap() {
                for field in ["source", "reproduce", "observedAt", "ageSeconds", "due"] {
                    rule.as_object_mut().unwrap().remove(field);
                }
            }
        }
    }
    bare
}

fn verdicts(updates: &[Value]) -> Vec<(String, String)> {
    let risks = updates.iter().flat_map(|update| update["risks"].as_array().into_iter().flatten());
    let word = |value: &Value| value.as_str().unwrap().to_owned();
    let mut verdicts: Vec<_> = risks.map(|risk| (word(&risk["name"]), word(&risk["verdict"]))).collect();
    verdicts.sort();
    verdicts
}

#[tokio::test]
async fn three_ways_to_look_at_a_cluster_say_the_same_and_repeat_nothing() {
    let metrics = format!("affected{{secret=\"{MARKER}\"}} 1\nseveral{{a=\"{MARKER}\"}} 1\nseveral{{a=\"2\"}} 0\n");
    let Some(lab) = Lab::open(&ClusterOptions::default(), "experimental", "1.0.0", "c").await else { return };
    let Some(prometheus) = prometheus(&metrics).await else { return };
    furnish(&lab).await;
    install_bundles(&lab).await;
    install_constraint(&lab).await;
    let deployments = lab.api("apps/v1", "Deployment");
    wait_until(SOON, "the controllers have seen the Deployment", async || {
        let list = deployments.list(&kube::api::ListParams::default()).await.unwrap();
        list.items.iter().any(|item| item.data["status"]["conditions"].as_array().is_some_and(|list| !list.is_empty()))
    })
    .await
    .unwrap();
    let data = lab.path("data");
    graph_data(&data);
    let (_service, upstream) = serve(&data, lab.path("serve.log")).await;
    let (graph, url) = (data.display().to_string(), prometheus.base_url());
    let reader = lab.cluster.kubeconfig_for("reader", None).unwrap().display().to_string();
    let access = ["--graph", &graph, "--channel", "c", "--version", "1.0.0", "--cluster-id", ID];
    let live = run(&[&["assess", "-o", "json", "--kubeconfig", &reader, "--prometheus", &url], &access[..]].concat());
    let live: Value = serde_json::from_str(&live).unwrap();
    let kept = lab.path("kept").display().to_string();
    // A snapshot is of a whole second, and the first samples may be younger.
    wait_until(SOON, "a snapshot holds the samples", async || {
        let _ = fs::remove_dir_all(&kept);
        let from = ["snapshot", "collect", "--output-dir", &kept, "--kubeconfig", &reader, "--prometheus", &url];
        run(&[&from, &access[..]].concat());
        let shown: Value = serde_json::from_str(&run(&["snapshot", "show", &kept, "-o", "json"])).unwrap();
        shown["series"]["series"].as_u64() >= Some(3)
    })
    .await
    .unwrap();
    let replayed = run(&[&["assess", "-o", "json", "--snapshot", &kept], &access[..]].concat());
    let replayed: Value = serde_json::from_str(&replayed).unwrap();

    // The operator evaluates as the reader, by impersonation, and logs what an administrator sees.
    let (upstream, sent) = recording(&upstream).await;
    lab.patch(json!({"spec": {"upstream": upstream}})).await;
    let operator = lab.operator(
        "operator.log",
        &["--log", "info", "--prometheus", &url, "--evidence-as", "shop:reader", "--fetch-every", "3m"],
    );
    let mut told = Value::Null;
    wait_until(SOON, "the operator has assessed everything", async || {
        let Ok(answer) = http::get(operator.status, "/assessments").await else { return false };
        let all: Value = serde_json::from_str(&answer.body).unwrap_or_default();
        told = all["items"][0]["assessment"].clone();
        let updates = told["updates"].as_array().cloned().unwrap_or_default();
        updates.len() == RISKS.len() && !verdicts(&updates).iter().any(|(_, verdict)| verdict == "pending")
    })
    .await
    .unwrap();

    let mut want: Vec<(String, String)> =
        RISKS.iter().map(|(name, _, verdict)| ((*name).to_owned(), (*verdict).to_owned())).collect();
    want.sort();
    assert_eq!(verdicts(&bare(&live)), want);
    for (way, other) in [("a snapshot", &replayed), ("the operator", &told)] {
        for (one, other) in bare(&live).iter().zip(bare(other)) {
            assert_eq!(*one, other, "{way}");
        }
        assert_eq!(bare(other).len(), RISKS.len());
    }
    // Why something is not known stands in the proof.
    let proofs = told.to_string();
    for why in [
        "Service objects are unknown: permission denied.",
        "ControllerRevision.apps objects are unknown: too large.",
        "Rules cannot read Secret objects.",
        "Rules cannot read secrets objects.",
        "The rule names a namespace that no API server has.",
        "Rules can read only ConfigMaps that they name",
        "reads a field whose value is removed from evidence",
        "kind not served",
        "Cog.parts.example.com objects are unknown: permission denied.",
        "have another version than the others: ",
        "parts.example.com v1.2.0 standard, 2 CRDs; 2 of them serve v1: Cog.parts.example.com, Gear.parts.example.com; \
         1 of 1 Gear.parts.example.com objects use the field: main",
    ] {
        assert!(proofs.contains(why), "{why}: {proofs}");
    }

    // What the cluster's objects and metrics hold is in nothing that is written or sent.
    let object = lab.until("the advice is stored", |object| {
        object["status"]["conditionalUpdates"].as_array().is_some_and(|list| list.len() == RISKS.len())
    });
    let status = object.await["status"].to_string();
    let events = lab.api("v1", "Event").list(&kube::api::ListParams::default()).await.unwrap();
    let events = serde_json::to_string(&events).unwrap();
    let metrics = http::get(operator.status, "/metrics").await.unwrap().body;
    let maps = cached_state(&lab).await;
    let sent = String::from_utf8_lossy(&sent.lock().unwrap()).into_owned();
    for (what, text) in [
        ("proofs", &proofs),
        ("status", &status),
        ("events", &events),
        ("metrics", &metrics),
        ("log", &operator.log()),
        ("cached state", &maps),
        ("requests to the update service", &sent),
    ] {
        assert!(!text.is_empty() && !text.contains(MARKER), "{what}: {text}");
    }
}
