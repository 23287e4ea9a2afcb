//! Puts graph-data and catalogues of products into a registry, as artifacts of one layer.
//!
//! The same files are the same digest, whoever pushes them and when. A signature is put where [`SigningKey::sign_image`] puts
//! that of a release, and [`oci::graph_data`] and [`oci::catalog_files`] look for it there.

use std::io;

use clearway_core::Digest;
use clearway_graph::Inputs;

use crate::files::archive::{gzip, pack};
use crate::oci::{self, OciError, Registry, Repository};
use crate::release::{SignError, SigningKey};

/// The type of an artifact with graph-data.
pub const GRAPH_DATA: &str = "application/vnd.clearway.graph-data.v1";
/// The type of an artifact with a catalogue.
pub const CATALOG: &str = "application/vnd.clearway.catalog.v1";

/// Why something was not published.
#[derive(Debug, thiserror::Error)]
pub enum PublishError {
    /// The files cannot be packed, such as one whose name is too long.
    #[error("cannot pack the files: {0}")]
    Pack(#[from] io::Error),
    /// The registry does not take it.
    #[error(transparent)]
    Registry(#[from] OciError),
    /// It was pushed, but not signed.
    #[error("{at} was pushed, but not signed: {error}")]
    Sign {
        /// What was pushed.
        at: String,
        /// Why not.
        error: SignError,
    },
}

/// The files of graph-data, as an artifact has them.
pub fn graph_data_files(inputs: &Inputs) -> Vec<(String, &[u8])> {
    inputs.iter().map(|(path, content)| (path.to_owned(), content)).collect()
}

/// Pushes files under a tag and signs them if there is a key; the digest by which they can be read.
pub async fn publish(
    registry: &Registry,
    repository: &Repository,
    tag: &str,
    artifact_type: &str,
    files: Vec<(String, &[u8])>,
    key: Option<&SigningKey>,
) -> Result<Digest, PublishError> {
    let layer = gzip(&pack(&[], files)?)?;
    let digest = oci::push_artifact(registry, repository, tag, artifact_type, layer).await?;
    if let Some(key) = key {
        let signed = key.sign_image(registry, repository, &digest).await;
        signed.map_err(|error| PublishError::Sign { at: format!("{repository}@{digest}"), error })?;
    }
    Ok(digest)
}
