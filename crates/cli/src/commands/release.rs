//! `clearway release`: pack, show, verify and render releases.

mod pack;
mod render;
mod show;
mod verify;

use std::path::Path;

use anyhow::Result;
use clearway_core::{Arch, Digest};
use clearway_release::ReleaseLimits;
use clearway_sources::oci::{Cache, Registry};
use clearway_sources::release::{self, Fetched, Reference, Registries, ReleaseError};

use crate::arguments::{RegistryConnection, Release, ReleaseSource};
use crate::commands::graph::source::registry as registries;
use crate::exit::Exit;
use crate::runtime;

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
struct NamedRelease {
    reference: Reference,
    registry: Registry,
    cache: Cache,
    arch: Option<Arch>,
}

impl NamedRelease {
    fn new(source: &ReleaseSource) -> Result<Self> {
        // A directory that is there is meant, even if its name could be one of an image.
        let reference = match Path::new(&source.release) {
            path if path.is_dir() => Reference::Directory(path.to_owned()),
            path if !source.release.contains(':') && !source.release.contains('@') => {
                Reference::Directory(path.to_owned())
            }
            _ => source.release.parse()?,
        };
        let cache = match &source.cache {
            Some(path) => Cache::directory(path)?,
            None => Cache::none(),
        };
        Ok(NamedRelease { reference, registry: registry(&source.registry)?, cache, arch: source.arch.clone() })
    }

    fn registries(&self) -> Registries<'_> {
        Registries { registry: &self.registry, cache: &self.cache, arch: self.arch.as_ref() }
    }

    async fn fetch(&self, wanted: Option<&Digest>) -> Result<Fetched, ReleaseError> {
        release::fetch(&self.reference, self.registries(), &ReleaseLimits::default(), wanted).await
    }
}

fn registry(options: &RegistryConnection) -> Result<Registry> {
    let access = registries::options(options.ca.file.clone(), &options.access);
    Ok(Registry::new(access)?)
}

/// Waits for work with registries.
fn wait<T>(work: impl Future<Output = T>) -> Result<T> {
    Ok(runtime::with_workers(1)?.block_on(work))
}
