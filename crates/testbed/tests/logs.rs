//! A failing test shows the ends of the logs.

use std::env;
use std::process::Command;

use clearway_testbed::{Component, have, registry};

/// Set in the inner process.
const INNER: &str = "CLEARWAY_TESTBED_INNER";

#[tokio::test]
async fn a_failing_test_shows_logs() {
    if !have(&[Component::DockerRegistry]) {
        return;
    }
    if env::var_os(INNER).is_some() {
        let _registry = registry().await;
        panic!("on purpose");
    }
    let mut command = Command::new(env::current_exe().unwrap());
    let output = command.args(["--exact", "a_failing_test_shows_logs"]).env(INNER, "yes").output().unwrap();
    assert!(!output.status.success());
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let (_, log) = text.split_once("--- the end of the log of docker-registry (running)").expect("the log is shown");
    assert!(log.contains("listening on 127.0.0.1:"), "{text}");
}
