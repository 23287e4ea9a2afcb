//! Redirects to another host: whoever is asked may not choose who is asked next, unless the user allows it.

use std::fs;

use serde_json::json;

use crate::program::{COMMAND, Service, get, run, shortened};
use crate::stranger::{Said, Stranger};

/// A service that has moved to another host, and the one that it has moved to.
fn moved() -> (Stranger, Stranger) {
    let node = |version: &str| json!({"version": version, "payload": format!("r.example.com/p:{version}")});
    let answer = json!({"version": 1, "nodes": [node("1.0.0"), node("1.1.0")], "edges": [[0, 1]]}).to_string();
    let there = Stranger::start(move |_| Said::json(answer.clone()));
    let target = there.other_host();
    let here = Stranger::start(move |asked| {
        let path = asked.split(' ').next().unwrap_or_default();
        let location = ("location".to_owned(), format!("http://{target}{path}"));
        Said { status: 302, head: vec![location], ..Said::json("") }
    });
    (here, there)
}

const ALLOW: [&str; 2] = ["--allow-redirects-to", "localhost"];

#[test]
fn redirects_for_commands() {
    let place = tempfile::tempdir().unwrap();
    let (here, there) = moved();
    let url = format!("http://{}/api/upgrades_info", here.host);
    let show = ["graph", "show", "c", "--arch", "amd64", "--graph", &url];
    let refused = run(place.path(), &show);
    let words = "redirects to another host, localhost; allow it with --allow-redirects-to localhost";
    assert!(refused.code != 0 && refused.text.contains(words), "{}", shortened(&refused.text));
    assert_eq!(there.asked(), [""; 0]);
    let allowed = run(place.path(), &[&show[..], &ALLOW].concat());
    assert!(allowed.code == 0 && allowed.text.contains("1.1.0"), "{}", shortened(&allowed.text));
    assert_eq!(there.asked().len(), 1);
    // A Prometheus has no such option, so nobody is told of one.
    fs::write(place.path().join("graph.json"), RULE).unwrap();
    let store = format!("http://{}", here.host);
    let of_cluster = ["assess", "--graph", "graph.json", "--version", "1.0.0", "--prometheus", &store];
    let asked = run(place.path(), &of_cluster);
    let text = shortened(&asked.text);
    assert!(asked.code != 0 && asked.text.contains("redirects to another host, localhost"), "{text}");
    assert!(!asked.text.contains("--allow") && there.asked().len() == 1, "{text}");
}

/// A graph with a rule about metrics.
const RULE: &str = r#"{"nodes":[{"version":"1.0.0","payload":"a"},{"version":"1.1.0","payload":"b"}],"edges":[],"conditionalEdges":[
{"edges":[{"from":"1.0.0","to":"1.1.0"}],"risks":[{"name":"Watched","url":"https://example.com","message":"m",
  "matchingRules":[{"type":"PromQL","promql":{"promql":"max(broken)"}}]}]}]}"#;

#[test]
fn redirects_for_a_mirror() {
    let place = tempfile::tempdir().unwrap();
    let (here, there) = moved();
    let upstream = format!("http://{}/api/upgrades_info", here.host);
    let listen = ["--listen", "127.0.0.1:0", "--status-listen", "127.0.0.1:0", "--log", "info"];
    let serve = [&["serve", "--upstream", &upstream, "--mirror", "c/amd64"][..], &listen].concat();
    let answer = |service: &mut Service| {
        let line = service.line_with(&["serving on http://127.0.0.1:"]);
        let address = line.split("http://").nth(1).unwrap().split('/').next().unwrap();
        // A client that asks waits for the first answer.
        get(address, "/api/upgrades_info/graph?channel=c&arch=amd64")
    };
    let mut mirror = Service::start(place.path(), &serve);
    let refused = answer(&mut mirror);
    assert!(!refused.contains("1.1.0"), "{refused}");
    let words = "redirects to another host, localhost; allow it with --allow-redirects-to localhost";
    // It may be said before or after.
    if !mirror.log().contains(words) {
        mirror.line_with(&[words]);
    }
    assert_eq!(there.asked(), [""; 0]);
    mirror.end(COMMAND);
    let mut mirror = Service::start(place.path(), &[&serve[..], &ALLOW].concat());
    let allowed = answer(&mut mirror);
    assert!(allowed.contains("1.1.0"), "{allowed}");
    assert!(!there.asked().is_empty());
    mirror.end(COMMAND);
}
