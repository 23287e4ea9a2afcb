//! What an administrator asks for, and what that is (U12, U23).
//!
//! A version is looked up among the available updates, then the conditional ones, then in the history, once: what it came
//! to is in the status from then on, and a list that changes meanwhile changes nothing. Nothing is refused for not being
//! recommended; it is recorded. A downgrade is refused (see [`downgrade`]), and a change of architecture
//! that cannot be made is never ignored.

pub mod architecture;
pub mod downgrade;

use clearway_conditions::Status as Word;
use clearway_core::Version;

use crate::api::{MULTI, RECOMMENDED, Release, Spec, Status, UpdateHistory, same_image};
use crate::desired_update::architecture::{MultiRelease, changes_architecture, wants_multi};
use crate::desired_update::downgrade::CurrentRelease;
use crate::rollout::UpdateRequest;

/// What is to happen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DesiredUpdate {
    /// Nothing beyond what is there.
    Keep,
    /// The update that was begun goes on.
    Continue(UpdateRequest),
    /// An update begins.
    Begin(UpdateRequest),
    /// What is asked for is not an update.
    Invalid(String),
    /// The update service has to say first which release is meant.
    Unresolved {
        /// The release as far as it is known: without its image.
        request: UpdateRequest,
        /// Why the service has not said it; nothing while it is being asked.
        why: Option<String>,
    },
}

/// What is asked for. `multi` counts only if the spec asks for a change of the architecture.
pub fn desired_update(spec: &Spec, status: &Status, multi: MultiRelease<'_>) -> DesiredUpdate {
    let newest = status.history.first();
    let go_on = |force: bool| match status.open_entry() {
        Some(entry) => {
            DesiredUpdate::Continue(UpdateRequest { release: pinned(entry, &status.desired), force, resumes: true })
        }
        None => DesiredUpdate::Keep,
    };
    let Some(update) = spec.desired_update.as_ref() else { return go_on(false) };
    let (version, image) = (update.version.as_deref().unwrap_or_default(), update.image.as_deref().unwrap_or_default());
    if let Some(architecture) = update.architecture.as_deref()
        && let Some(why) = wrong_architecture(architecture, version, image)
    {
        return DesiredUpdate::Invalid(why);
    }
    if version.is_empty() && image.is_empty() {
        return go_on(update.force);
    }
    if changes_architecture(spec, status) && version == status.desired.version {
        let request = |release: Release| UpdateRequest { release, force: update.force, resumes: false };
        let asked = || {
            let (architecture, version) = (Some(MULTI.to_owned()), version.to_owned());
            request(Release { architecture, version, ..Release::default() })
        };
        return match multi {
            MultiRelease::Found(release) => DesiredUpdate::Begin(request(release.clone())),
            MultiRelease::Pending => DesiredUpdate::Unresolved { request: asked(), why: None },
            MultiRelease::Unavailable(why) => DesiredUpdate::Unresolved { request: asked(), why: Some(why.to_owned()) },
        };
    }
    if newest.is_some_and(|entry| is(entry, version, image)) {
        return go_on(update.force);
    }
    let release = match resolve(spec, version, image, status) {
        Ok(release) => release,
        Err(why) => return DesiredUpdate::Invalid(why),
    };
    // The version of an image that is in no list is known only when it was loaded; it is compared then.
    let downgrade = CurrentRelease::of(status).downgrade_to(&release.version, &release.image);
    match downgrade.and_then(|downgrade| downgrade.refusal()) {
        Some(why) if !update.force => {
            DesiredUpdate::Invalid(format!("spec.desiredUpdate: Invalid value: {:?}: {why}", release.version))
        }
        _ => DesiredUpdate::Begin(UpdateRequest { release, force: update.force, resumes: false }),
    }
}

/// What is wrong with asking for an architecture. A CRD refuses the same, but a directory has none.
fn wrong_architecture(architecture: &str, version: &str, image: &str) -> Option<String> {
    Some(if architecture != MULTI {
        format!("spec.desiredUpdate.architecture: Unsupported value: {architecture:?}: the only one is {MULTI:?}")
    } else if !image.is_empty() {
        "spec.desiredUpdate.architecture: cannot set both Architecture and Image".to_owned()
    } else if version.is_empty() {
        "spec.desiredUpdate.version: Required value: an architecture needs a version".to_owned()
    } else {
        return None;
    })
}

/// Whether an entry of the history is what is asked for.
fn is(entry: &UpdateHistory, version: &str, image: &str) -> bool {
    let same_version = version.is_empty() || entry.version.is_empty() || entry.version == version;
    let same_image = image.is_empty() || same_image(&entry.image, image);
    same_version && same_image && !(image.is_empty() && entry.version.is_empty())
}

/// What was resolved when the update began.
fn pinned(entry: &UpdateHistory, desired: &Release) -> Release {
    if same_image(&desired.image, &entry.image) {
        Release { version: entry.version.clone(), ..desired.clone() }
    } else {
        Release { version: entry.version.clone(), image: entry.image.clone(), ..Release::default() }
    }
}

