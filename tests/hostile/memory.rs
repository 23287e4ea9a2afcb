//! Graph-data and answers that are as large as the caps let them be, in some of the ways in which little text becomes much
//! memory. `cargo bench --bench hostile` has all of them, and those that take long.

use std::fs;
use std::path::Path;

use clearway_core::{GraphLimits, Limits};
use serde_json::json;

use crate::evidence;
use crate::operator::{Operator, message, reason};
use crate::program::{COMMAND, Service, run, shortened};
use crate::stranger::{Said, Stranger};

#[path = "../../crates/graph/examples/generate/hostile.rs"]
#[allow(dead_code, reason = "the benchmark has all of them")]
mod hostile;
#[path = "../../crates/graph/examples/generate/hostile_answers.rs"]
#[allow(dead_code, reason = "the benchmark has all of them")]
pub(crate) mod hostile_answers;

/// Of answers, for the operator, and what becomes of each: the reason and a part of the message of `RetrievedUpdates`.
const ANSWERS: [(&str, &str, &str); 4] = [
    ("every update in many groups", "ResponseInvalid", "the cap \"answer_memory\""),
    ("rules with many small values", "ResponseInvalid", "the cap \"answer_memory\""),
    ("large rules of a risk that is another one for each release", "ResponseInvalid", "the cap \"answer_memory\""),
    ("metadata keys in every node", "AsExpected", ""),
];

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
    // What is said at last: that all of it was read, and not refused before by the size of its files.
    for (name, says) in [
        ("empty neighbours", &["the cap `neighbours`"][..]),
        ("a giant text", &["not YAML: simple key expected", "the cap `name_bytes`", "the cap `release_bytes`"]),
    ] {
        let place = tempfile::tempdir().unwrap();
        write(&place.path().join("data"), name);
        evidence::write(&place.path().join("evidence"));
        for command in [
            &["graph", "show", "c", "--graph", "data"][..],
            &["graph", "lint", "--graph", "data"],
            &["assess", "--version", "1.0.0", "--channel", "c", "--graph", "data", "--snapshot", "evidence"],
        ] {
            let ended = run(place.path(), command);
            for words in says {
                assert!(ended.text.contains(words), "{name}: {command:?}, {words}: {}", shortened(&ended.text));
            }
        }
    }
}

/// Each was read in the square of its length, or took a thousand times its bytes.
#[test]
fn texts_of_little_for_commands() {
    let place = tempfile::tempdir().unwrap();
    for (number, (name, says)) in [
        ("releases that are none, on one line", "more findings of this kind are not shown"),
        ("aliases of a quoted text", "aliases expand to more than 16777216 bytes of text in one file"),
        ("aliases in every release", "aliases expand to more than 1000000 values in one file"),
    ]
    .into_iter()
    .enumerate()
    {
        let data = format!("data{number}");
        write(&place.path().join(&data), name);
        let ended = run(place.path(), &["graph", "lint", "--graph", &data]);
        assert!(ended.text.contains(says), "{name}: {}", shortened(&ended.text));
    }
}

/// An answer of two megabytes in which each of many updates carries many risks of long names, which are shown beside each of
/// them: each version is a minor of its own, so that nothing can be put together.
fn risks_that_all_updates_share(versions: usize) -> String {
    answer_with_risks(versions, (0..1_700).map(|number| format!("R{number:04}{}", "x".repeat(995))))
}

fn answer_with_risks(versions: usize, names: impl Iterator<Item = String>) -> String {
    let version = |number: usize| format!("1.{number}.0");
    let node = |number: usize| json!({"version": version(number), "payload": "r.example.com/p"});
    let edge = |number: usize| json!({"from": version(number), "to": version(number + 1)});
    let risk = |name: String| json!({"name": name, "url": "u", "message": "m", "matchingRules": [{"type": "Always"}]});
    let group = json!({
        "edges": (0..versions - 1).map(edge).collect::<Vec<_>>(),
        "risks": names.map(risk).collect::<Vec<_>>(),
    });
    json!({"nodes": (0..versions).map(node).collect::<Vec<_>>(), "edges": [], "conditionalEdges": [group]}).to_string()
}

