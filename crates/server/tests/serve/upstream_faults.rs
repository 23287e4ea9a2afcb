//! Upstream services that are unwell: whatever they do, clients get an answer in time, the last good one or an error
//! that says why (U16, U22).

use std::fs;
use std::time::Duration;

use clearway_server::Config;
use clearway_sources::service::Service;
use serde_json::json;

use crate::client::Reply;
use crate::scripted::{Says, Scripted, graph};
use crate::site::{Site, clock, config};
use crate::upstream::mirror;

/// What can go wrong, and what a client is told of it when nothing older is known.
fn faults() -> Vec<(Says, &'static str)> {
    let page = "<!DOCTYPE html><html>maintenance</html>".to_owned();
    let said = json!({"kind": "failed_json_in", "value": "failed to deserialize JSON"}).to_string();
    let html = vec![("content-type", "text/html".to_owned())];
    vec![
        (Says::Away, "cannot be reached"),
        (Says::Endless, "the answer is larger than 1048576 bytes"),
        (Says::This("200 OK", html, page), "a web page"),
        (Says::This("200 OK", vec![], String::new()), "the answer is empty"),
        (Says::This("200 OK", vec![], "[]".to_owned()), "not a graph in JSON"),
        (Says::This("200 OK", vec![], "{\"nodes\":[".to_owned()), "cannot be read"),
        (Says::This("200 OK", vec![], "{\"nodes\":{}}".to_owned()), "cannot be read"),
        (Says::This("500 Internal Server Error", vec![], said), "answers 500: failed to deserialize JSON"),
        (Says::This("502 Bad Gateway", vec![], "<html>".to_owned()), "answers 502"),
        (Says::This("404 Not Found", vec![], String::new()), "answers 404"),
        (Says::This("204 No Content", vec![], String::new()), "answers 204"),
        (Says::This("304 Not Modified", vec![], String::new()), "answers 304"),
        (Says::This("302 Found", vec![("location", "/graph?channel=x".to_owned())], String::new()), "in a loop"),
        (
            Says::This("302 Found", vec![("location", "http://localhost:1/graph".to_owned())], String::new()),
            "redirects to another host, localhost",
        ),
    ]
}

/// What has no end, so that only a timeout makes one.
fn hangs() -> Vec<(Says, &'static str)> {
    let why = "no complete answer within 500ms";
    vec![(Says::Nothing, why), (Says::Half, why)]
}

const SHORT: Duration = Duration::from_millis(500);

#[tokio::test]
async fn where_nothing_is_known_the_client_is_told_what_is_wrong_upstream() {
    let upstream = Scripted::start(Says::Away).await;
    told(&upstream, upstream.service(), faults()).await;
    told(&upstream, upstream.service_within(SHORT), hangs()).await;
}

