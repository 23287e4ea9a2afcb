//! Every shape of release, as the real registry serves it; the cache; what is left out.

use std::collections::BTreeMap;

use clearway_core::{Arch, Digest, Limits};
use clearway_graph::Inputs;
use clearway_sources::oci::{Cache, Why};
use clearway_testbed::images::{Family, Pusher, gzip, linux, metadata, release_layer, tar};
use clearway_testbed::registry;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use serde_json::json;

use crate::proxy::{Answer, Proxy};
use crate::{left_out, listed, scrape, versions};

#[tokio::test]
async fn every_shape_of_release_is_found_and_everything_else_is_left_out_by_name() {
    let Some(registry) = registry().await else { return };
    let push = Pusher::new(&registry.base_url(), "ocp/release");
    let other = gzip(&tar(&[("etc/os-release", b"x")]));
    let plain = |version: &str| release_layer(version, &json!({}));

    // One image, in both families, and once more under another tag.
    let docker = push.image(Family::Docker, Some("4.5.0-x86_64"), "amd64", vec![other.clone(), plain("4.5.0")]).await;
    push.image(Family::Docker, Some("latest"), "amd64", vec![other.clone(), plain("4.5.0")]).await;
    let oci = push.image(Family::Oci, Some("4.5.0-aarch64"), "arm64", vec![plain("4.5.0")]).await;
    // The top-most layer counts, and one without the file does not.
    let layers = vec![plain("4.5.1"), plain("4.5.2"), other.clone()];
    let two_layers = push.image(Family::Docker, Some("4.5.2"), "amd64", layers).await;
    let zstd = compress_to_vec(
        tar(&[("release-manifests/release-metadata", &metadata("4.5.3", &json!({})))]).as_slice(),
        CompressionLevel::Fastest,
    );
    let zstd = push.image(Family::Oci, Some("4.5.3"), "s390x", vec![zstd]).await;
    let unpacked = tar(&[("release-manifests/release-metadata", &metadata("4.5.4", &json!({})))]);
    let unpacked = push.image(Family::Oci, Some("4.5.4"), "ppc64le", vec![unpacked]).await;
    // A list of several architectures, of which the first child has no metadata; its parts are tagged too.
    let says = json!({"release.openshift.io/architecture": "multi", "url": "https://example.com/4.6.0"});
    let first = push.image(Family::Docker, None, "amd64", vec![other.clone()]).await;
    let second = push.image(Family::Docker, Some("4.6.0-shard"), "arm64", vec![release_layer("4.6.0", &says)]).await;
    let children = [(&first, linux("amd64")), (&second, linux("arm64"))];
    let multi = push.list(Family::Docker, "4.6.0-multi", &children).await;
    // An index of one architecture, beside what its builder says about it.
    let only = push.image(Family::Oci, None, "arm64", vec![plain("4.7.0")]).await;
    let about = push.image(Family::Oci, None, "unknown", vec![other.clone()]).await;
    let children = [(&about, json!({"os": "unknown", "architecture": "unknown"})), (&only, linux("arm64"))];
    let index = push.list(Family::Oci, "4.7.0-index", &children).await;
    // What is none.
    push.image(Family::Docker, Some("base"), "amd64", vec![other.clone()]).await;
    let broken = gzip(&tar(&[("release-manifests/release-metadata", b"{\"kind\": 1}")]));
    push.image(Family::Docker, Some("broken"), "amd64", vec![plain("4.5.9"), broken]).await;
    let signature = format!("sha256-{}.sig", docker.digest.trim_start_matches("sha256:"));
    push.image(Family::Oci, Some(&signature), "", vec![]).await;

    let scraped = scrape(&registry.host(), "ocp/release", &Cache::none()).await.unwrap();
    let release = |version: &str, arch: &str, digest: &str| (version.to_owned(), arch.to_owned(), digest.to_string());
    assert_eq!(
        listed(&scraped),
        [
            release("4.5.0", "amd64", &docker.digest),
            release("4.5.0", "arm64", &oci.digest),
            release("4.5.2", "amd64", &two_layers.digest),
            release("4.5.3", "s390x", &zstd.digest),
            release("4.5.4", "ppc64le", &unpacked.digest),
            release("4.6.0", "multi", &multi.digest),
            release("4.7.0", "arm64", &index.digest),
        ]
    );
    assert_eq!(scraped.path, format!("releases/registry-{}+ocp+release.json", registry.host().replace(':', "~")));
    let why: BTreeMap<&str, &Why> = scraped.left_out.iter().map(|left| (left.tag.as_str(), &left.why)).collect();
    assert_eq!(why.keys().copied().collect::<Vec<_>>(), ["4.6.0-shard", "base", "broken", signature.as_str()]);
    assert_eq!(why["4.6.0-shard"], &Why::Shard { arch: "arm64".to_owned() });
    assert_eq!(why["base"], &Why::NoRelease);
    assert!(why["broken"].to_string().contains("release-metadata: invalid type"), "{}", why["broken"]);
    assert_eq!(why[signature.as_str()], &Why::Companion);

    // The graph takes the file as it is: nothing to say about it, and nothing in it twice.
    let mut inputs: Inputs =
        [("version", "1.1.0\n"), ("channels/c.yaml", "name: c\nversions: [4.6.0]\n")].into_iter().collect();
    inputs.insert(scraped.path, scraped.file);
    let outcome = clearway_graph::load(&inputs, &Limits::default());
    assert_eq!(outcome.diagnostics, []);
    let graph = outcome.revision.unwrap().graph("c", &Arch::MULTI.parse().unwrap());
    let served: serde_json::Value = serde_json::from_slice(&clearway_graph::wire::write(&graph)).unwrap();
    assert_eq!(served["nodes"][0]["payload"], format!("{}/ocp/release@{}", registry.host(), multi.digest));
    let said = &served["nodes"][0]["metadata"];
    assert_eq!(said["io.openshift.upgrades.graph.release.manifestref"], multi.digest);
    assert_eq!(said["url"], "https://example.com/4.6.0");
}

