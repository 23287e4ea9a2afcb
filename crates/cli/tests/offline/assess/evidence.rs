//! Evidence as its readers see it: its age, sources that cannot be reached, and the commands that show it again.

use std::fs;
use std::process::Command;

use clearway_advice::Settings;
use clearway_advice::evidence::ObjectRequest;
use clearway_core::GroupKind;
use clearway_operator::heartbeat::Heartbeat;
use clearway_operator::metrics_store::MetricsStore;
use clearway_sources::clock;
use clearway_sources::store::{StateDirectory, Store as _};

use crate::{Answer, Place};

/// An address at which nobody listens.
const NOBODY: &str = "http://127.0.0.1:1";
const SNAPSHOT: [&str; 2] = ["--snapshot", "kept/cluster"];

/// The sample product, and a snapshot of a cluster that runs it, taken in May 2026.
fn place() -> Place {
    let place = Place::new();
    assert_eq!(place.run(&["demo", "--once", "--output-dir", "kept"]).code, 0);
    place
}

fn assess(place: &Place, more: &[&str]) -> Answer {
    place.run(&[&["assess", "--graph", "kept/graph-data"], more].concat())
}

/// The commands of the proofs in an output, as a shell reads them.
fn run_checks(place: &Place, shown: &str) {
    let checks: Vec<&str> = shown.lines().filter_map(|line| line.trim().strip_prefix("check    ")).collect();
    assert!(!checks.is_empty(), "{shown}");
    for check in checks {
        run_check(place, check);
    }
}

