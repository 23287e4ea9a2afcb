//! `clearway assess` on the sample product and the sample cluster.

mod evidence;

use snapbox::{assert_data_eq, file};

use super::{Answer, Place};

/// The sample product and the metrics of a cluster that runs it.
fn place() -> Place {
    let place = Place::new();
    assert_eq!(place.run(&["demo", "--once", "--output-dir", "kept"]).code, 0);
    place
}

fn assess(place: &Place, more: &[&str]) -> Answer {
    let always = ["assess", "--graph", "kept/graph-data", "--channel", "stable-1.5", "--version", "1.4.2"];
    place.run(&[&always[..], more].concat())
}

const SERIES: &str = "kept/cluster/series.snap";

/// The metrics, judged as of the morning they are of.
const METRICS: [&str; 4] = ["--series", SERIES, "--as-of", "snapshot"];

#[test]
fn every_update_gets_an_answer_and_the_exit_code_sums_them_up() {
    let place = place();
    let list = assess(&place, &METRICS);
    assert_eq!((list.code, list.err.as_str()), (0, ""));
    assert_data_eq!(&list.out, file!["golden/assess.txt"].raw());
    for (to, code) in [("1.4.3", 0), ("1.5.0", 1), ("1.5.2", 2)] {
        let one = assess(&place, &[&METRICS[..], &["--to", to]].concat());
        assert_eq!(one.code, code, "{one:?}");
        assert!(one.out.starts_with(to), "{one:?}");
    }
    assert_eq!(assess(&place, &METRICS), list, "the same inputs, the same bytes");
}

#[test]
fn the_proof_is_shown_and_its_commands_work() {
    let place = place();
    let why = assess(&place, &[&METRICS[..], &["--why"]].concat());
    assert_data_eq!(&why.out, file!["golden/assess-why.txt"].raw());
    let checks: Vec<&str> = why.out.lines().filter_map(|line| line.trim().strip_prefix("check    ")).collect();
    assert!(!checks.is_empty(), "{why:?}");
    for check in checks {
        let line = check.replacen("clearway", env!("CARGO_BIN_EXE_clearway"), 1);
        let output = std::process::Command::new("sh").arg("-c").arg(line).current_dir(place.path()).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{check}: {output:?}");
    }
    let json = assess(&place, &[&METRICS[..], &["-o", "json"]].concat()).json();
    assert_eq!(json["updates"].as_array().unwrap().len(), 3, "{json}");
    assert_eq!(json["updates"][1]["recommended"]["reason"], "MultipleReasons");
}

#[test]
fn without_evidence_and_with_old_evidence_nothing_conditional_is_recommended() {
    let place = place();
    for more in [&[][..], &["--series", SERIES, "--as-of", "2026-05-04T12:00:00Z"], &["--series", SERIES]] {
        let answer = assess(&place, more);
        for line in answer.out.lines().filter(|line| line.starts_with("1.5")) {
            assert!(line.contains("Unknown"), "{line}");
        }
    }
}

#[test]
fn what_cannot_be_assessed_is_said() {
    let place = place();
    place.write("broken.prom", "up{ 1\n");
    for (more, said) in [
        (&["--version", "9.9.9"][..], "9.9.9 is not in the graph"),
        (
            &["--version", "1.4.2", "--to", "9.9.9"],
            "no update from 1.4.2 to 9.9.9: 9.9.9 is not in this channel, and no",
        ),
        (&["--version", "1.4.2", "--to", "1.5.1"], "only in candidate-1.5, fast-1.5: pass one of them with --channel"),
        (&["--version", "1.4.2", "--to", "1.4.1"], "1.4.1 is not newer than 1.4.2"),
        (&["--version", "1.4.2", "--series", "broken.prom"], "broken.prom: "),
        (&["--version", "1.4.2", "--series", "nope"], "cannot read nope"),
        (&["--version", "one"], "one"),
        (&["--version", "1.4.2", "--shared-store"], "--cluster-id"),
        (&[], "--version"),
    ] {
        let always = ["assess", "--graph", "kept/graph-data", "--channel", "stable-1.5"];
        let answer = place.run(&[&always[..], more].concat());
        assert_eq!(answer.code, 3, "{answer:?}");
        assert!(answer.err.contains(said), "{answer:?}");
    }
}

