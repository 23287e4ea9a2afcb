//! Objects of a cluster may be large, and which of them are read is a stranger's choice.

use std::fs;

use clearway_testbed::ClusterOptions;
use serde_json::{Value, json};

use crate::lab::{Lab, recommended, serve};

/// Half of the kilobytes that the operator's container may have; the rest is for releases.
const CONTAINER: u64 = 256 << 10;
/// So many objects, each of so many small maps: 45 MB of text, and ten times as much memory if all of it is read at once.
const OBJECTS: usize = 150;
const MAPS: usize = 4_500;

/// Kinds with a field that may hold anything are as large as the API server lets them be.
fn large(number: usize) -> Value {
    let fields: Vec<Value> =
        (0..MAPS).map(|at| json!({"name": format!("field-{at}"), "type": "string", "description": "x"})).collect();
    json!({
        "apiVersion": "apps/v1", "kind": "ControllerRevision", "revision": 1,
        "metadata": {"name": format!("large-{number}"), "namespace": "default"}, "data": {"fields": fields},
    })
}

#[tokio::test]
async fn the_operator_reads_large_objects_within_the_memory_of_its_container() {
    let Some(lab) = Lab::open(&ClusterOptions::api_only(), "experimental", "1.0.0", "c").await else { return };
    for number in 0..OBJECTS {
        lab.create(&large(number)).await;
    }
    let data = lab.path("data");
    for (path, text) in [
        ("version", "1.1.0\n"),
        ("channels/c.yaml", "name: c\nversions: [1.0.0, 1.0.1]\n"),
        (
            "releases/r.yaml",
            "- {version: 1.0.0, arch: amd64, payload: a}\n- {version: 1.0.1, arch: amd64, payload: b, previous: [1.0.0]}\n",
        ),
        (
            "blocked-edges/large.yaml",
            "to: 1.0.1\nfrom: .*\nurl: https://example.com\nname: Large\nmessage: m\nmatchingRules:\n\
             - {type: Resource, resource: {apiVersion: apps/v1, kind: ControllerRevision, quantifier: All, expression: object.revision == 1}}\n",
        ),
    ] {
        fs::create_dir_all(data.join(path).parent().unwrap()).unwrap();
        fs::write(data.join(path), text).unwrap();
    }
    let (_service, upstream) = serve(&data, lab.path("serve.log")).await;
    lab.patch(json!({"spec": {"upstream": upstream}})).await;
    let operator = lab.operator("operator.log", &["--log", "info", "--fetch-every", "3m"]);
    let object = lab.until("the rule about large objects is evaluated", |object| {
        let (status, ..) = recommended(object, "1.0.1");
        status == "True" || status == "False" || operator.logged("not known")
    });
    let (status, _, message) = recommended(&object.await, "1.0.1");
    assert_eq!(status, "False", "all of them were read: {message}");
    let memory = operator.peak_memory().unwrap();
    assert!(memory < CONTAINER, "{memory} kB");
}
