//! Attacks by whoever can put files into a state directory: each is named, and the operator goes on without it.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::answers;
use crate::attack::{self, Content, Odd};
use crate::operator::{Operator, advice, is_recommended, write_state};
use crate::program::{MARKER, run, shortened};
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

/// What stands in place of a feed of metrics, and what is said of it.
fn feeds() -> [(Content, &'static str); 5] {
    let comment =
        "# a line of a hundred bytes that nobody reads, and of which there are more than a feed of metrics may have\n";
    let large = Content::Repeated {
        before: "broken 0\n".to_owned(),
        repeat: comment.to_owned(),
        times: (65 << 20) / comment.len(),
        after: String::new(),
    };
    [
        // Nobody writes to it.
        (Content::Odd { odd: Odd::Pipe }, "feed.prom cannot be read: it is a named pipe"),
        (Content::Link { link: "/dev/zero".to_owned() }, "outside the directory"),
        (large, "feed.prom cannot be read: it is larger than 67108864 bytes"),
        (Content::Text(format!("broken 0\nbroken{{secret=\"{MARKER}\" 0\n")), "a line is not valid exposition text"),
        // In milliseconds: there is none by now.
        (Content::Text("broken 0 9999999999000\n".to_owned()), "Watched"),
    ]
}

/// A feed of metrics that cannot be used: what needs it is not judged, and the rest is.
#[test]
fn state_with_a_feed_that_cannot_be_used() {
    let service = Stranger::start(|_| Said::json(answers::good().to_string()));
    let upstream = format!("http://{}/api", service.host);
    for (content, says) in feeds() {
        let place = tempfile::tempdir().unwrap();
        let state = place.path().join("state");
        write_state(&state);
        attack::write(&state, &BTreeMap::from([("metrics/feed.prom".to_owned(), content)]));
        let mut operator = Operator::start(place.path(), &["--upstream", &upstream]);
        let unknown = |status: &Value| advice(status, "1.2.0").is_some_and(|(status, _)| status == "Unknown");
        let status = operator.until(says, |status| {
            is_recommended(status, "1.1.0")
                && unknown(status)
                && advice(status, "1.2.0").is_some_and(|(_, message)| message.contains(says))
        });
        // Alerts are in the same feed.
        let recommend = run(place.path(), &["upgrade", "recommend", "--state", "state"]);
        let is_read = says == "Watched";
        assert_eq!(recommend.text.contains("FailedToCompletePrecheck"), !is_read, "{says}: {}", recommend.text);
        assert!(!status.to_string().contains(MARKER), "{says}: {status}");
        operator.end();
    }
}
