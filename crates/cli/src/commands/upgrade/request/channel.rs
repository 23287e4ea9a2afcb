//! `clearway upgrade channel`: shows or sets the update channel.
//!
//! Without a name it shows, and changes nothing: clearing by leaving something out has surprised people.

use anyhow::{Context as _, Result};
use clearway_sources::store::{Part, Store};
use serde_json::json;

use crate::arguments::{DataFormat, UpgradeChannel};
use crate::commands::upgrade::object::{FetchedObject, Subject};
use crate::commands::upgrade::show::list::channel_line;
use crate::exit::Exit;
use crate::output::{self, Document, printable};

/// Runs the command.
pub(crate) async fn run<S: Store>(
    store: &S,
    subject: &Subject,
    options: &UpgradeChannel,
    format: DataFormat,
) -> Result<Exit> {
    let found = subject.fetch(store).await?;
    let Some(name) = &options.name else { return show(&found, subject, format) };
    let current = found.object.spec.channel.as_deref().unwrap_or_default();
    let channels = &found.status.desired.channels;
    let told = |action: &str, sentence: String| {
        let data = json!({"object": subject, "action": action, "channel": name, "channels": channels});
        // A set channel is no data for people: standard output stays empty, as with `oc`.
        if action != "unchanged" && format.is_text() {
            output::print_note!("{sentence}");
            return Ok(Exit::Yes);
        }
        output::print_data(format, &data, || subject.document(sentence))?;
        Ok(Exit::Yes)
    };
    if name == current {
        let text = if name.is_empty() {
            format!("info: {} channel is already clear (no change)", subject.noun())
        } else {
            format!("info: {} is already in {} (no change)", subject.noun(), printable(name))
        };
        return told("unchanged", text);
    }
    let listed = printable(&channels.join(", "));
    let (shown, before) = (printable(name), printable(current));
    let refused = |text: String| {
        output::print_problem!("error: {text}, you must pass --allow-explicit-channel to continue");
        Ok(Exit::No)
    };
    if name.is_empty() {
        if !options.allow_explicit_channel && channels.iter().any(|channel| channel == current) {
            return refused(format!(
                "You are requesting to clear the update channel. The current channel \"{before}\" is one of the available channels"
            ));
        }
        output::print_problem!(
            "warning: Clearing channel \"{before}\"; cluster will no longer request available update recommendations."
        );
    } else if channels.is_empty() {
        let version = printable(&found.status.desired.version);
        output::print_problem!(
            "warning: No channels known to be compatible with the current version \"{version}\"; unable to validate \"{shown}\". Setting the update channel to \"{shown}\" anyway."
        );
    } else if !channels.iter().any(|channel| channel == name) {
        let text = format!("the requested channel \"{shown}\" is not one of the available channels ({listed})");
        if !options.allow_explicit_channel {
            return refused(text);
        }
        let text = text.replacen("the", "The", 1);
        output::print_problem!(
            "warning: {text}. You have used --allow-explicit-channel to proceed anyway. Setting the update channel to \"{shown}\"."
        );
    }
    let patch = json!({"spec": {"channel": name}});
    store.patch(&subject.key(), Part::Main, &patch).await.context("unable to set channel")?;
    if name.is_empty() {
        return told("cleared", "cleared the channel".to_owned());
    }
    told(
        "set",
        format!("set the channel to {shown}; run `{}` to list its updates when they are retrieved", subject.command()),
    )
}

fn show(found: &FetchedObject, subject: &Subject, format: DataFormat) -> Result<Exit> {
    let (channel, channels) = (found.object.spec.channel.as_deref(), &found.status.desired.channels);
    let data = json!({"object": subject, "channel": channel, "channels": channels});
    output::print_data(format, &data, || {
        let line = match channel {
            Some(channel) => channel_line(channel, channels),
            None if channels.is_empty() => "No channel is set.".to_owned(),
            None => format!("No channel is set (available channels: {})", printable(&channels.join(", "))),
        };
        Document::from(line).named(channel.map(str::to_owned))
    })?;
    Ok(Exit::Yes)
}
