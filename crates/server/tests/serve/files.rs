//! The files behind the graph: an archive that another service takes and answers the same from, and signatures
//! (U4, U22).

use std::path::Path;

use clearway_core::Limits;
use clearway_graph::{Inputs, Revision, load, wire};
use clearway_sources::graph_data;

use crate::site::{Data, PREFIX, Site, copy, example};

fn revision(inputs: &Inputs) -> Revision {
    load(inputs, &Limits::default()).revision.unwrap()
}

/// The archive of a service, read again.
async fn archived(site: &Site) -> Inputs {
    let reply = site.get(&format!("{PREFIX}/graph-data")).await;
    assert_eq!(reply.status, 200);
    assert_eq!(reply.header("content-disposition"), Some("attachment; filename=\"graph-data.tar.gz\""));
    graph_data::archive(reply.body.as_slice(), &Limits::default()).unwrap()
}

#[tokio::test]
async fn the_archive_gives_every_answer_again() {
    let data = Data::example();
    data.write("signatures/sha256/ab12/signature-1", "signed");
    let site = Site::start(data.config()).await;
    let files = archived(&site).await;
    let again = revision(&files);
    let mut compared = 0;
    for channel in again.channels() {
        for arch in again.arches() {
            let served = site.get(&format!("{PREFIX}/graph?channel={}&arch={arch}", channel.name)).await;
            assert!(served.body == wire::write(&again.graph(&channel.name, arch)), "{} {arch}", channel.name);
            compared += 1;
        }
    }
    assert_eq!(compared, 6, "three channels for two architectures");
    // Every file is there as it was.
    for (path, content) in graph_data::directory(data.path(), &Limits::default()).unwrap().iter() {
        assert_eq!(files.get(path), Some(content), "{path}");
    }
    assert_eq!(files.get("signatures/sha256/ab12/signature-1"), Some(b"signed".as_slice()));
}

#[tokio::test]
async fn a_service_that_does_not_know_declared_risks_gets_the_same_blocks_as_files() {
    let data = Data::example();
    let site = Site::start(data.config()).await;
    let mut files = Inputs::new();
    for (path, content) in archived(&site).await.iter().filter(|(path, _)| !path.starts_with("risks/")) {
        files.insert(path, content);
    }
    let blocks = files.iter().filter(|(path, _)| path.starts_with("blocked-edges/")).count();
    assert!(blocks > 4, "{blocks}");
    let without = revision(&files);
    let with = revision(&graph_data::directory(&example(), &Limits::default()).unwrap());
    for channel in with.channels() {
        for arch in with.arches() {
            let graph = |revision: &Revision| wire::write(&revision.graph(&channel.name, arch));
            assert!(graph(&with) == graph(&without), "{} {arch}", channel.name);
        }
    }
}

#[tokio::test]
async fn a_second_service_on_the_archive_answers_the_same_and_archives_the_same() {
    let data = Data::example();
    let first = Site::start(data.config()).await;
    let unpacked = tempfile::tempdir().unwrap();
    let files = archived(&first).await;
    for (path, content) in files.iter() {
        let path = unpacked.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }
    let second = Site::start(crate::site::config(Some(clearway_server::Feed::directory(unpacked.path())))).await;
    for channel in ["candidate-1.5", "fast-1.5", "stable-1.5"] {
        assert!(first.graph(channel).await.body == second.graph(channel).await.body, "{channel}");
    }
    // What was compiled once is not compiled into more.
    assert_eq!(archived(&second).await, files);
}

