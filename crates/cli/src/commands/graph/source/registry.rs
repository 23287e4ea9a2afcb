//! Graph-data in a registry (`--graph oci://…`), and releases from the images of repositories (`--registry`).

use std::path::PathBuf;
use std::sync::Mutex;

use anyhow::{Result, bail};
use clearway_core::Limits;
use clearway_graph::Inputs;
use clearway_sources::oci::{
    self, Cache, Credentials, Image, PlainHttp, Progress, Registry, RegistryOptions, Repository, SkipReason, SkippedTag,
};
use clearway_sources::release::Key;

use crate::arguments::{GraphKeys, Registries, RegistryAccess, ServiceTrust};
use crate::output::LiveLine;
use crate::runtime::block_on;

/// How registries are spoken to.
pub(crate) fn options(ca_file: Option<PathBuf>, access: &RegistryAccess) -> RegistryOptions {
    RegistryOptions {
        ca_file,
        plain_http: if access.plain_http { PlainHttp::Always } else { PlainHttp::Loopback },
        credentials: access.registry_config.clone().map_or(Credentials::Anonymous, Credentials::DockerConfig),
        ..RegistryOptions::default()
    }
}

/// The graph-data of an image or artifact.
pub(crate) fn graph_data(name: &str, registries: &Registries, trust: &ServiceTrust) -> Result<Inputs> {
    let image: Image = name.parse()?;
    let registry = connect(registries, trust)?;
    let (limits, keys) = (Limits::for_graph_data(), keys(&registries.keys)?);
    Ok(block_on(oci::graph_data(&registry, &image, &Cache::none(), &limits, &keys))??.0)
}

/// The keys of which one must have signed graph-data; without any, signatures are not checked.
pub(crate) fn keys(options: &GraphKeys) -> Result<Vec<Key>> {
    let mut keys = Vec::new();
    for path in &options.files {
        keys.extend(Key::file(path)?);
    }
    Ok(keys)
}

/// Refuses keys for a graph that is not in a registry: nothing would be checked.
pub(crate) fn refuse_keys(options: &GraphKeys, what: &str) -> Result<()> {
    if !options.files.is_empty() {
        bail!("--graph-key checks the signature of an image or artifact (oci://…), but got {what}");
    }
    Ok(())
}

/// Adds the releases of the named repositories, and prints ignored tags on standard error.
pub(crate) fn add_releases(inputs: &mut Inputs, registries: &Registries, trust: &ServiceTrust) -> Result<()> {
    if registries.registry.is_empty() {
        return Ok(());
    }
    let registry = connect(registries, trust)?;
    let line = Mutex::new(LiveLine::new());
    for name in &registries.registry {
        let repository: Repository = name.parse()?;
        let progress = |Progress { done, of, .. }: Progress| {
            if let Ok(mut line) = line.lock() {
                line.set(&format!("read {done} of {of} tags and images of {repository}"));
            }
        };
        let scraped = block_on(oci::releases(&registry, &repository, &Cache::none(), &progress))??;
        if scraped.releases == 0 {
            bail!("no releases found in {repository}");
        }
        if let Ok(mut line) = line.lock() {
            line.clear();
        }
        for left in &scraped.left_out {
            print_ignored(&repository, left);
        }
        inputs.insert(scraped.path, scraped.file);
    }
    Ok(())
}

fn connect(registries: &Registries, trust: &ServiceTrust) -> Result<Registry> {
    Ok(Registry::new(options(trust.ca.file.clone(), &registries.access))?)
}

fn print_ignored(repository: &Repository, left: &SkippedTag) {
    // Meant to be there, but not to be releases.
    if !matches!(left.why, SkipReason::Companion | SkipReason::NoRelease | SkipReason::Shard { .. }) {
        crate::output::print_problem!("ignored in {repository}: {}", crate::output::printable(&left.to_string()));
    }
}