fn run_check(place: &Place, check: &str) -> String {
    let line = check.replacen("clearway", env!("CARGO_BIN_EXE_clearway"), 1);
    let output = Command::new("sh").arg("-c").arg(line).current_dir(place.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{check}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// U16: the snapshot is of the past, so that nothing conditional is recommended unless it is asked about that time.
#[test]
fn a_snapshot_is_judged_now_and_replayed_as_of_its_capture() {
    let place = place();
    let conditional = |answer: &Answer| -> Vec<String> {
        answer.out.lines().filter(|line| line.starts_with("1.5")).map(str::to_owned).collect()
    };
    let now = assess(&place, &SNAPSHOT);
    assert_eq!(conditional(&now).len(), 2, "{now:?}");
    for line in conditional(&now) {
        let words: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(words[1], "Unknown", "{line}");
        // Days, and hours in case there are any.
        assert!(words[3].contains('d') && words[3] != "0s", "{line}");
    }
    assert!(now.err.contains("--as-of snapshot evaluates it at 2026-05-04T09:00:00Z"), "{now:?}");
    let why = assess(&place, &[&SNAPSHOT[..], &["--to", "1.5.0"]].concat());
    assert!(why.code == 2 && why.out.contains(" old; the maximum age is 2h."), "{why:?}");

    let replayed = assess(&place, &[&SNAPSHOT[..], &["--as-of", "snapshot"]].concat());
    assert_eq!((replayed.code, replayed.err.as_str()), (0, ""), "{replayed:?}");
    assert!(conditional(&replayed)[1].contains("False") && conditional(&replayed)[1].contains(" 0s "), "{replayed:?}");
    let named = assess(&place, &[&SNAPSHOT[..], &["--as-of", "2026-05-04T09:00:00Z"]].concat());
    assert_eq!(named, replayed);
    let believed = assess(&place, &[&SNAPSHOT[..], &["--max-age", "99999d"]].concat());
    assert!(believed.err.is_empty() && conditional(&believed)[1].contains("False"), "{believed:?}");

    let explain = |more: &[&str]| {
        let always = ["risk", "explain", "ProxyTimeouts", "--graph", "kept/graph-data"];
        place.run(&[&always[..], &SNAPSHOT, more].concat())
    };
    assert_eq!((explain(&[]).code, explain(&["--as-of", "snapshot"]).code), (2, 1));
    for (wrong, said) in [("yesterday", "neither `snapshot` nor a time"), ("snapshot", "needs --snapshot or --series")]
    {
        let live = ["--channel", "stable-1.5", "--version", "1.4.2", "--prometheus", NOBODY, "--as-of", wrong];
        let refused = assess(&place, &live);
        assert!(refused.code == 3 && refused.err.contains(said), "{refused:?}");
    }
}

/// A source that does not answer is not a query without series: the cause is said, and 1.4.3, which has no risk, is no
/// reason to be content.
#[test]
fn a_prometheus_that_cannot_be_reached_is_said_with_its_cause() {
    let place = place();
    let access = ["--channel", "stable-1.5", "--version", "1.4.2"];
    let away = assess(&place, &[&access[..], &["--prometheus", NOBODY]].concat());
    assert_eq!(away.code, 2, "{away:?}");
    assert!(away.err.contains("127.0.0.1:1/api/v1/query cannot be reached: Connection refused"), "{away:?}");
    assert!(away.out.contains("Unknown      EvidenceUnreachable") && away.out.contains("1.4.3    True"), "{away:?}");
    let json = assess(&place, &[&access[..], &["--prometheus", NOBODY, "-o", "json"]].concat()).json();
    assert_eq!(json["updates"][0]["risks"][0]["rules"][0]["failure"], "unreachable", "{json}");
    // What is not needed need not be there: 1.4.3 is asked about alone.
    let one = assess(&place, &[&access[..], &["--prometheus", NOBODY, "--to", "1.4.3"]].concat());
    assert_eq!((one.code, one.err.as_str()), (0, ""), "{one:?}");
    place.write("none.prom", "other 1\n");
    let empty = assess(&place, &[&access[..], &["--series", "none.prom"]].concat());
    assert_eq!((empty.code, empty.err.as_str()), (0, ""), "{empty:?}");
    assert!(empty.out.contains("PromQLError") && !empty.out.contains("EvidenceUnreachable"), "{empty:?}");
}

/// The cluster of `KUBECONFIG` is asked, and one that does not answer is said to be away.
#[test]
fn the_cluster_is_that_of_kubectl() {
    let place = Place::new();
    let rule = "{type: Condition, condition: {apiVersion: v1, kind: Node, type: Ready, status: 'False'}}";
    place.write("data/version", "1.1.0\n");
    place.write("data/channels/c.yaml", "name: c\nversions: [1.0.0, 1.1.0]\n");
    place.write(
        "data/releases/r.yaml",
        "- {version: 1.0.0, arch: amd64, payload: p}\n- {version: 1.1.0, arch: amd64, payload: q, previous: [1.0.0]}\n",
    );
    place.write(
        "data/blocked-edges/1.1.0.yaml",
        format!("to: 1.1.0\nfrom: .*\nurl: https://example.com\nname: Bad\nmessage: m\nmatchingRules:\n- {rule}\n"),
    );
    let kubeconfig = format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: x\nclusters: [{{name: x, cluster: {{server: '{NOBODY}'}}}}]\n\
         users: [{{name: x, user: {{}}}}]\ncontexts: [{{name: x, context: {{cluster: x, user: x}}}}]\n"
    );
    place.write("config", &kubeconfig);
    let with = |variable: Option<&str>, arguments: &[&str]| {
        let mut command = place.command(&[&["assess", "--graph", "data", "--channel", "c"], arguments].concat());
        if let Some(path) = variable {
            command.env("KUBECONFIG", path);
        }
        crate::answer(command.output().unwrap())
    };
    let unreachable = |answer: &Answer| answer.err.contains("http://127.0.0.1:1");
    let nobody = with(None, &["--version", "1.0.0"]);
    assert!(nobody.code == 2 && nobody.out.contains("EvaluationFailed") && nobody.err.is_empty(), "{nobody:?}");
    let named = with(Some("config"), &["--version", "1.0.0"]);
    assert!(named.code == 2 && unreachable(&named) && named.out.contains("EvidenceUnreachable"), "{named:?}");
    assert_eq!(named.err.lines().count(), 1, "it is said once: {named:?}");
    let unnamed = with(Some("config"), &[]);
    assert!(unnamed.code == 3 && unreachable(&unnamed), "{unnamed:?}");
    place.write(".kube/config", &kubeconfig);
    let default = with(None, &["--version", "1.0.0"]);
    assert_eq!(default, named, "the default file is found as well");
    let collect = place.run(&["snapshot", "collect", "--graph", "data", "--channel", "c", "--output-dir", "taken"]);
    assert!(collect.code == 3 && unreachable(&collect), "{collect:?}");
    // Files need no cluster.
    place.write("metrics.prom", "up 1\n");
    let file = with(None, &["--version", "1.0.0", "--series", "metrics.prom"]);
    assert!(file.err.is_empty(), "{file:?}");
}

#[test]
fn the_command_of_a_proof_works_whatever_the_source_is() {
    let place = place();
    let replay = ["--as-of", "snapshot", "--why"];
    let pack = ["-czf", "it's.tar.gz", "-C", "kept", "cluster"];
    assert!(Command::new("tar").args(pack).current_dir(place.path()).status().unwrap().success());
    for source in ["kept/cluster", "it's.tar.gz"] {
        let shown = assess(&place, &[&["--snapshot", source], &replay[..]].concat());
        assert_eq!(shown.code, 0, "{shown:?}");
        run_checks(&place, &shown.out);
    }
    let version = ["--channel", "stable-1.5", "--version", "1.4.2", "--why"];
    place.write("feed/a.prom", "cluster_version 1\n");
    place.write("feed/b.prom", "etcd_disk_wal_fsync_p99_seconds 0.5\n");
    place.write("plain", "cluster_version 1\n");
    for series in [&["--series", "feed"][..], &["--series", "plain", "--series-format", "text"]] {
        let shown = assess(&place, &[series, &version].concat());
        assert!(shown.out.contains(&series[2..].join(" ")), "{shown:?}");
        run_checks(&place, &shown.out);
    }
    // Standard input cannot be read again.
    let piped = [&["assess", "--graph", "kept/graph-data", "--series", "-"], &version[..]].concat();
    let piped = place.run_with("cluster_version 1\n", &piped);
    assert!(piped.out.contains("1.5.0") && !piped.out.contains("check    "), "{piped:?}");
}

#[test]
fn the_commands_of_a_state_directory_work() {
    let place = Place::new();
    let state = StateDirectory::open(&place.path().join("state dir")).unwrap();
    fs::write(state.metrics().join("a.prom"), "up 1\n").unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let store = MetricsStore::Directory(state.metrics());
    for query in ["max(up)", "-up"] {
        let seen =
            runtime.block_on(store.observe(query, &Settings::default(), clock::now, &Heartbeat::default())).unwrap();
        let shown = run_check(&place, &seen.reproduce.unwrap());
        assert!(shown.ends_with("1\n"), "{shown}");
    }
    place.write("state dir/objects/core/Node/_/n1.yaml", "apiVersion: v1\nkind: Node\nmetadata: {name: n1}\n");
    let shown = |api: &str, kind: &str| {
        let kind = GroupKind::from_api_version(api, kind);
        run_check(&place, &state.show_command(&ObjectRequest { kind, namespace: None, name: None }).unwrap())
    };
    assert!(shown("v1", "Node").contains("name: n1"));
    assert_eq!(shown("apps/v1", "Deployment"), "");
}
