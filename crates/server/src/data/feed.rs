//! Where a service's own graph-data comes from: a directory, an archive of one, or an artifact in a registry, and releases
//! from the images of repositories beside it.
//!
//! Whatever the combination, it comes together as the files of one revision.

use std::path::{Path, PathBuf};
use std::sync::Mutex;

use clearway_core::{CapExceeded, Limits};
use clearway_graph::Inputs;
use clearway_sources::graph_data::{self, Content, GraphDataError};
use clearway_sources::oci::{
    self, Cache, Image, OciError, Progress, Registry, Repository, ScrapedReleases, SkipReason, SkippedTag,
};
use clearway_sources::release::Key;

/// How many images pass between two lines of the log.
const PROGRESS: usize = 250;

/// The sources of a service's own graph-data.
#[derive(Debug)]
pub struct Feed {
    graph_data: GraphData,
    registry: Option<Registry>,
    repositories: Vec<Repository>,
    cache: Cache,
    /// Keys of which one must have signed an image of graph-data; signatures are not checked without any.
    keys: Vec<Key>,
    /// What was left out of the repositories the last time, so that it is told once.
    told: Mutex<Vec<SkippedTag>>,
}

/// Where the files are.
#[derive(Debug, Clone)]
pub enum GraphData {
    /// In a directory or in an archive of one, which is watched.
    Directory(PathBuf),
    /// In an image or artifact of a registry.
    Image(Box<Image>),
}

/// Why a source cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum FeedError {
    /// The directory.
    #[error(transparent)]
    Directory(#[from] GraphDataError),
    /// The registry.
    #[error(transparent)]
    Registry(#[from] OciError),
    /// A file with an answer of another service.
    #[error(
        "{} is an answer of an update service; serve graph-data (a directory or an archive), or mirror the service with \
         --upstream",
        .0.display()
    )]
    Answer(PathBuf),
    /// A repository that holds no release. It may have held some, and whoever runs them would be left without a way.
    #[error("{0} has no release; it is not served, because an empty repository would strand every cluster")]
    NoReleases(String),
    /// A registry is named, but not how to speak to it.
    #[error("no registry is configured")]
    NoRegistry,
    /// All of it together is more than one revision may be.
    #[error("the graph-data and the releases have {0}")]
    TooLarge(#[from] CapExceeded),
    /// Reading was cut off.
    #[error("reading was interrupted: {0}")]
    CutOff(#[from] tokio::task::JoinError),
}

impl Feed {
    /// Graph-data of a directory.
    pub fn directory(path: impl Into<PathBuf>) -> Self {
        Feed::new(GraphData::Directory(path.into()), None, Vec::new(), Cache::none())
    }

    /// Graph-data with releases from repositories. What was read of a registry is kept in the cache by its digest.
    pub fn new(graph_data: GraphData, registry: Option<Registry>, repositories: Vec<Repository>, cache: Cache) -> Self {
        Feed { graph_data, registry, repositories, cache, keys: Vec::new(), told: Mutex::default() }
    }

    /// The same feed, of which an image of graph-data is used only if one of these keys signed it.
    #[must_use]
    pub fn signed_by(self, keys: Vec<Key>) -> Self {
        Feed { keys, ..self }
    }

    /// Whether all of it is on this machine.
    pub(crate) fn is_quick(&self) -> bool {
        self.watched().is_some() && self.repositories.is_empty()
    }

    /// The directory to watch, if there is one.
    pub(crate) fn watched(&self) -> Option<&Path> {
        match &self.graph_data {
            GraphData::Directory(path) => Some(path),
            GraphData::Image(_) => None,
        }
    }

    /// Reads all of it. A part that cannot be read fails the whole: without it, edges would be missing or open.
    pub(crate) async fn read(&self, limits: &Limits) -> Result<Inputs, FeedError> {
        let mut inputs = match &self.graph_data {
            GraphData::Directory(path) => directory(path.clone(), limits.clone()).await?,
            GraphData::Image(image) => {
                oci::graph_data(self.registry()?, image, &self.cache, limits, &self.keys).await?.0
            }
        };
        let mut left_out = Vec::new();
        for repository in &self.repositories {
            let scraped = self.releases(repository).await?;
            inputs.insert(scraped.path, scraped.file);
            left_out.extend(scraped.left_out);
            let bytes: u64 = inputs.iter().map(|(path, content)| (path.len() + content.len()) as u64).sum();
            let limit = limits.graph.data_bytes;
            if bytes > limit {
                return Err(CapExceeded { cap: "data_bytes", limit, what: "bytes in all files" }.into());
            }
        }
        self.tell(left_out);
        Ok(inputs)
    }

    fn registry(&self) -> Result<&Registry, FeedError> {
        self.registry.as_ref().ok_or(FeedError::NoRegistry)
    }

    async fn releases(&self, repository: &Repository) -> Result<ScrapedReleases, FeedError> {
        let progress = |progress: Progress| {
            if progress.done > 0 && progress.done.is_multiple_of(PROGRESS) {
                tracing::info!(%repository, done = progress.done, of = progress.of, "reading release images");
            }
        };
        let scraped = oci::releases(self.registry()?, repository, &self.cache, &progress).await?;
        if let Some(trouble) = self.cache.last_error() {
            tracing::warn!("cannot cache the content of the registry: {trouble}");
        }
        if scraped.releases == 0 { Err(FeedError::NoReleases(repository.to_string())) } else { Ok(scraped) }
    }

    /// Tells what was left out of the repositories, unless it is what was told before.
    fn tell(&self, left_out: Vec<SkippedTag>) {
        let mut told = self.told.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if *told == left_out {
            return;
        }
        for SkippedTag { tag, why, .. } in &left_out {
            match why {
                // Meant to be there, but not to be releases.
                SkipReason::Companion | SkipReason::NoRelease | SkipReason::Shard { .. } => {
                    tracing::debug!(tag, "left out: {why}");
                }
                _ => tracing::warn!(tag, "left out: {why}"),
            }
        }
        *told = left_out;
    }
}

async fn directory(path: PathBuf, limits: Limits) -> Result<Inputs, FeedError> {
    // A directory that changes meanwhile is read again, which may take a moment.
    let read = move || {
        if !path.is_file() {
            return Ok(graph_data::directory(&path, &limits)?);
        }
        match graph_data::file(&path, &limits)? {
            Content::Files(files) => Ok(files),
            Content::Answer(_) => Err(FeedError::Answer(path)),
        }
    };
    tokio::task::spawn_blocking(read).await?
}
