//! OCI registries: repositories of release images, and images or artifacts that hold graph-data.
//!
//! [`releases`] gives the releases of a repository as one file of graph-data, [`graph_data`] the files of an image. Both
//! are added to other [`Inputs`](clearway_graph::Inputs), so that any mixture of sources has one id. The content of a
//! release image, and its signatures, are for [`release`](crate::release).
//!
//! A registry is foreign and often unwell: every answer is read within a limit, layers stream by and are never held,
//! what fails in a passing way is tried again at a [`Pace`], and what a digest gave is kept in a [`Cache`].

#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::string_slice)
)]

mod access;
mod cache;
mod error;
mod image;
mod reference;
mod release;
mod scrape;

use crate::files::archive;
pub use access::credentials::Credentials;
pub use access::pace::Pace;
pub use access::registry::{PlainHttp, Registry, RegistryOptions};
pub use cache::Cache;
pub use error::OciError;
pub use image::artifact::{catalog_files, graph_data, manifest_files};
#[cfg(fuzzing)]
pub use image::media::read_manifest;
pub(crate) use image::payload::{PayloadLimits, ReleaseFiles, release_files};
pub(crate) use image::push::{push_artifact, push_image};
pub(crate) use image::signature::{Attached, attach, attached, cached_signatures};
pub use image::tree::LAYER_CAPS;
pub use reference::{Image, ReferenceError, Repository};
pub use release::SkipReason;
pub use scrape::{Progress, ScrapedReleases, SkippedTag, Step, releases};
