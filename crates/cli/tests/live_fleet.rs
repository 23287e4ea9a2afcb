//! `clearway fleet` on a real Prometheus that holds the metrics of several clusters.

use std::fs;
use std::process::{Command, Output};

use clearway_testbed::images::{Family, Pusher, gzip, tar};
use clearway_testbed::{prometheus, registry};
use serde_json::{Value, json};

const GRAPH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/graph-data");

/// The metrics of clusters: what each says of itself, and what the sample product's risks ask for.
const METRICS: &str = r#"cluster_version{_id="fine",type="current",version="1.4.2"} 1
cluster_version_available_updates{_id="fine",channel="stable-1.5",upstream="<default>"} 3
etcd_disk_wal_fsync_p99_seconds{_id="fine"} 0.01
cluster_version{_id="proxy",type="current",version="1.4.2"} 1
cluster_version_available_updates{_id="proxy",channel="stable-1.5",upstream="<default>"} 3
cluster_proxy_enabled{_id="proxy",type="https"} 1
etcd_disk_wal_fsync_p99_seconds{_id="proxy"} 0.5
cluster_version{_id="silent",type="current",version="1.4.2"} 1
cluster_version_available_updates{_id="silent",channel="stable-1.5",upstream="<default>"} 3
cluster_version{_id="odd",type="current",version="new"} 1
cluster_version{_id="other",type="current",version="1.4.2"} 1
cluster_version{type="current",version="9.9.9"} 1
"#;

