//! Clients that take their time: each is cut when it is due, and no sooner, and keeps nobody else waiting (U16).
//!
//! A busy machine makes everybody slow: what a short timeout cuts here never has to succeed, and where a client must not
//! be cut, an attempt in which it was itself too slow is made again.

use std::time::{Duration, Instant};

use clearway_server::Config;
use clearway_testbed::wait_until;
use tokio::time::{interval, timeout};

use crate::client::{Client, DEADLINE, request};
use crate::site::{CANDIDATE, Data, PREFIX, Site};

const SHORT: Duration = Duration::from_millis(400);
/// More than the system takes on behalf of a client that reads nothing.
const LARGE: usize = 8 << 20;

fn hurried(data: &Data) -> Config {
    let mut config = data.config();
    config.listen.read_timeout = SHORT;
    config.listen.write_timeout = SHORT;
    config
}

fn large() -> (Data, String) {
    let data = Data::of(&["1.0.0"]);
    data.write("signatures/sha256/ab/signature-1", vec![0; LARGE]);
    (data, format!("{PREFIX}/signatures/sha256=ab/signature-1"))
}

#[tokio::test]
async fn a_request_that_trickles_in_is_cut() {
    let data = Data::of(&["1.0.0"]);
    let site = Site::start(hurried(&data)).await;
    let begin = Instant::now();
    let mut client = Client::connect(site.address).await;
    let trickle = async {
        let mut pace = interval(Duration::from_millis(20));
        // Without an end, unless the server makes one.
        for byte in b"GET / HTTP/1.1\r\nX-Slow: ".iter().chain(std::iter::repeat(&b'x')) {
            pace.tick().await;
            if client.write(&[*byte]).await.is_err() {
                break;
            }
        }
    };
    timeout(DEADLINE, trickle).await.expect("it is cut");
    assert!(begin.elapsed() >= SHORT, "no sooner than configured");
    site.connections(0).await;
}

/// Asks so often over one connection, and says when it began to be idle, at the earliest; nothing if it was cut before
/// that, because it did not come to asking in time.
async fn ask_and_rest(site: &Site, asks: usize) -> Option<(Client, Instant)> {
    let mut begin = Instant::now();
    let mut client = Client::connect(site.address).await;
    for _ in 0..asks {
        begin = Instant::now();
        let reply = client.ask("GET", &format!("{PREFIX}/graph?channel=c"), &[]).await.ok()?;
        assert_eq!(reply.versions(), ["1.0.0"]);
    }
    Some((client, begin))
}

#[tokio::test]
async fn idle_connections_are_cut_before_and_after_a_request() {
    let data = Data::of(&["1.0.0"]);
    let site = Site::start(hurried(&data)).await;
    for asks in [0, 1, 3] {
        let (mut client, begin) = loop {
            if let Some(resting) = ask_and_rest(&site, asks).await {
                break resting;
            }
        };
        client.ended().await;
        assert!(begin.elapsed() >= SHORT, "{asks}: no sooner than configured: {:?}", begin.elapsed());
    }
    site.connections(0).await;
}

#[tokio::test]
async fn others_are_served_while_some_have_stopped_reading() {
    let (data, target) = large();
    let site = Site::start(data.config()).await;
    let mut stalled = Vec::new();
    for _ in 0..4 {
        let mut client = Client::connect_narrow(site.address).await;
        client.write(request("GET", &target, &[]).as_bytes()).await.unwrap();
        assert_eq!(client.read_head().await.unwrap().0, 200);
        stalled.push(client);
    }
    site.connections(4).await;
    assert_eq!(site.graph("c").await.versions(), ["1.0.0"]);
    site.connections(4).await;
}

#[tokio::test]
async fn who_stops_reading_is_cut() {
    let (data, target) = large();
    let mut config = data.config();
    config.listen.write_timeout = SHORT;
    let site = Site::start(config).await;
    let mut client = Client::connect_narrow(site.address).await;
    client.write(request("GET", &target, &[]).as_bytes()).await.unwrap();
    let answered = || site.running.service().metrics().text().contains("clearway_http_requests_total{");
    wait_until(DEADLINE, "the request is answered", async || answered()).await.unwrap();
    site.connections(0).await;
    assert!(client.ended().await < LARGE);
}