#[test]
fn risks_that_all_updates_share_for_commands() {
    let place = tempfile::tempdir().unwrap();
    fs::write(place.path().join("before.json"), risks_that_all_updates_share(1)).unwrap();
    fs::write(place.path().join("answer.json"), risks_that_all_updates_share(400)).unwrap();
    for (command, says) in [
        (&["graph", "show", "--graph", "answer.json"][..], "more"),
        (&["graph", "show", "--graph", "answer.json", "-o", "json"], "the result has more than 134217728 bytes"),
        (&["graph", "paths", "1.0.0", "1.399.0", "--graph", "answer.json"], "path_risk_bytes"),
        (&["graph", "paths", "1.0.0", "1.399.0", "--graph", "answer.json", "-o", "json"], "path_risk_bytes"),
        (&["graph", "stranded", "--newest-patches", "--graph", "answer.json", "-o", "json"], "stranded_bytes"),
        (&["graph", "diff", "before.json", "answer.json"], "more"),
        (&["graph", "diff", "before.json", "answer.json", "-o", "json"], "the result has more than 134217728 bytes"),
        (&["graph", "render", "--graph", "answer.json"], "more"),
    ] {
        let ended = run(place.path(), command);
        assert!(ended.text.contains(says), "{command:?} ends with {}: {}", ended.code, shortened(&ended.text));
    }
}

#[test]
fn one_letter_to_escape_in_a_large_result() {
    let place = tempfile::tempdir().unwrap();
    // About 100 MiB as YAML: a tree of its values and a second text of it do not fit beside it.
    let name = |number: usize| format!("R{number:04}{}", "x".repeat(70));
    let names = (0..1_900).map(|number| if number == 1_000 { "R\u{ad}".to_owned() } else { name(number) });
    fs::write(place.path().join("answer.json"), answer_with_risks(650, names)).unwrap();
    let shown = run(place.path(), &["graph", "show", "--graph", "answer.json", "-o", "yaml"]);
    assert_eq!(shown.code, 0, "{}", shortened(&shown.text));
    assert!(shown.text.contains(r#"- "R\xad""#), "{}", shortened(&shown.text));
}

#[test]
fn one_large_document_for_commands() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("objects.yaml");
    let whole = Limits::default().document_bytes;
    // One text as large as a document may be: with an escape the reader has a second one of it.
    for (bytes, cap) in [(whole - 100, "object_bytes"), (whole + (64 << 20), "document_bytes")] {
        let text = format!("{{\"kind\": \"ConfigMap\", \"a\": \"\\n{}\"}}", "x".repeat(bytes - 40));
        fs::write(&file, text).unwrap();
        for command in [&["status", "show", "-f", "objects.yaml"][..], &["status", "lint", "-f", "objects.yaml"]] {
            let ended = run(place.path(), command);
            assert!(ended.text.contains(cap), "{command:?}: {}", shortened(&ended.text));
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
        let line = service.line_with(&["published", "refused", "cannot be"]);
        assert!(line.contains("published"), "{name}: {line}");
        service.end(COMMAND);
    }
}

#[test]
fn answers_at_their_caps_for_the_operator() {
    let place = tempfile::tempdir().unwrap();
    let failing = |_: &str| Said { status: 500, ..Said::json("{}") };
    let stranger = Stranger::start(failing);
    let upstream = format!("http://{}/api", stranger.host);
    let mut operator = Operator::start(place.path(), &["--upstream", &upstream]);
    for (name, reason, words) in ANSWERS {
        operator.until("nothing is known", |status| self::reason(status, "RetrievedUpdates") == "ResponseFailed");
        let (_, make) = hostile_answers::ANSWERS.iter().find(|(other, _)| *other == name).unwrap();
        let answer = make(&GraphLimits::default());
        stranger.says(move |_| Said::json(answer.clone()));
        let status = operator.until(name, |status| self::reason(status, "RetrievedUpdates") != "ResponseFailed");
        let message = message(&status, "RetrievedUpdates");
        assert_eq!(self::reason(&status, "RetrievedUpdates"), reason, "{name}: {message}");
        assert!(message.contains(words), "{name}: {message}");
        stranger.says(failing);
    }
    // It looks at its memory.
    operator.end();
}
