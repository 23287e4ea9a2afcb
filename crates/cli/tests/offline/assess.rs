//! `clearway assess` on the sample product and the sample cluster.

use snapbox::{assert_data_eq, file};

use super::{Answer, Place};

/// The sample product and the metrics of a cluster that runs it.
fn place() -> Place {
    let place = Place::new();
    assert_eq!(place.run(&["demo", "--once", "--keep", "kept"]).code, 0);
    place
}

fn assess(place: &Place, more: &[&str]) -> Answer {
    let always = ["assess", "--graph", "kept/graph-data", "--channel", "stable-1.5", "--version", "1.4.2"];
    place.run(&[&always[..], more].concat())
}

const METRICS: [&str; 2] = ["--series", "kept/cluster/series.snap"];

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
    for more in [&[][..], &["--series", METRICS[1], "--now", "2026-05-04T12:00:00Z"]] {
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
        (&["--version", "1.4.2", "--to", "9.9.9"], "no update from 1.4.2 to 9.9.9"),
        (&["--version", "1.4.2", "--series", "broken.prom"], "broken.prom: "),
        (&["--version", "1.4.2", "--series", "nope"], "nope cannot be read"),
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
