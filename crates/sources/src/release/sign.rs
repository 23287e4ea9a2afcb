//! Signing releases, in the forms that `signature` reads.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use clearway_core::Digest;
use rustls::SignatureScheme;
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::sign::Signer;
use serde_json::json;

use super::error::ReleaseError;
use super::signature::KeyError;
use crate::oci::{self, Attached, Registry, Repository};

/// A private key to sign with.
#[derive(Debug)]
pub struct SigningKey {
    signer: Box<dyn Signer>,
    name: String,
}

impl SigningKey {
    /// Reads a private key in PEM that is not encrypted: ECDSA on P-256, Ed25519 or RSA.
    pub fn read(name: &str, pem: &[u8]) -> Result<Self, KeyError> {
        let failed = |why: &str| KeyError { name: name.to_owned(), why: why.to_owned() };
        if pem.windows(9).any(|word| word == b"ENCRYPTED") {
            return Err(failed(
                "encrypted private keys are not supported; push without the key, and sign with `cosign sign --key`",
            ));
        }
        let key = PrivateKeyDer::from_pem_slice(pem).map_err(|_| failed("it contains no private key"))?;
        let key = rustls::crypto::ring::sign::any_supported_type(&key);
        let schemes =
            [SignatureScheme::ECDSA_NISTP256_SHA256, SignatureScheme::ED25519, SignatureScheme::RSA_PKCS1_SHA256];
        let signer = key.ok().and_then(|key| key.choose_scheme(&schemes));
        let signer = signer.ok_or_else(|| failed("its key is not ECDSA P-256, Ed25519 or RSA"))?;
        Ok(SigningKey { signer, name: name.to_owned() })
    }

    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, KeyError> {
        let failed = |error: rustls::Error| KeyError { name: self.name.clone(), why: error.to_string() };
        self.signer.sign(message).map_err(failed)
    }

    /// The content of `release.sig` for the digest of a directory.
    pub fn sign_directory(&self, digest: &Digest) -> Result<Vec<u8>, KeyError> {
        Ok(format!("{}\n", STANDARD.encode(self.sign(digest.to_string().as_bytes())?)).into_bytes())
    }

    /// Signs an image of a registry, and puts the signature where `cosign verify --key` looks for it.
    pub async fn sign_image(
        &self,
        registry: &Registry,
        repository: &Repository,
        digest: &Digest,
    ) -> Result<(), SignError> {
        let payload = json!({
            "critical": {
                "identity": {"docker-reference": repository.to_string()},
                "image": {"docker-manifest-digest": digest},
                "type": "cosign container image signature",
            },
            "optional": null,
        });
        let payload = payload.to_string().into_bytes();
        let signature = self.sign(&payload)?;
        let attached = Attached { payload, signature };
        Ok(oci::attach(registry, repository, digest, &attached).await.map_err(ReleaseError::from)?)
    }
}

/// Why something was not signed.
#[derive(Debug, thiserror::Error)]
pub enum SignError {
    /// The key cannot be used.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The signature cannot be put into the registry.
    #[error(transparent)]
    Release(#[from] ReleaseError),
}
