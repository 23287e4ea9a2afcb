//! Changes of graph-data while it is served: seen without asking, published when they are good, refused when they are
//! not (U4, U22).

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use clearway_server::Feed;
use clearway_testbed::wait_until;

use crate::client::DEADLINE;
use crate::site::{Data, EMPTY, PREFIX, Site, clock, config};

/// A channel file that nobody can read.
const BROKEN: &str = "name: [c\nversions: {";

fn point(link: &Path, to: &Path) {
    let next = link.with_extension("next");
    symlink(to, &next).unwrap();
    fs::rename(next, link).unwrap();
}

#[tokio::test]
async fn a_changed_file_is_seen_without_asking() {
    let data = Data::of(&["1.0.0"]);
    let site = Site::start(data.config()).await;
    let first = site.serves("c", &["1.0.0"]).await;
    data.release(&["1.0.0", "1.1.0"]);
    let second = site.serves("c", &["1.0.0", "1.1.0"]).await;
    assert_ne!(first.header("clearway-revision"), second.header("clearway-revision"));
    assert_ne!(first.header("etag"), second.header("etag"));
    // A file more, in a directory that was not there before.
    data.write("blocked-edges/1.1.0.yaml", "to: 1.1.0\nfrom: .*\n");
    wait_until(DEADLINE, "the edge is blocked", async || {
        site.graph("c").await.json()["edges"] == serde_json::json!([])
    })
    .await
    .unwrap();
    fs::remove_file(data.path().join("channels/c.yaml")).unwrap();
    wait_until(DEADLINE, "the channel is gone", async || site.graph("c").await.text() == EMPTY).await.unwrap();
}

#[tokio::test]
async fn a_relative_path_is_watched_as_well() {
    let data = Data::of(&["1.0.0"]);
    let up: PathBuf = std::env::current_dir().unwrap().components().skip(1).map(|_| "..").collect();
    let path = up.join(".").join(data.path().strip_prefix("/").unwrap());
    assert!(path.is_relative());
    let site = Site::start(config(Some(Feed::directory(&path)))).await;
    site.serves("c", &["1.0.0"]).await;
    data.release(&["1.1.0"]);
    site.serves("c", &["1.1.0"]).await;
    let link = data.path().with_extension("link");
    symlink(data.path(), &link).unwrap();
    let site = Site::start(config(Some(Feed::directory(path.with_extension("link"))))).await;
    site.serves("c", &["1.1.0"]).await;
    let other = Data::of(&["2.0.0"]);
    point(&link, other.path());
    site.serves("c", &["2.0.0"]).await;
    fs::remove_file(link).unwrap();
}

/// An archive of a directory, as `tar -czf` makes it.
fn archive(data: &Data) -> Vec<u8> {
    let mut archive = tar::Builder::new(flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast()));
    archive.append_dir_all(".", data.path()).unwrap();
    archive.into_inner().unwrap().finish().unwrap()
}

#[tokio::test]
async fn an_archive_in_a_mounted_config_map_is_served_and_watched() {
    // As the kubelet mounts it: the file is a link into `..data`, which is a link to a directory with a date.
    let mount = tempfile::tempdir().unwrap();
    let publish = |date: &str, content: &[u8]| {
        fs::create_dir(mount.path().join(date)).unwrap();
        fs::write(mount.path().join(date).join("graph-data.tar.gz"), content).unwrap();
        symlink(date, mount.path().join("..data_tmp")).unwrap();
        fs::rename(mount.path().join("..data_tmp"), mount.path().join("..data")).unwrap();
    };
    publish("..2026_01", &archive(&Data::of(&["1.0.0"])));
    let file = mount.path().join("graph-data.tar.gz");
    symlink("..data/graph-data.tar.gz", &file).unwrap();
    let site = Site::start(config(Some(Feed::directory(&file)))).await;
    site.serves("c", &["1.0.0"]).await;
    publish("..2026_02", &archive(&Data::of(&["1.0.0", "1.1.0"])));
    site.serves("c", &["1.0.0", "1.1.0"]).await;
    // What is no archive does not replace it, and the next one does.
    publish("..2026_03", b"no archive");
    publish("..2026_04", &archive(&Data::of(&["1.2.0"])));
    site.serves("c", &["1.2.0"]).await;
}

