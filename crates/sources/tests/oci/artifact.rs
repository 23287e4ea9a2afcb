//! Graph-data in an image, in an artifact and in an index; from the cache, and after a change.

use clearway_core::Limits;
use clearway_graph::Inputs;
use clearway_sources::oci::{self, Cache, Image, OciError, Registry, RegistryOptions};
use clearway_testbed::images::{Family, PushedImage, Pusher, gzip, linux, tar};
use clearway_testbed::registry;
use serde_json::json;

use crate::proxy::{Answer, Proxy};
use crate::quick;

async fn read(host: &str, name: &str, cache: &Cache) -> Result<(Vec<String>, String), OciError> {
    let image: Image = format!("oci://{host}/{name}").parse().unwrap();
    let registry = Registry::new(quick()).unwrap();
    let (inputs, digest) = oci::graph_data(&registry, &image, cache, &Limits::default(), &[]).await?;
    Ok((names(&inputs), digest.to_string()))
}

fn names(inputs: &Inputs) -> Vec<String> {
    inputs.iter().map(|(path, content)| format!("{path}={}", String::from_utf8_lossy(content))).collect()
}

/// An artifact as `oras push` makes it.
async fn push_artifact(push: &Pusher, tag: &str, blobs: Vec<(&str, Vec<u8>)>) -> PushedImage {
    let config = push.blob("application/vnd.oci.empty.v1+json", b"{}".to_vec()).await;
    let mut layers = Vec::new();
    for (media_type, bytes) in blobs {
        let mut layer = push.blob(media_type, bytes).await.descriptor;
        layer["annotations"] = json!({"org.opencontainers.image.title": "graph-data.tar.gz"});
        layers.push(layer);
    }
    let manifest = json!({
        "schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "artifactType": "application/vnd.example.graph-data", "config": config.descriptor, "layers": layers,
    });
    push.manifest(Some(tag), &manifest).await
}

const DATA: [(&str, &[u8]); 3] =
    [("version", b"1.1.0"), ("channels/c.yaml", b"c"), ("blocked-edges/1.yaml", b"blocked")];

fn under(root: &str) -> Vec<u8> {
    let files: Vec<(String, &[u8])> = DATA.iter().map(|(name, content)| (format!("{root}{name}"), *content)).collect();
    let files: Vec<(&str, &[u8])> = files.iter().map(|(name, content)| (name.as_str(), *content)).collect();
    tar(&files)
}

#[tokio::test]
async fn graph_data_is_found_in_images_artifacts_and_indexes() {
    let Some(registry) = registry().await else { return };
    let push = Pusher::new(&registry.base_url(), "graph-data");
    let want = ["blocked-edges/1.yaml=blocked", "channels/c.yaml=c", "version=1.1.0"];

    // As the product's documentation builds it: a system below, the data somewhere in the tree.
    let system = gzip(&tar(&[("etc/os-release", b"x"), ("usr/lib/tool/version", b"7")]));
    let data = gzip(&under("var/lib/cincinnati-graph-data/"));
    let image = push.image(Family::Docker, Some("image"), "amd64", vec![system.clone(), data.clone()]).await;
    let removed = gzip(&tar(&[("var/lib/cincinnati-graph-data/blocked-edges/.wh.1.yaml", b"")]));
    push.image(Family::Docker, Some("removed"), "amd64", vec![system, data.clone(), removed]).await;
    // As `oras` pushes a directory, a file, and a file beside another.
    let directory = ("application/vnd.oci.image.layer.v1.tar+gzip", gzip(&under("graph-data/")));
    push_artifact(&push, "directory", vec![directory]).await;
    push_artifact(&push, "file", vec![("application/gzip", gzip(&under("./")))]).await;
    let read_me = ("text/markdown", b"# Read me".to_vec());
    let plain = ("application/vnd.oci.image.layer.v1.tar", under(""));
    push_artifact(&push, "beside", vec![read_me, plain]).await;
    // An index: any image of it, but not what is said about one.
    let about = push.image(Family::Oci, None, "unknown", vec![]).await;
    let children = [(&about, json!({"os": "unknown", "architecture": "unknown"})), (&image, linux("amd64"))];
    let index = push.list(Family::Oci, "index", &children).await;

    let host = registry.host();
    for tag in ["image", "directory", "file", "beside", "index"] {
        let (files, _) = read(&host, &format!("graph-data:{tag}"), &Cache::none()).await.unwrap();
        assert_eq!(files, want, "{tag}");
    }
    let (files, _) = read(&host, "graph-data:removed", &Cache::none()).await.unwrap();
    assert_eq!(files, want[1..]);
    let (files, digest) = read(&host, &format!("graph-data@{}", index.digest), &Cache::none()).await.unwrap();
    assert_eq!((files.len(), digest), (3, index.digest));
}

