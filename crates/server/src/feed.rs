//! Where graph-data comes from: a directory or an artifact in a registry, and releases from registries beside it.
//!
//! Whatever the combination, it comes together as the files of one revision.

use std::path::{Path, PathBuf};

use clearway_core::Limits;
use clearway_graph::Inputs;
use clearway_sources::graph_data::{self, GraphDataError};

/// The sources of a service's own graph-data.
#[derive(Debug)]
pub struct Feed {
    /// The files.
    pub graph_data: PathBuf,
}

/// Why a source cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum FeedError {
    /// The directory.
    #[error(transparent)]
    Directory(#[from] GraphDataError),
    /// Reading was cut off.
    #[error("reading was cut off: {0}")]
    CutOff(#[from] tokio::task::JoinError),
}

impl Feed {
    /// Whether all of it is on this machine.
    pub fn is_quick(&self) -> bool {
        true
    }

    /// The directory to watch, if there is one.
    pub fn directory(&self) -> Option<&Path> {
        Some(&self.graph_data)
    }

    /// Reads all of it.
    pub async fn read(&self, limits: &Limits) -> Result<Inputs, FeedError> {
        let (path, limits) = (self.graph_data.clone(), limits.clone());
        // A link to a directory is followed once, so that all files are of one directory while the link is moved.
        let read = move || graph_data::directory(&path.canonicalize().unwrap_or(path), &limits);
        Ok(tokio::task::spawn_blocking(read).await??)
    }
}
