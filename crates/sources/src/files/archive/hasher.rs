//! A digest that is computed as bytes pass.

use std::fmt::Write as _;

use clearway_core::Digest;
use sha2::Digest as _;

/// The digest of what passed, by the algorithm of another one.
pub(crate) enum Hasher {
    Sha256(sha2::Sha256),
    Sha512(sha2::Sha512),
}

impl Hasher {
    pub(crate) fn new(digest: &Digest) -> Self {
        match digest.algorithm() {
            clearway_core::Algorithm::Sha256 => Hasher::Sha256(sha2::Sha256::new()),
            clearway_core::Algorithm::Sha512 => Hasher::Sha512(sha2::Sha512::new()),
        }
    }

    pub(crate) fn update(&mut self, bytes: &[u8]) {
        match self {
            Hasher::Sha256(hasher) => hasher.update(bytes),
            Hasher::Sha512(hasher) => hasher.update(bytes),
        }
    }

    pub(crate) fn hex(self) -> String {
        let hex = |bytes: &[u8]| {
            bytes.iter().fold(String::new(), |mut hex, byte| {
                let _ = write!(hex, "{byte:02x}");
                hex
            })
        };
        match self {
            Hasher::Sha256(hasher) => hex(&hasher.finalize()),
            Hasher::Sha512(hasher) => hex(&hasher.finalize()),
        }
    }
}
