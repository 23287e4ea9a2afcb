//! Record and replay on a real Prometheus and a real cluster: a snapshot is assessed with the same bytes as the cluster it
//! was taken from, for rules of every type.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use clearway_testbed::{SharedCluster, cluster, prometheus, unique_name, wait_until};
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, PostParams};
use kube::{Api, Client};
use serde_json::{Value, json};

const METRICS: &str = "affected 1
unaffected 0
several{a=\"1\"} 1
several{a=\"2\"} 0
odd 2
requests_total 7
";

/// The risks by name, each with its rules, and what becomes of it on the cluster of the test.
const RISKS: [(&str, &str, &str); 22] = [
    ("AlwaysThere", "- {type: Always}", "match"),
    ("QueryOne", "- {type: PromQL, promql: {promql: max(affected)}}", "match"),
    ("QueryZero", "- {type: PromQL, promql: {promql: 'max(missing) or 0 * group(affected)'}}", "noMatch"),
    ("QueryRange", "- {type: PromQL, promql: {promql: 'max(increase(requests_total[1h]) > bool 5)'}}", "noMatch"),
    ("QueryNothing", "- {type: PromQL, promql: {promql: max(missing)}}", "unknown"),
    ("QuerySeveral", "- {type: PromQL, promql: {promql: several}}", "unknown"),
    ("QueryOdd", "- {type: PromQL, promql: {promql: max(odd)}}", "unknown"),
    ("QueryFails", "- {type: PromQL, promql: {promql: several / on () several}}", "unknown"),
    ("QueryRefused", "- {type: PromQL, promql: {promql: 'max({a=\"1\"})'}}\n- {type: Always}", "match"),
    (
        "MapSlow",
        "- {type: Resource, resource: {apiVersion: v1, kind: ConfigMap, namespace: NAMESPACE, name: disks, expression: \
         object.data.mode == 'slow'}}",
        "match",
    ),
    (
        "MapAbsent",
        "- {type: Resource, resource: {apiVersion: v1, kind: ConfigMap, namespace: NAMESPACE, name: nothing, expression: \
         object.data.mode == 'slow', whenAbsent: NoMatch}}",
        "noMatch",
    ),
    (
        "MapsAll",
        "- {type: Resource, resource: {apiVersion: v1, kind: ConfigMap, expression: has(object.data)}}",
        "unknown",
    ),
    (
        "NodeField",
        "- {type: Resource, resource: {apiVersion: v1, kind: Node, name: NODE, expression: object.spec.nothing == 1}}",
        "unknown",
    ),
    (
        "KindNotServed",
        "- {type: Resource, resource: {apiVersion: example.com/v1, kind: Widget, expression: object.a}}",
        "unknown",
    ),
    (
        "NodeReady",
        "- {type: Condition, condition: {apiVersion: v1, kind: Node, name: NODE, type: Ready, status: 'True'}}",
        "match",
    ),
    (
        "BundleOld",
        "- {type: Bundle, bundle: {group: GROUP, version: <1.3.0, channel: standard, storedVersion: Widget v1, usedField: \
         'Widget v1 spec.parts[].glue'}}",
        "match",
    ),
    ("BundleField", "- {type: Bundle, bundle: {group: GROUP, usedField: 'Widget v1 spec.parts[].screw'}}", "noMatch"),
    ("BundleAbsent", "- {type: Bundle, bundle: {group: absent.example.com}}", "unknown"),
    ("PolicyViolated", "- {type: Policy, policy: {kind: CONSTRAINT, name: violated}}", "match"),
    ("PolicyNotAudited", "- {type: Policy, policy: {kind: CONSTRAINT, name: not-audited}}", "unknown"),
    ("PolicyAbsent", "- {type: Policy, policy: {kind: CONSTRAINT, name: absent, whenAbsent: NoMatch}}", "noMatch"),
    ("Staged", "- {type: Rollout, rollout: {start: 2020-01-01T00:00:00Z, percentage: 100}}", "noMatch"),
];

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_clearway")).args(arguments).output().unwrap()
}

fn graph_data(data: &Path, namespace: &str, node: &str, group: &str, constraint: &str) {
    let write = |path: &str, text: &str| {
        let path = data.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write("version", "1.1.0\n");
    write("channels/c.yaml", "name: c\nversions: [1.0.0, 1.1.0, 1.2.0, 1.3.0]\n");
    let release = |version: &str, previous: &str| {
        format!("- {{version: {version}, arch: amd64, payload: p, previous: [{previous}]}}\n")
    };
    let releases = [("1.0.0", ""), ("1.1.0", "1.0.0"), ("1.2.0", "1.0.0"), ("1.3.0", "1.1.0")];
    write("releases/r.yaml", &releases.map(|(version, previous)| release(version, previous)).concat());
    let later = "- {type: PromQL, promql: {promql: max(unaffected)}}";
    let head = "to: 1.3.0\nfrom: .*\nurl: https://example.com/Later\nname: Later\nmessage: Later is bad.\n";
    write("blocked-edges/1.3.0-Later.yaml", &format!("{head}matchingRules:\n{later}\n"));
    for (name, rules, _) in RISKS {
        let rules = rules.replace("NAMESPACE", namespace).replace("NODE", node).replace("GROUP", group);
        let rules = rules.replace("CONSTRAINT", constraint);
        let head =
            format!("to: 1.2.0\nfrom: .*\nurl: https://example.com/{name}\nname: {name}\nmessage: {name} is bad.\n");
        write(&format!("blocked-edges/1.2.0-{name}.yaml"), &format!("{head}matchingRules:\n{rules}\n"));
    }
}

/// A ready node and two `ConfigMap`s, of which a rule names one.
async fn furnish(cluster: &SharedCluster, client: &Client, namespace: &str, node: &str) {
    let maps = ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", "ConfigMap"));
    let maps: Api<DynamicObject> = Api::namespaced_with(client.clone(), namespace, &maps);
    for (name, data) in [("disks", json!({"mode": "slow", "password": "hunter2"})), ("other", json!({"a": "private"}))]
    {
        let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data});
        maps.create(&PostParams::default(), &serde_json::from_value(map).unwrap()).await.unwrap();
    }
    cluster.add_node(node).await.unwrap();
}

