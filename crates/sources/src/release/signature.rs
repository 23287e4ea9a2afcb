//! Signatures of releases, checked offline with public keys.
//!
//! An image has its signatures where `cosign sign --key` puts them: under the tag `sha256-<hex>.sig` of its repository, each
//! over a text that names the digest. No transparency log is asked.
//!
//! A directory has them beside it in the file `release.sig`: one a line, in base64, over the digest of the directory
//! as text (`sha256:…`, with or without a line feed at its end). Both of these make one:
//!
//! ```text
//! clearway release show --digest DIR > digest
//! cosign sign-blob --key cosign.key --tlog-upload=false digest > DIR/release.sig
//! openssl dgst -sha256 -sign key.pem digest | base64 -w0 > DIR/release.sig
//! ```
//!
//! Keys are public keys in PEM: ECDSA on P-256 (cosign's own) or P-384, Ed25519, and RSA from 2048 bits on.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use clearway_core::Digest;
use clearway_release::{SIGNATURES, Verdict};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{SignatureVerificationAlgorithm, SubjectPublicKeyInfoDer};
use webpki::RawPublicKeyEntity;

use super::error::ReleaseError;
use super::{FetchedRelease, Reference, Registries};
use crate::files::confined::{ConfinedDirectory, read_regular_file};
use crate::files::file_tree::ReadError;
use crate::oci::{self, Attached, Cache, OciError, Registry, Repository};

/// What a key may be.
static ALGORITHMS: [&dyn SignatureVerificationAlgorithm; 5] = [
    webpki::ring::ECDSA_P256_SHA256,
    webpki::ring::ECDSA_P384_SHA256,
    webpki::ring::ECDSA_P384_SHA384,
    webpki::ring::ED25519,
    webpki::ring::RSA_PKCS1_2048_8192_SHA256,
];
/// What a signed text must say it is.
const TYPES: [&str; 2] = ["cosign container image signature", "atomic container signature"];
/// Bytes of `release.sig`, and of a file of keys.
const FILE_BYTES: u64 = 64 << 10;

/// A public key that is trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    name: String,
    key: SubjectPublicKeyInfoDer<'static>,
}

/// Why a file holds no keys.
#[derive(Debug, thiserror::Error)]
#[error(
    "{name}: {why}; name a file with public keys in PEM, as `cosign public-key` or `openssl pkey -pubout` writes them"
)]
pub struct KeyError {
    /// The file.
    pub name: String,
    /// What is wrong with it.
    pub why: String,
}

/// One signature, and what it is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signature {
    /// The text that was signed, which names a digest; without it, it is the digest itself.
    pub payload: Option<Vec<u8>>,
    /// The signature.
    pub signature: Vec<u8>,
}

/// The signatures of a release.
pub type Signatures = Vec<Signature>;

impl Key {
    /// Reads the public keys of a PEM file; `name` is what they go by.
    pub fn read(name: &str, pem: &[u8]) -> Result<Vec<Self>, KeyError> {
        let failed = |why: String| KeyError { name: name.to_owned(), why };
        let found: Result<Vec<_>, _> = SubjectPublicKeyInfoDer::pem_slice_iter(pem).collect();
        let found = found.map_err(|error| failed(error.to_string()))?;
        if found.is_empty() {
            return Err(failed("it contains no public key".to_owned()));
        }
        let many = found.len() > 1;
        let keys = found.into_iter().enumerate().map(|(number, key)| {
            let name = if many { format!("{name} ({})", number + 1) } else { name.to_owned() };
            let key = Key { name, key };
            key.check().map_err(&failed)?;
            Ok(key)
        });
        keys.collect()
    }

    /// Reads the public keys of a file.
    pub fn file(path: &Path) -> Result<Vec<Self>, KeyError> {
        let name = path.display().to_string();
        let pem = read_regular_file(path, FILE_BYTES)
            .map_err(|error| KeyError { name: name.clone(), why: error.to_string() })?;
        Key::read(&name, &pem)
    }

    /// What it goes by.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Refuses keys that no algorithm fits, before something was signed with them.
    fn check(&self) -> Result<(), String> {
        let entity = RawPublicKeyEntity::try_from(&self.key).map_err(|_| "it is not a public key".to_owned())?;
        let fits = |algorithm: &&dyn SignatureVerificationAlgorithm| {
            let tried = entity.verify_signature(*algorithm, b"", b"");
            !matches!(tried, Err(webpki::Error::UnsupportedSignatureAlgorithmForPublicKeyContext(_)))
        };
        let known = ALGORITHMS.iter().any(fits);
        if known { Ok(()) } else { Err("its keys are not ECDSA P-256 or P-384, Ed25519 or RSA".to_owned()) }
    }

