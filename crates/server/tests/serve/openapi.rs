//! `/openapi` is true: schemathesis tries the running service against it.

use std::time::Duration;

use clearway_testbed::{Component, have};
use tokio::process::Command;

use crate::site::{Data, PREFIX, Site};

/// The same cases on every run.
const SEED: &str = "20";
const EXAMPLES: &str = "50";
/// It takes a few seconds.
const WITHIN: Duration = clearway_testbed::IN_TIME;

#[tokio::test]
async fn the_service_does_what_its_description_says() {
    if !have(&[Component::Schemathesis]) {
        return;
    }
    let data = Data::example();
    data.write("signatures/sha256/4a1f3b/signature-1", "signed");
    let site = Site::start(data.config()).await;
    let directory = tempfile::tempdir().unwrap();
    let run = Command::new(Component::Schemathesis.find().unwrap())
        .arg("run")
        .arg(format!("http://{}{PREFIX}/openapi", site.address))
        .args(["--checks", "all", "--seed", SEED, "--max-examples", EXAMPLES, "--request-timeout", "10"])
        .args(["--continue-on-failure", "--no-color"])
        // It keeps notes where it runs.
        .current_dir(directory.path())
        .env("NO_PROXY", "127.0.0.1")
        .kill_on_drop(true)
        .output();
    let output = tokio::time::timeout(WITHIN, run).await.expect("it ends in time").unwrap();
    let (told, wrong) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{told}\n{wrong}");
    // It was not content because it had nothing to do.
    for (path, code, least) in [
        ("graph", 200, 20),
        ("graph", 400, 20),
        ("graph", 405, 1),
        ("openapi", 200, 1),
        ("graph-data", 200, 1),
        ("signatures", 200, 1),
        ("signatures", 400, 3),
        ("signatures", 404, 3),
    ] {
        let asked = site.metric(&format!("clearway_http_requests_total{{path=\"{path}\",code=\"{code}\"}}"));
        assert!(asked.unwrap_or(0) >= least, "{path} {code} {asked:?}: {told}");
    }
}