#[tokio::test]
async fn a_directory_in_a_mounted_config_map_is_watched_among_many_that_are_not_read() {
    let data = Data::of(&["1.0.0"]);
    for number in 0..1200 {
        fs::create_dir_all(data.path().join(format!("docs/{number}"))).unwrap();
    }
    // As the kubelet mounts it at `channels`.
    let channels = data.path().join("channels");
    let publish = |date: &str, versions: &str| {
        data.write(&format!("channels/{date}/c.yaml"), format!("name: c\nversions: [{versions}]\n"));
        symlink(date, channels.join("..data_tmp")).unwrap();
        fs::rename(channels.join("..data_tmp"), channels.join("..data")).unwrap();
    };
    fs::remove_file(channels.join("c.yaml")).unwrap();
    publish("..2026_01", "1.0.0");
    symlink("..data/c.yaml", channels.join("c.yaml")).unwrap();
    let site = Site::start(data.config()).await;
    site.serves("c", &["1.0.0"]).await;
    publish("..2026_02", "");
    site.serves("c", &[]).await;
    // And what a link leads to, when it is written in place.
    data.write("channels/..2026_02/c.yaml", "name: c\nversions: [1.0.0]\n");
    site.serves("c", &["1.0.0"]).await;
}

#[tokio::test]
async fn a_swapped_link_is_seen_without_asking_and_what_it_leads_to_is_watched() {
    let (one, two, three) = (Data::of(&["1.0.0"]), Data::of(&["2.0.0"]), Data::of(&["2.0.0"]));
    let root = tempfile::tempdir().unwrap();
    let link = root.path().join("current");
    symlink(one.path(), &link).unwrap();
    let site = Site::start(config(Some(Feed::directory(&link)))).await;
    site.serves("c", &["1.0.0"]).await;
    point(&link, two.path());
    site.serves("c", &["2.0.0"]).await;
    two.release(&["2.0.0", "2.1.0"]);
    site.serves("c", &["2.0.0", "2.1.0"]).await;
    // To the same files in another place: nothing changes now, but what changes later changes there.
    two.release(&["2.0.0"]);
    site.serves("c", &["2.0.0"]).await;
    let looks = site.looks();
    point(&link, three.path());
    site.wait_for_refresh(looks).await;
    three.release(&["3.0.0"]);
    site.serves("c", &["3.0.0"]).await;
}

#[tokio::test]
async fn the_same_content_is_looked_at_once_and_not_published_again() {
    let data = Data::of(&["1.0.0"]);
    let root = tempfile::tempdir().unwrap();
    let link = root.path().join("current");
    symlink(data.path(), &link).unwrap();
    for path in [data.path(), &link] {
        let site = Site::start(config(Some(Feed::directory(path)))).await;
        assert_eq!(site.looks(), 1);
        // It comes in one step, which is one change.
        let elsewhere = tempfile::tempdir().unwrap();
        let again = elsewhere.path().join("again.yaml");
        fs::copy(data.path().join("channels/c.yaml"), &again).unwrap();
        fs::rename(again, data.path().join("channels/c.yaml")).unwrap();
        site.wait_for_refresh(1).await;
        assert_eq!(site.looks(), 2);
        assert_eq!(site.metric("clearway_refreshes_total{outcome=\"published\"}"), Some(1));
    }
}

#[tokio::test]
async fn a_directory_that_appears_is_seen_when_it_is_looked_at_and_watched_from_then_on() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("later");
    let site = Site::start(config(Some(Feed::directory(&path)))).await;
    assert_eq!(site.graph("c").await.status, 503);
    let data = Data::of(&["1.0.0"]);
    crate::site::copy(data.path(), &path);
    site.refresh_now().await;
    assert_eq!(site.graph("c").await.versions(), ["1.0.0"]);
    data.release(&["1.1.0"]);
    crate::site::copy(data.path(), &path);
    site.serves("c", &["1.1.0"]).await;
}

