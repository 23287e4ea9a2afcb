//! Attacks by whoever can put files into a state directory: each is named, and the operator goes on without it.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::json;

use crate::attack::{self, Content};
use crate::operator::{Operator, is_recommended, write_state};
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
