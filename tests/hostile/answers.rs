//! Attacks by an update service: on whoever asks it, the operator, a mirror of it, and the commands.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use clearway_core::Digest;
use clearway_testbed::IN_TIME;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::attack::{self, Content};
use crate::evidence::advice as advice_of;
use crate::metrics;
use crate::operator::{Operator, advice, is_recommended, mark_deaths, message, reason, remove_lease};
use crate::program::{COMMAND, Ended, Service, get, run, shortened};
use crate::stranger::{End, Said, Stranger};

/// What a service answers, and what becomes of it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Attack {
    /// What somebody tries.
    title: String,
    #[serde(default = "attack::ok")]
    status: u16,
    /// Lines of the head, in which `{elsewhere}` is another host.
    #[serde(default)]
    head: Vec<(String, String)>,
    answer: Content,
    #[serde(default)]
    end: End,
    /// The reason of `RetrievedUpdates` when the answer is refused.
    refused: Option<String>,
    /// What the commands say when it is.
    says: Option<String>,
    /// The answer is taken, and the update to 1.1.0 is not judged.
    #[serde(default)]
    unknown: bool,
}

impl Attack {
    fn said(&self, elsewhere: &Stranger) -> Said {
        let mut said = Said::json(self.answer.bytes().unwrap());
        (said.status, said.end) = (self.status, self.end);
        said.head.extend(attack::head(&self.head, &elsewhere.other_host()));
        said
    }
}

/// The update to 1.1.0 is open, that to 1.2.0 has a rule.
pub(crate) fn good() -> Value {
    let node = |version: &str| json!({"version": version, "payload": format!("r.example.com/p:{version}")});
    let rules = json!([{"type": "PromQL", "promql": {"promql": "max(broken)"}}]);
    let risk =
        json!({"name": "Watched", "url": "https://example.com", "message": "It breaks.", "matchingRules": rules});
    json!({
        "version": 1,
        "nodes": [node("1.0.0"), node("1.1.0"), node("1.2.0")],
        "edges": [[0, 1]],
        "conditionalEdges": [{"edges": [{"from": "1.0.0", "to": "1.2.0"}], "risks": [risk]}],
    })
}

fn both(status: &Value) -> bool {
    is_recommended(status, "1.1.0") && is_recommended(status, "1.2.0")
}

/// What is secret in the address of a service.
pub(crate) const USER: &str = "someuser";
pub(crate) const PASSWORD: &str = "somepassword";
pub(crate) const TOKEN: &str = "sometoken";

/// Fails if a line of a text has what is secret in an address.
pub(crate) fn shows_no_credentials(what: &str, text: &str) {
    let is_secret = |line: &&str| [USER, PASSWORD, TOKEN].iter().any(|secret| line.contains(secret));
    assert_eq!(text.lines().find(is_secret), None, "{what}");
}

