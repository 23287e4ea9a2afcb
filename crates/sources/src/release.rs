//! Where releases come from and go: directories and registries, with their signatures.
//!
//! [`directory`] and [`image`] fetch the files ([`FetchedRelease`]), check that they are what a digest names, and stay
//! within [`ReleaseLimits`]. [`FetchedRelease::payload`] makes objects of them, and [`FetchedRelease::verify`] checks
//! their signatures. [`push`] and [`write_directory`] store a release. What a release is, is the subject of
//! [`clearway_release`].

#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::string_slice)
)]

mod directory;
mod error;
mod image;
mod push;
mod sign;
mod signature;

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use clearway_core::Digest;
use clearway_core::diagnostic::FindingList;
use clearway_release::{Files, Payload, ReleaseLimits, Selection};

use crate::oci::{Image, ReferenceError};

pub use directory::{directory, write_directory};
pub use error::ReleaseError;
pub use image::{Registries, fetch, image};
pub use push::{PushedImage, push};
pub use sign::{SignError, SigningKey};
pub(crate) use signature::verify_image;
pub use signature::{Key, KeyError, Signature, Signatures};

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
pub struct FetchedRelease {
    /// Where they are from.
    pub reference: Reference,
    /// What names exactly this content: of an image or an index the digest that its name has.
    pub digest: Digest,
    /// Of an index, the manifest of the image that was taken for the architecture.
    pub chosen: Option<Digest>,
    /// The files.
    pub files: Files,
}

impl FetchedRelease {
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
        Payload::read(&self.files, self.digest.clone(), selection, limits)
            .map_err(|error| ReleaseError::Content { at: self.reference.to_string(), error })
    }

    /// Everything that is wrong with the content or unwise: all of it is counted, and the first ones are kept.
    pub fn findings(&self, selection: &Selection, limits: &ReleaseLimits) -> FindingList {
        clearway_release::findings(&self.files, selection, limits)
    }
}
