//! `clearway upgrade` without a target: the current version, and recommended and other updates (U13).
//!
//! The text is that of the user story of OpenShift's enhancement "targeted update edge blocking"; what the story does not
//! show is as `oc adm upgrade` has it.

use std::fmt::Write as _;

use anyhow::Result;
use clearway_conditions::{Condition, Status as Word};
use clearway_core::Address;
use clearway_update::api::{Release, UpdateState};
use serde::Serialize;

use crate::arguments::DataFormat;
use crate::commands::upgrade::condition_text::{
    ConditionJson, Statement, clean, indented, left_out, reason_and_message,
};
use crate::commands::upgrade::object::{FetchedObject, Subject};
use crate::commands::upgrade::updates::{KnownUpdate, known_updates};
use crate::exit::Exit;
use crate::output::{self, Document, printable};

/// What is printed as JSON; the form is documented at the head of the module above.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct List<'a> {
    object: &'a Subject,
    version: &'a str,
    image: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    upstream: Option<Address>,
    #[serde(skip_serializing_if = "Option::is_none")]
    channel: Option<&'a str>,
    channels: &'a [String],
    current: bool,
    conditions: Vec<ConditionJson>,
    updates: Vec<ListedUpdate<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    left_out: Vec<String>,
}

#[derive(Debug, Serialize)]
struct ListedUpdate<'a> {
    version: &'a str,
    image: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<&'a str>,
    recommended: &'a Statement,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    risks: &'a [&'a str],
}

fn listed<'a>(known: &'a KnownUpdate<'a>) -> ListedUpdate<'a> {
    let KnownUpdate { release, recommended, risks } = known;
    ListedUpdate { version: &release.version, image: &release.image, url: release.url.as_deref(), recommended, risks }
}

/// Runs the command: 2 if what it shows is not what the update service says now.
pub(crate) fn run(found: &FetchedObject, subject: &Subject, all: bool, format: DataFormat) -> Result<Exit> {
    let updates = known_updates(&found.status);
    let current = retrieved(found) == Word::True;
    let Release { version, image, channels, .. } = &found.status.desired;
    let spec = &found.object.spec;
    let data = List {
        object: subject,
        version,
        image,
        upstream: spec.upstream.as_deref().map(Address::from),
        channel: spec.channel.as_deref(),
        channels,
        current,
        conditions: ConditionJson::all(&found.status.conditions),
        updates: updates.iter().map(listed).collect(),
        left_out: left_out(&found.status.conditions),
    };
    if format.is_text() {
        warnings(found, subject, updates.iter().any(KnownUpdate::is_recommended));
    }
    output::print_data(format, &data, || {
        let listed = updates.iter().filter(|known| all || known.is_recommended());
        let names: Vec<String> = listed.map(|known| known.release.version.clone()).collect();
        Document::from(text(found, subject, &updates, all)).named(names)
    })?;
    Ok(if current { Exit::Yes } else { Exit::Unknown })
}

fn retrieved(found: &FetchedObject) -> Word {
    found.status.conditions.get("RetrievedUpdates").map_or(Word::Unknown, |condition| condition.status)
}

/// What is wrong with what is shown, on standard error.
fn warnings(found: &FetchedObject, subject: &Subject, any: bool) {
    let conditions = &found.status.conditions;
    for type_ in ["Failing", "Progressing"] {
        if conditions.get(type_).is_none() {
            let (plural, name) = (subject.kind().plural(), printable(subject.name()));
            output::print_problem!(
                "warning: No current {type_} info, see `kubectl describe {plural} {name}` for more details."
            );
        }
    }
    let verb = if any { "refresh" } else { "display" };
    match conditions.get("RetrievedUpdates") {
        Some(condition) if condition.status == Word::True => {}
        Some(condition) => {
            let Condition { reason, message, .. } = condition;
            output::print_problem!(
                "warning: Cannot {verb} available updates:\n{}",
                reason_and_message(reason, message)
            );
            if let Some(since) = condition.last_transition_time.filter(|_| any) {
                output::print_note!("  The list is from before {since} and may be out of date.");
            }
            if let Some(remedy) = remedy(reason, &subject.command()) {
                output::print_note!("  {remedy}");
            }
            output::print_note!("");
        }
        None => output::print_problem!(
            "warning: Cannot {verb} available updates: no operator has reported yet whether they were retrieved.\n"
        ),
    }
    for message in left_out(conditions) {
        output::print_problem!("warning: {message}\n");
    }
}

/// What to do about updates that cannot be retrieved.
fn remedy(reason: &str, command: &str) -> Option<String> {
    Some(match reason {
        "NoUpstream" | "InvalidURI" => "Set spec.upstream to the URL of an update service.".to_owned(),
        "NoChannel" => format!("Set a channel with `{command} channel NAME`."),
        "VersionNotFound" => format!("Choose a channel that has this version with `{command} channel NAME`."),
        "InvalidID" => "Set spec.clusterID to a UUID.".to_owned(),
        "RemoteFailed" | "ResponseFailed" | "ResponseInvalid" => {
            "The update service (spec.upstream) gives an invalid answer; the operator tries again.".to_owned()
        }
        _ => return None,
    })
}

