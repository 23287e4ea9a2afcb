//! What a release is: a directory, or an image with the same content, that holds what one version of a product is made of.
//!
//! ```text
//! release-manifests/
//!   release-metadata                     JSON: the version, which versions may update to it, anything else
//!   image-references                     optional: the images, as OpenShift's releases list them
//!   0000_NN_component_name.yaml          manifests; NN is the run level, without this form of a name it is 50
//! release.sig                            optional, of a directory only: signatures (see `signature`)
//! ```
//!
//! Reading takes two steps. [`directory`] and [`image`] fetch the files ([`Fetched`]), check that they are what a digest
//! names, and stay within [`ReleaseLimits`]. [`Fetched::payload`] makes objects of them and refuses the whole release for
//! one manifest that is none; [`Fetched::findings`] says everything that is wrong or unwise, with its place.
//! [`Payload::stages`] is the order in which they are carried out. [`pack`] makes a release from plain manifests, and
//! [`push`] puts it into a registry.
//!
//! The digest of an image is that of its manifest. The digest of a directory is the SHA-256 of what `sha256sum` prints for
//! the files below `release-manifests`, in the order of the bytes of their paths (see [`digest`]):
//!
//! ```text
//! find release-manifests -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum | sha256sum
//! ```
//!
//! `OpenShift`'s release images are read as they are. Which of their annotations are honoured elsewhere is said in
//! [`Selection`].

#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::string_slice)
)]

pub mod codes;
mod digest;
mod directory;
mod error;
mod image;
mod lint;
mod manifest;
mod metadata;
mod name;
mod pack;
mod policy;
mod push;
mod read;
mod select;
mod sign;
mod signature;
mod stages;

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use clearway_core::diagnostic::FindingList;
use clearway_core::{Digest, Severity, Version};
use serde::Serialize;

use crate::oci::{Image, ReferenceError};

pub use digest::digest;
pub use directory::{directory, write_directory};
pub use error::ReleaseError;
pub use image::{Registries, fetch, image};
pub use manifest::{Definition, GroupKind, Manifest, ObjectId};
pub use metadata::{Metadata, MetadataError, References, ReferencesError};
pub use name::{DEFAULT_RUN_LEVEL, is_component};
pub use pack::{COMPONENT, Packed, RUN_LEVEL, pack};
pub use policy::{Accepted, Refused, accept};
pub use push::{Pushed, push};
pub use select::Selection;
pub use sign::{SignError, SigningKey};
pub use signature::{Key, KeyError, Signature, Signatures, Verdict};
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
}

impl Default for ReleaseLimits {
    fn default() -> Self {
        ReleaseLimits { files: 10_000, bytes: 64 << 20, objects: 20_000, values: 1_000_000 }
    }
}

/// Where a release is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reference {
    /// In a directory that holds `release-manifests`.
    Directory(PathBuf),
    /// In a registry.
    Image(Box<Image>),
}

impl FromStr for Reference {
    type Err = ReferenceError;

    /// `oci://…` is an image, `file://…` and what begins with `/` or `.` a directory; anything else is an image, as payloads
    /// of update graphs are written.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if let Some(path) = text.strip_prefix("file://") {
            return Ok(Reference::Directory(path.into()));
        }
        if text.starts_with(['/', '.']) {
            return Ok(Reference::Directory(text.into()));
        }
        Ok(Reference::Image(Box::new(text.parse()?)))
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reference::Directory(path) => write!(f, "{}", path.display()),
            Reference::Image(image) => write!(f, "{image}"),
        }
    }
}

/// The files of a release, which are what its digest names, and not looked into yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fetched {
    /// Where they are from.
    pub reference: Reference,
    /// What names exactly this content: of an image or an index the digest that its name has.
    pub digest: Digest,
    /// Of an index, the manifest of the image that was taken for the architecture.
    pub chosen: Option<Digest>,
    /// The files.
    pub files: Files,
}

/// A release that can be carried out.
#[derive(Debug, Clone, PartialEq)]
pub struct Payload {
    /// Where it is from.
    pub reference: Reference,
    /// What names exactly this content.
    pub digest: Digest,
    /// What it says about itself.
    pub metadata: Metadata,
    /// The images it lists.
    pub references: Option<References>,
    /// Its objects, in the order of their files.
    pub manifests: Vec<Manifest>,
    /// Objects that are not meant for this cluster.
    pub left_out: Vec<LeftOut>,
}

/// An object of a release that is not meant for this cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// Its file.
    pub file: String,
    /// Which object.
    #[serde(flatten)]
    pub id: ObjectId,
    /// Why.
    pub why: String,
}

impl Fetched {
    /// Refuses what has another digest than the one that was asked for.
    pub fn expect(self, wanted: Option<&Digest>) -> Result<Self, ReleaseError> {
        match wanted {
            Some(wanted) if *wanted != self.digest => {
                Err(ReleaseError::Digest { at: self.reference.to_string(), wanted: wanted.clone(), found: self.digest })
            }
            _ => Ok(self),
        }
    }

    /// Makes objects of the files. One that is none refuses the release.
    pub fn payload(&self, selection: &Selection, limits: &ReleaseLimits) -> Result<Payload, ReleaseError> {
        let reading = read::read(&self.files, selection, limits);
        let good = reading.is_good();
        match reading.metadata {
            Some(metadata) if good => Ok(Payload {
                reference: self.reference.clone(),
                digest: self.digest.clone(),
                metadata,
                references: reading.references,
                manifests: reading.manifests,
                left_out: reading.left_out,
            }),
            _ => {
                let errors = reading.findings.count(Severity::Error);
                let findings = reading.findings.into_errors();
                Err(ReleaseError::Content { at: self.reference.to_string(), findings, errors })
            }
        }
    }

    /// Everything that is wrong with the content or unwise: all of it is counted, and the first ones are kept.
    pub fn findings(&self, selection: &Selection, limits: &ReleaseLimits) -> FindingList {
        let reading = read::read(&self.files, selection, limits);
        let mut findings = reading.findings;
        lint::lint(&reading.manifests, &mut findings);
        findings
    }
}

impl Payload {
    /// The version.
    pub fn version(&self) -> &Version {
        &self.metadata.version
    }

    /// The order in which its objects are carried out.
    pub fn stages(&self) -> Vec<Stage<'_>> {
        stages::stages(&self.manifests)
    }
}