/// Waits until the answer of a service is so.
fn until_served(address: &str, path: &str, what: &str, holds: impl Fn(&str) -> bool) {
    let begin = Instant::now();
    loop {
        let answer = get(address, path);
        if holds(&answer) {
            return;
        }
        assert!(begin.elapsed() < IN_TIME, "{what}: {}", shortened(&answer));
        thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn answers_for_the_operator() {
    let place = tempfile::tempdir().unwrap();
    let stranger = Stranger::start(|_| Said::json(good().to_string()));
    let elsewhere = Stranger::start(|_| Said::json(good().to_string()));
    // What is secret in the address must not be anywhere, whatever fails.
    let upstream = format!("http://{USER}:{PASSWORD}@{}/api/upgrades_info?token={TOKEN}", stranger.host);
    let mut operator = Operator::start(place.path(), &["--upstream", &upstream]);
    let line = operator.line_with("probes and metrics on");
    let address = line.split("http://").nth(1).unwrap().split('/').next().unwrap().to_owned();
    operator.until("both updates are recommended", both);
    for (name, attack) in attack::all::<Attack>("answers") {
        let what = format!("{name} ({})", attack.title);
        let said = attack.said(&elsewhere);
        stranger.says(move |_| said.clone());
        if attack.unknown {
            operator.until(&what, |status| advice(status, "1.1.0").is_some_and(|(status, _)| status == "Unknown"));
            operator.until(&format!("{what}: the other update"), |status| is_recommended(status, "1.2.0"));
        } else {
            let words = attack.refused.as_deref().unwrap();
            let status = operator.until(&what, |status| reason(status, "RetrievedUpdates") == words);
            assert!(both(&status), "{what}: what was good stays");
            let (said, says) = (message(&status, "RetrievedUpdates"), attack.says.as_deref().unwrap());
            assert!(said.contains(says), "{what}: {said}");
            assert!(said.contains(&stranger.host), "{what}: {said}");
            // The operator has no option that allows another host.
            assert!(!said.contains("--"), "{what}: {said}");
        }
        let (status, metrics) = (operator.status().to_string(), get(&address, "/metrics"));
        assert!(metrics.contains("cluster_version_available_updates"), "{metrics}");
        shows_no_credentials(&format!("{what}: status"), &status);
        shows_no_credentials(&format!("{what}: metrics"), &metrics);
        stranger.says(|_| Said::json(good().to_string()));
        operator.until(&format!("after {what}, both updates are recommended"), |status| {
            both(status) && reason(status, "RetrievedUpdates") != attack.refused.as_deref().unwrap_or("-")
        });
    }
    shows_no_credentials("log", &operator.log());
    assert_eq!(elsewhere.asked(), [""; 0], "a redirect is followed to another host");
    operator.end();
}

#[test]
fn answers_for_a_mirror_and_commands() {
    let place = tempfile::tempdir().unwrap();
    let stranger = Stranger::start(|_| Said::json(good().to_string()));
    let elsewhere = Stranger::start(|_| Said::json(good().to_string()));
    // What is secret in the address must not be anywhere, whatever fails.
    let upstream = format!("http://{USER}:{PASSWORD}@{}/api/upgrades_info?token={TOKEN}", stranger.host);
    fs::write(place.path().join("feed.prom"), "broken 0\n").unwrap();
    let listen = ["--listen", "127.0.0.1:0", "--status-listen", "127.0.0.1:0", "--refresh", "1s", "--log", "info"];
    let mut mirror = Service::start(
        place.path(),
        &[&["serve", "--upstream", &upstream, "--mirror", "c/amd64", "--log-format", "json"][..], &listen].concat(),
    );
    let line = mirror.line_with(&["serving on http://127.0.0.1:"]);
    let address = line.split("http://").nth(1).unwrap().split('/').next().unwrap();
    let mirrored = format!("http://{address}/api/upgrades_info");
    let line = mirror.line_with(&["probes and metrics on"]);
    let status_address = line.split("http://").nth(1).unwrap().split('/').next().unwrap();
    let path = "/api/upgrades_info/graph?channel=c&arch=amd64";
    let show = |graph: &str| run(place.path(), &["graph", "show", "c", "--arch", "amd64", "--graph", graph]);
    let assess = |graph: &str| {
        let of_cluster = ["assess", "--version", "1.0.0", "--channel", "c", "--arch", "amd64", "--graph", graph];
        let of_series = ["--series", "feed.prom", "--as-of", "2026-11-16T00:00:00Z", "-o", "json"];
        run(place.path(), &[&of_cluster[..], &of_series].concat())
    };
    // A risk that cannot be read gets another name.
    let is_hostile = |answer: &str| answer.contains("Hostile") || answer.contains("UnreadableRisk");
    let is_unknown = |what: &str, assessed: &Ended| {
        let status = |version: &str| advice_of(assessed, version).map(|(status, _)| status);
        let text = shortened(&assessed.text);
        assert_eq!(status("1.1.0").as_deref(), Some("Unknown"), "{what}: {text}");
        assert_eq!(status("1.2.0").as_deref(), Some("True"), "{what}: {text}");
    };
    // The mirror has the good answer before the first attack: a client that asks waits for it.
    let good_before = show(&mirrored);
    assert!(good_before.text.contains("1.1.0"), "{}", shortened(&good_before.text));
    for (name, attack) in attack::all::<Attack>("answers") {
        let what = format!("{name} ({})", attack.title);
        let said = attack.said(&elsewhere);
        mirror.forget();
        stranger.says(move |_| said.clone());
        let url = format!("{upstream}&channel=c&arch=amd64");
        let (shown, assessed) = (show(&url), assess(&url));
        for ended in [&shown, &assessed] {
            shows_no_credentials(&what, &ended.text);
            let text = shortened(&ended.text);
            match &attack.says {
                Some(words) => assert!(ended.code != 0 && ended.text.contains(words), "{what}: {text}"),
                None => assert!(ended.text.contains("1.2.0"), "{what}: {text}"),
            }
            assert!(!ended.text.contains('\u{1b}'), "{what}: {text}");
        }
        if attack.unknown {
            is_unknown(&what, &assessed);
            until_served(address, path, &format!("{what}: the mirror has it"), is_hostile);
            is_unknown(&format!("{what} from a mirror"), &assess(&mirrored));
        }
        // A client for whom there is no answer yet is told that upstream failed, and not with which password it was asked.
        let other = get(address, &format!("/api/upgrades_info/graph?channel={name}&arch=amd64"));
        assert_eq!(other.starts_with("HTTP/1.1 200"), attack.unknown, "{what}: {}", shortened(&other));
        shows_no_credentials(&format!("{what}: the answer to clients"), &other);
        shows_no_credentials(&format!("{what}: metrics"), &get(status_address, "/metrics"));
        if let Some(words) = &attack.says {
            let line = mirror.line_with(&[words]);
            assert!(line.contains("c/amd64") || line.contains("channel"), "{what}: the source is named: {line}");
            let kept = show(&mirrored);
            assert!(
                kept.code == 0 && kept.text.contains("1.1.0"),
                "{what}: what was good stays: {}",
                shortened(&kept.text)
            );
        }
        stranger.says(|_| Said::json(good().to_string()));
        until_served(address, path, &format!("after {what}, the good answer"), |answer| !is_hostile(answer));
    }
    shows_no_credentials("log", &mirror.log());
    assert_eq!(elsewhere.asked(), [""; 0], "a redirect is followed to another host");
    mirror.end(COMMAND);
}

/// The good answer with another rule, which is asked anew.
fn another() -> String {
    let mut answer = good();
    answer["conditionalEdges"][0]["risks"][0]["matchingRules"][0]["promql"]["promql"] = "min(broken)".into();
    answer.to_string()
}

/// A Prometheus that never ends its answers, so that no assessment ends.
fn stalled(_: &str) -> Said {
    Said { end: End::Stalled, ..Said::json("") }
}

/// An answer that ends the process whenever it is assessed would end it after each restart: after two ends it is set aside.
#[test]
fn answers_that_end_the_process() {
    let place = tempfile::tempdir().unwrap();
    let stranger = Stranger::start(|_| Said::json(good().to_string()));
    let prometheus = Stranger::start(metrics::good);
    let (upstream, store) = (format!("http://{}/api", stranger.host), format!("http://{}", prometheus.host));
    // A process that loses its lease withdraws its notes, however slow the machine is: the lease does not run out.
    let options = ["--upstream", &upstream, "--prometheus", &store, "--lease-duration", "24h"];
    let start = || Operator::start(place.path(), &options);
    let mut operator = start();
    operator.until("both updates are recommended", both);
    operator.until_cached();
    let (before, digest) = (Digest::sha256(good().to_string().as_bytes()), Digest::sha256(another().as_bytes()));
    prometheus.says(stalled);
    stranger.says(|_| Said::json(another()));
    for processes in 1..=2 {
        operator.until_assessing(&digest, processes, &before);
        operator.kill();
        remove_lease(place.path());
        operator = start();
    }
    prometheus.says(metrics::good);
    let set_aside = |status: &Value| reason(status, "RetrievedUpdates") == "RevisionSetAside";
    let status = operator.until("it is set aside", set_aside);
    assert!(both(&status), "what was good stays");
    assert!(message(&status, "RetrievedUpdates").contains(&digest.to_string()), "the answer is named: {status}");
    stranger.says(|_| Said::json(good().to_string()));
    assert!(both(&operator.until("the next answer is taken up", |status| !set_aside(status))));
    operator.end();
}

/// A process that is asked to stop was not ended by what it assessed, however often that happens.
#[test]
fn answers_whose_assessment_is_interrupted() {
    let place = tempfile::tempdir().unwrap();
    let stranger = Stranger::start(|_| Said::json(another()));
    let prometheus = Stranger::start(stalled);
    let (upstream, store) = (format!("http://{}/api", stranger.host), format!("http://{}", prometheus.host));
    let start = || Operator::start(place.path(), &["--upstream", &upstream, "--prometheus", &store]);
    let (none, digest) = (Digest::sha256(b""), Digest::sha256(another().as_bytes()));
    for _ in 0..3 {
        let mut operator = start();
        operator.until_assessing(&digest, 1, &none);
        operator.end();
    }
    prometheus.says(metrics::good);
    let mut operator = start();
    let status = operator.until("both updates are recommended", both);
    assert_ne!(reason(&status, "RetrievedUpdates"), "RevisionSetAside");
    operator.end();
}

/// A publisher can make every answer another one: after two ends the next new answer waits, whichever it is.
#[test]
fn answers_that_differ_and_end_the_process() {
    let place = tempfile::tempdir().unwrap();
    let stranger = Stranger::start(|_| Said::json(good().to_string()));
    let upstream = format!("http://{}/api", stranger.host);
    let mut operator = Operator::start(place.path(), &["--upstream", &upstream]);
    operator.until("both updates are recommended", both);
    operator.end();
    mark_deaths(place.path(), &[Digest::sha256(b"one"), Digest::sha256(b"other")]);
    let mut another = good();
    another["conditionalEdges"][0]["risks"][0]["name"] = "Another".into();
    stranger.says(move |_| Said::json(another.to_string()));
    let mut operator = Operator::start(place.path(), &["--upstream", &upstream]);
    let status = operator.until("it waits", |status| reason(status, "RetrievedUpdates") == "RevisionSetAside");
    assert!(both(&status), "what was good stays");
    assert!(status.to_string().contains("the operator ended 2 times while assessing new answers"), "{status}");
    operator.end();
}
