//! Releases as images: packed, pushed, scraped, read back, kept and signed; and every way in which one is refused.

use std::process::Command;

use clearway_core::{Arch, Digest, RegistryLimits};
use clearway_release::{Files, Metadata, ReleaseLimits, Selection, Verdict};
use clearway_sources::oci::{Cache, Image, Registry, RegistryOptions, Repository};
use clearway_sources::release::{self, Fetched, Key, Registries, ReleaseError, SigningKey};
use clearway_testbed::images::{Family, Pusher, gzip, linux, metadata, tar};
use clearway_testbed::registry;
use serde_json::json;

use crate::proxy::{Answer, Proxy, status};
use crate::{listed, quick, scrape};

const MANIFESTS: &str = "\
{apiVersion: v1, kind: Namespace, metadata: {name: shop}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: shop}, data: {answer: '42'}}
";

fn packed(version: &str) -> Files {
    let version = version.parse().unwrap();
    let metadata = Metadata { version, previous: vec!["1.4.0".to_owned()], next: vec![], metadata: [].into() };
    let streams = [("all.yaml".to_owned(), MANIFESTS.as_bytes())];
    clearway_release::pack(streams, &metadata, "main", &ReleaseLimits::default()).unwrap().files
}

async fn fetch(host: &str, name: &str, arch: Option<&str>, cache: &Cache) -> Result<Fetched, ReleaseError> {
    fetch_within(host, name, arch, cache, &ReleaseLimits::default()).await
}

async fn fetch_within(
    host: &str,
    name: &str,
    arch: Option<&str>,
    cache: &Cache,
    limits: &ReleaseLimits,
) -> Result<Fetched, ReleaseError> {
    let registry = Registry::new(RegistryOptions {
        limits: RegistryLimits { unpacked_bytes: 1 << 20, ..RegistryLimits::default() },
        ..quick()
    })
    .unwrap();
    let image: Image = format!("oci://{host}/{name}").parse().unwrap();
    let arch: Option<Arch> = arch.map(|arch| arch.parse().unwrap());
    release::image(Registries { registry: &registry, cache, arch: arch.as_ref() }, &image, limits).await
}

#[tokio::test]
async fn what_is_packed_is_scraped_and_read_back_and_kept() {
    let Some(docker) = registry().await else { return };
    let registry = Registry::new(quick()).unwrap();
    let repository: Repository = format!("{}/platform", docker.host()).parse().unwrap();
    let files = packed("1.5.0");
    let (version, arch) = ("1.5.0".parse().unwrap(), "arm64".parse().unwrap());
    let pushed = release::push(&registry, &repository, "1.5.0", &files, &version, &arch).await.unwrap();
    // The same release is the same image.
    let again = release::push(&registry, &repository, "again", &files, &version, &arch).await.unwrap();
    assert_eq!(pushed, again);
    let scraped = scrape(&docker.host(), "platform", &Cache::none()).await.unwrap();
    assert_eq!(listed(&scraped), [("1.5.0".to_owned(), "arm64".to_owned(), pushed.digest.to_string())]);
    assert_eq!(scraped.left_out, []);

    let directory = tempfile::tempdir().unwrap();
    let cache = Cache::directory(directory.path()).unwrap();
    let fetched = fetch(&docker.host(), "platform:1.5.0", Some("arm64"), &cache).await.unwrap();
    assert_eq!((&fetched.files, &fetched.digest, &fetched.chosen), (&files, &pushed.digest, &None));
    let payload = fetched.payload(&Selection::default(), &ReleaseLimits::default()).unwrap();
    assert_eq!(payload.version(), &version);
    let names: Vec<String> = payload.manifests.iter().map(|manifest| manifest.id.to_string()).collect();
    assert_eq!(names, ["Namespace shop", "ConfigMap shop/settings"]);
    let error = fetched.clone().expect(Some(&Digest::sha256(b"other"))).unwrap_err();
    assert_eq!(error.kind(), "digest");

    // By digest, a resumed update needs no registry.
    let host = docker.host();
    drop(docker);
    let by_digest = format!("platform@{}", pushed.digest);
    let kept = fetch(&host, &by_digest, Some("arm64"), &cache).await.unwrap();
    assert_eq!((kept.files, kept.digest), (files, pushed.digest));
    assert_eq!(fetch(&host, &by_digest, Some("amd64"), &cache).await.unwrap_err().kind(), "unreachable");
    // What was changed in the cache is not believed.
    for entry in std::fs::read_dir(directory.path().join("payloads")).unwrap() {
        let path = entry.unwrap().path();
        let mut bytes = std::fs::read(&path).unwrap();
        let last = bytes.iter().rposition(|byte| *byte != 0).unwrap();
        bytes[last] ^= 1;
        std::fs::write(path, bytes).unwrap();
    }
    assert_eq!(fetch(&host, &by_digest, Some("arm64"), &cache).await.unwrap_err().kind(), "unreachable");
}

