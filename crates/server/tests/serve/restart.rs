//! The cache directory: what was good goes on being served after a restart, with its true age (U4, U16).

use std::fs;
use std::path::Path;

use clearway_core::Timestamp;
use clearway_server::{Config, Feed};

use crate::site::{Data, Site, clock, config};

fn cached(feed: Feed, cache: &Path, clock: fn() -> Timestamp) -> Config {
    Config { cache: Some(cache.to_owned()), clock, ..config(Some(feed)) }
}

#[tokio::test]
async fn a_restart_without_readable_graph_data_serves_what_was_good_with_its_age() {
    clock!(time);
    let cache = tempfile::tempdir().unwrap();
    let data = Data::of(&["1.0.0"]);
    let start = async || Site::start(cached(Feed::directory(data.path()), cache.path(), time::now)).await;
    let site = start().await;
    let good = site.graph("c").await;
    time::pass(100);
    // Seen again, so it is only as old as that.
    site.refresh_now().await;
    drop(site.running);

    time::pass(7);
    data.write("channels/c.yaml", "name: [");
    let site = start().await;
    let kept = site.graph("c").await;
    assert_eq!((&kept.body, kept.age()), (&good.body, 7));
    assert_eq!(kept.header("clearway-revision"), good.header("clearway-revision"));
    assert_eq!((site.ready().await, site.metric("clearway_graph_data_stale")), (200, Some(1)));
    let findings = site.findings();
    assert!(findings.iter().any(|finding| finding.contains("error")), "of what is refused: {findings:?}");
    time::pass(3);
    assert_eq!(site.graph("c").await.age(), 10);
    drop(site.running);

    fs::remove_dir_all(data.path()).unwrap();
    let site = start().await;
    assert_eq!((site.graph("c").await.versions(), site.graph("c").await.age()), (vec!["1.0.0".to_owned()], 10));
    // What comes back is published, and kept in place of the old.
    data.write("version", "1.1.0\n");
    data.release(&["2.0.0"]);
    site.refresh_now().await;
    assert_eq!((site.graph("c").await.versions(), site.graph("c").await.age()), (vec!["2.0.0".to_owned()], 0));
    drop(site.running);
    fs::remove_dir_all(data.path()).unwrap();
    assert_eq!(start().await.graph("c").await.versions(), ["2.0.0"]);
}

#[tokio::test]
async fn graph_data_that_is_good_wins_over_what_was_kept() {
    let cache = tempfile::tempdir().unwrap();
    let data = Data::of(&["1.0.0"]);
    let start = async || Site::start(cached(Feed::directory(data.path()), cache.path(), data.config().clock)).await;
    drop(start().await.running);
    data.release(&["2.0.0"]);
    let site = start().await;
    assert_eq!(site.graph("c").await.versions(), ["2.0.0"]);
    assert_eq!(site.metric("clearway_refreshes_total{outcome=\"published\"}"), Some(1));
}

#[tokio::test]
async fn a_damaged_cache_is_as_good_as_none() {
    let cache = tempfile::tempdir().unwrap();
    let data = Data::of(&["1.0.0"]);
    let start = async || Site::start(cached(Feed::directory(data.path()), cache.path(), data.config().clock)).await;
    drop(start().await.running);
    let files: Vec<_> = fs::read_dir(cache.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(files.len(), 2, "{files:?}");
    let channel = fs::read(data.path().join("channels/c.yaml")).unwrap();
    for file in &files {
        let whole = fs::read(file).unwrap();
        for damage in [&b""[..], b"rubbish", b"\x1f\x8b\x08\x00", &whole[..whole.len() / 2]] {
            fs::write(file, damage).unwrap();
            // Nothing to read but the cache.
            data.write("channels/c.yaml", "name: [");
            let site = start().await;
            let status = site.graph("c").await.status;
            assert_eq!(status, 503, "{}: {damage:?}", file.display());
            drop(site.running);
            // It is written anew as soon as there is something good.
            data.write("channels/c.yaml", &channel);
            assert_eq!(start().await.graph("c").await.versions(), ["1.0.0"]);
            assert!(fs::read(file).unwrap().len() >= whole.len().min(10), "{}", file.display());
        }
    }
}

#[tokio::test]
async fn a_cache_that_cannot_be_written_any_more_does_not_stop_the_service() {
    let cache = tempfile::tempdir().unwrap();
    let directory = cache.path().join("cache");
    let data = Data::of(&["1.0.0"]);
    let site = Site::start(cached(Feed::directory(data.path()), &directory, data.config().clock)).await;
    fs::remove_dir_all(&directory).unwrap();
    fs::write(&directory, "a file where the directory was").unwrap();
    data.release(&["2.0.0"]);
    site.refresh_now().await;
    assert_eq!(site.graph("c").await.versions(), ["2.0.0"]);
    assert_eq!(site.metric("clearway_graph_data_stale"), Some(0));
}
