//! A release as an image: one layer and a configuration, the same bytes for the same release.

use std::io::{self, Write as _};

use clearway_core::{Arch, Digest, Version};
use clearway_release::{Files, MANIFESTS};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::json;

use super::error::ReleaseError;
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
    let archive = archive(files).map_err(failed)?;
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

/// Files in the order of their names, without times, owners and anything else that changes from one day to the next.
fn archive(files: &Files) -> io::Result<Vec<u8>> {
    let header = |size: usize, mode, kind| {
        let mut header = tar::Header::new_ustar();
        header.set_size(size as u64);
        header.set_mode(mode);
        header.set_uid(0);
        header.set_gid(0);
        header.set_mtime(0);
        header.set_entry_type(kind);
        header
    };
    let mut builder = tar::Builder::new(Vec::new());
    let mut directory = header(0, 0o755, tar::EntryType::Directory);
    builder.append_data(&mut directory, format!("{MANIFESTS}/"), io::empty())?;
    for (name, content) in files {
        let mut file = header(content.len(), 0o644, tar::EntryType::Regular);
        builder.append_data(&mut file, format!("{MANIFESTS}/{name}"), content.as_slice())?;
    }
    builder.into_inner()
}

fn gzip(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes)?;
    encoder.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_files_are_the_same_layer_however_long_their_names() {
        let long = format!("0000_50_a_{}.yaml", "x".repeat(200));
        let files: Files = [(long.clone(), b"x".to_vec()), ("a.yaml".to_owned(), b"a".to_vec())].into();
        let layer = archive(&files).unwrap();
        assert_eq!(layer, archive(&files.clone()).unwrap());
        let mut archive = tar::Archive::new(layer.as_slice());
        let entries = archive.entries().unwrap().map(|entry| {
            let entry = entry.unwrap();
            assert_eq!((entry.header().mtime().unwrap(), entry.header().uid().unwrap()), (0, 0));
            entry.path().unwrap().display().to_string()
        });
        let names: Vec<String> = entries.collect();
        let want =
            ["release-manifests/".to_owned(), format!("release-manifests/{long}"), "release-manifests/a.yaml".into()];
        assert_eq!(names, want);
        // gzip would note the time and the system.
        assert_eq!(gzip(b"x").unwrap()[4..10], [0, 0, 0, 0, 2, 255]);
    }
}
