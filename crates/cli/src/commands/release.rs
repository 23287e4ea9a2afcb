//! `clearway release`: pack, show, verify and render releases.

mod pack;
mod render;
mod show;
mod verify;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use clearway_core::{Arch, Digest};
use clearway_release::{Payload, ReleaseLimits, Selection};
use clearway_sources::oci::{Cache, Registry};
use clearway_sources::release::{self, FetchedRelease, Reference, Registries, ReleaseError, SigningKey};

use crate::arguments::{RegistryAccess, RegistryConnection, Release, ReleaseSource};
use crate::commands::graph::source::registry as registries;
use crate::exit::Exit;
use crate::{name_hints, runtime};

/// Runs a command.
pub(crate) fn run(command: &Release) -> Result<Exit> {
    match command {
        Release::Pack(options) => pack::run(options),
        Release::Render(options) => render::run(options),
        Release::Show(options) => show::run(options),
        Release::Verify(options) => verify::run(options),
    }
}

/// A release that is named on the command line, and the way to it.
pub(crate) struct NamedRelease {
    reference: Reference,
    registry: Registry,
    cache: Cache,
    arch: Option<Arch>,
}

impl NamedRelease {
    fn new(source: &ReleaseSource) -> Result<Self> {
        let RegistryConnection { access, ca } = &source.registry;
        let named = Self::at(&source.release, source.arch.clone(), ca.file.clone(), access)?;
        let cache = match &source.cache {
            Some(path) => Cache::directory(path)?,
            None => Cache::none(),
        };
        Ok(NamedRelease { cache, ..named })
    }

    /// The release of this name, without a cache.
    pub(crate) fn at(
        name: &str,
        arch: Option<Arch>,
        ca_file: Option<PathBuf>,
        access: &RegistryAccess,
    ) -> Result<Self> {
        // A directory that is there is meant, even if its name could be one of an image.
        let reference = match Path::new(name) {
            path if path.is_dir() => Reference::Directory(path.to_owned()),
            path if !name.contains([':', '@']) && !path.exists() => bail!(
                "{name} not found: name a directory with release-manifests, or an image as oci://HOST/PATH:TAG{}",
                name_hints::image(name)
            ),
            path if path.is_file() => {
                bail!("{name} is a file: name a directory with release-manifests, or an image as oci://HOST/PATH:TAG")
            }
            path if !name.contains(':') && !name.contains('@') => Reference::Directory(path.to_owned()),
            _ => name.parse()?,
        };
        let registry = Registry::new(registries::options(ca_file, access))?;
        Ok(NamedRelease { reference, registry, cache: Cache::none(), arch })
    }

    /// Fetches and reads the release.
    pub(crate) fn payload(&self, selection: &Selection, limits: &ReleaseLimits) -> Result<Payload> {
        Ok(wait(self.fetch(None))??.payload(selection, limits)?)
    }

    fn registries(&self) -> Registries<'_> {
        Registries { registry: &self.registry, cache: &self.cache, arch: self.arch.as_ref() }
    }

    async fn fetch(&self, wanted: Option<&Digest>) -> Result<FetchedRelease, ReleaseError> {
        release::fetch(&self.reference, self.registries(), &ReleaseLimits::default(), wanted).await
    }
}

/// The private key of a file, to sign with.
pub(crate) fn signing_key(path: &Path) -> Result<SigningKey> {
    let pem = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(SigningKey::read(&path.display().to_string(), &pem)?)
}

pub(crate) fn registry(options: &RegistryConnection) -> Result<Registry> {
    let access = registries::options(options.ca.file.clone(), &options.access);
    Ok(Registry::new(access)?)
}

/// Waits for work with registries.
fn wait<T>(work: impl Future<Output = T>) -> Result<T> {
    Ok(runtime::with_workers(1)?.block_on(work))
}