async fn told(upstream: &Scripted, service: Service, faults: Vec<(Says, &'static str)>) {
    let site = Site::begin(mirror(service, &[], config(None).clock));
    for (number, (says, why)) in faults.into_iter().enumerate() {
        upstream.says(says);
        let reply = site.graph(&format!("channel-{number}")).await;
        let body = reply.json();
        assert_eq!((reply.status, body["kind"].as_str()), (500, Some("failed_upstream_fetch")), "{body}");
        let value = body["value"].as_str().unwrap();
        assert!(value.starts_with("failed to fetch upstream graph: ") && value.contains(why), "{why}: {value}");
        assert_eq!(reply.header("cache-control"), Some("no-store"));
        // The next one is not kept waiting for the same.
        let before = upstream.count();
        assert_eq!(site.graph(&format!("channel-{number}")).await.body, reply.body, "{why}");
        assert_eq!(upstream.count(), before, "{why}");
    }
}

#[tokio::test]
async fn where_something_is_known_it_is_served_whatever_upstream_does() {
    clock!(time);
    let upstream = Scripted::start(Says::Graph(graph(&["1.0.0"]), None)).await;
    for (service, faults) in [(upstream.service(), faults()), (upstream.service_within(SHORT), hangs())] {
        upstream.says(Says::Graph(graph(&["1.0.0"]), None));
        let site = Site::begin(mirror(service, &[], time::now));
        // A service that is not waited for long may not make it at once.
        let good = until_it_has(&site, &["1.0.0"], time::pass).await;
        let mut age = 0;
        for (says, why) in faults {
            upstream.says(says);
            time::pass(90);
            age += 90;
            let reply = site.graph("c").await;
            assert_eq!((reply.status, reply.age()), (200, age), "{why}");
            assert!(reply.body == good.body, "{why}");
            assert_eq!(reply.header("clearway-revision"), good.header("clearway-revision"), "{why}");
        }
        upstream.says(Says::Graph(graph(&["2.0.0"]), None));
        time::pass(90);
        assert_eq!(until_it_has(&site, &["2.0.0"], time::pass).await.age(), 0);
    }
}

/// Asks until the answer has these versions; after each attempt that failed so much time passes that there is another.
async fn until_it_has(site: &Site, versions: &[&str], pass: fn(i64)) -> Reply {
    loop {
        let reply = site.graph("c").await;
        if reply.status == 200 && reply.versions() == versions {
            return reply;
        }
        pass(90);
    }
}

#[tokio::test]
async fn nobody_waits_long_for_an_upstream_that_hangs_when_there_is_an_older_answer() {
    clock!(time);
    let upstream = Scripted::start(Says::Graph(graph(&["1.0.0"]), None)).await;
    let mut configuration = mirror(upstream.service(), &[], time::now);
    configuration.mirror.as_mut().unwrap().patience = Duration::from_millis(50);
    let site = Site::begin(configuration);
    assert_eq!(site.graph("c").await.versions(), ["1.0.0"]);
    upstream.says(Says::Graph(graph(&["2.0.0"]), None));
    upstream.hold();
    time::pass(90);
    for _ in 0..5 {
        // The client would wait for minutes, and the mirror for an hour.
        let reply = site.graph("c").await;
        assert_eq!((reply.versions(), reply.age()), (vec!["1.0.0".to_owned()], 90));
    }
    assert_eq!(upstream.count(), 2, "one request is under way, and no more");
    // What comes at last is for whoever asks then.
    upstream.release();
    site.serves("c", &["2.0.0"]).await;
    assert_eq!(upstream.count(), 2);
}

#[tokio::test]
async fn what_is_unreadable_in_an_answer_never_opens_an_edge() {
    let upstream = Scripted::start(Says::Away).await;
    let site = Site::begin(mirror(upstream.service(), &[], config(None).clock));
    let node = |version: &str| json!({"version": version, "payload": "r.example.com/p@sha256:ab", "metadata": {}});
    let answer = json!({
        "version": 1,
        "future": {"field": true},
        "nodes": [node("1.0.0"), {"version": 5}, node("1.1.0"), node("1.2.0")],
        "edges": [[0, 2], [0, 1], [0, 99], "x", [2, 3]],
        "conditionalEdges": [{"edges": [{"from": "1.0.0", "to": "1.2.0"}], "risks": [{"name": 7}]}, 3],
    });
    upstream.says(Says::Graph(answer.to_string(), None));
    let served = site.graph("c").await;
    assert_eq!(served.versions(), ["1.0.0", "1.1.0", "1.2.0"]);
    assert_eq!(served.json()["edges"], json!([[0, 1], [1, 2]]), "no index has shifted");
    let conditional = served.json()["conditionalEdges"].clone();
    let edges: Vec<_> = conditional.as_array().unwrap().iter().map(|group| group["edges"].clone()).collect();
    assert_eq!(edges, [json!([{"from": "1.0.0", "to": "1.2.0"}])], "{conditional}");
}

#[tokio::test]
async fn rubbish_in_the_cache_is_passed_over_and_the_cache_does_not_grow_without_end() {
    let cache = tempfile::tempdir().unwrap();
    let upstream = Scripted::start(Says::Graph(graph(&["1.0.0"]), None)).await;
    let start = || {
        let configuration = mirror(upstream.service(), &["kept"], config(None).clock);
        Site::begin(Config { cache: Some(cache.path().to_owned()), ..configuration })
    };
    let site = start();
    site.serves("kept", &["1.0.0"]).await;
    let directory = cache.path().join("upstream");
    let files = || fs::read_dir(&directory).unwrap().count();
    assert_eq!(files(), 1);
    drop(site.running);

    // More than are kept, and the configured one is the last of them.
    let kept = fs::read_to_string(directory.join("kept_amd64.answer")).unwrap();
    for number in 0..1100 {
        let other = kept.replacen("kept", &format!("channel-{number}"), 1);
        fs::write(directory.join(format!("channel-{number}_amd64.answer")), other).unwrap();
    }
    upstream.says(Says::Away);
    let site = start();
    assert_eq!((files(), site.metric("clearway_upstream_answers")), (1024, Some(1024)));
    assert_eq!((site.graph("kept").await.versions(), site.ready().await), (vec!["1.0.0".to_owned()], 200));
    // Somebody asks for any channel there may be.
    upstream.says(Says::Graph(graph(&["2.0.0"]), None));
    for number in 0..5 {
        assert_eq!(site.graph(&format!("new-{number}")).await.versions(), ["2.0.0"]);
        assert_eq!((files(), site.metric("clearway_upstream_answers")), (1024, Some(1024)), "one for another");
    }
    drop(site.running);

    for file in fs::read_dir(&directory).unwrap() {
        fs::write(file.unwrap().path(), "{\"channel\":\"kept\",\"arch\":\"amd64\",\"confirmed\":1}\nrubbish").unwrap();
    }
    upstream.says(Says::Away);
    let site = start();
    assert_eq!((site.graph("kept").await.status, site.ready().await), (500, 503));
}

#[tokio::test]
async fn odd_files_in_the_cache_stop_nothing_and_touch_nothing_else() {
    let place = tempfile::tempdir().unwrap();
    let (directory, victim) = (place.path().join("cache/upstream"), place.path().join("victim_amd64.answer"));
    fs::create_dir_all(&directory).unwrap();
    fs::write(&victim, "x").unwrap();
    for pipe in ["x.answer", "pipe_amd64.answer"] {
        assert!(std::process::Command::new("mkfifo").arg(directory.join(pipe)).status().unwrap().success());
    }
    let named = place.path().join("victim");
    let content = |channel: &str, confirmed: i64| {
        let about = json!({"channel": channel, "arch": "amd64", "confirmed": confirmed});
        format!("{about}\n{}", graph(&["1.0.0"]))
    };
    fs::write(directory.join("x_amd64.answer"), content(&named.display().to_string(), 1)).unwrap();
    fs::write(directory.join("later_amd64.answer"), content("later", 4_102_444_800)).unwrap();
    clock!(time);
    let upstream = Scripted::start(Says::Away).await;
    let configuration = mirror(upstream.service(), &[], time::now);
    let site = Site::begin(Config { cache: Some(place.path().join("cache")), ..configuration });
    assert!(victim.exists());
    assert_eq!((site.graph("x").await.status, site.graph("pipe").await.status), (500, 500));
    // A date to come does not make it newer than the start of the service.
    time::pass(100);
    let later = site.graph("later").await;
    assert_eq!((later.versions(), later.age()), (vec!["1.0.0".to_owned()], 100));
}
