//! Attacks by whoever can put files into a state directory: each is named, and the operator goes on without it.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::answers;
use crate::attack::{self, Content, Odd};
use crate::operator::{Operator, advice, is_recommended, write_state};
use crate::program::{run, shortened};
use crate::stranger::{Said, Stranger};

/// Files that stand in a state directory.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Attack {
    /// What somebody tries.
    title: String,
    files: BTreeMap<String, Content>,
    /// What the operator logs about each.
    says: String,
}

fn graph() -> String {
    let node = |version: &str| json!({"version": version, "payload": format!("r.example.com/p:{version}")});
    json!({"nodes": [node("1.0.0"), node("1.1.0")], "edges": [[0, 1]], "conditionalEdges": []}).to_string()
}

#[test]
fn state_for_the_operator_and_commands() {
    let service = Stranger::start(|_| Said::json(graph()));
    let upstream = format!("http://{}/api", service.host);
    for (name, attack) in attack::all::<Attack>("state") {
        let what = format!("{name} ({})", attack.title);
        let place = tempfile::tempdir().unwrap();
        let state = place.path().join("state");
        write_state(&state);
        attack::write(&state, &attack.files);
        let mut operator = Operator::start(place.path(), &["--upstream", &upstream]);
        for path in attack.files.keys() {
            let line = operator.line_with(path.rsplit('/').next().unwrap());
            assert!(line.contains(&attack.says), "{what}: {line}");
        }
        operator.until(&what, |status| is_recommended(status, "1.1.0"));
        let shown = run(place.path(), &["upgrade", "--state", "state"]);
        assert!(shown.code == 0 && shown.text.contains("1.1.0"), "{what}: {}", shortened(&shown.text));
        operator.end();
    }
}

/// Without the ClusterVersion there is nothing to advise on, and that is said with the name of its file.
#[test]
fn state_without_a_cluster_version() {
    let path = "objects/config.openshift.io/ClusterVersion/_/version.yaml";
    for content in
        [Content::Text("[1, 2]\n".to_owned()), Content::Text("x\n".to_owned()), Content::Odd { odd: Odd::Pipe }]
    {
        let what = format!("{content:?}");
        let place = tempfile::tempdir().unwrap();
        let state = place.path().join("state");
        write_state(&state);
        attack::write(&state, &BTreeMap::from([(path.to_owned(), content)]));
        let shown = run(place.path(), &["upgrade", "--state", "state"]);
        let text = shortened(&shown.text);
        assert!(shown.code != 0 && shown.text.contains("version.yaml"), "{what} ends with {}: {text}", shown.code);
        let mut operator = Operator::start(place.path(), &[]);
        // It may be said before or after.
        operator.line_with("leading");
        if !operator.log().contains("version.yaml") {
            operator.line_with("version.yaml");
        }
        operator.end();
    }
}

/// A pipe that nobody writes to in place of a feed of metrics: what needs it is not judged, and the rest is.
#[test]
fn state_with_a_pipe_for_metrics() {
    let service = Stranger::start(|_| Said::json(answers::good().to_string()));
    let upstream = format!("http://{}/api", service.host);
    let place = tempfile::tempdir().unwrap();
    let state = place.path().join("state");
    write_state(&state);
    let pipe = Content::Odd { odd: Odd::Pipe };
    attack::write(&state, &BTreeMap::from([("metrics/feed.prom".to_owned(), pipe)]));
    let mut operator = Operator::start(place.path(), &["--upstream", &upstream]);
    let unknown = |status: &Value| advice(status, "1.2.0").is_some_and(|(status, _)| status == "Unknown");
    let status = operator.until("the feed cannot be read", |status| is_recommended(status, "1.1.0") && unknown(status));
    let (_, message) = advice(&status, "1.2.0").unwrap();
    assert!(message.contains("feed.prom"), "{message}");
    operator.end();
}
