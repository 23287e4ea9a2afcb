//! `clearway graph publish`: graph-data as a signed artifact of a registry.

use anyhow::{Result, bail};
use clearway_core::Digest;
use clearway_sources::oci::{Image, Repository};
use clearway_sources::publish::{self, GRAPH_DATA};

use super::source::{self, GraphInput};
use crate::arguments::{ArtifactPush, GraphPublish};
use crate::commands::release;
use crate::exit::Exit;
use crate::{output, runtime};

/// The tag of an artifact that is named without one.
const TAG: &str = "latest";

/// Runs the command.
pub(super) fn run(options: &GraphPublish) -> Result<Exit> {
    parse_target(&options.target)?;
    let inputs = match source::local(&options.graph, options.rev.as_deref())? {
        GraphInput::Files(inputs) => inputs,
        GraphInput::Answer(answer) => bail!("{} is a single answer; publish graph-data", answer.name),
    };
    // What readers would refuse is not published.
    super::revision(&inputs)?;
    push_files(&options.target, &options.push, GRAPH_DATA, publish::graph_data_files(&inputs))
}

/// Pushes and signs files, and prints their digest.
pub(crate) fn push_files(
    target: &str,
    options: &ArtifactPush,
    artifact_type: &str,
    files: Vec<(String, &[u8])>,
) -> Result<Exit> {
    let (repository, tag) = parse_target(target)?;
    let key = options.sign_key.as_deref().map(release::signing_key).transpose()?;
    let registry = release::registry(&options.registry)?;
    let (count, tag) = (files.len(), tag.as_str());
    let pushed = publish::publish(&registry, &repository, tag, artifact_type, files, key.as_ref());
    let digest: Digest = runtime::block_on(pushed)??;
    output::print_line!("{digest}");
    let signed = if key.is_some() { "signed" } else { "not signed; pass --sign-key" };
    output::print_note!("published {count} files as {repository}:{tag} ({signed})");
    Ok(Exit::Yes)
}

/// Where to push to.
fn parse_target(name: &str) -> Result<(Repository, String)> {
    if !name.starts_with("oci://") {
        bail!("{name} is not the name of an artifact; write oci://HOST/PATH:TAG");
    }
    if let Ok(repository) = name.parse::<Repository>() {
        return Ok((repository, TAG.to_owned()));
    }
    let image: Image = name.parse()?;
    match image.tag() {
        Some(tag) => Ok((image.repository().clone(), tag.to_owned())),
        None => bail!("{name} has a digest, which cannot be set when pushing; use a tag"),
    }
}
