//! `clearway assess` with a real Prometheus: the same answers as from a file, and Unknown when it is away.

use std::process::{Command, Output};

use clearway_testbed::prometheus;

const GRAPH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/graph-data");

/// The metrics of the sample cluster, as an exporter gives them: without times.
const METRICS: &str = "cluster_version{type=\"current\",version=\"1.4.2\"} 1
cluster_proxy_enabled{type=\"https\"} 1
vsphere_node_hw_version_total{hw_version=\"vmx-17\"} 3
";

fn assess(more: &[&str]) -> Output {
    let always = ["assess", "--graph", GRAPH, "--channel", "stable-1.5", "--version", "1.4.2"];
    Command::new(env!("CARGO_BIN_EXE_clearway")).args(always).args(more).output().unwrap()
}

/// Version and recommendation of every line.
fn answers(output: &Output) -> Vec<(String, String)> {
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    let line = |line: &str| {
        let mut words = line.split_whitespace().map(str::to_owned);
        (words.next().unwrap(), words.next().unwrap())
    };
    text.lines().skip(1).map(line).collect()
}

fn list(answers: &[(&str, &str)]) -> Vec<(String, String)> {
    answers.iter().map(|(version, status)| ((*version).to_owned(), (*status).to_owned())).collect()
}

/// U3, U10, U16.
#[tokio::test]
async fn a_prometheus_answers_as_a_file_does_and_nothing_is_recommended_when_it_is_away() {
    let Some(prometheus) = prometheus(METRICS).await else { return };
    let url = prometheus.base_url();
    let there = assess(&["--prometheus", &url]);
    assert_eq!(there.status.code(), Some(0), "{there:?}");
    assert_eq!(answers(&there), list(&[("1.5.2", "Unknown"), ("1.5.0", "False"), ("1.4.3", "True")]));
    let proof = String::from_utf8(assess(&["--prometheus", &url, "--to", "1.5.0"]).stdout).unwrap();
    assert!(proof.contains(&format!("curl -sSG {url}/api/v1/query --data-urlencode")), "{proof}");
    let check = proof.lines().find_map(|line| line.trim().strip_prefix("check    ")).unwrap();
    let shown = Command::new("sh").arg("-c").arg(check).output();
    // Where there is no curl, the command cannot be tried.
    if let Some(shown) = shown.ok().filter(|shown| shown.status.success()) {
        assert!(String::from_utf8_lossy(&shown.stdout).contains("\"status\":\"success\""), "{shown:?}");
    }
    prometheus.process().kill();
    let away = assess(&["--prometheus", &url]);
    assert_eq!(answers(&away), list(&[("1.5.2", "Unknown"), ("1.5.0", "Unknown"), ("1.4.3", "True")]));
    let why = assess(&["--prometheus", &url, "--to", "1.5.0"]);
    assert_eq!(why.status.code(), Some(2), "{why:?}");
    assert!(String::from_utf8_lossy(&why.stdout).contains("cannot be reached"), "{why:?}");
}
