//! A test without its component is never passed over in silence: it fails, or it is on the list of those not run.
//!
//! Each test runs itself once more in a process of its own that finds no programs, and looks at what happens there.

use std::env;
use std::path::Path;
use std::process::{Command, Output};

/// Set in the inner process.
const INNER: &str = "CLEARWAY_TESTBED_INNER";

/// In the inner process: asks for a cluster, as any test does.
async fn ask_for_cluster() {
    let Some(_cluster) = clearway_testbed::cluster().await else { return };
    panic!("a cluster without programs");
}

/// Runs one test of this file in the inner process.
fn run_inner(test: &str, not_run: Option<&Path>) -> Output {
    let nowhere = tempfile::tempdir().unwrap();
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture"]).env(INNER, "yes");
    command.env("CLEARWAY_TESTBED_BIN", nowhere.path().join("bin")).env_remove("KUBEBUILDER_ASSETS");
    match not_run {
        Some(path) => command.env("CLEARWAY_NOT_RUN", path),
        None => command.env_remove("CLEARWAY_NOT_RUN"),
    };
    command.output().unwrap()
}

#[tokio::test]
async fn it_is_listed() {
    if env::var_os(INNER).is_some() {
        return ask_for_cluster().await;
    }
    let dir = tempfile::tempdir().unwrap();
    let list = dir.path().join("not-run");
    let output = run_inner("it_is_listed", Some(&list));
    assert!(output.status.success(), "{output:?}");
    let line = std::fs::read_to_string(list).unwrap();
    let fields: Vec<_> = line.trim_end().split('\t').collect();
    assert_eq!(fields[1..], ["etcd", "it is not installed", "run testbed/install"]);
    // With one thread for all tests that thread bears no test's name.
    assert!(["missing::it_is_listed", "missing::main"].contains(&fields[0]), "{line}");
}

#[tokio::test]
async fn it_fails_where_there_is_no_list() {
    if env::var_os(INNER).is_some() {
        return ask_for_cluster().await;
    }
    let output = run_inner("it_fails_where_there_is_no_list", None);
    assert!(!output.status.success(), "{output:?}");
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(text.contains("etcd is missing (it is not installed); to get it: run testbed/install"), "{text}");
}
