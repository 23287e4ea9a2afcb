//! Requesting and cancelling an update. Both are merge patches of `spec.desiredUpdate`, so concurrent writers of other
//! fields do not conflict.

pub(super) mod accept;
pub(super) mod channel;
mod objections;
mod target;

use anyhow::{Context as _, Result};
use clearway_sources::clock;
use clearway_sources::store::{Part, Store};
use clearway_update::api::{MULTI, Update, same_image};
use clearway_update::desired_update::architecture::is_multi;
use clearway_update::reconciler::RE_EVALUATE;
use serde_json::{Value, json};

use super::follow;
use super::object::{FetchedObject, Subject};
use super::status_summary::update_name;
use crate::arguments::{DataFormat, UpgradeRequest};
use crate::exit::Exit;
use crate::output::{self, printable};
use target::{AllowFlags, Choice, Refusal, RequestedTarget, Target, choose};

/// Asks for an update.
pub(super) async fn update<S: Store>(
    store: &S,
    subject: &Subject,
    options: &UpgradeRequest,
    format: DataFormat,
) -> Result<Exit> {
    let found = subject.fetch(store).await?;
    let wanted = match (&options.to, &options.to_image) {
        (Some(version), _) => RequestedTarget::Version(version),
        (None, Some(image)) => RequestedTarget::Image(image),
        (None, None) if options.to_multi_arch => RequestedTarget::MultiArch,
        (None, None) => RequestedTarget::Latest,
    };
    let allowed = AllowFlags {
        not_recommended: options.allow_not_recommended,
        explicit: options.allow_explicit_upgrade,
        force: options.force,
    };
    let target = match choose(&found.status, wanted, allowed, &subject.noun()) {
        Ok(Choice::Update(target)) => target,
        Ok(Choice::AlreadyThere(sentence)) => {
            let data = json!({"object": subject, "action": "alreadyThere"});
            output::print_data(format, &data, || subject.document(format!("info: {sentence}")))?;
            if let Some(other) = found.object.spec.desired_update.as_ref().filter(|update| !is_there(&found, update)) {
                let other = update_name(other).unwrap_or_default();
                let command = subject.command();
                output::print_problem!("warning: {other} is still requested; cancel it with `{command} --clear`");
            }
            return Ok(Exit::Yes);
        }
        Err(refusal) => return Ok(print_refusal(&refusal)),
    };
    for warning in &target.warnings {
        output::print_problem!("warning: {warning}");
    }
    // What is under way already is not disturbed by being asked for again.
    if let Some(objections) = objections::objections(&found.status).filter(|_| !target.again) {
        if !options.allow_upgrade_with_warnings {
            let text = format!("{objections}\n\nIf you want to upgrade anyway, use --allow-upgrade-with-warnings.");
            return Ok(print_refusal(&Refusal { exit: Exit::No, text }));
        }
        output::print_problem!("warning: --allow-upgrade-with-warnings is bypassing: {objections}");
    }
    let asked = build_patch(&found, &target, options.force);
    let stored = store.patch(&subject.key(), Part::Main, &asked.patch).await.context("unable to upgrade")?;
    let shown = match target.version.as_str() {
        _ if target.multi => "multi cluster architecture".to_owned(),
        "" => format!("release image {}", printable(&target.image)),
        version => printable(version),
    };
    let again = if asked.again { " again" } else { "" };
    let data = json!({
        "object": subject,
        "action": if asked.again { "requestedAgain" } else { "requested" },
        "update": {"architecture": architecture(&target), "version": target.version, "image": target.image, "force": options.force},
        "warnings": target.warnings,
    });
    if options.following.watch && format == DataFormat::Json {
        // A stream of events has one on each line.
        follow::emit("requested", &data)?;
    } else {
        output::print_data(format, &data, || subject.document(format!("Requested update to {shown}{again}")))?;
        if options.following.watch && format == DataFormat::Yaml {
            output::print_line!("---");
        }
    }
    if options.following.watch {
        let wanted = stored["spec"]["desiredUpdate"].clone();
        return follow::run(store, subject, &options.following, Some(&wanted), format).await;
    }
    output::print_note!("watch it with `{} status --watch`", subject.command());
    Ok(Exit::Yes)
}