#[tokio::test]
async fn the_second_scrape_asks_for_tags_and_digests_only() {
    let Some(registry) = registry().await else { return };
    let push = Pusher::new(&registry.base_url(), "a");
    push.release("one", "1.0.0", "amd64").await;
    push.image(Family::Oci, Some("none"), "amd64", vec![gzip(&tar(&[("x", b"x")]))]).await;
    let proxy = Proxy::start(registry.base_url(), |_| Answer::Pass).await;
    let directory = tempfile::tempdir().unwrap();
    let cache = || Cache::directory(directory.path()).unwrap();
    let first = scrape(proxy.host(), "a", &cache()).await.unwrap();
    assert_eq!(versions(&first), ["1.0.0"]);
    assert!(proxy.take().iter().any(|line| line.contains("/blobs/")));

    let cheap = ["GET /v2/a/tags/list?n=1000", "HEAD /v2/a/manifests/none", "HEAD /v2/a/manifests/one"];
    assert_eq!(scrape(proxy.host(), "a", &cache()).await.unwrap(), first);
    assert_eq!(proxy.take(), cheap);

    // A file of the cache that was damaged is read anew, and then is good again.
    for file in std::fs::read_dir(directory.path().join("releases")).unwrap() {
        std::fs::write(file.unwrap().path(), "clearway-cache-1 damaged").unwrap();
    }
    assert_eq!(scrape(proxy.host(), "a", &cache()).await.unwrap(), first);
    assert!(proxy.take().iter().filter(|line| line.contains("/blobs/")).count() >= 2);
    assert_eq!(scrape(proxy.host(), "a", &cache()).await.unwrap(), first);
    assert_eq!(proxy.take(), cheap);

    // A tag that was moved is another digest, and only that one is read.
    push.release("one", "1.0.1", "amd64").await;
    let moved = scrape(proxy.host(), "a", &cache()).await.unwrap();
    assert_eq!(versions(&moved), ["1.0.1"]);
    let asked = proxy.take();
    assert_eq!(asked.iter().filter(|line| line.contains("/manifests/sha256:")).count(), 1, "{asked:#?}");
    assert_eq!(asked.iter().filter(|line| line.contains("/blobs/")).count(), 2, "layer and configuration: {asked:#?}");
}

#[tokio::test]
async fn a_scrape_can_run_in_a_task_of_its_own() {
    let Some(registry) = registry().await else { return };
    Pusher::new(&registry.base_url(), "a").release("one", "1.0.0", "amd64").await;
    let host = registry.host();
    let task = tokio::spawn(async move { scrape(&host, "a", &Cache::none()).await });
    assert_eq!(versions(&task.await.unwrap().unwrap()), ["1.0.0"]);
}

