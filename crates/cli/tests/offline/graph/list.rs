//! `clearway graph list` and `clearway risk list`: what a graph has.

use serde_json::json;

use super::{graph_data, run};

const SAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/graph-data");

#[test]
fn channels_are_listed_with_their_numbers() {
    let place = graph_data();
    let listed = run(&place, "graph list --graph data");
    let want = "CHANNEL  ARCH   RELEASES  UPDATES  CONDITIONAL  NEWEST\nstable   amd64  3         0        2            1.1.0\n";
    assert_eq!((listed.code, listed.out.as_str()), (0, want));
    let data = run(&place, "graph list --graph data -o json").json();
    assert_eq!(
        data,
        json!([{"channel": "stable", "arch": "amd64", "releases": 3, "updates": 0, "conditional": 2, "newest": "1.1.0"}])
    );
    let sample = run(&place, &format!("graph list --graph {SAMPLE} -o json")).json();
    let rows: Vec<_> = sample
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (row["channel"].as_str().unwrap(), row["arch"].as_str().unwrap()))
        .collect();
    assert_eq!(rows.len(), 6, "three channels on two architectures: {rows:?}");
    assert_eq!(
        run(&place, &format!("graph list --graph {SAMPLE} --arch arm64 -o json")).json().as_array().unwrap().len(),
        3
    );
    let other = run(&place, "graph list --graph data --arch s390x");
    assert!(other.code == 3 && other.err.contains("no releases for `s390x`, only for amd64"), "{other:?}");
}

#[test]
fn an_answer_in_a_file_is_one_channel() {
    let place = graph_data();
    place.write("stable.json", run(&place, "graph build --graph data --channel stable").out);
    let listed = run(&place, "graph list --graph stable.json");
    assert!(listed.code == 0 && listed.out.contains("stable.json  -     3         0        2"), "{listed:?}");
    let risks = run(&place, "risk list --graph stable.json -o json").json();
    assert_eq!(
        (&risks[0]["name"], &risks[0]["updates"], risks[0].get("tested")),
        (&json!("SlowDisks"), &json!(2), None)
    );
}

#[test]
fn risks_are_listed_with_their_updates_rules_and_tests() {
    let place = graph_data();
    let listed = run(&place, "risk list --graph data");
    assert_eq!(
        listed.out,
        "RISK       UPDATES  CHANNELS  RULES   TESTED  URL\nSlowDisks  2        stable    Always  no      https://example.com/1\n"
    );
    assert!(listed.code == 0 && listed.err.contains("1 of 1 risks have no unit test"), "{listed:?}");
    place.write("data/risk-tests/SlowDisks.yaml", "risk: SlowDisks\ncases: [{name: all, expect: match}]\n");
    let tested = run(&place, "risk list --graph data -o json");
    assert_eq!((&tested.json()[0]["tested"], tested.err.as_str()), (&json!(true), ""));
    let sample = run(&place, &format!("risk list --graph {SAMPLE} -o json")).json();
    let names: Vec<&str> = sample.as_array().unwrap().iter().map(|risk| risk["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["IngressSettingsLost", "ProxyTimeouts", "SlowEtcd", "VSphereOldHardware"]);
    assert_eq!(sample[1]["rules"], json!(["PromQL"]));
    let one = run(&place, &format!("risk list --graph {SAMPLE} --channel stable-1.5 -o json")).json();
    assert_eq!(one.as_array().unwrap().len(), 3, "1.5.1 is not in it: {one}");
    let unknown = run(&place, "risk list --graph data --channel nightly");
    assert!(unknown.code == 3 && unknown.err.contains("channel `nightly` not found"), "{unknown:?}");
}
