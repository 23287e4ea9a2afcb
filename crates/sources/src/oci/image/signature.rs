//! Signatures that stand beside an image, where `cosign sign` puts them: an image of its own under the tag
//! `sha256-<hex>.sig`, whose layers are the texts that were signed, each with its signature as an annotation.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use clearway_core::Digest;
use serde_json::{Value, json};

use crate::oci::access::registry::Registry;
use crate::oci::cache::Cache;
use crate::oci::image::media::{Manifest, OCI_CONFIG, OCI_MANIFEST, UnreadableManifest};
use crate::oci::reference::At;
use crate::oci::{OciError, Repository};

/// The annotation that holds a signature, in base64.
pub(in crate::oci) const ANNOTATION: &str = "dev.cosignproject.cosign/signature";
/// The type of a text that was signed.
const PAYLOAD: &str = "application/vnd.dev.cosign.simplesigning.v1+json";
/// Signatures that are looked at.
pub(super) const MOST: usize = 64;
/// Bytes of a text that was signed. cosign's have some hundred, and every one of them is held at the same time.
pub(super) const TEXT_BYTES: u64 = 64 << 10;
/// What they are kept under, in place of an architecture.
const KEPT: &str = "signatures";

/// A text that was signed, and the signature.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Attached {
    pub(crate) payload: Vec<u8>,
    pub(crate) signature: Vec<u8>,
}

/// The signatures of a digest that were found before.
pub(crate) async fn cached_signatures(cache: &Cache, digest: &Digest) -> Vec<Attached> {
    // The keys vouch for them, wherever they are from.
    let kept = cache.all_entries().payload(digest, KEPT).await;
    kept.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
}

/// The signatures of a digest; none if there are none. What is no signature, or is too large to be one, is passed over: it
/// vouches for nothing.
pub(crate) async fn attached(
    registry: &Registry,
    repository: &Repository,
    digest: &Digest,
    cache: &Cache,
) -> Result<Vec<Attached>, OciError> {
    let at = format!("{repository}@{digest} (signatures)");
    registry.in_time(&at, read_attached(registry, repository, digest, cache)).await
}

async fn read_attached(
    registry: &Registry,
    repository: &Repository,
    digest: &Digest,
    cache: &Cache,
) -> Result<Vec<Attached>, OciError> {
    let Some((manifest, at)) = manifest(registry, repository, digest).await? else { return Ok(Vec::new()) };
    let image = match Manifest::read(&manifest, &registry.options.limits) {
        Ok(Manifest::Image(image)) => image,
        Ok(Manifest::Index(_)) => return Err(OciError::Unsupported { at, what: "an index of signatures".to_owned() }),
        Err(UnreadableManifest::Unsupported(what)) => return Err(OciError::Unsupported { at, what }),
        Err(UnreadableManifest::Broken(why)) => return Err(OciError::Broken { at, why }),
    };
    let mut found = Vec::new();
    for layer in image.layers.iter().take(MOST) {
        let signature = layer.annotation(ANNOTATION).and_then(|text| STANDARD.decode(text.trim()).ok());
        let Some(signature) = signature else { continue };
        if layer.size > TEXT_BYTES {
            continue;
        }
        let at = format!("{repository} (signed text {})", layer.digest);
        let payload = registry.blob_within(repository, layer, &at, ("signed_bytes", TEXT_BYTES)).await?;
        found.push(Attached { payload, signature });
    }
    if let (false, Ok(bytes)) = (found.is_empty(), serde_json::to_vec(&found)) {
        cache.store_payload(digest, KEPT, bytes).await;
    }
    Ok(found)
}

/// Adds a signature to those of a digest.
pub(crate) async fn attach(
    registry: &Registry,
    repository: &Repository,
    digest: &Digest,
    new: &Attached,
) -> Result<(), OciError> {
    let mut layer = registry.push_blob(repository, PAYLOAD, new.payload.clone()).await?;
    if let Some(layer) = layer.as_object_mut() {
        layer.insert("annotations".to_owned(), json!({ANNOTATION: STANDARD.encode(&new.signature)}));
    }
    let there = manifest(registry, repository, digest).await?;
    let mut layers: Vec<Value> = there
        .and_then(|(bytes, _)| serde_json::from_slice::<Value>(&bytes).ok()?.get_mut("layers").map(Value::take))
        .and_then(|layers| serde_json::from_value(layers).ok())
        .unwrap_or_default();
    layers.push(layer);
    let diff_ids: Vec<Option<&Value>> = layers.iter().map(|layer| layer.get("digest")).collect();
    let config = json!({
        "architecture": "", "os": "", "config": {}, "rootfs": {"type": "layers", "diff_ids": diff_ids},
    });
    let config = registry.push_blob(repository, OCI_CONFIG, config.to_string().into_bytes()).await?;
    let manifest = json!({"schemaVersion": 2, "mediaType": OCI_MANIFEST, "config": config, "layers": layers});
    registry.push_manifest(repository, &tag(digest), &manifest).await.map(drop)
}

/// The manifest of signatures, if there is one, and its name.
async fn manifest(
    registry: &Registry,
    repository: &Repository,
    digest: &Digest,
) -> Result<Option<(Vec<u8>, String)>, OciError> {
    let found = match registry.digest(repository, &At::Tag(tag(digest))).await {
        Ok(found) => found,
        Err(OciError::NotFound { .. }) => return Ok(None),
        Err(error) => return Err(error),
    };
    let at = format!("{repository}@{found}");
    Ok(Some((registry.manifest(repository, &found, &at).await?, at)))
}

fn tag(digest: &Digest) -> String {
    format!("{}-{}.sig", digest.algorithm().as_str(), digest.hex())
}