#[tokio::test]
async fn an_index_is_read_for_one_architecture_and_a_missing_one_is_named() {
    let Some(docker) = registry().await else { return };
    let push = Pusher::new(&docker.base_url(), "a");
    let layer = |version: &str| gzip(&tar(&[("release-manifests/release-metadata", &metadata(version, &json!({})))]));
    let amd = push.image(Family::Docker, None, "amd64", vec![layer("1.0.0")]).await;
    let arm = push.image(Family::Docker, None, "arm64", vec![layer("1.0.1")]).await;
    let list = push.list(Family::Docker, "multi", &[(&amd, linux("amd64")), (&arm, linux("arm64"))]).await;
    push.image(Family::Oci, Some("one"), "s390x", vec![layer("1.0.2")]).await;
    let host = docker.host();
    for (arch, want) in [(None, &amd), (Some("amd64"), &amd), (Some("arm64"), &arm)] {
        let fetched = fetch(&host, "a:multi", arch, &Cache::none()).await.unwrap();
        let chosen = fetched.chosen.map(|chosen| chosen.to_string());
        assert_eq!((fetched.digest.to_string(), chosen), (list.digest.clone(), Some(want.digest.clone())), "{arch:?}");
    }
    for (name, arch, want) in [
        ("a:multi", "s390x", "no image for s390x; it has images for: amd64, arm64"),
        ("a:one", "amd64", "no image for amd64; it has images for: s390x"),
    ] {
        let error = fetch(&host, name, Some(arch), &Cache::none()).await.unwrap_err();
        assert!(error.kind() == "architecture" && error.to_string().contains(want), "{error}");
        assert!(error.is_about_the_release());
    }
    assert!(fetch(&host, "a:one", None, &Cache::none()).await.is_ok());
}

#[tokio::test]
async fn layers_are_read_as_they_lie_upon_each_other() {
    let Some(docker) = registry().await else { return };
    let push = Pusher::new(&docker.base_url(), "a");
    let below = tar(&[
        ("etc/passwd", b"x"),
        ("release-manifests/old.yaml", b"old"),
        ("release-manifests/gone.yaml", b"gone"),
        ("release-manifests/release-metadata", b"below"),
    ]);
    let above = tar(&[("release-manifests/.wh.gone.yaml", b""), ("release-manifests/release-metadata", b"above")]);
    push.image(Family::Oci, Some("two"), "amd64", vec![gzip(&below), above]).await;
    let fetched = fetch(&docker.host(), "a:two", None, &Cache::none()).await.unwrap();
    let want: Files = [("old.yaml", &b"old"[..]), ("release-metadata", b"above")]
        .into_iter()
        .map(|(name, content)| (name.to_owned(), content.to_vec()))
        .collect();
    assert_eq!(fetched.files, want);
}

