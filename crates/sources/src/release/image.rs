//! A release that is an image in a registry; and either form, by its reference.

use clearway_core::{Arch, Digest};
use clearway_release::{MANIFESTS, ReleaseLimits};

use super::error::ReleaseError;
use super::{Fetched, Reference, directory};
use crate::oci::{self, Cache, Image, Most, Registry, ReleaseFiles};

/// How images are reached.
#[derive(Debug, Clone, Copy)]
pub struct Registries<'a> {
    /// The connection.
    pub registry: &'a Registry,
    /// Where what was read is kept. A release by digest that is in it needs no registry.
    pub cache: &'a Cache,
    /// The architecture to take of an index; without it the usual one, or the only one.
    pub arch: Option<&'a Arch>,
}

/// Reads the files of an image.
pub async fn image(registries: Registries<'_>, image: &Image, limits: &ReleaseLimits) -> Result<Fetched, ReleaseError> {
    let Registries { registry, cache, arch } = registries;
    let most = Most { files: limits.files, bytes: limits.bytes };
    let ReleaseFiles { digest, chosen, files } = oci::release_files(registry, image, arch, cache, most).await?;
    let at = image.to_string();
    if files.is_empty() {
        let why = format!("the image has no directory {MANIFESTS}");
        return Err(ReleaseError::NotARelease { at, why });
    }
    if let Some(name) = files.keys().find(|name| name.contains('\\') || name.chars().any(char::is_control)) {
        let why = format!("the name {name:?} in it is not plain text");
        return Err(ReleaseError::File { at, why });
    }
    Ok(Fetched { reference: Reference::Image(Box::new(image.clone())), digest, chosen, files })
}

/// Reads the files of a release, and refuses another digest than the one that is wanted.
pub async fn fetch(
    reference: &Reference,
    registries: Registries<'_>,
    limits: &ReleaseLimits,
    wanted: Option<&Digest>,
) -> Result<Fetched, ReleaseError> {
    let fetched = match reference {
        Reference::Image(named) => image(registries, named, limits).await?,
        Reference::Directory(path) => {
            let (work, limits) = (path.clone(), limits.clone());
            let read = tokio::task::spawn_blocking(move || directory(&work, &limits)).await;
            read.map_err(|error| ReleaseError::Io { path: path.clone(), error: std::io::Error::other(error) })??
        }
    };
    fetched.expect(wanted)
}
