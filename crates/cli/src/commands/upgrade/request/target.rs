//! The target of a request, and whether it is allowed: a function of the object and of what was allowed.
//!
//! In order (U23): what is there already, the recommended updates, those that are not, what was named explicitly. The words
//! are those of `oc adm upgrade`. Beyond it: False and Unknown are distinguished (exit code 1 and 2), an update that is stuck
//! may be asked for again, a version may be taken from the history, and a refusal says which option is next.

use clearway_conditions::Status as Word;
use clearway_core::Version;
use clearway_sources::oci::Image;
use clearway_update::api::{Status, UpdateState, same_image};
use clearway_update::desired_update::architecture::is_multi;
use clearway_update::desired_update::downgrade::CurrentRelease;

use super::client::Client;
use crate::commands::upgrade::condition_text::{Statement, clean, reason_and_message};
use crate::commands::upgrade::updates::{KnownUpdate, known_updates};
use crate::exit::Exit;
use crate::output::printable;

/// What was named.
#[derive(Debug, Clone, Copy)]
pub(crate) enum RequestedTarget<'a> {
    Version(&'a Version),
    Latest,
    Image(&'a str),
    /// The present version for several architectures.
    MultiArch,
}

/// What was allowed.
#[derive(Debug, Clone, Copy, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is allowed on its own")]
pub(crate) struct AllowFlags {
    pub(crate) not_recommended: bool,
    pub(crate) explicit: bool,
    /// An update although another one is in progress or failing, or the object is invalid.
    pub(crate) with_warnings: bool,
    pub(crate) force: bool,
    /// How sentences name what was allowed, or can be.
    pub(crate) client: Client,
}

/// What to ask for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Choice {
    /// Nothing: it is there.
    AlreadyThere(String),
    /// This release.
    Update(Target),
}

/// A release to ask for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Target {
    /// Empty if it is not known.
    pub(crate) version: String,
    /// Empty if the operator has to find it out.
    pub(crate) image: String,
    /// Whether it is the release for several architectures.
    pub(crate) multi: bool,
    /// Whether it is what is being brought about already.
    pub(crate) again: bool,
    /// What the person who asks should know.
    pub(crate) warnings: Vec<String>,
}

/// Why nothing is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) exit: Exit,
    pub(crate) text: String,
}

const BY_TAG: &str = "Using by-tag pull specs is dangerous, and while we still allow it in combination with --force for backward compatibility, it would be much safer to pass a by-digest pull spec instead";
const FORCED: &str = "--force overrides cluster verification of your supplied release image and waives any update precondition failures. Only use this if you are testing unsigned release images or you are working around a known bug in the cluster-version operator and you have verified the authenticity of the provided image yourself.";

/// Chooses; `noun` is what the object is called in sentences.
pub(crate) fn choose(
    status: &Status,
    wanted: RequestedTarget<'_>,
    allowed: AllowFlags,
    noun: &str,
) -> Result<Choice, Refusal> {
    match wanted {
        RequestedTarget::Image(image) => check_image(image, allowed.force)?,
        RequestedTarget::MultiArch => return multi_arch(status, allowed, noun),
        RequestedTarget::Version(_) | RequestedTarget::Latest => {}
    }
    let updates = known_updates(status);
    let found = match wanted {
        RequestedTarget::Latest => updates.iter().find(|known| known.is_recommended() || allowed.not_recommended),
        RequestedTarget::Version(version) => {
            let version = version.to_string();
            updates.iter().find(|known| known.release.version == version)
        }
        RequestedTarget::Image(image) => updates.iter().find(|known| same_image(&known.release.image, image)),
        RequestedTarget::MultiArch => None,
    };
    let mut choice = match (there_already(status, wanted, noun), found) {
        (Some(choice), _) => choice,
        (None, Some(known)) => Choice::Update(chosen(known, wanted, allowed)?),
        (None, None) => unmatched(status, wanted, allowed, &updates, noun)?,
    };
    if let Choice::Update(target) = &mut choice {
        if !target.again {
            target.warnings.extend(downgrade(status, target, allowed)?);
        }
        if matches!(wanted, RequestedTarget::Image(image) if is_by_tag(image)) {
            target.warnings.push(BY_TAG.to_owned());
        }
        if found.is_some()
            && let Some((reason, message)) = not_retrieved(status)
        {
            let (reason, message) = (printable(reason), clean(message));
            target.warnings.push(format!("The list of updates may be out of date: {reason}: {message}"));
        }
        target.warnings.extend(another_minor(status, &target.version, allowed.client));
        if allowed.force {
            target.warnings.push(FORCED.to_owned());
        }
    }
    Ok(choice)
}