/// A bundle of one CRD, and two objects of it, one of which has glue.
async fn install_bundle(client: &Client, namespace: &str, group: &str) {
    let crds = ApiResource::from_gvk(&GroupVersionKind::gvk("apiextensions.k8s.io", "v1", "CustomResourceDefinition"));
    let crds: Api<DynamicObject> = Api::all_with(client.clone(), &crds);
    let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}});
    let crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {
            "name": format!("widgets.{group}"),
            "annotations": {format!("{group}/bundle-version"): "v1.2.3", format!("{group}/channel"): "standard"},
        },
        "spec": {
            "group": group, "scope": "Namespaced",
            "names": {"kind": "Widget", "plural": "widgets", "singular": "widget", "listKind": "WidgetList"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}],
        },
    });
    crds.create(&PostParams::default(), &serde_json::from_value(crd).unwrap()).await.unwrap();
    let widgets = ApiResource::from_gvk(&GroupVersionKind::gvk(group, "v1", "Widget"));
    let widgets: Api<DynamicObject> = Api::namespaced_with(client.clone(), namespace, &widgets);
    for (name, part) in [("glued", json!({"glue": "hunter2"})), ("plain", json!({}))] {
        let widget = json!({
            "apiVersion": format!("{group}/v1"), "kind": "Widget", "metadata": {"name": name}, "spec": {"parts": [part]},
        });
        let widget: DynamicObject = serde_json::from_value(widget).unwrap();
        wait_until(clearway_testbed::IN_TIME, "widgets are served", async || {
            widgets.create(&PostParams::default(), &widget).await.is_ok()
        })
        .await
        .unwrap();
    }
    // Discovery follows a little later.
    wait_until(clearway_testbed::IN_TIME, "widgets are discovered", async || {
        client.list_api_groups().await.unwrap().groups.iter().any(|known| known.name == group)
    })
    .await
    .unwrap();
}

