//! Graph-data and answers that are as large as the caps let them be, in some of the ways in which little text becomes much
//! memory. `cargo bench --bench hostile` has all of them, and those that take long.

use std::fs;
use std::path::Path;

use clearway_core::GraphLimits;

use crate::evidence;
use crate::operator::Operator;
use crate::program::{COMMAND, Service, run, shortened};
use crate::stranger::{Said, Stranger};

#[path = "../../crates/graph/examples/generate/hostile.rs"]
#[allow(dead_code, reason = "the benchmark has all of them")]
mod hostile;
#[path = "../../crates/graph/examples/generate/hostile_answers.rs"]
#[allow(dead_code, reason = "the benchmark has all of them")]
mod hostile_answers;

/// Of answers, for the operator.
const ANSWERS: [&str; 3] =
    ["every update in many groups", "rules with many small values", "metadata keys in every node"];

pub(crate) fn write(root: &Path, name: &str) {
    let (_, make) = hostile::GRAPH_DATA.iter().find(|(other, _)| *other == name).unwrap();
    for (path, content) in make(&GraphLimits::default()) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
}

#[test]
fn graph_data_at_its_caps_for_commands() {
    for name in ["empty neighbours", "a giant text"] {
        let place = tempfile::tempdir().unwrap();
        write(&place.path().join("data"), name);
        evidence::write(&place.path().join("evidence"));
        for command in [
            &["graph", "show", "c", "--graph", "data"][..],
            &["graph", "lint", "--graph", "data"],
            &["assess", "--version", "1.0.0", "--channel", "c", "--graph", "data", "--snapshot", "evidence"],
        ] {
            run(place.path(), command);
        }
    }
}

#[test]
fn as_many_channels_as_the_cap_allows() {
    let place = tempfile::tempdir().unwrap();
    write(&place.path().join("data"), "as many channels as the cap allows");
    let shown = run(place.path(), &["graph", "show", "c99998", "--graph", "data"]);
    assert_eq!(shown.code, 0, "{}", shortened(&shown.text));
}

#[test]
fn graph_data_at_its_caps_for_the_service() {
    for name in ["empty neighbours", "large signatures"] {
        let place = tempfile::tempdir().unwrap();
        write(&place.path().join("data"), name);
        let listen = ["--listen", "127.0.0.1:0", "--status-listen", "127.0.0.1:0", "--log", "info"];
        let mut service = Service::start(place.path(), &[&["serve", "--graph-data", "data"][..], &listen].concat());
        service.line_with(&["published", "refused", "cannot be"]);
        service.end(COMMAND);
    }
}

#[test]
fn answers_at_their_caps_for_the_operator() {
    let place = tempfile::tempdir().unwrap();
    let stranger = Stranger::start(|_| Said::json("{}"));
    let upstream = format!("http://{}/api", stranger.host);
    let mut operator = Operator::start(place.path(), &["--upstream", &upstream]);
    operator.until("nothing is known", |status| !crate::operator::reason(status, "RetrievedUpdates").is_empty());
    for name in ANSWERS {
        let (_, make) = hostile_answers::ANSWERS.iter().find(|(other, _)| *other == name).unwrap();
        let answer = make(&GraphLimits::default());
        stranger.says(move |_| Said::json(answer.clone()));
        // Each is either refused or assessed.
        operator.until(name, |status| {
            let reason = crate::operator::reason(status, "RetrievedUpdates");
            ["ResponseInvalid", "AsExpected", "VersionNotFound"].contains(&reason)
        });
        stranger.says(|_| Said { status: 500, ..Said::json("{}") });
        operator.until("it is over", |status| crate::operator::reason(status, "RetrievedUpdates") == "ResponseFailed");
    }
    // It looks at its memory.
    operator.end();
}
