//! The linter on objects of a real control plane (Kubernetes 1.36, freshly started, one small workload).
//!
//! `fresh.yaml` has the kinds of Kubernetes itself that report conditions; `rollout.yaml` has three snapshots of the
//! objects of a Deployment while it was scaled and then updated. Nothing in them is wrong, so nothing may be found.

use std::path::Path;

use clearway_conditions::Object;
use clearway_conditions::lint::{History, Policy, Profile, lint};
use clearway_core::{Diagnostic, Limits};
use clearway_yaml::{ReadEvent, read};

fn policy() -> Policy {
    Policy::new("2027-01-01T00:00:00Z".parse().unwrap())
}

fn each(file: &str, mut visit: impl FnMut(&Object<'_>)) -> usize {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/lint_cluster").join(file);
    let text = std::fs::read_to_string(path).unwrap();
    let summary = read(text.as_bytes(), file, &Limits::default(), |found| match found {
        ReadEvent::Object { root, source, list } => visit(&Object::new(root, source, list).unwrap()),
        ReadEvent::Problem(problem) => panic!("{problem:?}"),
    });
    summary.objects
}

fn told(findings: &[Diagnostic]) -> String {
    let lines = findings.iter().map(|finding| format!("{} {:?} {}", finding.code, finding.place, finding.message));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn the_objects_of_a_fresh_cluster_have_no_findings() {
    let (policy, mut findings) = (policy(), Vec::new());
    let count = each("fresh.yaml", |object| {
        assert_eq!(Profile::of(object), Profile::Native, "{}", object.kind());
        lint(object, &policy, &mut findings);
    });
    assert!(count >= 10);
    assert_eq!(told(&findings), "");
}

#[test]
fn a_real_roll_out_breaks_no_rule_of_sequences() {
    let (policy, mut history, mut findings) = (policy(), History::new(), Vec::new());
    let count = each("rollout.yaml", |object| history.push(object, &policy, &mut findings));
    assert!(count >= 9);
    assert_eq!(told(&findings), "");
}
