//! Attacks by a registry: on whoever reads graph-data, releases or lists of releases from it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use clearway_core::Digest;
use serde::Deserialize;

use crate::attack::{self, Answer};
use crate::operator::{Operator, ask_for, write_state};
use crate::program::{COMMAND, Service, run, shortened};
use crate::stranger::{End, Said, Stranger};

/// What a registry says to the paths that begin so, and what is said of it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Attack {
    /// What somebody tries.
    title: String,
    /// By path, the longest that fits.
    answers: BTreeMap<String, Answer>,
    says: String,
}

/// Where the manifest is asked for.
const MANIFESTS: &str = "/v2/g/manifests/";
/// Where the tags are.
const TAGS: &str = "/v2/g/tags/list";

impl Attack {
    fn start(&self) -> Stranger {
        let tags = Said::json(r#"{"name":"g","tags":["t"]}"#);
        let mut answers: Vec<(String, Said)> = vec![(TAGS.to_owned(), tags)];
        answers.extend(self.answers.iter().map(|(path, answer)| (path.clone(), answer.said())));
        Stranger::start(move |asked| {
            let fitting = answers.iter().filter(|(path, _)| asked.starts_with(path.as_str()));
            let nothing = Said { status: 404, head: Vec::new(), body: b"{}".to_vec(), end: End::Whole };
            fitting.max_by_key(|(path, _)| path.len()).map_or(nothing, |(_, said)| said.clone())
        })
    }

    /// The digest of what it says is the manifest.
    fn digest(&self) -> Digest {
        let manifest = self.answers.get(MANIFESTS).and_then(|answer| answer.body.bytes());
        Digest::sha256(&manifest.unwrap_or_default())
    }
}

/// A graph to which a registry adds releases.
fn graph_data(place: &Path) {
    for (path, text) in [("version", "1.2.0\n"), ("channels/c.yaml", "name: c\nversions: [1.0.0]\n")] {
        fs::create_dir_all(place.join("data").join(path).parent().unwrap()).unwrap();
        fs::write(place.join("data").join(path), text).unwrap();
    }
}

#[test]
fn registries_for_commands() {
    for (name, attack) in attack::all::<Attack>("registries") {
        let what = format!("{name} ({})", attack.title);
        let place = tempfile::tempdir().unwrap();
        graph_data(place.path());
        let stranger = attack.start();
        let (image, repository) = (format!("oci://{}/g:t", stranger.host), format!("{}/g", stranger.host));
        for command in [
            &["graph", "show", "c", "--graph", &image][..],
            &["graph", "lint", "--graph", &image],
            &["release", "verify", &image],
            &["release", "show", &image],
        ] {
            let ended = run(place.path(), command);
            let text = shortened(&ended.text);
            assert!(
                ended.code != 0 && ended.text.contains(&attack.says) && ended.text.contains(&stranger.host),
                "{what}: {command:?} ends with {}: {text}",
                ended.code
            );
        }
        // What is no release is left out by name, and what cannot be asked at all fails the command.
        let scraped = run(place.path(), &["graph", "show", "c", "--graph", "data", "--registry", &repository]);
        assert!(scraped.text.contains(&stranger.host), "{what}: {}", shortened(&scraped.text));
    }
}

#[test]
fn registries_for_the_service() {
    for (name, attack) in attack::all::<Attack>("registries") {
        let what = format!("{name} ({})", attack.title);
        let place = tempfile::tempdir().unwrap();
        let stranger = attack.start();
        let image = format!("oci://{}/g:t", stranger.host);
        let listen = ["--listen", "127.0.0.1:0", "--status-listen", "127.0.0.1:0", "--log", "info"];
        let mut service = Service::start(place.path(), &[&["serve", "--graph-data", &image][..], &listen].concat());
        let line = service.line_with(&[&attack.says]);
        assert!(line.contains(&stranger.host), "{what}: the source is named: {line}");
        service.end(COMMAND);
    }
}

/// A release that is asked for comes from a registry, before anybody has accepted it.
#[test]
fn registries_for_the_operator() {
    for (name, attack) in attack::all::<Attack>("registries") {
        let what = format!("{name} ({})", attack.title);
        let place = tempfile::tempdir().unwrap();
        let stranger = attack.start();
        let state = place.path().join("state");
        write_state(&state);
        ask_for(&state, &format!("{}/g@{}", stranger.host, attack.digest()));
        let mut operator = Operator::start(place.path(), &["--apply-updates"]);
        let status = operator.until(&what, |status| status.to_string().contains(&attack.says));
        assert!(status.to_string().contains(&stranger.host), "{what}: the source is named");
        operator.end();
    }
}