fn resolve(spec: &Spec, version: &str, image: &str, status: &Status) -> Result<Release, String> {
    let known = || {
        let conditional = status.conditional_updates.iter().map(|update| &update.release);
        status.available_updates.iter().chain(conditional)
    };
    if !image.is_empty() {
        let found = known().find(|release| same_image(&release.image, image));
        let found = found.filter(|release| version.is_empty() || release.version == version);
        let told = Release { version: version.to_owned(), ..Release::default() };
        return Ok(Release { image: image.to_owned(), ..found.cloned().unwrap_or(told) });
    }
    let multi = wants_multi(spec);
    let field = format!("spec.desiredUpdate.version: Invalid value: {version:?}");
    let mut found: Vec<Release> = Vec::new();
    for release in known().filter(|release| release.version == version && !release.image.is_empty()) {
        let wanted = !multi || release.architecture.as_deref() == Some(MULTI);
        if wanted && !found.iter().any(|seen| same_image(&seen.image, &release.image)) {
            found.push(release.clone());
        }
    }
    match found.as_slice() {
        [release] => return Ok(release.clone()),
        [] => {}
        _ => {
            return Err(format!(
                "{field}: there are multiple possible payloads for this version, specify the exact image"
            ));
        }
    }
    if changes_architecture(spec, status) {
        let current = &status.desired.version;
        return Err(format!(
            "spec.desiredUpdate.architecture: Invalid value: {MULTI:?}: the architecture can only be changed at the current version; set {MULTI} with version {current} first, then update"
        ));
    }
    // The history does not say for which architectures a release was.
    let mut history = status.history.iter().filter(|_| !multi);
    match history.find(|entry| entry.version == version && !entry.image.is_empty()) {
        Some(entry) => Ok(Release { version: version.to_owned(), image: entry.image.clone(), ..Release::default() }),
        None => Err(format!("{field}: when image is empty the update must be an available update")),
    }
}

/// What has to be recorded about beginning an update, apart from what its preparation finds: nothing if it is recommended.
///
/// The texts for targets that carry risks have the form that clients know (U12); what is in no list, a downgrade and an
/// overridden `Upgradeable=False` have sentences of their own, which `docs/updating.md` lists.
pub fn accepted_risks(spec: &Spec, status: &Status, release: &Release) -> Vec<String> {
    let from = if status.desired.version.is_empty() { "nothing" } else { &status.desired.version };
    let to = if release.version.is_empty() { &release.image } else { &release.version };
    let matching = |known: &Release| same_image(&known.image, &release.image);
    let conditional = status.conditional_updates.iter().find(|update| matching(&update.release));
    let mut said = Vec::new();
    if let Some(update) = conditional {
        let recommended = update.conditions.get(RECOMMENDED);
        match recommended {
            Some(condition) if condition.status == Word::True => {}
            Some(condition) => {
                said.push(format!("Updating from {from} to {to} is supported, but not recommended for this cluster."));
                said.push(format!("Reason: {}", condition.reason));
                said.push(condition.message.to_owned());
            }
            None => {
                said.push(format!("Updating from {from} to {to} is supported, but not recommended for this cluster."));
                said.push("Reason: NotEvaluated".to_owned());
                said.push("Its risks have not been evaluated yet.".to_owned());
            }
        }
        for risk in &spec.accepted_risks {
            if update.risks.iter().any(|one| one.name == risk.name) {
                said.push(format!("The risk {} was accepted: {}", risk.name, risk.reason));
            }
        }
        for risk in spec.desired_update.iter().flat_map(|update| &update.accept_risks) {
            if update.risks.iter().any(|one| one.name == risk.name) {
                said.push(format!("The risk {} was accepted in spec.desiredUpdate.acceptRisks.", risk.name));
            }
        }
    } else if !status.available_updates.iter().any(matching) && !status.history.is_empty() {
        said.push(format!(
            "Updating from {from} to {to} is not in the list of updates for this cluster, so its risks are unknown."
        ));
    }
    let downgrade = CurrentRelease::of(status).downgrade_to(&release.version, &release.image);
    said.extend(downgrade.map(|downgrade| downgrade.record()));
    said.extend(overridden_upgradeable(status, release));
    said
}

/// `Upgradeable=False` speaks against another minor version; whoever asks for one overrides it.
fn overridden_upgradeable(status: &Status, release: &Release) -> Option<String> {
    let upgradeable = status.conditions.get("Upgradeable").filter(|condition| condition.status == Word::False)?;
    let (from, to) = (status.desired.version.parse::<Version>().ok()?, release.version.parse::<Version>().ok()?);
    ((to.major(), to.minor()) > (from.major(), from.minor())).then(|| {
        let (reason, message) = (upgradeable.reason, upgradeable.message);
        format!("Updating from {from} to {to} overrides Upgradeable=False. Reason: {reason}: {message}")
    })
}

#[cfg(test)]
mod tests;