fn fleet(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_clearway")).arg("fleet").args(arguments).output().unwrap()
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

/// For each cluster its state and its updates: recommended, not recommended, unknown.
fn told(picture: &Value) -> Vec<(String, String, [u64; 3])> {
    let row = |row: &Value| {
        let count = |name: &str| row["updates"][name].as_u64().unwrap();
        let counts = [count("recommended"), count("notRecommended"), count("unknown")];
        (row["name"].as_str().unwrap().to_owned(), row["state"].as_str().unwrap().to_owned(), counts)
    };
    picture["clusters"].as_array().unwrap().iter().map(row).collect()
}

#[tokio::test]
async fn each_rule_is_asked_once_and_answered_for_every_cluster() {
    let Some(prometheus) = prometheus(METRICS).await else { return };
    let url = prometheus.base_url();
    let output = fleet(&["assess", "--graph", GRAPH, "--prometheus", &url, "-o", "json"]);
    let picture = json(&output);
    let row = |name: &str, state: &str, counts| (name.to_owned(), state.to_owned(), counts);
    assert_eq!(
        told(&picture),
        [
            row("fine", "recommended", [3, 0, 0]),
            row("other", "absent", [0, 0, 0]),
            row("proxy", "recommended", [1, 2, 0]),
            row("silent", "recommended", [1, 0, 2]),
        ],
        "{output:?}"
    );
    assert_eq!(output.status.code(), Some(1), "one follows no channel that is known: {output:?}");
    assert_eq!(picture["refused"][0]["name"], "odd", "{picture}");
    let risk = |name: &str| picture["risks"].as_array().unwrap().iter().find(|risk| risk["name"] == name).cloned();
    assert_eq!(risk("ProxyTimeouts"), Some(json!({"name": "ProxyTimeouts", "match": 1, "noMatch": 2, "unknown": 0})));
    assert_eq!(risk("SlowEtcd"), Some(json!({"name": "SlowEtcd", "match": 1, "noMatch": 1, "unknown": 1})));
    // Named by a file and with a channel for all, the same clusters are told the same.
    let place = tempfile::tempdir().unwrap();
    let list = place.path().join("clusters.yaml");
    fs::write(&list, "- {id: fine, version: 1.4.2}\n- {id: proxy, version: 1.4.2}\n- {id: silent, version: 1.4.2}\n")
        .unwrap();
    let list = list.display().to_string();
    let named = ["--prometheus", &url, "--clusters", &list, "--channel", "stable-1.5", "-o", "json"];
    let named = fleet(&[&["assess", "--graph", GRAPH], &named[..]].concat());
    assert_eq!(named.status.code(), Some(0), "{named:?}");
    let of = |name: &str| told(&picture).into_iter().find(|(known, ..)| known == name).unwrap();
    assert_eq!(told(&json(&named)), ["fine", "proxy", "silent"].map(of));
    prometheus.process().kill();
    let away = fleet(&["assess", "--graph", GRAPH, "--prometheus", &url]);
    assert_eq!(away.status.code(), Some(3), "{away:?}");
}

/// A query that fails for one cluster, and one that cannot be asked for all, say nothing about the others or nothing at all.
#[tokio::test]
async fn what_fails_for_one_cluster_is_known_for_the_others() {
    let metrics: Vec<String> = (0..300)
        .map(|number| {
            // One cluster has two series where there may be one.
            let second = if number == 217 { format!("b{{_id=\"c-{number}\",n=\"2\"}} 1\n") } else { String::new() };
            format!("a{{_id=\"c-{number}\"}} {}\nb{{_id=\"c-{number}\",n=\"1\"}} 1\n{second}", number % 2)
        })
        .collect();
    let Some(prometheus) = prometheus(&metrics.concat()).await else { return };
    let place = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = place.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write("data/version", "1.1.0\n");
    write("data/channels/c.yaml", "name: c\nversions: [1.0.0, 1.0.1, 1.0.2]\n");
    let release = |version: &str| format!("- {{version: {version}, arch: amd64, payload: p, previous: [1.0.0]}}\n");
    write(
        "data/releases/r.yaml",
        &format!("- {{version: 1.0.0, arch: amd64, payload: p}}\n{}{}", release("1.0.1"), release("1.0.2")),
    );
    for (to, name, query) in [("1.0.1", "Matched", "a * on () b"), ("1.0.2", "Absent", "absent(a)")] {
        let text = format!(
            "to: {to}\nfrom: .*\nurl: https://example.com\nname: {name}\nmessage: It is bad.\nmatchingRules:\n- type: \
             PromQL\n  promql: {{promql: '{query}'}}\n"
        );
        write(&format!("data/blocked-edges/{to}-{name}.yaml"), &text);
    }
    let clusters: Vec<String> =
        (0..300).map(|number| format!("- {{id: c-{number}, version: 1.0.0, channel: c}}\n")).collect();
    write("clusters.yaml", &clusters.concat());
    let path = |name: &str| place.path().join(name).display().to_string();
    let (data, list, url) = (path("data"), path("clusters.yaml"), prometheus.base_url());
    let output = fleet(&["assess", "--graph", &data, "--prometheus", &url, "--clusters", &list, "-o", "json"]);
    let picture = json(&output);
    let risk = |at: usize| picture["risks"][at].clone();
    assert_eq!(risk(0), json!({"name": "Absent", "match": 0, "noMatch": 0, "unknown": 300}), "{output:?}");
    assert_eq!(risk(1), json!({"name": "Matched", "match": 149, "noMatch": 150, "unknown": 1}));
    let odd = picture["clusters"].as_array().unwrap().iter().find(|row| row["name"] == "c-217").unwrap();
    assert_eq!(odd["unknown"], json!(["Absent", "Matched"]), "{odd}");
}

/// U22: a fleet is assessed with graph-data of a registry, and with releases that are images, as one cluster is.
#[tokio::test]
async fn the_graph_of_a_fleet_may_be_in_a_registry() {
    let Some(registry) = registry().await else { return };
    let host = registry.base_url().trim_start_matches("http://").to_owned();
    let release = |version: &str, previous: &str| {
        format!("- {{version: {version}, arch: amd64, payload: p, previous: [{previous}]}}\n")
    };
    let releases = release("1.0.0", "") + &release("1.1.0", "1.0.0");
    let files: [(&str, &[u8]); 3] = [
        ("data/version", b"1.1.0\n"),
        ("data/channels/c.yaml", b"name: c\nversions: [1.0.0, 1.1.0]\n"),
        ("data/releases/r.yaml", releases.as_bytes()),
    ];
    let push = Pusher::new(&registry.base_url(), "fleet/graph-data");
    push.image(Family::Oci, Some("v1"), "amd64", vec![gzip(&tar(&files))]).await;
    push.image(Family::Oci, Some("bare"), "amd64", vec![gzip(&tar(&files[..2]))]).await;
    Pusher::new(&registry.base_url(), "fleet/releases").release("1.0.0", "1.0.0", "amd64").await;
    let place = tempfile::tempdir().unwrap();
    let snapshot = place.path().join("snapshot.json");
    let manifest =
        json!({"schema": "1.0", "takenAt": "2026-05-04T09:00:00Z", "cluster": {"version": "1.0.0", "channel": "c"}});
    fs::write(snapshot, manifest.to_string()).unwrap();
    let snapshots = ["--snapshots", place.path().to_str().unwrap(), "-o", "json"];
    let image = |tag: &str| format!("oci://{host}/fleet/graph-data:{tag}");
    let (v1, bare, repository) = (image("v1"), image("bare"), format!("{host}/fleet/releases"));
    let whole = fleet(&[&["assess", "--graph", &v1], &snapshots[..]].concat());
    assert_eq!(whole.status.code(), Some(0), "{whole:?}");
    assert_eq!(json(&whole)["clusters"][0]["updates"]["recommended"], 1, "{whole:?}");
    // Only one release is an image, so there is no update any more.
    let images = fleet(&[&["assess", "--graph", &bare, "--registry", &repository], &snapshots[..]].concat());
    assert_eq!(json(&images)["clusters"][0]["updates"]["recommended"], 0, "{images:?}");
    let same = fleet(&[&["diff", "--graph", &v1, "--against", &v1], &snapshots[..]].concat());
    assert_eq!(same.status.code(), Some(0), "{same:?}");
}

/// A store that goes away is said, and the exit code is that nothing is known for sure.
#[tokio::test]
async fn a_store_that_cannot_be_reached_is_said() {
    let Some(prometheus) = prometheus(METRICS).await else { return };
    let url = prometheus.base_url();
    prometheus.process().kill();
    let place = tempfile::tempdir().unwrap();
    let clusters = place.path().join("clusters.yaml");
    fs::write(&clusters, "- {id: fine, version: 1.4.2, channel: stable-1.5}\n- {id: x, version: 9.9.9, channel: c}\n")
        .unwrap();
    let clusters = clusters.to_str().unwrap();
    let away = fleet(&["assess", "--graph", GRAPH, "--prometheus", &url, "--clusters", clusters]);
    assert_eq!(away.status.code(), Some(2), "{away:?}");
    assert!(String::from_utf8_lossy(&away.stderr).contains("cannot be reached"), "{away:?}");
}