#[test]
fn a_version_that_is_several_updates_away_is_shown_hop_by_hop() {
    let place = place();
    let ways = |more: &[&str]| {
        let always = ["assess", "--graph", "kept/graph-data", "--channel", "fast-1.5", "--version", "1.4.1"];
        place.run(&[&always[..], &METRICS, more].concat())
    };
    let way = ways(&["--to", "1.5.1"]);
    assert_data_eq!(&way.out, file!["golden/assess-way.txt"].raw());
    assert_eq!(way.code, 1, "{way:?}");
    let way = ways(&["--to", "1.5.2", "-o", "json"]);
    let json = way.json();
    assert_eq!((way.code, &json["status"], &json["exact"]), (0, &"True".into(), &true.into()), "{json}");
    let hops = json["shortest"]["hops"].as_array().unwrap();
    let hop = |at: usize| (hops[at]["from"].as_str().unwrap(), hops[at]["to"].as_str().unwrap());
    assert_eq!((hop(0), hop(1)), (("1.4.1", "1.4.3"), ("1.4.3", "1.5.2")));
    assert_eq!((&hops[0]["provisional"], &hops[1]["provisional"]), (&false.into(), &true.into()));
    assert_eq!(ways(&["--to", "1.5.2"]).out.lines().last(), Some("No path has fewer risks."));
}

#[test]
fn a_longer_way_with_fewer_risks_is_shown_beside_the_shortest() {
    let place = Place::new();
    place.write("data/version", "1.1.0\n");
    place.write("data/channels/c.yaml", "name: c\nversions: [1.0.0, 1.1.0, 1.2.0, 1.3.0]\n");
    let release = |version: &str, previous: &str| {
        format!("- {{version: {version}, arch: amd64, payload: p, previous: [{previous}]}}\n")
    };
    let releases =
        [("1.0.0", ""), ("1.1.0", "1.0.0"), ("1.2.0", "1.1.0"), ("1.3.0", "1.1.0, 1.2.0")].map(|(v, p)| release(v, p));
    place.write("data/releases/r.yaml", releases.concat());
    let risk = "url: https://example.com\nname: Bad\nmessage: It is bad.\nmatchingRules:\n- type: Always\n";
    place.write("data/blocked-edges/1.3.0.yaml", format!("to: 1.3.0\nfrom: ^1[.]1[.]0[+].*$\n{risk}"));
    let run = |more: &[&str]| {
        let always = ["assess", "--graph", "data", "--channel", "c", "--version", "1.0.0", "--to", "1.3.0"];
        place.run(&[&always[..], more].concat())
    };
    let json = run(&["-o", "json"]).json();
    let said = |way: &str| (json[way]["status"].as_str().unwrap(), json[way]["hops"].as_array().unwrap().len());
    assert_eq!((said("shortest"), said("fewestRisks")), (("False", 2), ("True", 3)), "{json}");
    let text = run(&[]);
    assert_eq!(text.code, 0, "one of the ways is recommended: {text:?}");
    assert!(text.out.contains("\nThe path with the fewest risks, in 3 updates:\n\n1.0.0 -> 1.1.0"), "{text:?}");
}

#[test]
fn a_version_that_no_way_leads_to_is_explained() {
    let place = place();
    let run = |more: &[&str]| {
        let always = ["assess", "--graph", "kept/graph-data", "--channel", "candidate-1.5", "--version", "1.5.0-rc.1"];
        place.run(&[&always[..], more].concat())
    };
    let blocked = run(&["--to", "1.5.0"]);
    assert_eq!((blocked.code, blocked.err.as_str()), (1, ""), "{blocked:?}");
    for said in [
        "There is no path: no sequence of updates leads from 1.5.0-rc.1 to 1.5.0",
        "because blocked-edges/1.5.0.yaml removes it",
    ] {
        assert!(blocked.out.contains(said), "{said}: {blocked:?}");
    }
    let json = run(&["--to", "1.5.2", "-o", "json"]).json();
    assert_eq!(json["why"]["reason"], "unreachable", "{json}");
    assert!(json["explanation"].is_null(), "nobody wrote anything about that update: {json}");
}

