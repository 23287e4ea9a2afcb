//! `clearway fleet` on snapshots of the sample product's clusters.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};
use snapbox::{assert_data_eq, file};

use super::{Answer, Place};

/// Samples of these series at the time of the snapshots, in the form that snapshots have.
fn series(lines: &[&str]) -> String {
    let line = |line: &&str| line.rsplit_once(' ').map(|(series, value)| format!("{series} 1777885190000:{value}\n"));
    let lines: Vec<String> = lines.iter().filter_map(line).collect();
    format!("# clearway-series 1\n{}# end {}\n", lines.concat(), lines.len())
}

/// Writes a snapshot of a cluster; `whole` vouches for there being no other series.
fn snapshot(place: &Place, name: &str, cluster: &Value, lines: &[&str]) {
    let manifest = json!({
        "schema": "1.0", "takenAt": "2026-05-04T09:00:00Z", "cluster": cluster, "series": {"whole": true},
    });
    place.write(&format!("{name}/snapshot.json"), manifest.to_string());
    place.write(&format!("{name}/series.snap"), series(lines));
}

/// The sample product, and a fleet of five clusters with one snapshot that is none.
fn place() -> Place {
    let place = Place::new();
    assert_eq!(place.run(&["demo", "--once", "--output-dir", "kept"]).code, 0);
    let at = |version: &str| json!({"id": format!("id-{version}"), "version": version, "channel": "stable-1.5"});
    let fast = ["cluster_version 1", "etcd_disk_wal_fsync_p99_seconds 0.01"];
    snapshot(&place, "fleet/a-fine", &at("1.4.2"), &fast);
    snapshot(&place, "fleet/b-proxy", &at("1.4.2"), &["cluster_proxy_enabled{type=\"https\"} 1", fast[0], fast[1]]);
    snapshot(&place, "fleet/c-silent", &at("1.4.2"), &["cluster_version 1"]);
    snapshot(&place, "fleet/d-newest", &at("1.5.2"), &fast);
    snapshot(&place, "other/e-elsewhere", &json!({"version": "1.4.2", "channel": "stable-0.9"}), &fast);
    place.write("fleet/f-broken/snapshot.json", "{");
    place.write("fleet/README.txt", "Not a snapshot.");
    place
}

const GRAPH: [&str; 2] = ["--graph", "kept/graph-data"];
/// The snapshots are of one morning, and are judged as of then.
const THEN: [&str; 2] = ["--as-of", "snapshot"];

fn assess(place: &Place, more: &[&str]) -> Answer {
    place.run(&[&["fleet", "assess"], &GRAPH[..], &THEN, more].concat())
}

/// U16.
#[test]
fn snapshots_are_judged_at_the_current_time_unless_it_is_said_otherwise() {
    let place = place();
    let now = place.run(&[&["fleet", "assess"], &GRAPH[..], &["--snapshots", "fleet"]].concat());
    assert!(now.err.contains("4 of 5 snapshots are too old (the oldest: "), "{now:?}");
    assert!(now.err.contains("--as-of snapshot evaluates each"), "{now:?}");
    let count = |answer: &Answer| answer.json()["clusters"][0]["updates"].clone();
    let json = ["fleet", "assess", "--snapshots", "fleet", "-o", "json"];
    let now = place.run(&[&json[..], &GRAPH].concat());
    assert_eq!(count(&now), json!({"recommended": 1, "notRecommended": 0, "unknown": 2}), "{now:?}");
    let then = place.run(&[&json[..], &GRAPH, &THEN].concat());
    assert_eq!(count(&then), json!({"recommended": 3, "notRecommended": 0, "unknown": 0}), "{then:?}");
    let live = assess(&place, &["--prometheus", "http://127.0.0.1:1"]);
    assert!(live.code == 3 && live.err.contains("--as-of snapshot needs --snapshots"), "{live:?}");
}

#[test]
fn every_cluster_has_a_line_and_what_is_broken_is_refused_by_name() {
    let place = place();
    let answer = assess(&place, &["--snapshots", "fleet"]);
    assert_data_eq!(&answer.out, file!["golden/fleet-assess.txt"].raw());
    assert_eq!(answer.code, 2, "nothing is stranded, and one snapshot is broken: {answer:?}");
    assert!(answer.err.contains("fleet/f-broken: snapshot.json: "), "{answer:?}");
    assert!(answer.err.contains("4 clusters: 3 recommended, 1 newest, 0 unknown, 0 stranded, 0 absent; 1 refused"));
    for threads in ["1", "2", "7"] {
        assert_eq!(assess(&place, &["--snapshots", "fleet", "--threads", threads]), answer, "{threads} threads");
    }
    let json = assess(&place, &["--snapshots", "fleet", "other", "-o", "json"]);
    assert_data_eq!(&json.out, file!["golden/fleet-assess.json"]);
    assert_eq!(json.code, 1, "a cluster whose channel is not there has no way on: {json:?}");
    assert_eq!(json.json()["clusters"][4]["state"], "absent");
}

