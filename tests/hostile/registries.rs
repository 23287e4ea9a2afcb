//! Attacks by a registry: on whoever reads graph-data, releases or lists of releases from it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use clearway_core::Digest;
use serde::Deserialize;

use crate::archives;
use crate::attack::{self, Answer};
use crate::evidence;
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
    /// What is said of an image.
    says: String,
    /// What is said of the list of its tags.
    scraped: Option<String>,
}

/// Where the manifest is asked for.
const MANIFESTS: &str = "/v2/g/manifests/";
/// Where the tags are.
const TAGS: &str = "/v2/g/tags/list";

impl Attack {
    /// Whether it is about images, and not only about the list of them.
    fn is_about_images(&self) -> bool {
        self.answers.keys().any(|path| path != TAGS)
    }

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

/// The attacks on whoever reads an image.
fn of_images() -> impl Iterator<Item = (String, Attack)> {
    attack::all::<Attack>("registries").into_iter().filter(|(_, attack)| attack.is_about_images())
}

fn drives_no_terminal(what: &str, text: &str) {
    let hostile = |letter: &char| matches!(letter, '\u{1b}' | '\u{9b}' | '\u{202e}');
    assert_eq!(text.chars().find(hostile), None, "{what}: {}", shortened(text));
}

#[test]
fn registries_for_commands() {
    for (name, attack) in attack::all::<Attack>("registries") {
        let what = format!("{name} ({})", attack.title);
        let place = tempfile::tempdir().unwrap();
        graph_data(place.path());
        evidence::write(&place.path().join("evidence"));
        let stranger = attack.start();
        let (image, repository) = (format!("oci://{}/g:t", stranger.host), format!("{}/g", stranger.host));
        for command in [
            &["graph", "show", "c", "--graph", &image][..],
            &["graph", "lint", "--graph", &image],
            &["release", "verify", &image],
            &["release", "show", &image],
            &["catalog", "list", "--catalog", &image],
            &["assess", "--all-products", "--snapshot", "evidence", "--as-of", "snapshot", "--catalog", &image],
        ] {
            let ended = run(place.path(), command);
            let text = shortened(&ended.text);
            assert!(
                ended.code != 0 && ended.text.contains(&attack.says) && ended.text.contains(&stranger.host),
                "{what}: {command:?} ends with {}: {text}",
                ended.code
            );
            drives_no_terminal(&what, &ended.text);
        }
        // What is no release is left out by name, and what cannot be asked at all fails the command.
        let scraped = run(place.path(), &["graph", "show", "c", "--graph", "data", "--registry", &repository]);
        assert!(scraped.text.contains(&stranger.host), "{what}: {}", shortened(&scraped.text));
        drives_no_terminal(&what, &scraped.text);
        if let Some(words) = &attack.scraped {
            assert!(scraped.code != 0 && scraped.text.contains(words), "{what}: {}", shortened(&scraped.text));
        }
    }
}

#[test]
fn registries_for_the_service() {
    for (name, attack) in of_images() {
        let what = format!("{name} ({})", attack.title);
        let place = tempfile::tempdir().unwrap();
        let stranger = attack.start();
        let image = format!("oci://{}/g:t", stranger.host);
        let listen = ["--listen", "127.0.0.1:0", "--status-listen", "127.0.0.1:0", "--log", "info"];
        let mut service = Service::start(place.path(), &[&["serve", "--graph-data", &image][..], &listen].concat());
        let line = service.line_with(&[&attack.says]);
        assert!(line.contains(&stranger.host), "{what}: the source is named: {line}");
        drives_no_terminal(&what, &service.log());
        service.end(COMMAND);
    }
}

/// The releases of a registry are added to graph-data that is served all the same.
#[test]
fn lists_of_tags_for_the_service() {
    let attacks = attack::all::<Attack>("registries").into_iter();
    for (name, attack) in attacks.filter(|(_, attack)| attack.answers.contains_key(TAGS)) {
        let what = format!("{name} ({})", attack.title);
        let place = tempfile::tempdir().unwrap();
        graph_data(place.path());
        let stranger = attack.start();
        let repository = format!("{}/g", stranger.host);
        let listen = ["--listen", "127.0.0.1:0", "--status-listen", "127.0.0.1:0", "--log", "info"];
        let serve = ["serve", "--graph-data", "data", "--registry", &repository];
        let mut service = Service::start(place.path(), &[&serve[..], &listen].concat());
        let line = service.line_with(&[attack.scraped.as_deref().unwrap_or(&attack.says)]);
        assert!(line.contains(&stranger.host), "{what}: the source is named: {line}");
        drives_no_terminal(&what, &service.log());
        service.end(COMMAND);
    }
}

/// A release that is asked for comes from a registry, before anybody has accepted it.
#[test]
fn registries_for_the_operator() {
    for (name, attack) in of_images() {
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

/// A layer that is small, and what is in it is larger than any file may be.
#[test]
fn a_layer_that_unpacks_to_more_than_is_read() {
    let place = tempfile::tempdir().unwrap();
    let layer = archives::bomb("var/lib/graph-data/channels/c.yaml", 70 << 20);
    let (digest, size) = (Digest::sha256(&layer), layer.len());
    let config = r#"{"mediaType":"a/b","digest":"sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a","size":2}"#;
    let media_type = "application/vnd.oci.image.manifest.v1+json";
    let layers =
        format!(r#"[{{"mediaType":"application/vnd.oci.image.layer.v1.tar+gzip","digest":"{digest}","size":{size}}}]"#);
    let manifest = format!(r#"{{"schemaVersion":2,"mediaType":"{media_type}","config":{config},"layers":{layers}}}"#);
    let stranger = Stranger::start(move |asked| {
        let is_manifest = asked.starts_with(MANIFESTS);
        let body = match asked {
            _ if is_manifest => manifest.clone().into_bytes(),
            _ if asked.contains(digest.hex()) => layer.clone(),
            _ => b"{}".to_vec(),
        };
        let content_type = if is_manifest { media_type } else { "application/octet-stream" };
        let head = vec![("content-type".to_owned(), content_type.to_owned())];
        Said { status: 200, head, body, end: End::Whole }
    });
    let image = format!("oci://{}/g:t", stranger.host);
    let ended = run(place.path(), &["graph", "show", "c", "--graph", &image]);
    let text = shortened(&ended.text);
    assert!(ended.code != 0 && ended.text.contains("larger than"), "ends with {}: {text}", ended.code);
}

/// Signatures that are large, so that all of them together take much memory. Somebody who wants a signature gets none.
#[test]
fn signatures_for_commands() {
    let place = tempfile::tempdir().unwrap();
    let key = rcgen::KeyPair::generate().unwrap();
    fs::write(place.path().join("key.pub"), key.public_key_pem()).unwrap();
    let text = vec![b' '; 4 << 20];
    let layer = |size: usize| {
        let annotation = r#"{"dev.cosignproject.cosign/signature":"AAAA"}"#;
        let digest = Digest::sha256(&text);
        format!(r#"{{"mediaType":"a/b","digest":"{digest}","size":{size},"annotations":{annotation}}}"#)
    };
    let image = |layers: &[String]| {
        let config = r#"{"mediaType":"a/b","digest":"sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a","size":2}"#;
        let media_type = "application/vnd.oci.image.manifest.v1+json";
        format!(r#"{{"schemaVersion":2,"mediaType":"{media_type}","config":{config},"layers":[{}]}}"#, layers.join(","))
    };
    // What they say their size is, or less than that.
    for (size, says) in [(text.len(), "it is not signed"), (100, "larger than 65536 bytes")] {
        let (signatures, signed, blob) = (image(&vec![layer(size); 64]), image(&[]), text.clone());
        let stranger = Stranger::start(move |asked| {
            let manifest = |text: &str| {
                let head = vec![("content-type".to_owned(), "application/vnd.oci.image.manifest.v1+json".to_owned())];
                Said { status: 200, head, body: text.as_bytes().to_vec(), end: End::Whole }
            };
            match asked {
                _ if asked.contains("/blobs/") => {
                    Said { status: 200, head: Vec::new(), body: blob.clone(), end: End::Whole }
                }
                _ if asked.contains(".sig") || asked.contains(Digest::sha256(signatures.as_bytes()).hex()) => {
                    manifest(&signatures)
                }
                _ => manifest(&signed),
            }
        });
        let image = format!("oci://{}/g:t", stranger.host);
        for command in [
            &["graph", "show", "c", "--graph", &image, "--graph-key", "key.pub"][..],
            &["catalog", "list", "--catalog", &image, "--graph-key", "key.pub"],
        ] {
            let ended = run(place.path(), command);
            let shown = shortened(&ended.text);
            assert!(ended.code != 0 && ended.text.contains(says), "{command:?} ends with {}: {shown}", ended.code);
        }
    }
}