/// Two constraints of a kind, one of which was audited a moment ago.
async fn install_constraints(client: &Client, kind: &str) {
    let crds = ApiResource::from_gvk(&GroupVersionKind::gvk("apiextensions.k8s.io", "v1", "CustomResourceDefinition"));
    let crds: Api<DynamicObject> = Api::all_with(client.clone(), &crds);
    let (group, plural) = ("constraints.gatekeeper.sh", kind.to_lowercase());
    let crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.{group}")},
        "spec": {
            "group": group, "scope": "Cluster",
            "names": {"kind": kind, "plural": plural, "singular": plural, "listKind": format!("{kind}List")},
            "versions": [{
                "name": "v1beta1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
            }],
        },
    });
    crds.create(&PostParams::default(), &serde_json::from_value(crd).unwrap()).await.unwrap();
    let mut constraints = ApiResource::from_gvk(&GroupVersionKind::gvk(group, "v1beta1", kind));
    constraints.plural.clone_from(&plural);
    let constraints: Api<DynamicObject> = Api::all_with(client.clone(), &constraints);
    let audited = clearway_sources::clock::now().to_string();
    let violations = json!([{"kind": "Pod", "namespace": "shop", "name": "web", "message": "hunter2"}]);
    let status = json!({"auditTimestamp": audited, "totalViolations": 1, "violations": violations});
    for (name, status) in [("violated", status), ("not-audited", json!({}))] {
        let constraint = json!({
            "apiVersion": format!("{group}/v1beta1"), "kind": kind, "metadata": {"name": name}, "status": status,
        });
        let constraint: DynamicObject = serde_json::from_value(constraint).unwrap();
        wait_until(clearway_testbed::IN_TIME, "constraints are served", async || {
            constraints.create(&PostParams::default(), &constraint).await.is_ok()
        })
        .await
        .unwrap();
    }
    wait_until(clearway_testbed::IN_TIME, "constraints are discovered", async || {
        client
            .list_api_group_resources(&format!("{group}/v1beta1"))
            .await
            .is_ok_and(|known| known.resources.iter().any(|resource| resource.kind == kind))
    })
    .await
    .unwrap();
}

/// What is about who was asked, and not about the cluster: the place of every observation, the command that shows it
/// again, and when the API server was asked, which cannot be asked about another time.
fn without_places(mut assessment: Value) -> Value {
    for update in assessment["updates"].as_array_mut().unwrap() {
        for risk in update["risks"].as_array_mut().into_iter().flatten() {
            for rule in risk["rules"].as_array_mut().unwrap() {
                let about_objects =
                    matches!(rule["type"].as_str(), Some("Resource" | "Condition" | "Bundle" | "Policy"));
                let rule = rule.as_object_mut().unwrap();
                for field in ["source", "reproduce"] {
                    rule.remove(field);
                }
                if about_objects {
                    rule.remove("observedAt");
                    rule.remove("ageSeconds");
                }
            }
        }
    }
    assessment
}

/// The lines of a proof that are not about the places.
fn lines(text: &[u8]) -> Vec<String> {
    let text = String::from_utf8(text.to_vec()).unwrap();
    let place = |line: &str| ["seen ", "tried ", "check "].iter().any(|word| line.trim().starts_with(word));
    let indent = |line: &str| line.len() - line.trim_start().len();
    let mut kept = Vec::new();
    let mut parts = None;
    for line in text.lines() {
        // The values behind a rule are shown of a snapshot, which is the user's, and not of a cluster.
        if line.trim().starts_with("parts ") {
            parts = Some(indent(line));
        } else if parts.is_none_or(|parts| indent(line) <= parts) {
            parts = None;
            kept.extend((!place(line)).then(|| line.to_owned()));
        }
    }
    kept
}

fn verdicts(assessment: &Value) -> Vec<(&str, &str)> {
    let update = assessment["updates"].as_array().unwrap().iter().find(|update| update["version"] == "1.2.0").unwrap();
    let risks = update["risks"].as_array().unwrap();
    risks.iter().map(|risk| (risk["name"].as_str().unwrap(), risk["verdict"].as_str().unwrap())).collect()
}

