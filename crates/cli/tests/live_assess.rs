//! `clearway assess` with a real Prometheus: the same answers as from a file, and Unknown when it is away.

use std::fs;
use std::process::{Command, Output};

use clearway_testbed::images::{Family, Pusher, gzip, tar};
use clearway_testbed::{cluster, prometheus, registry, unique_name, wait_until};
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, PostParams};
use kube::{Api, Client};
use serde_json::{Value, json};

const GRAPH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/graph-data");

/// The metrics of the sample cluster, as an exporter gives them: without times.
const METRICS: &str = "cluster_version{type=\"current\",version=\"1.4.2\"} 1
cluster_proxy_enabled{type=\"https\"} 1
vsphere_node_hw_version_total{hw_version=\"vmx-17\"} 3
";

fn assess(more: &[&str]) -> Output {
    let always = ["assess", "--graph", GRAPH, "--channel", "stable-1.5", "--version", "1.4.2"];
    Command::new(env!("CARGO_BIN_EXE_clearway")).args(always).args(more).output().unwrap()
}

/// Version and recommendation of every line.
fn answers(output: &Output) -> Vec<(String, String)> {
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    let line = |line: &str| {
        let mut words = line.split_whitespace().map(str::to_owned);
        (words.next().unwrap(), words.next().unwrap())
    };
    text.lines().skip(1).map(line).collect()
}

fn list(answers: &[(&str, &str)]) -> Vec<(String, String)> {
    answers.iter().map(|(version, status)| ((*version).to_owned(), (*status).to_owned())).collect()
}

/// U3, U10, U16.
#[tokio::test]
async fn a_prometheus_answers_as_a_file_does_and_nothing_is_recommended_when_it_is_away() {
    let Some(prometheus) = prometheus(METRICS).await else { return };
    let url = prometheus.base_url();
    let there = assess(&["--prometheus", &url]);
    assert_eq!(there.status.code(), Some(0), "{there:?}");
    assert_eq!(answers(&there), list(&[("1.5.2", "Unknown"), ("1.5.0", "False"), ("1.4.3", "True")]));
    let proof = String::from_utf8(assess(&["--prometheus", &url, "--to", "1.5.0"]).stdout).unwrap();
    assert!(proof.contains(&format!("curl -sSG {url}/api/v1/query --data-urlencode")), "{proof}");
    let check = proof.lines().find_map(|line| line.trim().strip_prefix("check    ")).unwrap();
    let shown = Command::new("sh").arg("-c").arg(check).output();
    // Where there is no curl, the command cannot be tried.
    if let Some(shown) = shown.ok().filter(|shown| shown.status.success()) {
        assert!(String::from_utf8_lossy(&shown.stdout).contains("\"status\":\"success\""), "{shown:?}");
    }
    prometheus.process().kill();
    let away = assess(&["--prometheus", &url]);
    assert_eq!(away.status.code(), Some(2), "a source that is needed is away: {away:?}");
    assert!(String::from_utf8_lossy(&away.stderr).contains("cannot be reached: Connection refused"), "{away:?}");
    assert_eq!(answers(&away), list(&[("1.5.2", "Unknown"), ("1.5.0", "Unknown"), ("1.4.3", "True")]));
    let why = assess(&["--prometheus", &url, "--to", "1.5.0"]);
    assert_eq!(why.status.code(), Some(2), "{why:?}");
    assert!(String::from_utf8_lossy(&why.stdout).contains("cannot be reached"), "{why:?}");
}

/// Record and replay: a snapshot gives what the Prometheus gave, when it is long gone.
#[tokio::test]
async fn a_snapshot_is_assessed_as_the_cluster_was() {
    let Some(prometheus) = prometheus(METRICS).await else { return };
    let url = prometheus.base_url();
    let place = tempfile::tempdir().unwrap();
    let kept = place.path().join("snapshot").display().to_string();
    // The samples have to be older than the second in which the snapshot is taken.
    let version = ["--channel", "stable-1.5", "--version", "1.4.2", "--prometheus", &url];
    wait_until(clearway_testbed::IN_TIME, "a snapshot holds the samples", async || {
        let _ = fs::remove_dir_all(&kept);
        let arguments = ["snapshot", "collect", "--graph", GRAPH, "--output-dir", &kept];
        let output = Command::new(env!("CARGO_BIN_EXE_clearway")).args(arguments).args(version).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let shown =
            Command::new(env!("CARGO_BIN_EXE_clearway")).args(["snapshot", "show", &kept, "-o", "json"]).output();
        let shown: Value = serde_json::from_slice(&shown.unwrap().stdout).unwrap();
        shown["series"]["series"].as_u64() >= Some(2)
    })
    .await
    .unwrap();
    prometheus.process().kill();
    let replay = || {
        let arguments = ["assess", "--graph", GRAPH, "--snapshot", &kept, "--as-of", "snapshot"];
        Command::new(env!("CARGO_BIN_EXE_clearway")).args(arguments).output().unwrap()
    };
    let first = replay();
    assert_eq!(answers(&first), list(&[("1.5.2", "Unknown"), ("1.5.0", "False"), ("1.4.3", "True")]), "{first:?}");
    assert_eq!(replay().stdout, first.stdout, "the same inputs, the same bytes");
}

/// U19: rules about objects need no Prometheus.
#[tokio::test]
async fn a_rule_may_look_at_objects_of_the_cluster() {
    let Some(cluster) = cluster().await else { return };
    let name = unique_name("condition");
    let data = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        let path = data.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write("version", "1.1.0\n");
    write("channels/c.yaml", "name: c\nversions: [1.0.0, 1.1.0]\n");
    write(
        "releases/r.yaml",
        "- {version: 1.0.0, arch: amd64, payload: p}\n- {version: 1.1.0, arch: amd64, payload: q, previous: [1.0.0]}\n",
    );
    write(
        "blocked-edges/1.1.0.yaml",
        &format!(
            "to: 1.1.0\nfrom: .*\nurl: https://example.com\nname: Bad\nmessage: It is bad.\nmatchingRules:\n- type: \
             Condition\n  condition: {{apiVersion: v1, kind: Node, name: {name}, type: Ready, status: 'False'}}\n"
        ),
    );
    let kubeconfig = cluster.kubeconfig().display().to_string();
    let run = |more: &[&str]| {
        let always = ["assess", "--graph", data.path().to_str().unwrap(), "--channel", "c", "--version", "1.0.0"];
        Command::new(env!("CARGO_BIN_EXE_clearway")).args(always).args(more).output().unwrap()
    };
    let nobody = run(&["--to", "1.1.0"]);
    assert_eq!(nobody.status.code(), Some(2), "without a cluster nothing is known: {nobody:?}");
    let missing = run(&["--to", "1.1.0", "--kubeconfig", &kubeconfig]);
    assert_eq!(missing.status.code(), Some(2), "there is no such node: {missing:?}");
    cluster.add_node(&name).await.unwrap();
    let there = run(&["--to", "1.1.0", "--kubeconfig", &kubeconfig]);
    assert_eq!(there.status.code(), Some(0), "the node is ready: {there:?}");
    let proof = String::from_utf8(there.stdout).unwrap();
    let check = proof.lines().find_map(|line| line.trim().strip_prefix("check    ")).unwrap();
    let selector = format!("--all-namespaces --field-selector=metadata.name={name}");
    assert_eq!(check, format!("kubectl --kubeconfig={kubeconfig} get Node {selector} -o yaml"));
    let shown = Command::new("sh").arg("-c").arg(check).output().unwrap();
    // Where there is no kubectl, the command cannot be tried.
    if shown.status.code() != Some(127) {
        assert!(String::from_utf8_lossy(&shown.stdout).contains(&name), "{check}: {shown:?}");
    }
    let away = run(&["--to", "1.1.0", "--kubeconfig", "/nowhere"]);
    assert_eq!(away.status.code(), Some(3), "{away:?}");
}

#[tokio::test]
async fn a_cluster_says_which_version_and_channel_it_is_at() {
    let Some(cluster) = cluster().await else { return };
    let client = cluster.client().await.unwrap();
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "clusterversions.config.openshift.io"},
        "spec": {
            "group": "config.openshift.io", "scope": "Cluster",
            "names": {"plural": "clusterversions", "singular": "clusterversion", "kind": "ClusterVersion"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema":
                {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}],
        },
    });
    let version = json!({
        "apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion", "metadata": {"name": "version"},
        "spec": {"channel": "stable-1.5", "clusterID": "7c9e6679-7425-40de-944b-e07fc1f90ae7"},
        "status": {"desired": {"version": "1.4.2"}},
    });
    create(&client, "apiextensions.k8s.io/v1", "CustomResourceDefinition", &definition).await.unwrap();
    // A kind is served a moment after it was defined.
    wait_until(clearway_testbed::IN_TIME, "the ClusterVersion can be created", async || {
        create(&client, "config.openshift.io/v1", "ClusterVersion", &version).await.is_ok()
    })
    .await
    .unwrap();
    let kubeconfig = cluster.kubeconfig().display().to_string();
    let run = || {
        let arguments = ["assess", "--graph", GRAPH, "--kubeconfig", &kubeconfig, "-o", "json"];
        Command::new(env!("CARGO_BIN_EXE_clearway")).args(arguments).output().unwrap()
    };
    let output = run();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let assessment: Value = serde_json::from_slice(&output.stdout).unwrap();
    let said = (&assessment["cluster"]["version"], &assessment["cluster"]["id"]);
    assert_eq!(said, (&json!("1.4.2"), &version["spec"]["clusterID"]), "{assessment}");
    found_as_kubectl_finds_it(&kubeconfig);
}

