//! Fetches a release, checks its digest and signature, reads it, and compares its version with the one asked for.

use std::str::FromStr as _;

use clearway_core::Digest;
use clearway_release::{Accepted, Payload, accept};
use clearway_sources::release::{self, Fetched, Reference, ReleaseError};

use super::Settings;
use clearway_update::rollout::{Step, UpdateRequest};
use clearway_update::task::Task;

/// A release that was fetched and read.
pub(super) struct Retrieved {
    pub(super) payload: Payload,
    /// A fingerprint of its files.
    pub(super) hash: String,
    pub(super) verified: bool,
    /// What was waived.
    pub(super) overridden: Vec<String>,
}

/// Why a release is not acceptable, or cannot be had.
pub(super) struct Refusal {
    pub(super) step: Step,
    pub(super) why: String,
    /// Whether that may end without anybody doing anything.
    pub(super) passing: bool,
}

impl Refusal {
    pub(super) fn new(step: Step, why: impl Into<String>) -> Self {
        Refusal { step, why: why.into(), passing: false }
    }

    fn from(step: Step, error: &ReleaseError) -> Self {
        Refusal { step, why: error.to_string(), passing: error.is_passing() }
    }
}

/// Fetches a release; `at` hears of each step as it begins.
pub(super) async fn retrieve(settings: &Settings, task: &Task, mut at: impl FnMut(Step)) -> Result<Retrieved, Refusal> {
    at(Step::Retrieve);
    let request = &task.request;
    let mut overridden = Vec::new();
    let (reference, wanted) = reference(request)?;
    if wanted.is_none() && matches!(reference, Reference::Image(_)) {
        // A tag may mean another release tomorrow, when an interrupted update goes on.
        if !request.force {
            let why = format!("{reference} has no digest; name the release as NAME@sha256:…, or force the update");
            return Err(Refusal::new(Step::Retrieve, why));
        }
        overridden.push(waived(request, "its image is named by a tag, which can be moved to another release"));
    }
    let fetched = release::fetch(&reference, settings.registries(), &settings.limits, wanted.as_ref()).await;
    let fetched = fetched.map_err(|error| Refusal::from(Step::Retrieve, &error))?;
    let verified = verify(settings, request, &fetched, &mut overridden).await?;
    at(Step::Load);
    let payload = fetched.payload(&settings.selection, &settings.limits);
    let payload = payload.map_err(|error| Refusal::from(Step::Load, &error))?;
    // Nothing at all would be pruned down to nothing.
    if payload.manifests.is_empty() {
        let why = format!("the release has no objects for this cluster ({} are for others)", payload.left_out.len());
        return Err(Refusal::new(Step::Load, why));
    }
    at(Step::VerifyVersion);
    let (found, asked) = (payload.version().to_string(), &request.release.version);
    if !asked.is_empty() && *asked != found {
        let why = format!("release image version {found} does not match the expected upstream version {asked}");
        return Err(Refusal::new(Step::VerifyVersion, why));
    }
    let hash = clearway_release::digest(&fetched.files).hex().to_owned();
    Ok(Retrieved { payload, hash, verified, overridden })
}

/// Where a release is, and the digest it must have. A directory may have one behind its name as images have.
fn reference(request: &UpdateRequest) -> Result<(Reference, Option<Digest>), Refusal> {
    let image = request.release.image.as_str();
    let refuse = |why: String| Refusal::new(Step::Retrieve, why);
    let wanted = match image.rsplit_once('@') {
        Some((_, digest)) if digest.starts_with("sha256:") => {
            Some(Digest::from_str(digest).map_err(|error| refuse(format!("{image}: {error}")))?)
        }
        _ => None,
    };
    let parsed = |text: &str| Reference::from_str(text).map_err(|error| refuse(error.to_string()));
    match (parsed(image)?, &wanted, image.rsplit_once('@')) {
        (Reference::Directory(_), Some(_), Some((path, _))) => Ok((parsed(path)?, wanted)),
        (reference, ..) => Ok((reference, wanted)),
    }
}

/// Whether a trusted key signed it. With keys it must have, unless the update is forced.
async fn verify(
    settings: &Settings,
    request: &UpdateRequest,
    fetched: &Fetched,
    overridden: &mut Vec<String>,
) -> Result<bool, Refusal> {
    let verdict = if settings.keys.is_empty() {
        None
    } else {
        match fetched.verify(&settings.keys, settings.registries()).await {
            Ok(verdict) => Some(verdict),
            Err(error) if request.force && !error.is_passing() => {
                overridden.push(waived(request, &error.to_string()));
                return Ok(false);
            }
            Err(error) => return Err(Refusal::from(Step::Retrieve, &error)),
        }
    };
    match accept(verdict.as_ref(), request.force) {
        Ok(Accepted::Verified { .. }) => Ok(true),
        Ok(Accepted::Unchecked) => Ok(false),
        Ok(Accepted::Waived { why }) => {
            overridden.push(waived(request, &why));
            Ok(false)
        }
        Err(refused) => Err(Refusal::new(Step::Retrieve, refused.to_string())),
    }
}

/// The sentence that clients know.
fn waived(request: &UpdateRequest, why: &str) -> String {
    format!(
        "Target release version={:?} image={:?} cannot be verified, but continuing anyway because the update was forced: {why}",
        request.release.version, request.release.image
    )
}
