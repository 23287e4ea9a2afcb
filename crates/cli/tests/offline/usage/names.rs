//! The names of the program: its version, and the names under which kubectl finds it.

use std::os::unix::fs::symlink;
use std::process::Command;

use serde_json::Value;

use super::super::Place;
use super::run;

#[test]
fn version_shows_this_program_and_needs_no_cluster() {
    let shown = run("version --client");
    assert_eq!((shown.code, shown.err.as_str()), (0, ""));
    let lines: Vec<Vec<&str>> = shown.out.lines().map(|line| line.splitn(2, "  ").map(str::trim).collect()).collect();
    assert_eq!(lines[1], ["clearway", env!("CARGO_PKG_VERSION")]);
    assert_eq!(lines.iter().map(|line| line[0]).collect::<Vec<_>>()[2..], ["revision", "target", "compiler", "CRDs"]);

    let json: Value = serde_json::from_str(&run("version --client -o json").out).unwrap();
    let client = &json["client"];
    assert_eq!(client["version"], env!("CARGO_PKG_VERSION"));
    assert!(client["compiler"].as_str().unwrap().starts_with("rustc 1."), "{client}");
    assert!(
        client["target"].as_str().unwrap().contains('-') && client["crdBundle"].as_str().unwrap().contains('.'),
        "{client}"
    );
    assert_eq!(json.as_object().unwrap().len(), 1, "{json}");
    let without_cluster = run("version");
    assert_eq!((without_cluster.code, without_cluster.err.as_str()), (0, ""));
    assert!(without_cluster.out.contains("operator   unknown: no cluster is configured"), "{}", without_cluster.out);
}

#[test]
fn version_shows_the_operator_of_a_state_directory() {
    let place = Place::new();
    let missing = place.run(&["version", "--state", "nowhere"]);
    assert_eq!(missing.code, 3);
    assert!(missing.err.contains("nowhere is not a state directory"), "{missing:?}");
    assert_eq!(place.run(&["demo", "update", "--once", "--output-dir", "kept"]).code, 0);
    let shown = place.run(&["version", "--state", "kept/state", "-o", "json"]);
    assert_eq!((shown.code, shown.err.as_str()), (0, ""));
    let json: Value = serde_json::from_str(&shown.out).unwrap();
    assert_eq!(json["operator"]["version"], env!("CARGO_PKG_VERSION"), "{json}");
    assert_eq!(json["operator"]["namespace"], "clearway", "{json}");
}

#[test]
fn an_api_server_that_is_away_makes_the_operators_version_unknown() {
    let place = Place::new();
    place.write(
        "kubeconfig",
        "apiVersion: v1\nkind: Config\ncurrent-context: a\ncontexts: [{name: a, context: {cluster: a, user: a}}]\n\
         clusters: [{name: a, cluster: {server: 'http://127.0.0.1:1'}}]\nusers: [{name: a, user: {}}]\n",
    );
    let away = place.run(&["version", "--kubeconfig", "kubeconfig"]);
    assert_eq!(away.code, 2, "{away:?}");
    assert!(away.out.contains("operator   unknown"), "{away:?}");
    assert!(
        away.err.starts_with("warning: the version of the operator is unknown: cannot reach the API server"),
        "{away:?}"
    );
}

/// Runs the program under another name.
fn run_as(place: &Place, name: &str, words: &[&str]) -> (Option<i32>, String, String) {
    let path = place.path().join(name);
    if !path.exists() {
        symlink(env!("CARGO_BIN_EXE_clearway"), &path).unwrap();
    }
    let output = Command::new(path).args(words).env_clear().output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn as_a_plugin_of_kubectl_it_goes_by_that_name() {
    let place = Place::new();
    let (code, help, _) = run_as(&place, "kubectl-clearway", &["graph", "show", "--help"]);
    assert_eq!(code, Some(0));
    assert!(help.contains("Usage: kubectl clearway graph show "), "{help}");
    assert!(help.contains("\n  kubectl clearway graph show ") && !help.contains("\n  clearway "), "{help}");
    let (code, _, wrong) = run_as(&place, "kubectl-clearway", &["graph", "shw"]);
    assert_eq!(code, Some(3));
    assert!(wrong.contains("Usage: kubectl clearway graph "), "{wrong}");
    let (_, version, _) = run_as(&place, "kubectl-clearway", &["--version"]);
    assert_eq!(version, format!("clearway {}\n", env!("CARGO_PKG_VERSION")));
    let (_, script, _) = run_as(&place, "kubectl-clearway", &["completions", "bash"]);
    assert!(
        script.lines().any(|line| line.contains("complete -F ") && line.ends_with(" kubectl-clearway")),
        "{script}"
    );
}

#[test]
fn kubectl_is_told_how_a_command_line_goes_on() {
    let place = Place::new();
    let ask = |words: &[&str]| run_as(&place, "kubectl_complete-clearway", words);
    let (code, commands, err) = ask(&["graph", ""]);
    assert_eq!((code, err.as_str()), (Some(0), ""));
    assert!(commands.contains("lint\t") && commands.ends_with("\n:4\n"), "{commands}");
    assert_eq!(ask(&["graph", "show", "--graph", ""]).1, ":0\n");
    assert_eq!(ask(&[]).0, Some(0));
}
