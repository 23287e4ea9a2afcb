//! A release as an image: one layer and a configuration, the same bytes for the same release.

use clearway_core::{Arch, Digest, Version};
use clearway_release::{Files, MANIFESTS};
use serde_json::json;

use super::error::ReleaseError;
use crate::files::archive::{gzip, pack};
use crate::oci::{self, Registry, Repository};

/// The label by which `OpenShift`'s tools know a release image.
const LABEL: &str = "io.openshift.release";

/// What was pushed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PushedImage {
    /// The digest of the manifest.
    pub digest: Digest,
    /// The image by its digest.
    pub reference: String,
}

/// Pushes a release to a repository under a tag.
pub async fn push(
    registry: &Registry,
    repository: &Repository,
    tag: &str,
    files: &Files,
    version: &Version,
    arch: &Arch,
) -> Result<PushedImage, ReleaseError> {
    let failed = |error| ReleaseError::Io { path: MANIFESTS.into(), error };
    let files = files.iter().map(|(name, content)| (format!("{MANIFESTS}/{name}"), content.as_slice()));
    let archive = pack(&[MANIFESTS], files).map_err(failed)?;
    let layer = gzip(&archive).map_err(failed)?;
    let config = json!({
        "architecture": arch,
        "os": "linux",
        "config": {"Labels": {LABEL: version}},
        "rootfs": {"type": "layers", "diff_ids": [Digest::sha256(&archive)]},
    });
    let config = config.to_string().into_bytes();
    let digest = oci::push_image(registry, repository, tag, config, layer).await?;
    Ok(PushedImage { reference: format!("oci://{repository}@{digest}"), digest })
}