fn no(text: String) -> Refusal {
    Refusal { exit: Exit::No, text }
}

/// A directory is a release too, where there is no registry.
fn is_directory(image: &str) -> bool {
    image.starts_with('/')
}

fn is_by_tag(image: &str) -> bool {
    !image.is_empty() && !is_directory(image) && !image.contains('@')
}

fn check_image(image: &str, force: bool) -> Result<(), Refusal> {
    let wrong = |text: String| Err(Refusal { exit: Exit::CouldNotRun, text });
    if is_directory(image) {
        return Ok(());
    }
    if let Err(error) = image.parse::<Image>() {
        return wrong(format!("--to-image must be a valid image pull spec: {error}"));
    }
    if !image.rsplit('/').next().unwrap_or_default().contains([':', '@']) {
        return wrong("--to-image must be a valid image pull spec: no tag or digest specified".to_owned());
    }
    if is_by_tag(image) && !force {
        return wrong("--to-image must be a by-digest pull spec, unless --force is also set, because release images that are not accessed via digest cannot be verified by the cluster.  Even when --force is set, using tags is not recommended, although we continue to allow it for backwards compatibility".to_owned());
    }
    Ok(())
}

/// What is being kept or brought about is no new target: it is there, or it is asked for again.
fn there_already(status: &Status, wanted: RequestedTarget<'_>, noun: &str) -> Option<Choice> {
    let desired = &status.desired;
    let (is_it, shown, image) = match wanted {
        RequestedTarget::Version(version) => {
            let version = version.to_string();
            (desired.version == version, format!("version {version}"), desired.image.as_str())
        }
        RequestedTarget::Image(image) => (same_image(&desired.image, image), printable(image), image),
        RequestedTarget::Latest | RequestedTarget::MultiArch => return None,
    };
    if !is_it {
        return None;
    }
    let newest = status.history.first().filter(|entry| same_image(&entry.image, &desired.image));
    if newest.is_some_and(|entry| entry.state == UpdateState::Completed) {
        return Some(Choice::AlreadyThere(format!("{noun} is already at {shown}")));
    }
    let (version, image) = (desired.version.clone(), image.to_owned());
    Some(Choice::Update(Target { version, image, again: true, ..Target::default() }))
}

/// A target that is known.
fn chosen(known: &KnownUpdate<'_>, wanted: RequestedTarget<'_>, allowed: AllowFlags) -> Result<Target, Refusal> {
    let KnownUpdate { release, recommended: Statement { status, reason, message }, .. } = known;
    let version = printable(&release.version);
    let mut warnings = Vec::new();
    if !known.is_recommended() {
        if !allowed.not_recommended {
            let (next, said) = (allowed.client.allow_not_recommended(), reason_and_message(reason, message));
            let text = format!(
                "the update {version} is not one of the recommended updates, but is available as a conditional update. To accept the Recommended={status} risk and to proceed with update {next}.\n{said}"
            );
            return Err(Refusal { exit: if *status == Word::False { Exit::No } else { Exit::Unknown }, text });
        }
        let (reason, message, having_allowed) = (printable(reason), clean(message), allowed.client.having_allowed());
        warnings.push(format!(
            "{having_allowed} accepted the risks with {version} and bypassed Recommended={status} {reason}: {message}"
        ));
    }
    // The name that was given is kept: it may be that of a mirror.
    let image = if let RequestedTarget::Image(image) = wanted { image.to_owned() } else { release.image.clone() };
    Ok(Target { version: release.version.clone(), image, warnings, ..Target::default() })
}

