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

mod artifact;
mod authorize;
mod cache;
mod challenge;
mod content;
mod credentials;
mod error;
mod layer;
mod media;
mod pace;
mod payload;
mod push;
mod reference;
mod registry;
mod release;
mod scrape;
mod signature;
mod tree;

use crate::archive;
pub use artifact::graph_data;
pub use cache::Cache;
pub use credentials::Credentials;
pub use error::OciError;
#[cfg(fuzzing)]
pub use media::read_manifest;
pub use pace::Pace;
pub(crate) use payload::{Most, ReleaseFiles, release_files};
pub(crate) use push::push_image;
pub use reference::{Image, ReferenceError, Repository};
pub use registry::{PlainHttp, Registry, RegistryOptions};
pub use release::Why;
pub use scrape::{LeftOut, Progress, Scraped, Step, releases};
pub(crate) use signature::{Attached, attach, attached, attached_kept};