/// The text: blocks with an empty line between them.
fn text(found: &FetchedObject, subject: &Subject, updates: &[KnownUpdate<'_>], all: bool) -> String {
    let (status, spec) = (&found.status, &found.object.spec);
    let condition = |type_| status.conditions.get(type_);
    let mut blocks: Vec<String> = Vec::new();
    let block = |name: String, condition: Condition<'_>| {
        format!("{name}\n\n{}", reason_and_message(condition.reason, condition.message))
    };
    if let Some(failing) = condition("Failing").filter(|failing| failing.status != Word::False) {
        blocks.push(block(format!("Failing={}:", failing.status), failing));
    }
    if let Some(invalid) = condition("Invalid").filter(|invalid| invalid.status == Word::True) {
        blocks.push(block("Invalid=True:".to_owned(), invalid));
    }
    let progressing = condition("Progressing").filter(|progressing| !progressing.message.trim().is_empty());
    match progressing {
        Some(progressing) if progressing.status == Word::True => {
            blocks.push(format!("info: An upgrade is in progress. {}", clean(progressing.message)));
        }
        Some(progressing) => blocks.push(clean(progressing.message)),
        None => blocks.extend(completed(found, subject)),
    }
    if let Some(upgradeable) = condition("Upgradeable").filter(|upgradeable| upgradeable.status == Word::False) {
        blocks.push(block("Upgradeable=False".to_owned(), upgradeable));
    }
    if let Some(accepted) = condition("ReleaseAccepted").filter(|accepted| accepted.status != Word::True) {
        blocks.push(block(format!("ReleaseAccepted={}", accepted.status), accepted));
    }
    if let Some(channel) = &spec.channel {
        let upstream = match &spec.upstream {
            Some(url) => format!("Upstream: {}", printable(&Address::from(url.as_str()).to_string())),
            None => "Upstream is unset, so the cluster will use an appropriate default.".to_owned(),
        };
        blocks.push(format!("{upstream}\n{}", channel_line(channel, &status.desired.channels)));
    }
    let (recommended, others): (Vec<_>, Vec<_>) = updates.iter().partition(|known| known.is_recommended());
    let untold = recommended.is_empty() && retrieved(found) != Word::True;
    let which = if others.is_empty() { "" } else { "recommended " };
    match recommended.as_slice() {
        // Why there are none stands on standard error.
        [] if untold => {}
        [] => blocks.push(format!(
            "No {which}updates available. You may still upgrade to a specific release image with --to-image or wait for new updates to be available."
        )),
        some => blocks.push(format!("Recommended updates:\n\n{}", table(some))),
    }
    blocks.extend(match others.as_slice() {
        [] if all => {
            Some("No updates which are not recommended based on your cluster configuration are available.".to_owned())
        }
        [] => None,
        some if all => {
            let entries: Vec<String> = some.iter().map(|known| entry(known)).collect();
            Some(format!("Supported but not recommended updates:\n\n{}", entries.join("\n\n")))
        }
        some => Some(hint(some)),
    });
    if blocks.is_empty() { String::new() } else { blocks.join("\n\n") + "\n" }
}

/// The current version, from the history if the status has no other.
fn completed(found: &FetchedObject, subject: &Subject) -> Option<String> {
    let newest = found.status.history.first().filter(|newest| newest.state == UpdateState::Completed)?;
    Some(format!("{} version is {}", subject.noun(), printable(&newest.version)))
}

/// The line about the channel.
pub(crate) fn channel_line(channel: &str, channels: &[String]) -> String {
    let channel = printable(channel);
    if channels.is_empty() {
        return format!("Channel: {channel}");
    }
    format!("Channel: {channel} (available channels: {})", printable(&channels.join(", ")))
}

/// Version and image, with a tab between them as the story has it. Where a tab alone would not align the columns, the
/// versions are made equally long first.
fn table(updates: &[&KnownUpdate<'_>]) -> String {
    let mut rows = vec![("  VERSION".to_owned(), "IMAGE".to_owned())];
    rows.extend(
        updates
            .iter()
            .map(|known| (format!("  {}", printable(&known.release.version)), printable(&known.release.image))),
    );
    let stop = |cell: &str| cell.chars().count() / 8;
    let aligned = rows.iter().all(|(cell, _)| stop(cell) == stop("  VERSION"));
    let longest = rows.iter().map(|(cell, _)| cell.chars().count()).max().unwrap_or_default();
    let width = if aligned { 0 } else { longest };
    let lines: Vec<String> = rows.iter().map(|(cell, image)| format!("{cell:<width$}\t{image}")).collect();
    lines.join("\n")
}

/// One update that is not recommended.
fn entry(known: &KnownUpdate<'_>) -> String {
    let KnownUpdate { release, recommended: Statement { status, reason, message }, .. } = known;
    let mut out = String::new();
    let _ = write!(out, "  Version: {}\n  Image: {}\n", printable(&release.version), printable(&release.image));
    let _ = write!(out, "  Recommended: {status}\n  Reason: {}\n  Message:", printable(reason));
    let message = clean(message);
    if message.contains('\n') {
        out.push_str("\n    ");
        out.push_str(&indented(&message, 4));
    } else if !message.is_empty() {
        out.push(' ');
        out.push_str(&message);
    }
    out
}

/// That there are more, in the story's words; where it is not known of any that it is not recommended, it says that.
fn hint(others: &[&KnownUpdate<'_>]) -> String {
    let which = if others.iter().any(|known| known.recommended.status == Word::False) {
        "which are not recommended based on"
    } else {
        "where the recommended status is \"Unknown\" for"
    };
    format!(
        "Additional updates {which} your cluster configuration are available, to view those re-run the command with --include-not-recommended."
    )
}