/// What is in no list: named explicitly, there before, or nothing.
fn unmatched(
    status: &Status,
    wanted: RequestedTarget<'_>,
    allowed: AllowFlags,
    updates: &[KnownUpdate<'_>],
    noun: &str,
) -> Result<Choice, Refusal> {
    let explicit = |version: String, image: &str, warning: String| {
        let (image, warnings) = (image.to_owned(), vec![warning]);
        Ok(Choice::Update(Target { version, image, warnings, ..Target::default() }))
    };
    let (possible, specify) = (possible(updates, allowed), allowed.client.specify());
    let next = match wanted {
        RequestedTarget::Image(image) if allowed.explicit => {
            let warning = "The requested upgrade image is not one of the available updates. You have used --allow-explicit-upgrade for the update to proceed anyway";
            return explicit(String::new(), image, warning.to_owned());
        }
        RequestedTarget::Image(_) => "--allow-explicit-upgrade to continue with the update",
        RequestedTarget::Latest | RequestedTarget::MultiArch => "--to-image to continue with the update",
        RequestedTarget::Version(version) => {
            let version = version.to_string();
            match status.history.iter().find(|entry| entry.version == version && !entry.image.is_empty()) {
                Some(entry) if allowed.explicit => {
                    let warning = format!(
                        "{version} is not one of the available updates, but is in the history, and its image is taken from there. The risks of this update are unknown. You have used --allow-explicit-upgrade for the update to proceed anyway"
                    );
                    return explicit(version, &entry.image, warning);
                }
                Some(_) => {
                    return Err(no(format!(
                        "the update {version} is not one of the possible targets{possible}, but it is in the history; the risks of going back are unknown. {specify} --allow-explicit-upgrade to continue with the update."
                    )));
                }
                None if allowed.explicit => {
                    return Err(no(format!(
                        "the update {version} is not one of the possible targets{possible}. --allow-explicit-upgrade needs an image, because the image of this version is unknown. {specify} --to-image and --allow-explicit-upgrade to continue with the update."
                    )));
                }
                None => "--to-image to continue with the update",
            }
        }
    };
    if let Some((reason, message)) = not_retrieved(status) {
        let said = reason_and_message(reason, message);
        let text = format!("cannot refresh available updates:\n{said}\n\n{specify} {next}.");
        return Err(Refusal { exit: Exit::Unknown, text });
    }
    let nothing =
        if allowed.not_recommended { "no recommended or conditional updates" } else { "no recommended updates" };
    if let RequestedTarget::Latest = wanted {
        if updates.is_empty() {
            let version = printable(&status.desired.version);
            return Ok(Choice::AlreadyThere(format!("{noun} is already at the latest available version {version}")));
        }
        let of = |status: Word| -> Vec<String> {
            let some = updates.iter().filter(|known| known.recommended.status == status);
            some.map(|known| printable(&known.release.version)).collect()
        };
        let (bad, unknown) = (of(Word::False), of(Word::Unknown));
        let exit = if bad.is_empty() { Exit::Unknown } else { Exit::No };
        let said = [("not recommended", bad), ("Unknown", unknown)];
        let said = said.iter().filter(|(_, versions)| !versions.is_empty());
        let said: Vec<String> = said.map(|(words, versions)| format!("{words}: {}", versions.join(", "))).collect();
        let text = format!(
            "{nothing} ({}). specify --allow-not-recommended to take the newest of these, or wait for new updates to be available.",
            said.join("; ")
        );
        return Err(Refusal { exit, text });
    }
    if possible.is_empty() {
        return Err(no(format!("{nothing}, {specify} {next} or wait for new updates to be available.")));
    }
    let name = if let RequestedTarget::Version(version) = wanted { format!(" {version}") } else { String::new() };
    Err(no(format!("the update{name} is not one of the possible targets{possible}. {specify} {next}.")))
}

/// The versions that could be asked for, as they end a sentence.
fn possible(updates: &[KnownUpdate<'_>], allowed: AllowFlags) -> String {
    let may = updates.iter().filter(|known| known.is_recommended() || allowed.not_recommended);
    let names: Vec<String> = may.map(|known| printable(&known.release.version)).collect();
    if names.is_empty() { String::new() } else { format!(": {}", names.join(", ")) }
}

/// Why what is known about updates is not what the update service says now, as reason and message; nothing if it is.
fn not_retrieved(status: &Status) -> Option<(&str, &str)> {
    match status.conditions.get("RetrievedUpdates") {
        Some(condition) if condition.status == Word::True => None,
        Some(condition) => Some((condition.reason, condition.message)),
        None => Some(("NotRetrieved", "No operator has reported whether updates were retrieved.")),
    }
}

/// The multi-architecture release of the current version. Only the operator knows its image.
fn multi_arch(status: &Status, allowed: AllowFlags, noun: &str) -> Result<Choice, Refusal> {
    let version = &status.desired.version;
    if version.is_empty() {
        return Err(no(format!("{noun} has no version yet, so its architecture cannot be changed.")));
    }
    if is_multi(status) {
        let version = printable(version);
        return Ok(Choice::AlreadyThere(format!("{noun} is already at the multi-architecture release of {version}")));
    }
    let warnings = if allowed.force { vec![FORCED.to_owned()] } else { Vec::new() };
    Ok(Choice::Update(Target { version: version.clone(), multi: true, warnings, ..Target::default() }))
}

/// What the operator does with an older release (U23): it refuses it unless it is the previous one or forced, and records it.
fn downgrade(status: &Status, target: &Target, allowed: AllowFlags) -> Result<Option<String>, Refusal> {
    let before = status.history.iter().find(|entry| same_image(&entry.image, &target.image));
    let version = match (target.version.as_str(), before) {
        ("", Some(entry)) => &entry.version,
        (version, _) => version,
    };
    if version.is_empty() && !status.desired.version.is_empty() && !allowed.force {
        let current = printable(&status.desired.version);
        return Ok(Some(format!(
            "The version of this image is unknown. If it is older than {current}, the operator refuses it, unless it is the previous release or --force is set."
        )));
    }
    let Some(downgrade) = CurrentRelease::of(status).downgrade_to(version, &target.image) else { return Ok(None) };
    match downgrade.refusal() {
        Some(why) if !allowed.force => Err(no(format!(
            "{}. {} --force to continue with the update; this also skips the other checks of the release.",
            printable(&why),
            allowed.client.specify()
        ))),
        _ => Ok(Some(format!("{} The operator records this in the history.", printable(&downgrade.record())))),
    }
}

/// `Upgradeable=False` speaks of another minor version only; whoever asks for one should know what becomes of it.
fn another_minor(status: &Status, version: &str, client: Client) -> Option<String> {
    let upgradeable = status.conditions.get("Upgradeable").filter(|condition| condition.status == Word::False)?;
    let (to, from) = (version.parse::<Version>().ok()?, status.desired.version.parse::<Version>().ok()?);
    ((to.major(), to.minor()) > (from.major(), from.minor())).then(|| {
        let (reason, message, forced) = (printable(upgradeable.reason), clean(upgradeable.message), client.forced());
        format!("{to} is another minor version, and Upgradeable=False {reason}: {message} Clearway's operator applies the update and records this in the history; OpenShift's operator refuses it unless {forced}.")
    })
}

#[cfg(test)]
mod tests;