#[tokio::test]
async fn an_unchanged_digest_is_served_from_the_cache_and_a_changed_one_is_not() {
    let Some(registry) = registry().await else { return };
    let push = Pusher::new(&registry.base_url(), "g");
    push_artifact(&push, "latest", vec![("application/gzip", gzip(&under("")))]).await;
    let proxy = Proxy::start(registry.base_url(), |_| Answer::Pass).await;
    let directory = tempfile::tempdir().unwrap();
    let cache = Cache::directory(directory.path()).unwrap();
    let first = read(proxy.host(), "g", &cache).await.unwrap();
    proxy.take();
    assert_eq!(read(proxy.host(), "g", &cache).await.unwrap(), first);
    assert_eq!(proxy.take(), ["HEAD /v2/g/manifests/latest"]);
    // By digest nothing at all is asked, once it is known by that name.
    let by_digest = format!("g@{}", first.1);
    assert_eq!(read(proxy.host(), &by_digest, &cache).await.unwrap(), first);
    proxy.take();
    assert_eq!(read(proxy.host(), &by_digest, &cache).await.unwrap(), first);
    assert_eq!(proxy.take(), Vec::<String>::new());

    let changed = tar(&[("version", b"1.2.0"), ("channels/d.yaml", b"d")]);
    push_artifact(&push, "latest", vec![("application/x-tar", changed)]).await;
    let second = read(proxy.host(), "g", &cache).await.unwrap();
    assert_eq!(second.0, ["channels/d.yaml=d", "version=1.2.0"]);
    assert_ne!(second.1, first.1);
    // Of one name, the last is kept.
    assert_eq!(std::fs::read_dir(directory.path().join("graph-data")).unwrap().count(), 2);
    assert_eq!(cache.last_error(), None);
}

#[tokio::test]
async fn what_is_no_graph_data_is_said() {
    let Some(registry) = registry().await else { return };
    let push = Pusher::new(&registry.base_url(), "g");
    let host = registry.host();
    push.image(Family::Oci, Some("none"), "amd64", vec![gzip(&tar(&[("x", b"x")]))]).await;
    push_artifact(&push, "text", vec![("text/plain", b"hello".to_vec())]).await;
    push.image(Family::Oci, Some("twice"), "amd64", vec![gzip(&under("a/")), gzip(&under("b/"))]).await;
    let torn = gzip(&under(""));
    push.image(Family::Oci, Some("torn"), "amd64", vec![torn[..torn.len() - 30].to_vec()]).await;
    // What is below is whole, and what is above may block one of its updates.
    let below = gzip(&under(""));
    let layer = "application/vnd.oci.image.layer.v1.tar";
    for (tag, above) in [
        ("zstd", &b"\x28\xb5\x2f\xfd\x00\xa8\x01\x00\x00"[..]),
        ("xz", b"\xfd7zXZ\0\0\x04\xe6\xd6\xb4\x46"),
        ("bzip2", b"BZh91AY&SY\0\0\0\0"),
        ("other", b"# Read me"),
    ] {
        push.image(Family::Oci, Some(tag), "amd64", vec![below.clone(), above.to_vec()]).await;
        push_artifact(&push, &format!("{tag}-beside"), vec![(layer, below.clone()), (layer, above.to_vec())]).await;
    }
    for (name, kind, want) in [
        ("g:none", "not_graph_data", "it contains no graph-data"),
        ("g:text", "not_graph_data", "it contains no graph-data"),
        ("g:twice", "not_graph_data", "at `/a/` and at `/b/`"),
        ("g:torn", "broken", "build the image again"),
        ("g:zstd", "broken", "build the image again"),
        ("g:zstd-beside", "broken", "build the image again"),
        ("g:xz", "broken", "it is packed with xz, which is not supported"),
        ("g:xz-beside", "broken", "it is packed with xz, which is not supported"),
        ("g:bzip2", "broken", "it is packed with bzip2, which is not supported"),
        ("g:bzip2-beside", "broken", "it is packed with bzip2, which is not supported"),
        ("g:other", "broken", "its content is not an archive"),
        ("g:other-beside", "broken", "its content is not an archive"),
        ("g:nowhere", "not_found", "g:nowhere: the registry has no such image; check the name"),
    ] {
        let error = read(&host, name, &Cache::none()).await.unwrap_err();
        assert!(error.kind() == kind && error.to_string().contains(want), "{name}: {error}");
    }
    push_artifact(&push, "good", vec![("application/gzip", gzip(&under("")))]).await;
    let small = Limits { file_bytes: 10, ..Limits::default() };
    let image: Image = format!("{host}/g:good").parse().unwrap();
    let error =
        oci::graph_data(&Registry::new(quick()).unwrap(), &image, &Cache::none(), &small, &[]).await.unwrap_err();
    assert_eq!(error.kind(), "too_large", "{error}");
}

#[tokio::test]
async fn all_layers_of_an_image_are_bounded_together() {
    let Some(registry) = registry().await else { return };
    let push = Pusher::new(&registry.base_url(), "g");
    let zeros = vec![0; 600 << 10];
    let layers = |count: usize| {
        let above = (0..count).map(|_| gzip(&tar(&[("usr/zeros", &zeros)])));
        [gzip(&under(""))].into_iter().chain(above).collect::<Vec<_>>()
    };
    push.image(Family::Oci, Some("one"), "amd64", layers(1)).await;
    push.image(Family::Oci, Some("two"), "amd64", layers(2)).await;
    let read = async |tag: &str, image_bytes: u64| {
        let options = RegistryOptions { image_bytes, ..quick() };
        let image: Image = format!("{}/g:{tag}", registry.host()).parse().unwrap();
        let registry = Registry::new(options).unwrap();
        let read = oci::graph_data(&registry, &image, &Cache::none(), &Limits::default(), &[]).await;
        read.map(|(inputs, _)| names(&inputs).len()).map_err(|error| error.to_string())
    };
    assert_eq!(read("one", 1 << 20).await, Ok(3));
    assert_eq!(read("two", 2 << 20).await, Ok(3));
    // Each alone is within it, unpacked.
    let error = read("two", 1 << 20).await.unwrap_err();
    assert!(
        error.contains("(layer sha256:") && error.contains("it is larger than 1048576 bytes (the cap `"),
        "{error}"
    );
    // And as they are sent.
    let error = read("two", 100).await.unwrap_err();
    assert!(error.contains("(all layers): it is larger than 100 bytes"), "{error}");
}
