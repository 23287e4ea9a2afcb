//! Why a release is refused: one sentence each, with what, where and what to do.

use std::io;
use std::path::PathBuf;

use clearway_core::Digest;
use clearway_release::ContentError;

use crate::files::confined::READS;
use crate::oci::OciError;

/// Why a release cannot be read, or is refused.
#[derive(Debug, thiserror::Error)]
pub enum ReleaseError {
    /// A file or directory cannot be read or written.
    #[error("{}: {error}", path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// There is no release there.
    #[error("{at}: not a release: {why}")]
    NotARelease {
        /// Where.
        at: String,
        /// What there is instead.
        why: String,
    },
    /// A file that is none, or whose name is not read.
    #[error("{at}: {why}; a release consists of regular files with plain names")]
    File {
        /// Which.
        at: String,
        /// What is wrong with it.
        why: String,
    },
    /// The directory does not come to rest.
    #[error("{}: it changed during each of {READS} reads; move a finished release there", path.display())]
    Changing {
        /// Which.
        path: PathBuf,
    },
    /// More than is read.
    #[error("{at}: more than {limit} {what}")]
    TooLarge {
        /// Where.
        at: String,
        /// Of what there is too much.
        what: &'static str,
        /// How much is read.
        limit: u64,
    },
    /// Another digest than the one that was asked for.
    #[error("{at}: the digest is {found}, but {wanted} was requested; it is another release, or was changed")]
    Digest {
        /// Where.
        at: String,
        /// What was asked for.
        wanted: Digest,
        /// What is there.
        found: Digest,
    },
    /// Manifests that are none.
    #[error("{at}: {error}")]
    Content {
        /// Where.
        at: String,
        /// What is wrong with them.
        error: ContentError,
    },
    /// The registry does not give it.
    #[error(transparent)]
    Oci(#[from] OciError),
}

impl ReleaseError {
    /// A stable word for the kind of error.
    pub fn kind(&self) -> &'static str {
        match self {
            ReleaseError::Io { .. } => "io",
            ReleaseError::NotARelease { .. } => "not_a_release",
            ReleaseError::File { .. } => "file",
            ReleaseError::Changing { .. } => "changing",
            ReleaseError::TooLarge { .. } => "too_large",
            ReleaseError::Digest { .. } => "digest",
            ReleaseError::Content { .. } => "content",
            ReleaseError::Oci(error) => error.kind(),
        }
    }

    /// Whether the next time may go better.
    pub fn is_passing(&self) -> bool {
        match self {
            ReleaseError::Oci(error) => error.is_passing(),
            ReleaseError::Changing { .. } => true,
            _ => false,
        }
    }

    /// Whether the release itself is to blame, and not the way to it: trying again, or elsewhere, gives the same.
    pub fn is_about_the_release(&self) -> bool {
        match self {
            ReleaseError::Io { .. } | ReleaseError::Changing { .. } => false,
            ReleaseError::Oci(error) => matches!(
                error,
                OciError::Mismatch { .. }
                    | OciError::TooLarge { .. }
                    | OciError::Unsupported { .. }
                    | OciError::Broken { .. }
                    | OciError::Architecture { .. }
            ),
            _ => true,
        }
    }
}