#[tokio::test]
async fn what_is_no_whole_release_is_refused_by_name() {
    let Some(docker) = registry().await else { return };
    let push = Pusher::new(&docker.base_url(), "a");
    let host = docker.host();
    let good = tar(&[("release-manifests/release-metadata", b"{}"), ("release-manifests/a.yaml", &[b'#'; 3000])]);
    let torn = gzip(&good);
    let torn = torn[..torn.len() - 30].to_vec();
    let mut link = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(tar::EntryType::Symlink);
    header.set_size(0);
    link.append_link(&mut header, "release-manifests/a.yaml", "/etc/passwd").unwrap();
    let mut escape = tar(&[("release-manifests/x/etc/passwd", b"x")]);
    let path = b"release-manifests/../etc/passwd";
    escape[..path.len()].copy_from_slice(path);
    let mut header = tar::Header::from_byte_slice(&escape[..512]).clone();
    header.set_cksum();
    escape[..512].copy_from_slice(header.as_bytes());
    for (tag, layer) in [
        ("torn", torn),
        ("link", link.into_inner().unwrap()),
        ("escape", escape),
        ("none", gzip(&tar(&[("etc/passwd", b"x")]))),
        ("good", gzip(&good)),
    ] {
        push.image(Family::Oci, Some(tag), "amd64", vec![layer]).await;
    }
    // A configuration that names what the layers unpack to.
    for (tag, layer, diff_ids) in [
        ("other", &good, json!([Digest::sha256(b"other")])),
        ("two", &good, json!([Digest::sha256(&good), Digest::sha256(b"other")])),
        ("same", &good, json!([Digest::sha256(&good)])),
        ("bomb", &[good.clone(), vec![0; 4 << 20]].concat(), json!([Digest::sha256(b"")])),
    ] {
        let types = ["application/vnd.oci.image.config.v1+json", "application/vnd.oci.image.layer.v1.tar+gzip"];
        let config = json!({"architecture": "amd64", "rootfs": {"diff_ids": diff_ids}});
        let config = push.blob(types[0], config.to_string().into_bytes()).await.descriptor;
        let layer = push.blob(types[1], gzip(layer)).await.descriptor;
        let media_type = "application/vnd.oci.image.manifest.v1+json";
        let manifest = json!({"schemaVersion": 2, "mediaType": media_type, "config": config, "layers": [layer]});
        push.manifest(Some(tag), &manifest).await;
    }
    for (tag, kind, want) in [
        ("torn", "broken", "build the image again"),
        ("link", "broken", "`/release-manifests/a.yaml` in it is a symbolic link, not a file"),
        ("escape", "broken", "a name in it has `..`"),
        ("none", "not_a_release", "the image has no directory release-manifests"),
        ("other", "broken", "its unpacked digest is not sha256:"),
        ("two", "broken", "it has 1 layers, and its configuration 2"),
        ("bomb", "too_large", "larger than 1048576 bytes"),
        ("nowhere", "not_found", "no such image"),
    ] {
        let error = fetch(&host, &format!("a:{tag}"), None, &Cache::none()).await.unwrap_err();
        assert!(error.kind() == kind && error.to_string().contains(want), "{tag}: {error}");
        assert_eq!(error.is_about_the_release(), kind != "not_found", "{tag}");
    }
    for tag in ["good", "same"] {
        assert_eq!(fetch(&host, &format!("a:{tag}"), None, &Cache::none()).await.unwrap().files.len(), 2, "{tag}");
    }
    for (limits, kind, want) in [
        (ReleaseLimits { files: 1, ..ReleaseLimits::default() }, "broken", "more than 1 files of a release"),
        (ReleaseLimits { bytes: 2000, ..ReleaseLimits::default() }, "too_large", "larger than 2000 bytes"),
    ] {
        let error = fetch_within(&host, "a:good", None, &Cache::none(), &limits).await.unwrap_err();
        assert!(error.kind() == kind && error.to_string().contains(want), "{error}");
    }
    // A registry that sends something else, or half of it, for ever.
    let wrong = gzip(&good);
    let digest = Digest::sha256(&wrong).to_string();
    for (answer, want) in [
        (Answer::Say(hyper::StatusCode::OK, vec![], b"other".to_vec()), "is truncated"),
        (Answer::Say(hyper::StatusCode::OK, vec![], vec![b'x'; wrong.len()]), "does not match the digest"),
        (Answer::Cut, "failed after 12 attempts"),
        (status(404), "no such layer"),
    ] {
        let digest = digest.clone();
        let script = move |asked: &crate::proxy::Asked| {
            if asked.line.contains(&digest) { answer.clone() } else { Answer::Pass }
        };
        let proxy = Proxy::start(docker.base_url(), script).await;
        let error = fetch(proxy.host(), "a:good", None, &Cache::none()).await.unwrap_err().to_string();
        assert!(error.contains(want), "{want}: {error}");
    }
}

/// A pair of keys, as `openssl` makes them; nothing where there is none.
fn keys(directory: &std::path::Path, name: &str) -> Option<(SigningKey, Vec<Key>)> {
    let line = format!(
        "command -v openssl >/dev/null || exit 127; openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 \
         -out {name}.key && openssl pkey -in {name}.key -pubout -out {name}.pub"
    );
    let done = Command::new("sh").args(["-c", &line]).current_dir(directory).output().unwrap();
    if done.status.code() == Some(127) {
        eprintln!("not checked, no openssl");
        return None;
    }
    let pem = std::fs::read(directory.join(format!("{name}.key"))).unwrap();
    let public = std::fs::read(directory.join(format!("{name}.pub"))).unwrap();
    Some((SigningKey::read(name, &pem).unwrap(), Key::read(name, &public).unwrap()))
}

/// Puts the signatures of one release beside another, as anybody could who may write to the repository.
async fn copy_signatures(base_url: &str, from: &Digest, to: &Digest) {
    let url = |digest: &Digest| format!("{base_url}/v2/platform/manifests/sha256-{}.sig", digest.hex());
    let media_type = "application/vnd.oci.image.manifest.v1+json";
    let client = reqwest::Client::new();
    let manifest = client.get(url(from)).header("accept", media_type).send().await.unwrap().bytes().await.unwrap();
    let put = client.put(url(to)).header("content-type", media_type).body(manifest).send().await.unwrap();
    assert_eq!(put.status(), 201);
}