#[tokio::test]
async fn an_empty_repository_has_no_releases_and_a_missing_one_is_an_error() {
    let Some(registry) = registry().await else { return };
    let error = scrape(&registry.host(), "nowhere", &Cache::none()).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("{}/nowhere (list of tags): the registry has no such repository; check the name", registry.host())
    );
    // Something without a tag makes the repository.
    Pusher::new(&registry.base_url(), "a").image(Family::Oci, None, "amd64", vec![]).await;
    let error = scrape(&registry.host(), "a", &Cache::none()).await;
    // The registry knows a repository by its tags: without any, it may deny that there is one.
    assert!(error.is_err() || error.is_ok_and(|scraped| scraped.releases == 0));
}

#[tokio::test]
async fn pages_of_tags_are_followed_and_a_tag_that_vanished_is_left_out() {
    let Some(registry) = registry().await else { return };
    let push = Pusher::new(&registry.base_url(), "a");
    push.release("one", "1.0.0", "amd64").await;
    push.release("two", "2.0.0", "amd64").await;
    // docker-registry 2.8 has no pages of tags; newer ones and other products do.
    let proxy = Proxy::start(registry.base_url(), |asked| {
        let page = |tags: &str, next: Option<&str>| {
            let link = next.map(|next| ("link", format!("</v2/a/tags/list?n=1000&last={next}>; rel=\"next\"")));
            let body = format!(r#"{{"name": "a", "tags": {tags}}}"#);
            Answer::Say(hyper::StatusCode::OK, link.into_iter().collect(), body.into_bytes())
        };
        match asked.line.as_str() {
            "GET /v2/a/tags/list?n=1000" => page(r#"["one", "ghost"]"#, Some("one")),
            "GET /v2/a/tags/list?n=1000&last=one" => page("null", Some("x")),
            "GET /v2/a/tags/list?n=1000&last=x" => page(r#"["two", "one", "no/tag"]"#, None),
            _ => Answer::Pass,
        }
    })
    .await;
    let scraped = scrape(proxy.host(), "a", &Cache::none()).await.unwrap();
    assert_eq!(versions(&scraped), ["1.0.0", "2.0.0"]);
    assert_eq!(
        left_out(&scraped),
        [
            "tag ghost was deleted before it could be read",
            "tag no/tag is an entry whose name is not a valid tag, which is not supported; push it again with a current tool"
        ]
    );
}

#[tokio::test]
async fn schema_1_is_refused_by_name() {
    let Some(registry) = registry().await else { return };
    Pusher::new(&registry.base_url(), "a").release("new", "1.0.0", "amd64").await;
    let old = br#"{"schemaVersion": 1, "name": "a", "tag": "old", "fsLayers": [], "history": [], "signatures": []}"#;
    let proxy = Proxy::start(registry.base_url(), move |asked| {
        let digest = Digest::sha256(old).to_string();
        if asked.line.contains("tags/list") {
            return Answer::Say(hyper::StatusCode::OK, vec![], br#"{"tags": ["new", "old"]}"#.to_vec());
        }
        if asked.line.ends_with("/old") || asked.line.ends_with(&digest) {
            return Answer::Say(hyper::StatusCode::OK, vec![("docker-content-digest", digest)], old.to_vec());
        }
        Answer::Pass
    })
    .await;
    let scraped = scrape(proxy.host(), "a", &Cache::none()).await.unwrap();
    assert_eq!(versions(&scraped), ["1.0.0"]);
    assert_eq!(
        left_out(&scraped),
        ["tag old is a Docker schema 1 manifest, which is not supported; push it again with a current tool"]
    );
}

#[tokio::test]
async fn a_registry_without_digests_in_headers_costs_a_request_more() {
    let Some(registry) = registry().await else { return };
    let pushed = Pusher::new(&registry.base_url(), "a").release("one", "1.0.0", "amd64").await;
    let proxy = Proxy::start(registry.base_url(), |asked| match asked.line.as_str() {
        "HEAD /v2/a/manifests/one" => crate::proxy::status(405),
        _ => Answer::Pass,
    })
    .await;
    let scraped = scrape(proxy.host(), "a", &Cache::none()).await.unwrap();
    assert_eq!(listed(&scraped), [("1.0.0".to_owned(), "amd64".to_owned(), pushed.digest)]);
}