#[tokio::test]
async fn who_asks_without_end_and_never_reads_is_cut() {
    let data = Data::example();
    let site = Site::start(hurried(&data)).await;
    let mut client = Client::connect_narrow(site.address).await;
    let many = request("GET", CANDIDATE, &[]).repeat(100);
    let flood = async { while client.write(many.as_bytes()).await.is_ok() {} };
    timeout(DEADLINE, flood).await.expect("it is cut");
    site.connections(0).await;
}

/// Reads all of a large answer with pauses, over more time than a client may read nothing. False if it was cut although
/// it went on in time; nothing if this attempt proves nothing, because it once did not.
async fn read_slowly(site: &Site, target: &str) -> Option<bool> {
    const PAUSE: Duration = Duration::from_millis(30);
    let mut client = Client::connect_narrow(site.address).await;
    client.write(request("GET", target, &[]).as_bytes()).await.ok()?;
    let begin = Instant::now();
    let (mut last, mut longest) = (begin, Duration::ZERO);
    client.read_head().await.ok()?;
    let mut left = LARGE;
    let mut pace = interval(PAUSE);
    pace.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    while left > 0 {
        pace.tick().await;
        let chunk = left.min(512 << 10);
        let is_cut = client.take(chunk).await.is_err();
        longest = longest.max(last.elapsed());
        last = Instant::now();
        if is_cut {
            return (longest < SHORT / 2).then_some(false);
        }
        left -= chunk;
    }
    assert!(begin.elapsed() > SHORT, "it took longer than a client may take no byte");
    Some(true)
}

#[tokio::test]
async fn who_reads_slowly_but_reads_gets_all_of_it() {
    let (data, target) = large();
    let mut config = data.config();
    config.listen.write_timeout = SHORT;
    let site = Site::start(config).await;
    let whole = loop {
        if let Some(whole) = read_slowly(&site, &target).await {
            break whole;
        }
    };
    assert!(whole, "it was cut");
}

#[tokio::test]
async fn one_more_than_the_limit_waits_and_is_served_when_another_ends() {
    let data = Data::of(&["1.0.0"]);
    let mut config = data.config();
    config.listen.connections = 3;
    let site = Site::start(config).await;
    let target = format!("{PREFIX}/graph?channel=c");
    let mut within = Vec::new();
    for _ in 0..3 {
        let mut client = Client::connect(site.address).await;
        client.ask("GET", &target, &[]).await.unwrap();
        within.push(client);
    }
    let mut waiting = Vec::new();
    for _ in 0..3 {
        let mut client = Client::connect(site.address).await;
        client.write(request("GET", &target, &[]).as_bytes()).await.unwrap();
        waiting.push(client);
    }
    // Those inside are not disturbed, however often they ask.
    for _ in 0..10 {
        for client in &mut within {
            assert_eq!(client.ask("GET", &target, &[]).await.unwrap().versions(), ["1.0.0"]);
        }
    }
    for client in &mut waiting {
        assert!(timeout(Duration::ZERO, client.read(false)).await.is_err(), "there is no room yet");
    }
    for (mut outside, inside) in waiting.into_iter().zip(within) {
        drop(inside);
        assert_eq!(outside.read(false).await.unwrap().versions(), ["1.0.0"]);
    }
    site.connections(0).await;
}

#[tokio::test]
async fn idle_clients_do_not_take_all_the_room_for_long() {
    let data = Data::of(&["1.0.0"]);
    let mut config = hurried(&data);
    config.listen.connections = 8;
    let site = Site::start(config).await;
    // Many that say nothing, and one that has a question.
    let mut silent = Vec::new();
    for _ in 0..24 {
        silent.push(Client::connect(site.address).await);
    }
    wait_until(DEADLINE, "there is room for one that asks", async || ask_and_rest(&site, 1).await.is_some())
        .await
        .unwrap();
    drop(silent);
    site.connections(0).await;
}
