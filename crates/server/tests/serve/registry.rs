//! Graph-data and releases from the real docker-registry: new tags appear, and a registry that is away, or was emptied,
//! takes nothing from anybody (U4, U16, U22).

use std::path::Path;
use std::time::Duration;

use clearway_server::{Config, Feed, GraphData};
use clearway_sources::oci::{Cache, Pace, Registry, RegistryOptions};
use clearway_testbed::images::{Family, PushedImage, Pusher, gzip, tar};
use clearway_testbed::registry;

use crate::site::{Data, PREFIX, Site, config};

/// A client of registries that does not wait long.
fn quick() -> Registry {
    let pace = Pace { first: Duration::from_millis(1), longest: Duration::from_millis(4), seed: 1, ..Pace::default() };
    Registry::new(RegistryOptions { pace, ..RegistryOptions::default() }).unwrap()
}

/// A service on an artifact and the images of a repository, with everything it keeps below one directory.
fn served(host: &str, cache: &Path) -> Config {
    let image = format!("oci://{host}/graph-data:latest").parse().unwrap();
    let feed = Feed::new(
        GraphData::Image(Box::new(image)),
        Some(quick()),
        vec![format!("{host}/ocp/release").parse().unwrap()],
        Cache::directory(cache.join("registry")).unwrap(),
    );
    Config { cache: Some(cache.to_owned()), ..config(Some(feed)) }
}

/// Pushes graph-data with a channel of these versions.
async fn push_graph_data(push: &Pusher, versions: &str) -> PushedImage {
    let channel = format!("name: c\nversions: [{versions}]\n");
    let files = tar(&[("graph-data/version", b"1.1.0\n"), ("graph-data/channels/c.yaml", channel.as_bytes())]);
    push.image(Family::Oci, Some("latest"), "amd64", vec![gzip(&files)]).await
}

#[tokio::test]
async fn new_tags_and_new_graph_data_appear_and_survive_the_registry() {
    let Some(registry) = registry().await else { return };
    let (host, base) = (registry.host(), registry.base_url());
    let (releases, data) = (Pusher::new(&base, "ocp/release"), Pusher::new(&base, "graph-data"));
    let first = releases.release("4.5.0-x86_64", "4.5.0", "amd64").await;
    push_graph_data(&data, "4.5.0, 4.5.1").await;
    let cache = tempfile::tempdir().unwrap();
    let site = Site::start(served(&host, cache.path())).await;
    let graph = site.graph("c").await;
    assert_eq!(graph.versions(), ["4.5.0"]);
    let payload = graph.json()["nodes"][0]["payload"].as_str().unwrap().to_owned();
    assert_eq!(payload, format!("{host}/ocp/release@{}", first.digest));

    releases.release("4.5.1-x86_64", "4.5.1", "amd64").await;
    site.refresh_now().await;
    assert_eq!(site.graph("c").await.versions(), ["4.5.0", "4.5.1"]);
    let seen = site.graph("c").await;
    site.refresh_now().await;
    assert_eq!(site.graph("c").await.header("clearway-revision"), seen.header("clearway-revision"));
    assert!(site.metric("clearway_refreshes_total{outcome=\"unchanged\"}").unwrap() >= 1, "nothing is published twice");
    push_graph_data(&data, "4.5.1").await;
    site.refresh_now().await;
    assert_eq!(site.graph("c").await.versions(), ["4.5.1"]);
    // Mirrors get all of it as files, also what came from images.
    let last = site.get(&format!("{PREFIX}/graph-data")).await;
    assert_eq!(last.status, 200);

    registry.process().kill();
    site.refresh_now().await;
    assert_eq!((site.graph("c").await.versions(), site.ready().await), (vec!["4.5.1".to_owned()], 200));
    assert_eq!(site.metric("clearway_graph_data_stale"), Some(1));
    drop(site.running);

    let site = Site::start(served(&host, cache.path())).await;
    assert_eq!(site.graph("c").await.versions(), ["4.5.1"], "from the cache");
    assert_eq!(site.get(&format!("{PREFIX}/graph-data")).await.body, last.body);
    assert_eq!((site.ready().await, site.metric("clearway_graph_data_stale")), (200, Some(1)));
    drop(site.running);
    let empty = tempfile::tempdir().unwrap();
    let without = Site::start(served(&host, empty.path())).await;
    assert_eq!(
        (without.graph("c").await.status, without.ready().await),
        (503, 503),
        "without a cache there is nothing"
    );

    // It comes back, and everything is as before.
    registry.process().start().await.unwrap();
    without.refresh_now().await;
    assert_eq!((without.graph("c").await.versions(), without.ready().await), (vec!["4.5.1".to_owned()], 200));
    assert_eq!(without.metric("clearway_graph_data_stale"), Some(0));
}