#[tokio::test]
async fn a_snapshot_is_assessed_with_the_bytes_of_the_cluster_it_was_taken_from() {
    let (Some(prometheus), Some(cluster)) = (prometheus(METRICS).await, cluster().await) else { return };
    let namespace = cluster.namespace().await.unwrap();
    let node = unique_name("replay");
    let client = cluster.client().await.unwrap();
    furnish(&cluster, &client, namespace.name(), &node).await;
    let group = format!("{}.example.com", unique_name("parts"));
    install_bundle(&client, namespace.name(), &group).await;
    let constraint = format!("Labels{}", unique_name("x").replace('-', ""));
    install_constraints(&client, &constraint).await;
    let place = tempfile::tempdir().unwrap();
    let path = |name: &str| place.path().join(name).display().to_string();
    let (data, kept, redacted) = (path("data"), path("kept"), path("redacted"));
    graph_data(Path::new(&data), namespace.name(), &node, &group, &constraint);
    let (url, kubeconfig) = (prometheus.base_url(), cluster.kubeconfig().display().to_string());
    let graph = ["--graph", &data];
    let access = [
        &["--channel", "c", "--version", "1.0.0", "--cluster-id", "7c9e6679", "--prometheus", &url][..],
        &["--kubeconfig", &kubeconfig],
    ]
    .concat();
    // The samples have to be older than the second in which the snapshot is taken.
    wait_until(clearway_testbed::IN_TIME, "a snapshot holds the samples", async || {
        let _ = fs::remove_dir_all(&kept);
        let taken = run(&[&["snapshot", "collect", "--output-dir", &kept], &graph[..], &access].concat());
        // Not all ConfigMaps are taken, and the snapshot says so.
        assert!(matches!(taken.status.code(), Some(0 | 2)), "{taken:?}");
        let shown = run(&["snapshot", "show", &kept, "-o", "json"]);
        let shown: Value = serde_json::from_slice(&shown.stdout).unwrap();
        let live = run(&[&["assess", "-o", "json"], &graph[..], &access].concat());
        let live: Value = serde_json::from_slice(&live.stdout).unwrap();
        shown["series"]["series"].as_u64() >= Some(5) && verdicts(&live).contains(&("NodeReady", "match"))
    })
    .await
    .unwrap();
    let manifest: Value = serde_json::from_slice(&fs::read(Path::new(&kept).join("snapshot.json")).unwrap()).unwrap();
    let now = ["--as-of", manifest["takenAt"].as_str().unwrap()];
    let live = |more: &[&str]| run(&[&["assess"], &graph[..], &access, &now, more].concat());
    let replayed = |more: &[&str]| run(&[&["assess", "--snapshot", &kept], &graph[..], &now, more].concat());
    let read = |output: &Output| serde_json::from_slice::<Value>(&output.stdout).unwrap();

    let (one, other) = (live(&["-o", "json"]), replayed(&["-o", "json"]));
    let mut want: Vec<(&str, &str)> = RISKS.iter().map(|(name, _, verdict)| (*name, *verdict)).collect();
    want.sort_unstable();
    assert_eq!(verdicts(&read(&one)), want, "{}", String::from_utf8_lossy(&one.stdout));
    let text = |output: &Output| serde_json::to_string_pretty(&without_places(read(output))).unwrap();
    assert_eq!(text(&one), text(&other));
    assert_eq!(one.status.code(), other.status.code());
    // The list names no places, so that it is the same to the last byte; the proof is, but for the lines that do.
    assert_eq!(live(&[]).stdout, replayed(&[]).stdout);
    let (one, other) = (live(&["--why"]), replayed(&["--why"]));
    assert_eq!(lines(&one.stdout), lines(&other.stdout));
    assert_eq!(replayed(&["--why"]).stdout, other.stdout, "the same inputs, the same bytes");

    // What only a later update needs to know is taken when its version is named.
    let toward = path("toward");
    let way = |snapshot: &str| run(&[&["assess", "--snapshot", snapshot, "--to", "1.3.0"], &graph[..]].concat());
    assert_eq!(way(&kept).status.code(), Some(2), "{:?}", way(&kept));
    assert!(String::from_utf8_lossy(&way(&kept).stdout).contains("does not contain `unaffected`"), "{:?}", way(&kept));
    let taken =
        run(&[&["snapshot", "collect", "--to", "1.3.0", "--output-dir", &toward], &graph[..], &access].concat());
    assert!(matches!(taken.status.code(), Some(0 | 2)), "{taken:?}");
    assert_eq!(way(&toward).status.code(), Some(0), "{:?}", way(&toward));

    // Only what a rule names is taken, and no password of it.
    let maps = fs::read_to_string(Path::new(&kept).join("objects/ConfigMap.json")).unwrap();
    assert!(maps.contains("slow") && !maps.contains("hunter2") && !maps.contains("private"), "{maps}");
    // With names replaced the rules say the same, but for those that go by the cluster's id.
    let taken = run(&[&["snapshot", "collect", "--redact", "--output-dir", &redacted], &graph[..], &access].concat());
    assert!(matches!(taken.status.code(), Some(0 | 2)), "{taken:?}");
    let hidden = run(&[&["assess", "--snapshot", &redacted, "-o", "json"], &graph[..]].concat());
    want.iter_mut().filter(|(name, _)| *name == "Staged").for_each(|(_, verdict)| *verdict = "unknown");
    // What is not found may be there under another name.
    assert_eq!(
        verdicts(&read(&hidden)),
        want.iter()
            .map(|(name, verdict)| match *name {
                "MapAbsent" | "BundleField" | "PolicyAbsent" => (*name, "unknown"),
                _ => (*name, *verdict),
            })
            .collect::<Vec<_>>()
    );
}
