//! Graph-data and catalogues in the real registry: published, signed, read again, and refused without the right signature
//! (U22, U23).

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use clearway_testbed::images::{Pusher, gzip, tar};
use clearway_testbed::{Program, registry, wait_until};
use serde_json::{Value, json};

const GRAPH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/graph-data");
const CATALOG: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../catalog");

fn command(directory: &Path, line: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_clearway"));
    command.args(line.split_whitespace()).current_dir(directory).env("HOME", directory).env_remove("KUBECONFIG");
    command
}

fn run(directory: &Path, line: &str) -> (i32, String, String) {
    let Output { status, stdout, stderr } = command(directory, line).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (status.code().unwrap(), text(stdout), text(stderr))
}

/// Writes two pairs of keys: `mine` and `yours`.
fn write_keys(directory: &Path) {
    for name in ["mine", "yours"] {
        let key = rcgen::KeyPair::generate().unwrap();
        fs::write(directory.join(format!("{name}.key")), key.serialize_pem()).unwrap();
        fs::write(directory.join(format!("{name}.pub")), key.public_key_pem()).unwrap();
    }
}

#[tokio::test]
async fn signed_graph_data_is_read_with_its_key_and_anything_else_is_refused() {
    let Some(registry) = registry().await else { return };
    let place = tempfile::tempdir().unwrap();
    let place = place.path();
    write_keys(place);
    let repository = format!("oci://{}/graph-data", registry.host());
    let publish = |more: &str| run(place, &format!("graph publish {repository}:{more}"));
    let (code, digest, err) = publish(&format!("good --graph {GRAPH} --sign-key mine.key"));
    assert_eq!((code, err.contains("(signed)")), (0, true), "{err}");
    let digest = digest.trim();
    // The same files are the same artifact, whoever pushes them.
    assert_eq!(publish(&format!("unsigned --graph {GRAPH}/")).1.trim(), digest);
    fs::create_dir_all(place.join("other/channels")).unwrap();
    fs::write(place.join("other/version"), "1.1.0\n").unwrap();
    fs::write(place.join("other/channels/c.yaml"), "name: c\nversions: []\n").unwrap();
    assert_eq!(publish("other --graph other").0, 0);

    let show = |tag: &str, keys: &str| run(place, &format!("graph show stable-1.5 --graph {repository}:{tag} {keys}"));
    let local = run(place, &format!("graph show stable-1.5 --graph {GRAPH}"));
    assert_eq!(show("good", "--graph-key mine.pub").1, local.1);
    assert_eq!(show("good", "--graph-key yours.pub --graph-key mine.pub").1, local.1);
    assert_eq!(show("good", "").1, local.1, "without a key the signature is not checked");
    let assessed = format!("assess --graph {repository}@{digest} --channel stable-1.5 --version 1.4.2 --graph-key");
    assert_eq!(run(place, &format!("{assessed} mine.pub")).0, 0);
    for ((code, out, err), want) in [
        (show("good", "--graph-key yours.pub"), "none of its 1 signatures is by a trusted key (yours.pub)"),
        (show("other", "--graph-key mine.pub"), "it is not signed; it is refused because keys are given"),
        (run(place, &format!("{assessed} yours.pub")), "none of its 1 signatures is by a trusted key"),
        (show("good", "--graph-key mine.key"), "it contains no public key"),
        (show("nothing", "--graph-key mine.pub"), "the registry has no such"),
    ] {
        assert_eq!((code, out.as_str()), (3, ""), "{want}: {err}");
        assert!(err.contains(want), "{want}: {err}");
    }

    // Tampered: the tag leads to other content, to which the signature of the good one is attached.
    let push = Pusher::new(&registry.base_url(), "graph-data");
    let config = push.blob("application/vnd.oci.empty.v1+json", b"{}".to_vec()).await;
    let files: [(&str, &[u8]); 2] = [("version", b"1.1.0"), ("channels/c.yaml", b"name: stable-1.5\nversions: []\n")];
    let layer = push.blob("application/vnd.oci.image.layer.v1.tar+gzip", gzip(&tar(&files))).await;
    let manifest = json!({
        "schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": config.descriptor, "layers": [layer.descriptor],
    });
    let tampered = push.manifest(Some("good"), &manifest).await;
    let (_, _, err) = show("good", "--graph-key mine.pub");
    assert!(err.contains("it is not signed"), "{err}");
    let path = format!("/v2/graph-data/manifests/{}.sig", digest.replace(':', "-"));
    let accept = [("accept", "application/vnd.oci.image.manifest.v1+json")];
    let signatures = clearway_testbed::http::get_with(registry.port(), &path, &accept).await.unwrap().body;
    let signatures: Value = serde_json::from_str(&signatures).unwrap();
    push.manifest(Some(&format!("{}.sig", tampered.digest.replace(':', "-"))), &signatures).await;
    let (code, _, err) = show("good", "--graph-key mine.pub");
    assert_eq!(code, 3);
    assert!(err.contains("mine.pub signed another release, sha256:"), "{err}");
    // By its digest the good one is still there.
    assert_eq!(run(place, &format!("{assessed} mine.pub")).0, 0);
}