    fn signed(&self, message: &[u8], signature: &[u8]) -> bool {
        let Ok(entity) = RawPublicKeyEntity::try_from(&self.key) else { return false };
        ALGORITHMS.iter().any(|algorithm| entity.verify_signature(*algorithm, message, signature).is_ok())
    }
}

/// What the signatures of an image in a registry say about its digest, with these keys. Those that were found before are
/// tried first, so that what was good needs no registry to be good again.
pub(crate) async fn verify_image(
    registry: &Registry,
    repository: &Repository,
    digest: &Digest,
    keys: &[Key],
    cache: &Cache,
) -> Result<Verdict, OciError> {
    let of = |attached: Vec<Attached>| {
        let signature = |one: Attached| Signature { payload: Some(one.payload), signature: one.signature };
        attached.into_iter().map(signature).collect::<Signatures>()
    };
    let kept = verify(digest, &of(oci::cached_signatures(cache, digest).await), keys);
    if matches!(kept, Verdict::Verified { .. }) {
        return Ok(kept);
    }
    Ok(verify(digest, &of(oci::attached(registry, repository, digest, cache).await?), keys))
}

/// What signatures say about a digest.
pub(super) fn verify(digest: &Digest, signatures: &[Signature], keys: &[Key]) -> Verdict {
    if signatures.is_empty() {
        return Verdict::Unsigned;
    }
    let mut other = None;
    for signature in signatures {
        let messages = match &signature.payload {
            Some(payload) => vec![payload.clone()],
            None => vec![digest.to_string().into_bytes(), format!("{digest}\n").into_bytes()],
        };
        let by = |key: &&Key| messages.iter().any(|message| key.signed(message, &signature.signature));
        let Some(key) = keys.iter().find(by) else { continue };
        match signature.payload.as_deref().map_or(Ok(digest.to_string()), named) {
            Ok(named) if named == digest.to_string() => {
                return Verdict::Verified { key: key.name.clone(), what: named };
            }
            Ok(named) => other = Some(format!("{} signed another release, {named}", key.name)),
            Err(why) => other = Some(format!("{} signed something else: {why}", key.name)),
        }
    }
    let count = signatures.len();
    let names: Vec<&str> = keys.iter().map(Key::name).collect();
    Verdict::Failed {
        why: other
            .unwrap_or_else(|| format!("none of its {count} signatures is by a trusted key ({})", names.join(", "))),
    }
}

/// The digest that a signed text names.
fn named(payload: &[u8]) -> Result<String, String> {
    let text: serde_json::Value = serde_json::from_slice(payload).map_err(|error| error.to_string())?;
    let get = |pointer: &str| text.pointer(pointer).and_then(serde_json::Value::as_str);
    if !get("/critical/type").is_some_and(|kind| TYPES.contains(&kind)) {
        return Err("it is not a signature of an image".to_owned());
    }
    get("/critical/image/docker-manifest-digest")
        .map(str::to_owned)
        .ok_or_else(|| "it does not name a digest".to_owned())
}

impl FetchedRelease {
    /// What its signatures say, with these keys.
    pub async fn verify(&self, keys: &[Key], registries: Registries<'_>) -> Result<Verdict, ReleaseError> {
        let image = match &self.reference {
            Reference::Directory(path) => return Ok(verify(&self.digest, &beside(path)?, keys)),
            Reference::Image(image) => image,
        };
        let Registries { registry, cache, .. } = registries;
        Ok(verify_image(registry, image.repository(), &self.digest, keys, cache).await?)
    }
}

/// The signatures beside a directory.
fn beside(path: &Path) -> Result<Signatures, ReleaseError> {
    let failed = |error| ReleaseError::Io { path: path.to_owned(), error };
    let at = || path.join(SIGNATURES).display().to_string();
    let mut directory = ConfinedDirectory::open(path).map_err(failed)?;
    let text = match directory.content(SIGNATURES.as_bytes(), FILE_BYTES) {
        Ok(Some(text)) => text,
        Ok(None) => return Ok(Vec::new()),
        Err(ReadError::TooLarge) => {
            return Err(ReleaseError::TooLarge { at: at(), what: "bytes", limit: FILE_BYTES });
        }
        Err(ReadError::Refused(why)) => return Err(ReleaseError::File { at: at(), why }),
    };
    let text = String::from_utf8_lossy(&text);
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    // What is no base64 is still a signature that nobody vouches for: such a release is not unsigned.
    let signature = |line| Signature { payload: None, signature: STANDARD.decode(line).unwrap_or_default() };
    Ok(lines.map(signature).collect())
}

#[cfg(test)]
mod tests;