#[test]
fn an_answer_does_not_say_of_which_architecture_it_is_and_a_cluster_may() {
    let place = place();
    let built = place.run(&["graph", "build", "--graph", "kept/graph-data", "--channel", "stable-1.5"]);
    place.write("stable.json", &built.out);
    let cluster = r#"{"version": "1.4.2", "arch": "multi", "channel": "stable-1.5"}"#;
    let manifest = format!(r#"{{"schema": "1.0", "takenAt": "2026-05-04T09:00:00Z", "cluster": {cluster}}}"#);
    place.write("snapshot/snapshot.json", manifest);
    let replay = ["assess", "--graph", "stable.json", "--snapshot", "snapshot", "--as-of", "snapshot"];
    let said = place.run(&replay);
    assert_eq!((said.code, said.err.as_str()), (0, ""), "{said:?}");
    let named = place.run(&[&replay[..], &["--arch", "multi"]].concat());
    assert!(named.code == 3 && named.err.contains("omit --arch"), "{named:?}");
}

/// U8: a target in both lists is conditional, and that is said.
#[test]
fn what_of_a_graph_cannot_be_used_is_in_the_data() {
    let place = Place::new();
    let node = |version: &str| serde_json::json!({"version": version, "payload": format!("r.example.com/p:{version}")});
    let risk = serde_json::json!({"name": "R", "url": "https://example.com", "message": "m", "matchingRules": [{"type": "Always"}]});
    let answer = serde_json::json!({
        "nodes": [node("1.0.0"), node("1.1.0")], "edges": [[0, 1]],
        "conditionalEdges": [{"edges": [{"from": "1.0.0", "to": "1.1.0"}], "risks": [risk]}],
    });
    place.write("answer.json", answer.to_string());
    place.write("metrics.prom", "up 1\n");
    let run = place.run(&[
        "assess",
        "--graph",
        "answer.json",
        "--version",
        "1.0.0",
        "--series",
        "metrics.prom",
        "-o",
        "json",
    ]);
    let json = run.json();
    assert_eq!(json["updates"][0]["recommended"]["status"], "False", "{json}");
    assert_eq!(json["diagnostics"][0]["code"], "GD065", "{json}");
    assert!(json["diagnostics"][0]["message"].as_str().unwrap().contains("1.1.0"), "{json}");
}

/// What the CRDs of a release would do is not known without a cluster to look at, and never taken for harmless.
#[test]
fn a_release_without_a_cluster_is_unknown_with_the_reason() {
    let place = place();
    let release = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/releases/1.4.3");
    let table = assess(&place, &[&METRICS[..], &["--release", release]].concat());
    assert_eq!(table.code, 2, "{table:?}");
    assert!(table.out.starts_with("1.4.3"), "the update to its version is shown: {table:?}");
    let words = format!("CRDs of release 1.4.3 ({release}): Unknown: no cluster is configured; pass --kubeconfig\n");
    assert!(table.out.ends_with(&words), "{table:?}");
    let json = assess(&place, &[&METRICS[..], &["--release", release, "-o", "json"]].concat()).json();
    assert_eq!(json["version"], "1.4.3");
    assert_eq!(
        (&json["releaseFindings"]["status"], &json["releaseFindings"]["findings"]),
        (&"Unknown".into(), &serde_json::json!([]))
    );
    let yaml = assess(&place, &[&METRICS[..], &["--release", release, "-o", "yaml"]].concat());
    assert!(yaml.code == 2 && yaml.out.contains("releaseFindings:\n"), "{yaml:?}");
    let missing = assess(&place, &[&METRICS[..], &["--release", "nowhere"]].concat());
    assert_eq!(missing.code, 3, "{missing:?}");
}