#[tokio::test]
async fn a_service_serves_only_what_the_key_signed() {
    let Some(registry) = registry().await else { return };
    let place = tempfile::tempdir().unwrap();
    let place = place.path();
    write_keys(place);
    let repository = format!("oci://{}/served", registry.host());
    let publish = format!("graph publish {repository} --graph {GRAPH} --sign-key");
    assert_eq!(run(place, &format!("{publish} yours.key")).0, 0);
    let line = format!(
        "serve --graph {repository} --graph-key mine.pub --listen 127.0.0.1:0 --status-listen 127.0.0.1:0 --refresh 1s \
         --cache kept --log-format json"
    );
    let log = place.join("log");
    let arguments = line.split_whitespace();
    let service = Program::start_with(env!("CARGO_BIN_EXE_clearway"), arguments, log, |command| {
        command.current_dir(place).env("HOME", place).env_remove("KUBECONFIG");
    });
    let service = service.unwrap();
    let said = |what: &str| service.logged(what);
    let in_time = clearway_testbed::IN_TIME;
    let refused = async || said("none of its 1 signatures is by a trusted key (mine.pub)");
    wait_until(in_time, "the graph of another key is refused", refused).await.unwrap();
    let address = || {
        let text = service.log();
        let (_, rest) = text.split_once("serving on http://127.0.0.1:").unwrap();
        rest.split('/').next().unwrap().parse::<u16>().unwrap()
    };
    let graph = "/api/upgrades_info/graph?channel=stable-1.5&arch=amd64";
    let status = async || {
        let answer = clearway_testbed::http::get_with(address(), graph, &[("accept", "application/json")]).await;
        answer.unwrap().status
    };
    assert_ne!(status().await, 200);
    assert_eq!(run(place, &format!("{publish} mine.key")).0, 0);
    wait_until(in_time, "the graph is served once the key signed it", async || status().await == 200).await.unwrap();
}

#[tokio::test]
async fn a_catalogue_is_published_and_replaces_the_built_in_one() {
    let Some(registry) = registry().await else { return };
    let place = tempfile::tempdir().unwrap();
    let place = place.path();
    write_keys(place);
    let repository = format!("oci://{}/catalog", registry.host());
    let (code, digest, err) =
        run(place, &format!("catalog publish {repository}:v1 --catalog {CATALOG} --sign-key mine.key"));
    assert_eq!(code, 0, "{err}");
    let list = |more: &str| run(place, &format!("catalog list -o json {more}"));
    assert_eq!(list(&format!("--catalog {repository}:v1 --graph-key mine.pub")).1, list("").1);
    let (code, _, err) = list(&format!("--catalog {repository}:v1 --graph-key yours.pub"));
    assert_eq!(code, 3);
    assert!(err.contains("none of its 1 signatures is by a trusted key (yours.pub)"), "{err}");
    let snapshot = json!({"schema": "1.0", "takenAt": "2026-05-04T09:00:00Z", "objects": [{"kind": "Namespace"}]});
    fs::create_dir_all(place.join("snapshot/objects")).unwrap();
    fs::write(place.join("snapshot/snapshot.json"), snapshot.to_string()).unwrap();
    let labels = json!({"app.kubernetes.io/version": "1.22.1"});
    let namespace =
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "knative-serving", "labels": labels}});
    fs::write(place.join("snapshot/objects/Namespace.json"), json!({"items": [namespace]}).to_string()).unwrap();
    let assess = "assess --product knative-serving --snapshot snapshot --as-of snapshot";
    let (code, out, err) = run(place, &format!("{assess} --catalog {repository}:v1 --graph-key mine.pub"));
    assert_eq!(code, 0, "{err}");
    assert!(out.starts_with(&format!("Catalogue: {repository}@{}; channel: stable\n", digest.trim())), "{out}");
    assert!(out.contains("1.22.1") && out.contains("1.23.0"), "{out}");
    // An artifact of graph-data is not a catalogue.
    assert_eq!(run(place, &format!("graph publish {repository}:graph --graph {GRAPH}")).0, 0);
    let (code, _, err) = run(place, &format!("{assess} --catalog {repository}:graph"));
    assert_eq!(code, 3);
    assert!(err.contains("no product found: a catalogue has one directory per product"), "{err}");
}