#[test]
fn snapshots_are_directories_archives_and_directories_of_both() {
    let place = place();
    let archive = fs::File::create(place.path().join("fleet/g.tar")).unwrap();
    let mut archive = tar::Builder::new(archive);
    archive.append_dir_all("a", place.path().join("fleet/a-fine")).unwrap();
    archive.finish().unwrap();
    fs::remove_dir_all(place.path().join("fleet/f-broken")).unwrap();
    let named = |answer: &Answer| -> Vec<String> {
        let json = answer.json();
        json["clusters"].as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap().to_owned()).collect()
    };
    let all = assess(&place, &["--snapshots", "fleet", "-o", "json"]);
    assert_eq!(named(&all), ["fleet/a-fine", "fleet/b-proxy", "fleet/c-silent", "fleet/d-newest", "fleet/g.tar"]);
    assert_eq!(all.code, 0, "{all:?}");
    let some = assess(&place, &["--snapshots", "fleet/g.tar", "fleet/a-fine", "fleet/a-fine", "-o", "json"]);
    assert_eq!(named(&some), ["fleet/a-fine", "fleet/g.tar"]);
}

/// What was a snapshot and is a link that leads nowhere is refused by name, and not passed over.
#[test]
fn links_that_lead_nowhere_are_refused_by_name() {
    let place = place();
    let fleet = place.path().join("fleet");
    fs::remove_dir_all(fleet.join("f-broken")).unwrap();
    for (target, name) in [("nowhere", "g-dangling"), ("h-looping", "h-looping"), ("README.txt", "i-text")] {
        symlink(target, fleet.join(name)).unwrap();
    }
    let answer = assess(&place, &["--snapshots", "fleet"]);
    assert_eq!(answer.code, 2, "{answer:?}");
    assert!(answer.err.contains("4 clusters: 3 recommended, 1 newest, 0 unknown, 0 stranded, 0 absent; 2 refused"));
    assert!(answer.err.contains("fleet/g-dangling") && answer.err.contains("fleet/h-looping"), "{answer:?}");
    assert!(!answer.err.contains("i-text"), "{answer:?}");
}

/// The proposed graph: 1.4.3 is withdrawn.
fn stricter(place: &Place) {
    let copied = |from: &str| fs::read_to_string(place.path().join("kept/graph-data").join(from)).unwrap();
    for directory in ["blocked-edges", "channels", "raw", "releases"] {
        for entry in fs::read_dir(place.path().join("kept/graph-data").join(directory)).unwrap() {
            let name = format!("{directory}/{}", entry.unwrap().file_name().to_str().unwrap());
            place.write(&format!("proposed/{name}"), copied(&name));
        }
    }
    place.write("proposed/version", copied("version"));
    place.write("proposed/channels/stable-1.5.yaml", copied("channels/stable-1.5.yaml").replace("- 1.4.3\n", ""));
}

#[test]
fn a_change_is_shown_from_the_published_to_the_proposed_graph() {
    let place = place();
    stricter(&place);
    let diff = |graph: &str, against: &str, more: &[&str]| {
        let always =
            ["fleet", "diff", "--graph", graph, "--against", against, "--snapshots", "fleet", "--as-of", "snapshot"];
        place.run(&[&always[..], more].concat())
    };
    let worse = diff("proposed", "kept/graph-data", &[]);
    assert_data_eq!(&worse.out, file!["golden/fleet-diff.txt"].raw());
    assert_eq!(worse.code, 1, "{worse:?}");
    assert!(worse.out.starts_with("From kept/graph-data (published) to proposed (proposed)\n"), "{worse:?}");
    let json = diff("proposed", "kept/graph-data", &["-o", "json"]);
    assert_data_eq!(&json.out, file!["golden/fleet-diff.json"]);
    let better = diff("kept/graph-data", "proposed", &["-o", "json"]);
    let summary = &better.json()["summary"];
    assert_eq!((&summary["newlyBlocked"], &summary["newlyRecommended"]), (&json!(0), &json!(3)), "{summary}");
    assert_eq!(better.code, 2, "nothing is worse, but one snapshot is broken: {better:?}");
    fs::remove_dir_all(place.path().join("fleet/f-broken")).unwrap();
    assert_eq!(diff("kept/graph-data", "proposed", &[]).code, 0);
    let same = diff("proposed", "proposed", &[]);
    assert_eq!(same.code, 0, "{same:?}");
    assert!(same.out.contains("nothing changes for any cluster"), "{same:?}");
}

#[test]
fn what_cannot_be_run_is_said() {
    let place = place();
    place.write("empty/README.txt", "");
    for (arguments, said) in [
        (&["--snapshots", "nowhere"][..], "cannot read nowhere"),
        (&["--snapshots", "empty"], "no snapshots found in empty"),
        (&["--snapshots", "fleet/f-broken"], "no cluster could be assessed"),
        (&[], "--snapshots"),
        (&["--snapshots", "fleet", "--prometheus", "http://127.0.0.1:1"], "cannot be used with"),
        (&["--prometheus", "http://127.0.0.1:1", "--cluster-label", "a-b"], "`a-b` is not a label"),
        (&["--prometheus", "http://127.0.0.1:1"], "cannot list the clusters"),
    ] {
        let answer = place.run(&[&["fleet", "assess"], &GRAPH[..], arguments].concat());
        assert_eq!((answer.code, answer.out.as_str()), (3, ""), "{arguments:?}: {answer:?}");
        assert!(answer.err.contains(said), "{arguments:?}: {answer:?}");
    }
}