/// Says why nothing was asked for.
fn print_refusal(refusal: &Refusal) -> Exit {
    output::print_problem!("error: {}", refusal.text);
    refusal.exit
}

struct RequestPatch {
    patch: Value,
    /// Whether the spec says so already.
    again: bool,
}

/// The whole of `desiredUpdate` as OpenShift's clients write it. What the spec says already changes nothing by being
/// written again, so the operator is asked to look again.
fn build_patch(found: &FetchedObject, target: &Target, force: bool) -> RequestPatch {
    let before = &found.raw["spec"]["desiredUpdate"];
    let mut update =
        json!({"architecture": architecture(target), "version": target.version, "image": target.image, "force": force});
    let says = |field: &str| match &before[field] {
        Value::Null => update[field] == "" || update[field] == false,
        value => *value == update[field],
    };
    let again = before.is_object() && ["architecture", "version", "image", "force"].into_iter().all(says);
    if !before["mode"].is_null() {
        // Left where it is, it would make a rehearsal of the update.
        update["mode"] = Value::Null;
    }
    let mut patch = json!({"spec": {"desiredUpdate": update}});
    if again {
        patch["metadata"] = json!({"annotations": {RE_EVALUATE: clock::now().to_string()}});
    }
    RequestPatch { patch, again }
}

/// As the spec names it.
fn architecture(target: &Target) -> &'static str {
    if target.multi { MULTI } else { "" }
}

/// Takes a request back.
pub(super) async fn clear<S: Store>(store: &S, subject: &Subject, format: DataFormat) -> Result<Exit> {
    let found = subject.fetch(store).await?;
    let Some(update) = found.object.spec.desired_update.as_ref().filter(|update| {
        // Accepted risks alone are no request.
        update.version.is_some() || update.image.is_some() || update.architecture.is_some()
    }) else {
        let data = json!({"object": subject, "action": "nothingToClear"});
        output::print_data(format, &data, || subject.document("info: No update in progress".to_owned()))?;
        return Ok(Exit::Yes);
    };
    // OpenShift keeps the names of accepted risks there; they are no request.
    let kept = !found.raw["spec"]["desiredUpdate"]["acceptRisks"].is_null();
    let nothing = if kept {
        json!({"architecture": null, "version": null, "image": null, "force": null, "mode": null})
    } else {
        Value::Null
    };
    let patch = json!({"spec": {"desiredUpdate": nothing}});
    store.patch(&subject.key(), Part::Main, &patch).await.context("unable to cancel current rollout")?;
    let (version, image) = (update.version.as_deref().unwrap_or_default(), update.image.as_deref().unwrap_or_default());
    let (desired, is_there) = (&found.status.desired, is_there(&found, update));
    let shown = if version.is_empty() { image } else { version };
    let action = if is_there { "cleared" } else { "cancelled" };
    output::print_data(
        format,
        &json!({"object": subject, "action": action, "version": version, "image": image}),
        || {
            subject.document(if is_there {
                format!("Cleared the update field, still at {}", printable(&desired.version))
            } else {
                format!(
                    "Cancelled requested upgrade to {}",
                    if shown.is_empty() { "<unknown>".to_owned() } else { printable(shown) }
                )
            })
        },
    )?;
    let open = found.status.open_entry();
    if is_there && open.is_some() {
        output::print_note!("the current update continues; request another version with --to to change it");
    }
    Ok(Exit::Yes)
}

/// Whether a request is for what is being kept or brought about already.
fn is_there(found: &FetchedObject, update: &Update) -> bool {
    let desired = &found.status.desired;
    update.architecture.as_ref().is_none_or(|_| is_multi(&found.status))
        && update.version.as_ref().is_none_or(|version| *version == desired.version)
        && update.image.as_ref().is_none_or(|image| same_image(image, &desired.image))
}
