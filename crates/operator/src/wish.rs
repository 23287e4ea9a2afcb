//! What an administrator asks for, and what that is (U12, U23).
//!
//! A version is looked up among the available updates, then the conditional ones, then in the history, once: what it came
//! to is in the status from then on, and a list that changes meanwhile changes nothing. Nothing is refused for not being
//! recommended; it is recorded.

use clearway_conditions::Status as Word;

use crate::api::{MULTI, RECOMMENDED, Release, Spec, Status, Update, UpdateHistory, UpdateState};
use crate::work::Order;

/// What is to happen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wish {
    /// Nothing beyond what is there.
    Keep,
    /// The update that was begun goes on.
    GoOn(Order),
    /// An update begins.
    Begin(Order),
    /// What is asked for is not an update.
    Invalid(String),
}

/// What is asked for.
pub fn wish(spec: &Spec, status: &Status) -> Wish {
    let newest = status.history.first();
    let begun = newest.filter(|entry| entry.state == UpdateState::Partial && entry.completion_time.is_none());
    let go_on = |force: bool| match begun {
        Some(entry) => Wish::GoOn(Order { release: pinned(entry, &status.desired), force }),
        None => Wish::Keep,
    };
    let Some(update) = spec.desired_update.as_ref() else { return go_on(false) };
    let (version, image) = (update.version.as_deref().unwrap_or_default(), update.image.as_deref().unwrap_or_default());
    if version.is_empty() && image.is_empty() {
        return match update.architecture {
            None => go_on(update.force),
            Some(_) => Wish::Invalid(
                "spec.desiredUpdate.version: Required value: an architecture is asked for with a version".to_owned(),
            ),
        };
    }
    if newest.is_some_and(|entry| is(entry, version, image)) {
        return go_on(update.force);
    }
    match resolve(update, version, image, status) {
        Ok(release) => Wish::Begin(Order { release, force: update.force }),
        Err(why) => Wish::Invalid(why),
    }
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

/// Two names of one release: the same text, or the same digest at another registry.
pub fn same_image(one: &str, other: &str) -> bool {
    let digest = |image: &str| image.rsplit_once('@').map(|(_, digest)| digest.to_owned());
    one == other || digest(one).is_some_and(|one| Some(one) == digest(other))
}

fn resolve(update: &Update, version: &str, image: &str, status: &Status) -> Result<Release, String> {
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
    let multi = update.architecture.as_deref() == Some(MULTI);
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
    let before = status.history.iter().find(|entry| entry.version == version && !entry.image.is_empty());
    match before {
        Some(entry) => Ok(Release { version: version.to_owned(), image: entry.image.clone(), ..Release::default() }),
        None => Err(format!("{field}: when image is empty the update must be an available update")),
    }
}

/// What has to be recorded about beginning an update, apart from what its preparation finds: nothing if it is recommended.
///
/// The texts for targets that carry risks have the form that clients know (U12); what is in no list has a sentence of its own.
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
                said.push("Its risks were not evaluated yet.".to_owned());
            }
        }
        for risk in &spec.accepted_risks {
            if update.risks.iter().any(|one| one.name == risk.name) {
                said.push(format!("The risk {} was accepted: {}", risk.name, risk.reason));
            }
        }
    } else if !status.available_updates.iter().any(matching) && !status.history.is_empty() {
        said.push(format!(
            "Updating from {from} to {to} is not among the updates that are known for this cluster, so nothing is known about its risks."
        ));
    }
    said
}

#[cfg(test)]
mod tests;
