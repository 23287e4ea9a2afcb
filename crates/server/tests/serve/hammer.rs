//! Revisions replaced while many clients read: each answer is wholly of one revision, and none fails (U16).

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::symlink;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use clearway_core::Limits;
use clearway_graph::{load, wire};
use clearway_server::Feed;
use clearway_sources::graph_data;
use clearway_testbed::wait_until;

use crate::caching::decoded;
use crate::client::{Client, DEADLINE};
use crate::site::{Data, PREFIX, Site, config};

const CLIENTS: usize = 64;
const SWAPS: usize = 20;
const CODINGS: [&str; 4] = ["identity", "gzip", "br", "zstd"];
const CHANNELS: [&str; 3] = ["candidate-1.5", "fast-1.5", "stable-1.5"];

/// What every revision answers: by revision and channel.
type Expected = HashMap<(String, &'static str), Vec<u8>>;

/// What the clients saw.
#[derive(Default)]
struct Seen {
    revisions: BTreeSet<String>,
    /// Which body a tag stands for: by channel, coding and tag.
    tags: BTreeMap<(&'static str, &'static str, String), Vec<u8>>,
    answers: usize,
    unchanged: usize,
}

/// One client that asks again and again over one connection.
async fn read(
    address: SocketAddr,
    number: usize,
    expected: Arc<Expected>,
    seen: Arc<Mutex<Seen>>,
    stop: Arc<AtomicBool>,
) {
    let mut client = Client::connect(address).await;
    let mut known: HashMap<(&str, &str), String> = HashMap::new();
    for round in number.. {
        if stop.load(Ordering::Relaxed) {
            return;
        }
        let (channel, coding) = (CHANNELS[round % CHANNELS.len()], CODINGS[round % CODINGS.len()]);
        let tag = known.get(&(channel, coding)).filter(|_| round % 5 == 0).cloned().unwrap_or_default();
        let target = format!("{PREFIX}/graph?channel={channel}");
        let reply = client.ask("GET", &target, &[("Accept-Encoding", coding), ("If-None-Match", &tag)]).await;
        let reply = reply.expect("no request fails");
        let etag = reply.header("etag").unwrap().to_owned();
        let revision = reply.header("clearway-revision").unwrap().to_owned();
        assert_eq!(reply.header("age"), Some("0"));
        let want = &expected[&(revision.clone(), channel)];
        let mut seen = seen.lock().unwrap();
        if reply.status == 304 {
            assert_eq!(etag, tag);
            seen.unchanged += 1;
        } else {
            assert_eq!(reply.status, 200);
            assert!(decoded(&reply) == *want, "{revision} {channel} {coding}");
        }
        // The tag and the revision are those of this body, and of no other.
        let body = seen.tags.entry((channel, coding, etag.clone())).or_insert_with(|| want.clone());
        assert!(body == want, "{etag} stands for two bodies");
        known.insert((channel, coding), etag);
        seen.revisions.insert(revision);
        seen.answers += 1;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_answer_is_wholly_one_revision_while_revisions_are_replaced() {
    let revisions: Vec<Data> = (0..3)
        .map(|number| {
            let data = Data::example();
            let metadata = format!(r#"{{"1.5.2": {{"revision": "{number}"}}, "1.4.0": {{"revision": "{number}"}}}}"#);
            data.write("raw/metadata.json", metadata);
            data
        })
        .collect();
    let mut expected = Expected::new();
    for data in &revisions {
        let inputs = graph_data::directory(data.path(), &Limits::default()).unwrap();
        let revision = load(&inputs, &Limits::default()).revision.unwrap();
        for channel in CHANNELS {
            let body = wire::write(&revision.graph(channel, &"amd64".parse().unwrap()));
            expected.insert((revision.id().to_string(), channel), body);
        }
    }
    assert_eq!(expected.len(), revisions.len() * CHANNELS.len(), "every revision is another one");
    let expected = Arc::new(expected);

    let root = tempfile::tempdir().unwrap();
    let link = root.path().join("current");
    symlink(revisions[0].path(), &link).unwrap();
    let site = Site::start(config(Some(Feed::directory(&link)))).await;
    let (seen, stop) = (Arc::<Mutex<Seen>>::default(), Arc::<AtomicBool>::default());
    let clients: Vec<_> = (0..CLIENTS)
        .map(|number| {
            tokio::spawn(read(site.address, number, Arc::clone(&expected), Arc::clone(&seen), Arc::clone(&stop)))
        })
        .collect();
    for swap in 1..=SWAPS {
        let next = root.path().join("next");
        symlink(revisions[swap % revisions.len()].path(), &next).unwrap();
        fs::rename(&next, &link).unwrap();
        let before = seen.lock().unwrap().answers;
        site.refresh_now().await;
        // Somebody reads between any two of them.
        wait_until(DEADLINE, "answers were read", async || seen.lock().unwrap().answers > before + CLIENTS)
            .await
            .unwrap();
    }
    stop.store(true, Ordering::Relaxed);
    for client in clients {
        client.await.unwrap();
    }
    let seen = seen.lock().unwrap();
    assert_eq!(seen.revisions.len(), revisions.len());
    assert_eq!(seen.tags.len(), revisions.len() * CHANNELS.len() * CODINGS.len());
    assert!(seen.unchanged > 0 && seen.answers > CLIENTS * SWAPS, "{} {}", seen.unchanged, seen.answers);
    assert!(site.metric("clearway_refreshes_total{outcome=\"published\"}").unwrap() > SWAPS as u64 / 2);
}
