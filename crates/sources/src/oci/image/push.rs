//! Writing to a registry: blobs, and manifests that refer to them.

use std::time::Duration;

use bytes::Bytes;
use clearway_core::Digest;
use reqwest::Method;
use reqwest::header::LOCATION;
use serde_json::{Value, json};

use crate::oci::access::pace::AttemptError;
use crate::oci::access::registry::{Registry, RegistryRequest, RequestBody};
use crate::oci::image::media::{OCI_CONFIG, OCI_EMPTY, OCI_LAYER, OCI_MANIFEST};
use crate::oci::{OciError, Repository};

/// The slowest that something may be sent, in bytes per second.
const SLOWEST: u64 = 32 << 10;

/// Pushes an image of one layer under a tag; the digest of its manifest.
pub(crate) async fn push_image(
    registry: &Registry,
    repository: &Repository,
    tag: &str,
    config: Vec<u8>,
    layer: Vec<u8>,
) -> Result<Digest, OciError> {
    let layer = registry.push_blob(repository, OCI_LAYER, layer).await?;
    let config = registry.push_blob(repository, OCI_CONFIG, config).await?;
    let manifest = json!({"schemaVersion": 2, "mediaType": OCI_MANIFEST, "config": config, "layers": [layer]});
    registry.push_manifest(repository, tag, &manifest).await
}

/// Pushes an artifact of one layer under a tag; the digest of its manifest.
pub(crate) async fn push_artifact(
    registry: &Registry,
    repository: &Repository,
    tag: &str,
    artifact_type: &str,
    layer: Vec<u8>,
) -> Result<Digest, OciError> {
    let layer = registry.push_blob(repository, OCI_LAYER, layer).await?;
    let config = registry.push_blob(repository, OCI_EMPTY, b"{}".to_vec()).await?;
    let manifest = json!({
        "schemaVersion": 2, "mediaType": OCI_MANIFEST, "artifactType": artifact_type,
        "config": config, "layers": [layer],
    });
    registry.push_manifest(repository, tag, &manifest).await
}

impl Registry {
    /// Pushes bytes, unless the registry has them; how a manifest refers to them.
    pub(in crate::oci) async fn push_blob(
        &self,
        repository: &Repository,
        media_type: &'static str,
        bytes: Vec<u8>,
    ) -> Result<Value, OciError> {
        let digest = Digest::sha256(&bytes);
        let descriptor = json!({"mediaType": media_type, "digest": digest, "size": bytes.len()});
        let at = format!("{repository} (blob {digest})");
        let within = Some(self.options.timeout + Duration::from_secs(bytes.len() as u64 / SLOWEST));
        let head = self.blob(repository, &digest, &at)?;
        let head = &RegistryRequest { method: Method::HEAD, within, ..head };
        match self.options.pace.persist(&at, || async move { self.attempt(head).await }).await {
            Ok(_) => return Ok(descriptor),
            Err(OciError::NotFound { .. }) => {}
            Err(error) => return Err(error),
        }
        let nothing = &RequestBody { media_type: "application/octet-stream", bytes: Bytes::new() };
        let sends = &RequestBody { media_type: "application/octet-stream", bytes: bytes.into() };
        let url = self.url(repository, "blobs/uploads/")?;
        let (at, digest) = (at.as_str(), &digest);
        let begin = &RegistryRequest {
            repository,
            method: Method::POST,
            url,
            accept: None,
            within,
            at,
            what: "repository",
            sends: Some(nothing),
        };
        let upload = || async move {
            let answer = self.attempt(begin).await?;
            let place = answer.headers().get(LOCATION).and_then(|place| place.to_str().ok());
            let protocol =
                |why: &str| AttemptError::from(OciError::Protocol { at: at.to_owned(), why: why.to_owned() });
            let place = place.ok_or_else(|| protocol("it does not return an upload URL"))?;
            let mut url = begin.url.join(place).map_err(|_| protocol("its upload URL is invalid"))?;
            // What the registry was told about us is sent along.
            if url.origin() != begin.url.origin() {
                return Err(protocol("its upload URL is on another host"));
            }
            url.query_pairs_mut().append_pair("digest", &digest.to_string());
            let send = &RegistryRequest { method: Method::PUT, url, sends: Some(sends), ..begin.again() };
            self.attempt(send).await.map(drop)
        };
        self.options.pace.persist(at, upload).await?;
        Ok(descriptor)
    }

    /// Pushes a manifest under a tag; its digest.
    pub(in crate::oci) async fn push_manifest(
        &self,
        repository: &Repository,
        tag: &str,
        manifest: &Value,
    ) -> Result<Digest, OciError> {
        let at = format!("{repository}:{tag}");
        let bytes = manifest.to_string().into_bytes();
        let digest = Digest::sha256(&bytes);
        let sends = &RequestBody { media_type: OCI_MANIFEST, bytes: bytes.into() };
        let ask = RegistryRequest::manifest(self, repository, Method::PUT, tag, &at)?;
        let ask = &RegistryRequest { sends: Some(sends), accept: None, ..ask };
        self.options.pace.persist(&at, || async move { self.attempt(ask).await.map(drop) }).await?;
        Ok(digest)
    }
}
