//! `clearway release pack`: a release from plain manifests.

use anyhow::{Result, anyhow, bail};
use clearway_core::{Diagnostic, Digest, Version};
use clearway_release::{Metadata, PackedRelease, ReleaseLimits};
use clearway_sources::files;
use clearway_sources::oci::{Image, Repository};
use clearway_sources::release::{self, SigningKey};

use super::{signing_key, wait};
use crate::arguments::ReleasePack;
use crate::exit::Exit;
use crate::output;

/// Runs the command.
pub(super) fn run(options: &ReleasePack) -> Result<Exit> {
    let key = match &options.sign_key {
        Some(path) => Some(signing_key(path)?),
        None => None,
    };
    let target = match &options.push {
        Some(name) => Some(target(name, &options.version)?),
        None => None,
    };
    let packed = match packed(options)? {
        Ok(packed) => packed,
        Err(problems) => {
            for problem in &problems {
                output::print_diagnostic(problem);
            }
            output::print_problem!("nothing was packed: {} errors", problems.len());
            return Ok(Exit::No);
        }
    };
    let (name, digest) = match target {
        Some((repository, tag)) => wait(push(options, &packed, &repository, &tag, key.as_ref()))??,
        None => write(options, &packed, key.as_ref())?,
    };
    output::print_line!("{digest}");
    output::print_note!("packed {} objects of {} into {name}", packed.objects, options.version);
    Ok(Exit::Yes)
}

/// Reads what is named and packs it; or what is wrong with it.
fn packed(options: &ReleasePack) -> Result<Result<PackedRelease, Vec<Diagnostic>>> {
    let mut inputs = Vec::new();
    for path in &options.paths {
        for input in files::inputs(path) {
            let input = input.map_err(|error| anyhow!("{}: {error}", error.path().display()))?;
            inputs.push(input);
        }
    }
    let mut streams = Vec::new();
    for input in inputs {
        let stream = input.open().map_err(|error| anyhow!("{}: {error}", error.path().display()))?;
        streams.push((input.name(), stream));
    }
    if !clearway_release::is_component(&options.component) {
        bail!("--component {} is not valid: use letters and digits, with single dashes between", options.component);
    }
    Ok(clearway_release::pack(streams, &metadata(options), &options.component, &ReleaseLimits::default()))
}

fn metadata(options: &ReleasePack) -> Metadata {
    let versions = |versions: &[Version]| {
        let mut versions = versions.to_vec();
        versions.sort();
        versions.dedup();
        versions.iter().map(Version::to_string).collect()
    };
    let url = options.url.iter().map(|url| ("url".to_owned(), url.clone()));
    Metadata {
        version: options.version.clone(),
        previous: versions(&options.previous),
        next: versions(&options.next),
        metadata: options.metadata.iter().cloned().chain(url).collect(),
    }
}

/// Where to push to: a repository and a tag, which is the version if none is named.
fn target(name: &str, version: &Version) -> Result<(Repository, String)> {
    if let Ok(repository) = name.parse::<Repository>() {
        // A tag has no plus.
        return Ok((repository, version.to_string().replace('+', "_")));
    }
    let image: Image = name.parse()?;
    match image.tag() {
        Some(tag) => Ok((image.repository().clone(), tag.to_owned())),
        None => bail!("{name} has a digest, which cannot be set when pushing; use a tag"),
    }
}

async fn push(
    options: &ReleasePack,
    packed: &PackedRelease,
    repository: &Repository,
    tag: &str,
    key: Option<&SigningKey>,
) -> Result<(String, Digest)> {
    let registry = super::registry(&options.registry)?;
    let pushed = release::push(&registry, repository, tag, &packed.files, &options.version, &options.arch).await?;
    if let Some(key) = key {
        key.sign_image(&registry, repository, &pushed.digest).await?;
    }
    Ok((format!("{repository}:{tag}"), pushed.digest))
}

fn write(options: &ReleasePack, packed: &PackedRelease, key: Option<&SigningKey>) -> Result<(String, Digest)> {
    let Some(path) = &options.output_dir else { bail!("pass a directory with --output-dir, or an image with --push") };
    let digest = clearway_release::digest(&packed.files);
    let signatures = match key {
        Some(key) => Some(key.sign_directory(&digest)?),
        None => None,
    };
    release::write_directory(path, &packed.files, signatures.as_deref())?;
    Ok((path.display().to_string(), digest))
}
