//! What a release is: a directory, or an image with the same content, that holds what one version of a product is made of.
//!
//! ```text
//! release-manifests/
//!   release-metadata                     JSON: the version, which versions may update to it, anything else
//!   image-references                     optional: the images, as OpenShift's releases list them
//!   0000_NN_component_name.yaml          manifests; NN is the run level, without this form of a name it is 50
//! release.sig                            optional, of a directory only: signatures
//! ```
//!
//! [`Payload::read`] makes objects of the [`Files`] and refuses the whole release for one manifest that is none;
//! [`findings`] lists everything that is wrong or unwise, with its place. [`Payload::stages`] is the order in which the
//! objects are applied. [`pack`] makes a release from plain manifests. [`accept`] decides whether its signatures are enough.
//! Fetching files, and checking signatures with keys, are effects and not here.
//!
//! The digest of an image is that of its manifest. The digest of a directory is the SHA-256 of what `sha256sum` prints for
//! the files below `release-manifests`, in the order of the bytes of their paths (see [`digest`]):
//!
//! ```text
//! find release-manifests -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum | sha256sum
//! ```
//!
//! `OpenShift`'s release images are read as they are. [`Selection`] lists which of their annotations are honoured elsewhere.

#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::string_slice)
)]

pub mod codes;
mod digest;
mod lint;
mod manifest;
mod memory;
mod metadata;
mod name;
mod pack;
mod payload;
mod read;
mod select;
mod signature_policy;
mod stages;

use std::collections::BTreeMap;

pub use digest::digest;
pub use manifest::{Definition, Manifest};
pub use metadata::{Metadata, MetadataError, References, ReferencesError};
pub use name::{DEFAULT_RUN_LEVEL, is_component};
pub use pack::{COMPONENT, PackedRelease, RUN_LEVEL, pack};
pub use payload::{ContentError, Payload, SkippedObject, findings};
pub use read::METADATA;
pub use select::Selection;
pub use signature_policy::{Acceptance, Verdict, VerificationError, accept};
pub use stages::{Lane, Part, Stage};

/// The directory that holds the files of a release, in another directory or at the root of an image.
pub const MANIFESTS: &str = "release-manifests";
/// The file beside it that holds signatures.
pub const SIGNATURES: &str = "release.sig";

/// The files of a release, by their path below `release-manifests`.
pub type Files = BTreeMap<String, Vec<u8>>;

/// How much of a release is read before it is refused by name. `OpenShift`'s have about a thousand files and objects, and
/// 20 MB.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReleaseLimits {
    /// Files.
    pub files: usize,
    /// Bytes of all files.
    pub bytes: u64,
    /// Objects.
    pub objects: usize,
    /// Values in one object, after aliases were followed.
    pub values: usize,
    /// Bytes of memory that all objects take together, after aliases were followed: what a few bytes of text become is not
    /// bounded by the bytes of the files. CRDs take about four times their text.
    pub memory: u64,
}

impl Default for ReleaseLimits {
    fn default() -> Self {
        ReleaseLimits { files: 10_000, bytes: 64 << 20, objects: 20_000, values: 1_000_000, memory: 256 << 20 }
    }
}

impl ReleaseLimits {
    /// For a release that only a graph names: which one it is was not decided by the user, so that the operator reads it
    /// beside all its other work.
    pub fn of_graph() -> Self {
        ReleaseLimits { bytes: 24 << 20, values: 200_000, memory: 80 << 20, ..ReleaseLimits::default() }
    }
}
