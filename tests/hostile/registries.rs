//! Attacks by a registry: on the commands that read graph-data from it.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::attack::{self, Content};
use crate::program::{run, shortened};
use crate::stranger::{End, Said, Stranger};

/// What a registry says to the paths that begin so, and what a command says of it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Attack {
    /// What somebody tries.
    title: String,
    /// By path, the longest that fits.
    answers: BTreeMap<String, Answer>,
    says: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Answer {
    #[serde(default = "ok")]
    status: u16,
    #[serde(default)]
    head: Vec<(String, String)>,
    body: Content,
    #[serde(default)]
    end: End,
}

fn ok() -> u16 {
    200
}

#[test]
fn registries_for_commands() {
    for (name, attack) in attack::all::<Attack>("registries") {
        let place = tempfile::tempdir().unwrap();
        let answers: Vec<(String, Said)> = attack
            .answers
            .iter()
            .map(|(path, answer)| {
                let Answer { status, head, body, end } = answer.clone();
                (path.clone(), Said { status, head, body: body.bytes().unwrap(), end })
            })
            .collect();
        let stranger = Stranger::start(move |asked| {
            let fitting = answers.iter().filter(|(path, _)| asked.starts_with(path.as_str()));
            let nothing = Said { status: 404, head: Vec::new(), body: b"{}".to_vec(), end: End::Whole };
            fitting.max_by_key(|(path, _)| path.len()).map_or(nothing, |(_, said)| said.clone())
        });
        let graph = format!("oci://{}/g:t", stranger.host);
        for command in [&["graph", "show", "c"][..], &["graph", "lint"]] {
            let ended = run(place.path(), &[command, &["--graph", &graph]].concat());
            let text = shortened(&ended.text);
            assert!(
                ended.code != 0 && ended.text.contains(&attack.says) && ended.text.contains(&stranger.host),
                "{name} ({}): {command:?} ends with {}: {text}",
                attack.title,
                ended.code
            );
        }
    }
}