#[tokio::test]
async fn an_emptied_repository_is_refused() {
    let Some(registry) = registry().await else { return };
    let (host, base) = (registry.host(), registry.base_url());
    let (releases, data) = (Pusher::new(&base, "ocp/release"), Pusher::new(&base, "graph-data"));
    let pushed = releases.release("4.5.0", "4.5.0", "amd64").await;
    push_graph_data(&data, "4.5.0").await;
    let cache = tempfile::tempdir().unwrap();
    let site = Site::start(served(&host, cache.path())).await;
    assert_eq!(site.graph("c").await.versions(), ["4.5.0"]);
    // Emptied of its tags, and then filled with something that is no release.
    for step in ["emptied", "without a release"] {
        if step == "emptied" {
            releases.delete(&pushed).await;
        } else {
            releases.image(Family::Oci, Some("base"), "amd64", vec![gzip(&tar(&[("etc/os-release", b"x")]))]).await;
        }
        let failed = || site.metric("clearway_refreshes_total{outcome=\"failed\"}").unwrap();
        let before = failed();
        site.refresh_now().await;
        assert!(failed() > before, "{step}");
        assert_eq!(site.graph("c").await.versions(), ["4.5.0"], "{step}");
        assert_eq!(site.metric("clearway_graph_data_stale"), Some(1), "{step}");
        let again = Site::start(served(&host, cache.path())).await;
        assert_eq!(again.graph("c").await.versions(), ["4.5.0"], "{step}, after a restart");
    }
    releases.release("4.5.1", "4.5.1", "amd64").await;
    push_graph_data(&data, "4.5.1").await;
    site.refresh_now().await;
    assert_eq!(site.graph("c").await.versions(), ["4.5.1"]);
}

#[tokio::test]
async fn a_directory_and_releases_of_a_repository_are_one_revision() {
    let Some(registry) = registry().await else { return };
    Pusher::new(&registry.base_url(), "ocp/release").release("4.5.0", "4.5.0", "amd64").await;
    let data = Data::of(&["4.4.9"]);
    data.write("channels/c.yaml", "name: c\nversions: [4.4.9, 4.5.0]\n");
    let repository = format!("{}/ocp/release", registry.host()).parse().unwrap();
    let directory = GraphData::Directory(data.path().to_owned());
    let feed = Feed::new(directory, Some(quick()), vec![repository], Cache::none());
    let site = Site::start(config(Some(feed))).await;
    let graph = site.graph("c").await;
    assert_eq!(graph.versions(), ["4.4.9", "4.5.0"]);
    assert_eq!(graph.json()["edges"], serde_json::json!([[0, 1]]), "an edge from a file's release to an image's");
    // A change of the directory is seen without asking, with the repository behind it.
    data.write("blocked-edges/4.5.0.yaml", "to: 4.5.0\nfrom: .*\n");
    clearway_testbed::wait_until(crate::client::DEADLINE, "the edge is blocked", async || {
        site.graph("c").await.json()["edges"] == serde_json::json!([])
    })
    .await
    .unwrap();
}
