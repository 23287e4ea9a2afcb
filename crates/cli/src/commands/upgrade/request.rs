//! Requesting and cancelling an update. Both are merge patches of `spec.desiredUpdate`, so concurrent writers of other
//! fields do not conflict.

pub(crate) mod accept;
pub(super) mod channel;
pub(crate) mod client;
pub(crate) mod decision;
pub(crate) mod objections;
pub(crate) mod target;

use anyhow::{Context as _, Result};
use clearway_sources::clock;
use clearway_sources::store::{Part, Store};
use serde_json::{Value, json};

use super::follow;
use super::object::Subject;
use crate::arguments::{DataFormat, UpgradeRequest};
use crate::exit::Exit;
use crate::output::{self, printable};
use client::Client;
use decision::{Decision, architecture, decide, is_there};
use target::{AllowFlags, RequestedTarget};

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
        with_warnings: options.allow_upgrade_with_warnings,
        force: options.force,
        client: Client::CommandLine,
    };
    let asked = match decide(&found, wanted, allowed, &subject.noun(), clock::now()) {
        Decision::Send(asked) => asked,
        Decision::AlreadyThere { sentence, other } => {
            let data = json!({"object": subject, "action": "alreadyThere"});
            output::print_data(format, &data, || subject.document(format!("info: {sentence}")))?;
            if let Some(other) = other {
                let command = subject.command();
                output::print_problem!("warning: {other} is still requested; cancel it with `{command} --clear`");
            }
            return Ok(Exit::Yes);
        }
        Decision::Refused { refusal, warnings } => {
            for warning in warnings {
                output::print_problem!("warning: {warning}");
            }
            output::print_problem!("error: {}", refusal.text);
            return Ok(refusal.exit);
        }
    };
    let target = &asked.target;
    for warning in target.warnings.iter().chain(&asked.bypassed) {
        output::print_problem!("warning: {warning}");
    }
    let stored = send(store, subject, &asked.patch).await?;
    let data = json!({
        "object": subject,
        "action": if asked.again { "requestedAgain" } else { "requested" },
        "update": {"architecture": architecture(target), "version": target.version, "image": target.image, "force": options.force},
        "warnings": target.warnings,
    });
    if options.following.watch && format == DataFormat::Json {
        // A stream of events has one on each line.
        follow::emit("requested", &data)?;
    } else {
        output::print_data(format, &data, || subject.document(asked.sentence()))?;
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

/// Sends the patch of a request, and gives the object as it is stored.
pub(crate) async fn send<S: Store>(store: &S, subject: &Subject, patch: &Value) -> Result<Value> {
    store.patch(&subject.key(), Part::Main, patch).await.context("unable to upgrade")
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
