//! Clients that take their time: each is cut when it is due, and no sooner, and keeps nobody else waiting (U16).

use std::time::{Duration, Instant};

use clearway_server::Config;
use tokio::time::{MissedTickBehavior, interval, timeout};

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
    let mut client = Client::connect(site.address).await;
    let begin = Instant::now();
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

#[tokio::test]
async fn idle_connections_are_cut_before_and_after_a_request() {
    let data = Data::of(&["1.0.0"]);
    let site = Site::start(hurried(&data)).await;
    for asks in [0, 1, 3] {
        let mut client = Client::connect(site.address).await;
        for _ in 0..asks {
            let reply = client.ask("GET", &format!("{PREFIX}/graph?channel=c"), &[]).await.unwrap();
            assert_eq!(reply.versions(), ["1.0.0"]);
        }
        let begin = Instant::now();
        client.ended().await;
        assert!(begin.elapsed() >= SHORT / 2, "{asks}: no sooner than configured: {:?}", begin.elapsed());
    }
    site.connections(0).await;
}

#[tokio::test]
async fn who_stops_reading_is_cut_and_others_are_served_meanwhile() {
    let (data, target) = large();
    let site = Site::start(hurried(&data)).await;
    let mut stalled = Vec::new();
    for _ in 0..4 {
        let mut client = Client::connect_narrow(site.address).await;
        client.write(request("GET", &target, &[]).as_bytes()).await.unwrap();
        assert_eq!(client.read_head().await.unwrap().0, 200);
        stalled.push(client);
    }
    site.connections(4).await;
    let begin = Instant::now();
    assert_eq!(site.graph("c").await.versions(), ["1.0.0"]);
    assert!(begin.elapsed() < DEADLINE / 4);
    site.connections(0).await;
    for mut client in stalled {
        assert!(client.ended().await < LARGE);
    }
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

#[tokio::test]
async fn who_reads_slowly_but_reads_gets_all_of_it() {
    let (data, target) = large();
    let site = Site::start(hurried(&data)).await;
    let mut client = Client::connect_narrow(site.address).await;
    client.write(request("GET", &target, &[]).as_bytes()).await.unwrap();
    client.read_head().await.unwrap();
    let begin = Instant::now();
    let mut pace = interval(Duration::from_millis(30));
    pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut left = LARGE;
    while left > 0 {
        pace.tick().await;
        let chunk = left.min(512 << 10);
        client.take(chunk).await.unwrap_or_else(|error| panic!("{left} left: {error}"));
        left -= chunk;
    }
    assert!(begin.elapsed() > SHORT, "it took longer than a client may take no byte");
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
    for client in &mut waiting {
        assert!(timeout(Duration::from_millis(50), client.read(false)).await.is_err(), "there is no room yet");
    }
    // Those inside are not disturbed.
    for client in &mut within {
        assert_eq!(client.ask("GET", &target, &[]).await.unwrap().versions(), ["1.0.0"]);
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
    assert_eq!(site.graph("c").await.versions(), ["1.0.0"]);
    drop(silent);
    site.connections(0).await;
}
