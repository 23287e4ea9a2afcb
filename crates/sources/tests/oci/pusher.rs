//! The least of a tool that pushes images: layers, manifests and lists, in Docker's and in OCI's words.

use std::io::Write as _;

use clearway_core::Digest;
use flate2::Compression;
use flate2::write::GzEncoder;
use reqwest::{Client, StatusCode};
use serde_json::{Value, json};

/// Whose words a manifest is written in.
#[derive(Clone, Copy)]
pub(crate) enum Family {
    Docker,
    Oci,
}

/// A repository of a registry to push to.
pub(crate) struct Pusher {
    client: Client,
    base: String,
}

/// Something that was pushed, as a manifest refers to it.
#[derive(Clone)]
pub(crate) struct Pushed {
    pub(crate) digest: Digest,
    pub(crate) descriptor: Value,
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
    pub(crate) fn new(base_url: &str, repository: &str) -> Self {
        // The client wants a TLS provider even where there is no TLS. A second call finds it installed.
        let _ = rustls::crypto::ring::default_provider().install_default();
        Pusher { client: Client::new(), base: format!("{base_url}/v2/{repository}") }
    }

    /// Pushes bytes under a media type.
    pub(crate) async fn blob(&self, media_type: &str, bytes: Vec<u8>) -> Pushed {
        let (digest, size) = (Digest::sha256(&bytes), bytes.len());
        let begun = self.client.post(format!("{}/blobs/uploads/", self.base)).send().await.unwrap();
        assert_eq!(begun.status(), StatusCode::ACCEPTED);
        let place = begun.headers()["location"].to_str().unwrap().to_owned();
        let url = format!("{place}{}digest={digest}", if place.contains('?') { '&' } else { '?' });
        let put = self.client.put(url).header("content-type", "application/octet-stream").body(bytes);
        assert_eq!(put.send().await.unwrap().status(), StatusCode::CREATED);
        Pushed { descriptor: json!({"mediaType": media_type, "digest": digest.to_string(), "size": size}), digest }
    }

    /// Pushes a manifest under a tag, or under its digest only.
    pub(crate) async fn manifest(&self, tag: Option<&str>, manifest: &Value) -> Pushed {
        let media_type = manifest["mediaType"].as_str().unwrap();
        let bytes = serde_json::to_vec(manifest).unwrap();
        let (digest, size) = (Digest::sha256(&bytes), bytes.len());
        let url = format!("{}/manifests/{}", self.base, tag.map_or(digest.to_string(), str::to_owned));
        let put = self.client.put(url).header("content-type", media_type).body(bytes).send().await.unwrap();
        let status = put.status();
        assert_eq!(status, StatusCode::CREATED, "{}", put.text().await.unwrap());
        Pushed { descriptor: json!({"mediaType": media_type, "digest": digest.to_string(), "size": size}), digest }
    }

    /// Pushes an image of layers, the lowest first.
    pub(crate) async fn image(&self, family: Family, tag: Option<&str>, arch: &str, layers: Vec<Vec<u8>>) -> Pushed {
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
    pub(crate) async fn release(&self, tag: &str, version: &str, arch: &str) -> Pushed {
        self.image(Family::Docker, Some(tag), arch, vec![release_layer(version, &json!({}))]).await
    }

    /// Pushes a list of images, each with its platform.
    pub(crate) async fn list(&self, family: Family, tag: &str, children: &[(&Pushed, Value)]) -> Pushed {
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

/// The platform of an image in a list.
pub(crate) fn linux(arch: &str) -> Value {
    json!({"os": "linux", "architecture": arch})
}

/// A tar archive of files.
pub(crate) fn tar(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (name, content) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        builder.append_data(&mut header, name, *content).unwrap();
    }
    builder.into_inner().unwrap()
}

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// The metadata of a release.
pub(crate) fn metadata(version: &str, more: &Value) -> Vec<u8> {
    let metadata =
        json!({"kind": "cincinnati-metadata-v0", "version": version, "previous": ["4.4.9"], "metadata": more});
    serde_json::to_vec(&metadata).unwrap()
}

/// A layer that makes an image a release.
pub(crate) fn release_layer(version: &str, more: &Value) -> Vec<u8> {
    gzip(&tar(&[
        ("release-manifests/image-references", b"{}"),
        ("release-manifests/release-metadata", &metadata(version, more)),
    ]))
}
