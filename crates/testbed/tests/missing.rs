//! A test without its component is never passed over in silence: it fails, or it is on the list of those not run.

use std::process::{Command, Output};

/// The test that plays the one without its component, when it is run by the others.
const PLAYED: &str = "played_by_the_other_tests";

#[tokio::test]
#[ignore = "run by the other tests of this file, in an environment without the test bed"]
async fn played_by_the_other_tests() {
    let Some(_cluster) = clearway_testbed::cluster().await else { return };
    panic!("a cluster without programs");
}

/// Runs that test in a process of its own that finds no programs.
fn play(not_run: Option<&std::path::Path>) -> Output {
    let nowhere = tempfile::tempdir().unwrap();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", PLAYED, "--ignored", "--nocapture"]);
    command.env("CLEARWAY_TESTBED_BIN", nowhere.path()).env_remove("KUBEBUILDER_ASSETS");
    match not_run {
        Some(path) => command.env("CLEARWAY_NOT_RUN", path),
        None => command.env_remove("CLEARWAY_NOT_RUN"),
    };
    command.output().unwrap()
}

#[test]
fn it_is_listed() {
    let dir = tempfile::tempdir().unwrap();
    let list = dir.path().join("not-run");
    let output = play(Some(&list));
    assert!(output.status.success(), "{output:?}");
    let line = std::fs::read_to_string(list).unwrap();
    let fields: Vec<_> = line.trim_end().split('\t').collect();
    assert_eq!(fields[1..], ["etcd", "it is not installed", "run testbed/install"]);
    assert!(fields[0].starts_with("missing::"), "{line}");
}

#[test]
fn it_fails_where_there_is_no_list() {
    let output = play(None);
    assert!(!output.status.success(), "{output:?}");
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(text.contains("etcd is missing (it is not installed); to get it: run testbed/install"), "{text}");
}
