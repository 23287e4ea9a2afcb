//! The end: what was begun is finished within a time, and nothing new is begun (U16).

use std::time::{Duration, Instant};

use clearway_testbed::wait_until;
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::client::{Client, DEADLINE, ask, request};
use crate::site::{Data, PREFIX, Site};

const LARGE: usize = 8 << 20;
/// Longer than any test is waited for.
const FOREVER: Duration = Duration::from_hours(10);

/// A service, and a client in the middle of a large answer.
async fn in_the_middle() -> (Data, Site, Client) {
    let data = Data::of(&["1.0.0"]);
    data.write("signatures/sha256/ab/signature-1", vec![0; LARGE]);
    let site = Site::start(data.config()).await;
    let mut client = Client::connect_narrow(site.address).await;
    let target = format!("{PREFIX}/signatures/sha256=ab/signature-1");
    client.write(request("GET", &target, &[]).as_bytes()).await.unwrap();
    client.read_head().await.unwrap();
    (data, site, client)
}

#[tokio::test]
async fn what_was_begun_is_finished_and_nobody_new_comes_in() {
    let (_data, site, mut busy) = in_the_middle().await;
    let (address, status) = (site.address, site.status);
    let mut idle = Client::connect(address).await;
    idle.ask("GET", &format!("{PREFIX}/graph?channel=c"), &[]).await.unwrap();
    let mut silent = Client::connect(address).await;
    site.connections(3).await;
    assert_eq!(site.ready().await, 200);
    let drained = tokio::spawn(site.running.drain(FOREVER));

    // Those who wait for nothing are sent away at once, and not when the time is over.
    assert_eq!((idle.ended().await, silent.ended().await), (0, 0));
    wait_until(DEADLINE, "new connections are refused", async || TcpStream::connect(address).await.is_err())
        .await
        .unwrap();
    // Whoever sends clients here is told, while the last of them is still being served.
    assert_eq!(ask(status, "GET", "/readyz", &[]).await.status, 503);
    assert_eq!(ask(status, "GET", "/livez", &[]).await.status, 200);
    assert!(ask(status, "GET", "/metrics", &[]).await.text().contains("clearway_http_connections"));
    assert!(!drained.is_finished());

    busy.take(LARGE).await.unwrap();
    assert_eq!(busy.ended().await, 0);
    assert!(drained.await.unwrap(), "all of it ended");
    assert!(TcpStream::connect(status).await.is_err());
}

#[tokio::test]
async fn who_does_not_finish_is_not_waited_for_longer_than_asked() {
    let (_data, site, mut busy) = in_the_middle().await;
    let (begin, within) = (Instant::now(), Duration::from_millis(300));
    // The client never reads on, so that only the time ends this.
    let drained = timeout(DEADLINE, site.running.drain(within)).await.expect("it is not waited for");
    assert!(!drained, "not all of it ended");
    assert!(begin.elapsed() >= within, "{:?}", begin.elapsed());
    assert!(busy.ended().await < LARGE);
}

#[tokio::test]
async fn an_idle_service_ends_at_once() {
    let data = Data::of(&["1.0.0"]);
    let site = Site::start(data.config()).await;
    assert!(timeout(DEADLINE, site.running.drain(FOREVER)).await.expect("there is nothing to wait for"));
}