#[tokio::test]
async fn signatures_are_served_byte_for_byte_and_nothing_else_is_reached() {
    let data = Data::of(&["1.0.0"]);
    let signature = b"\x00\xff\r\n\r\nbinary";
    data.write("signatures/sha256/abcdef0123/signature-1", signature);
    data.write("signatures/sha256/abcdef0123/signature-2", "");
    std::fs::write(data.path().join("secret"), "secret").unwrap();
    copy(&data.path().join("channels"), &data.path().join("signatures/sha"));
    let site = Site::start(data.config()).await;
    let get = async |path: &str| site.get(&format!("{PREFIX}/signatures/{path}")).await;
    assert_eq!(get("sha256=abcdef0123/signature-1").await.body, signature);
    assert_eq!(get("sha256%3Dabcdef0123/signature-1").await.body, signature, "escaped as some clients do");
    let empty = get("sha256=abcdef0123/signature-2").await;
    assert_eq!((empty.status, empty.body.len()), (200, 0));
    for path in [
        "sha256=abcdef0123/signature-3",
        "sha256=ABCDEF0123/signature-1",
        "sha256=abcdef0123/../../../version",
        "sha256=abcdef0123/..%2f..%2f..%2fsecret",
        "sha256=abcdef0123/signature-1/",
        "sha256=abcdef0123/",
        "sha=abcdef0123/signature-1",
    ] {
        let reply = get(path).await;
        assert_eq!((reply.status, reply.json()["kind"].as_str()), (404, Some("does_not_exist")), "{path}");
    }
    for path in ["sha256=../version", "sha256=/signature-1", "=/x", "sha256=%00/x", "sha256=%2e%2e/version", "/x"] {
        let reply = get(path).await;
        assert_eq!((reply.status, reply.json()["kind"].as_str()), (400, Some("invalid_params")), "{path}");
    }
    assert!(Path::new(&data.path().join("secret")).exists());
}

#[tokio::test]
async fn a_link_out_of_the_directory_publishes_nothing_and_the_last_good_revision_stays() {
    let data = Data::of(&["1.0.0"]);
    data.write("signatures/sha256/ab12/signature-1", "signed");
    let site = Site::start(data.config()).await;
    let good = site.graph("c").await;
    let signatures = data.path().join("signatures/sha256/ab12");
    for (name, target) in [("signature-2", "/proc/self/environ"), ("signature-3", "../../../../../etc/passwd")] {
        std::os::unix::fs::symlink(target, signatures.join(name)).unwrap();
        data.release(&["1.0.0", "1.1.0"]);
        site.refresh_now().await;
        let reply = site.get(&format!("{PREFIX}/signatures/sha256=ab12/{name}")).await;
        assert_eq!(reply.status, 404, "{}", reply.text());
        assert_eq!(site.graph("c").await.body, good.body, "the last good revision goes on");
        assert!(site.findings().iter().any(|finding| finding.contains("GD008")), "{:?}", site.findings());
        std::fs::remove_file(signatures.join(name)).unwrap();
    }
    site.refresh_now().await;
    assert_eq!(site.graph("c").await.versions(), ["1.0.0", "1.1.0"]);
    // Nor does a pipe stop the service, or a link that leads nowhere take a channel away.
    let pipe = data.path().join("channels/pipe.yaml");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    site.refresh_now().await;
    assert_eq!(site.graph("c").await.versions(), ["1.0.0", "1.1.0"]);
    std::fs::remove_file(pipe).unwrap();
    std::fs::remove_file(data.path().join("channels/c.yaml")).unwrap();
    std::os::unix::fs::symlink("gone.yaml", data.path().join("channels/c.yaml")).unwrap();
    site.refresh_now().await;
    assert_eq!(site.graph("c").await.versions(), ["1.0.0", "1.1.0"]);
    assert_eq!(site.metric("clearway_graph_data_stale"), Some(1));
}

#[tokio::test]
async fn a_mounted_config_map_is_served_and_its_update_is_seen() {
    // As the kubelet mounts one: what is at the top are links into `..data`, which is swapped.
    let root = tempfile::tempdir().unwrap();
    let data = |date: &str, versions: &[&str]| {
        let data = Data::of(versions);
        copy(data.path(), &root.path().join(date));
    };
    data("..2026_01", &["1.0.0"]);
    let link = |target: &str, name: &str| std::os::unix::fs::symlink(target, root.path().join(name)).unwrap();
    link("..2026_01", "..data");
    for name in ["version", "channels", "releases"] {
        link(&format!("..data/{name}"), name);
    }
    let site = Site::start(crate::site::config(Some(clearway_server::Feed::directory(root.path())))).await;
    site.serves("c", &["1.0.0"]).await;
    data("..2026_02", &["1.0.0", "2.0.0"]);
    link("..2026_02", "..data_tmp");
    std::fs::rename(root.path().join("..data_tmp"), root.path().join("..data")).unwrap();
    std::fs::remove_dir_all(root.path().join("..2026_01")).unwrap();
    site.serves("c", &["1.0.0", "2.0.0"]).await;
}