#[tokio::test]
async fn a_bad_revision_is_refused_and_the_last_good_one_goes_on_with_its_age() {
    clock!(time);
    let data = Data::of(&["1.0.0"]);
    let mut config = data.config();
    config.clock = time::now;
    let site = Site::start(config).await;
    let good = site.serves("c", &["1.0.0"]).await;
    assert_eq!((good.age(), site.metric("clearway_graph_data_stale")), (0, Some(0)));
    assert_eq!(site.findings(), [""; 0]);

    data.write("channels/c.yaml", BROKEN);
    time::pass(60);
    site.refresh_now().await;
    time::pass(30);
    let still = site.graph("c").await;
    assert_eq!((still.status, &still.body, still.age()), (200, &good.body, 90));
    assert_eq!(still.header("clearway-revision"), good.header("clearway-revision"));
    assert_eq!(site.get(&format!("{PREFIX}/graph-data")).await.age(), 90);
    assert_eq!(site.metric("clearway_graph_data_stale"), Some(1));
    let findings = site.findings();
    assert!(findings.iter().any(|finding| finding.contains("severity=\"error\"")), "{findings:?}");
    assert!(findings.iter().all(|finding| finding.starts_with("code=\"")), "{findings:?}");
    assert_eq!(site.ready().await, 200, "there is something to serve");
    // Looking again at the same files does not make it better, nor newer.
    time::pass(10);
    site.refresh_now().await;
    assert_eq!(site.graph("c").await.age(), 100);
    assert!(site.metric("clearway_refreshes_total{outcome=\"refused\"}").unwrap() >= 2);

    // Mended with something new.
    data.release(&["1.0.0", "1.0.1"]);
    site.refresh_now().await;
    let mended = site.graph("c").await;
    assert_eq!((mended.versions(), mended.age()), (vec!["1.0.0".to_owned(), "1.0.1".to_owned()], 0));
    assert_eq!((site.metric("clearway_graph_data_stale"), site.findings().len()), (Some(0), 0));
}

#[tokio::test]
async fn going_back_to_the_good_files_clears_what_was_wrong() {
    clock!(time);
    let data = Data::of(&["1.0.0"]);
    // Served, although something is wrong with it.
    data.write("channels/odd.yaml", "name: odd\nversions: []\nsurprise: 1\n");
    let mut config = data.config();
    config.clock = time::now;
    let site = Site::start(config).await;
    let served = site.findings();
    assert_eq!(served.len(), 1, "{served:?}");
    data.write("channels/c.yaml", BROKEN);
    site.refresh_now().await;
    assert_ne!(site.findings(), served);
    time::pass(60);
    data.release(&["1.0.0"]);
    site.refresh_now().await;
    assert_eq!((site.graph("c").await.age(), site.metric("clearway_graph_data_stale")), (0, Some(0)));
    assert_eq!(site.findings(), served, "what is wrong with the files that are there now");
    assert_eq!(site.metric("clearway_refreshes_total{outcome=\"published\"}"), Some(1), "nothing was made anew");
}

#[tokio::test]
async fn a_directory_that_cannot_be_read_changes_nothing_but_the_age() {
    clock!(time);
    let data = Data::of(&["1.0.0"]);
    let mut config = data.config();
    config.clock = time::now;
    let site = Site::start(config).await;
    let (away, path) = (data.path().with_extension("away"), data.path().to_owned());
    fs::rename(&path, &away).unwrap();
    time::pass(20);
    site.refresh_now().await;
    let stale = site.graph("c").await;
    assert_eq!((stale.versions(), stale.age()), (vec!["1.0.0".to_owned()], 20));
    assert_eq!(site.metric("clearway_graph_data_stale"), Some(1));
    assert!(site.metric("clearway_refreshes_total{outcome=\"failed\"}").unwrap() >= 1);
    fs::rename(&away, &path).unwrap();
    site.refresh_now().await;
    assert_eq!((site.graph("c").await.age(), site.metric("clearway_graph_data_stale")), (0, Some(0)));
}

#[tokio::test]
async fn without_any_good_data_the_service_says_that_it_is_not_ready() {
    let data = Data::of(&["1.0.0"]);
    data.write("channels/c.yaml", BROKEN);
    let site = Site::start(data.config()).await;
    for path in ["/graph?channel=c", "/v1/graph?channel=c", "/graph-data", "/signatures/sha256=ab/signature-1"] {
        let reply = site.get(&format!("{PREFIX}{path}")).await;
        assert_eq!((reply.status, reply.json()["kind"].as_str()), (503, Some("not_ready")), "{path}");
        assert_eq!(
            (reply.header("retry-after"), reply.header("cache-control")),
            (Some("5"), Some("no-store")),
            "{path}"
        );
    }
    assert_eq!(site.get(&format!("{PREFIX}/openapi")).await.status, 200);
    assert_eq!(site.get(&format!("{PREFIX}/graph")).await.status, 400, "what is wrong with the request is said first");
    assert_eq!(site.ready().await, 503);
    assert_eq!(crate::client::ask(site.status, "GET", "/livez", &[]).await.status, 200);
    assert_eq!(site.metric("clearway_graph_data_stale"), Some(1));
    data.release(&["1.0.0"]);
    site.serves("c", &["1.0.0"]).await;
    assert_eq!(site.ready().await, 200);
}