/// Without an option the cluster is that of `KUBECONFIG`.
fn found_as_kubectl_finds_it(kubeconfig: &str) {
    let place = tempfile::tempdir().unwrap();
    let taken = place.path().join("taken").display().to_string();
    let run = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_clearway"));
        command.args(arguments).env("KUBECONFIG", kubeconfig).env("HOME", place.path()).output().unwrap()
    };
    let assessed = run(&["assess", "--graph", GRAPH, "-o", "json"]);
    let assessment: Value = serde_json::from_slice(&assessed.stdout).unwrap_or_else(|_| panic!("{assessed:?}"));
    assert_eq!(assessment["cluster"]["version"], "1.4.2", "{assessment}");
    let collected = run(&["snapshot", "collect", "--graph", GRAPH, "--output-dir", &taken]);
    assert_eq!(collected.status.code(), Some(0), "{collected:?}");
    let shown = run(&["snapshot", "show", &taken, "-o", "json"]);
    assert_eq!(serde_json::from_slice::<Value>(&shown.stdout).unwrap()["cluster"]["version"], "1.4.2", "{shown:?}");
    let diff = run(&["install", "--diff"]);
    assert!(matches!(diff.status.code(), Some(0 | 1)), "{diff:?}");
}

/// U22: graph-data is an artifact of a registry, and so may releases be.
#[tokio::test]
async fn the_graph_may_be_in_a_registry() {
    let Some(registry) = registry().await else { return };
    let host = registry.base_url().trim_start_matches("http://").to_owned();
    let root = std::path::Path::new(GRAPH);
    let mut files: Vec<(String, Vec<u8>)> = Vec::new();
    for directory in ["", "blocked-edges", "channels", "raw", "releases", "risks"] {
        for entry in fs::read_dir(root.join(directory)).unwrap() {
            let path = entry.unwrap().path();
            if path.is_file() {
                let name = path.strip_prefix(root).unwrap().display().to_string();
                files.push((format!("data/{name}"), fs::read(&path).unwrap()));
            }
        }
    }
    let packed = |files: &[(String, Vec<u8>)]| {
        let files: Vec<(&str, &[u8])> =
            files.iter().map(|(name, content)| (name.as_str(), content.as_slice())).collect();
        gzip(&tar(&files))
    };
    let push = Pusher::new(&registry.base_url(), "product/graph-data");
    push.image(Family::Oci, Some("v1"), "amd64", vec![packed(&files)]).await;
    files.retain(|(name, _)| !name.starts_with("data/releases/"));
    push.image(Family::Oci, Some("bare"), "amd64", vec![packed(&files)]).await;
    let releases = Pusher::new(&registry.base_url(), "product/releases");
    for version in ["1.4.2", "1.4.3"] {
        releases.release(version, version, "amd64").await;
    }
    let run = |arguments: &[&str]| Command::new(env!("CARGO_BIN_EXE_clearway")).args(arguments).output().unwrap();
    let image = format!("oci://{host}/product/graph-data:v1");
    let cluster = ["--channel", "stable-1.5", "--version", "1.4.2"];
    let kept = run(&[&["assess", "--graph", GRAPH, "-o", "json"], &cluster[..]].concat());
    let from_registry = run(&[&["assess", "--graph", &image, "-o", "json"], &cluster[..]].concat());
    assert_eq!(from_registry.status.code(), Some(0), "{from_registry:?}");
    let read = |output: &Output| serde_json::from_slice::<Value>(&output.stdout).unwrap();
    assert_eq!(read(&from_registry)["updates"].as_array().map(Vec::len), Some(3));
    assert_eq!(read(&from_registry)["updates"], read(&kept)["updates"]);
    // The other commands open it by the same way.
    for command in [&["graph", "show", "stable-1.5", "--graph"][..], &["graph", "explain", "1.4.2", "1.5.0", "--graph"]]
    {
        let (one, other) = (run(&[command, &[GRAPH]].concat()), run(&[command, &[&image]].concat()));
        assert_eq!((one.status, &one.stdout), (other.status, &other.stdout), "{other:?}");
    }
    let same = run(&["graph", "diff", GRAPH, &image]);
    assert_eq!(same.status.code(), Some(0), "{same:?}");
    // Releases may come from images beside it.
    let bare = format!("oci://{host}/product/graph-data:bare");
    let repository = format!("{host}/product/releases");
    let shown = run(&["graph", "show", "stable-1.5", "--graph", &bare, "--registry", &repository, "-o", "json"]);
    let shown: Vec<Value> = serde_json::from_slice(&shown.stdout).unwrap();
    assert_eq!(shown.iter().map(|node| node["version"].as_str().unwrap()).collect::<Vec<_>>(), ["1.4.2", "1.4.3"]);
    for (arguments, said) in [
        (&["graph", "show", "c", "--graph", &format!("oci://{host}/product/nothing:v1")][..], "product/nothing"),
        (&["graph", "show", "c", "--graph", "oci://not a name"], "oci://not a name"),
        (&["graph", "show", "c", "--graph", &image, "--rev", "HEAD"], "an image is not one"),
    ] {
        let refused = run(arguments);
        assert_eq!(refused.status.code(), Some(3), "{refused:?}");
        assert!(String::from_utf8_lossy(&refused.stderr).contains(said), "{said}: {refused:?}");
    }
}

async fn create(client: &Client, api_version: &str, kind: &str, object: &Value) -> kube::Result<DynamicObject> {
    let (group, version) = api_version.split_once('/').unwrap();
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
    let object: DynamicObject = serde_json::from_value(object.clone()).unwrap();
    Api::all_with(client.clone(), &resource).create(&PostParams::default(), &object).await
}
