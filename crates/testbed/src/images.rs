//! The least of a tool that pushes images: layers, manifests and lists, in Docker's and in OCI's words.
//!
//! ```no_run
//! use clearway_testbed::images::Pusher;
//!
//! # async fn test() {
//! let Some(registry) = clearway_testbed::registry().await else { return };
//! Pusher::new(&registry.base_url(), "ocp/release").release("4.5.0", "4.5.0", "amd64").await;
//! # }
//! ```
//!
//! What cannot be pushed fails the test.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use reqwest::{Client, StatusCode};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

/// Whose words a manifest is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// Docker's, version 2 schema 2.
    Docker,
    /// The Open Container Initiative's.
    Oci,
}

/// A repository of a registry to push to.
#[derive(Debug)]
pub struct Pusher {
    client: Client,
    base: String,
}

/// Something that was pushed, as a manifest refers to it.
#[derive(Debug, Clone)]
pub struct PushedImage {
    /// Its digest: `sha256:…`.
    pub digest: String,
    /// Media type, digest and size.
    pub descriptor: Value,
}

impl PushedImage {
    fn new(media_type: &str, bytes: &[u8]) -> Self {
        let digest = digest(bytes);
        PushedImage { descriptor: json!({"mediaType": media_type, "digest": digest, "size": bytes.len()}), digest }
    }
}

impl Family {
    fn types(self) -> [&'static str; 4] {
        match self {
            Family::Docker => [
                "application/vnd.docker.distribution.manifest.v2+json",
                "application/vnd.docker.distribution.manifest.list.v2+json",
                "application/vnd.docker.container.image.v1+json",
                "application/vnd.docker.image.rootfs.diff.tar.gzip",
            ],
            Family::Oci => [
                "application/vnd.oci.image.manifest.v1+json",
                "application/vnd.oci.image.index.v1+json",
                "application/vnd.oci.image.config.v1+json",
                "application/vnd.oci.image.layer.v1.tar+gzip",
            ],
        }
    }
}

impl Pusher {
    /// A repository by the registry's URL and its own name.
    pub fn new(base_url: &str, repository: &str) -> Self {
        // The client wants a TLS provider even where there is no TLS. A second call finds it installed.
        let _ = rustls::crypto::ring::default_provider().install_default();
        Pusher { client: Client::new(), base: format!("{base_url}/v2/{repository}") }
    }

    /// Pushes bytes under a media type.
    ///
    /// # Panics
    ///
    /// When the registry refuses it.
    pub async fn blob(&self, media_type: &str, bytes: Vec<u8>) -> PushedImage {
        let pushed = PushedImage::new(media_type, &bytes);
        let begun = self.client.post(format!("{}/blobs/uploads/", self.base)).send().await.unwrap();
        assert_eq!(begun.status(), StatusCode::ACCEPTED);
        let place = begun.headers()["location"].to_str().unwrap().to_owned();
        let url = format!("{place}{}digest={}", if place.contains('?') { '&' } else { '?' }, pushed.digest);
        let put = self.client.put(url).header("content-type", "application/octet-stream").body(bytes);
        assert_eq!(put.send().await.unwrap().status(), StatusCode::CREATED);
        pushed
    }

    /// Pushes a manifest under a tag, or under its digest only.
    ///
    /// # Panics
    ///
    /// When the registry refuses it.
    pub async fn manifest(&self, tag: Option<&str>, manifest: &Value) -> PushedImage {
        let media_type = manifest["mediaType"].as_str().unwrap();
        let bytes = serde_json::to_vec(manifest).unwrap();
        let pushed = PushedImage::new(media_type, &bytes);
        let url = format!("{}/manifests/{}", self.base, tag.unwrap_or(&pushed.digest));
        let put = self.client.put(url).header("content-type", media_type).body(bytes).send().await.unwrap();
        let status = put.status();
        assert_eq!(status, StatusCode::CREATED, "{}", put.text().await.unwrap());
        pushed
    }

    /// Takes a manifest away, and every tag that leads to it.
    ///
    /// # Panics
    ///
    /// When the registry refuses it.
    pub async fn delete(&self, pushed: &PushedImage) {
        let url = format!("{}/manifests/{}", self.base, pushed.digest);
        assert_eq!(self.client.delete(url).send().await.unwrap().status(), StatusCode::ACCEPTED);
    }

    /// Pushes an image of layers, the lowest first.
    ///
    /// # Panics
    ///
    /// When the registry refuses it.
    pub async fn image(&self, family: Family, tag: Option<&str>, arch: &str, layers: Vec<Vec<u8>>) -> PushedImage {
        let [manifest_type, _, config_type, layer_type] = family.types();
        let config = json!({"architecture": arch, "os": "linux", "rootfs": {"type": "layers", "diff_ids": []}});
        let config = self.blob(config_type, serde_json::to_vec(&config).unwrap()).await;
        let mut pushed = Vec::new();
        for layer in layers {
            pushed.push(self.blob(layer_type, layer).await.descriptor);
        }
        let manifest = json!({
            "schemaVersion": 2, "mediaType": manifest_type, "config": config.descriptor, "layers": pushed,
        });
        self.manifest(tag, &manifest).await
    }

    /// Pushes an image of one layer that is a release.
    pub async fn release(&self, tag: &str, version: &str, arch: &str) -> PushedImage {
        self.image(Family::Docker, Some(tag), arch, vec![release_layer(version, &json!({}))]).await
    }

    /// Pushes a list of images, each with its platform.
    ///
    /// # Panics
    ///
    /// When the registry refuses it.
    pub async fn list(&self, family: Family, tag: &str, children: &[(&PushedImage, Value)]) -> PushedImage {
        let manifests: Vec<Value> = children
            .iter()
            .map(|(child, platform)| {
                let mut descriptor = child.descriptor.clone();
                descriptor["platform"] = platform.clone();
                descriptor
            })
            .collect();
        let list = json!({"schemaVersion": 2, "mediaType": family.types()[1], "manifests": manifests});
        self.manifest(Some(tag), &list).await
    }
}

fn digest(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    Sha256::digest(bytes).iter().fold("sha256:".to_owned(), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The platform of an image in a list.
pub fn linux(arch: &str) -> Value {
    json!({"os": "linux", "architecture": arch})
}

/// A tar archive of files.
///
/// # Panics
///
/// When it cannot be written, which into memory does not happen.
pub fn tar(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (name, content) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        builder.append_data(&mut header, name, *content).unwrap();
    }
    builder.into_inner().unwrap()
}

/// Bytes, gzipped.
///
/// # Panics
///
/// When it cannot be written, which into memory does not happen.
pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// The metadata of a release.
///
/// # Panics
///
/// When it cannot be written, which into memory does not happen.
pub fn metadata(version: &str, more: &Value) -> Vec<u8> {
    let metadata =
        json!({"kind": "cincinnati-metadata-v0", "version": version, "previous": ["4.4.9"], "metadata": more});
    serde_json::to_vec(&metadata).unwrap()
}

/// A layer that makes an image a release.
pub fn release_layer(version: &str, more: &Value) -> Vec<u8> {
    gzip(&tar(&[
        ("release-manifests/image-references", b"{}"),
        ("release-manifests/release-metadata", &metadata(version, more)),
    ]))
}
