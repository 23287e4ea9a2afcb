//! Attacks by whoever wrote a snapshot or the directory of a release: each is refused or unknown by name.

use std::collections::BTreeMap;
use std::fs;

use clearway_testbed::images::gzip;
use serde::Deserialize;

use crate::archives::{pack, zstd};
use crate::attack::{self, Content};
use crate::program::{run, shortened};

/// Files of a directory that somebody else wrote.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Attack {
    /// What somebody tries.
    title: String,
    files: BTreeMap<String, Content>,
    /// The file that is named.
    says: String,
}

/// A graph with one rule about objects and one about metrics, which nobody may answer "no" to.
const GRAPH: &str = r#"{"nodes":[{"version":"1.0.0","payload":"a"},{"version":"1.1.0","payload":"b"},{"version":"1.2.0","payload":"c"}],
"edges":[],"conditionalEdges":[
{"edges":[{"from":"1.0.0","to":"1.1.0"}],"risks":[{"name":"Objects","url":"https://example.com","message":"m","matchingRules":[
  {"type":"Resource","resource":{"apiVersion":"v1","kind":"Node","expression":"true","whenAbsent":"NoMatch"}}]}]},
{"edges":[{"from":"1.0.0","to":"1.2.0"}],"risks":[{"name":"Series","url":"https://example.com","message":"m","matchingRules":[
  {"type":"PromQL","promql":{"promql":"max(broken) or vector(0)"}}]}]}]}"#;

#[test]
fn snapshots_for_commands() {
    for (name, attack) in attack::all::<Attack>("snapshots") {
        let what = format!("{name} ({})", attack.title);
        let place = tempfile::tempdir().unwrap();
        attack::write(&place.path().join("kept"), &attack.files);
        fs::write(place.path().join("graph.json"), GRAPH).unwrap();
        let of_graph = ["--graph", "graph.json", "--version", "1.0.0"];
        for command in [
            vec!["snapshot", "show", "kept"],
            [&["assess", "--snapshot", "kept"][..], &of_graph].concat(),
            vec!["fleet", "assess", "--graph", "graph.json", "--snapshots", "kept"],
        ] {
            let ended = run(place.path(), &command);
            let text = shortened(&ended.text);
            assert!(ended.code != 0, "{what}: {command:?}: {text}");
            assert!(ended.text.contains(&attack.says), "{what}: {command:?} names the file: {text}");
            assert!(!ended.text.contains('\u{1b}'), "{what}: {command:?}: {text}");
        }
    }
}

/// An attack in an archive is refused or unknown as it is in a directory, however the archive is packed.
#[test]
fn packed_snapshots_for_commands() {
    let assess = ["assess", "--graph", "graph.json", "--version", "1.0.0", "--snapshot"];
    let fleet = ["fleet", "assess", "--graph", "graph.json", "--snapshots"];
    for (name, attack) in attack::all::<Attack>("snapshots") {
        // Archives have no sockets.
        let Some(archive) = pack("kept", &attack.files) else { continue };
        let place = tempfile::tempdir().unwrap();
        fs::write(place.path().join("graph.json"), GRAPH).unwrap();
        for (file, bytes, command) in [
            ("kept.tar", archive.clone(), &["snapshot", "show"][..]),
            ("kept.tar.gz", gzip(&archive), &assess),
            ("kept.tar.zst", zstd(&archive), &fleet),
        ] {
            let what = format!("{name} ({}) in {file}", attack.title);
            fs::write(place.path().join(file), bytes).unwrap();
            let ended = run(place.path(), &[command, &[file]].concat());
            let text = shortened(&ended.text);
            assert!(ended.code != 0, "{what}: {command:?}: {text}");
            assert!(ended.text.contains(&attack.says), "{what}: {command:?} names the file: {text}");
            assert!(!ended.text.contains('\u{1b}'), "{what}: {command:?}: {text}");
        }
    }
}

/// A graph with a rule about a bundle that nobody may answer "no" to.
const BUNDLE_GRAPH: &str = r#"{"nodes":[{"version":"1.0.0","payload":"a"},{"version":"1.1.0","payload":"b"}],"edges":[],"conditionalEdges":[
{"edges":[{"from":"1.0.0","to":"1.1.0"}],"risks":[{"name":"Hostile","url":"https://example.com","message":"m","matchingRules":[
  {"type":"Bundle","bundle":{"group":"a.io","version":"1.x","usedField":"Thing v1 spec","whenAbsent":"NoMatch"}}]}]}]}"#;

/// The next version of the bundle.
const NEXT_BUNDLE: &str = "apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.a.io, annotations: {a.io/bundle-version: v1.1.0, a.io/channel: standard}}
spec:
  group: a.io
  scope: Namespaced
  names: {kind: Thing, plural: things}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object}}}}}
";

/// Whatever the CRDs of a snapshot hold, a rule about them matches or is unknown, and a preflight ends.
#[test]
fn crds_for_commands() {
    for (name, attack) in attack::all::<Attack>("crds") {
        let what = format!("{name} ({})", attack.title);
        let place = tempfile::tempdir().unwrap();
        attack::write(&place.path().join("kept"), &attack.files);
        fs::write(place.path().join("graph.json"), BUNDLE_GRAPH).unwrap();
        fs::write(place.path().join("next.yaml"), NEXT_BUNDLE).unwrap();
        let assess = [
            "assess",
            "--snapshot",
            "kept",
            "--as-of",
            "snapshot",
            "--graph",
            "graph.json",
            "--version",
            "1.0.0",
            "--why",
        ];
        let ended = run(place.path(), &assess);
        let text = shortened(&ended.text);
        assert!(matches!(ended.code, 1 | 2) && ended.text.contains(&attack.says), "{what}: {text}");
        assert!(!ended.text.contains('\u{1b}'), "{what}: {text}");
        let ended = run(place.path(), &["bundle", "preflight", "next.yaml", "--snapshot", "kept"]);
        let text = shortened(&ended.text);
        assert!((0..=2).contains(&ended.code) && !ended.text.contains('\u{1b}'), "{what}: {text}");
    }
}

#[test]
fn releases_for_commands() {
    for (name, attack) in attack::all::<Attack>("releases") {
        let what = format!("{name} ({})", attack.title);
        let place = tempfile::tempdir().unwrap();
        attack::write(&place.path().join("release"), &attack.files);
        for command in [&["release", "verify", "release"][..], &["release", "show", "release"]] {
            let ended = run(place.path(), command);
            let text = shortened(&ended.text);
            assert!(ended.code != 0 && ended.text.contains(&attack.says), "{what}: {command:?}: {text}");
            assert!(!ended.text.contains('\u{1b}'), "{what}: {command:?}: {text}");
        }
    }
}
