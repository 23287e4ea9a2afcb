//! Why a registry did not give what it was asked for: one sentence each, with what, where and what to do.

use std::error::Error;
use std::fmt::Write as _;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use clearway_core::Digest;

/// Why a registry, or what is in it, cannot be read. `at` says which part of which repository.
#[derive(Debug, thiserror::Error)]
pub enum OciError {
    /// The options cannot be used.
    #[error("cannot connect to the registry: {why}")]
    Options {
        /// Which, and what is wrong with it.
        why: String,
    },
    /// The directory of the cache cannot be used.
    #[error("{}: cannot use this directory as a cache: {error}; pass a writable directory", path.display())]
    Cache {
        /// The directory.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// The registry did not answer, or not to the end, however often it was asked.
    #[error("{at}: failed after {attempts} attempts: {why}; try again when the registry is available")]
    Unreachable {
        /// What was asked for.
        at: String,
        /// How often.
        attempts: u32,
        /// What happened the last time.
        why: String,
    },
    /// The whole of it took too long.
    #[error("{at}: not read within {} seconds; try again when the registry is faster", limit.as_secs())]
    Deadline {
        /// What was asked for.
        at: String,
        /// How long it may take.
        limit: Duration,
    },
    /// The registry's certificate is not trusted.
    #[error("{at}: the certificate of the registry is not trusted: {why}; pass the CA certificate of the registry")]
    Certificate {
        /// What was asked for.
        at: String,
        /// What is wrong with it.
        why: String,
    },
    /// The registry refuses this user.
    #[error("{at}: the registry refuses access ({why}); {hint}")]
    Denied {
        /// What was asked for.
        at: String,
        /// What it said.
        why: String,
        /// What to do.
        hint: &'static str,
    },
    /// The registry does not have it.
    #[error("{at}: the registry has no such {what}; check the name")]
    NotFound {
        /// What was asked for.
        at: String,
        /// The kind of thing.
        what: &'static str,
    },
    /// The registry answers something that the protocol does not have.
    #[error("{at}: the answer is not from a registry: {why}; check the host")]
    Protocol {
        /// What was asked for.
        at: String,
        /// What is wrong with the answer.
        why: String,
    },
    /// The bytes are not those that the digest names.
    #[error("{at}: the content does not match the digest {digest}; push the image again")]
    Mismatch {
        /// What was asked for.
        at: String,
        /// What it should be.
        digest: Digest,
    },
    /// More than is read.
    #[error("{at}: it is larger than {limit} bytes (the cap `{cap}`)")]
    TooLarge {
        /// What was asked for.
        at: String,
        /// The name of the limit.
        cap: &'static str,
        /// The limit.
        limit: u64,
    },
    /// A kind of manifest that is not read.
    #[error("{at}: {what}, which is not supported; push it as a Docker schema 2 or an OCI image")]
    Unsupported {
        /// What was asked for.
        at: String,
        /// What it is.
        what: String,
    },
    /// There is no image for the architecture.
    #[error("{at}: no image for {wanted}; it has images for: {has}")]
    Architecture {
        /// What was asked for.
        at: String,
        /// For which architecture.
        wanted: String,
        /// For which there are.
        has: String,
    },
    /// What is in the image is broken, although it is what its digest names.
    #[error("{at}: {why}; build the image again")]
    Broken {
        /// Which part.
        at: String,
        /// What is wrong with it.
        why: String,
    },
    /// No trusted key signed it, and one has to.
    #[error("{at}: {why}; it is refused because keys are given")]
    Untrusted {
        /// The image.
        at: String,
        /// What its signatures say.
        why: String,
    },
    /// An image without a catalogue of products.
    #[error("{at}: {why}; an image of a catalogue has one directory per product with a file `product.yaml`")]
    NotACatalog {
        /// The image.
        at: String,
        /// What it has instead.
        why: String,
    },
    /// An image without graph-data, or with more than one.
    #[error("{at}: {why}; an image of graph-data has one directory with a file `version` and a directory `channels`")]
    NotGraphData {
        /// The image.
        at: String,
        /// What it has instead.
        why: String,
    },
}

impl OciError {
    /// A stable word for the kind of error.
    pub fn kind(&self) -> &'static str {
        match self {
            OciError::Options { .. } => "options",
            OciError::Cache { .. } => "cache",
            OciError::Unreachable { .. } => "unreachable",
            OciError::Deadline { .. } => "deadline",
            OciError::Certificate { .. } => "certificate",
            OciError::Denied { .. } => "denied",
            OciError::NotFound { .. } => "not_found",
            OciError::Protocol { .. } => "protocol",
            OciError::Mismatch { .. } => "mismatch",
            OciError::TooLarge { .. } => "too_large",
            OciError::Unsupported { .. } => "unsupported",
            OciError::Architecture { .. } => "architecture",
            OciError::Broken { .. } => "broken",
            OciError::Untrusted { .. } => "untrusted",
            OciError::NotACatalog { .. } => "not_a_catalog",
            OciError::NotGraphData { .. } => "not_graph_data",
        }
    }

    /// Whether the registry may give it the next time.
    pub fn is_passing(&self) -> bool {
        matches!(self, OciError::Unreachable { .. } | OciError::Deadline { .. })
    }
}

/// An error and what caused it, in one line, each only once.
pub(super) fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        let said = next.to_string();
        if !text.contains(&said) {
            let _ = write!(text, ": {said}");
        }
        cause = next.source();
    }
    text
}

/// Text of a registry, fit for one line of a message.
pub(super) fn printable(text: &str) -> String {
    text.chars().map(|one| if one.is_control() { ' ' } else { one }).take(200).collect::<String>().trim().to_owned()
}
