//! Content digests as container registries write them: `sha256:<hex>`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sha2::Digest as _;

/// The hash function of a [`Digest`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Algorithm {
    /// SHA-256, which registries require.
    Sha256,
    /// SHA-512, which the image specification also registers.
    Sha512,
}

/// A digest that is known to be well-formed: a registered algorithm and the right number of lower-case hex digits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Digest {
    algorithm: Algorithm,
    hex: String,
}

/// Why a text is not a digest.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DigestError {
    /// No algorithm, or one that is not registered.
    #[error("`{text}` is not a digest: it must begin with `sha256:` or `sha512:`")]
    Algorithm {
        /// What was read.
        text: String,
    },
    /// The hexadecimal part has the wrong length or other characters.
    #[error("`{text}` is not a digest: {expected} lower-case hexadecimal digits must follow the colon")]
    Hex {
        /// What was read.
        text: String,
        /// How many digits the algorithm has.
        expected: usize,
    },
}

impl Algorithm {
    /// The name before the colon.
    pub fn as_str(self) -> &'static str {
        match self {
            Algorithm::Sha256 => "sha256",
            Algorithm::Sha512 => "sha512",
        }
    }

    fn hex_digits(self) -> usize {
        match self {
            Algorithm::Sha256 => 64,
            Algorithm::Sha512 => 128,
        }
    }
}

impl Digest {
    /// The SHA-256 digest of some bytes.
    pub fn sha256(bytes: &[u8]) -> Self {
        Digest { algorithm: Algorithm::Sha256, hex: lower_hex(&sha2::Sha256::digest(bytes)) }
    }

    /// Whether `bytes` are what this digest was made of.
    pub fn matches(&self, bytes: &[u8]) -> bool {
        let hex = match self.algorithm {
            Algorithm::Sha256 => lower_hex(&sha2::Sha256::digest(bytes)),
            Algorithm::Sha512 => lower_hex(&sha2::Sha512::digest(bytes)),
        };
        hex == self.hex
    }

    /// The hash function.
    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// The hexadecimal digits.
    pub fn hex(&self) -> &str {
        &self.hex
    }
}

fn lower_hex(bytes: &[u8]) -> String {
    use fmt::Write as _;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

impl FromStr for Digest {
    type Err = DigestError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let shown = || text.chars().take(160).collect();
        let (algorithm, hex) = match text.split_once(':') {
            Some(("sha256", hex)) => (Algorithm::Sha256, hex),
            Some(("sha512", hex)) => (Algorithm::Sha512, hex),
            _ => return Err(DigestError::Algorithm { text: shown() }),
        };
        let expected = algorithm.hex_digits();
        if hex.len() != expected || !hex.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
            return Err(DigestError::Hex { text: shown(), expected });
        }
        Ok(Digest { algorithm, hex: hex.to_owned() })
    }
}

impl TryFrom<String> for Digest {
    type Error = DigestError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> Self {
        digest.to_string()
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.algorithm.as_str(), self.hex)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// SHA-256 of the empty text, as every reference has it.
    const EMPTY: &str = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    #[test]
    fn hashes_as_the_reference_does_and_reads_what_it_writes() {
        let digest = Digest::sha256(b"");
        assert_eq!(digest.to_string(), EMPTY);
        assert_eq!(EMPTY.parse(), Ok(digest.clone()));
        assert!(digest.matches(b"") && !digest.matches(b"x"));
    }

    #[test]
    fn refuses_other_algorithms_lengths_and_digits_by_name() {
        for (text, want) in [
            ("md5:d41d8cd98f00b204e9800998ecf8427e", "must begin with"),
            ("sha256", "must begin with"),
            ("sha256:abc", "64 lower-case"),
            (&EMPTY.to_uppercase().replace("SHA", "sha"), "64 lower-case"),
            (&EMPTY.replace("sha256", "sha512"), "128 lower-case"),
        ] {
            let error = text.parse::<Digest>().unwrap_err().to_string();
            assert!(error.contains(want), "{text}: {error}");
        }
    }
    proptest! {
        #[test]
        fn no_text_panics_and_what_is_read_is_written_as_it_was(text in "(sha256:|sha512:|.{0,9})([0-9a-f]{64}|.{0,70})") {
            if let Ok(digest) = text.parse::<Digest>() {
                prop_assert_eq!(digest.to_string(), text);
            }
        }
    }
}
