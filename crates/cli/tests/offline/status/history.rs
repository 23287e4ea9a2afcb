//! `clearway status lint --history`: snapshots of the same objects, in order.

use crate::{Answer, Place};

fn snapshot(version: u32, status: &str, time: &str, seen: u32) -> String {
    format!(
        "apiVersion: example.com/v1\nkind: Database\nmetadata:\n  name: orders\n  uid: u1\n  \
         resourceVersion: \"{version}\"\n  generation: 3\n  creationTimestamp: 2026-01-01T00:00:00Z\nstatus:\n  \
         conditions:\n  - type: Ready\n    status: \"{status}\"\n    reason: Checked\n    message: as it is\n    \
         lastTransitionTime: {time}\n    observedGeneration: {seen}\n"
    )
}

fn lint(snapshots: &[String], more: &[&str]) -> Answer {
    let place = Place::new();
    let names: Vec<String> = (0..snapshots.len()).map(|number| format!("{number}.yaml")).collect();
    for (name, text) in names.iter().zip(snapshots) {
        place.write(name, text);
    }
    let mut arguments = vec!["status", "lint", "-o", "json", "--now", "2026-03-01T00:00:00Z"];
    arguments.extend(more);
    arguments.extend(names.iter().flat_map(|name| ["-f", name]));
    place.run(&arguments)
}

#[test]
fn a_time_that_moves_alone_and_a_generation_that_falls_are_found() {
    let snapshots = [
        snapshot(1, "True", "2026-02-01T00:00:00Z", 3),
        snapshot(2, "True", "2026-02-01T01:00:00Z", 3),
        snapshot(3, "Unknown", "2026-02-01T02:00:00Z", 2),
    ];
    let answer = lint(&snapshots, &["--history"]);
    assert_eq!((answer.places(), answer.code), (vec!["SC021 1.yaml:15:25".into(), "SC024 2.yaml:16:25".into()], 1));
    assert!(answer.err.starts_with("3 states of 1 object checked"), "{answer:?}");
    let alone = lint(&snapshots, &[]);
    assert!(!alone.out.contains("SC021") && !alone.out.contains("SC024"), "without --history each stands alone");
}

#[test]
fn the_order_of_the_files_is_the_order_of_the_snapshots() {
    let snapshots = [snapshot(2, "True", "2026-02-01T00:00:00Z", 3), snapshot(1, "True", "2026-02-01T00:00:00Z", 3)];
    let answer = lint(&snapshots, &["--history"]);
    assert_eq!((answer.places(), answer.code), (vec!["SC000 1.yaml:1:1".to_owned()], 1));
    assert!(answer.out.contains("pass the snapshots in the order they were taken"), "{answer:?}");
}

#[test]
fn the_same_snapshot_twice_is_no_change() {
    let one = snapshot(1, "True", "2026-02-01T00:00:00Z", 3);
    let answer = lint(&[one.clone(), one.clone()], &["--history"]);
    assert_eq!((answer.places(), answer.code), (Vec::new(), 0));
    let place = Place::new();
    place.write("a.yaml", one);
    let answer = place.run(&["status", "lint", "--history", "-f", "a.yaml", "-f", "a.yaml"]);
    assert_eq!(answer.code, 0);
    assert!(answer.err.starts_with("2 states of 1 object checked"), "a snapshot named twice counts twice: {answer:?}");
}

#[test]
fn history_needs_files() {
    let place = Place::new();
    for (more, hint) in
        [(None, "--file <FILE|DIR|->"), (Some("deploy"), "cannot be used with"), (Some("--all"), "cannot be used with")]
    {
        let arguments: Vec<&str> = ["status", "lint", "--history"].into_iter().chain(more).collect();
        let answer = place.run(&arguments);
        assert!(answer.code == 3 && answer.err.contains(hint), "{answer:?}");
    }
}
