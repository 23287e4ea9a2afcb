//! The sample product of `examples/graph-data`, as `clearway demo` shows it.

use std::path::Path;
use std::time::Duration;

use crate::fixtures::{golden, now, series, snapshot, version};
use clearway_advice::evidence::{Evidence, Snapshot};
use clearway_advice::{Plan, Settings, Status, assess_path, render};
use clearway_core::{Arch, Limits};
use clearway_graph::{Graph, Inputs, load, paths};

/// The channel `fast-1.5` of the sample product.
fn sample() -> (Graph, String) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/graph-data");
    let mut inputs = Inputs::new();
    let mut open = vec![root.clone()];
    while let Some(directory) = open.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else {
                let name = path.strip_prefix(&root).unwrap().to_str().unwrap().replace('\\', "/");
                inputs.insert(name, std::fs::read(&path).unwrap());
            }
        }
    }
    let revision = load(&inputs, &Limits::default()).revision.unwrap();
    let arch: Arch = "amd64".parse().unwrap();
    (revision.graph("candidate-1.5", &arch), revision.id().to_string())
}

const CLUSTER: &str = "\
cluster_version{type=\"current\"} 1
cluster_proxy_enabled{type=\"http\"} 1
vsphere_node_hw_version_total{hw_version=\"vmx-19\"} 3
";

fn told(graph: &Graph, evidence: &dyn Evidence) -> Vec<String> {
    let assessment = Plan::new(graph, &version("1.4.2"), &Settings::default()).unwrap().assess(evidence, now());
    let line = |update: &clearway_advice::Update| {
        format!("{} {} {}", update.version, update.recommended.status, update.recommended.reason)
    };
    assessment.updates.iter().map(line).collect()
}

#[test]
fn every_update_of_the_sample_has_an_answer_and_a_proof() {
    let (graph, _) = sample();
    let store = series(CLUSTER);
    let plan = Plan::new(&graph, &version("1.4.2"), &Settings::default()).unwrap();
    let assessment = plan.assess(&snapshot(&store), now().plus(Duration::from_mins(12)));
    golden("sample.txt", &render::assessment(&assessment));
    for status in [Status::True, Status::False, Status::Unknown] {
        assert!(assessment.with_status(status).next().is_some(), "{status}");
    }
}

#[test]
fn without_metrics_only_what_carries_no_risk_is_recommended() {
    let (graph, _) = sample();
    for line in told(&graph, &Snapshot::empty(now(), "nothing")) {
        assert!(line.starts_with("1.4.") == line.contains(" True "), "{line}");
    }
}

#[test]
fn a_way_over_several_updates_says_what_is_known_today() {
    let (graph, _) = sample();
    let store = series(CLUSTER);
    let way = paths(&graph, &version("1.4.0"), &version("1.5.1")).unwrap().shortest;
    let assessed = assess_path(&way, &snapshot(&store), now(), &Settings::default());
    golden("path.txt", &render::path(&assessed));
    assert_eq!(assessed.hops.iter().map(|hop| hop.provisional).collect::<Vec<_>>().first(), Some(&false));
    assert!(assessed.hops.iter().skip(1).all(|hop| hop.provisional));
    let here = clearway_graph::Path { hops: Vec::new() };
    assert_eq!(assess_path(&here, &snapshot(&store), now(), &Settings::default()).status, Status::True);
}