#[tokio::test]
async fn a_signature_is_found_verified_and_kept() {
    let Some(docker) = registry().await else { return };
    let directory = tempfile::tempdir().unwrap();
    let Some((mine, my_key)) = keys(directory.path(), "mine") else { return };
    let Some((yours, your_key)) = keys(directory.path(), "yours") else { return };
    let registry = Registry::new(quick()).unwrap();
    let host = docker.host();
    let repository: Repository = format!("{host}/platform").parse().unwrap();
    let (version, arch) = ("1.5.0".parse().unwrap(), Arch::default());
    let pushed = release::push(&registry, &repository, "1.5.0", &packed("1.5.0"), &version, &arch).await.unwrap();
    let cache = Cache::directory(directory.path().join("cache")).unwrap();
    let registries = Registries { registry: &registry, cache: &cache, arch: None };
    let fetched = fetch(&host, "platform:1.5.0", None, &cache).await.unwrap();
    assert_eq!(fetched.verify(&my_key, registries).await.unwrap(), Verdict::Unsigned);

    yours.sign_image(&registry, &repository, &pushed.digest).await.unwrap();
    let failed = fetched.verify(&my_key, registries).await.unwrap();
    assert!(matches!(&failed, Verdict::Failed { why } if why.contains("none of its 1 signatures")), "{failed:?}");
    // A second one beside it, which is found although the first one is kept.
    mine.sign_image(&registry, &repository, &pushed.digest).await.unwrap();
    let verified = Verdict::Verified { key: "mine".to_owned(), what: pushed.digest.to_string() };
    assert_eq!(fetched.verify(&my_key, registries).await.unwrap(), verified);
    assert!(matches!(fetched.verify(&your_key, registries).await.unwrap(), Verdict::Verified { .. }));
    // Signatures are no releases.
    let scraped = scrape(&host, "platform", &Cache::none()).await.unwrap();
    assert_eq!((scraped.releases, scraped.left_out.len()), (1, 1));

    // A signature that was moved to another release.
    let other = release::push(&registry, &repository, "1.5.1", &packed("1.5.1"), &version, &arch).await.unwrap();
    copy_signatures(&docker.base_url(), &pushed.digest, &other.digest).await;
    let moved = fetch(&host, "platform:1.5.1", None, &cache).await.unwrap();
    let failed = moved.verify(&my_key, registries).await.unwrap();
    assert!(matches!(&failed, Verdict::Failed { why } if why.contains("signed another release")), "{failed:?}");

    drop(docker);
    assert_eq!(fetched.verify(&my_key, registries).await.unwrap(), verified);
}

#[tokio::test]
async fn who_pushes_asks_for_the_right_to_and_sends_nothing_elsewhere() {
    let Some(docker) = registry().await else { return };
    let script = |elsewhere: bool| {
        move |asked: &crate::proxy::Asked| {
            let host = asked.headers["host"].to_str().unwrap();
            let say = |code: u16, headers: Vec<(&'static str, String)>, body: &str| {
                Answer::Say(hyper::StatusCode::from_u16(code).unwrap(), headers, body.as_bytes().to_vec())
            };
            if asked.line.starts_with("GET /token?") {
                let right = if asked.line.contains("pull%2Cpush") { "push" } else { "pull" };
                return say(200, vec![], &format!(r#"{{"token": "{right}"}}"#));
            }
            let token = asked.headers.get("authorization").map_or("", |value| value.to_str().unwrap());
            let method = asked.line.split(' ').next().unwrap();
            if token.is_empty() || (token == "Bearer pull" && ["POST", "PUT"].contains(&method)) {
                return say(401, vec![("www-authenticate", format!("Bearer realm=\"http://{host}/token\""))], "");
            }
            match method {
                "HEAD" => status(404),
                "POST" if elsewhere => say(202, vec![("location", "http://127.0.0.1:1/upload".to_owned())], ""),
                "POST" => say(202, vec![("location", "/upload?state=x".to_owned())], ""),
                _ => status(201),
            }
        }
    };
    let (version, arch) = ("1.5.0".parse().unwrap(), Arch::default());
    for elsewhere in [false, true] {
        let proxy = Proxy::start(docker.base_url(), script(elsewhere)).await;
        let repository: Repository = format!("{}/platform", proxy.host()).parse().unwrap();
        let registry = Registry::new(quick()).unwrap();
        let pushed = release::push(&registry, &repository, "1.5.0", &packed("1.5.0"), &version, &arch).await;
        let asked = proxy.take();
        if elsewhere {
            let error = pushed.unwrap_err().to_string();
            assert!(error.contains("its upload URL is on another host"), "{error}");
        } else {
            assert!(pushed.is_ok(), "{pushed:?}");
            let uploads = asked.iter().filter(|line| line.starts_with("PUT /upload?state=x&digest=sha256%3A")).count();
            assert_eq!(uploads, 2, "{asked:#?}");
            assert_eq!(asked.last().map(String::as_str), Some("PUT /v2/platform/manifests/1.5.0"));
        }
    }
}
